//! The GPU architectures that a kernel crate can be compiled for.

use std::fmt;

/// Declares [`Arch`], and those of its methods that return a constant for each architecture.
macro_rules! archs {
    ($($variant:ident $compute:ident $name:literal $capability:tt $ptx:tt $doc:literal;)+) => {
        /// A GPU architecture that PTX is compiled for, such as `sm_87`.
        ///
        /// PTX for a plain architecture runs on it and on all later ones. PTX for a family (`f`)
        /// runs on GPUs of the same major and the same or a later minor number. PTX for a variant
        /// with `a` runs on exactly that architecture.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum Arch {
            $(#[doc = $doc] #[cfg_attr(feature = "serde", serde(rename = $name))] $variant,)+
        }

        impl Arch {
            /// Every architecture, oldest first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name that rustc, `ptxas` and file names use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the major and minor number of the compute capability.
            #[must_use]
            pub const fn capability(self) -> (u32, u32) {
                match self {
                    $(Self::$variant => $capability,)+
                }
            }

            /// Returns the first PTX version that supports the architecture. rustc writes PTX of
            /// this version.
            #[must_use]
            pub const fn ptx_version(self) -> (u32, u32) {
                match self {
                    $(Self::$variant => $ptx,)+
                }
            }
        }

        /// Aliases of the variants with rust-cuda's names, such as `Compute87`.
        #[allow(non_upper_case_globals, reason = "variants of an enum in rust-cuda")]
        impl Arch {
            $(
                #[doc = concat!("The architecture `", $name, "`, with rust-cuda's name.")]
                pub const $compute: Self = Self::$variant;
            )+
        }
    };
}

archs! {
    Sm70 Compute70 "sm_70" (7, 0) (6, 0) "Volta: V100.";
    Sm72 Compute72 "sm_72" (7, 2) (6, 1) "Volta: Jetson Xavier.";
    Sm75 Compute75 "sm_75" (7, 5) (6, 3) "Turing: T4, RTX 20.";
    Sm80 Compute80 "sm_80" (8, 0) (7, 0) "Ampere: A100.";
    Sm86 Compute86 "sm_86" (8, 6) (7, 1) "Ampere: A10, RTX 30.";
    Sm87 Compute87 "sm_87" (8, 7) (7, 4) "Ampere: Jetson Orin.";
    Sm88 Compute88 "sm_88" (8, 8) (9, 0) "Ampere: an architecture that CUDA 13 added.";
    Sm89 Compute89 "sm_89" (8, 9) (7, 8) "Ada: L4, RTX 40.";
    Sm90 Compute90 "sm_90" (9, 0) (7, 8) "Hopper: H100, H200.";
    Sm90a Compute90a "sm_90a" (9, 0) (8, 0) "Hopper: H100 and H200 only, for instructions such as `wgmma`.";
    Sm100 Compute100 "sm_100" (10, 0) (8, 6) "Blackwell: B200.";
    Sm100f Compute100f "sm_100f" (10, 0) (8, 8) "Blackwell: B200 and later GPUs of the same family.";
    Sm100a Compute100a "sm_100a" (10, 0) (8, 6) "Blackwell: B200 only.";
    Sm101 Compute101 "sm_101" (10, 1) (8, 6) "Blackwell: Jetson Thor in CUDA 12; CUDA 13 calls it `sm_110`.";
    Sm101f Compute101f "sm_101f" (10, 1) (8, 8) "Blackwell: `sm_101` and later GPUs of the same family.";
    Sm101a Compute101a "sm_101a" (10, 1) (8, 6) "Blackwell: `sm_101` only.";
    Sm103 Compute103 "sm_103" (10, 3) (8, 8) "Blackwell: B300.";
    Sm103f Compute103f "sm_103f" (10, 3) (8, 8) "Blackwell: B300 and later GPUs of the same family.";
    Sm103a Compute103a "sm_103a" (10, 3) (8, 8) "Blackwell: B300 only.";
    Sm110 Compute110 "sm_110" (11, 0) (9, 0) "Blackwell: Jetson Thor.";
    Sm110f Compute110f "sm_110f" (11, 0) (9, 0) "Blackwell: Jetson Thor and later GPUs of the same family.";
    Sm110a Compute110a "sm_110a" (11, 0) (9, 0) "Blackwell: Jetson Thor only.";
    Sm120 Compute120 "sm_120" (12, 0) (8, 7) "Blackwell: RTX 50.";
    Sm120f Compute120f "sm_120f" (12, 0) (8, 8) "Blackwell: RTX 50 and later GPUs of the same family.";
    Sm120a Compute120a "sm_120a" (12, 0) (8, 7) "Blackwell: RTX 50 only.";
    Sm121 Compute121 "sm_121" (12, 1) (8, 8) "Blackwell: DGX Spark.";
    Sm121f Compute121f "sm_121f" (12, 1) (8, 8) "Blackwell: DGX Spark and later GPUs of the same family.";
    Sm121a Compute121a "sm_121a" (12, 1) (8, 8) "Blackwell: DGX Spark only.";
}

/// The default is `sm_75`, the oldest architecture that the `ptxas` of CUDA 13 assembles. Its PTX
/// runs on every GPU since T4 and RTX 20.
impl Default for Arch {
    fn default() -> Self {
        Self::Sm75
    }
}

/// rust-cuda's name for [`Arch`].
pub type NvvmArch = Arch;

/// Compute capabilities that are older than the first [`Arch`]. Kernels that were written for
/// rust-cuda may test for these capabilities with `cfg`.
const OLDER: [&str; 8] = ["35", "37", "50", "52", "53", "60", "61", "62"];

impl Arch {
    /// Returns the name without `sm_`, such as `87` or `90a`.
    fn number(self) -> &'static str {
        &self.name()["sm_".len()..]
    }

    fn is_family(self) -> bool {
        self.name().ends_with('f')
    }

    fn is_exact(self) -> bool {
        self.name().ends_with('a')
    }

    /// Returns the values of `cfg(target_feature)` that are set for this architecture, like
    /// rust-cuda:
    ///
    /// - values such as `compute_80`: every plain architecture up to this one.
    /// - values such as `compute_100f`: every family with the same major number and the same or a
    ///   lower minor number, if this architecture is a family (`f`) or an exact variant (`a`).
    /// - values such as `compute_100a`: only this architecture, if it is an exact variant.
    pub(crate) fn target_features(self) -> Vec<String> {
        let (major, minor) = self.capability();
        let has_family = self.is_family() || self.is_exact();
        let holds = |other: &&Self| {
            let capability = other.capability();
            if other.is_exact() {
                **other == self
            } else if other.is_family() {
                has_family && capability.0 == major && capability.1 <= minor
            } else {
                capability <= (major, minor)
            }
        };
        let own = Self::ALL.iter().filter(holds).map(|other| other.number());
        OLDER.into_iter().chain(own).map(|number| format!("compute_{number}")).collect()
    }

    /// Returns every value that [`target_features`](Self::target_features) returns for at least one
    /// architecture.
    pub(crate) fn all_target_features() -> Vec<String> {
        let all = Self::ALL.iter().map(|arch| arch.number());
        OLDER.into_iter().chain(all).map(|number| format!("compute_{number}")).collect()
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
