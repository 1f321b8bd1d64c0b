// The original system's colour analysis, rebuilt in CUDA C++: the reference for the colour sums.
//
// Blocks of 32 by 32 cover the whole panorama, with one thread per pixel. A thread reads all six planes
// and samples both cameras bilinearly where both contribute. Nine sums are reduced in a shared array, whose
// 33rd column avoids bank conflicts: one thread per row adds up the row, one thread adds up the rows, and
// then adds the block's sums to `sums` atomically. The original had a barrier inside `if (tx == 0)`, which
// is undefined behaviour; here it is outside. White and black pixels count like other pixels. The caller must
// set `sums` to 0 first.
//
// Compile with: nvcc -O3 -arch=sm_90 -ptx colour_analysis.cu
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

// The analysed band of columns: its centre and width, as fractions of the panorama's width.
struct Band { float centre, width; };

__device__ float3 levels(uchar4 p) { return make_float3(p.x, p.y, p.z); }

__device__ float3 lerp(float3 a, float3 b, float t) {
    return make_float3(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z));
}

__device__ bool inside(View<uchar4> picture, float u, float v) {
    return u >= 0 && u < float(picture.width) && v >= 0 && v < float(picture.height);
}

__device__ float3 sample(View<uchar4> picture, float u, float v) {
    float fu = floorf(u), fv = floorf(v), a = u - fu, b = v - fv;
    uint32_t x0 = uint32_t(fu), y0 = uint32_t(fv);
    uint32_t x1 = min(x0 + 1, picture.width - 1), y1 = min(y0 + 1, picture.height - 1);
    float3 top = lerp(levels(picture.load(x0, y0)), levels(picture.load(x1, y0)), a);
    float3 bottom = lerp(levels(picture.load(x0, y1)), levels(picture.load(x1, y1)), a);
    return lerp(top, bottom, b);
}

__device__ float luma(float3 c) { return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z; }

#define VIEW(T, n) const T *__restrict__ n##_p, uint32_t n##_w, uint32_t n##_h, uint32_t n##_s
#define ARG(T, n) View<T>{n##_p, n##_w, n##_h, n##_s}

extern "C" __global__ void __launch_bounds__(1024) colour_analysis(
    VIEW(uchar4, l), VIEW(uchar4, r), VIEW(float, lx), VIEW(float, ly), VIEW(float, rx),
    VIEW(float, ry), VIEW(float, wl), VIEW(float, wr), Band band, float* sums, uint32_t) {
    __shared__ float shared[9][32][33];
    View<uchar4> left = ARG(uchar4, l), right = ARG(uchar4, r);
    View<float> left_x = ARG(float, lx), left_y = ARG(float, ly), right_x = ARG(float, rx),
                right_y = ARG(float, ry), left_weight = ARG(float, wl), right_weight = ARG(float, wr);
    uint32_t tx = threadIdx.x, ty = threadIdx.y;
    uint32_t x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    float terms[9] = {};
    if (left_weight.contains(x, y)) {
        float u0 = left_x.load(x, y), v0 = left_y.load(x, y);
        float u1 = right_x.load(x, y), v1 = right_y.load(x, y);
        float distance = fabsf(float(x) / float(left_weight.width) - band.centre);
        bool counts = left_weight.load(x, y) > 0.1f && right_weight.load(x, y) > 0.1f;
        if (counts && inside(left, u0, v0) && inside(right, u1, v1) && distance < band.width / 2) {
            float share = 1 - distance / (band.width / 2), s = share * share;
            float3 a = sample(left, u0, v0), b = sample(right, u1, v1);
            terms[0] = s * a.x; terms[1] = s * a.y; terms[2] = s * a.z; terms[3] = s * luma(a);
            terms[4] = s * b.x; terms[5] = s * b.y; terms[6] = s * b.z; terms[7] = s * luma(b);
            terms[8] = s;
        }
    }
    for (int i = 0; i < 9; i++) shared[i][ty][tx] = terms[i];
    __syncthreads();
    if (tx == 0) {
        for (int i = 0; i < 9; i++) {
            float sum = 0;
            for (int column = 0; column < 32; column++) sum += shared[i][ty][column];
            shared[i][ty][0] = sum;
        }
    }
    __syncthreads();
    if (tx == 0 && ty == 0) {
        for (int i = 0; i < 9; i++) {
            float sum = 0;
            for (int row = 0; row < 32; row++) sum += shared[i][row][0];
            atomicAdd(&sums[i], sum);
        }
    }
}
