// The original system's SSIM, rebuilt in CUDA C++: the reference for the fused kernel.
//
// The host launches two kernels with one thread per pixel, in blocks of 16 by 8. The first kernel filters a, b, a*a,
// b*b and a*b along the rows and writes five planes. The second kernel filters the planes along the columns and adds up
// the SSIM. Reads use the read-only cache. Sums are integers as in our kernels, so that the results can be compared.
//
// Compile with: nvcc -O3 -arch=sm_90 -ptx ssim.cu
// Then set PANOWEAVE_REFERENCE_PTX to the folder of the PTX.

#include <cstdint>

#define VIEW(T, n) T *__restrict__ n, uint32_t n##_width, uint32_t n##_height, uint32_t n##_pitch
#define AT(T, n, x, y) (reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(n) + size_t(y) * n##_pitch) + (x))

__constant__ float window[11] = {
    0.0010283801f, 0.007598758f, 0.036000773f, 0.10936069f, 0.21300553f, 0.26601172f,
    0.21300553f, 0.10936069f, 0.036000773f, 0.007598758f, 0.0010283801f,
};

struct Params {
    float middle, c1, c2;
    uint32_t rows;
};

__device__ void add(unsigned long long value, unsigned long long* sum) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
    if (((threadIdx.y * blockDim.x + threadIdx.x) & 31) == 0) atomicAdd(sum, value);
}

extern "C" __global__ void __launch_bounds__(128) ssim_rows_u8(
    VIEW(const uint8_t, a), VIEW(const uint8_t, b), VIEW(float, mean_a), VIEW(float, mean_b),
    VIEW(float, square_a), VIEW(float, square_b), VIEW(float, product),
    unsigned long long* sums, uint32_t sums_len) {
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned long long squares = 0;
    if (x < a_width && y < a_height) {
        int d = int(__ldg(AT(const uint8_t, a, x, y))) - int(__ldg(AT(const uint8_t, b, x, y)));
        squares = d * d;
    }
    if (x + 10 < a_width && y < a_height) {
        float ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
#pragma unroll
        for (int i = 0; i < 11; i++) {
            float va = __ldg(AT(const uint8_t, a, x + i, y)), vb = __ldg(AT(const uint8_t, b, x + i, y));
            ma += window[i] * va;
            mb += window[i] * vb;
            aa += window[i] * va * va;
            bb += window[i] * vb * vb;
            ab += window[i] * va * vb;
        }
        *AT(float, mean_a, x, y) = ma;
        *AT(float, mean_b, x, y) = mb;
        *AT(float, square_a, x, y) = aa;
        *AT(float, square_b, x, y) = bb;
        *AT(float, product, x, y) = ab;
    }
    add(squares, sums + 1);
}

extern "C" __global__ void __launch_bounds__(128) ssim_columns(
    VIEW(const float, mean_a), VIEW(const float, mean_b), VIEW(const float, square_a),
    VIEW(const float, square_b), VIEW(const float, product), Params params,
    unsigned long long* sums, uint32_t sums_len) {
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    long long ssim = 0;
    if (x < mean_a_width && y + 10 < mean_a_height) {
        float ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
#pragma unroll
        for (int i = 0; i < 11; i++) {
            ma += window[i] * __ldg(AT(const float, mean_a, x, y + i));
            mb += window[i] * __ldg(AT(const float, mean_b, x, y + i));
            aa += window[i] * __ldg(AT(const float, square_a, x, y + i));
            bb += window[i] * __ldg(AT(const float, square_b, x, y + i));
            ab += window[i] * __ldg(AT(const float, product, x, y + i));
        }
        float va = aa - ma * ma, vb = bb - mb * mb, cov = ab - ma * mb;
        float value = (2 * ma * mb + params.c1) * (2 * cov + params.c2) /
                      ((ma * ma + mb * mb + params.c1) * (va + vb + params.c2));
        ssim = (long long)(int)(value * 1073741824.0f);
    }
    add((unsigned long long)ssim, sums);
}
