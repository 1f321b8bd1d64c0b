//! One column of an image, for loops down the rows.

use bytemuck::Pod;

use crate::memory::{self, Access, Index};

/// The elements of one column of a [`View`], from a given row down.
///
/// In a loop down a column, the address of each element costs one multiply-add. With a [`View`],
/// each address costs a 64-bit multiplication, because the compiler widens the pitch before the
/// loop.
///
/// [`View`]: crate::View
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::typed::{Buffer, Device, Image, LaunchConfig};
///
/// /// Sums each column of `image`.
/// #[kernel(dims(1))]
/// pub fn sums(image: View<u32>, out: SliceMut<u32>) {
///     let at = thread::unique_1d();
///     if at.index() < image.width() {
///         // SAFETY: an image has at least one row, and the rows are less than its height.
///         let sum = unsafe {
///             let column = image.column(at.index(), 0);
///             (0..image.height()).map(|y| column.load(y)).sum()
///         };
///         out.set(at, sum);
///     }
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let image = Image::from_slice(&stream, 2, 3, &[1, 10, 2, 20, 3, 30])?;
/// let mut out = Buffer::new(&device, 2)?;
/// let sums = Sums { image: image.view(), out: out.view_mut() };
/// stream.launch(&LaunchConfig::for_1d(2, 32), &sums)?;
/// assert_eq!(out.download(&stream)?, [6, 60]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
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
        memory::check(below < self.rows, Access::Load, "ColumnView", || {
            [Index::Linear(below.into()), Index::Linear(self.rows.into())]
        });
        // SAFETY: the caller guarantees that the element exists. Nothing writes a `View`'s memory
        // during a launch.
        unsafe { memory::load_read_only(self.first.byte_add(mul_wide(below, self.pitch) as usize)) }
    }
}

impl<T> Clone for ColumnView<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnView<T> {}

/// Multiplies two 32-bit numbers to a 64-bit product with one instruction. The compiler itself does
/// so only if it has not widened one of the numbers before.
#[inline(always)]
fn mul_wide(a: u32, b: u32) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let product;
        // SAFETY: the instruction only operates on registers.
        unsafe {
            core::arch::asm!("mul.wide.u32 {}, {}, {};", out(reg64) product, in(reg32) a, in(reg32) b,
                options(pure, nomem, nostack, preserves_flags));
        }
        product
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u64::from(a) * u64::from(b)
    }
}
