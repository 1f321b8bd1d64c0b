// SHA-256 (FIPS 180-4) of messages of 64 bytes, a thread for each.
#include <cuda_runtime.h>

__device__ __forceinline__ unsigned rotate(unsigned x, int n) { return __funnelshift_r(x, x, n); }

// Processes a block of 16 words. All loops are unrolled, so the round constants become immediate operands, and the
// words of a block that is known to the compiler are computed at compile time.
__device__ __forceinline__ void compress(unsigned state[8], unsigned w[16]) {
    constexpr unsigned K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    unsigned e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            unsigned early = w[(i - 15) % 16], late = w[(i - 2) % 16];
            w[i % 16] += (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + w[(i - 7) % 16] +
                         (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
        }
        unsigned t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i % 16];
        unsigned t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

__device__ __forceinline__ unsigned swap(unsigned x) { return __byte_perm(x, 0, 0x0123); }

__global__ void __launch_bounds__(256) sha256(const uint4 *__restrict__ messages, int count, uint4 *digests) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned w[16];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint4 four = messages[4 * i + k];
        w[4 * k] = swap(four.x), w[4 * k + 1] = swap(four.y), w[4 * k + 2] = swap(four.z), w[4 * k + 3] = swap(four.w);
    }
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    compress(state, w);
    // The padding: a bit, zeros, and the length of the message in bits.
    unsigned padding[16] = {0x80000000};
    padding[15] = 512;
    compress(state, padding);
    digests[2 * i] = make_uint4(swap(state[0]), swap(state[1]), swap(state[2]), swap(state[3]));
    digests[2 * i + 1] = make_uint4(swap(state[4]), swap(state[5]), swap(state[6]), swap(state[7]));
}

extern "C" int sha2_nvcc(cudaStream_t stream, const uint4 *messages, int count, uint4 *digests) {
    sha256<<<(count + 255) / 256, 256, 0, stream>>>(messages, count, digests);
    return cudaGetLastError();
}
