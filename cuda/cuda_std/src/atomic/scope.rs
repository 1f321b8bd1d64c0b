//! Scopes: the sets of threads for which an atomic operation is atomic and ordered, and fences.

use core::sync::atomic::Ordering;

/// The set of threads for which an operation is atomic and ordered: [`Block`], [`Device`] or
/// [`System`].
pub trait Scope: sealed::Scope {}

/// The scope of the threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct Block;

/// The scope of the threads of one GPU.
#[derive(Clone, Copy, Debug)]
pub struct Device;

/// The scope of the threads of all GPUs and of the host.
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
