//! Targets of rig files, OpenCV calibration files and homographies.

use glam::UVec2;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::intrinsics::Intrinsics;
use panoweave::geometry::rig::Rig;

use super::NAME;

/// A rig file. A valid rig has a geometry and survives writing and reading.
pub(crate) fn rig(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(rig) = Rig::parse(text, NAME) else { return };
    rig.geometry().expect("the geometry of a valid rig");
    let written = rig.to_toml().expect("the text of a valid rig");
    let again = Rig::parse(&written, NAME).expect("a written rig");
    assert_eq!(again.panorama, rig.panorama);
    assert_eq!(again.cameras, rig.cameras);
    let _ = rig.panorama.resized(UVec2::new(640, 480));
}

/// A calibration file of OpenCV. The first byte selects the camera.
pub(crate) fn intrinsics(data: &[u8]) {
    let Some((&camera, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(found) = Intrinsics::parse(text, NAME, u32::from(camera % 4)) {
        let finite = found.focal.is_finite() && found.centre.is_finite();
        assert!(finite && found.distortion.iter().all(|number| number.is_finite()), "{found:?}");
    }
}

/// A homography. The first four bytes are the sizes of the pictures. A valid homography survives writing and reading.
pub(crate) fn homography(data: &[u8]) {
    let Some((&[a, b, c, d], text)) = data.split_first_chunk() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(homography) = Homography::parse(text, NAME) else { return };
    let again = Homography::parse(&homography.to_text(), NAME).expect("a written homography");
    assert_eq!(again.matrix(), homography.matrix());
    let [left, right] =
        [[a, b], [c, d]].map(|[x, y]| UVec2::new(u32::from(x) * 17, u32::from(y) * 17));
    if let Ok(geometry) = homography.geometry(left, right) {
        let cells = u64::from(geometry.canvas.size.x) * u64::from(geometry.canvas.size.y);
        assert!(cells <= panoweave::geometry::MAX_CANVAS_AREA, "{:?}", geometry.canvas);
    }
}
