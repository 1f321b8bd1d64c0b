//! Scopes: the sets of threads for which an atomic operation is atomic and ordered, and fences.

use core::sync::atomic::Ordering;

/// The set of threads for which an operation is atomic and ordered: [`Block`], [`Device`] or
/// [`System`].
///
/// ```
/// use cuda_std::atomic::{AtomicValue, Device, Ordering, Scope, System};
///
/// /// Returns the next ticket. The caller selects the threads that draw tickets.
/// ///
/// /// # Safety
/// /// The requirements are those of [`AtomicValue`].
/// unsafe fn ticket<S: Scope>(next: *mut u32) -> u32 {
///     // SAFETY: the caller upholds this function's safety contract.
///     unsafe { AtomicValue::fetch_add::<S>(next, 1, Ordering::Relaxed) }
/// }
///
/// let mut next = 0;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// let tickets = unsafe { [ticket::<Device>(&raw mut next), ticket::<System>(&raw mut next)] };
/// assert_eq!(tickets, [0, 1]);
/// ```
pub trait Scope: sealed::Scope {}

/// The scope of the threads of one block.
///
/// ```
/// use cuda_std::atomic::{AtomicValue, Block, Ordering};
///
/// let mut sum = 2.0_f32;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// let before = unsafe { f32::fetch_add::<Block>(&raw mut sum, 0.5, Ordering::Relaxed) };
/// assert_eq!((before, sum), (2.0, 2.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Block;

/// The scope of the threads of one GPU.
///
/// ```
/// use cuda_std::atomic::{AtomicValue, Device, Ordering};
///
/// let mut sum = 2.0_f32;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// let before = unsafe { f32::fetch_add::<Device>(&raw mut sum, 0.5, Ordering::Relaxed) };
/// assert_eq!((before, sum), (2.0, 2.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Device;

/// The scope of the threads of all GPUs and of the host.
///
/// ```
/// use cuda_std::atomic::{AtomicValue, Ordering, System};
///
/// let mut sum = 2.0_f32;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// let before = unsafe { f32::fetch_add::<System>(&raw mut sum, 0.5, Ordering::Relaxed) };
/// assert_eq!((before, sum), (2.0, 2.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Scope for Block {}
impl Scope for Device {}
impl Scope for System {}

pub(super) mod sealed {
    pub trait Scope: Copy {
        const WIDTH: u32;
    }
    impl Scope for super::Block {
        const WIDTH: u32 = 0;
    }
    impl Scope for super::Device {
        const WIDTH: u32 = 1;
    }
    impl Scope for super::System {
        const WIDTH: u32 = 2;
    }
}

/// Orders the thread's memory accesses around the fence for the threads of scope `S`, as
/// [`core::sync::atomic::fence`] does for all threads of a program.
///
/// ```
/// use cuda_std::atomic::{AtomicU32, Device, Ordering, fence};
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::thread;
///
/// let (data, ready) = (AtomicU32::new(0), AtomicU32::new(0));
/// launch(&Launch::new("publish", [2, 1, 1], [1, 1, 1]), &|| {
///     if thread::block_idx_x() == 0 {
///         data.store(7, Ordering::Relaxed);
///         fence::<Device>(Ordering::Release);
///         ready.store(1, Ordering::Relaxed);
///     } else if ready.load(Ordering::Relaxed) == 1 {
///         fence::<Device>(Ordering::Acquire);
///         assert_eq!(data.load(Ordering::Relaxed), 7);
///     }
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Panics
/// Panics if `order` is `Relaxed`.
#[inline(always)]
pub fn fence<S: Scope>(order: Ordering) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence only orders memory accesses.
    unsafe {
        use core::arch::asm;
        match (order, S::WIDTH) {
            (Ordering::Relaxed, _) => panic!("a fence cannot be `Relaxed`"),
            (Ordering::SeqCst, 0) => asm!("fence.sc.cta;", options(nostack)),
            (Ordering::SeqCst, 1) => asm!("fence.sc.gpu;", options(nostack)),
            (Ordering::SeqCst, _) => asm!("fence.sc.sys;", options(nostack)),
            (_, 0) => asm!("fence.acq_rel.cta;", options(nostack)),
            (_, 1) => asm!("fence.acq_rel.gpu;", options(nostack)),
            (_, _) => asm!("fence.acq_rel.sys;", options(nostack)),
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        cuda_cpu::fence();
        core::sync::atomic::fence(order);
    }
}
