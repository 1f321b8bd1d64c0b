// Floors: what three kernels would take if they did nothing but read and write.
//
// The kernels that miss their aims are held against these: the same bytes, read and written in the same shapes and
// launched as early as ours, but without lenses, meshes, searches or, step by step, colour. What even these take, no
// kernel of that shape falls below. A copy says less where launches are short: it leaves the memory idle between them.
//
// - Resampling: 8192 batches of 500 rows of 64 bytes at 250 random times, the rows known beforehand.
// - View: 1920x1080 from two pictures of 3840x2160; both are seen in 54 % of it, each 1.156 pixels apart.
// - NV12: 5700x1900 in NV12 from two pictures in NV12, one on either side; the same colour for both.
//
// Nothing is checked but that launches succeed: there is no result. It is not part of `cargo xtask bench`.
//
// nvcc -O3 -std=c++17 -arch=sm_90 -o floors floors.cu && ./floors

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call) \
    do { \
        cudaError_t error = (call); \
        if (error != cudaSuccess) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error)); \
            exit(1); \
        } \
    } while (0)

// Buffers in rotation, more than a cache holds.
constexpr int SETS = 6;

// The next launch may begin while this one runs, and waits here until all before it is done.
__device__ __forceinline__ void begin() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
}

template <typename... P, typename... A> void launch(void (*kernel)(P...), dim3 grid, dim3 block, A... arguments) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.attrs = &early;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, kernel, P(arguments)...));
}

// The median over runs of what a launch takes; `run` takes the number of its set.
template <typename F> void measure(const char* name, int launches, F run) {
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::vector<float> runs(9);
    for (int i = 0; i < SETS; i++) run(i);
    for (float& micros : runs) {
        CHECK(cudaEventRecord(from));
        for (int i = 0; i < launches; i++) run(i % SETS);
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaEventElapsedTime(&micros, from, to));
        micros *= 1000.0f / launches;
    }
    std::sort(runs.begin(), runs.end());
    printf("  %-56s %7.2f us\n", name, runs[runs.size() / 2]);
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
}

template <typename T> T* device(size_t count) {
    T* memory;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    CHECK(cudaMemset(memory, 77, count * sizeof(T)));
    return memory;
}

void measure_copy(int launches, double bytes) {
    size_t half = size_t(bytes / 2);
    uint8_t *from[SETS], *to[SETS];
    for (int i = 0; i < SETS; i++) from[i] = device<uint8_t>(half), to[i] = device<uint8_t>(half);
    measure("a copy of as many bytes", launches, [&](int i) {
        CHECK(cudaMemcpyAsync(to[i], from[i], half, cudaMemcpyDeviceToDevice));
    });
    for (int i = 0; i < SETS; i++) {
        CHECK(cudaFree(from[i]));
        CHECK(cudaFree(to[i]));
    }
}

// ---- Resampling

constexpr int BATCHES = 8192, TIMES = 500, TARGETS = 250, PIECES = 4;

struct Batches {
    const float* times;
    const uint32_t* rows; // of a target: read in place of its time
    const uint4* values;
    uint4* out;
};

__device__ __forceinline__ uint4 mixed(uint4 a, uint4 b) {
    return make_uint4(__vavgu2(a.x, b.x), __vavgu2(a.y, b.y), __vavgu2(a.z, b.z), __vavgu2(a.w, b.w));
}

// A row and the next for each target, `AHEAD` pieces of a thread on their way at once.
template <int THREADS, int AHEAD> __global__ __launch_bounds__(THREADS) void by_rows(Batches s) {
    begin();
    __shared__ float times[TIMES];
    __shared__ uint32_t rows[TARGETS];
    size_t batch = blockIdx.x;
    for (int i = threadIdx.x; i < TIMES; i += THREADS) times[i] = s.times[batch * TIMES + i];
    for (int i = threadIdx.x; i < TARGETS; i += THREADS) rows[i] = s.rows[batch * TARGETS + i];
    __syncthreads();
    const uint4* values = s.values + batch * TIMES * PIECES;
    uint4* out = s.out + batch * TARGETS * PIECES;
    for (int first = threadIdx.x; first < TARGETS * PIECES; first += THREADS * AHEAD) {
        uint4 a[AHEAD], b[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            int piece = min(first + i * THREADS, TARGETS * PIECES - 1);
            uint32_t row = rows[piece / PIECES];
            a[i] = __ldg(values + row * PIECES + piece % PIECES);
            b[i] = __ldg(values + (row + 1) * PIECES + piece % PIECES);
            if (times[row] > 1e30f) a[i].x = 0; // so that times are read
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (first + i * THREADS < TARGETS * PIECES) out[first + i * THREADS] = mixed(a[i], b[i]);
        }
    }
}

