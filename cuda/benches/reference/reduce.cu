// The sum of floats in one launch: the algorithm and the shape of the Rust kernel, and CUB.
#include <cub/device/device_reduce.cuh>

constexpr int BLOCK = 256;

__device__ float block_sum(float value) {
    __shared__ float sums[BLOCK / 32];
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(~0u, value, mask);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < BLOCK / 32 ? sums[threadIdx.x % 32] : 0.f;
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(~0u, value, mask);
    return value;
}

__device__ float4 operator+(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__global__ void __launch_bounds__(BLOCK)
    sum(const float4 *__restrict__ input, int quads, float *partial, unsigned *finished, float *out) {
    int threads = gridDim.x * BLOCK, i = blockIdx.x * BLOCK + threadIdx.x;
    float4 sums[4] = {};
    for (; i + 3 * threads < quads; i += 4 * threads) {
        float4 loaded[4];
#pragma unroll
        for (int k = 0; k < 4; k++) loaded[k] = input[i + k * threads];
#pragma unroll
        for (int k = 0; k < 4; k++) sums[k] = sums[k] + loaded[k];
    }
    for (; i < quads; i += threads) sums[0] = sums[0] + input[i];
    float4 four = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float total = block_sum((four.x + four.y) + (four.z + four.w));
    bool last = false;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = total;
        __threadfence();
        last = atomicAdd(finished, 1) == gridDim.x - 1;
        __threadfence();
    }
    if (!__syncthreads_or(last)) return;
    total = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += BLOCK) total += partial[i];
    total = block_sum(total);
    if (threadIdx.x == 0) {
        *out = total;
        *finished = 0;
    }
}

// `finished` must be 0 before the first call.
extern "C" int reduce_nvcc(cudaStream_t stream, int blocks, const float *input, int len, float *partial,
                           unsigned *finished, float *out) {
    sum<<<blocks, BLOCK, 0, stream>>>((const float4 *)input, len / 4, partial, finished, out);
    return cudaGetLastError();
}

extern "C" int reduce_cub(cudaStream_t stream, const float *input, int len, float *out) {
    static void *memory = nullptr;
    static size_t bytes = 0;
    if (!memory) {
        if (int error = cub::DeviceReduce::Sum(nullptr, bytes, input, out, len, stream)) return error;
        if (int error = cudaMalloc(&memory, bytes)) return error;
    }
    return cub::DeviceReduce::Sum(memory, bytes, input, out, len, stream);
}
