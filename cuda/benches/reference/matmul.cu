// Products of matrices with the algorithms of the Rust kernels in cuda/examples/matmul. All sizes must be multiples of
// the tiles. Matrices are stored by rows without padding.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef unsigned u32;
typedef unsigned long long u64;

static __device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

static __device__ __forceinline__ void copy16(u32 to, const char *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
static __device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> static __device__ __forceinline__ void wait_prior() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Returns the first row and column of the tile of a block.
template <int ROWS, int COLUMNS> static __device__ __forceinline__ void tile(int m, int n, u32 &top, u32 &left) {
    const u32 GROUP = 16;
    u32 rows = m / ROWS, columns = n / COLUMNS, group = blockIdx.x / (GROUP * columns), within = blockIdx.x % (GROUP * columns);
    u32 height = min(rows - group * GROUP, GROUP);
    top = (group * GROUP + within % height) * ROWS;
    left = within / height * COLUMNS;
}

// f32: each thread computes 16 rows and 8 columns.
namespace simt {
constexpr int ROWS = 128, COLUMNS = 256, DEPTH = 16, PITCH = DEPTH + 4, STAGES = 3, THREADS = 256;
constexpr u32 A_BYTES = ROWS * PITCH * 4, STAGE = A_BYTES + DEPTH * COLUMNS * 4, SHARED = STAGES * STAGE;

__global__ void __launch_bounds__(THREADS, 1)
    product(int m, int n, int k, const float *a, const float *b, float *out) {
    extern __shared__ __align__(128) char shared[];
    u32 base = shared_address(shared), t = threadIdx.x, lane = t % 32, warp = t / 32, steps = k / DEPTH, top, left;
    tile<ROWS, COLUMNS>(m, n, top, left);
    u64 a_pitch = (u64)k * 4, b_pitch = (u64)n * 4;
    const char *a_from = (const char *)a + (top + t / 4) * a_pitch + t % 4 * 16;
    const char *b_from = (const char *)b + t / 64 * b_pitch + left * 4 + t % 64 * 16;
    u32 a_to = base + t / 4 * PITCH * 4 + t % 4 * 16, b_to = base + A_BYTES + t * 16;
    auto fetch = [&](u32 step) {
        u32 stage = step % STAGES * STAGE;
        const char *af = a_from + (u64)step * DEPTH * 4, *bf = b_from + (u64)step * DEPTH * b_pitch;
#pragma unroll
        for (int i = 0; i < 2; i++, af += 64 * a_pitch) copy16(a_to + stage + i * 64 * PITCH * 4, af);
#pragma unroll
        for (int i = 0; i < 4; i++, bf += 4 * b_pitch) copy16(b_to + stage + i * 4 * COLUMNS * 4, bf);
    };
#pragma unroll
    for (u32 step = 0; step < STAGES - 1; step++) {
        if (step < steps) fetch(step);
        commit();
    }
    u32 row = warp / 4 * 64 + lane / 8, column = warp % 4 * 64 + lane % 8 * 4, stage = 0;
    const char *a_lane = shared + row * PITCH * 4, *b_lane = shared + A_BYTES + column * 4;
    float sums[16][8] = {};
#pragma unroll 1
    for (u32 step = 0; step < steps; step++) {
        wait_prior<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < steps) fetch(step + STAGES - 1);
        commit();
#pragma unroll
        for (int k4 = 0; k4 < DEPTH; k4 += 4) {
            float4 av[16];
#pragma unroll
            for (int i = 0; i < 16; i++) av[i] = *(const float4 *)(a_lane + stage + i * 4 * PITCH * 4 + k4 * 4);
#pragma unroll
            for (int k1 = 0; k1 < 4; k1++) {
                float bv[8];
#pragma unroll
                for (int j = 0; j < 2; j++)
                    *(float4 *)&bv[j * 4] = *(const float4 *)(b_lane + stage + (k4 + k1) * COLUMNS * 4 + j * 128);
#pragma unroll
                for (int i = 0; i < 16; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) sums[i][j] = fmaf(((const float *)&av[i])[k1], bv[j], sums[i][j]);
            }
        }
        stage = stage + STAGE == STAGES * STAGE ? 0 : stage + STAGE;
    }
#pragma unroll
    for (int i = 0; i < 16; i++)
#pragma unroll
        for (int j = 0; j < 2; j++)
            *(float4 *)(out + (u64)(top + row + 4 * i) * n + left + column + 32 * j) = *(float4 *)&sums[i][4 * j];
}
} // namespace simt

