//! How a signature becomes a function that finds the driver's when it is first called.
//!
//! Idea: each function calls through a pointer of its own, which at first points to `first`, a function
//! of the same type that looks for the driver's, stores it in the pointer and calls it.
//! Cost: an atomic load and an indirect call; there is nothing to test.

/// Makes a function of each signature, and [`FUNCTIONS`](super::FUNCTIONS) of their names.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The names of all functions of this module.
        pub const FUNCTIONS: &[&str] = &[$(stringify!($name)),*];

        $(
            #[doc = concat!("`", stringify!($name), "` of the driver.")]
            ///
            /// # Safety
            /// What NVIDIA's manual asks of the arguments.
            #[allow(clippy::too_many_arguments, reason = "they are the driver's")]
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> CUresult {
                type Function = unsafe extern "C" fn($($type),*) -> CUresult;

                static FUNCTION: AtomicPtr<()> = AtomicPtr::new(first as *mut ());

                /// Called until the driver's function is found; threads that meet here find the same.
                #[cold]
                unsafe extern "C" fn first($($argument: $type),*) -> CUresult {
                    match library::find(stringify!($name)) {
                        Ok(address) => {
                            FUNCTION.store(address, Ordering::Release);
                            // SAFETY: the driver's function of this name has this type, and the
                            // arguments are the caller's.
                            unsafe { transmute::<*mut (), Function>(address)($($argument),*) }
                        }
                        Err(error) => error,
                    }
                }

                // Acquire: who sees the address also sees the library mapped that it lies in.
                let function = FUNCTION.load(Ordering::Acquire);
                // SAFETY: `first` or what it stored, both of this type; the arguments are the caller's.
                unsafe { transmute::<*mut (), Function>(function)($($argument),*) }
            }
        )*
    };
}
pub(super) use functions;
