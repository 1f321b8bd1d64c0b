//! Images in device memory: pointer, size and pitch.
//!
//! The memory of a [`View`] and of its [`ColumnView`]s is read-only during a launch and is loaded
//! through the read-only cache. A [`ViewMut`] can be written. Rows are `pitch` bytes apart, so a
//! view can also describe an image with padding or a part of an image.
//!
//! On the CPU every access is checked, and an invalid one is an
//! [`OutOfBounds`](cuda_cpu::FaultKind::OutOfBounds) fault. On the GPU the unsafe functions check
//! nothing and rely on the caller.

mod column;
#[cfg(not(target_arch = "nvptx64"))]
mod handle;

use bytemuck::Pod;

use crate::KernelArg;
use crate::Unique2d;
use crate::memory::{self, Access, Index};
use crate::stamp::Stamp;

pub use column::ColumnView;
#[cfg(not(target_arch = "nvptx64"))]
pub use handle::{DeviceView, DeviceViewMut};

/// An image that a kernel reads.
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::typed::{Device, Image, LaunchConfig};
///
/// /// Writes the differences between horizontal neighbours, two elements per thread.
/// #[kernel(dims(2))]
/// pub fn gradient(input: View<f32>, out: ViewMut<f32>) {
///     let at = thread::index_2d();
///     let x = 2 * at.x;
///     // With aligned rows, one instruction loads two elements.
///     if input.is_aligned(8) && input.contains(x + 1, at.y) && out.contains(x, at.y) {
///         // SAFETY: both elements exist and are aligned, and no other thread accesses `x`.
///         unsafe {
///             let [left, right] = input.load_wide::<[f32; 2]>(x, at.y);
///             assert_eq!(right, input.load(x + 1, at.y));
///             out.store(x, at.y, right - left);
///         }
///     }
///     assert_eq!(input.get(input.width(), 0), None);
///     input.prefetch(0, input.height() - 1);
///     assert!(!input.is_tight(), "an `Image` aligns its rows");
///     // SAFETY: the image has a row.
///     assert_eq!(input.get(0, 0), Some(unsafe { input.column(0, 0).load(0) }));
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let input = Image::from_slice(&stream, 4, 2, &[1.0, 3.0, 5.0, 6.0, 0.0, 1.0, 2.0, 8.0])?;
/// let mut out = Image::new(&device, 4, 2)?;
/// let gradient = Gradient { input: input.view(), out: out.view_mut() };
/// stream.launch(&LaunchConfig::cover(2, 2, [32, 8]), &gradient)?;
/// assert_eq!(out.download(&stream)?, [2.0, 0.0, 1.0, 0.0, 1.0, 0.0, 6.0, 0.0]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct View<T> {
    pub(crate) data: *const T,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pitch: u32,
    stamp: Stamp,
}

/// An image that a kernel writes and may read back.
#[derive(Debug)]
pub struct ViewMut<T> {
    pub(crate) data: *mut T,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pitch: u32,
    stamp: Stamp,
}

/// Defines the items that [`View`] and [`ViewMut`] have in common. The macro arguments are the
/// view, its pointer type and the host handle.
macro_rules! view {
    ($view:ident, $pointer:ty, $device:ident) => {
        copy!([T] $view<T>);

        // SAFETY: a view is a pointer to plain data. The contracts of `load` and `store` rule out
        // conflicting accesses.
        unsafe impl<T: Pod> Send for $view<T> {}
        // SAFETY: the reason is the same as for `Send`.
        unsafe impl<T: Pod> Sync for $view<T> {}

        impl<T: Pod> $view<T> {
            /// Returns the number of columns.
            #[inline(always)]
            pub fn width(&self) -> u32 {
                self.width
            }

            /// Returns the number of rows.
            #[inline(always)]
            pub fn height(&self) -> u32 {
                self.height
            }

            /// Returns whether column `x` of row `y` exists.
            #[inline(always)]
            pub fn contains(&self, x: u32, y: u32) -> bool {
                x < self.width && y < self.height
            }

            /// Returns whether the addresses of all rows are multiples of `bytes`, a power of two.
            #[inline(always)]
            pub fn is_aligned(&self, bytes: u32) -> bool {
                (self.data.addr() as u32 | self.pitch) & (bytes - 1) == 0
            }

            /// Returns whether rows follow each other without padding.
            #[inline(always)]
            pub fn is_tight(&self) -> bool {
                u64::from(self.width) * size_of::<T>() as u64 == u64::from(self.pitch)
            }

            /// Returns the address of the element at column `x` of row `y`.
            ///
            /// # Safety
            /// `x` must be less than `width`, and `y` less than `height`.
            #[inline(always)]
            #[track_caller]
            pub(crate) unsafe fn at(&self, x: u32, y: u32, access: Access) -> $pointer {
                memory::check(self.contains(x, y), access, stringify!($view), || {
                    [Index::Pixel(x, y), Index::Pixel(self.width, self.height)]
                });
                // SAFETY: the caller guarantees that the element exists, so the address lies within
                // the view's memory.
                unsafe { self.data.byte_add(y as usize * self.pitch as usize).add(x as usize) }
            }

            /// Returns the address of the first of several adjacent elements that form one `W`.
            ///
            /// # Safety
            /// All these elements must exist, and the first must be aligned for `W`.
            #[inline(always)]
            #[track_caller]
            unsafe fn at_wide<W: Pod>(&self, x: u32, y: u32, access: Access) -> $pointer {
                const {
                    assert!(size_of::<W>() > 0 && size_of::<W>().is_multiple_of(size_of::<T>()));
                }
                let more = (size_of::<W>() / size_of::<T>() - 1) as u32;
                // SAFETY: the caller guarantees that all elements exist, so the first and the last
                // one do.
                unsafe {
                    let _ = self.at(x + more, y, access);
                    let at = self.at(x, y, access);
                    memory::check_aligned(at.cast::<W>(), access);
                    at
                }
            }
        }

        // SAFETY: the parameters are pointer, width, height and pitch. The host handle pushes them
        // in this order.
        unsafe impl<T: Pod> KernelArg for $view<T> {
            type Params = ($pointer, (u32, (u32, (u32, ()))));
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a, T>;

            #[inline(always)]
            unsafe fn from_params(params: Self::Params) -> Self {
                let (data, (width, (height, (pitch, ())))) = params;
                Self { data, width, height, pitch, stamp: Stamp::now() }
            }
        }

        impl<T: Pod> crate::arg::Alike for $view<T> {
            type Address = $pointer;

            #[inline(always)]
            unsafe fn with_address(&self, data: $pointer) -> Self {
                Self { data, ..*self }
            }
        }
    };
}

