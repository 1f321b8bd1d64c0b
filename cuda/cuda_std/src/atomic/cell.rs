//! Atomic cells like those of `core::sync::atomic`, also for floats, and with a scope: the set of
//! threads that may share the cell.
//!
//! Methods of `Block` cells are `unsafe`: their operations are atomic only for the threads of one
//! block, so sharing a cell between blocks is a data race.

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
/// // Any memory can become a cell. Operations of block scope are `unsafe`.
/// let mut word = 5;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// unsafe {
///     let cell = BlockAtomicU32::from_ptr(&raw mut word);
///     cell.fetch_add(1, Relaxed);
///     assert_eq!(*cell.as_ptr(), 6);
/// }
/// ```
#[repr(transparent)]
pub struct Atomic<T, S> {
    value: UnsafeCell<T>,
    scope: PhantomData<S>,
}

// SAFETY: safe methods access the value atomically, in a scope that covers all threads to which
// safe code can pass a reference to the cell. Methods of block scope are unsafe.
unsafe impl<T: AtomicValue, S: Scope> Sync for Atomic<T, S> {}

impl<T: AtomicValue, S: Scope> Atomic<T, S> {
    /// Creates a cell that contains `value`.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value), scope: PhantomData }
    }

    /// Consumes the cell and returns the value. No atomic operation is necessary, because no other
    /// thread can share a cell that is passed by value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Returns a mutable reference to the value. Exclusive access makes atomic operations
    /// unnecessary.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Returns the address of the value.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Returns the memory at `at` as a cell.
    ///
    /// # Safety
    /// - `at` must be aligned, and valid for reads and writes during `'a`.
    /// - During `'a`, all accesses to `*at` that can be concurrent with those of the cell must be
    ///   atomic, of the same size, and from threads of scope `S`.
    #[must_use]
    pub const unsafe fn from_ptr<'a>(at: *mut T) -> &'a Self {
        // SAFETY: `Self` has the layout of `T`, and the caller upholds the safety contract.
        unsafe { &*at.cast() }
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
        // SAFETY: the pointer comes from the cell, and the load is atomic. Other methods that
        // access a cell of block scope are unsafe. Their callers guarantee that no other block
        // accesses the cell at the same time, and `fmt` counts as such an access.
        unsafe { T::load::<System>(self.as_ptr(), Ordering::Relaxed) }.fmt(f)
    }
}

/// Defines the methods of cells of one scope. If the macro is called with `unsafe` and the text of
/// a `# Safety` section, the methods are `unsafe`.
macro_rules! methods {
    ($scope:ident $(, $unsafe:ident, $safety:literal)?) => {
        impl<T: AtomicValue> Atomic<T, $scope> {
            /// Reads the value.
            ///
            /// # Panics
            /// Panics if `order` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn load(&self, order: Ordering) -> T {
                // SAFETY: this is the cell's own value, and all accesses to it are atomic.
                unsafe { T::load::<$scope>(self.as_ptr(), order) }
            }

            /// Writes the value.
            ///
            /// # Panics
            /// Panics if `order` is `Acquire` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn store(&self, value: T, order: Ordering) {
                // SAFETY: this is the cell's own value, and all accesses to it are atomic.
                unsafe { T::store::<$scope>(self.as_ptr(), value, order) }
            }

            /// Writes `new` if the value has the bits of `current`.
            ///
            /// # Errors
            /// Returns the cell's value if its bits differ from those of `current`.
            ///
            /// # Panics
            /// Panics if `failure` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn compare_exchange(
                &self,
                current: T,
                new: T,
                success: Ordering,
                failure: Ordering,
            ) -> Result<T, T> {
                // SAFETY: this is the cell's own value, and all accesses to it are atomic.
                unsafe {
                    T::compare_exchange::<$scope>(self.as_ptr(), current, new, success, failure)
                }
            }

            /// Does the same as [`compare_exchange`](Self::compare_exchange), because a GPU's
            /// exchange never fails spuriously.
            ///
            /// # Errors
            /// Returns the cell's value if its bits differ from those of `current`.
            ///
            /// # Panics
            /// Panics if `failure` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn compare_exchange_weak(
                &self,
                current: T,
                new: T,
                success: Ordering,
                failure: Ordering,
            ) -> Result<T, T> {
                // SAFETY: this is the cell's own value, and all accesses to it are atomic.
                unsafe {
                    T::compare_exchange::<$scope>(self.as_ptr(), current, new, success, failure)
                }
            }

            /// Replaces the value with the result of `next` and returns the previous value. Calls
            /// `next` again if another thread has changed the value in the meantime. Stops if
            /// `next` returns `None`. `set` is the ordering of the replacement, and `fetch` the
            /// ordering of reads without a replacement.
            ///
            /// # Errors
            /// Returns the value for which `next` returned `None`.
            ///
            /// # Panics
            /// Panics if `fetch` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut next: impl FnMut(T) -> Option<T>,
            ) -> Result<T, T> {
                // SAFETY: this is the cell's own value, and all accesses to it are atomic.
                unsafe {
                    let mut old = T::load::<$scope>(self.as_ptr(), fetch);
                    while let Some(new) = next(old) {
                        match T::compare_exchange::<$scope>(self.as_ptr(), old, new, set, fetch) {
                            Ok(old) => return Ok(old),
                            Err(now) => old = now,
                        }
                    }
                    Err(old)
                }
            }

            methods!(@rmw $scope [$($unsafe, $safety)?]
                swap exchange "Writes `value` and returns the previous value.";
                fetch_add fetch_add "Adds `value` and returns the previous value.";
                fetch_sub fetch_sub "Subtracts `value` and returns the previous value.";
                fetch_and fetch_and
                    "Stores the bitwise \"and\" with `value` and returns the previous value.";
                fetch_or fetch_or
                    "Stores the bitwise \"or\" with `value` and returns the previous value.";
                fetch_xor fetch_xor
                    "Stores the bitwise \"xor\" with `value` and returns the previous value.";
                fetch_min fetch_min
                    "Stores `value` if it is smaller, and returns the previous value.";
                fetch_max fetch_max
                    "Stores `value` if it is larger, and returns the previous value.";
            );
        }
    };
    (@rmw $scope:ident [] $($name:ident $method:ident $doc:literal;)+) => {$(
        #[doc = $doc]
        #[inline(always)]
        #[track_caller]
        pub fn $name(&self, value: T, order: Ordering) -> T {
            // SAFETY: this is the cell's own value, and all accesses to it are atomic.
            unsafe { T::$method::<$scope>(self.as_ptr(), value, order) }
        }
    )+};
    (@rmw $scope:ident [unsafe, $safety:literal] $($name:ident $method:ident $doc:literal;)+) => {$(
        #[doc = $doc]
        #[doc = $safety]
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(&self, value: T, order: Ordering) -> T {
            // SAFETY: this is the cell's own value, and all accesses to it are atomic.
            unsafe { T::$method::<$scope>(self.as_ptr(), value, order) }
        }
    )+};
}

methods!(Device);
methods!(System);
methods!(
    Block,
    unsafe,
    "\n# Safety\nAll concurrent accesses to the cell must be from threads of one block."
);

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
