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
/// use cuda_std::atomic::{AtomicF32, AtomicU32, BlockAtomicU32, Ordering::Relaxed};
///
/// let mut cell = AtomicU32::new(6);
/// assert_eq!(cell.fetch_add(4, Relaxed), 6);
/// assert_eq!(cell.fetch_sub(1, Relaxed), 10);
/// assert_eq!(cell.fetch_and(0b1100, Relaxed), 9);
/// assert_eq!(cell.fetch_or(0b0011, Relaxed), 8);
/// assert_eq!(cell.fetch_xor(0b0001, Relaxed), 11);
/// assert_eq!(cell.fetch_min(5, Relaxed), 10);
/// assert_eq!(cell.fetch_max(9, Relaxed), 5);
/// assert_eq!(cell.swap(1, Relaxed), 9);
/// assert_eq!(cell.compare_exchange(1, 2, Relaxed, Relaxed), Ok(1));
/// assert_eq!(cell.compare_exchange_weak(1, 3, Relaxed, Relaxed), Err(2));
/// cell.store(8, Relaxed);
/// assert_eq!(cell.load(Relaxed), 8);
/// *cell.get_mut() = 20;
/// assert_eq!(cell.into_inner(), 20);
///
/// // Multiplies a float, for which there is no instruction.
/// let scale = AtomicF32::new(1.5);
/// let before = scale.fetch_update(Relaxed, Relaxed, |value| Some(2.0 * value));
/// assert_eq!((before, scale.load(Relaxed)), (Ok(1.5), 3.0));
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

    /// Does the same as [`compare_exchange`](Self::compare_exchange), because a GPU's exchange never
    /// fails spuriously.
    ///
    /// # Errors
    /// The errors are those of [`compare_exchange`](Self::compare_exchange).
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }

    /// Replaces the value with the result of `next` and returns the previous value. Calls `next`
    /// again if another thread has changed the value in the meantime. `set` is the ordering of the
    /// replacement, and `fetch` the ordering of reads without a replacement.
    ///
    /// # Errors
    /// Returns the value for which `next` returned `None`.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        mut next: impl FnMut(T) -> Option<T>,
    ) -> Result<T, T> {
        let mut old = self.load(fetch);
        while let Some(new) = next(old) {
            match self.compare_exchange(old, new, set, fetch) {
                Ok(old) => return Ok(old),
                Err(now) => old = now,
            }
        }
        Err(old)
    }
}

impl<T: AtomicValue + Default, S: Scope> Default for Atomic<T, S> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: AtomicValue, S: Scope> From<T> for Atomic<T, S> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: AtomicValue + fmt::Debug, S: Scope> fmt::Debug for Atomic<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}

macro_rules! names {
    ($($name:ident $type:ident $scope:ident $threads:literal;)+) => {$(
        #[doc = concat!("An atomic `", stringify!($type), "` for ", $threads, ".")]
        pub type $name = Atomic<$type, $scope>;
    )+};
}

names! {
    AtomicF32 f32 Device "the threads of one GPU";
    AtomicF64 f64 Device "the threads of one GPU";
    AtomicI32 i32 Device "the threads of one GPU";
    AtomicI64 i64 Device "the threads of one GPU";
    AtomicU32 u32 Device "the threads of one GPU";
    AtomicU64 u64 Device "the threads of one GPU";
    BlockAtomicF32 f32 Block "the threads of one block";
    BlockAtomicF64 f64 Block "the threads of one block";
    BlockAtomicI32 i32 Block "the threads of one block";
    BlockAtomicI64 i64 Block "the threads of one block";
    BlockAtomicU32 u32 Block "the threads of one block";
    BlockAtomicU64 u64 Block "the threads of one block";
    SystemAtomicF32 f32 System "all threads of all GPUs and the host";
    SystemAtomicF64 f64 System "all threads of all GPUs and the host";
    SystemAtomicI32 i32 System "all threads of all GPUs and the host";
    SystemAtomicI64 i64 System "all threads of all GPUs and the host";
    SystemAtomicU32 u32 System "all threads of all GPUs and the host";
    SystemAtomicU64 u64 System "all threads of all GPUs and the host";
}
