//! A macro that turns signatures into functions. Each function looks up the driver's function of
//! the same name on its first call.
//!
//! Each function calls through its own static pointer. The pointer initially refers to `first`, a
//! function of the same type that looks up the driver's function, stores its address in the pointer
//! and calls it. A call costs an atomic load and an indirect call, without a branch.

/// Defines a function for each signature, and [`FUNCTIONS`](super::FUNCTIONS) with their names.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The names of all functions of this module.
        pub const FUNCTIONS: &[&str] = &[$(stringify!($name)),*];

        $(
            #[doc = concat!("`", stringify!($name), "` of the driver.")]
            ///
            /// # Safety
            /// The arguments must meet the requirements that NVIDIA's manual states for this
            /// function.
            #[allow(clippy::too_many_arguments, reason = "the driver's parameters")]
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> CUresult {
                type Function = unsafe extern "C" fn($($type),*) -> CUresult;

                static FUNCTION: AtomicPtr<()> = AtomicPtr::new(first as *mut ());

                /// Handles calls until the address of the driver's function is stored. Concurrent
                /// first calls store the same address.
                #[cold]
                unsafe extern "C" fn first($($argument: $type),*) -> CUresult {
                    match library::find(stringify!($name)) {
                        Ok(address) => {
                            FUNCTION.store(address, Ordering::Release);
                            // SAFETY: the driver's function of this name has the type `Function`,
                            // and the caller guarantees that the arguments meet its requirements.
                            unsafe { transmute::<*mut (), Function>(address)($($argument),*) }
                        }
                        Err(error) => error,
                    }
                }

                // `Acquire` ensures that the library is mapped for every thread that loads the
                // address.
                let function = FUNCTION.load(Ordering::Acquire);
                // SAFETY: the pointer refers to `first` or to the driver's function. Both have the
                // type `Function`. The caller guarantees that the arguments meet the driver
                // function's requirements.
                unsafe { transmute::<*mut (), Function>(function)($($argument),*) }
            }
        )*
    };
}
pub(super) use functions;
