//! A small warp and frames for tests of the live session. The two cameras are side by side. The sizes of frames and
//! panorama are not multiples of the kernels' block sizes, so the tests cover partial blocks.

use std::time::Duration;

use glam::UVec2;
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, Frame, FrameFormat};
use panoweave::live::{ColourOptions, LiveOptions, Output, Pace, Session};
use panoweave::warp::{DeviceWarp, Warp};

/// Size of both cameras' frames.
pub const SOURCE: UVec2 = UVec2::new(65, 47);
/// Size of the panorama.
pub const CANVAS: UVec2 = UVec2::new(101, 47);
/// Number of panorama columns that both cameras cover.
pub const OVERLAP: u32 = 29;
/// Time from one frame to the next.
pub const FRAME: Duration = Duration::from_millis(33);

/// Returns a warp of two cameras side by side, whose weights change linearly across the overlap. All x coordinates in
/// the right camera's picture are increased by `shift` pixels.
///
/// # Panics
/// Never panics, because the planes are valid.
#[must_use]
pub fn warp(shift: f32) -> Warp {
    let plane = |at: &dyn Fn(u32, u32) -> f32| -> Vec<f32> {
        (0..CANVAS.y)
            .flat_map(|y| (0..CANVAS.x).map(move |x| (x, y)))
            .map(|(x, y)| at(x, y))
            .collect()
    };
    let (first, last) = (CANVAS.x - SOURCE.x, SOURCE.x);
    let ramp = |x: u32| ((x as f32 - first as f32 + 0.5) / OVERLAP as f32).clamp(0.0, 1.0);
    let planes = [
        plane(&|x, _| if x < last { x as f32 } else { -1.0 }),
        plane(&|x, y| if x < last { y as f32 } else { -1.0 }),
        plane(&|x, _| x as f32 - first as f32 + shift),
        plane(&|_, y| y as f32),
        plane(&|x, _| 1.0 - ramp(x)),
        plane(&|x, _| ramp(x)),
    ];
    Warp::new(CANVAS, [SOURCE; 2], planes).unwrap()
}

/// Uploads [`warp`] to a device.
///
/// # Panics
/// Panics if the device fails.
#[must_use]
pub fn device_warp(device: &Device, shift: f32) -> DeviceWarp {
    DeviceWarp::upload(&device.stream().unwrap(), &warp(shift)).unwrap()
}

/// Returns the bytes of a frame in which all channels, alpha included, have the value `level`.
#[must_use]
pub fn stamp(level: u8) -> Vec<u8> {
    vec![level; FrameFormat::rgba8(SOURCE.x, SOURCE.y).bytes()]
}

/// Returns an RGBA frame of size [`SOURCE`] that borrows `bytes`.
///
/// # Panics
/// Panics if the number of bytes does not match the format.
#[must_use]
pub fn frame(bytes: &[u8]) -> Frame<'_> {
    Frame::tight(FrameFormat::rgba8(SOURCE.x, SOURCE.y), bytes).unwrap()
}

/// Copies the bytes of two RGBA frames of size [`SOURCE`] to a device.
///
/// # Panics
/// Panics if the device fails or the number of bytes does not match the format.
#[must_use]
pub fn uploaded(device: &Device, frames: &[Vec<u8>; 2]) -> [DeviceFrame; 2] {
    let stream = device.stream().unwrap();
    frames.each_ref().map(|bytes| {
        let frame = frame(bytes);
        let mut image = DeviceFrame::new(device, frame.format()).unwrap();
        image.upload(&stream, &frame).unwrap();
        image
    })
}

/// Options of the colour correction that switch it off, so that panoramas have the colours of the frames.
pub const STILL: ColourOptions = ColourOptions {
    follow: false,
    every: 6,
    frame_rate: 30.0,
    deadline: Duration::from_secs(20),
    anchor: None,
    keep_highlights: false,
    delay: 0,
};

/// Returns options with which `submit` waits instead of dropping frames and the colours stay constant.
#[must_use]
pub fn waiting() -> LiveOptions {
    LiveOptions { pace: Pace::Wait, colour: STILL, ..LiveOptions::default() }
}

/// Returns a session for [`warp`] without a shift, with panoramas in RGBA.
///
/// # Panics
/// Panics if the device fails.
#[must_use]
pub fn session(device: &Device, options: LiveOptions) -> Session {
    session_of(device, Output::default(), options)
}

/// Returns a session for [`warp`] without a shift, with one output.
///
/// # Panics
/// Panics if the device fails.
#[must_use]
pub fn session_of(device: &Device, output: Output, options: LiveOptions) -> Session {
    Session::new(device, device_warp(device, 0.0), &[output], options).unwrap()
}
