// Measures the errors of cuda_std's functions and of CUDA's, on the same arguments. See ../doc/maths.md.
//
//     compare KERNELS.ptx
//
// Functions of one f32 get every f32, and those of two get pseudorandom and special pairs. The references of f32 are
// CUDA's functions of f64. Functions of f64 get pseudorandom arguments, and the references have 113 bits.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

double error_in_ulp(const char* name, double x, double y, double found);

#define CHECK(call)                                                                            \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            fprintf(stderr, "%s: %s (line %d)\n", #call, cudaGetErrorString(error), __LINE__); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

#define ONE(F)                                                                                                       \
    F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinpi) F(cospi) F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10)   \
    F(log1p) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(cbrt) F(rcbrt) F(erf) F(erfc)
#define TWO(F) F(pow) F(atan2) F(hypot) F(rem)

template <class T>
__device__ T rem(T x, T y) {
    T rest = fmod(x, y);
    return rest < 0 ? rest + fabs(y) : rest;
}

#define FUNCTION(name)                                                         \
    struct Of_##name {                                                         \
        static const char* text() { return #name; }                            \
        template <class T>                                                     \
        static __device__ T at(T x, T) { return ::name(x); }                   \
    };
ONE(FUNCTION)
#undef FUNCTION
#define FUNCTION(name)                                                         \
    struct Of_##name {                                                         \
        static const char* text() { return #name; }                            \
        template <class T>                                                     \
        static __device__ T at(T x, T y) { return ::name(x, y); }              \
    };
TWO(FUNCTION)

constexpr int BLOCK = 256;

template <class F, class T>
__global__ void cuda_function(const T* x, const T* y, T* out) {
    size_t i = size_t(blockIdx.x) * BLOCK + threadIdx.x;
    out[i] = F::at(x[i], y[i]);
}

__global__ void consecutive(uint32_t first, float* x) {
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    x[i] = __uint_as_float(first + i);
}

__device__ double error_of_f32(float found, double exact) {
    float nearest = float(exact);
    if (isnan(exact) || isnan(found)) return isnan(exact) && isnan(found) ? 0 : INFINITY;
    if (nearest == 0 && found == 0) return signbit(nearest) == signbit(found) ? 0 : INFINITY;
    if (nearest == found && isinf(found)) return 0;
    // An infinity counts as the number after the largest one.
    double end = ldexp(1.0, 128);
    double a = fmin(fmax(exact, -end), end), b = fmin(fmax(double(found), -end), end);
    int exponent = min(max(ilogb(exact), -126), 127);
    return ldexp(fabs(a - b), 23 - exponent);
}

