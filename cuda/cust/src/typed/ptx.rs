//! PTX images of kernels that are embedded in the program, and the choice of the image for a GPU.
//!
//! A program contains the kernels of any number of crates. Each crate registers its images with
//! [`kernels!`](crate::kernels), and [`Device::cuda`](super::Device::cuda) loads all of them.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// The compiled kernels of one kernel crate.
#[derive(Clone, Copy, Debug)]
pub struct KernelModule {
    /// The Cargo package name of the kernel crate.
    pub package: &'static str,
    /// The PTX images, one for each architecture that the crate was compiled for.
    pub images: &'static [PtxImage],
}

/// The PTX of a kernel crate, compiled for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct PtxImage {
    /// The oldest architecture that the PTX runs on.
    pub arch: Arch,
    /// The PTX text.
    pub text: PtxText,
}

/// The text of a [`PtxImage`].
#[derive(Clone, Copy, Debug)]
pub enum PtxText {
    /// The whole text, embedded in the program. The driver compiles all kernels when the device is opened.
    Static(&'static str),
    /// A function that returns the text when a GPU needs it. The driver compiles each kernel at its first launch.
    Split(fn() -> &'static SplitPtx),
}

impl PtxText {
    /// Returns the PTX text.
    #[must_use]
    pub fn get(self) -> &'static str {
        match self {
            Self::Static(text) => text,
            Self::Split(split) => split().text(),
        }
    }
}

/// A PTX text whose kernels are loaded one by one: the driver takes a tenth of a second for a kernel, and many seconds for
/// a crate with a hundred kernels.
///
/// Each kernel becomes a module of its own, with a copy of the text outside kernels. So kernels must not share variables
/// in global or constant memory.
///
/// ```
/// use cust::typed::SplitPtx;
///
/// let ptx = ".version 7.0\n.visible .entry a()\n{\n\tret;\n}\n.visible .entry b(\n)\n{\n\tret;\n\n}\n";
/// let ptx = SplitPtx::new(ptx.to_owned());
/// let b = ptx.kernel("b").unwrap();
/// assert_eq!(b, ".version 7.0\n.visible .entry b(\n)\n{\n\tret;\n\n}\n");
/// assert!(ptx.kernel("c").is_none());
/// assert_eq!(ptx.names().count(), 2);
/// assert!(ptx.text().contains("entry a"));
/// ```
#[derive(Debug)]
pub struct SplitPtx {
    text: String,
    kernels: HashMap<String, Range<usize>>,
}

impl SplitPtx {
    /// Finds the kernels of a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        const ENTRY: &str = "\n.visible .entry ";
        const END: &str = "\n}\n";
        let mut kernels = HashMap::new();
        let mut at = 0;
        while let Some(found) = text[at..].find(ENTRY) {
            let start = at + found + 1;
            let name = text[start + ENTRY.len() - 1..].split('(').next().unwrap_or_default();
            at = text[start..].find(END).map_or(text.len(), |end| start + end + END.len());
            kernels.insert(name.trim_end().to_owned(), start..at);
            // The line break before the next kernel belongs to this one.
            at -= 1;
        }
        Self { text, kernels }
    }

    /// Returns the whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of the kernels, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Returns the text of a module with one kernel, or `None` if there is no kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<String> {
        let own = self.kernels.get(name)?;
        let mut ranges: Vec<_> = self.kernels.values().filter(|range| *range != own).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let (mut module, mut at) = (String::new(), 0);
        for other in ranges {
            module.push_str(&self.text[at..other.start]);
            at = other.end;
        }
        module.push_str(&self.text[at..]);
        Some(module)
    }
}

/// A GPU architecture, identified by its compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    /// The major version of the compute capability.
    pub major: u32,
    /// The minor version of the compute capability.
    pub minor: u32,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl PtxImage {
    /// Returns whether the image runs on `gpu`. PTX runs on every later architecture, with two
    /// exceptions: a variant such as `sm_90a` runs on that architecture only, and a family such as
    /// `sm_100f` runs only on the same and later architectures of the same major version.
    fn runs_on(&self, gpu: Arch) -> bool {
        if self.arch > gpu {
            return false;
        }
        let text = self.text.get();
        let target = text.lines().find_map(|line| line.strip_prefix(".target "));
        let name = target.and_then(|words| words.split([',', ' ']).next()).unwrap_or_default();
        match name.chars().last() {
            Some('a') => self.arch == gpu,
            Some('f') => self.arch.major == gpu.major,
            _ => true,
        }
    }
}

