//! Kernels with every form of launch bounds. Each kernel counts the threads of its launch.

use cuda_std::prelude::*;

macro_rules! bounded {
    ($(#[$attribute:meta])* $name:ident) => {
        /// Counts the threads of the launch in the first element of `out`.
        $(#[$attribute])*
        pub fn $name(out: SliceMut<u32>) {
            if out.len() >= 1 {
                // SAFETY: `out` has an element (checked above), and all accesses to it are atomic.
                unsafe { atomic::AtomicAdd::atomic_add(out.atomic(0), 1) };
            }
        }
    };
}

bounded!(
    #[kernel(dims(3))]
    bounds_none
);
bounded!(
    #[kernel()]
    bounds_empty
);
bounded!(
    #[kernel(launch_bounds(1))]
    bounds_1
);
bounded!(
    #[kernel(launch_bounds(96), dims(3))]
    bounds_96
);
bounded!(
    #[kernel(launch_bounds(128, 8))]
    bounds_128_8
);
bounded!(
    #[kernel(launch_bounds(1024, 1), barriers(0))]
    bounds_1024_1
);
