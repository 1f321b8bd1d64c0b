//! Atomic cells, as those of `core::sync::atomic`, with floats and scopes.
//!
//! Methods of `Block` cells are `unsafe`: a block scope says nothing to the threads of another
//! block, so sharing such a cell between blocks is a data race.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use super::scoped::{AtomicValue, Block, Device, Scope, System};

/// A `T` in memory that threads of scope `S` share. It has the layout of `T`.
#[repr(transparent)]
pub struct Atomic<T, S> {
    value: UnsafeCell<T>,
    scope: PhantomData<S>,
}

// SAFETY: safe methods access the value atomically, in a scope that covers all threads that run
// safe code with a reference to the cell; those of block scope are unsafe.
unsafe impl<T: AtomicValue, S: Scope> Sync for Atomic<T, S> {}

impl<T: AtomicValue, S: Scope> Atomic<T, S> {
    /// A cell with a value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value), scope: PhantomData }
    }

    /// The value. Nobody shares the cell any more.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// The value without atomic operations, which exclusive access makes unnecessary.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The address of the value.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// The value at `at` as a cell.
    ///
    /// # Safety
    /// - `at` is aligned, and valid for reads and writes during `'a`.
    /// - During `'a` all accesses to it that can be concurrent with those of the cell are atomic,
    ///   of the same size, and from threads of scope `S`.
    #[must_use]
    pub const unsafe fn from_ptr<'a>(at: *mut T) -> &'a Self {
        // SAFETY: the layouts are the same; the rest is what the caller vouches for.
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
        // SAFETY: the cell's own value; formatting a cell of block scope in another block is the
        // obligation of who shared it.
        unsafe { T::load::<System>(self.as_ptr(), Ordering::Relaxed) }.fmt(f)
    }
}

/// The methods of one scope, `unsafe` where the second argument says so.
macro_rules! methods {
    ($scope:ident $(, $unsafe:ident, $safety:literal)?) => {
        impl<T: AtomicValue> Atomic<T, $scope> {
            /// Reads the value.
            ///
            /// # Panics
            /// If `order` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            pub $($unsafe)? fn load(&self, order: Ordering) -> T {
                // SAFETY: the cell's own value, which is accessed atomically alone.
                unsafe { T::load::<$scope>(self.as_ptr(), order) }
            }

            /// Writes the value.
            ///
            /// # Panics
            /// If `order` is `Acquire` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            pub $($unsafe)? fn store(&self, value: T, order: Ordering) {
                // SAFETY: as for `load`.
                unsafe { T::store::<$scope>(self.as_ptr(), value, order) }
            }

            /// Writes `new` if the value has the bits of `current`.
            ///
            /// # Errors
            /// The value that was there instead.
            ///
            /// # Panics
            /// If `failure` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            pub $($unsafe)? fn compare_exchange(
                &self,
                current: T,
                new: T,
                success: Ordering,
                failure: Ordering,
            ) -> Result<T, T> {
                // SAFETY: as for `load`.
                unsafe {
                    T::compare_exchange::<$scope>(self.as_ptr(), current, new, success, failure)
                }
            }

            /// [`compare_exchange`](Self::compare_exchange): no GPU fails for no reason.
            ///
            /// # Errors
            /// The value that was there instead.
            ///
            /// # Panics
            /// If `failure` is `Release` or `AcqRel`.
            $(#[doc = $safety])?
            #[inline(always)]
            pub $($unsafe)? fn compare_exchange_weak(
                &self,
                current: T,
                new: T,
                success: Ordering,
                failure: Ordering,
            ) -> Result<T, T> {
                // SAFETY: as for `load`.
                unsafe {
                    T::compare_exchange::<$scope>(self.as_ptr(), current, new, success, failure)
                }
            }

            /// Replaces the value by `next` of it until no other thread intervenes, or stops when
            /// `next` is `None`. Returns the previous value.
            ///
            /// # Errors
            /// The value for which `next` is `None`.
            $(#[doc = $safety])?
            #[inline(always)]
            pub $($unsafe)? fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut next: impl FnMut(T) -> Option<T>,
            ) -> Result<T, T> {
                // SAFETY: as for `load`.
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
                swap exchange "Writes the value and returns the previous one.";
                fetch_add fetch_add "Adds and returns the previous value.";
                fetch_sub fetch_sub "Subtracts and returns the previous value.";
                fetch_and fetch_and "Stores the bitwise \"and\" and returns the previous value.";
                fetch_or fetch_or "Stores the bitwise \"or\" and returns the previous value.";
                fetch_xor fetch_xor "Stores the bitwise \"exclusive or\" and returns the previous value.";
                fetch_min fetch_min "Stores the smaller one and returns the previous value.";
                fetch_max fetch_max "Stores the larger one and returns the previous value.";
            );
        }
    };
    (@rmw $scope:ident [] $($name:ident $method:ident $doc:literal;)+) => {$(
        #[doc = $doc]
        #[inline(always)]
        pub fn $name(&self, value: T, order: Ordering) -> T {
            // SAFETY: as for `load`.
            unsafe { T::$method::<$scope>(self.as_ptr(), value, order) }
        }
    )+};
    (@rmw $scope:ident [unsafe, $safety:literal] $($name:ident $method:ident $doc:literal;)+) => {$(
        #[doc = $doc]
        #[doc = $safety]
        #[inline(always)]
        pub unsafe fn $name(&self, value: T, order: Ordering) -> T {
            // SAFETY: as for `load`.
            unsafe { T::$method::<$scope>(self.as_ptr(), value, order) }
        }
    )+};
}

methods!(Device);
methods!(System);
methods!(Block, unsafe, "\n# Safety\nAll concurrent accesses come from threads of the same block.");

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
