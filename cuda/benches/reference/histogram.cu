// The counts of byte values: the algorithm and the shape of the Rust kernel, and CUB.
#include <cub/device/device_histogram.cuh>

constexpr int BLOCK = 512, BINS = 256, LANES = 32;

__global__ void __launch_bounds__(BLOCK) histogram(const uint4 *__restrict__ input, int groups, unsigned *bins) {
    __shared__ unsigned counts[BINS * LANES];
    for (int i = threadIdx.x; i < BINS * LANES; i += BLOCK) counts[i] = 0;
    __syncthreads();
    unsigned *lane = counts + threadIdx.x % LANES;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < groups; i += gridDim.x * BLOCK) {
        uint4 group = input[i];
        unsigned words[4] = {group.x, group.y, group.z, group.w};
#pragma unroll
        for (int byte = 0; byte < 16; byte++)
            atomicAdd(lane + (words[byte / 4] >> (8 * (byte % 4)) & 0xff) * LANES, 1);
    }
    __syncthreads();
    int bin = threadIdx.x;
    if (bin < BINS) {
        unsigned sum = 0;
        for (int i = 0; i < LANES; i++) sum += counts[bin * LANES + (i + bin) % LANES];
        atomicAdd(bins + bin, sum);
    }
}

extern "C" int histogram_nvcc(cudaStream_t stream, int blocks, const unsigned char *input, int len, unsigned *bins) {
    if (int error = cudaMemsetAsync(bins, 0, BINS * sizeof *bins, stream)) return error;
    histogram<<<blocks, BLOCK, 0, stream>>>((const uint4 *)input, len / 16, bins);
    return cudaGetLastError();
}

extern "C" int histogram_cub(cudaStream_t stream, const unsigned char *input, int len, unsigned *bins) {
    static void *memory = nullptr;
    static size_t bytes = 0;
    auto call = [&] {
        return cub::DeviceHistogram::HistogramEven(memory, bytes, input, bins, BINS + 1, 0, BINS, len, stream);
    };
    if (!memory) {
        if (int error = call()) return error;
        if (int error = cudaMalloc(&memory, bytes)) return error;
    }
    return call();
}
