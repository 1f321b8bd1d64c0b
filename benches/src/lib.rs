//! What the benches share: the home rig, a warp with a straight overlap, frames to rotate over, timing by device
//! events ([`Group`]), and the record of what was measured, which `panoweave-bench-report` makes a page of.
//!
//! For live stitching also: the bus alone ([`copies`]), many stitchers at once ([`crowd`]), what the host has left
//! ([`host`]), and how the largest number of something is found ([`search`]).

pub mod copies;
pub mod crowd;
mod group;
pub mod host;
mod machine;
pub mod record;
pub mod search;

use std::path::Path;

use glam::{UVec2, uvec2};
use panoweave::device::{Arch, Device, KernelModule, PtxImage, PtxText, Stream};
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::geometry::Geometry;
use panoweave::geometry::rig::{CameraMatrix, Rig, RigError};
use panoweave::warp::Warp;

pub use group::{
    Group, bench, bench_by_clock, bench_copies_by_clock, bench_copy, bench_original,
    bench_peer_by_clock, time,
};

/// Two 4K cameras, 5700×1900 cylindrical, about 700 columns of overlap.
pub const HOME_RIG: &str = include_str!("../../rigs/home.toml");

/// The geometry of [`HOME_RIG`].
///
/// # Errors
/// None, as long as the text above is a rig.
pub fn home_geometry() -> Result<Geometry, RigError> {
    home_geometry_for(SOURCE.y)
}

/// The same rig with cameras of so many rows, and a panorama that is smaller or larger by as much.
///
/// # Errors
/// None, as long as the text above is a rig.
pub fn home_geometry_for(rows: u32) -> Result<Geometry, RigError> {
    let mut rig = Rig::parse(HOME_RIG, "rigs/home.toml")?;
    let scaled = |length: u32| scaled(length, rows);
    rig.panorama = rig.panorama.resized(PANORAMA.map(scaled));
    let by = f64::from(rows) / f64::from(SOURCE.y);
    for camera in &mut rig.cameras {
        camera.size = camera.size.map(scaled);
        if let Some(mount) = camera.mount_mut() {
            let CameraMatrix { fx, fy, cx, cy } = &mut mount.matrix;
            // Pixel centres are at integers.
            (*cx, *cy) = ((*cx + 0.5) * by - 0.5, (*cy + 0.5) * by - 0.5);
            (*fx, *fy) = (*fx * by, *fy * by);
        }
    }
    rig.geometry()
}

/// How live cameras' NV12 stands for colour.
pub const NV12: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };

/// Sizes besides 3840×2160 that a picture is benched at: 720p, 1080p, 1440p, 8K.
pub const SIZES: [UVec2; 4] =
    [uvec2(1280, 720), uvec2(1920, 1080), uvec2(2560, 1440), uvec2(7680, 4320)];

/// A length at home, where pictures have the rows of [`SOURCE`], in pictures of so many.
#[must_use]
pub fn scaled(length: u32, rows: u32) -> u32 {
    (f64::from(length) * f64::from(rows) / f64::from(SOURCE.y)).round() as u32
}

/// Size of [`overlapping_warp`]'s panorama.
pub const PANORAMA: UVec2 = uvec2(5700, 1900);
/// Size of its pictures.
pub const SOURCE: UVec2 = uvec2(3840, 2160);
/// First column of its overlap, and the one after its last.
pub const OVERLAP: [f32; 2] = [2500.0, 3200.0];

/// A warp whose cameras see the panorama pixel for pixel, look between pixels, and meet in [`OVERLAP`]. There
/// `weights` gives what the left and the right one count in a column; beside it one camera sees nothing and
/// counts 0, and the other 1.
///
/// # Panics
/// If a weight is not from 0 to 1.
#[must_use]
pub fn overlapping_warp(weights: impl Fn(f32) -> [f32; 2]) -> Warp {
    overlapping_warp_for(SOURCE.y, weights)
}

/// The same with pictures of so many rows, and all lengths smaller or larger by as much.
///
/// # Panics
/// If a weight is not from 0 to 1.
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
    // The left camera's last column of pixels shows the overlap's, the right camera's first one its first.
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

/// Frame sets to rotate over at home size, so that nothing stays in a cache from one launch to the next.
pub const SETS: usize = 5;

/// The first GPU, or `None` with a line that the bench is skipped: the CPU's time is no measure of one.
///
/// # Panics
/// If there is a GPU that does not work.
#[must_use]
pub fn gpu(bench: &str) -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(e) if e.is_no_device() => {
            println!("{bench} is skipped: no GPU: {}", e.kind);
            None
        }
        Err(e) => panic!("the GPU cannot be used: {e}"),
    }
}

/// Every GPU; none, with a line, where [`gpu`] finds none. Another one that cannot be used is left out, with a line.
///
/// # Panics
/// If the first GPU does not work.
#[must_use]
pub fn gpus(bench: &str) -> Vec<Device> {
    let Some(first) = gpu(bench) else { return Vec::new() };
    let count = Device::cuda_devices().map_or(1, |all| all.len() as u32);
    // The driver takes seconds to compile the kernels for each.
    let others: Vec<_> = std::thread::scope(|scope| {
        let open = |ordinal| scope.spawn(move || Device::cuda(ordinal));
        let opening: Vec<_> = (1..count).map(open).collect();
        opening.into_iter().map(|device| device.join().expect("opening a GPU")).collect()
    });
    let usable = others.into_iter().filter_map(|device| {
        device.inspect_err(|e| println!("{bench}: a GPU is left out: {e}")).ok()
    });
    std::iter::once(first).chain(usable).collect()
}

/// The first GPU with kernels that were compiled from CUDA C++: those of `{name}.ptx` in the folder
/// that the environment variable `PANOWEAVE_REFERENCE_PTX` names. `None`, with a line, where there
/// is none.
///
/// # Panics
/// If the kernels cannot be loaded.
#[must_use]
pub fn reference(name: &str) -> Option<Device> {
    let Some(folder) = std::env::var_os("PANOWEAVE_REFERENCE_PTX") else {
        println!("no CUDA C++ to compare with: PANOWEAVE_REFERENCE_PTX names no folder of PTX");
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

/// Bytes of a tight frame of noise on a gradient: neither constant, which caches, nor white, which no lens makes.
#[must_use]
pub fn noise(format: FrameFormat, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 27) as u8
    };
    let bytes = match format.pixels {
        PixelFormat::Rgba8 => 4,
        PixelFormat::Nv12(_) => 1,
    };
    let row = format.size.x as usize * bytes;
    (0..format.bytes())
        .map(|at| ((at % row / bytes) >> 4) as u8 ^ ((at / row) >> 3) as u8 ^ noise())
        .collect()
}

/// A frame of [`noise`] on a device.
///
/// # Panics
/// If the device fails.
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
            // Rows are rounded to whole ones.
            let scales = [canvas.scale / home.canvas.scale / by, canvas.scale / canvas.scale.x];
            let worst = scales.iter().map(|scale| (scale - 1.0).abs().max_element());
            assert!(worst.fold(0.0, f64::max) < 1e-3, "{size}: {scales:?}");
            // Places in a picture are the same shares of it.
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
