//! A replacement for rust-cuda's crate `blastoff`. It has only the cuBLAS function that rust-cuda's example `gemm`
//! calls: the product of two `f32` matrices.
//!
//! cuBLAS is loaded at run time. On the CPU, three nested loops compute the product instead.

use std::error::Error;
use std::ffi::{c_int, c_void};
use std::ptr;

use cust::memory::{DeviceBox, DeviceBuffer};
use cust::stream::Stream;
use cust::{Backend, backend};
use libloading::Library;

/// An operation that `gemm` applies to an input matrix before the multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOp {
    /// Use the matrix unchanged.
    None = 0,
    /// Transpose the matrix.
    Transpose = 1,
}

/// A handle of the cuBLAS library. On the CPU, it is empty.
pub struct CublasContext {
    library: Option<Library>,
    handle: *mut c_void,
}

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type Destroy = unsafe extern "C" fn(*mut c_void) -> c_int;
type SetStream = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type SetPointerMode = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type Gemm = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    *const f32,
    *mut f32,
    c_int,
) -> c_int;

/// The cuBLAS pointer mode in which `alpha` and `beta` are read from device memory.
const POINTERS_ON_DEVICE: c_int = 1;

const NAMES: [&str; 3] = ["libcublas.so", "libcublas.so.13", "libcublas.so.12"];

fn check(operation: &str, code: c_int) -> Result<(), Box<dyn Error>> {
    match code {
        0 => Ok(()),
        code => Err(format!("{operation} failed: cuBLAS returned status {code}").into()),
    }
}

impl CublasContext {
    /// Loads cuBLAS and creates a handle.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let mut handle = ptr::null_mut();
        if backend() == Backend::Cpu {
            return Ok(Self { library: None, handle });
        }
        // SAFETY: loading NVIDIA's library has no preconditions, and the types `Create` and `SetPointerMode` match the
        // declarations in `cublas_v2.h`.
        unsafe {
            let mut found = NAMES.iter().filter_map(|name| Library::new(*name).ok());
            let library = found.next().ok_or("cannot load libcublas.so; install cuBLAS from CUDA 12 or 13")?;
            check("cublasCreate", library.get::<Create>("cublasCreate_v2")?(&raw mut handle))?;
            let mode = library.get::<SetPointerMode>("cublasSetPointerMode_v2")?;
            check("cublasSetPointerMode", mode(handle, POINTERS_ON_DEVICE))?;
            drop(mode);
            Ok(Self { library: Some(library), handle })
        }
    }

    /// Computes `c = alpha · op(a) · op(b) + beta · c` for column-major matrices, where `op(a)` is m × k and `op(b)` is
    /// k × n. `lda`, `ldb` and `ldc` are the distances in elements between the starts of adjacent columns.
    #[allow(clippy::too_many_arguments, reason = "the parameters are those of cuBLAS")]
    pub fn gemm<T>(
        &mut self,
        stream: &Stream,
        m: usize,
        n: usize,
        k: usize,
        alpha: &DeviceBox<f32>,
        a: &DeviceBuffer<f32>,
        lda: usize,
        op_a: MatrixOp,
        beta: &DeviceBox<f32>,
        b: &DeviceBuffer<f32>,
        ldb: usize,
        op_b: MatrixOp,
        c: &mut DeviceBuffer<f32>,
        ldc: usize,
    ) -> Result<(), Box<dyn Error>> {
        let Some(library) = &self.library else {
            return on_cpu([m, n, k], alpha, (a, lda, op_a), beta, (b, ldb, op_b), (c, ldc));
        };
        // SAFETY: `SetStream` and `Gemm` match the declarations in `cublas_v2.h`. The caller must pass matrices that
        // are as large as the sizes state, and must keep them alive until the stream has executed the call.
        unsafe {
            let set_stream = library.get::<SetStream>("cublasSetStream_v2")?;
            check("cublasSetStream", set_stream(self.handle, stream.as_inner().cast()))?;
            let gemm = library.get::<Gemm>("cublasSgemm_v2")?;
            let code = gemm(
                self.handle,
                op_a as c_int,
                op_b as c_int,
                m as c_int,
                n as c_int,
                k as c_int,
                alpha.as_device_ptr().as_ptr(),
                a.as_device_ptr().as_ptr(),
                lda as c_int,
                b.as_device_ptr().as_ptr(),
                ldb as c_int,
                beta.as_device_ptr().as_ptr(),
                c.as_device_ptr().as_mut_ptr(),
                ldc as c_int,
            );
            check("cublasSgemm", code)
        }
    }
}

impl Drop for CublasContext {
    fn drop(&mut self) {
        if let Some(library) = &self.library {
            // SAFETY: `new` created the handle, and only this `drop` destroys it.
            unsafe {
                if let Ok(destroy) = library.get::<Destroy>("cublasDestroy_v2") {
                    let _ = destroy(self.handle);
                }
            }
        }
    }
}

type Matrix<'a> = (&'a DeviceBuffer<f32>, usize, MatrixOp);

fn on_cpu(
    [m, n, k]: [usize; 3],
    alpha: &DeviceBox<f32>,
    (a, lda, op_a): Matrix<'_>,
    beta: &DeviceBox<f32>,
    (b, ldb, op_b): Matrix<'_>,
    (c, ldc): (&mut DeviceBuffer<f32>, usize),
) -> Result<(), Box<dyn Error>> {
    use cust::memory::CopyDestination as _;
    let (alpha, beta) = (alpha.as_host_value()?, beta.as_host_value()?);
    let (a, b, mut sums) = (a.as_host_vec()?, b.as_host_vec()?, c.as_host_vec()?);
    let at = |matrix: &[f32], ld: usize, op, row: usize, column: usize| match op {
        MatrixOp::None => matrix[column * ld + row],
        MatrixOp::Transpose => matrix[row * ld + column],
    };
    for column in 0..n {
        for row in 0..m {
            let products = (0..k).map(|i| at(&a, lda, op_a, row, i) * at(&b, ldb, op_b, i, column));
            let sum = &mut sums[column * ldc + row];
            // Like cuBLAS, ignore the elements of `c` if `beta` is 0, because they may be uninitialised.
            let old = if beta == 0.0 { 0.0 } else { beta * *sum };
            *sum = alpha * products.sum::<f32>() + old;
        }
    }
    Ok(c.copy_from(&mut sums[..])?)
}
