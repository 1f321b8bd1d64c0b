// The original system's separable convolution, rebuilt in CUDA C++: the reference for the fused kernels.
//
// The host launches one kernel along rows and one along columns, with one thread per pixel. Each block of 32
// by 8 threads copies its pixels and the halo of the pass to dynamic shared memory, whose size the host
// computes. A loop reads at most 64 taps from constant memory. Pixels outside the picture count as 0.
//
// Compile with: nvcc -O3 -arch=sm_90 -rdc=true -ptx convolve.cu
// Then set PANOWEAVE_REFERENCE_PTX to the folder of the PTX.
// Without -rdc=true, newer compilers do not export the taps' symbol, so the host could not set them.

#include <cstdint>

__constant__ float original_taps[64];

#define VIEW(T, n) T *__restrict__ n, uint32_t n##_width, uint32_t n##_height, uint32_t n##_pitch
#define AT(T, n, x, y) (reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(n) + size_t(y) * n##_pitch) + (x))

extern "C" __global__ void __launch_bounds__(256) original_rows(
    VIEW(const float, in), uint32_t width, VIEW(float, out)) {
    extern __shared__ float tile[];
    int radius = int(width / 2), pitch = int(blockDim.x) + 2 * radius;
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), y = int(blockIdx.y * blockDim.y + threadIdx.y);
    float* row = tile + threadIdx.y * pitch;
    for (int i = int(threadIdx.x); i < pitch; i += int(blockDim.x)) {
        int from = int(blockIdx.x * blockDim.x) - radius + i;
        bool inside = from >= 0 && from < int(in_width) && y < int(in_height);
        row[i] = inside ? __ldg(AT(const float, in, from, y)) : 0.0f;
    }
    __syncthreads();
    if (x >= int(out_width) || y >= int(out_height)) return;
    float sum = 0.0f;
    if (x >= radius && x + radius < int(out_width)) {
        for (int j = 0; j < int(width); j++) {
            sum += row[int(threadIdx.x) + j] * original_taps[int(width) - 1 - j];
        }
    }
    *AT(float, out, x, y) = sum;
}

extern "C" __global__ void __launch_bounds__(256) original_columns(
    VIEW(const float, in), uint32_t width, VIEW(float, out)) {
    extern __shared__ float tile[];
    int radius = int(width / 2), rows = int(blockDim.y) + 2 * radius, pitch = int(blockDim.x);
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), y = int(blockIdx.y * blockDim.y + threadIdx.y);
    for (int i = int(threadIdx.y); i < rows; i += int(blockDim.y)) {
        int from = int(blockIdx.y * blockDim.y) - radius + i;
        bool inside = from >= 0 && from < int(in_height) && x < int(in_width);
        tile[i * pitch + threadIdx.x] = inside ? __ldg(AT(const float, in, x, from)) : 0.0f;
    }
    __syncthreads();
    if (x >= int(out_width) || y >= int(out_height)) return;
    float sum = 0.0f;
    if (y >= radius && y + radius < int(out_height)) {
        for (int j = 0; j < int(width); j++) {
            sum += tile[(int(threadIdx.y) + j) * pitch + threadIdx.x] * original_taps[int(width) - 1 - j];
        }
    }
    *AT(float, out, x, y) = sum;
}
