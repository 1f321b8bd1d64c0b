//! Runs many pairs of live cameras at once on each GPU, and prints whether the GPUs keep pace: no pair of frames is
//! dropped, and the 99th percentile of the latency is at most two frame intervals. Each pair has its own session, with
//! NV12 input and output at 30 frames per second.
//!
//! `PANOWEAVE_PAIRS` sets the number of pairs per GPU (8 by default), `PANOWEAVE_ROWS` the rows of a frame (2160 by
//! default), and `CUDA_VISIBLE_DEVICES` selects the GPUs.
//!
//! The bench acts like a camera driver that has written frames to page-locked memory. The latency is the time from when
//! the frames are due until the panorama is in host memory. The cameras of a pair are synchronised, and the pairs are
//! spread over the frame interval.

use std::error::Error;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use panoweave::device::Device;
use panoweave::frame::PixelFormat;
use panoweave::geometry::Geometry;
use panoweave::io::video::HostPool;
use panoweave::live::{LiveOptions, Output, Session};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{NV12, gpu, home_geometry_for};

/// The time between frames, at 30 frames per second.
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// The number of frames before the measurement, in which the sessions reach a steady state.
const WARM_UP: u32 = 15;
/// The number of frames in the measurement.
const FRAMES: u32 = 75;

/// Runs a pair of cameras, whose frames are due at a phase of the frame interval. `all` waits for all pairs. Returns
/// the latencies of the panoramas that were read.
fn run(
    device: &Device,
    geometry: &Geometry,
    phase: f64,
    all: &Barrier,
) -> Result<Vec<Duration>, Box<dyn Error + Send + Sync>> {
    let pixels = PixelFormat::Nv12(NV12);
    let options = LiveOptions { input: pixels.into(), ..LiveOptions::default() };
    let create = || {
        let warp = DeviceWarp::render(&device.stream()?, geometry)?;
        Session::new(device, warp, &[Output::panorama(pixels)], options)
    };
    let created = create();
    // Even if this pair fails, the others must not wait for it.
    all.wait();
    let session = created?;
    let (panoramas, start) = (session.panoramas(), Instant::now());
    let pool = HostPool::new(session.input_formats()[0], Some(device.clone()));
    let first = PERIOD.mul_f64(f64::from(WARM_UP) + phase);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let measured = panoramas.filter(|panorama| panorama.timestamp() >= first);
            measured.map(|panorama| start.elapsed() - panorama.timestamp()).collect()
        });
        for frame in 0..WARM_UP + FRAMES {
            let due = PERIOD.mul_f64(f64::from(frame) + phase);
            thread::sleep(due.saturating_sub(start.elapsed()));
            for camera in 0..2 {
                session.push(camera, pool.filled(|_| ()), due)?;
            }
        }
        session.close();
        session.health()?;
        Ok(reader.join().expect("no panic"))
    })
}

fn variable(name: &str, default: u32) -> u32 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    if gpu("pairs").is_none() {
        return Ok(());
    }
    let gpus = 0..Device::cuda_devices()?.len() as u32;
    let gpus = gpus.map(Device::cuda).collect::<Result<Vec<_>, _>>()?;
    let (pairs, rows) = (variable("PANOWEAVE_PAIRS", 8), variable("PANOWEAVE_ROWS", 2160));
    let geometry = home_geometry_for(rows)?;
    let all = Barrier::new(pairs as usize * gpus.len());
    let mut latencies = thread::scope(|scope| {
        let phases = (0..pairs).map(|pair| f64::from(pair) / f64::from(pairs));
        let each = phases.flat_map(|phase| gpus.iter().map(move |gpu| (gpu, phase)));
        let spawn = |(gpu, phase)| {
            let (geometry, all) = (&geometry, &all);
            scope.spawn(move || run(gpu, geometry, phase, all))
        };
        let running: Vec<_> = each.map(spawn).collect();
        let ended = running.into_iter().map(|pair| pair.join().expect("no panic"));
        ended.collect::<Result<Vec<_>, _>>()
    })?
    .concat();
    latencies.sort_unstable();
    let due = pairs as usize * gpus.len() * FRAMES as usize;
    let dropped = due - latencies.len();
    let at = |part: f64| {
        let last = latencies.len().saturating_sub(1) as f64;
        latencies.get((part * last).round() as usize).copied().unwrap_or_default()
    };
    let [p50, p99] = [at(0.5), at(0.99)];
    let held = dropped == 0 && p99 <= 2 * PERIOD;
    println!(
        "{pairs} pairs of {rows} rows on each of {} GPUs: {dropped} of {due} pairs dropped, p50 {p50:.2?}, p99 {p99:.2?}: \
         {}",
        gpus.len(),
        if held { "held" } else { "not held" }
    );
    Ok(())
}