// As many rows of each batch, but its first ones.
template <int THREADS, int AHEAD> __global__ __launch_bounds__(THREADS) void in_order(Batches s, int rows) {
    begin();
    size_t batch = blockIdx.x;
    float time = 0.0f;
    uint32_t row = 0;
    for (int i = threadIdx.x; i < TIMES; i += THREADS) time += s.times[batch * TIMES + i];
    for (int i = threadIdx.x; i < TARGETS; i += THREADS) row += s.rows[batch * TARGETS + i];
    const uint4* values = s.values + batch * TIMES * PIECES;
    uint4 sum = make_uint4(row, __float_as_uint(time), 0, 0);
    for (int first = threadIdx.x; first < rows * PIECES; first += THREADS * AHEAD) {
        uint4 a[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) a[i] = __ldg(values + min(first + i * THREADS, rows * PIECES - 1));
#pragma unroll
        for (int i = 0; i < AHEAD; i++) sum = mixed(sum, a[i]);
    }
    uint4* out = s.out + batch * TARGETS * PIECES;
    for (int i = threadIdx.x; i < TARGETS * PIECES; i += THREADS) out[i] = sum;
}

void resampling() {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> anywhere(0.0f, TIMES - 1.001f);
    std::vector<uint32_t> rows(size_t(BATCHES) * TARGETS);
    size_t touched = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        auto from = rows.begin() + size_t(batch) * TARGETS;
        std::vector<bool> seen(TIMES);
        for (int i = 0; i < TARGETS; i++) from[i] = uint32_t(anywhere(random));
        std::sort(from, from + TARGETS);
        for (int i = 0; i < TARGETS; i++) seen[from[i]] = seen[from[i] + 1] = true;
        touched += std::count(seen.begin(), seen.end(), true);
    }
    double bytes = touched * 64.0 + double(BATCHES) * (TARGETS * 64 + (TIMES + TARGETS) * 4);
    printf("resampling, 8192 batches, random times: %.1f MB\n", bytes / 1e6);
    constexpr int LARGE_SETS = 3;
    Batches sets[LARGE_SETS];
    for (Batches& set : sets) {
        auto* all = device<uint32_t>(rows.size());
        CHECK(cudaMemcpy(all, rows.data(), rows.size() * 4, cudaMemcpyHostToDevice));
        set = {device<float>(size_t(BATCHES) * TIMES), all, device<uint4>(size_t(BATCHES) * TIMES * PIECES),
               device<uint4>(size_t(BATCHES) * TARGETS * PIECES)};
    }
    measure_copy(24, bytes);
    auto measure_rows = [&](const char* name, auto kernel, auto... each) {
        measure(name, 24, [&](int i) { launch(kernel, BATCHES, 256, sets[i % LARGE_SETS], each...); });
    };
    measure_rows("as many rows in order", in_order<256, 4>, int(touched / BATCHES));
    measure_rows("the rows, two pieces ahead", by_rows<256, 2>);
    measure_rows("the rows, four pieces ahead", by_rows<256, 4>);
}

// ---- Pictures

constexpr int WIDTH = 3840, HEIGHT = 2160;

template <typename T> cudaTextureObject_t texture(const T* rows, int width, int height) {
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypePitch2D;
    from.res.pitch2D.devPtr = const_cast<T*>(rows);
    from.res.pitch2D.desc = cudaCreateChannelDesc<T>();
    from.res.pitch2D.width = width;
    from.res.pitch2D.height = height;
    from.res.pitch2D.pitchInBytes = width * sizeof(T);
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeNormalizedFloat;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t made;
    CHECK(cudaCreateTextureObject(&made, &from, &how, nullptr));
    return made;
}

// How pixels are read: by textures, by the nearest pixel alone, by four without arithmetic, or not at all.
enum Reads { TEXTURES, NEAREST, FOUR, NONE };

