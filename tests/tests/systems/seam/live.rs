//! Checks that in live video, a new seam fades in without a visible jump, and then does not move.

use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat};
use panoweave::live::{LiveError, LiveOptions, Output, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{FADE, SeamOptions, seamed};
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave_tests::live::{FRAME, SOURCE, device_warp, frame, uploaded, waiting};
use panoweave_tests::panoweave_devices;

use super::{Scene, background};

/// Returns a frame of each camera, without padding. The frames show a bright line that is so near to the cameras that
/// each camera shows it at another position of the panorama.
fn frames() -> [Vec<u8>; 2] {
    let seen = |place: u32, shift: u32| {
        let pixel = move |at: u32| {
            let (x, y) = (at % SOURCE.x + shift, at / SOURCE.x);
            let line = (place..place + 6).contains(&x);
            let level = if line { 250 } else { (60 + x + y) as u8 };
            [level, level, level, 255]
        };
        (0..SOURCE.element_product()).flat_map(pixel).collect()
    };
    [seen(52, 0), seen(46, 36)]
}

/// Returns two expected panoramas of [`frames`]: with the warp's original weights, and with the weights of a seam.
fn expected(device: &Device, options: SeamOptions) -> [Vec<u8>; 2] {
    let stream = device.stream().unwrap();
    let frames = uploaded(device, &frames());
    let warp = device_warp(device, 0.0);
    let [l, r] = &frames;
    let with = seamed(&stream, &warp, &[l.into(), r.into()], Colours::IDENTITY, options).unwrap().0;
    [&warp, &with].map(|warp| {
        let format = FrameFormat::rgba8(warp.size().x, warp.size().y);
        let mut out = DeviceFrame::new(device, format).unwrap();
        stitch(&stream, &[l.into(), r.into()], warp, &StitchOptions::default(), &mut out).unwrap();
        let mut bytes = vec![0; format.bytes()];
        out.download(&stream, &mut bytes).unwrap();
        bytes
    })
}

/// Submits `count` pairs, all with the same frames, and returns their panoramas. The first pair has the number `first`.
fn panoramas(session: &Session, first: u32, count: u32) -> Vec<Vec<u8>> {
    let [left, right] = frames();
    let mut panoramas = session.panoramas();
    (first..first + count)
        .map(|i| {
            session.submit([frame(&left), frame(&right)], FRAME * i).unwrap();
            panoramas.next().unwrap().bytes().to_vec()
        })
        .collect()
}

/// A warp whose overlaps allow no seam is an error. Without an overlap, there is nothing to blend.
#[test]
fn a_warp_without_a_seam_is_refused() {
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let warp = |homography| Scene::new(&stream, homography, [&background; 2]).warp;
    let inside = || warp([0.5, 0.0, 40.0, 0.0, 0.5, 30.0, 0.0, 0.0, 1.0]);
    let apart = warp([1.0, 0.0, 200.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let options = LiveOptions { blend: Blend::Seam(SeamOptions::default()), ..waiting() };
    let is_refused = |found: Result<(), LiveError>| {
        let Err(LiveError::Blend(error)) = found else { panic!("{found:?}") };
        let error = error.to_string();
        assert!(
            error.contains("`seam` needs a seam") && error.contains("camera 1 covers"),
            "{error}"
        );
    };
    let new = |warp| Session::new(&device, warp, &[Output::default()], options);
    is_refused(new(inside()).map(drop));
    let session = new(apart).unwrap();
    is_refused(session.swap(inside()));
    session.health().unwrap();
}

/// A warp that replaces a similar one takes over the seam. Without a path, the weights would
/// be feathered until the next search.
#[test]
fn a_seam_comes_without_a_jump_and_stays() {
    for device in panoweave_devices() {
        let seam = SeamOptions { feather: 6.0 };
        let [feathered, seamed] = expected(&device, seam);
        assert!(feathered != seamed);
        let options = LiveOptions { blend: Blend::Seam(seam), ..waiting() };
        let session =
            Session::new(&device, device_warp(&device, 0.0), &[Output::default()], options)
                .unwrap();
        for swap in 0..3 {
            let shown = panoramas(&session, swap * 100, 3 * FADE + 20);
            let first = if swap == 0 { &feathered } else { &seamed };
            assert!(shown[0] == *first, "swap {swap} on {device}");
            assert!(*shown.last().unwrap() == seamed, "swap {swap} on {device}");
            let most = 255 / FADE as u8 + 2;
            for (i, pair) in shown.windows(2).enumerate() {
                let jump = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(jump.unwrap() <= most, "{jump:?} levels at once in frame {i} on {device}");
            }
            let counters = session.counters();
            assert_eq!(counters.seam_moves, 1, "{counters:?} on {device}");
            assert_eq!(counters.strikes, 0, "{counters:?} on {device}");
            session.swap(device_warp(&device, 0.0)).unwrap();
        }
    }
}

/// Checks that the session does not search for a seam and uses the warp's original weights if there is no overlap.
/// Also checks that it rejects an invalid feather width.
#[test]
fn without_an_overlap_there_is_no_seam() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut planes = panoweave_tests::live::warp(0.0).planes().to_vec();
        planes[5].fill(0.0);
        let (size, sources) = (panoweave_tests::live::CANVAS, [SOURCE; 2]);
        let warp = panoweave::warp::Warp::new(size, sources, planes).unwrap();
        let warp = panoweave::warp::DeviceWarp::upload(&stream, &warp).unwrap();
        let options = LiveOptions { blend: Blend::Seam(SeamOptions::default()), ..waiting() };
        let session = Session::new(&device, warp, &[Output::default()], options).unwrap();
        let shown = panoramas(&session, 0, 20);
        assert!(shown.iter().all(|panorama| *panorama == shown[0]), "on {device}");
        assert_eq!(session.counters().seam_moves, 0);

        let wrong = Blend::Seam(SeamOptions { feather: 0.0 });
        let refused = Session::new(
            &device,
            device_warp(&device, 0.0),
            &[Output::default()],
            LiveOptions { blend: wrong, ..waiting() },
        );
        assert!(refused.unwrap_err().to_string().contains("the feather is 0 pixels"));
    }
}
