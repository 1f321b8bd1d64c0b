// Products of matrices by cuBLAS, without TF32. Link: -lcublas
#include <cublas_v2.h>

// Matrices are stored by rows. cuBLAS expects columns, so it computes the transposed product.
static int product(cudaStream_t stream, int m, int n, int k, const void *a, const void *b, void *out,
                   cudaDataType_t type) {
    static cublasHandle_t handle = nullptr;
    static void *workspace = nullptr;
    const size_t bytes = 32 << 20;
    if (!handle) {
        if (int status = cublasCreate(&handle)) return status;
        if (int error = cudaMalloc(&workspace, bytes)) return error;
    }
    if (int status = cublasSetStream(handle, stream)) return status;
    if (int status = cublasSetWorkspace(handle, workspace, bytes)) return status;
    const float one = 1, zero = 0;
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, type, n, a, type, k, &zero, out, type, n,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

extern "C" int matmul_cublas_f32(cudaStream_t stream, int m, int n, int k, const void *a, const void *b, void *out) {
    return product(stream, m, n, k, a, b, out, CUDA_R_32F);
}
extern "C" int matmul_cublas_bf16(cudaStream_t stream, int m, int n, int k, const void *a, const void *b, void *out) {
    return product(stream, m, n, k, a, b, out, CUDA_R_16BF);
}
