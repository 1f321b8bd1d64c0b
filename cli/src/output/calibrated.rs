//! Prints calibrations of pictures and videos.

use std::path::Path;

use panoweave::geometry::calibrate::Calibration;
use panoweave::job::Calibrated;
use serde_json::{Value, json};

/// Formats the quality of the calibration as one line: the verdict, the model, the number of matches that agree with it, the
/// errors in pixels and the overlap.
pub(crate) fn summary(found: &Calibrated) -> String {
    let Some(q) = &found.rig.quality else { return String::new() };
    format!(
        "{}: {}, {} of {} matches agree, RMS error {:.2} px, expected error at the seam {:.1} px, overlap {:.0} %",
        found.calibration.verdict(),
        q.model.as_str(),
        q.inliers,
        q.matches,
        q.rms_px,
        q.seam_error_px,
        100.0 * q.overlap,
    )
}

/// Returns the model, and for each overlapping pair the homography, the number of matches, the errors and the
/// overlap as a JSON object. `files` are those of all cameras, which the pairs number from 1.
pub(crate) fn describe(found: &Calibrated, files: &[impl AsRef<Path>]) -> Value {
    let Calibration { indices, views, pairs, left_out, .. } = &found.calibration;
    let verdict = found.calibration.verdict();
    let reason = |i| left_out.iter().find(|one| one.index == i).map(|one| &one.reason);
    let homography = |left, right| views.homography(left, right).transpose().to_cols_array();
    json!({
        "model": views.name().as_str(),
        "verdict": verdict.grade.as_str(),
        "verdict_reason": verdict.reason,
        "cameras": files.iter().enumerate().map(|(i, file)| json!({
            "file": file.as_ref().to_string_lossy(),
            "left_out": reason(i),
        })).collect::<Vec<_>>(),
        "pairs": pairs.iter().map(|pair| json!({
            "cameras": [indices[pair.left] + 1, indices[pair.right] + 1],
            "homography": homography(pair.left, pair.right),
            "matches": pair.matches,
            "inliers": pair.inliers.len(),
            "rms_px": pair.rms_px,
            "overlap": pair.overlap[0],
            "coverage": pair.coverage,
            "seam_error_px": pair.seam_error_px,
        })).collect::<Vec<_>>(),
        "warnings": found.warnings,
    })
}
