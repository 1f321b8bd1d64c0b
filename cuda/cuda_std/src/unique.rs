//! Indices that no other thread of the launch has. With them, a kernel can write without `unsafe`.
//!
//! Safe code gets such an index only from [`unique_1d`] or [`unique_2d`](crate::thread::unique_2d).
//! Therefore only one thread can access the element with that index.
//!
//! [`unique_1d`]: crate::thread::unique_1d

use core::marker::PhantomData;

use crate::thread;

/// An index along x that no other thread of the launch has.
#[derive(Clone, Copy, Debug)]
pub struct Unique1d {
    index: u32,
    owner: Owner,
}

/// A column and row that no other thread of the launch has.
#[derive(Clone, Copy, Debug)]
pub struct Unique2d {
    x: u32,
    y: u32,
    owner: Owner,
}

/// The thread that owns an index.
///
/// On the GPU, the type system ensures that no other thread has the index. On the CPU, a kernel
/// could pass the index to another thread through a thread-local. The use of the index in that
/// thread is a fault.
#[derive(Clone, Copy, Debug)]
struct Owner {
    #[cfg(not(target_arch = "nvptx64"))]
    launch: crate::stamp::Stamp,
    #[cfg(not(target_arch = "nvptx64"))]
    thread: ([u32; 3], u32),
    /// Makes the index neither `Send` nor `Sync`.
    place: PhantomData<*mut ()>,
}

impl Owner {
    #[inline(always)]
    fn current() -> Self {
        Self {
            #[cfg(not(target_arch = "nvptx64"))]
            launch: crate::stamp::Stamp::now(),
            #[cfg(not(target_arch = "nvptx64"))]
            thread: (cuda_cpu::block_idx(), cuda_cpu::thread_rank()),
            place: PhantomData,
        }
    }

    /// On the CPU, ends the launch with a fault unless the running thread is the owner.
    #[inline(always)]
    #[track_caller]
    fn check(self) {
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.launch.check("unique index");
            if self.thread != (cuda_cpu::block_idx(), cuda_cpu::thread_rank()) {
                crate::stamp::stale("unique index");
            }
        }
    }
}

impl Unique1d {
    /// Returns the running thread's index.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        let one_axis = thread::grid_dim_y() == 1
            && thread::grid_dim_z() == 1
            && thread::block_dim_y() == 1
            && thread::block_dim_z() == 1;
        require(one_axis, "`unique_1d` in a launch that extends along y or z: declare `dims(1)`");
        Self { index: thread::index_1d(), owner: Owner::current() }
    }

    /// Returns the index.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns an iterator over the thread's indices below `len` in a grid-stride loop. It starts
    /// at this index and advances by the number of threads in the grid.
    #[inline(always)]
    pub fn grid_stride(self, len: u32) -> impl Iterator<Item = Self> {
        let threads = thread::grid_dim_x() * thread::block_dim_x();
        // Each thread owns the indices with the same remainder modulo `threads`.
        let further =
            move |at: &Self| at.index.checked_add(threads).map(|index| Self { index, ..*at });
        core::iter::successors(Some(self), further).take_while(move |at| at.index < len)
    }

    /// Returns the index after a check that the running thread owns it.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn access(self) -> u32 {
        self.owner.check();
        self.index
    }
}

impl Unique2d {
    /// Returns the running thread's column and row.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        let two_axes = thread::grid_dim_z() == 1 && thread::block_dim_z() == 1;
        require(two_axes, "`unique_2d` in a launch that extends along z: declare `dims(2)`");
        let at = thread::index_2d();
        Self { x: at.x, y: at.y, owner: Owner::current() }
    }

    /// Returns the column.
    #[inline(always)]
    pub fn x(self) -> u32 {
        self.x
    }

    /// Returns the row.
    #[inline(always)]
    pub fn y(self) -> u32 {
        self.y
    }

    /// Returns column and row after a check that the running thread owns them.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn access(self) -> (u32, u32) {
        self.owner.check();
        (self.x, self.y)
    }
}

/// Ends the launch with a fault unless `holds` is true.
#[inline(always)]
fn require(holds: bool, message: &str) {
    if !holds {
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = message;
            crate::trap();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        panic!("{message}");
    }
}

/// Tells the compiler along which axes the launch does not extend. In a safe kernel, `#[kernel]`
/// adds a call of this function, so that the compiler removes the checks of [`Unique1d`] and
/// [`Unique2d`].
///
/// # Safety
/// The launch must extend only along the first `dims` axes.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub unsafe fn assume_dims(dims: u32) {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if dims < 2 {
            core::hint::assert_unchecked(thread::grid_dim_y() == 1);
            core::hint::assert_unchecked(thread::block_dim_y() == 1);
        }
        if dims < 3 {
            core::hint::assert_unchecked(thread::grid_dim_z() == 1);
            core::hint::assert_unchecked(thread::block_dim_z() == 1);
        }
    }
}

/// An index of a [`Slice`](crate::Slice): a `u32` or a [`Unique1d`].
pub trait SliceIndex {
    /// Returns the index as a `u32`.
    fn index(self) -> u32;
}

impl SliceIndex for u32 {
    #[inline(always)]
    fn index(self) -> u32 {
        self
    }
}

impl SliceIndex for Unique1d {
    #[inline(always)]
    fn index(self) -> u32 {
        self.index
    }
}
