//! What the benches share: the home rig, frames to rotate over, and timing by device events.

use std::time::Duration;

use panoweave::device::{Device, Event, Image, Stream};
use panoweave::geometry::Geometry;
use panoweave::rig::{Rig, RigError};
use shared_types::Rgba8;

/// Two 4K cameras, 5700×1900 cylindrical, about 700 columns of overlap.
pub const HOME_RIG: &str = include_str!("../../rigs/home.toml");

/// The geometry of [`HOME_RIG`].
///
/// # Errors
/// None, as long as the text above is a rig.
pub fn home_geometry() -> Result<Geometry, RigError> {
    Rig::parse(HOME_RIG, "rigs/home.toml")?.geometry()
}

/// Frame sets to rotate over, so that nothing stays in a cache from one launch to the next.
pub const SETS: usize = 5;

/// A picture of noise on a gradient: neither constant, which caches, nor white, which no lens makes.
///
/// # Panics
/// If the device fails.
#[must_use]
pub fn picture(stream: &Stream, width: u32, height: u32, seed: u32) -> Image<Rgba8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let pixels: Vec<_> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let noise = (state >> 27) as u8;
            Rgba8::opaque((x >> 4) as u8 ^ noise, (y >> 3) as u8 ^ noise, ((x + y) >> 5) as u8)
        })
        .collect();
    Image::from_slice(stream, width, height, &pixels).expect("a picture on the device")
}

/// Time of `launches` calls of `launch`, which gets the number of the frame set to use, between two
/// events on the stream.
///
/// # Panics
/// If the device fails.
pub fn time(
    device: &Device,
    stream: &Stream,
    launches: u64,
    mut launch: impl FnMut(usize),
) -> Duration {
    let event = || Event::new(device).expect("an event");
    let (start, end) = (event(), event());
    start.record(stream).expect("recording the start");
    for i in 0..launches {
        launch(i as usize % SETS);
    }
    end.record(stream).expect("recording the end");
    end.synchronize().expect("the launches");
    end.since(&start).expect("the time between the events")
}
