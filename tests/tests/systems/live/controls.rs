//! Controls of a running session: each one applies from the next set on, from any thread, and the result is that of a
//! session that started with the setting.

use std::thread;

use panoweave::device::Device;
use panoweave::io::picture::Picture;
use panoweave::live::{ColourOptions, LiveError, LiveOptions, Output, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::{Colour, Colours};
use panoweave::ops::multiband::MultibandOptions;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::StitchOptions;
use panoweave_tests::live::{FRAME, SOURCE, STILL, device_warp, frame, stamp, waiting};
use panoweave_tests::panoweave_devices;
use shared_types::Rgba8;

fn session(device: &Device, blend: Blend, stitch: StitchOptions) -> Session {
    let colour = ColourOptions { every: 1, ..STILL };
    let options = LiveOptions { blend, stitch, colour, ..waiting() };
    Session::new(device, device_warp(device, 0.0), &[Output::default()], options).unwrap()
}

/// Returns the last of `count` panoramas of two gradients of different brightness.
fn shown(session: &Session, count: u32) -> Vec<u8> {
    let bytes = [50_u32, 90].map(|level| {
        let pixel = move |at: u32| [(level + at % SOURCE.x + at / SOURCE.x % 7) as u8; 4];
        (0..SOURCE.element_product()).flat_map(pixel).collect::<Vec<u8>>()
    });
    let mut panoramas = session.panoramas();
    let last = (0..count).map(|i| {
        session.submit(bytes.each_ref().map(|bytes| frame(bytes)), FRAME * i).unwrap();
        panoramas.next().unwrap().bytes().to_vec()
    });
    last.last().unwrap()
}

/// Calls a control from another thread.
fn control(session: &Session, call: impl FnOnce(&Session) -> Result<(), LiveError> + Send) {
    thread::scope(|scope| scope.spawn(|| call(session)).join().unwrap()).unwrap();
}

#[test]
fn options_and_warps_apply_from_the_next_set_on() {
    let stitch = StitchOptions {
        flip: true,
        colours: Colours::of([Colour { gamma: 0.8, ..Colour::IDENTITY }, Colour::IDENTITY]),
        ..StitchOptions::default()
    };
    for device in panoweave_devices() {
        let running = session(&device, Blend::Feather, StitchOptions::default());
        let before = shown(&running, 1);
        control(&running, |session| session.set_options(stitch));
        let after = shown(&running, 1);
        assert!(after != before);
        assert!(after == shown(&session(&device, Blend::Feather, stitch), 1), "{device}");
        control(&running, |session| session.swap(device_warp(session.device(), 2.25)));
        let swapped = shown(&running, 1);
        assert!(swapped != after, "{device}");
        control(&running, |session| session.swap(device_warp(session.device(), 0.0)));
        assert!(shown(&running, 1) == after, "{device}");
    }
}

/// Blends with a seam move to it within some frames, so compare their last panoramas.
#[test]
fn blends_are_those_of_sessions_that_started_with_them() {
    const STEADY: u32 = 60;
    let multiband = MultibandOptions { levels: 2, ..MultibandOptions::default() };
    for device in panoweave_devices() {
        let running = session(&device, Blend::Feather, StitchOptions::default());
        let feathered = shown(&running, 2);
        for blend in [
            Blend::Seam(SeamOptions { feather: 4.0 }),
            Blend::Multiband(multiband),
            Blend::Seam(SeamOptions::default()),
        ] {
            control(&running, |session| session.set_blend(blend));
            let found = shown(&running, STEADY);
            let started = session(&device, blend, StitchOptions::default());
            assert!(found == shown(&started, STEADY), "{device}, {blend:?}");
            assert!(found != feathered, "{device}, {blend:?}");
        }
        control(&running, |session| session.set_blend(Blend::Feather));
        assert!(shown(&running, 1) == feathered, "{device}");
    }
}

/// A mask removes its camera: its neighbour fills the overlap, and the rest is black.
#[test]
fn masked_pixels_are_those_of_the_other_camera() {
    for device in panoweave_devices() {
        let session = session(&device, Blend::Feather, StitchOptions::default());
        let levels = |masks: Option<[Option<&Picture>; 2]>| {
            if let Some(masks) = masks {
                control(&session, |session| session.set_masks(&masks));
            }
            let (left, right) = (stamp(50), stamp(200));
            session.submit([frame(&left), frame(&right)], FRAME).unwrap();
            let bytes = session.panoramas().next().unwrap().bytes().to_vec();
            bytes.chunks(4).map(|pixel| pixel[0]).collect::<Vec<_>>()
        };
        let before = levels(None);
        let black = Picture::filled(SOURCE.x, SOURCE.y, Rgba8::opaque(0, 0, 0));
        let after = levels(Some([Some(&black), None]));
        for (before, after) in before.iter().zip(&after) {
            // Where only the left camera was seen, nothing is.
            let expected = if *before > 50 { 200 } else { 0 };
            assert_eq!(*after, expected, "{device}, {before}");
        }
        assert!(levels(Some([None, None])) == before, "{device}");
        let wrong = Picture::filled(SOURCE.x, SOURCE.y + 1, Rgba8::opaque(0, 0, 0));
        let refused = |masks: &[Option<&Picture>]| session.set_masks(masks).unwrap_err();
        for error in [refused(&[None]), refused(&[Some(&wrong), None])] {
            assert!(error.to_string().contains("one mask per camera"), "{error}");
        }
    }
}
