//! A blocking loop: three cameras push frames from their own threads, and a `for` loop takes the panoramas.
//!
//! `cargo run --release -p panoweave-examples --bin blocking_loop -- [PANORAMAS] [FILE] [DEVICE]` stops after
//! PANORAMAS panoramas and writes the last one to FILE.
//!
//! Use this interface in programs with threads instead of `async`. The session matches frames by timestamp. If it
//! cannot keep up, it drops and counts frames, so a push never blocks a camera.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use panoweave::frame::Frame;
use panoweave::live::{LiveOptions, Output, Session};
use panoweave::warp::DeviceWarp;
use panoweave_examples::{Arguments, CloseOnDrop, MadeUpCamera, row};

/// The number of cameras. A session takes 1 to 16.
const CAMERAS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { count, file, device } = Arguments::read()?;
    let stream = device.stream()?;
    let geometry = row(CAMERAS)?;
    let warp = DeviceWarp::render(&stream, &geometry)?;
    let session = Session::new(&device, warp, &[Output::default()], LiveOptions::default())?;
    println!("{} on {device}", session.output_format());

    let cameras = MadeUpCamera::all(&geometry);
    let mut panoramas = session.panoramas();
    let start = Instant::now();
    let last = thread::scope(|scope| {
        // The cameras film until the session is closed, and the scope waits for them, also after a panic.
        let _close = CloseOnDrop(&session);
        for (which, camera) in cameras.iter().enumerate() {
            let (session, format) = (&session, session.input_formats()[which]);
            scope.spawn(move || {
                camera.film(start, |time, picture| {
                    let bytes = bytemuck::cast_slice(picture.pixels());
                    let frame =
                        Frame::tight(format, bytes).expect("the picture has the rig's size");
                    // The push fails if the session was closed or has failed. `health` below reports a failure.
                    session.push(which, frame, time).is_ok()
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
            // Keep only the newest panorama, because each one occupies one of the session's buffers.
            last = Some(panorama);
        }
        last
    });
    // The closed session still finishes the sets in flight. Discard their panoramas. If the loop ended before `count`
    // panoramas, `health` returns the reason.
    panoramas.for_each(drop);
    session.health()?;

    let counters = session.counters();
    println!("{}", serde_json::to_string(&counters)?);
    let last = last
        .and_then(|panorama| panorama.to_picture())
        .ok_or("the session returned no panorama")?;
    last.save(&file)?;
    println!("wrote {file}");
    Ok(())
}