impl KernelModule {
    /// Returns the image for the newest architecture that runs on `gpu`.
    pub(super) fn newest_for(&self, gpu: Arch) -> Option<PtxImage> {
        let mut images = self.images.to_vec();
        images.sort_by_key(|image| std::cmp::Reverse(image.arch));
        images.into_iter().find(|image| image.runs_on(gpu))
    }
}

/// The kernel modules that the program has registered with [`kernels!`](crate::kernels).
#[linkme::distributed_slice]
pub static REGISTERED: [KernelModule];

/// Registers the compiled kernels of one kernel crate. [`Device::cuda`](crate::typed::Device::cuda)
/// loads all registered kernels.
///
/// `cuda_builder` writes a file that calls this macro. Include the file once in the program:
/// `include!(concat!(env!("OUT_DIR"), "/kernels.rs"));`. To call the macro directly, write
/// `cust::kernels! { package: "my-kernels", images: [(8, 7, include_str!("kernels.sm_87.ptx"))] }`,
/// with the compute capability before each PTX, or pass a constant or static `&[PtxImage]` as
/// `images`.
///
/// ```
/// cust::kernels! {
///     package: "my-kernels",
///     images: [
///         (7, 5, ".version 7.0\n.target sm_75\n.address_size 64\n"),
///         (9, 0, ".version 7.8\n.target sm_90\n.address_size 64\n"),
///     ],
/// }
///
/// let module = cust::typed::REGISTERED.iter().find(|module| module.package == "my-kernels");
/// assert_eq!(module.map(|module| module.images.len()), Some(2));
/// ```
#[macro_export]
macro_rules! kernels {
    (
        package: $package:expr,
        images: [$(($major:literal, $minor:literal, $text:expr)),* $(,)?] $(,)?
    ) => {
        $crate::kernels! {
            package: $package,
            images: &[$($crate::typed::PtxImage {
                arch: $crate::typed::Arch { major: $major, minor: $minor },
                text: $crate::typed::PtxText::Static($text),
            }),*],
        }
    };
    (package: $package:expr, images: $images:expr $(,)?) => {
        const _: () = {
            #[$crate::__private::linkme::distributed_slice($crate::typed::REGISTERED)]
            #[linkme(crate = $crate::__private::linkme)]
            static MODULE: $crate::typed::KernelModule =
                $crate::typed::KernelModule { package: $package, images: $images };
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn arch(major: u32, minor: u32) -> Arch {
        Arch { major, minor }
    }

    const fn image(major: u32, minor: u32, text: &'static str) -> PtxImage {
        PtxImage { arch: arch(major, minor), text: PtxText::Static(text) }
    }

    #[test]
    fn the_newest_image_that_runs_is_chosen() {
        const IMAGES: &[PtxImage] = &[
            image(7, 5, ".version 6.3\n.target sm_75\n"),
            image(8, 7, ".version 7.4\n.target sm_87, debug\n"),
            image(9, 0, ".version 8.0\n.target sm_90a\n"),
            image(10, 0, ".version 8.8\n.target sm_100f\n"),
        ];
        let module = KernelModule { package: "", images: IMAGES };
        let newest = |gpu| module.newest_for(gpu).map(|image| image.arch);
        assert_eq!(newest(arch(7, 0)), None);
        assert_eq!(newest(arch(7, 5)), Some(arch(7, 5)));
        assert_eq!(newest(arch(8, 9)), Some(arch(8, 7)));
        assert_eq!(newest(arch(9, 0)), Some(arch(9, 0)));
        assert_eq!(newest(arch(10, 3)), Some(arch(10, 0)));
        assert_eq!(newest(arch(12, 0)), Some(arch(8, 7)));
    }
}
