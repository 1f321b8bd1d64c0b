// y = a x + y by cuBLAS. Link: -lcublas
#include <cublas_v2.h>

extern "C" int saxpy_cublas(cudaStream_t stream, int len, float a, const float *x, float *y) {
    static cublasHandle_t handle = nullptr;
    if (!handle)
        if (int status = cublasCreate(&handle)) return status;
    if (int status = cublasSetStream(handle, stream)) return status;
    return cublasSaxpy(handle, len, &a, x, 1, y, 1);
}
