//! One column of an image, for loops down the rows.

use bytemuck::Pod;

use crate::memory::{self, Access};

/// The elements of one column of a [`View`], from a given row down.
///
/// In a loop down a column, the address of each element costs one multiply-add. With a [`View`],
/// each address costs a 64-bit multiplication, because the compiler widens the pitch before the
/// loop.
///
/// [`View`]: crate::View
#[derive(Debug)]
pub struct ColumnView<T> {
    pub(super) first: *const T,
    pub(super) rows: u32,
    pub(super) pitch: u32,
}

impl<T: Pod> ColumnView<T> {
    /// Reads the element that is `below` rows below the first element of the column.
    ///
    /// # Safety
    /// The element must exist.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, below: u32) -> T {
        memory::check_index(below, self.rows, Access::Load, "ColumnView");
        // SAFETY: the caller guarantees that the element exists. Nothing writes a `View`'s memory
        // during a launch.
        unsafe { memory::load_read_only(self.first.byte_add(mul_wide(below, self.pitch) as usize)) }
    }
}

copy!([T] ColumnView<T>);

/// Multiplies two 32-bit numbers to a 64-bit product with one instruction. The compiler itself does
/// so only if it has not widened one of the numbers before.
#[inline(always)]
fn mul_wide(a: u32, b: u32) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    return ptx!("mul.wide.u32 {}, {}, {};" => reg64 u64, reg32 a, reg32 b);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u64::from(a) * u64::from(b)
    }
}