// The highest error so far and the index of its argument, as two halves of a number.
template <class F>
__global__ void worst_of_f32(const float* x, const float* y, const float* found, size_t count,
                             unsigned long long* worst) {
    unsigned long long most = 0;
    for (size_t i = size_t(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += size_t(gridDim.x) * BLOCK) {
        double error = error_of_f32(found[i], F::at(double(x[i]), double(y[i])));
        most = max(most, (unsigned long long)(__float_as_uint(float(error))) << 32 | i);
    }
    atomicMax(worst, most);
}

struct Worst {
    double error = -1;
    double x = 0, y = 0;
};

template <class T>
struct Run {
    cudaLibrary_t library;
    size_t count;
    T *x, *y, *out;
    unsigned long long* worst;

    Run(cudaLibrary_t library, size_t count) : library(library), count(count) {
        CHECK(cudaMalloc(&x, count * sizeof(T)));
        CHECK(cudaMalloc(&y, count * sizeof(T)));
        CHECK(cudaMalloc(&out, count * sizeof(T)));
        CHECK(cudaMalloc(&worst, sizeof(*worst)));
    }

    void ours(const char* name, bool two) {
        cudaKernel_t kernel;
        std::string full = std::string(name) + (sizeof(T) == 4 ? "_f32" : "_f64");
        CHECK(cudaLibraryGetKernel(&kernel, library, full.c_str()));
        void* one_arguments[] = {&x, &out};
        void* two_arguments[] = {&x, &y, &out};
        CHECK(cudaLaunchKernel((const void*)kernel, dim3(count / BLOCK), dim3(BLOCK),
                               two ? two_arguments : one_arguments, 0, 0));
    }

    template <class F>
    void theirs() {
        cuda_function<F, T><<<count / BLOCK, BLOCK>>>(x, y, out);
    }
};

template <class F>
void take_worst(Run<float>& run, Worst& worst) {
    CHECK(cudaMemset(run.worst, 0, sizeof(*run.worst)));
    worst_of_f32<F><<<1024, BLOCK>>>(run.x, run.y, run.out, run.count, run.worst);
    unsigned long long packed;
    CHECK(cudaMemcpy(&packed, run.worst, sizeof packed, cudaMemcpyDeviceToHost));
    uint32_t bits = uint32_t(packed >> 32), index = uint32_t(packed);
    float error, x, y;
    memcpy(&error, &bits, sizeof error);
    CHECK(cudaMemcpy(&x, run.x + index, sizeof x, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&y, run.y + index, sizeof y, cudaMemcpyDeviceToHost));
    if (error > worst.error) worst = {error, x, y};
}

void print(const char* name, const char* type, const Worst& ours, const Worst& theirs) {
    printf("%-8s %s  ours %7.3f at %.9g %.9g   nvcc %7.3f at %.9g %.9g\n", name, type, ours.error, ours.x, ours.y,
           theirs.error, theirs.x, theirs.y);
    fflush(stdout);
}

template <class F>
void one_f32(Run<float>& run) {
    Worst ours, theirs;
    for (uint64_t first = 0; first < (uint64_t(1) << 32); first += run.count) {
        consecutive<<<run.count / BLOCK, BLOCK>>>(uint32_t(first), run.x);
        run.ours(F::text(), false);
        take_worst<F>(run, ours);
        run.theirs<F>();
        take_worst<F>(run, theirs);
    }
    print(F::text(), "f32", ours, theirs);
}

template <class F>
void two_f32(Run<float>& run) {
    Worst ours, theirs;
    run.ours(F::text(), true);
    take_worst<F>(run, ours);
    run.theirs<F>();
    take_worst<F>(run, theirs);
    print(F::text(), "f32", ours, theirs);
}

template <class F>
void f64(Run<double>& run, const std::vector<double>& x, const std::vector<double>& y, bool two) {
    Worst worst[2];
    for (int side = 0; side < 2; ++side) {
        if (side == 0) run.ours(F::text(), two);
        else run.theirs<F>();
        std::vector<double> out(run.count);
        CHECK(cudaMemcpy(out.data(), run.out, run.count * sizeof(double), cudaMemcpyDeviceToHost));
        size_t count = std::max(1u, std::thread::hardware_concurrency());
        std::vector<Worst> parts(count);
        std::vector<std::thread> threads;
        for (size_t t = 0; t < count; ++t) {
            threads.emplace_back([&, t] {
                for (size_t i = t; i < run.count; i += count) {
                    double error = error_in_ulp(F::text(), x[i], y[i], out[i]);
                    if (error > parts[t].error) parts[t] = {error, x[i], y[i]};
                }
            });
        }
        for (auto& thread : threads) thread.join();
        for (auto& part : parts)
            if (part.error > worst[side].error) worst[side] = part;
    }
    print(F::text(), "f64", worst[0], worst[1]);
}

uint64_t random_bits() {
    static uint64_t state = 1;
    state = state * 6364136223846793005ull + 1;
    uint64_t x = state ^ state >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

const double SPECIAL[] = {0,   1e-45, 1e-40, 5e-324, 1e-310, 1e-20, 0.25, 0.5,      1,        1.5,
                          2.5, 3,     4,     88.5,   710,    65536, 1e9,  16777217, 3.4e38,   INFINITY,
                          NAN};

uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// Returns a number of one of five kinds: any bits, between 2^-8 and 2^8, between 1/2 and 1, within 32, or near a
// multiple of pi/2.
template <class T>
T number(int kind) {
    using Bits = decltype(bits_of(T()));
    const int mantissa = sizeof(T) == 4 ? 23 : 52;
    const Bits sign = Bits(1) << (8 * sizeof(T) - 1), low = (Bits(1) << mantissa) - 1;
    const uint64_t random = random_bits();
    Bits bits = Bits(random);
    if (kind == 1) bits = (bits & (low | sign)) | (bits_of(T(1)) + (Bits(random_bits() & 15) << mantissa) - (Bits(8) << mantissa));
    if (kind == 2) bits = (bits & low) | bits_of(T(0.5));
    if (kind == 3) return T(ldexp(double(random >> 11), -48)) * (random & 1 ? 1 : -1);
    if (kind == 4) return T(double(random >> 44) * 1.5707963267948966);
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Special pairs, and then pairs of all kinds, and powers over the whole range of results.
template <class T>
void fill(std::vector<T>& x, std::vector<T>& y) {
    const double range = sizeof(T) == 4 ? 150 : 1075;
    size_t at = 0;
    for (double a : SPECIAL)
        for (double b : SPECIAL)
            for (int signs = 0; signs < 4; ++signs, ++at) x[at] = T(signs & 1 ? -a : a), y[at] = T(signs & 2 ? -b : b);
    for (; at < x.size(); ++at) {
        x[at] = number<T>(at % 6 % 5), y[at] = number<T>(at / 6 % 5);
        if (at % 6 == 5) {
            x[at] = number<T>(2) * (at & 1 ? 1 : 2);
            y[at] = T(ldexp(double(random_bits() >> 11), -52) * range - range) / log2(x[at]);
        }
    }
}

int main(int count, char** arguments) {
    if (count != 2) return fprintf(stderr, "usage: %s KERNELS.ptx\n", arguments[0]), 2;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("%s\n", properties.name);
    cudaLibrary_t library;
    CHECK(cudaLibraryLoadFromFile(&library, arguments[1], nullptr, nullptr, 0, nullptr, nullptr, 0));

    {
        Run<float> run(library, size_t(1) << 28);
        CHECK(cudaMemset(run.y, 0, run.count * sizeof(float)));
#define MEASURE(name) one_f32<Of_##name>(run);
        ONE(MEASURE)
#undef MEASURE
        std::vector<float> x(size_t(1) << 26), y(x.size());
        fill(x, y);
        run.count = x.size();
        CHECK(cudaMemcpy(run.x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(run.y, y.data(), y.size() * sizeof(float), cudaMemcpyHostToDevice));
#define MEASURE(name) two_f32<Of_##name>(run);
        TWO(MEASURE)
#undef MEASURE
        CHECK(cudaDeviceSynchronize());
    }
    Run<double> run(library, size_t(1) << 20);
    std::vector<double> x(run.count), y(run.count);
    fill(x, y);
    CHECK(cudaMemcpy(run.x, x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(run.y, y.data(), y.size() * sizeof(double), cudaMemcpyHostToDevice));
#define MEASURE(name) f64<Of_##name>(run, x, y, false);
    ONE(MEASURE)
#undef MEASURE
#define MEASURE(name) f64<Of_##name>(run, x, y, true);
    TWO(MEASURE)
}
