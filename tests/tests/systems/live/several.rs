//! Tests of several live sessions that run at the same time, on the CPU and on every GPU. Each session must make its
//! panoramas from its own frames, warp and options.

use std::thread;

use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, Frame, PixelFormat, YuvEncoding};
use panoweave::live::{ColourOptions, LiveOptions, Output, Pace, Session};
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave_tests::live::{FRAME, STILL, device_warp, session, waiting};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

/// The number of sessions per device.
const STITCHERS: usize = 6;

/// The number of pairs per session, enough to reuse each buffer several times.
const PAIRS: u32 = 40;

/// A session, with its options, warp and frames, which differ from those of the other sessions.
struct One {
    device: Device,
    session: Session,
    options: LiveOptions,
    shift: f32,
    /// Three pairs of frames, submitted repeatedly.
    frames: [[Vec<u8>; 2]; 3],
}

impl One {
    /// Creates the `i`-th session on a device, with its own format, warp, flip and frames.
    fn new(device: &Device, i: usize) -> Self {
        let nv12 = PixelFormat::Nv12(YuvEncoding::default());
        let pixels = [PixelFormat::Rgba8, nv12][i % 2];
        let stitch = StitchOptions { flip: i.is_multiple_of(3), ..StitchOptions::default() };
        let options = LiveOptions { input: pixels.into(), stitch, ..waiting() };
        let shift = i as f32 * 0.75;
        let session =
            Session::new(device, device_warp(device, shift), &[Output::panorama(pixels)], options)
                .unwrap();
        let format = session.input_formats()[0];
        let mut random = Random::new(1000 + i as u64);
        let mut noise = || (0..format.bytes()).map(|_| random.bits() as u8).collect::<Vec<_>>();
        let frames = [(); 3].map(|()| [noise(), noise()]);
        Self { device: device.clone(), session, options, shift, frames }
    }

    /// Returns the expected panoramas of the three pairs, computed by calls of `stitch` instead of the live session.
    fn expected(&self) -> [Vec<u8>; 3] {
        let (device, stream) = (&self.device, self.device.stream().unwrap());
        let format = self.session.input_formats()[0];
        let warp = device_warp(device, self.shift);
        self.frames.each_ref().map(|pair| {
            let [left, right] = pair.each_ref().map(|bytes| {
                let mut frame = DeviceFrame::new(device, format).unwrap();
                frame.upload(&stream, &Frame::tight(format, bytes).unwrap()).unwrap();
                frame
            });
            let mut out = DeviceFrame::new(device, self.session.output_format()).unwrap();
            stitch(
                &stream,
                &[(&left).into(), (&right).into()],
                &warp,
                &self.options.stitch,
                &mut out,
            )
            .unwrap();
            let mut bytes = vec![0; out.format().bytes()];
            out.download(&stream, &mut bytes).unwrap();
            bytes
        })
    }

    /// Submits [`PAIRS`] pairs of frames to the session, and closes it.
    fn film(&self) {
        let format = self.session.input_formats()[0];
        for i in 0..PAIRS {
            let frames = self.frames[i as usize % 3].each_ref();
            let frames = frames.map(|bytes| Frame::tight(format, bytes).unwrap());
            self.session.submit(frames, FRAME * i).unwrap();
        }
        self.session.close();
    }
}

/// Returns the CPU and every GPU.
fn devices() -> Vec<Device> {
    let others = Device::cuda_devices().map_or(1, |all| all.len() as u32);
    let others = (1..others).filter_map(|ordinal| Device::cuda(ordinal).ok());
    panoweave_devices().into_iter().chain(others).collect()
}

#[test]
fn stitchers_at_once_do_not_mix() {
    // Run the sessions of all devices at once.
    let all: Vec<_> = devices()
        .iter()
        .flat_map(|device| (0..STITCHERS).map(|i| One::new(device, i)).collect::<Vec<_>>())
        .collect();
    let expected: Vec<_> = all.iter().map(One::expected).collect();
    for (i, one) in expected.iter().enumerate() {
        // The panoramas of different sessions must differ. Otherwise, the test would not detect that a session used
        // the frames of another.
        let others = expected[..i].iter().flatten();
        let same = others.clone().any(|other| one.contains(other));
        assert!(!same || i >= STITCHERS, "session {i} shows what another does");
    }
    thread::scope(|scope| {
        for (one, expected) in all.iter().zip(&expected) {
            scope.spawn(move || one.film());
            scope.spawn(move || {
                let mut seen = 0;
                for panorama in one.session.panoramas() {
                    assert_eq!(panorama.timestamp(), FRAME * seen);
                    let right = &expected[seen as usize % 3];
                    let (device, shift) = (&one.device, one.shift);
                    assert!(panorama.bytes() == right, "{device}, shifted by {shift}: {seen}");
                    seen += 1;
                }
                assert_eq!(seen, PAIRS);
            });
        }
    });
    for one in &all {
        one.session.health().unwrap();
        let counters = one.session.counters();
        assert_eq!(counters.panoramas, u64::from(PAIRS));
        assert_eq!(counters.dropped, Default::default());
    }
}

/// Checks that each of two sessions corrects the colours of its own cameras. The left camera is darker in the first
/// session, and brighter in the second.
#[test]
fn colours_of_sessions_at_once_do_not_mix() {
    let levels = [[90, 120], [130, 95]];
    for device in panoweave_devices() {
        let colour = ColourOptions { follow: true, every: 1, ..STILL };
        let options = LiveOptions { pace: Pace::Wait, colour, ..LiveOptions::default() };
        let sessions = levels.map(|_| session(&device, options));
        let film = |which: usize| {
            let session = &sessions[which];
            let format = session.input_formats()[0];
            let frames = levels[which].map(|level| vec![level; format.bytes()]);
            let [left, right] = &frames;
            let mut panoramas = session.panoramas();
            for i in 0..60 {
                let frame = |bytes| Frame::tight(format, bytes).unwrap();
                session.submit([frame(left), frame(right)], FRAME * i).unwrap();
                drop(panoramas.next().unwrap());
                let Some(analysis) = session.colour().analysis else { continue };
                let sums = analysis.overlaps[0].sums;
                for (sum, level) in [sums.left, sums.right].into_iter().zip(levels[which]) {
                    for channel in sum {
                        let error = channel / (f32::from(level) * sums.weight) - 1.0;
                        assert!(error.abs() < 1e-5, "{device}, session {which}: {sums:?}");
                    }
                }
            }
            assert!(session.counters().analyses > 0);
        };
        thread::scope(|scope| {
            scope.spawn(|| film(0));
            film(1);
        });
        // Each session must brighten its darker camera: the first session the left camera, the second the right.
        let gains = sessions.each_ref().map(|session| {
            let colours = session.colour().colours;
            colours[0].gain.x / colours[1].gain.x
        });
        assert!(gains[0] > 1.02 && gains[1] < 0.98, "{device}: {gains:?}");
    }
}