// A number from 0 to 255, rounded, without the unit that converts.
__device__ __forceinline__ uint32_t byte(float value) {
    return __float_as_uint(fminf(value, 255.0f) + 8388608.0f) & 255;
}

// ---- View

constexpr int VIEW_WIDTH = 1920, VIEW_HEIGHT = 1080, BY_BOTH = 1037;
constexpr float STEP = 1.156f;

struct Seen {
    const uchar4* rows;
    cudaTextureObject_t texture;

    template <Reads READS> __device__ __forceinline__ float4 at(float x, float y) const {
        if (READS == TEXTURES) return tex2D<float4>(texture, x, y);
        const uint32_t* from = reinterpret_cast<const uint32_t*>(rows) + int(y) * WIDTH + int(x);
        uint32_t c = __ldg(from);
        if (READS == FOUR) {
            c = __vavgu4(__vavgu4(c, __ldg(from + 1)), __vavgu4(__ldg(from + WIDTH), __ldg(from + WIDTH + 1)));
        }
        constexpr float ONE = 1.0f / 255.0f;
        return make_float4((c & 255) * ONE, (c >> 8 & 255) * ONE, (c >> 16 & 255) * ONE, 1.0f);
    }
};

struct Look {
    Seen left, right;
    uint32_t* out;
};

// A thread makes `RUN` pixels of a column, four of which are on their way at once.
template <Reads READS, int RUN> __global__ __launch_bounds__(128) void view(Look look) {
    begin();
    constexpr int AHEAD = RUN < 4 ? RUN : 4;
    int x = blockIdx.x * 32 + threadIdx.x, top = (blockIdx.y * 4 + threadIdx.y) * RUN;
    if (x >= VIEW_WIDTH || top >= VIEW_HEIGHT) return;
    bool both = blockIdx.x * 32 + 32 > VIEW_WIDTH - BY_BOTH;
    float u = 1000.0f + x * STEP, v = 300.0f + top * STEP;
#pragma unroll
    for (int from = 0; from < RUN; from += AHEAD) {
        float4 colours[AHEAD], others[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) colours[i] = look.left.at<READS>(u, v + (from + i) * STEP);
        if (both) {
#pragma unroll
            for (int i = 0; i < AHEAD; i++) others[i] = look.right.at<READS>(u - 900.0f, v + (from + i) * STEP);
#pragma unroll
            for (int i = 0; i < AHEAD; i++) {
                float share = x * (1.0f / VIEW_WIDTH);
                colours[i].x += share * (others[i].x - colours[i].x);
                colours[i].y += share * (others[i].y - colours[i].y);
                colours[i].z += share * (others[i].z - colours[i].z);
            }
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            auto [r, g, b, _] = colours[i];
            uint32_t pixel = byte(r * 255.0f) | byte(g * 255.0f) << 8 | byte(b * 255.0f) << 16 | 0xff000000;
            if (top + from + i < VIEW_HEIGHT) look.out[(top + from + i) * VIEW_WIDTH + x] = pixel;
        }
    }
}

// As many bytes in the order in which they lie.
__global__ __launch_bounds__(256) void stream(const uint4* in, size_t reads, uint4* out, size_t writes) {
    begin();
    size_t from = blockIdx.x * 1024 + threadIdx.x, to = blockIdx.x * 512 + threadIdx.x;
    uint4 read[4];
#pragma unroll
    for (int i = 0; i < 4; i++) read[i] = __ldg(in + min(from + i * 256, reads - 1));
    uint4 a = mixed(read[0], read[1]), b = mixed(read[2], read[3]);
    if (to < writes) out[to] = a;
    if (to + 256 < writes) out[to + 256] = b;
}

template <Reads READS, int RUN> void measure_view(const char* name, const Look* sets) {
    dim3 grid((VIEW_WIDTH + 31) / 32, (VIEW_HEIGHT + 4 * RUN - 1) / (4 * RUN));
    measure(name, 400, [&](int i) { launch(view<READS, RUN>, grid, dim3(32, 4), sets[i]); });
}

