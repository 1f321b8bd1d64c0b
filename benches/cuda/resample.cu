// The original system's resampling, rebuilt in CUDA C++: the reference for the resampling kernels.
//
// Persistent blocks process one batch after another. A block stages the times of a batch in shared memory. Each thread
// then takes a target, finds its position by bisection, and writes its output row, one number at a time. The original
// ignored all but the first 512 times. Here the host allocates enough dynamic shared memory for all times. Like the
// original, the kernel does not detect invalid times. It has the argument `faults` only for the same signature as our
// kernel.
//
// Compile with: nvcc -O3 -arch=sm_90 -rdc=true -ptx resample.cu
// Then set PANOWEAVE_REFERENCE_PTX to the folder of the PTX.

#include <cstdint>

#define VIEW(T, n) T *__restrict__ n, uint32_t n##_width, uint32_t n##_height, uint32_t n##_pitch
#define PASS(n) n, n##_width, n##_height, n##_pitch
#define AT(T, n, x, y) (reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(n) + size_t(y) * n##_pitch) + (x))

// Storage formats of values. Arithmetic is in single precision.
struct F32 {
    using Stored = float;
    static __device__ float load(float stored) { return stored; }
    static __device__ float store(float value) { return value; }
};

struct Bf16 {
    using Stored = uint16_t;
    static __device__ float load(uint16_t stored) { return __uint_as_float(uint32_t(stored) << 16); }
    static __device__ uint16_t store(float value) {
        uint16_t stored;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(stored) : "f"(value));
        return stored;
    }
};

struct F16 {
    using Stored = uint16_t;
    static __device__ float load(uint16_t stored) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
        return value;
    }
    static __device__ uint16_t store(float value) {
        uint16_t stored;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored) : "f"(value));
        return stored;
    }
};

extern __shared__ float staged[];

template <typename F> __device__ __forceinline__ void resample(
    VIEW(const float, times), VIEW(const typename F::Stored, values), VIEW(const float, targets),
    VIEW(typename F::Stored, out)) {
    using Stored = typename F::Stored;
    for (uint32_t batch = blockIdx.x; batch < times_height; batch += gridDim.x) {
        for (uint32_t i = threadIdx.x; i < times_width; i += blockDim.x) {
            staged[i] = __ldg(AT(const float, times, i, batch));
        }
        __syncthreads();
        for (uint32_t target = threadIdx.x; target < targets_width; target += blockDim.x) {
            float time = __ldg(AT(const float, targets, target, batch));
            // `low` becomes the number of times that are not after the target.
            uint32_t low = 0, high = times_width;
            while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (staged[middle] <= time) low = middle + 1;
                else high = middle;
            }
            uint32_t row = low > 0 ? low - 1 : 0, next = min(row + 1, times_width - 1);
            float share = 0.0f;
            if (low > 0 && low < times_width) {
                float whole = staged[next] - staged[row];
                if (whole >= 1e-6f) share = (time - staged[row]) / whole;
            }
            const Stored* from = AT(const Stored, values, 0, batch * times_width + row);
            const Stored* to = AT(const Stored, values, 0, batch * times_width + next);
            Stored* filled = AT(Stored, out, 0, batch * targets_width + target);
            for (uint32_t column = 0; column < values_width; column++) {
                float a = F::load(__ldg(from + column)), b = F::load(__ldg(to + column));
                filled[column] = F::store(fmaf(share, b - a, a));
            }
        }
        __syncthreads();
    }
}

#define RESAMPLE(name, F)                                                                          \
    extern "C" __global__ void __launch_bounds__(256) name(                                        \
        VIEW(const float, times), VIEW(const F::Stored, values), VIEW(const float, targets),       \
        VIEW(F::Stored, out), unsigned long long* faults, uint32_t faults_len) {                   \
        resample<F>(PASS(times), PASS(values), PASS(targets), PASS(out));                          \
    }

RESAMPLE(original_resample_f32, F32)
RESAMPLE(original_resample_bf16, Bf16)
RESAMPLE(original_resample_f16, F16)
