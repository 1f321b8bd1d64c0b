// A star of 25 points in 3-D: the algorithm and the shape of the Rust kernel.
#include <cuda_runtime.h>

constexpr int R = 4, BX = 32, BY = 16, WIDTH = BX + 2 * R, HEIGHT = BY + 2 * R;

struct Weights {
    float centre, by_distance[R];
};

__global__ void __launch_bounds__(BX *BY, 4)
    star(const float *__restrict__ input, float *__restrict__ out, int nx, int ny, int nz, Weights weights) {
    __shared__ float tile[2][HEIGHT][WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * BX, by = blockIdx.y * BY, plane = nx * ny;
    int x = bx + tx + R, y = by + ty + R;
    auto index = [&](int x, int y) { return min(y, ny - 1) * nx + min(x, nx - 1); };
    int own = index(x, y);
    bool inside = x + R < nx && y + R < ny;

    // The first threads copy the border above and below, the next ones that at the left and the right.
    int rank = ty * BX + tx, rest = rank - 2 * R * BX, px, py;
    if (rest < 0) {
        px = R + rank % BX, py = rank / BX < R ? rank / BX : rank / BX + BY;
    } else {
        px = rest % (2 * R) < R ? rest % (2 * R) : rest % (2 * R) + BX, py = R + rest / (2 * R) % BY;
    }
    bool has_border = rest < 2 * R * BY;
    int border = index(bx + px, by + py);

    float before[R], current = input[R * plane + own], after[R];
#pragma unroll
    for (int k = 0; k < R; k++) {
        before[k] = input[(R - 1 - k) * plane + own];
        after[k] = input[(R + 1 + k) * plane + own];
    }
    float at_border = has_border ? input[R * plane + border] : 0;
    for (int z = R; z < nz - R; z++) {
        auto &values = tile[z % 2];
        values[ty + R][tx + R] = current;
        if (has_border) values[py][px] = at_border;
        __syncthreads();
        bool last = z + 1 == nz - R;
        float next = last ? 0 : input[(z + R + 1) * plane + own];
        at_border = last || !has_border ? 0 : input[(z + 1) * plane + border];
        float sum = weights.centre * current;
#pragma unroll
        for (int k = 0; k < R; k++) {
            int d = k + 1;
            float in_plane = values[ty + R][tx + R - d] + values[ty + R][tx + R + d] +
                             (values[ty + R - d][tx + R] + values[ty + R + d][tx + R]);
            sum += weights.by_distance[k] * (before[k] + after[k] + in_plane);
        }
        if (inside) out[z * plane + own] = sum;
#pragma unroll
        for (int k = R - 1; k > 0; k--) before[k] = before[k - 1];
        before[0] = current, current = after[0];
#pragma unroll
        for (int k = 0; k < R - 1; k++) after[k] = after[k + 1];
        after[R - 1] = next;
    }
}

extern "C" int stencil_nvcc(cudaStream_t stream, int nx, int ny, int nz, const float *input, float *out,
                            const float *weights) {
    Weights by_value;
    by_value.centre = weights[0];
    for (int k = 0; k < R; k++) by_value.by_distance[k] = weights[1 + k];
    dim3 grid((nx - 2 * R + BX - 1) / BX, (ny - 2 * R + BY - 1) / BY);
    star<<<grid, dim3(BX, BY), 0, stream>>>(input, out, nx, ny, nz, by_value);
    return cudaGetLastError();
}
