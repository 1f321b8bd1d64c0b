//! Statics with `#[address_space(shared)]`: values of no size, whose type names the variable.
//!
//! `TILE[y][x]` goes from the static to the [`Rows`] in shared memory, to a [`Row`], to the element. Only
//! the last step is an access, which the CPU's race detector hears of: a load by `Index`, a store by
//! `IndexMut`. A [`Scalar`] is accessed by `Deref` and `DerefMut`.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut, Index, IndexMut};

#[cfg(not(target_arch = "nvptx64"))]
use crate::memory::Access;

/// A shared variable that `#[address_space(shared)]` declares.
///
/// # Safety
/// - `View` has the layout of `Value`, which is aligned to at most 16 bytes.
/// - On the GPU `address` is that of a variable of the block of that type.
pub unsafe trait SharedVariable: Sized {
    /// Its declared type.
    type Value;
    /// The type that its accesses go through.
    type View;
    /// Its name in PTX and reports.
    const NAME: &'static str;

    /// Its address.
    #[cfg(target_arch = "nvptx64")]
    fn address() -> *mut Self::Value;

    /// Its address in the running block's memory.
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

/// Tells the race detector of an access to `place`, which lies in the variable.
#[cfg(not(target_arch = "nvptx64"))]
fn note<K: SharedVariable, T: ?Sized>(place: &T, access: Access) {
    let region = region::<K>();
    let offset = core::ptr::from_ref(place).addr() - region.base.addr();
    cuda_cpu::shared_access(&region, offset, size_of_val(place), access);
}

/// The static itself.
#[derive(Debug)]
pub struct SharedStatic<K>(PhantomData<fn() -> K>);

impl<K> SharedStatic<K> {
    /// The only value. The attribute makes it.
    #[expect(clippy::new_without_default, reason = "the attribute makes it, in a constant")]
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K: SharedVariable> Deref for SharedStatic<K> {
    type Target = K::View;

    #[inline(always)]
    fn deref(&self) -> &K::View {
        // SAFETY: the block's variable lives while its threads run. That no thread writes what another
        // one accesses is the obligation of code that names a `static mut`.
        unsafe { &*K::address().cast() }
    }
}

impl<K: SharedVariable> DerefMut for SharedStatic<K> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut K::View {
        // SAFETY: as above.
        unsafe { &mut *K::address().cast() }
    }
}

/// An array of arrays.
#[derive(Debug)]
#[repr(transparent)]
pub struct Rows<R, const N: usize>([R; N]);

impl<R, const N: usize> Rows<R, N> {
    /// The first row's address.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut R {
        self.0.as_mut_ptr()
    }

    /// Number of rows.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no kernel asks")]
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

/// An array of elements. What else an array can do it does too, unwatched.
#[derive(Debug)]
#[repr(transparent)]
pub struct Row<K, T, const N: usize> {
    elements: [T; N],
    variable: PhantomData<fn() -> K>,
}

impl<K, T, const N: usize> Deref for Row<K, T, N> {
    type Target = [T; N];

    #[inline(always)]
    fn deref(&self) -> &[T; N] {
        &self.elements
    }
}

impl<K, T, const N: usize> DerefMut for Row<K, T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; N] {
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

/// A value that is no array.
#[derive(Debug)]
#[repr(transparent)]
pub struct Scalar<K, T> {
    value: T,
    variable: PhantomData<fn() -> K>,
}

impl<K: SharedVariable, T> Deref for Scalar<K, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        #[cfg(not(target_arch = "nvptx64"))]
        note::<K, _>(&self.value, Access::Load);
        &self.value
    }
}

impl<K: SharedVariable, T> DerefMut for Scalar<K, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        note::<K, _>(&self.value, Access::Store);
        &mut self.value
    }
}
