//! Scopes: the sets of threads for which an atomic operation is atomic and ordered.

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
