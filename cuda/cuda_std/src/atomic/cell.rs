//! Atomic cells like those of `core::sync::atomic`, also for floats, and with a scope: the set of
//! threads that may share the cell.
//!
//! A `Block` cell is not `Sync`: its operations are atomic only for the threads of one block, so sharing
//! it between blocks would be a data race.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use super::scope::{Block, Device, Scope, System};
use super::scoped::AtomicValue;

/// A `T` that the threads of scope `S` share. It has the layout of `T`.
///
/// ```
/// use cuda_std::atomic::{AtomicU32, BlockAtomicU32, Ordering::Relaxed};
///
/// let cell = AtomicU32::new(6);
/// assert_eq!(cell.fetch_add(4, Relaxed), 6);
/// assert_eq!(cell.compare_exchange(10, 2, Relaxed, Relaxed), Ok(10));
/// assert_eq!(cell.into_inner(), 2);
///
/// // Any memory can become a cell.
/// let mut word = 5;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// let cell = unsafe { BlockAtomicU32::from_ptr(&raw mut word) };
/// assert_eq!((cell.fetch_add(1, Relaxed), word), (5, 6));
/// ```
#[repr(transparent)]
pub struct Atomic<T, S> {
    value: UnsafeCell<T>,
    scope: PhantomData<S>,
}

// SAFETY: all methods access the value atomically, for all threads of the GPU.
unsafe impl<T: AtomicValue> Sync for Atomic<T, Device> {}
// SAFETY: all methods access the value atomically, for all threads.
unsafe impl<T: AtomicValue> Sync for Atomic<T, System> {}

impl<T: AtomicValue, S: Scope> Atomic<T, S> {
    /// Creates a cell that contains `value`.
    pub const fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value), scope: PhantomData }
    }

    /// Consumes the cell and returns the value. No atomic operation is necessary, because no other
    /// thread can share a cell that is passed by value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Returns a mutable reference to the value. Exclusive access makes atomic operations
    /// unnecessary.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Returns the address of the value.
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Returns the memory at `at` as a cell.
    ///
    /// # Safety
    /// - `at` must be aligned, and valid for reads and writes during `'a`.
    /// - During `'a`, all accesses to `*at` that can be concurrent with those of the cell must be
    ///   atomic, of the same size, and from threads of scope `S`.
    pub const unsafe fn from_ptr<'a>(at: *mut T) -> &'a Self {
        // SAFETY: `Self` has the layout of `T`, and the caller upholds the safety contract.
        unsafe { &*at.cast() }
    }
}

/// Defines the methods that read, modify and write the value.
macro_rules! read_modify_write {
    ($($name:ident = $method:ident $doc:literal;)+) => {$(
        #[doc = concat!($doc, " Returns the previous value.")]
        #[inline(always)]
        #[track_caller]
        pub fn $name(&self, value: T, order: Ordering) -> T {
            // SAFETY: this is the cell's own value, and all accesses to it are atomic.
            unsafe { T::$method::<S>(self.as_ptr(), value, order) }
        }
    )+};
}

/// Operations. Those with an ordering that [`AtomicValue`] does not allow panic.
impl<T: AtomicValue, S: Scope> Atomic<T, S> {
    read_modify_write! {
        swap = exchange "Writes `value`.";
        fetch_add = fetch_add "Adds `value`.";
        fetch_sub = fetch_sub "Subtracts `value`.";
        fetch_and = fetch_and "Stores the bitwise \"and\" with `value`.";
        fetch_or = fetch_or "Stores the bitwise \"or\" with `value`.";
        fetch_xor = fetch_xor "Stores the bitwise \"xor\" with `value`.";
        fetch_min = fetch_min "Stores `value` if it is smaller.";
        fetch_max = fetch_max "Stores `value` if it is larger.";
    }

    /// Reads the value.
    #[inline(always)]
    #[track_caller]
    pub fn load(&self, order: Ordering) -> T {
        // SAFETY: this is the cell's own value, and all accesses to it are atomic.
        unsafe { T::load::<S>(self.as_ptr(), order) }
    }

    /// Writes the value.
    #[inline(always)]
    #[track_caller]
    pub fn store(&self, value: T, order: Ordering) {
        // SAFETY: this is the cell's own value, and all accesses to it are atomic.
        unsafe { T::store::<S>(self.as_ptr(), value, order) }
    }

    /// Writes `new` if the value has the bits of `current`.
    ///
    /// # Errors
    /// Returns the cell's value if its bits differ from those of `current`.
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        // SAFETY: this is the cell's own value, and all accesses to it are atomic.
        unsafe { T::compare_exchange::<S>(self.as_ptr(), current, new, success, failure) }
    }
}

impl<T: AtomicValue + Default, S: Scope> Default for Atomic<T, S> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: AtomicValue + fmt::Debug, S: Scope> fmt::Debug for Atomic<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}

macro_rules! names {
    ($scope:ident $threads:literal: $($name:ident $type:ident),+) => {$(
        #[doc = concat!("An atomic `", stringify!($type), "` for ", $threads, ".")]
        pub type $name = Atomic<$type, $scope>;
    )+};
}

names!(Device "the threads of one GPU": AtomicF32 f32, AtomicF64 f64, AtomicI32 i32, AtomicI64 i64,
    AtomicU32 u32, AtomicU64 u64);
names!(Block "the threads of one block": BlockAtomicF32 f32, BlockAtomicF64 f64, BlockAtomicI32 i32,
    BlockAtomicI64 i64, BlockAtomicU32 u32, BlockAtomicU64 u64);
names!(System "all threads of all GPUs and the host": SystemAtomicF32 f32, SystemAtomicF64 f64,
    SystemAtomicI32 i32, SystemAtomicI64 i64, SystemAtomicU32 u32, SystemAtomicU64 u64);
