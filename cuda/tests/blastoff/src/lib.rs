//! A replacement for rust-cuda's crate `blastoff`. It has only the cuBLAS function that rust-cuda's example `gemm`
//! calls: the product of two `f32` matrices. The host computes it, as the reference of the example's kernels.

use std::error::Error;

use cust::memory::{CopyDestination, DeviceBox, DeviceBuffer};
use cust::stream::Stream;

/// An operation that `gemm` applies to an input matrix before the multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOp {
    /// Use the matrix unchanged.
    None = 0,
    /// Transpose the matrix.
    Transpose = 1,
}

/// Stands for a handle of the cuBLAS library.
pub struct CublasContext(());

impl CublasContext {
    /// Creates a handle.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self(()))
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
        stream.synchronize()?;
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
}