void views() {
    constexpr double READ = 4.0 * STEP * STEP * VIEW_HEIGHT * (VIEW_WIDTH + BY_BOTH);
    constexpr double WRITTEN = 4.0 * VIEW_WIDTH * VIEW_HEIGHT;
    printf("view, 1920x1080: %.1f MB read, %.1f MB written\n", READ / 1e6, WRITTEN / 1e6);
    Look sets[SETS];
    for (Look& set : sets) {
        auto picture = [] {
            auto* rows = device<uchar4>(WIDTH * HEIGHT);
            return Seen{rows, texture(rows, WIDTH, HEIGHT)};
        };
        set = {picture(), picture(), device<uint32_t>(VIEW_WIDTH * VIEW_HEIGHT)};
    }
    measure_copy(400, READ + WRITTEN);
    size_t reads = size_t(READ / 16), writes = size_t(WRITTEN / 16);
    unsigned blocks = unsigned(std::max(reads / 1024, writes / 512) + 1);
    measure("as many bytes in order", 400, [&](int i) {
        const uint4* in = reinterpret_cast<const uint4*>(sets[i].left.rows);
        launch(stream, blocks, 256, in, reads, reinterpret_cast<uint4*>(sets[i].out), writes);
    });
    measure_view<TEXTURES, 8>("by textures, 8 pixels a thread", sets);
    measure_view<TEXTURES, 4>("by textures, 4 pixels a thread", sets);
    measure_view<TEXTURES, 2>("by textures, 2 pixels a thread", sets);
    measure_view<FOUR, 8>("four pixels by loads, not weighed, 8 pixels a thread", sets);
    measure_view<FOUR, 4>("four pixels by loads, not weighed, 4 pixels a thread", sets);
    measure_view<NEAREST, 4>("the nearest pixel by loads, 4 pixels a thread", sets);
}

// ---- NV12

constexpr int PANORAMA_WIDTH = 5700, PANORAMA_HEIGHT = 1900, PITCH = 5760;

struct Nv12 {
    const uint8_t* y_rows;
    const uchar2* uv_rows;
    cudaTextureObject_t y, uv;
};

// Coefficients that the compiler does not know.
struct Colour {
    float luma, red, green_u, green_v, blue, gamma, to_y[3], to_u[3], to_v[3];
};

struct Pair {
    Nv12 left, right;
    uint8_t *y, *uv;
};

enum Work { MOVED, COLOURED, WITH_POWERS };

__device__ __forceinline__ float power(float base, float exponent) {
    float log, power;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(base));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(log * exponent));
    return power;
}

__device__ __forceinline__ float dot(const float (&row)[3], const float (&colour)[3], float offset) {
    return fmaf(row[0], colour[0], fmaf(row[1], colour[1], fmaf(row[2], colour[2], offset)));
}

__device__ __forceinline__ uint32_t packed(const uint32_t* bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
}

// A thread makes four by two pixels, as ours do. A step is a pixel of the picture in both directions, as in a panorama
// as fine as its cameras.
template <Reads READS, Work WORK>
__global__ __launch_bounds__(128, 8) void nv12(Pair pair, Colour colour, float step) {
    begin();
    int x = (blockIdx.x * 8 + threadIdx.x % 8) * 4, y = (blockIdx.y * 16 + threadIdx.x / 8) * 2;
    if (x >= PANORAMA_WIDTH || y >= PANORAMA_HEIGHT) return;
    bool right = int(blockIdx.x * 32) >= PANORAMA_WIDTH / 2;
    float u = (right ? x - PANORAMA_WIDTH / 2 + 10 : x) * step + 0.3f, v = y * step + 20.3f;
    float luma[2][4];
    float2 chroma[2];
    auto read = [&](const Nv12& picture) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float px = u + i % 4 * step, py = v + i / 4 * step;
            float& to = luma[i / 4][i % 4];
            if (READS == TEXTURES) to = tex2D<float>(picture.y, px, py);
            else if (READS == NEAREST) to = __ldg(picture.y_rows + int(py) * WIDTH + int(px)) * (1.0f / 255.0f);
            else to = (px + py) * 1e-4f;
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float px = (u + (2 * i + 0.5f) * step) * 0.5f, py = (v + 0.5f * step) * 0.5f;
            if (READS == TEXTURES) {
                chroma[i] = tex2D<float2>(picture.uv, px, py);
            } else if (READS == NEAREST) {
                uchar2 pixel = __ldg(picture.uv_rows + int(py) * (WIDTH / 2) + int(px));
                chroma[i] = make_float2(pixel.x * (1.0f / 255.0f), pixel.y * (1.0f / 255.0f));
            } else {
                chroma[i] = make_float2((px + py) * 1e-4f, px * 1e-4f);
            }
        }
    };
    if (right) read(pair.right);
    else read(pair.left);
    uint32_t lumas[2][4], chromas[4];
