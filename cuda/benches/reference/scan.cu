// Inclusive prefix sums in one pass: the algorithm and the shape of the Rust kernel, and CUB.
#include <cub/device/device_scan.cuh>
#include <cuda/atomic>

constexpr int BLOCK = 256, ROWS = 8, WARPS = BLOCK / 32, TILE = BLOCK * ROWS * 4;
constexpr unsigned long long TOTAL = 1ull << 32, PREFIX = 2ull << 32;
using State = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

__device__ unsigned scan_warp(unsigned sum) {
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned earlier = __shfl_up_sync(~0u, sum, distance);
        if (threadIdx.x % 32 >= distance) sum += earlier;
    }
    return sum;
}

// Publishes the total of a tile and returns the total of all tiles before it. Called by one warp.
__device__ unsigned look_back(unsigned long long *states, int tile, unsigned total) {
    int lane = threadIdx.x % 32;
    auto publish = [&](unsigned long long kind, unsigned value) {
        if (lane == 0) State(states[tile]).store(kind | value, cuda::memory_order_relaxed);
    };
    if (tile == 0) {
        publish(PREFIX, total);
        return 0;
    }
    publish(TOTAL, total);
    unsigned before = 0;
    for (int end = tile;; end -= 32) {
        auto load = [&] {
            int at = end - 1 - lane;
            return at >= 0 ? State(states[at]).load(cuda::memory_order_relaxed) : PREFIX;
        };
        unsigned long long found = load();
        while (found == 0) found = load();
        unsigned prefixes = __ballot_sync(~0u, found >= PREFIX);
        unsigned sum = !prefixes || lane <= __ffs(prefixes) - 1 ? (unsigned)found : 0;
        for (int distance = 1; distance < 32; distance *= 2) sum += __shfl_xor_sync(~0u, sum, distance);
        before += sum;
        if (prefixes) break;
    }
    publish(PREFIX, before + total);
    return before;
}

__global__ void __launch_bounds__(BLOCK, 4)
    inclusive(const unsigned *__restrict__ input, int len, unsigned long long *states, unsigned *out) {
    __shared__ unsigned broadcast[2], totals[WARPS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) broadcast[0] = State(states[0]).fetch_add(1, cuda::memory_order_relaxed);
    __syncthreads();
    int tile = broadcast[0];
    bool whole = len - tile * TILE >= TILE;
    int first = tile * TILE + warp * ROWS * 128 + 4 * lane;

    uint4 rows[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        int at = first + row * 128;
        if (whole) {
            rows[row] = *(const uint4 *)(input + at);
        } else {
            auto load = [&](int i) { return i < len ? input[i] : 0; };
            rows[row] = make_uint4(load(at), load(at + 1), load(at + 2), load(at + 3));
        }
    }
    unsigned before = 0;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        uint4 &v = rows[row];
        v.y += v.x, v.z += v.y, v.w += v.z;
        unsigned sum = scan_warp(v.w), left = __shfl_up_sync(~0u, sum, 1);
        left = lane == 0 ? before : before + left;
        v.x += left, v.y += left, v.z += left, v.w += left;
        before += __shfl_sync(~0u, sum, 31);
    }
    if (lane == 0) totals[warp] = before;
    __syncthreads();
    unsigned total = 0;
#pragma unroll
    for (int other = 0; other < WARPS; other++) {
        if (other == warp) before = total;
        total += totals[other];
    }
    if (warp == 0) {
        unsigned found = look_back(states + 1, tile, total);
        if (lane == 0) broadcast[1] = found;
    }
    __syncthreads();
    before += broadcast[1];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        uint4 v = rows[row];
        v.x += before, v.y += before, v.z += before, v.w += before;
        int at = first + row * 128;
        if (whole) {
            *(uint4 *)(out + at) = v;
        } else {
            if (at < len) out[at] = v.x;
            if (at + 1 < len) out[at + 1] = v.y;
            if (at + 2 < len) out[at + 2] = v.z;
            if (at + 3 < len) out[at + 3] = v.w;
        }
    }
}

// `states` needs an element for each tile and one more.
extern "C" int scan_nvcc(cudaStream_t stream, const unsigned *input, int len, unsigned long long *states, unsigned *out) {
    int tiles = (len + TILE - 1) / TILE;
    if (int error = cudaMemsetAsync(states, 0, (tiles + 1) * sizeof *states, stream)) return error;
    inclusive<<<tiles, BLOCK, 0, stream>>>(input, len, states, out);
    return cudaGetLastError();
}

extern "C" int scan_cub(cudaStream_t stream, const unsigned *input, int len, unsigned *out) {
    static void *memory = nullptr;
    static size_t bytes = 0;
    if (!memory) {
        if (int error = cub::DeviceScan::InclusiveSum(nullptr, bytes, input, out, len, stream)) return error;
        if (int error = cudaMalloc(&memory, bytes)) return error;
    }
    return cub::DeviceScan::InclusiveSum(memory, bytes, input, out, len, stream);
}
