//! Compiled kernels as they are embedded in the program, and the choice among architectures.

use std::fmt;

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

/// The newest image that runs on `gpu`: PTX is compatible with every later architecture.
pub(crate) fn newest_for(images: &[PtxImage], gpu: Arch) -> Option<PtxImage> {
    images.iter().copied().filter(|image| image.arch <= gpu).max_by_key(|image| image.arch)
}
