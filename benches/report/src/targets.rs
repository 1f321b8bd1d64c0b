//! The performance targets of each system on one H100: a maximum time, and for the stitch also a minimum ratio to the
//! original design.
//!
//! All targets are in this file. Tests check other requirements, such as a PSNR.

use crate::record::{Role, Row, Size};

/// The text that a GPU's name must contain for targets to apply.
pub(crate) const GPU: &str = "H100";

/// A maximum time, and optionally a minimum ratio to the time of the original design.
#[derive(Debug, PartialEq)]
pub(crate) struct Target {
    system: &'static str,
    of: &'static str,
    size: Size,
    /// The variant that should meet the target.
    variant: &'static str,
    /// The maximum time in µs.
    pub(crate) most_us: f64,
    /// The minimum ratio of the time of the original design, with its gamma method `exact`, to the variant's time.
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

/// The gamma method of the original system. The ratio of a target compares with the original design with this method.
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
