//! Shared memory of a block: static arrays from [`shared_array!`](crate::shared_array), and one
//! dynamic array whose size the launch sets.
//!
//! rust-cuda represents these arrays as raw pointers. This crate represents them as [`Shared`], so
//! that the CPU can check the bounds of every access and detect races. On the GPU, a [`Shared`] is
//! an address in the shared space, and an access is one instruction.
//!
//! [`Shared::add`] and statics with `#[address_space(shared)]` support kernels written for
//! rust-cuda. The race detector does not see their accesses. On the GPU, they use generic addresses,
//! which take more registers than addresses in the shared space.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cust::typed::{Buffer, Device, LaunchConfig};
//!
//! /// Reverses each block of 64 elements.
//! #[kernel(launch_bounds(64), dims(1))]
//! pub fn reverse(data: SliceMut<u32>) {
//!     let tile = shared_array![u32; 64];
//!     let (own, at) = (thread::thread_idx_x(), thread::unique_1d());
//!     // SAFETY: the launch bounds keep the indices below 64, and the barrier separates the stores
//!     // from the loads.
//!     unsafe {
//!         tile.store(own, data.get(at).unwrap_or(0));
//!         thread::sync_threads();
//!         data.set(at, tile.load(thread::block_dim_x() - 1 - own));
//!     }
//! }
//!
//! let device = Device::cpu();
//! let stream = device.stream()?;
//! let mut data = Buffer::from_slice(&stream, &[1, 2, 3, 4])?;
//! stream.launch(&LaunchConfig::for_1d(4, 4), &Reverse { data: data.view_mut() })?;
//! assert_eq!(data.download(&stream)?, [4, 3, 2, 1]);
//! # Ok::<(), cust::typed::DeviceError>(())
//! ```

mod statics;

use core::marker::PhantomData;

use bytemuck::Pod;

use crate::memory::{self, Access, Index};

#[doc(hidden)]
pub use statics::{SharedStatic, SharedVariable};

/// An array in the block's shared memory. Its contents are undefined until written.
#[derive(Debug)]
pub struct Shared<T> {
    #[cfg(target_arch = "nvptx64")]
    base: u64,
    #[cfg(not(target_arch = "nvptx64"))]
    region: cuda_cpu::SharedRegion,
    /// The index of the array's first element in `region`.
    #[cfg(not(target_arch = "nvptx64"))]
    first: u32,
    len: u32,
    element: PhantomData<*mut T>,
}

copy!([T] Shared<T>);

impl<T> Shared<T> {
    /// Creates an array at `base` in the shared space. `shared_array!` calls this.
    ///
    /// # Safety
    /// - `base` must be aligned for `T`, whose alignment is at most 16.
    /// - The `len` elements from `base` on must be in the block's shared memory.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub unsafe fn from_address(base: u64, len: u32) -> Self {
        Self { base, len, element: PhantomData }
    }

    /// Returns the block's array that was declared as `name`. `shared_array!` calls this.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn declared(name: &'static str, len: u32) -> Self {
        // `name` starts with a module path that depends on where the array is used. The array's
        // identity must not depend on this path.
        let name = name.find("cuda_std_shared_").map_or(name, |at| &name[at..]);
        let region = cuda_cpu::shared_static(name, len as usize * size_of::<T>());
        Self { region, first: 0, len, element: PhantomData }
    }

    /// Returns the number of elements.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "no kernel needs it")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns the elements from `first` on. Loads from the result at constant indices need no
    /// arithmetic, because the instruction contains the offset.
    ///
    /// # Safety
    /// `first` must be at most `len`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn tail(&self, first: u32) -> Self {
        memory::check(first <= self.len, Access::Load, "Shared", || {
            [Index::Linear(first.into()), Index::Linear(self.len.into())]
        });
        Self {
            #[cfg(target_arch = "nvptx64")]
            base: self.base + u64::from(first) * size_of::<T>() as u64,
            #[cfg(not(target_arch = "nvptx64"))]
            first: self.first + first,
            len: self.len.wrapping_sub(first),
            ..*self
        }
    }

    /// Returns the elements from the first address on that is a multiple of `BYTES`. The result has
    /// up to `BYTES - 1` bytes less than the array, or no elements.
    ///
    /// `BYTES` must be a power of two and at least the size of `T`, and the size of `T` must be its
    /// alignment, so that an element starts at this address. Otherwise, the call does not compile.
    #[inline(always)]
    pub fn aligned<const BYTES: u32>(self) -> Self {
        const {
            assert!(BYTES.is_power_of_two() && BYTES as usize >= size_of::<T>());
            assert!(size_of::<T>() == align_of::<T>());
        };
        #[cfg(target_arch = "nvptx64")]
        let address = self.base as u32;
        #[cfg(not(target_arch = "nvptx64"))]
        let address = self.address(0).addr() as u32;
        let skipped = address.wrapping_neg() % BYTES / size_of::<T>() as u32;
        // SAFETY: the number of skipped elements is at most `len`.
        unsafe { self.tail(skipped.min(self.len)) }
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, i: u32, access: Access) {
        memory::check_index(i, self.len, access, "Shared");
    }

    /// Reports an access to element `i` to the race detector.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    #[track_caller]
    fn note(&self, i: u32, access: Access) {
        let offset = (self.first + i) as usize * size_of::<T>();
        let layout = [size_of::<T>(), align_of::<T>()];
        cuda_cpu::shared_access(&self.region, offset, layout, access);
    }

    /// Checks the index, reports the access to the race detector and returns the element's address.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    #[track_caller]
    fn touch(&self, i: u32, access: Access) -> *mut T {
        self.check(i, access);
        self.note(i, access);
        self.address(i)
    }

    /// Returns the address of element `i`, like `pointer::add`: `*tile.add(i) = 1.0`. The race detector
    /// does not check accesses through this pointer.
    ///
    /// # Safety
    /// `i` must be less than `len`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add(self, i: usize) -> *mut T {
        self.check(u32::try_from(i).unwrap_or(u32::MAX), Access::Load);
        self.as_mut_ptr().wrapping_add(i)
    }

    /// Returns the first element's address, for code that takes a raw pointer. The race detector
    /// does not check accesses through this pointer.
    #[inline(always)]
    pub fn as_mut_ptr(self) -> *mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::shared_untracked(self.address(0).addr());
        self.address(0)
    }

    /// Returns the address of element `i` in the shared space.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(crate) fn shared_address(self, i: u32) -> u64 {
        self.base + u64::from(i) * size_of::<T>() as u64
    }

    /// Checks that `count` elements from element `i` on exist, and that the first one is at a
    /// multiple of `align` bytes. Returns the region, and the offset of the first element in bytes.
    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    pub(crate) fn range(
        self,
        i: u32,
        count: u32,
        align: usize,
        access: Access,
    ) -> (cuda_cpu::SharedRegion, usize) {
        self.check(i.saturating_add(count - 1), access);
        memory::check_aligned_to(self.address(i).addr(), align, access);
        (self.region, (self.first + i) as usize * size_of::<T>())
    }

    /// Reports loads of `count` elements from element `i` on to the race detector.
    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    pub(crate) fn note_load(self, i: u32, count: u32) {
        let offset = (self.first + i) as usize * size_of::<T>();
        let bytes = count as usize * size_of::<T>();
        cuda_cpu::shared_access(&self.region, offset, [bytes, bytes], Access::Load);
    }

    /// Returns the same memory as 16-bit integers. `T` must have 16 bits.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn as_bits(self) -> Shared<u16> {
        const { assert!(size_of::<T>() == 2) };
        let Self { region, first, len, .. } = self;
        Shared { region, first, len, element: PhantomData }
    }

    /// Returns all elements of the region that contains the array.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn whole(self) -> Self {
        Self { first: 0, len: (self.region.bytes / size_of::<T>()) as u32, ..self }
    }

    /// Returns the generic address of element `i`.
    #[inline(always)]
    fn address(self, i: u32) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        {
            let base = ptx!("cvta.shared.u64 {}, {};" => reg64 u64, reg64 self.base);
            (base as *mut T).wrapping_add(i as usize)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.region.base.cast::<T>().wrapping_add((self.first + i) as usize)
        }
    }
}

