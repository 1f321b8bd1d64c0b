//! Code that the benches share: the home rig, a warp with a straight overlap, noisy frames, copies over the bus
//! ([`copies`]), timing with device events ([`Group`]), and the record of measurements, which
//! `panoweave-bench-report` turns into tables.

pub mod copies;
mod group;
mod machine;
pub mod opencv;
mod record;

use std::path::Path;

use glam::{UVec2, uvec2};
use panoweave::device::{Arch, Device, KernelModule, PtxImage, PtxText, Stream};
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::geometry::Geometry;
use panoweave::geometry::rig::{CameraMatrix, Rig, RigError};
use panoweave::warp::Warp;

pub use group::{
    Group, Size, bench, bench_by_clock, bench_copies_by_clock, bench_copy, bench_original,
    bench_peer_by_clock, time,
};

/// The rig file of the home rig, the project's reference setup: two 4K cameras, a cylindrical panorama of 5700×1900,
/// and an overlap of about 700 columns.
pub const HOME_RIG: &str = include_str!("../../rigs/home.toml");

/// Returns the geometry of the cameras and the panorama in [`HOME_RIG`].
///
/// # Errors
/// Returns [`RigError`] if [`HOME_RIG`] is not a valid rig.
pub fn home_geometry() -> Result<Geometry, RigError> {
    home_geometry_for(SOURCE.y)
}

/// Returns the geometry of the home rig, with cameras and panorama scaled so that the cameras have `rows` rows.
///
/// # Errors
/// Returns [`RigError`] if [`HOME_RIG`] is not a valid rig.
pub fn home_geometry_for(rows: u32) -> Result<Geometry, RigError> {
    let mut rig = Rig::parse(HOME_RIG, "rigs/home.toml")?;
    let scaled = |length: u32| scaled(length, rows);
    rig.panorama = rig.panorama.resized(PANORAMA.map(scaled));
    let by = f64::from(rows) / f64::from(SOURCE.y);
    for camera in &mut rig.cameras {
        camera.size = camera.size.map(scaled);
        if let Some(mount) = camera.mount_mut() {
            let CameraMatrix { fx, fy, cx, cy } = &mut mount.matrix;
            // Pixel centres have integer coordinates, so the picture's edge is at -0.5.
            (*cx, *cy) = ((*cx + 0.5) * by - 0.5, (*cy + 0.5) * by - 0.5);
            (*fx, *fy) = (*fx * by, *fy * by);
        }
    }
    rig.geometry()
}

/// Returns the geometry of a row of cameras of 1920×1080 pixels without lens distortion, 54° apart. Each picture is 60°
/// wide. The panorama is a cylinder with as many pixels per degree as the centres of the pictures, so every pixel of
/// the pictures is visible. Six cameras see 330°.
///
/// # Errors
/// Returns [`RigError`] if there are so many cameras that they do not fit on a circle.
pub fn camera_row(cameras: u32) -> Result<Geometry, RigError> {
    use std::fmt::Write as _;
    let fov = 54 * (cameras - 1) + 60;
    let width = 1663.0 * f64::from(fov).to_radians();
    let mut text = format!(
        "[panorama]\nprojection = \"cylindrical\"\nwidth = {width:.0}\nheight = 1080\nfov = {fov}\n"
    );
    for camera in 0..cameras {
        let yaw = 54.0 * (f64::from(camera) - 0.5 * f64::from(cameras - 1));
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[camera]]\nname = \"{camera}\"\nsize = [1920, 1080]\nlens = \"pinhole\"\nmatrix = {{ fx = 1663.0, \
             fy = 1663.0, cx = 959.5, cy = 539.5 }}\nyaw = {yaw}\n"
        );
    }
    Rig::parse(&text, "the rig of the bench")?.geometry()
}

/// The colour encoding of live cameras in NV12.
pub const NV12: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };

/// The picture sizes of the benches besides 3840×2160: 720p, 1080p, 1440p and 8K.
pub const SIZES: [UVec2; 4] =
    [uvec2(1280, 720), uvec2(1920, 1080), uvec2(2560, 1440), uvec2(7680, 4320)];

/// Scales a length in pixels from pictures of the size [`SOURCE`] to pictures with `rows` rows.
#[must_use]
pub fn scaled(length: u32, rows: u32) -> u32 {
    (f64::from(length) * f64::from(rows) / f64::from(SOURCE.y)).round() as u32
}

/// The size of [`overlapping_warp`]'s panorama.
pub const PANORAMA: UVec2 = uvec2(5700, 1900);
/// The size of the pictures that [`overlapping_warp`] expects.
pub const SOURCE: UVec2 = uvec2(3840, 2160);
/// The first column of the overlap in [`overlapping_warp`], and the column after the last one.
pub const OVERLAP: [f32; 2] = [2500.0, 3200.0];

/// Creates a warp whose cameras overlap in the columns [`OVERLAP`]. The panorama has the scale of the pictures, but its
/// pixels fall between source pixels. In the overlap, `weights` returns the weights of the left and the right camera
/// for a column. Outside the overlap, only one camera contributes, with weight 1.
///
/// # Panics
/// Panics if a weight is not between 0 and 1.
#[must_use]
pub fn overlapping_warp(weights: impl Fn(f32) -> [f32; 2]) -> Warp {
    overlapping_warp_for(SOURCE.y, weights)
}

