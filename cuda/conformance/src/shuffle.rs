//! Kernels with warp shuffles of 32- and 64-bit values.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::{global_rank, holds_whole_warps, load_or_zero, whole_warps};

/// Defines a kernel that shuffles one value per thread. It writes the result, and whether the
/// source lane was in range.
macro_rules! shuffle {
    ($name:ident, $function:ident, $type:ty) => {
        #[doc = concat!("Calls `", stringify!($function), "` for `", stringify!($type), "` in all lanes.")]
        ///
        /// Does nothing unless `width` is a power of two up to 32 and every warp has 32 lanes.
        #[kernel]
        pub fn $name(
            input: Slice<$type>,
            out: SliceMut<$type>,
            in_range: SliceMut<u32>,
            argument: u32,
            width: u32,
        ) {
            let at = global_rank();
            if !whole_warps() || !width.is_power_of_two() || width > warp::WARP_SIZE {
                return;
            }
            let value = load_or_zero(input, at);
            // SAFETY: every warp has 32 lanes, which reach this call together. `width` was checked
            // above.
            let shuffled = unsafe { warp::$function(FULL_MASK, value, argument, width) };
            if at < out.len().min(in_range.len()) {
                // SAFETY: `at` is in bounds (checked above). Each thread writes its own elements.
                unsafe {
                    out.store(at, shuffled.0);
                    in_range.store(at, shuffled.1.into());
                }
            }
        }
    };
}

shuffle!(shuffle_down_u32, warp_shuffle_down, u32);
shuffle!(shuffle_up_u32, warp_shuffle_up, u32);
shuffle!(shuffle_xor_u32, warp_shuffle_xor, u32);
shuffle!(shuffle_idx_u32, warp_shuffle_idx, u32);
shuffle!(shuffle_down_u64, warp_shuffle_down, u64);
shuffle!(shuffle_up_u64, warp_shuffle_up, u64);
shuffle!(shuffle_xor_u64, warp_shuffle_xor, u64);
shuffle!(shuffle_idx_u64, warp_shuffle_idx, u64);
shuffle!(shuffle_down_i32, warp_shuffle_down, i32);
shuffle!(shuffle_up_i64, warp_shuffle_up, i64);
shuffle!(shuffle_xor_f32, warp_shuffle_xor, f32);
shuffle!(shuffle_idx_f64, warp_shuffle_idx, f64);

/// The first `lanes` lanes of each warp read the value of lane `lanes - 1`. The other lanes do not
/// take part.
#[kernel]
pub fn shuffle_part(input: Slice<u32>, out: SliceMut<u32>, lanes: u32) {
    let at = global_rank();
    if !holds_whole_warps(input.len(), out.len()) || lanes == 0 || lanes > warp::WARP_SIZE {
        return;
    }
    let mask = FULL_MASK >> (warp::WARP_SIZE - lanes);
    if warp::lane_id() < lanes && at < input.len() {
        // SAFETY: all or no lanes of a warp have elements, so exactly the lanes of `mask` get here.
        unsafe {
            let last = warp::warp_shuffle_idx(mask, input.load(at), lanes - 1, 32).0;
            out.store(at, last);
        }
    }
}
