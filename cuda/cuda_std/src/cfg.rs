//! The architecture that a kernel is compiled for.
//!
//! ```
//! use cuda_std::cfg::ComputeCapability;
//!
//! /// Returns the number of elements that a thread should process.
//! fn batch() -> u32 {
//!     if ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80 { 8 } else { 4 }
//! }
//!
//! assert_eq!(batch(), 8, "the CPU has the newest capability");
//! ```

/// Defines [`ComputeCapability`] with the target feature of each variant.
macro_rules! capabilities {
    ($($variant:ident $feature:literal $number:literal;)+) => {
        /// A compute capability. Each capability has all features of the earlier ones.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("Compute capability ", $number, ".")]
                $variant,
            )+
        }

        impl ComputeCapability {
            /// Returns the capability that the kernel is compiled for, a compile-time constant. On
            /// the CPU, returns the newest capability.
            #[inline(always)]
            #[must_use]
            pub fn from_cuda_arch_env() -> Self {
                let mut newest = Self::Compute35;
                $(
                    if cfg!(any(target_feature = $feature, not(target_arch = "nvptx64"))) {
                        newest = Self::$variant;
                    }
                )+
                newest
            }
        }
    };
}

capabilities! {
    Compute35 "compute_35" "3.5";
    Compute37 "compute_37" "3.7";
    Compute50 "compute_50" "5.0";
    Compute52 "compute_52" "5.2";
    Compute53 "compute_53" "5.3";
    Compute60 "compute_60" "6.0";
    Compute61 "compute_61" "6.1";
    Compute62 "compute_62" "6.2";
    Compute70 "compute_70" "7.0";
    Compute72 "compute_72" "7.2";
    Compute75 "compute_75" "7.5";
    Compute80 "compute_80" "8.0";
    Compute86 "compute_86" "8.6";
    Compute87 "compute_87" "8.7";
    Compute88 "compute_88" "8.8";
    Compute89 "compute_89" "8.9";
    Compute90 "compute_90" "9.0";
    Compute100 "compute_100" "10.0";
    Compute101 "compute_101" "10.1";
    Compute103 "compute_103" "10.3";
    Compute110 "compute_110" "11.0";
    Compute120 "compute_120" "12.0";
    Compute121 "compute_121" "12.1";
}
