//! Tests that cameras which are not in the panorama, or deliver no frames, do not change the colours of the others.

use panoweave::device::Device;
use panoweave::live::{ColourOptions, FailureOptions, LiveOptions, Session};
use panoweave_tests::live::{FRAME, STILL, frame, session, stamp};
use panoweave_tests::panoweave_devices;

fn failure() -> Option<FailureOptions> {
    Some(FailureOptions { frozen: 10_000, black: 10_000, every: 2, fade: 4, ..Default::default() })
}

const COLOUR: ColourOptions = ColourOptions { follow: true, every: 1, ..STILL };

/// Calls `push` for each of `count` sets, with its number from 1, to push the frames of the set. Returns the gain of
/// the first camera in each panorama.
fn gains(
    device: &Device,
    options: LiveOptions,
    count: u32,
    mut push: impl FnMut(&Session, u32),
) -> Vec<f32> {
    let session = session(device, options);
    let mut panoramas = session.panoramas();
    let mut gains = Vec::new();
    for i in 1..=count {
        push(&session, i);
        while (gains.len() as u64) < session.counters().sets {
            gains.push(panoramas.next().unwrap().colours()[0].gain.x);
        }
    }
    gains
}

/// Returns the gain of the first camera after its frames have become brighter. The second camera's frames stay as they
/// are. Calls `stop` before the change; if it returns `true`, the second camera delivers no more frames.
fn gain(device: &Device, options: LiveOptions, stop: impl Fn(&Session) -> bool) -> f32 {
    let mut cameras = 2;
    let gains = gains(device, options, 160, |session, i| {
        if i == 20 && stop(session) {
            cameras = 1;
        }
        // Without frames, the last one is compared until the camera is gone.
        let levels = if i < 80 { [100, 100] } else { [150, 100] };
        for (camera, level) in levels.into_iter().enumerate().take(cameras) {
            session.push(camera, frame(&stamp(level)), FRAME * i).unwrap();
        }
    });
    assert!(gains.len() > 120, "{device}: {} panoramas", gains.len());
    gains[gains.len() - 1]
}

/// A camera that shows one colour, such as that of a missing signal, leaves the panorama only after a while. Its
/// colours must not stay in the corrections of the other camera.
#[test]
fn a_picture_without_content_is_not_matched() {
    let content: Vec<u8> =
        stamp(0).iter().enumerate().map(|(i, _)| 80 + (i / 4 % 40) as u8).collect();
    let signal = stamp(200);
    for device in panoweave_devices() {
        let options = LiveOptions { colour: COLOUR, failure: failure(), ..LiveOptions::default() };
        let gains = gains(&device, options, 200, |session, i| {
            let other = if i < 80 { &content } else { &signal };
            for (camera, bytes) in [&content, other].into_iter().enumerate() {
                session.push(camera, frame(bytes), FRAME * i).unwrap();
            }
        });
        let (before, most) = (gains[70], gains.iter().copied().fold(0.0, f32::max));
        let last = *gains.last().unwrap();
        assert!((before - 1.0).abs() < 0.05 && most < 1.2, "{device}: {before} {most}");
        assert!((last - before).abs() < 0.05, "{device}: {before} {last}");
    }
}

#[test]
fn cameras_outside_the_panorama_do_not_change_colours() {
    for device in panoweave_devices() {
        let options = LiveOptions { colour: COLOUR, failure: failure(), ..LiveOptions::default() };
        let without = gain(&device, options, |session| {
            session.set_present(1, false).unwrap();
            true
        });
        assert_eq!(without, 1.0, "{device}: the second camera is absent");
        assert_eq!(gain(&device, options, |_| true), 1.0, "{device}: the second camera is silent");
        let both = gain(&device, options, |_| false);
        assert!(both < 0.9, "{device}: {both}");
    }
}
