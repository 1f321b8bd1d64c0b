//! Compiled kernels as they are embedded in the program, and the choice among architectures.
//!
//! A program has the kernels of any number of crates. Each crate's images register themselves by
//! [`kernels!`](crate::kernels), and [`Device::cuda`](super::Device::cuda) loads all of them.

use std::fmt;

/// The compiled kernels of one kernel crate.
#[derive(Clone, Copy, Debug)]
pub struct KernelModule {
    /// Package of the kernel crate.
    pub package: &'static str,
    /// PTX for each architecture that was built.
    pub images: &'static [PtxImage],
}

/// PTX text for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct PtxImage {
    /// The oldest GPU that it runs on.
    pub arch: Arch,
    /// The PTX itself.
    pub text: &'static str,
}

/// A GPU architecture, that is a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl KernelModule {
    /// The newest image that runs on `gpu`: PTX is compatible with every later architecture.
    pub(super) fn newest_for(&self, gpu: Arch) -> Option<PtxImage> {
        self.images.iter().copied().filter(|i| i.arch <= gpu).max_by_key(|i| i.arch)
    }
}

/// The kernels that the program registered.
#[linkme::distributed_slice]
pub static REGISTERED: [KernelModule];

/// Registers the compiled kernels of one kernel crate with every GPU that the program opens:
/// `cust::kernels! { package: "my-kernels", images: IMAGES }`, once in the program, where `IMAGES` is a
/// constant or static `&[PtxImage]`.
///
/// `cuda_builder` writes a file that does this: `include!(concat!(env!("OUT_DIR"), "/kernels.rs"));`.
#[macro_export]
macro_rules! kernels {
    (package: $package:expr, images: $images:expr $(,)?) => {
        const _: () = {
            #[$crate::__private::linkme::distributed_slice($crate::typed::REGISTERED)]
            #[linkme(crate = $crate::__private::linkme)]
            static MODULE: $crate::typed::KernelModule =
                $crate::typed::KernelModule { package: $package, images: $images };
        };
    };
}
