//! Tests of cameras with unequal frame rates, of late and of absent cameras: which frames each panorama shows. Each
//! frame has one level, so that the level of a panorama's first and last pixel tells the frames of the two cameras.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use panoweave::live::{Clocks, ColourOptions, LiveError, LiveOptions, StitchedFrame, Stitcher};
use panoweave_tests::live::{FRAME, STILL, frame, stamp, stitcher, waiting};
use panoweave_tests::panoweave_devices;

use super::held::joined;

/// Returns the levels of the first and the last pixel.
fn levels(panorama: &StitchedFrame) -> [u8; 2] {
    let bytes = panorama.bytes();
    [bytes[0], bytes[bytes.len() - 4]]
}

/// The reference camera has 30 frames/s, the other camera 25, and its frames are 5 ms later. After the first second, in
/// which the stitcher measures the rates, there is one panorama for each reference frame, with the nearest frame of the
/// other camera.
#[test]
fn cameras_with_25_and_30_frames_per_second() {
    let left = |i: u64| Duration::from_micros(i * 1_000_000 / 30);
    let right = |i: u64| Duration::from_micros(i * 40_000 + 5000);
    for device in panoweave_devices() {
        let stitcher = stitcher(&device, waiting());
        let mut frames: Vec<_> = (0..150).map(|i| (left(i), 0, i)).collect();
        frames.extend((0..125).map(|i| (right(i), 1, i)));
        frames.sort_unstable();
        let panoramas: Vec<_> = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                stitcher.panoramas().map(|seen| (seen.timestamp(), levels(&seen))).collect()
            });
            for (time, camera, i) in frames {
                stitcher.push(camera, frame(&stamp(i as u8 + 1)), time).unwrap();
            }
            stitcher.close();
            reader.join().unwrap()
        });
        let settled: Vec<_> =
            panoramas.iter().filter(|(time, _)| *time >= Duration::from_millis(1500)).collect();
        assert!(settled.len() >= 104, "{device}: {}", settled.len());
        for ((time, found), i) in settled.into_iter().zip(45..) {
            let nearest = (0..125).min_by_key(|j| right(*j).abs_diff(left(i))).unwrap();
            assert_eq!((*time, *found), (left(i), [i as u8 + 1, nearest as u8 + 1]), "{device}");
        }
        let timing = stitcher.timing();
        let [frames, others] = [timing[0].frames, timing[1].frames];
        assert!(others.repeated >= 17 && others.surplus == 0, "{device}: {others:?}");
        assert_eq!((frames.used + frames.dropped(), others.used + others.dropped()), (150, 125));
        let counters = stitcher.counters();
        assert_eq!(counters.cameras[0].alone, frames.dropped());
        assert_eq!(counters.sets, panoramas.len() as u64);
    }
}

/// The running analysis holds the frames of an older set, and the last frame of the faster camera stays for later sets.
/// The cameras need one more buffer than these, and `slots - 1` frames that wait.
#[test]
fn an_analysis_does_not_stop_cameras_with_unequal_rates() {
    for device in panoweave_devices() {
        for (slots, rates) in [(2, [30, 60]), (4, [30, 120])] {
            let colour = ColourOptions { follow: true, delay: 3, ..STILL };
            let stitcher = Arc::new(stitcher(&device, LiveOptions { slots, colour, ..waiting() }));
            let panoramas = stitcher.panoramas();
            let reader = thread::spawn(move || panoramas.count());
            let cameras = [0, 1].map(|camera| {
                let stitcher = Arc::clone(&stitcher);
                let push = move |i| {
                    let time = Duration::from_secs(i) / rates[camera];
                    stitcher.push(camera, frame(&stamp(100)), time).map(drop)
                };
                thread::spawn(move || (0..3 * u64::from(rates[camera])).try_for_each(push))
            });
            let [slow, fast] = cameras;
            joined(slow).unwrap();
            stitcher.close();
            assert!(matches!(joined(fast), Ok(()) | Err(LiveError::Closed)), "{device}");
            let panoramas = joined(reader);
            assert!(panoramas > 60, "{device}: {panoramas}");
            assert!(stitcher.counters().analyses > 2, "{device}: {:?}", stitcher.counters());
        }
    }
}

/// Pushes a frame, whose level is `i`, and waits for the panoramas of all complete sets.
fn push(stitcher: &Stitcher, camera: usize, i: u8, seen: &mut Vec<[u8; 2]>) {
    stitcher.push(camera, frame(&stamp(i)), FRAME * u32::from(i)).unwrap();
    let missing = stitcher.counters().sets as usize - seen.len();
    seen.extend(stitcher.panoramas().take(missing).map(|panorama| levels(&panorama)));
}

/// A camera delivers no frames for a while, first without notice, then as an absent camera. The panorama goes on with
/// its last frame, at the rate of the other camera, whichever camera it is.
#[test]
fn the_panorama_goes_on_without_a_camera() {
    for device in panoweave_devices() {
        for missing in [0, 1] {
            let deadline = Some(FRAME * 2);
            let options = LiveOptions { colour: STILL, deadline, ..LiveOptions::default() };
            let stitcher = stitcher(&device, options);
            let other = 1 - missing;
            let mut seen = Vec::new();
            for i in 1..=60 {
                match i {
                    41 => stitcher.set_present(missing, false).unwrap(),
                    51 => stitcher.set_present(missing, true).unwrap(),
                    _ => {}
                }
                if !(21..=50).contains(&i) {
                    push(&stitcher, missing, i, &mut seen);
                }
                push(&stitcher, other, i, &mut seen);
            }
            let shown = |i| if (21..=50).contains(&i) { 20 } else { i };
            let expected: Vec<_> = (1..=60)
                .map(|i| if missing == 0 { [shown(i), i] } else { [i, shown(i)] })
                .collect();
            assert_eq!(seen, expected, "{device} without camera {missing}");
            assert_eq!(stitcher.counters().alone(), 0, "{device}");
        }
    }
}

#[test]
fn options_that_need_live_cameras_are_rejected_with_files() {
    for device in panoweave_devices() {
        for options in [
            LiveOptions { deadline: Some(FRAME), ..waiting() },
            LiveOptions { clocks: Clocks::Estimate, ..waiting() },
            LiveOptions { reference: 2, ..waiting() },
        ] {
            let warp = panoweave_tests::live::device_warp(&device, 0.0);
            let error = Stitcher::new(&device, warp, options).unwrap_err();
            assert!(matches!(error, LiveError::Options(_)), "{error}");
        }
        let error = stitcher(&device, waiting()).set_present(1, false).unwrap_err();
        assert!(matches!(error, LiveError::Options(_)), "{error}");
    }
}
