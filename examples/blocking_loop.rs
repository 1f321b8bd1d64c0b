//! A blocking loop: three cameras push frames from their own threads, and a `for` loop takes the panoramas.
//!
//! `cargo run --release -p panoweave-examples --bin blocking_loop -- [PANORAMAS] [FILE] [DEVICE]` stops after
//! PANORAMAS panoramas and writes the last one to FILE.
//!
//! Use this interface in programs with threads instead of `async`. The stitcher matches frames by timestamp. If it
//! cannot keep up, it drops and counts frames, so a push never blocks a camera.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use panoweave::frame::Frame;
use panoweave::live::{LiveOptions, Stitcher};
use panoweave::warp::DeviceWarp;
use panoweave_examples::{Arguments, CloseOnDrop, MadeUpCamera, row};

/// The number of cameras. A stitcher takes 1 to 16.
const CAMERAS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { count, file, device } = Arguments::read()?;
    let stream = device.stream()?;
    let geometry = row(CAMERAS)?;
    let warp = DeviceWarp::render(&stream, &geometry)?;
    let stitcher = Stitcher::new(&device, warp, LiveOptions::default())?;
    println!("{} on {device}", stitcher.output_format());

    let cameras = MadeUpCamera::all(&geometry);
    let mut panoramas = stitcher.panoramas();
    let start = Instant::now();
    let last = thread::scope(|scope| {
        // The cameras film until the stitcher is closed, and the scope waits for them, also after a panic.
        let _close = CloseOnDrop(&stitcher);
        for (which, camera) in cameras.iter().enumerate() {
            let (stitcher, format) = (&stitcher, stitcher.input_formats()[which]);
            scope.spawn(move || {
                camera.film(start, |time, picture| {
                    let bytes = bytemuck::cast_slice(picture.pixels());
                    let frame =
                        Frame::tight(format, bytes).expect("the picture has the rig's size");
                    // The push fails if the stitcher was closed or has failed. `health` below reports a failure.
                    stitcher.push(which, frame, time).is_ok()
                });
            });
        }
        let mut last = None;
        let mut report = start + Duration::from_secs(1);
        for (i, panorama) in (1..).zip(panoramas.by_ref().take(count)) {
            if Instant::now() >= report {
                report += Duration::from_secs(1);
                let fps = f64::from(i) / start.elapsed().as_secs_f64();
                let latency = panorama.latency().as_secs_f64() * 1e3;
                let gain = panorama.colours()[1].gain;
                println!("{fps:.1} fps, {latency:.1} ms, second camera × {gain:.3}");
            }
            // Keep only the newest panorama, because each one occupies one of the stitcher's buffers.
            last = Some(panorama);
        }
        last
    });
    // The closed stitcher still finishes the sets in flight. Discard their panoramas. If the loop ended before `count`
    // panoramas, `health` returns the reason.
    panoramas.for_each(drop);
    stitcher.health()?;

    let counters = stitcher.counters();
    println!("{}", serde_json::to_string(&counters)?);
    let last = last
        .and_then(|panorama| panorama.to_picture())
        .ok_or("the stitcher returned no panorama")?;
    last.save(&file)?;
    println!("wrote {file}");
    Ok(())
}
