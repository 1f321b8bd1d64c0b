//! Statics with `#[address_space(shared)]`: zero-sized values whose type identifies the variable.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A shared variable that `#[address_space(shared)]` declares.
///
/// # Safety
/// - `Value` must be aligned to at most 16 bytes.
/// - On the GPU, `address` must return the address of a shared variable of type `Value`.
pub unsafe trait SharedVariable: Sized {
    /// The declared type of the variable.
    type Value;
    /// The variable's name in PTX and on the CPU.
    const NAME: &'static str;

    /// Returns the variable's address.
    #[cfg(target_arch = "nvptx64")]
    fn address() -> *mut Self::Value;

    /// Returns the variable's address in the running block's memory.
    #[cfg(not(target_arch = "nvptx64"))]
    fn address() -> *mut Self::Value {
        const { assert!(align_of::<Self::Value>() <= 16, "shared memory is aligned to 16 bytes") };
        cuda_cpu::shared_static(Self::NAME, size_of::<Self::Value>()).base.cast()
    }
}

/// The zero-sized type of a static with `#[address_space(shared)]`. It dereferences to the variable
/// of the running block.
#[derive(Debug)]
pub struct SharedStatic<K>(PhantomData<fn() -> K>);

impl<K> SharedStatic<K> {
    /// Creates the value. Only the expansion of `#[address_space(shared)]` calls this function.
    #[expect(clippy::new_without_default, reason = "the attribute calls it in a constant")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K: SharedVariable> Deref for SharedStatic<K> {
    type Target = K::Value;

    #[inline(always)]
    fn deref(&self) -> &K::Value {
        // SAFETY: the block's variable lives while its threads run. Code that names a `static mut`
        // is responsible for preventing races between threads.
        unsafe { &*K::address() }
    }
}

impl<K: SharedVariable> DerefMut for SharedStatic<K> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut K::Value {
        // SAFETY: the reasons are the same as for `deref`.
        unsafe { &mut *K::address() }
    }
}
