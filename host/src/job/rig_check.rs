//! Tells a person how a rig fits new pictures of its cameras.

use std::path::Path;

use crate::geometry::calibrate::RigCheck;

/// The number of correspondences from which pictures that agree with nothing show other scenes than the rig's cameras.
/// Fewer may be noise, as of a dark scene.
const MANY: usize = 200;

/// The number of correspondences below which pictures show too little, as in a black frame.
const FEW: usize = 20;

impl RigCheck {
    /// Returns whether the pictures show so much that they prove that they are not from the rig's cameras.
    #[must_use]
    pub fn fits_nothing(&self) -> bool {
        self.order.is_none() && self.worst.is_none() && self.matches >= MANY
    }
}

/// Returns a sentence on what does not fit, and the remedy. `files` are the pictures or videos. Returns `None` if the
/// rig fits, or if the pictures show too little.
pub fn told(found: &RigCheck, files: &[impl AsRef<Path>]) -> Option<String> {
    let name = |i: usize| format!("camera {} ({})", i + 1, files[i].as_ref().display());
    if let Some(order) = &found.order {
        let of = |camera: usize| order.iter().position(|&one| one == camera);
        let files =
            (0..order.len()).filter_map(of).map(|i| files[i].as_ref().display().to_string());
        return Some(format!(
            "the pictures are in another order than the cameras of the rig; give them as {}",
            files.collect::<Vec<_>>().join(" ")
        ));
    }
    if found.moved.is_empty() {
        return None;
    }
    let cameras: Vec<_> = found.moved.iter().map(|&i| name(i)).collect();
    let cameras = cameras.join(if found.moved.len() == 2 { " or " } else { ", " });
    match found.worst {
        Some(drift) if drift.drifted => Some(format!(
            "{cameras} moved since it was made: the pictures are off by {:.1} px, and {:.1} px are allowed; calibrate again",
            drift.median_px, drift.allowed_px
        )),
        Some(_) => Some(format!(
            "{cameras} shows nothing of what the rig's other cameras show there; check that it is this camera, and calibrate again"
        )),
        None => (found.matches >= FEW).then(|| {
            format!(
                "the pictures fit neither the rig nor each other: none of {} matches agree; check that they are from \
                 the cameras of the rig",
                found.matches
            )
        }),
    }
}
