//! Kernels with tensor cores: products of matrices given by registers, and loads of matrices from
//! shared memory.

use cuda_std::prelude::*;
use cuda_std::tensor::{self, Pair};
use half::bf16;

use crate::{global_rank, holds_whole_warps};

/// Each warp multiplies the matrices whose registers its lanes pass: four of A, two of B and four
/// of C.
#[kernel]
pub fn mma_bf16(
    a: Slice<[[bf16; 2]; 4]>,
    b: Slice<[[bf16; 2]; 2]>,
    c: Slice<[f32; 4]>,
    out: SliceMut<[f32; 4]>,
) {
    let at = global_rank();
    let len = a.len().min(b.len()).min(c.len());
    if !holds_whole_warps(len, out.len()) || at >= len {
        return;
    }
    // SAFETY: `at` is in bounds, and each thread writes its own element. All or no lanes of a warp
    // have elements, so all lanes reach this call.
    unsafe {
        let (a, b) = (a.load(at).map(Pair::new), b.load(at).map(Pair::new));
        out.store(at, tensor::mma_m16n8k16(a, b, c.load(at)));
    }
}

/// The number of elements in the shared array of the loads.
const LEN: u32 = 512;

/// Defines a kernel that loads matrices of `u16` from shared memory.
macro_rules! load {
    ($name:ident, $function:ident, $count:literal) => {
        #[doc = concat!("Calls `", stringify!($function), "` for ", stringify!($count))]
        /// matrices of `input`. Lane `i` passes the row that begins at element `8 · rows[i]`.
        ///
        /// Does nothing unless the block is one warp, and `input` fits in the shared array.
        #[kernel(dims(1), launch_bounds(32), block_multiple(32))]
        pub fn $name(input: Slice<u16>, rows: Slice<u32>, out: SliceMut<[[u16; 2]; $count]>) {
            let array = shared_array![u16; LEN as usize];
            let lane = warp::lane_id();
            let fits = input.len() <= LEN && rows.len() == 32 && out.len() == 32;
            if !fits || thread::block_dim_x() != 32 || thread::grid_dim_x() != 1 {
                return;
            }
            // SAFETY: the indices are in bounds, and a barrier is between stores and loads. All
            // lanes reach the call. A row that the array lacks is replaced by the first one.
            unsafe {
                for i in (lane..LEN).step_by(32) {
                    array.store(i, if i < input.len() { input.load(i) } else { 0 });
                }
                thread::sync_threads();
                let row = rows.load(lane);
                let first = if row < LEN / 8 { row * 8 } else { 0 };
                let matrices: [Pair<u16>; $count] = tensor::$function(array, first);
                out.store(lane, matrices.map(Pair::get));
            }
        }
    };
}

load!(load_one_matrix, load_matrices, 1);
load!(load_two_matrices, load_matrices, 2);
load!(load_four_matrices, load_matrices, 4);
load!(load_one_transposed, load_matrices_transposed, 1);
load!(load_two_transposed, load_matrices_transposed, 2);
load!(load_four_transposed, load_matrices_transposed, 4);