static __device__ __forceinline__ void store_pair(__nv_bfloat16 *to, float low, float high) {
    *(__nv_bfloat162 *)to = __floats2bfloat162_rn(low, high);
}

// bf16 with mma.sync: each warp computes 64 rows and 64 columns.
namespace mma {
constexpr int ROWS = 128, COLUMNS = 256, DEPTH = 64, STAGES = 3, THREADS = 256;
constexpr u32 A_BYTES = ROWS * DEPTH * 2, STAGE = A_BYTES + DEPTH * COLUMNS * 2, SHARED = STAGES * STAGE;

static __device__ __forceinline__ void load(u32 (&r)[4], u32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
static __device__ __forceinline__ void load_transposed(u32 (&r)[4], u32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS, 1)
    product(int m, int n, int k, const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out) {
    extern __shared__ __align__(128) char shared[];
    u32 base = shared_address(shared), t = threadIdx.x, lane = t % 32, warp = t / 32, steps = k / DEPTH, top, left;
    tile<ROWS, COLUMNS>(m, n, top, left);
    u64 a_pitch = (u64)k * 2, b_pitch = (u64)n * 2;
    u32 a_row = t / 8, b_row = t / 32;
    const char *a_from = (const char *)a + (top + a_row) * a_pitch + t % 8 * 16;
    const char *b_from = (const char *)b + b_row * b_pitch + left * 2 + t % 32 * 16;
    u32 a_to = base + a_row * DEPTH * 2 + (t % 8 ^ a_row % 8) * 16;
    u32 b_to = base + A_BYTES + b_row * COLUMNS * 2 + (t % 32 ^ b_row % 8) * 16;
    auto fetch = [&](u32 step) {
        u32 stage = step % STAGES * STAGE;
        const char *af = a_from + (u64)step * DEPTH * 2, *bf = b_from + (u64)step * DEPTH * b_pitch;
#pragma unroll
        for (int i = 0; i < 4; i++, af += 32 * a_pitch) copy16(a_to + stage + i * 32 * DEPTH * 2, af);
#pragma unroll
        for (int i = 0; i < 8; i++, bf += 8 * b_pitch) copy16(b_to + stage + i * 8 * COLUMNS * 2, bf);
    };
#pragma unroll
    for (u32 step = 0; step < STAGES - 1; step++) {
        if (step < steps) fetch(step);
        commit();
    }
    u32 warp_row = warp / 4 * 64, warp_column = warp % 4 * 64, row = lane % 16, swizzle = (lane / 16 ^ row % 8) * 16;
    u32 a_lane = base + (warp_row + row) * DEPTH * 2;
    u32 b_lane = base + A_BYTES + row * COLUMNS * 2 + warp_column * 2;
    float sums[4][8][4] = {};
    u32 ap[2][4][4], bp[2][4][4], stage = 0;
    auto load_parts = [&](int to, u32 stage, int k1) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            load(ap[to][i], a_lane + stage + i * 16 * DEPTH * 2 + (swizzle ^ k1 * 32));
            load_transposed(bp[to][i], b_lane + stage + k1 * 16 * COLUMNS * 2 + (swizzle ^ i * 32));
        }
    };
    wait_prior<STAGES - 2>();
    __syncthreads();
    load_parts(0, 0, 0);
#pragma unroll 1
    for (u32 step = 0; step < steps; step++) {
        u32 next = stage + STAGE == STAGES * STAGE ? 0 : stage + STAGE;
#pragma unroll
        for (int k1 = 0; k1 < 4; k1++) {
            if (k1 == 3) {
                wait_prior<STAGES - 2>();
                __syncthreads();
                load_parts(0, next, 0);
            } else {
                load_parts((k1 + 1) % 2, stage, k1 + 1);
            }
            if (k1 == 0) {
                if (step + STAGES - 1 < steps) fetch(step + STAGES - 1);
                commit();
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int jj = 0; jj < 8; jj++) {
                    int j = i % 2 ? 7 - jj : jj;
                    multiply(sums[i][j], ap[k1 % 2][i], bp[k1 % 2][j / 2][j % 2 * 2], bp[k1 % 2][j / 2][j % 2 * 2 + 1]);
                }
        }
        stage = next;
    }
    u32 first = left + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        __nv_bfloat16 *to = out + (u64)(top + warp_row + lane / 4 + i * 8) * n + first;
#pragma unroll
        for (int j = 0; j < 8; j++) store_pair(to + j * 8, sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
    }
}
} // namespace mma