#pragma unroll
    for (int cell = 0; cell < 2; cell++) {
        float2 c = chroma[cell];
        if (WORK == MOVED) {
#pragma unroll
            for (int i = 0; i < 4; i++) lumas[i / 2][2 * cell + i % 2] = byte(luma[i / 2][2 * cell + i % 2] * 255.0f);
            chromas[2 * cell] = byte(c.x * 255.0f);
            chromas[2 * cell + 1] = byte(c.y * 255.0f);
            continue;
        }
        float base[3] = {fmaf(c.y, colour.red, -0.87f), fmaf(c.x, colour.green_u, fmaf(c.y, colour.green_v, 0.53f)),
                         fmaf(c.x, colour.blue, -1.08f)};
        float sum[3] = {};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float rgb[3];
#pragma unroll
            for (int k = 0; k < 3; k++) {
                rgb[k] = __saturatef(fmaf(luma[i / 2][2 * cell + i % 2], colour.luma, base[k]));
                if (WORK == WITH_POWERS) rgb[k] = power(rgb[k], colour.gamma);
                sum[k] += rgb[k];
            }
            lumas[i / 2][2 * cell + i % 2] = byte(dot(colour.to_y, rgb, 16.0f));
        }
        chromas[2 * cell] = byte(dot(colour.to_u, sum, 128.0f));
        chromas[2 * cell + 1] = byte(dot(colour.to_v, sum, 128.0f));
    }
    for (int i = 0; i < 2; i++) *reinterpret_cast<uint32_t*>(pair.y + (y + i) * PITCH + x) = packed(lumas[i]);
    *reinterpret_cast<uint32_t*>(pair.uv + y / 2 * PITCH + x) = packed(chromas);
}

template <Reads READS, Work WORK> void measure_nv12(const char* name, const Pair* sets, float step = 1.0f) {
    Colour colour = {1.16f, 1.6f, -0.39f, -0.81f, 2.0f, 0.9f, {65.5f, 128.5f, 25.0f}, {-9.5f, -18.6f, 28.0f},
                     {28.0f, -23.5f, -4.6f}};
    dim3 grid((PANORAMA_WIDTH + 31) / 32, (PANORAMA_HEIGHT + 31) / 32);
    measure(name, 200, [&](int i) { launch(nv12<READS, WORK>, grid, 128, sets[i], colour, step); });
}

void nv12s() {
    constexpr double MOVED_BYTES = 1.5 * 2 * PANORAMA_WIDTH * PANORAMA_HEIGHT;
    printf("NV12, 5700x1900, no pixel by both: %.1f MB\n", MOVED_BYTES / 1e6);
    Pair sets[SETS];
    for (Pair& set : sets) {
        auto picture = [] {
            auto* y = device<uint8_t>(WIDTH * HEIGHT);
            auto* uv = device<uchar2>(WIDTH * HEIGHT / 4);
            return Nv12{y, uv, texture(y, WIDTH, HEIGHT), texture(uv, WIDTH / 2, HEIGHT / 2)};
        };
        auto rows = [](int count) { return device<uint8_t>(PITCH * count); };
        set = {picture(), picture(), rows(PANORAMA_HEIGHT), rows(PANORAMA_HEIGHT / 2)};
    }
    measure_copy(200, MOVED_BYTES);
    measure_nv12<TEXTURES, WITH_POWERS>("by textures, colour with powers", sets);
    measure_nv12<TEXTURES, COLOURED>("by textures, colour without powers", sets);
    measure_nv12<TEXTURES, MOVED>("by textures, no colour", sets);
    measure_nv12<TEXTURES, MOVED>("by textures, no colour, all from the first-level cache", sets, 0.02f);
    measure_nv12<NEAREST, WITH_POWERS>("the nearest pixel by loads, colour with powers", sets);
    measure_nv12<NEAREST, COLOURED>("the nearest pixel by loads, colour without powers", sets);
    measure_nv12<NEAREST, MOVED>("the nearest pixel by loads, no colour", sets);
    measure_nv12<NONE, WITH_POWERS>("no reads, colour with powers", sets);
    measure_nv12<NONE, MOVED>("no reads, no colour", sets);
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("%s\n", properties.name);
    resampling();
    views();
    nv12s();
}