impl<T: Pod> Shared<T> {
    /// Reads element `i`.
    ///
    /// # Safety
    /// - `i` must be less than `len`.
    /// - No other thread may write the element without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, i: u32) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees that the element exists, and `base` is aligned for it.
        unsafe {
            self.check(i, Access::Load);
            memory::load_shared(self.shared_address(i))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `touch` has checked the index; the block's region outlives the thread.
        unsafe {
            *self.touch(i, Access::Load)
        }
    }

    /// Writes element `i`.
    ///
    /// # Safety
    /// - `i` must be less than `len`.
    /// - No other thread may access the element without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store(&self, i: u32, value: T) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees that the element exists, and `base` is aligned for it.
        unsafe {
            self.check(i, Access::Store);
            memory::store_shared(self.shared_address(i), value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `touch` has checked the index; the block's region outlives the thread.
        unsafe {
            *self.touch(i, Access::Store) = value;
        }
    }
}

/// Returns a hash of a type's name. `shared_array!` uses it to give each instance of a generic
/// function its own array.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub const fn type_tag<T>() -> u32 {
    let name = core::any::type_name::<T>().as_bytes();
    // The FNV-1a hash.
    let (mut tag, mut at) = (0x811c_9dc5_u32, 0);
    while at < name.len() {
        tag = (tag ^ name[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    tag
}

impl Shared<u32> {
    /// Adds `value` to element `i` atomically and returns the previous value. The sum wraps.
    ///
    /// # Safety
    /// - `i` must be less than `len`.
    /// - No thread may access the element non-atomically without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn atomic_add(&self, i: u32, value: u32) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees that the element exists, and `base` is aligned for it.
        unsafe {
            self.check(i, Access::Atomic);
            let old: u32;
            core::arch::asm!("atom.shared.add.u32 {}, [{}], {};", out(reg32) old,
                in(reg64) self.base + u64::from(i) * 4, in(reg32) value, options(nostack));
            old
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `touch` has checked the index. The threads of a block run on one OS thread, so no
        // other thread accesses the element meanwhile.
        unsafe {
            let at = self.touch(i, Access::Atomic);
            at.replace((*at).wrapping_add(value))
        }
    }
}

/// Returns the block's dynamic shared memory as elements of `T`. The launch sets its size in bytes.
/// Bytes at the end that do not make a whole element are not part of the array.
///
/// Every call returns the same memory, aligned to 16 bytes.
#[inline(always)]
pub fn dynamic_shared_mem<T: Pod>() -> Shared<T> {
    const { assert!(align_of::<T>() <= 16) };
    #[cfg(target_arch = "nvptx64")]
    {
        let base = ptx!("mov.u64 {}, cuda_std_dynamic_shared;" => reg64 u64);
        let bytes = ptx!("mov.u32 {}, %dynamic_smem_size;" => reg32 u32);
        Shared { base, len: bytes / size_of::<T>() as u32, element: PhantomData }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let region = cuda_cpu::shared_dynamic();
        let len = (region.bytes / size_of::<T>()) as u32;
        Shared { region, first: 0, len, element: PhantomData }
    }
}

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 16 .b8 cuda_std_dynamic_shared[];");
