//! Statics with `#[address_space(shared)]`: zero-sized values whose type identifies the variable.
//!
//! The expression `TILE[y][x]` dereferences the static to the [`Rows`] in shared memory, indexes a
//! [`Row`], and then indexes an element. Only the last step is an access for the CPU's race
//! detector: `Index` is a load and `IndexMut` is a store. A [`Scalar`] is accessed through `Deref`
//! and `DerefMut`.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut, Index, IndexMut};

#[cfg(not(target_arch = "nvptx64"))]
use crate::memory::Access;

/// A shared variable that `#[address_space(shared)]` declares.
///
/// # Safety
/// - `View` must have the layout of `Value`, which must be aligned to at most 16 bytes.
/// - On the GPU, `address` must return the address of a shared variable of type `Value`.
pub unsafe trait SharedVariable: Sized {
    /// The declared type of the variable.
    type Value;
    /// The type through which the variable is accessed.
    type View;
    /// The variable's name in PTX and fault reports.
    const NAME: &'static str;

    /// Returns the variable's address.
    #[cfg(target_arch = "nvptx64")]
    fn address() -> *mut Self::Value;

    /// Returns the variable's address in the running block's memory.
    #[cfg(not(target_arch = "nvptx64"))]
    fn address() -> *mut Self::Value {
        const { assert!(align_of::<Self::Value>() <= 16, "shared memory is aligned to 16 bytes") };
        region::<Self>().base.cast()
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn region<K: SharedVariable>() -> cuda_cpu::SharedRegion {
    cuda_cpu::shared_static(K::NAME, size_of::<K::Value>())
}

/// Reports an access to `place`, a part of the variable `K`, to the race detector.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn note<K: SharedVariable, T: ?Sized>(place: &T, access: Access) {
    let region = region::<K>();
    let offset = core::ptr::from_ref(place).addr() - region.base.addr();
    let layout = [size_of_val(place), align_of_val(place)];
    cuda_cpu::shared_access(&region, offset, layout, access);
}

/// The zero-sized type of a static with `#[address_space(shared)]`. It dereferences to the variable
/// of the running block.
#[derive(Debug)]
pub struct SharedStatic<K>(PhantomData<fn() -> K>);

impl<K> SharedStatic<K> {
    /// Creates the value. Only the expansion of `#[address_space(shared)]` calls this function.
    #[expect(clippy::new_without_default, reason = "the attribute calls it in a constant")]
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K: SharedVariable> Deref for SharedStatic<K> {
    type Target = K::View;

    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &K::View {
        // SAFETY: the block's variable lives while its threads run. Code that names a `static mut`
        // is responsible for preventing races between threads.
        unsafe { &*K::address().cast() }
    }
}

impl<K: SharedVariable> DerefMut for SharedStatic<K> {
    #[inline(always)]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut K::View {
        // SAFETY: the reasons are the same as for `deref`.
        unsafe { &mut *K::address().cast() }
    }
}

/// The type through which kernels access a shared array of arrays. `R` is the type through which
/// they access one inner array.
#[derive(Debug)]
#[repr(transparent)]
pub struct Rows<R, const N: usize>([R; N]);

impl<R, const N: usize> Rows<R, N> {
    /// Returns the first row's address.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut R {
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::shared_untracked(self.0.as_ptr().addr());
        self.0.as_mut_ptr()
    }

    /// Returns the number of rows.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no kernel needs it")]
    pub fn len(&self) -> usize {
        N
    }
}

impl<R, const N: usize> Index<usize> for Rows<R, N> {
    type Output = R;

    #[inline(always)]
    #[track_caller]
    fn index(&self, i: usize) -> &R {
        &self.0[i]
    }
}

impl<R, const N: usize> IndexMut<usize> for Rows<R, N> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, i: usize) -> &mut R {
        &mut self.0[i]
    }
}

/// The type through which kernels access a shared array of elements. The race detector checks
/// accesses by index. It does not check accesses through a dereference to the plain array.
#[derive(Debug)]
#[repr(transparent)]
pub struct Row<K, T, const N: usize> {
    elements: [T; N],
    variable: PhantomData<fn() -> K>,
}

impl<K, T, const N: usize> Deref for Row<K, T, N> {
    type Target = [T; N];

    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &[T; N] {
        &self.elements
    }
}

impl<K, T, const N: usize> DerefMut for Row<K, T, N> {
    #[inline(always)]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut [T; N] {
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::shared_untracked(self.elements.as_ptr().addr());
        &mut self.elements
    }
}

impl<K: SharedVariable, T, I, const N: usize> Index<I> for Row<K, T, N>
where
    [T]: Index<I>,
{
    type Output = <[T] as Index<I>>::Output;

    #[inline(always)]
    #[track_caller]
    fn index(&self, i: I) -> &Self::Output {
        let place = &self.elements.as_slice()[i];
        #[cfg(not(target_arch = "nvptx64"))]
        note::<K, _>(place, Access::Load);
        place
    }
}

impl<K: SharedVariable, T, I, const N: usize> IndexMut<I> for Row<K, T, N>
where
    [T]: IndexMut<I>,
{
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, i: I) -> &mut Self::Output {
        let place = &mut self.elements.as_mut_slice()[i];
        #[cfg(not(target_arch = "nvptx64"))]
        note::<K, _>(place, Access::Store);
        place
    }
}

/// The type through which kernels access a shared variable that is not an array.
#[derive(Debug)]
#[repr(transparent)]
pub struct Scalar<K, T> {
    value: T,
    variable: PhantomData<fn() -> K>,
}

impl<K: SharedVariable, T> Deref for Scalar<K, T> {
    type Target = T;

    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &T {
        #[cfg(not(target_arch = "nvptx64"))]
        note::<K, _>(&self.value, Access::Load);
        &self.value
    }
}

impl<K: SharedVariable, T> DerefMut for Scalar<K, T> {
    #[inline(always)]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        note::<K, _>(&self.value, Access::Store);
        &mut self.value
    }
}