// bf16 with wgmma: each warpgroup computes 64 rows and 256 columns.
namespace wgmma {
constexpr int ROWS = 128, COLUMNS = 256, DEPTH = 64, STAGES = 4, AHEAD = STAGES - 2, THREADS = 256;
constexpr u32 A_BYTES = ROWS * DEPTH * 2, STAGE = A_BYTES + DEPTH * COLUMNS * 2, SHARED = STAGES * STAGE + 1024;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Describes a matrix with rows of 128 bytes, which are swizzled.
static __device__ __forceinline__ u64 descriptor(u32 at, u32 panel) {
    return (u64)((at & 0x3ffff) >> 4) | (u64)(panel >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}
static __device__ __forceinline__ void multiply(float (&d)[128], u64 a, u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, 1, 1, 1, 0, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
          "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
          "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
          "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
          "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(a), "l"(b));
}
#endif

__global__ void __launch_bounds__(THREADS, 1)
    product(int m, int n, int k, const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) char shared[];
    u32 base = (shared_address(shared) + 1023) / 1024 * 1024;
    u32 t = threadIdx.x, lane = t % 32, half = t / 128, steps = k / DEPTH, top, left;
    tile<ROWS, COLUMNS>(m, n, top, left);
    u64 a_pitch = (u64)k * 2, b_pitch = (u64)n * 2;
    u32 a_row = t / 8, b_row = t / 32;
    const char *a_from = (const char *)a + (top + a_row) * a_pitch + t % 8 * 16;
    const char *b_from = (const char *)b + b_row * b_pitch + left * 2 + t % 32 * 16;
    u32 a_to = base + a_row * 128 + (t % 8 ^ a_row % 8) * 16;
    u32 b_to = base + A_BYTES + t % 32 / 8 * 8192 + b_row * 128 + (t % 8 ^ b_row % 8) * 16;
    auto fetch = [&](u32 step) {
        u32 stage = step % STAGES * STAGE;
        const char *af = a_from + (u64)step * DEPTH * 2, *bf = b_from + (u64)step * DEPTH * b_pitch;
#pragma unroll
        for (int i = 0; i < 4; i++, af += 32 * a_pitch) copy16(a_to + stage + i * 32 * 128, af);
#pragma unroll
        for (int i = 0; i < 8; i++, bf += 8 * b_pitch) copy16(b_to + stage + i * 8 * 128, bf);
    };
#pragma unroll
    for (u32 step = 0; step < AHEAD; step++) {
        if (step < steps) fetch(step);
        commit();
    }
    float sums[128] = {};
#pragma unroll 1
    for (u32 step = 0; step < steps; step++) {
        wait_prior<AHEAD - 1>();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        u32 stage = base + step % STAGES * STAGE;
        u64 ad = descriptor(stage + half * 8192, 16), bd = descriptor(stage + A_BYTES, 8192);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k1 = 0; k1 < 4; k1++) multiply(sums, ad + k1 * 2, bd + k1 * 128);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (step + AHEAD < steps) fetch(step + AHEAD);
        commit();
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    u32 row = top + t / 32 * 16 + lane / 4, column = left + lane % 4 * 2;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < 32; j++)
            store_pair(out + (u64)(row + 8 * h) * n + column + 8 * j, sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]);
#endif
}
} // namespace wgmma

template <class K, class T>
static int launch(K kernel, u32 shared, cudaStream_t stream, int m, int n, int k, const T *a, const T *b, T *out) {
    if (cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared))
        return error;
    kernel<<<(m / 128) * (n / 256), 256, shared, stream>>>(m, n, k, a, b, out);
    return cudaGetLastError();
}

extern "C" int matmul_f32(cudaStream_t stream, int m, int n, int k, const float *a, const float *b, float *out) {
    return launch(simt::product, simt::SHARED, stream, m, n, k, a, b, out);
}
extern "C" int matmul_bf16_warp(cudaStream_t stream, int m, int n, int k, const __nv_bfloat16 *a,
                                const __nv_bfloat16 *b, __nv_bfloat16 *out) {
    return launch(mma::product, mma::SHARED, stream, m, n, k, a, b, out);
}
extern "C" int matmul_bf16_warpgroup(cudaStream_t stream, int m, int n, int k, const __nv_bfloat16 *a,
                                     const __nv_bfloat16 *b, __nv_bfloat16 *out) {
    return launch(wgmma::product, wgmma::SHARED, stream, m, n, k, a, b, out);
}
