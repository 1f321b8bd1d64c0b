//! The performance targets of each benchmarked system on one H100: a maximum time, and for the stitch also a minimum
//! speedup over the original system's kernel, reimplemented in CUDA C++.
//!
//! This file contains all performance targets. Tests check other requirements, such as a minimum PSNR.

use crate::record::{Role, Row, Size};

/// The text in the names of the GPUs to which the targets apply.
pub(crate) const GPU: &str = "H100";

/// A performance target: a maximum time, and optionally a minimum speedup over the original system's kernel.
#[derive(Debug, PartialEq)]
pub(crate) struct Target {
    system: &'static str,
    of: &'static str,
    size: Size,
    /// The name of the implementation that should meet the target, such as `fast/mesh`.
    variant: &'static str,
    /// The maximum median time in µs.
    pub(crate) most_us: f64,
    /// The minimum speedup of the variant over the original system's kernel with the gamma method `exact`. `None` if
    /// the target is only a maximum time.
    pub(crate) least_ratio: Option<f64>,
}

const HOME: Size = Size::Pixels(5700, 1900);
const UHD: Size = Size::Pixels(3840, 2160);

const TARGETS: &[Target] = &[
    Target { least_ratio: Some(4.5), ..of("stitch", "rgba", "fast/mesh", HOME, 46.0) },
    of("stitch", "nv12", "fast/mesh", HOME, 25.0),
    of("colour", "rgba", "rust", Size::Pixels(700, 1900), 12.0),
    of("resample", "bf16, even", "rust", Size::Batches(256), 7.5),
    of("resample", "bf16, even", "rust", Size::Batches(8192), 110.0),
    of("ssim", "8 bits", "fused", UHD, 50.0),
    of("convolve", "7 taps", "one launch", UHD, 35.0),
    of("convolve", "15 taps", "one launch", UHD, 42.0),
    of("convolve", "31 taps", "one launch", UHD, 70.0),
    of("view", "rgba to rgba", "lenses", Size::Pixels(1920, 1080), 12.0),
];

const fn of(
    system: &'static str,
    of: &'static str,
    variant: &'static str,
    size: Size,
    most_us: f64,
) -> Target {
    Target { system, of, size, variant, most_us, least_ratio: None }
}

/// The gamma method of the original system. The speedup in a target is relative to its kernel with this method.
pub(crate) const ORIGINAL_METHOD: &str = "exact";

/// Returns the target of a row, if there is one.
pub(crate) fn target(row: &Row) -> Option<&'static Target> {
    let work = &row.work;
    TARGETS.iter().find(|target| {
        row.role == Role::Ours
            && (target.system, target.of, target.size) == (&*work.system, &*work.of, work.size)
            && row.variant == target.variant
    })
}
