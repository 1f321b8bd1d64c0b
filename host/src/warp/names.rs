//! The names of cameras in texts for people: left and right for two cameras, ordinals for more.

use shared_types::stitch::MAX_CAMERAS;

const ORDINALS: [&str; MAX_CAMERAS] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
];

/// Returns the name of a camera, an adjective such as `left` or `third`. `camera` counts from 0, and `cameras` is the
/// number of all cameras.
#[must_use]
pub fn camera_name(camera: usize, cameras: usize) -> &'static str {
    match (camera, cameras) {
        (0, 2) => "left",
        (1, 2) => "right",
        _ => ORDINALS.get(camera).copied().unwrap_or("further"),
    }
}