view!(View, *const T, DeviceView);
view!(ViewMut, *mut T, DeviceViewMut);

impl<T: Pod> View<T> {
    /// Returns the address that the element at column `x` of row `y` has or would have.
    #[inline(always)]
    pub(crate) fn wrapping_at(&self, x: u32, y: u32) -> *const T {
        let row = y as usize * self.pitch as usize;
        self.data.wrapping_byte_add(row).wrapping_add(x as usize)
    }

    /// Returns the element at column `x` of row `y`, if it exists.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, x: u32, y: u32) -> Option<T> {
        self.stamp.check("View");
        if self.contains(x, y) {
            // SAFETY: `contains` has checked that the element exists.
            Some(unsafe { self.load(x, y) })
        } else {
            None
        }
    }

    /// Reads the element at column `x` of row `y`.
    ///
    /// # Safety
    /// `x` must be less than `width`, and `y` less than `height`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, x: u32, y: u32) -> T {
        // SAFETY: the caller guarantees that the element exists. Nothing writes a `View`'s memory
        // during a launch.
        unsafe { memory::load_read_only(self.at(x, y, Access::Load)) }
    }

    /// Prefetches the [cache line](crate::LINE_BYTES) of the element at column `x` of row `y` into
    /// the L2 cache, for a load by a later block or after
    /// [`wait_for_kernel_before`](crate::thread::wait_for_kernel_before). Does nothing if the
    /// element does not exist.
    #[inline(always)]
    #[track_caller]
    pub fn prefetch(&self, x: u32, y: u32) {
        if self.contains(x, y) {
            // SAFETY: `contains` has checked that the element exists.
            unsafe { memory::prefetch(self.at(x, y, Access::Load)) };
        }
    }

    /// Reads adjacent elements, from `(x, y)` on, as one `W`, whose size is a multiple of `T`'s.
    ///
    /// # Safety
    /// - All these elements must exist.
    /// - Rows must be [aligned](Self::is_aligned) for `W`, and so must column `x` within its row.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load_wide<W: Pod>(&self, x: u32, y: u32) -> W {
        // SAFETY: the caller guarantees that the elements exist and are aligned. Nothing writes a
        // `View`'s memory during a launch.
        unsafe { memory::load_read_only(self.at_wide::<W>(x, y, Access::Load).cast::<W>()) }
    }

    /// Returns the elements of column `x` from row `y` down.
    ///
    /// # Safety
    /// `x` must be less than `width`, and `y` less than `height`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn column(&self, x: u32, y: u32) -> ColumnView<T> {
        // SAFETY: the caller upholds this function's safety contract.
        let first = unsafe { self.at(x, y, Access::Load) };
        ColumnView { first, rows: self.height - y, pitch: self.pitch }
    }
}

impl<T: Pod> ViewMut<T> {
    /// Reads the element at the thread's own index `at`, if it exists.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, at: Unique2d) -> Option<T> {
        let (x, y) = at.access();
        self.stamp.check("ViewMut");
        if !self.contains(x, y) {
            return None;
        }
        // The load is not in a closure, where its place in the source would be this line.
        // SAFETY: `contains` has checked that the element exists. `at` is unique to this thread, so
        // safe code of other threads does not access the element.
        Some(unsafe { self.load(x, y) })
    }

    /// Writes the element at the thread's own index `at`. Returns whether the element exists.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, at: Unique2d, value: T) -> bool {
        let (x, y) = at.access();
        self.stamp.check("ViewMut");
        let inside = self.contains(x, y);
        if inside {
            // SAFETY: `contains` has checked that the element exists. `at` is unique to this
            // thread, so safe code of other threads does not access the element.
            unsafe { self.store(x, y, value) };
        }
        inside
    }

    /// Reads the element at column `x` of row `y`.
    ///
    /// # Safety
    /// - `x` must be less than `width`, and `y` less than `height`.
    /// - No other thread may write the element without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, x: u32, y: u32) -> T {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { memory::read(self.at(x, y, Access::Load)) }
    }

    /// Writes the element at column `x` of row `y`.
    ///
    /// # Safety
    /// - `x` must be less than `width`, and `y` less than `height`.
    /// - No other thread may access the element without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store(&self, x: u32, y: u32, value: T) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { memory::write(self.at(x, y, Access::Store), value) }
    }

    /// Writes adjacent elements, from `(x, y)` on, as one `W`, whose size is a multiple of `T`'s.
    ///
    /// # Safety
    /// - All these elements must exist, and no other thread may access them without a barrier in
    ///   between.
    /// - Rows must be [aligned](Self::is_aligned) for `W`, and so must column `x` within its row.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store_wide<W: Pod>(&self, x: u32, y: u32, value: W) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { memory::write(self.at_wide::<W>(x, y, Access::Store).cast::<W>(), value) }
    }
}
