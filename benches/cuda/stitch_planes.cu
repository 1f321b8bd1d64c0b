// A stitch with the lookup `planes`, without optimisations, in CUDA C++: the reference for the Rust kernels.
//
// The loop is that of kernels-gpu/src/stitch/planes.rs, but the six planes are six views.
// benches/benches/stitch.rs declares the same signature to launch it.
//
// Compile with: nvcc -O3 -arch=sm_90 -ptx stitch_planes.cu
// Then set PANOWEAVE_REFERENCE_PTX to the folder of the PTX.

#include <cstdint>

template <typename T> struct View {
    const T* data;
    uint32_t width, height, pitch;
    __device__ bool contains(uint32_t x, uint32_t y) const { return x < width && y < height; }
    __device__ T load(uint32_t x, uint32_t y) const {
        return __ldg(reinterpret_cast<const T*>(
            reinterpret_cast<const char*>(data) + size_t(y) * pitch) + x);
    }
};

struct Colour { float gain[3]; float gamma; };
// The first fields of `StitchParams`. The fields that follow are for NV12, which these kernels do not support.
struct Params { Colour left, right; uint32_t flip, edge_boost; };

struct Linear { static __device__ float power(float b, float) { return b; } };
struct Exact { static __device__ float power(float b, float e) { return powf(b, e); } };

__device__ float3 levels(uchar4 p) { return make_float3(p.x, p.y, p.z); }

__device__ float3 lerp(float3 a, float3 b, float t) {
    return make_float3(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z));
}

template <typename P>
__device__ void add(View<uchar4> picture, View<float> lut_x, View<float> lut_y, View<float> weights,
                    uint32_t x, uint32_t y, const Colour& colour, float3& sum, float& total) {
    if (!(weights.contains(x, y) && lut_x.contains(x, y) && lut_y.contains(x, y))) return;
    float weight = weights.load(x, y);
    if (!(weight > 0.001f)) return;
    float u = lut_x.load(x, y), v = lut_y.load(x, y);
    if (!(u >= 0 && u < float(picture.width) && v >= 0 && v < float(picture.height))) return;
    float fu = floorf(u), fv = floorf(v), a = u - fu, b = v - fv;
    uint32_t x0 = uint32_t(fu), y0 = uint32_t(fv);
    uint32_t x1 = min(x0 + 1, picture.width - 1), y1 = min(y0 + 1, picture.height - 1);
    float3 top = lerp(levels(picture.load(x0, y0)), levels(picture.load(x1, y0)), a);
    float3 bottom = lerp(levels(picture.load(x0, y1)), levels(picture.load(x1, y1)), a);
    float3 c = lerp(top, bottom, b);
    sum.x += weight * P::power(__saturatef(c.x * (colour.gain[0] / 255.0f)), colour.gamma);
    sum.y += weight * P::power(__saturatef(c.y * (colour.gain[1] / 255.0f)), colour.gamma);
    sum.z += weight * P::power(__saturatef(c.z * (colour.gain[2] / 255.0f)), colour.gamma);
    total += weight;
}

__device__ unsigned char level(float c) {
    return (unsigned char)__float2int_rn(fminf(fmaxf(c, 0.0f), 255.0f));
}

template <typename P>
__device__ void stitch(View<uchar4> left, View<uchar4> right, View<float> lx, View<float> ly,
                       View<float> rx, View<float> ry, View<float> wl, View<float> wr,
                       const Params& params, View<uchar4> out) {
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t y = blockIdx.y * blockDim.y + threadIdx.y;
    if (!out.contains(x, y)) return;
    float3 sum = make_float3(0, 0, 0);
    float total = 0;
    add<P>(left, lx, ly, wl, x, y, params.left, sum, total);
    add<P>(right, rx, ry, wr, x, y, params.right, sum, total);
    float boost = 1;
    if (params.edge_boost) {
        float half = 0.5f * out.width, d = fabsf(x - half) / half;
        if (d > 0.8f) boost = fminf(1 + (d - 0.8f) * 1.75f, 1.35f);
    }
    uchar4 pixel = make_uchar4(0, 0, 0, 255);
    if (total > 0) {
        float scale = 255.0f * boost / total;
        pixel = make_uchar4(level(sum.x * scale), level(sum.y * scale), level(sum.z * scale), 255);
    }
    if (params.flip) { x = out.width - 1 - x; y = out.height - 1 - y; }
    uchar4* row = reinterpret_cast<uchar4*>(
        reinterpret_cast<char*>(const_cast<uchar4*>(out.data)) + size_t(y) * out.pitch);
    row[x] = pixel;
}

#define VIEW(T, n) const T *__restrict__ n##_p, uint32_t n##_w, uint32_t n##_h, uint32_t n##_s
#define ARG(T, n) View<T>{n##_p, n##_w, n##_h, n##_s}
#define KERNEL(name, P) \
    extern "C" __global__ void __launch_bounds__(256, 4) name( \
        VIEW(uchar4, l), VIEW(uchar4, r), VIEW(float, lx), VIEW(float, ly), VIEW(float, rx), \
        VIEW(float, ry), VIEW(float, wl), VIEW(float, wr), Params params, \
        uchar4* o_p, uint32_t o_w, uint32_t o_h, uint32_t o_s) { \
        stitch<P>(ARG(uchar4, l), ARG(uchar4, r), ARG(float, lx), ARG(float, ly), ARG(float, rx), \
                  ARG(float, ry), ARG(float, wl), ARG(float, wr), params, ARG(uchar4, o)); \
    }

KERNEL(stitch_planes_linear, Linear)
KERNEL(stitch_planes_exact, Exact)
