//! What the benches share: the home rig, a warp with a straight overlap, frames to rotate over, and timing by device events.

use std::path::Path;
use std::time::Duration;

use criterion::BenchmarkGroup;
use criterion::measurement::WallTime;
use glam::{UVec2, uvec2};
use panoweave::device::{Arch, Device, Event, Image, PtxImage, Stream};
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, PixelFormat};
use panoweave::geometry::Geometry;
use panoweave::rig::{Rig, RigError};
use panoweave::warp::Warp;

/// Two 4K cameras, 5700×1900 cylindrical, about 700 columns of overlap.
pub const HOME_RIG: &str = include_str!("../../rigs/home.toml");

/// The geometry of [`HOME_RIG`].
///
/// # Errors
/// None, as long as the text above is a rig.
pub fn home_geometry() -> Result<Geometry, RigError> {
    Rig::parse(HOME_RIG, "rigs/home.toml")?.geometry()
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
    let [first, end] = OVERLAP;
    let plane = |at: &dyn Fn(f32, f32) -> f32| {
        let row = |y| (0..PANORAMA.x).map(move |x| at(x as f32, y as f32));
        (0..PANORAMA.y).flat_map(row).collect::<Vec<_>>()
    };
    let weights = |x: f32| match x {
        _ if x < first => [1.0, 0.0],
        _ if x < end => weights(x),
        _ => [0.0, 1.0],
    };
    // The left camera's last column of pixels shows the overlap's, the right camera's first one its first.
    let planes = [
        plane(&|x, _| x - end + SOURCE.x as f32 - 0.75),
        plane(&|_, y| y + 130.25),
        plane(&|x, _| x - first + 0.25),
        plane(&|_, y| y + 130.25),
        plane(&|x, _| weights(x)[0]),
        plane(&|x, _| weights(x)[1]),
    ];
    Warp::new(PANORAMA, [SOURCE; 2], planes).expect("a warp")
}

/// Frame sets to rotate over, so that nothing stays in a cache from one launch to the next.
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
        Ok(text) => text.leak(),
        Err(e) => {
            println!("no CUDA C++ to compare with: {}: {e}", file.display());
            return None;
        }
    };
    let image = PtxImage { arch: Arch { major: 8, minor: 0 }, text };
    Some(Device::cuda_with(0, &[image]).expect("the reference's kernels"))
}

/// A frame of noise on a gradient: neither constant, which caches, nor white, which no lens makes.
///
/// # Panics
/// If the device fails.
#[must_use]
pub fn frame(stream: &Stream, format: FrameFormat, seed: u32) -> DeviceFrame {
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
    let tight: Vec<u8> = (0..format.bytes())
        .map(|at| ((at % row / bytes) >> 4) as u8 ^ ((at / row) >> 3) as u8 ^ noise())
        .collect();
    let mut frame = DeviceFrame::new(stream.device(), format).expect("a frame");
    let tight = Frame::tight(format, &tight).expect("bytes of a frame");
    frame.upload(stream, &tight).expect("an upload");
    frame
}

/// Time of `launches` calls of `launch`, which gets the number of the frame set to use, between two
/// events on the stream.
///
/// # Panics
/// If the device fails.
pub fn time(stream: &Stream, launches: u64, mut launch: impl FnMut(usize)) -> Duration {
    let event = || Event::new(stream.device()).expect("an event");
    let (start, end) = (event(), event());
    start.record(stream).expect("recording the start");
    for i in 0..launches {
        launch(i as usize % SETS);
    }
    end.record(stream).expect("recording the end");
    end.synchronize().expect("the launches");
    end.since(&start).expect("the time between the events")
}

/// Benches `launch` under a name, and returns the median time of a launch in µs, or `None` where the
/// command line left it out.
///
/// # Panics
/// If the device fails.
pub fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    stream: &Stream,
    mut launch: impl FnMut(usize),
) -> Option<f64> {
    let mut times = Vec::new();
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|launches| {
            let whole = time(stream, launches, &mut launch);
            // Criterion warms up by a few launches at a time, which says little.
            if launches >= 16 {
                times.push(1e6 * whole.as_secs_f64() / launches as f64);
            }
            whole
        });
    });
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// The floor under what moves so many bytes, read and written together: a copy of half of them.
///
/// # Panics
/// If the device fails.
pub fn bench_copy(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    stream: &Stream,
    bytes: u64,
) -> Option<f64> {
    const ROW: u32 = 16 << 10;
    let rows = bytes.div_ceil(2 * u64::from(ROW)) as u32;
    let image = || Image::<u8>::new(stream.device(), ROW, rows).expect("memory to copy");
    let mut sets: Vec<_> = (0..SETS).map(|_| (image(), image())).collect();
    bench(group, name, stream, |set| {
        let (from, to) = &mut sets[set];
        to.copy_from(stream, from).expect("a copy");
    })
}