/// Creates the warp of [`overlapping_warp`], scaled to pictures with `rows` rows.
///
/// # Panics
/// Panics if a weight is not between 0 and 1.
#[must_use]
pub fn overlapping_warp_for(rows: u32, weights: impl Fn(f32) -> [f32; 2]) -> Warp {
    let [panorama, source] = [PANORAMA, SOURCE].map(|size| size.map(|length| scaled(length, rows)));
    let [first, end] = OVERLAP.map(|column| scaled(column as u32, rows) as f32);
    let above = scaled(130, rows) as f32 + 0.25;
    let plane = |at: &dyn Fn(f32, f32) -> f32| {
        let row = |y| (0..panorama.x).map(move |x| at(x as f32, y as f32));
        (0..panorama.y).flat_map(row).collect::<Vec<_>>()
    };
    let weights = |x: f32| match x {
        _ if x < first => [1.0, 0.0],
        _ if x < end => weights(x),
        _ => [0.0, 1.0],
    };
    // The last column of the left picture is at the end of the overlap, and the first column of the right picture is at
    // its start.
    let planes = [
        plane(&|x, _| x - end + source.x as f32 - 0.75),
        plane(&|_, y| y + above),
        plane(&|x, _| x - first + 0.25),
        plane(&|_, y| y + above),
        plane(&|x, _| weights(x)[0]),
        plane(&|x, _| weights(x)[1]),
    ];
    Warp::new(panorama, [source; 2], planes).expect("a warp")
}

/// The number of buffer sets that launches use in turn at full size (4K pictures). When a launch uses a set again, the
/// other sets have displaced its data from all caches.
pub const SETS: usize = 5;

/// Returns the first GPU. If there is none, prints that the bench is skipped and returns `None`, because times of the
/// CPU backend do not predict those of a GPU.
///
/// # Panics
/// Panics if there is a GPU that does not work.
#[must_use]
pub fn gpu(bench: &str) -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(e) if e.is_no_device() => {
            println!("skipping {bench}: no GPU: {}", e.kind);
            None
        }
        Err(e) => panic!("the GPU cannot be used: {e}"),
    }
}

/// Returns the first GPU with the CUDA C++ kernels of `{name}.ptx` loaded. The environment variable
/// `PANOWEAVE_REFERENCE_PTX` names the folder of the file. If the variable is not set or the file cannot be read,
/// prints a line and returns `None`.
///
/// # Panics
/// Panics if the kernels cannot be loaded.
#[must_use]
pub fn reference(name: &str) -> Option<Device> {
    let Some(folder) = std::env::var_os("PANOWEAVE_REFERENCE_PTX") else {
        println!("no CUDA C++ to compare with: PANOWEAVE_REFERENCE_PTX is not set");
        return None;
    };
    let file = Path::new(&folder).join(name).with_extension("ptx");
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => PtxText::Static(text.leak()),
        Err(e) => {
            println!("no CUDA C++ to compare with: {}: {e}", file.display());
            return None;
        }
    };
    let images = vec![PtxImage { arch: Arch { major: 8, minor: 0 }, text }].leak();
    Some(
        Device::cuda_with(0, &[KernelModule { package: "reference", images }])
            .expect("the reference's kernels"),
    )
}

/// Returns the bytes of a frame that contains noise on a gradient, without row padding. Such a frame resembles a
/// camera's frame more than a constant colour or white noise would.
#[must_use]
pub fn noise(format: FrameFormat, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 27) as u8
    };
    let row = format.planes().next().map_or(0, |plane| plane.row);
    let bytes = row / format.size.x as usize;
    (0..format.bytes())
        .map(|at| ((at % row / bytes) >> 4) as u8 ^ ((at / row) >> 3) as u8 ^ noise())
        .collect()
}

/// Creates a frame of [`noise`] on a device.
///
/// # Panics
/// Panics if the device fails.
#[must_use]
pub fn frame(stream: &Stream, format: FrameFormat, seed: u32) -> DeviceFrame {
    let tight = noise(format, seed);
    let mut frame = DeviceFrame::new(stream.device(), format).expect("a frame");
    let tight = Frame::tight(format, &tight).expect("bytes of a frame");
    frame.upload(stream, &tight).expect("an upload");
    frame
}

#[cfg(test)]
mod tests {
    use shared_types::warp::Camera;

    use super::*;

    #[test]
    fn the_home_rig_of_another_size_sees_the_same() {
        let home = home_geometry().expect("the home rig");
        assert_eq!((home.canvas.size, home.cameras[0].size), (PANORAMA, SOURCE));
        for (size, panorama) in
            SIZES.into_iter().zip([[1900, 633], [2850, 950], [3800, 1267], [11400, 3800]])
        {
            let geometry = home_geometry_for(size.y).expect("the home rig");
            let (canvas, by) = (geometry.canvas, f64::from(size.y) / f64::from(SOURCE.y));
            assert_eq!((canvas.size.to_array(), geometry.cameras[0].size), (panorama, size));
            // The scales differ by up to 10⁻³, because sizes are rounded to whole pixels.
            let scales = [canvas.scale / home.canvas.scale / by, canvas.scale / canvas.scale.x];
            let worst = scales.iter().map(|scale| (scale - 1.0).abs().max_element());
            assert!(worst.fold(0.0, f64::max) < 1e-3, "{size}: {scales:?}");
            // The principal point and the focal length must scale with the picture's size.
            for (found, home) in geometry.cameras.iter().zip(&home.cameras) {
                let shares = |camera: &Camera| {
                    let size = camera.size.as_dvec2();
                    ((camera.centre + 0.5) / size, camera.focal / size)
                };
                let ((centre, focal), expected) = (shares(found), shares(home));
                assert!(centre.abs_diff_eq(expected.0, 1e-12), "{size}: {centre}");
                assert!(focal.abs_diff_eq(expected.1, 1e-12), "{size}: {focal}");
                assert_eq!((found.distortion, found.from_ray), (home.distortion, home.from_ray));
            }
        }
    }
}
