// One time step of bodies that attract each other: the algorithm and the shape of the Rust kernel.
#include <cuda_runtime.h>

constexpr int BLOCK = 256;
constexpr float SOFTENING = 1e-4f;

// The instruction of the Rust kernel's `fast_rsqrt`. `rsqrtf` also handles subnormal numbers, which takes three more.
__device__ float fast_rsqrt(float x) {
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

__global__ void __launch_bounds__(BLOCK)
    step(const float4 *__restrict__ bodies, int len, float4 *velocities, float4 *moved, float dt) {
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 body = i < len ? bodies[i] : float4{};
    float ax = 0, ay = 0, az = 0;
    for (int first = 0; first < len; first += BLOCK) {
        int other = first + threadIdx.x;
        tile[threadIdx.x] = other < len ? bodies[other] : float4{};
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < BLOCK; k++) {
            float4 b = tile[k];
            float dx = b.x - body.x, dy = b.y - body.y, dz = b.z - body.z;
            float inverse = fast_rsqrt(dz * dz + (dy * dy + (dx * dx + SOFTENING)));
            float scale = b.w * inverse * inverse * inverse;
            ax += dx * scale, ay += dy * scale, az += dz * scale;
        }
        __syncthreads();
    }
    if (i < len) {
        float4 v = velocities[i];
        v = make_float4(v.x + ax * dt, v.y + ay * dt, v.z + az * dt, 0);
        velocities[i] = v;
        moved[i] = make_float4(body.x + v.x * dt, body.y + v.y * dt, body.z + v.z * dt, body.w);
    }
}

extern "C" int nbody_nvcc(cudaStream_t stream, const float4 *bodies, int len, float4 *velocities, float4 *moved, float dt) {
    step<<<(len + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(bodies, len, velocities, moved, dt);
    return cudaGetLastError();
}
