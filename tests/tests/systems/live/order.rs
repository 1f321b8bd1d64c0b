//! Tests of the live session's output on the CPU, and on a GPU if there is one. They check the content and the order
//! of the panoramas, the counts of dropped frames, and that a late colour analysis reads the right frames.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use cuda_std::DeviceView;
use futures_core::Stream as _;
use glam::{UVec2, Vec3};
use panoweave::device::{Device, Image};
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, FrameView, PixelFormat, PlaneBytes, YuvEncoding,
};
use panoweave::live::{
    ColourOptions, ExternalFrame, FailureOptions, LiveError, LiveOptions, Output, Session,
    Submitted,
};
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::live::{
    CANVAS, FRAME, SOURCE, STILL, device_warp, frame, session, session_of, stamp, waiting,
};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;
use shared_types::stitch::Colour;

fn noise(format: FrameFormat, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..format.bytes()).map(|_| random.bits() as u8).collect()
}

/// Returns the expected panorama of two frames, computed by a single call of `stitch` instead of the session.
fn expected(
    session: &Session,
    bytes: [&[u8]; 2],
    options: &StitchOptions,
    warp: &DeviceWarp,
) -> Vec<u8> {
    let (device, format) = (session.device(), session.input_formats()[0]);
    let stream = device.stream().unwrap();
    let frames = bytes.map(|bytes| {
        let mut on_device = DeviceFrame::new(device, format).unwrap();
        on_device.upload(&stream, &Frame::tight(format, bytes).unwrap()).unwrap();
        on_device
    });
    let mut out = DeviceFrame::new(device, session.output_format()).unwrap();
    stitch(&stream, &[(&frames[0]).into(), (&frames[1]).into()], warp, options, &mut out).unwrap();
    let mut bytes = vec![0; out.format().bytes()];
    out.download(&stream, &mut bytes).unwrap();
    bytes
}

#[test]
fn panoramas_are_those_of_a_single_stitch_in_order_and_none_is_missing() {
    let nv12 = PixelFormat::Nv12(YuvEncoding::default());
    for device in panoweave_devices() {
        for (input, output, lookup) in [
            (PixelFormat::Rgba8, PixelFormat::Rgba8, Lookup::GammaTable),
            (nv12, nv12, Lookup::Mesh),
            (nv12, PixelFormat::Rgba8, Lookup::Planes),
            (PixelFormat::Rgba8, nv12, Lookup::Mesh),
        ] {
            let colour = |gain| Colour { gain: Vec3::splat(gain), gamma: 0.9, ..Colour::IDENTITY };
            let (left, right) = (colour(1.2), colour(0.8));
            let stitch = StitchOptions {
                colours: Colours::of([left, right]),
                lookup,
                // The panorama has an odd side.
                flip: lookup != Lookup::Mesh,
                edge_boost: true,
                ..StitchOptions::default()
            };
            let options = LiveOptions { input: input.into(), stitch, ..waiting() };
            let session = session_of(&device, Output::panorama(output), options);
            let mut panoramas = session.panoramas();
            let format = session.input_formats()[0];
            let bytes: Vec<_> =
                (0..12).map(|i| [noise(format, i), noise(format, 100 + i)]).collect();
            thread::scope(|scope| {
                scope.spawn(|| {
                    for (i, [left, right]) in (0..).zip(&bytes) {
                        let [left, right] =
                            [left, right].map(|bytes| Frame::tight(format, bytes).unwrap());
                        let submitted = session.submit([left, right], FRAME * i).unwrap();
                        assert_eq!(submitted, Submitted::Set);
                    }
                    session.close();
                });
                let warp = device_warp(&device, 0.0);
                for (i, [left, right]) in (0..).zip(&bytes) {
                    let panorama = panoramas.next().unwrap();
                    assert_eq!(panorama.timestamp(), FRAME * i);
                    let expected = expected(&session, [left, right], &stitch, &warp);
                    assert!(panorama.bytes() == expected, "{device}, {input:?} to {output:?}, {i}");
                    assert_eq!(panorama.frame().unwrap().format(), session.output_format());
                }
                assert!(panoramas.next().is_none());
            });
            let counters = session.counters();
            assert_eq!((counters.frames_in(), counters.sets, counters.panoramas), (24, 12, 12));
            assert_eq!(counters.dropped, Default::default());
            assert!(counters.latency_p99 >= counters.latency_p50 && counters.latency_p50 > 0.0);
        }
    }
}

/// A waker that unparks a thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to completion, as a minimal `async` runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn panoramas_come_by_async_stream() {
    for device in panoweave_devices() {
        let session = session(&device, waiting());
        let mut stream = pin!(session.panoramas());
        thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..10 {
                    thread::sleep(Duration::from_millis(2));
                    let bytes = stamp(i as u8);
                    session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
                }
                session.close();
            });
            let seen = block_on(async {
                let mut seen = Vec::new();
                while let Some(panorama) =
                    poll_fn(|context| stream.as_mut().poll_next(context)).await
                {
                    seen.push(panorama.bytes()[0]);
                }
                seen
            });
            assert_eq!(seen, (0..10).collect::<Vec<u8>>());
        });
    }
}

#[test]
fn frames_without_a_partner_are_dropped_and_counted() {
    for device in panoweave_devices() {
        let session = session(&device, LiveOptions { colour: STILL, ..LiveOptions::default() });
        let panoramas = session.panoramas();
        let bytes = stamp(9);
        let push =
            |camera, ms| session.push(camera, frame(&bytes), Duration::from_millis(ms)).unwrap();
        for ms in [0, 33, 66] {
            assert_eq!(push(0, ms), Submitted::Waiting);
            assert_eq!(push(1, ms + 5), Submitted::Set);
        }
        push(0, 99);
        push(0, 132);
        assert_eq!(push(1, 137), Submitted::Set);
        push(1, 165);
        assert_eq!(push(0, 110), Submitted::Dropped);
        session.close();
        let times: Vec<_> = panoramas.map(|p| p.timestamp().as_millis()).collect();
        assert_eq!(times, [0, 33, 66, 132]);
        let counters = session.counters();
        assert_eq!((counters.frames_in(), counters.sets), (11, 4));
        assert_eq!(counters.cameras.iter().map(|it| it.unmatched).collect::<Vec<_>>(), [2, 1]);
        assert!(matches!(
            session.submit([frame(&bytes), frame(&bytes)], FRAME),
            Err(LiveError::Closed)
        ));
    }
}

#[test]
fn a_reader_that_went_away_stops_nobody() {
    for device in panoweave_devices() {
        let session = session(&device, waiting());
        drop(session.panoramas());
        let bytes = stamp(9);
        for i in 0..30 {
            session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
        }
    }
}

#[test]
fn dropping_a_session_ends_who_waits_for_a_buffer() {
    for device in panoweave_devices() {
        let session = session(&device, waiting());
        let mut panoramas = session.panoramas();
        let bytes = stamp(9);
        // Submit five pairs without reading a panorama, so that no further pair can be submitted.
        for i in 0..5 {
            session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
        }
        let first = panoramas.next().unwrap();
        drop(session);
        // Panoramas that were finished before the session was dropped can still be read.
        assert_eq!(first.bytes()[0], 9);
        assert!(panoramas.all(|panorama| panorama.bytes()[0] == 9));
    }
}

#[test]
fn warp_and_options_change_between_frames() {
    for device in panoweave_devices() {
        let options = waiting();
        let session = session(&device, options);
        let mut panoramas = session.panoramas();
        let format = session.input_formats()[0];
        let bytes = [noise(format, 1), noise(format, 2)];
        let mut next = || {
            session.submit([frame(&bytes[0]), frame(&bytes[1])], FRAME).unwrap();
            panoramas.next().unwrap().bytes().to_vec()
        };
        let shots = [&bytes[0][..], &bytes[1]];
        let shifted = device_warp(&device, 2.25);
        assert!(next() == expected(&session, shots, &options.stitch, &device_warp(&device, 0.0)));
        session.swap(device_warp(&device, 2.25)).unwrap();
        assert!(next() == expected(&session, shots, &options.stitch, &shifted));
        let stitch = StitchOptions { flip: true, ..StitchOptions::default() };
        session.set_options(stitch).unwrap();
        assert!(next() == expected(&session, shots, &stitch, &shifted));
        let bad = Colour { gain: Vec3::splat(-1.0), gamma: 1.0, ..Colour::IDENTITY };
        let refused = session
            .set_options(StitchOptions { colours: Colours::of([bad, Colour::IDENTITY]), ..stitch });
        assert!(matches!(refused, Err(LiveError::Invalid(_))));
        let plane = || vec![0.5; 4];
        let other = Warp::new(
            UVec2::splat(2),
            [UVec2::splat(3); 2],
            [plane(), plane(), plane(), plane(), plane(), plane()],
        );
        let other = DeviceWarp::upload(&device.stream().unwrap(), &other.unwrap()).unwrap();
        assert!(matches!(session.swap(other), Err(LiveError::Invalid(_))));
    }
}

/// Checks that every panorama uses only one warp, even if the warp is swapped while frames are in flight.
#[test]
fn a_swap_in_flight_never_mixes_two_warps() {
    for device in panoweave_devices() {
        let options = waiting();
        let session = session(&device, options);
        let format = session.input_formats()[0];
        let bytes = [noise(format, 1), noise(format, 2)];
        let shots = [&bytes[0][..], &bytes[1]];
        let either = [0.0, 2.25]
            .map(|shift| expected(&session, shots, &options.stitch, &device_warp(&device, shift)));
        let panoramas = session.panoramas();
        thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..300 {
                    session.submit([frame(&bytes[0]), frame(&bytes[1])], FRAME * i).unwrap();
                }
                session.close();
            });
            scope.spawn(|| {
                for i in 0..20 {
                    let shift = [2.25, 0.0][i % 2];
                    match session.swap(device_warp(&device, shift)) {
                        Ok(()) | Err(LiveError::Closed) => {}
                        Err(e) => panic!("{e}"),
                    }
                }
            });
            let mut seen = [0; 2];
            for panorama in panoramas {
                let which = either.iter().position(|expected| panorama.bytes() == expected);
                seen[which.expect("one of the two warps")] += 1;
            }
            assert_eq!(seen[0] + seen[1], 300);
        });
    }
}

#[test]
fn the_panorama_may_have_another_size_than_the_warp() {
    for device in panoweave_devices() {
        for size in [UVec2::new(50, 24), UVec2::new(202, 94), UVec2::new(7, 131)] {
            let session = session_of(&device, Output::default().sized(size), waiting());
            assert_eq!(session.output_format().size, size);
            let bytes = stamp(77);
            session.submit([frame(&bytes), frame(&bytes)], FRAME).unwrap();
            let panorama = session.panoramas().next().unwrap();
            let pixels = panorama.bytes().chunks(4);
            assert!(pixels.clone().all(|pixel| pixel == [77, 77, 77, 255]), "{device} {size}");
            assert_eq!(pixels.len() as u32, size.element_product());
        }
    }
}

/// Checks that a delayed colour analysis reads the pair for which it was launched. All pixels of a frame have the same
/// level, so the sums identify the pair. During the longest delay, the session reuses all its buffers.
#[test]
fn a_late_analysis_reads_the_frames_that_it_was_launched_for() {
    for device in panoweave_devices() {
        for delay in [0, 1, 3, 11] {
            let colour = ColourOptions { follow: true, every: 1, delay, ..STILL };
            let session = session(&device, LiveOptions { colour, ..waiting() });
            let mut panoramas = session.panoramas();
            let mut seen = Vec::new();
            for i in 0..120_u32 {
                let (left, right) = (stamp(20 + i as u8), stamp(140 - i as u8));
                session.submit([frame(&left), frame(&right)], FRAME * i).unwrap();
                drop(panoramas.next().unwrap());
                let Some(analysis) = session.colour().analysis else { continue };
                if seen.last() == Some(&analysis.timestamp) {
                    continue;
                }
                seen.push(analysis.timestamp);
                let of = (analysis.timestamp.as_millis() / FRAME.as_millis()) as f32;
                let sums = analysis.overlaps[0].sums;
                let weighted = |level: f32| level * sums.weight;
                for (sum, level) in [(sums.left, 20.0 + of), (sums.right, 140.0 - of)] {
                    for channel in sum {
                        let error = (channel - weighted(level)).abs() / weighted(level);
                        assert!(
                            error < 1e-5,
                            "{device}, delay {delay}: {sums:?} is not frame {of}"
                        );
                    }
                }
            }
            assert!(seen.len() >= 120 / (delay as usize + 3), "{} analyses", seen.len());
        }
    }
}

/// Checks that the colour corrections that are set in the options apply until the first estimate, and again after the
/// automatic correction has been switched off.
#[test]
fn colours_that_were_set_are_where_following_begins_and_ends() {
    for device in panoweave_devices() {
        let [left, right] = [1.5, 0.0].map(|gain| Colour {
            gain: Vec3::splat(gain),
            gamma: 1.0,
            ..Colour::IDENTITY
        });
        let stitch =
            StitchOptions { colours: Colours::of([left, right]), ..StitchOptions::default() };
        let colour = ColourOptions { follow: true, ..STILL };
        let session = session(&device, LiveOptions { colour, stitch, ..waiting() });
        assert!(session.colour().following);
        let mut panoramas = session.panoramas();
        let bytes = stamp(80);
        let mut submit = |i: u32| {
            session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
            let panorama = panoramas.next().unwrap();
            let pixel = |x: usize| panorama.bytes()[4 * x];
            (pixel(0), pixel(CANVAS.x as usize - 1))
        };
        let mut last = submit(0);
        assert_eq!(last, (120, 0));
        for i in 1..600 {
            if i == 300 {
                session.follow_colour(false);
            }
            let now = submit(i);
            let step = last.0.abs_diff(now.0).max(last.1.abs_diff(now.1));
            assert!(step <= 1, "{device}: frame {i} steps by {step}");
            last = now;
            if i == 299 {
                assert_eq!(last, (80, 80), "{device}");
            }
        }
        assert_eq!(last, (120, 0), "{device}");
        // While the automatic correction is off, new colour corrections in the options must apply at once.
        session.set_options(StitchOptions::default()).unwrap();
        assert_eq!(submit(600), (80, 80));
    }
}

#[test]
fn frames_on_the_device_are_given_back_when_they_were_read() {
    /// An object that counts its drops and keeps the image alive.
    struct Keep(
        Arc<AtomicUsize>,
        #[expect(dead_code, reason = "keeps the image alive")] Arc<Image<Rgba8>>,
    );
    impl Drop for Keep {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for device in panoweave_devices() {
        let session = session(&device, waiting());
        let stream = device.stream().unwrap();
        let pixels = vec![Rgba8::opaque(33, 33, 33); SOURCE.element_product() as usize];
        let image = Arc::new(Image::from_slice(&stream, SOURCE.x, SOURCE.y, &pixels).unwrap());
        let given_back = Arc::new(AtomicUsize::new(0));
        let mut panoramas = session.panoramas();
        for i in 0..20 {
            let external = || {
                let keep = Keep(Arc::clone(&given_back), Arc::clone(&image));
                let (place, pitch) = (device.place(), image.pitch());
                // SAFETY: `keep` owns a reference to the image, and nothing writes to the image.
                unsafe {
                    let data = image.as_ptr();
                    let view = DeviceView::new(place, data, SOURCE.x, SOURCE.y, pitch);
                    ExternalFrame::new(FrameView::Rgba8(view), keep)
                }
            };
            session.submit([external(), external()], FRAME * i).unwrap();
            assert_eq!(panoramas.next().unwrap().bytes()[0], 33);
        }
        drop(session);
        assert_eq!(given_back.load(SeqCst), 40);
    }
}

#[test]
fn frames_of_another_format_are_refused() {
    let device = Device::cpu();
    let session = session(&device, waiting());
    let small = stamp(0);
    let format = FrameFormat::rgba8(SOURCE.x - 1, SOURCE.y);
    let planes = [PlaneBytes { bytes: &small[..], pitch: 4 * SOURCE.x as usize }];
    let small = Frame::new(format, &planes).unwrap();
    let bytes = stamp(0);
    let refused = session.submit([frame(&bytes), small], FRAME);
    assert!(refused.unwrap_err().to_string().contains("camera 2: its frame is"));
    let refused = session.push(0, small, FRAME);
    assert!(refused.unwrap_err().to_string().contains("camera 1: its frame is"));
    for options in [
        LiveOptions { slots: 1, ..waiting() },
        LiveOptions { slots: usize::MAX, ..waiting() },
        LiveOptions { colour: ColourOptions { every: 0, ..STILL }, ..waiting() },
        LiveOptions { reference: 2, ..waiting() },
        LiveOptions { failure: Some(FailureOptions::default()), ..waiting() },
    ] {
        let refused =
            Session::new(&device, device_warp(&device, 0.0), &[Output::default()], options);
        assert!(matches!(refused, Err(LiveError::Invalid(_))));
    }
    let huge = Output::default().sized(UVec2::new(1, u32::MAX));
    let refused = Session::new(&device, device_warp(&device, 0.0), &[huge], waiting());
    assert!(matches!(refused, Err(LiveError::Invalid(_))));
    assert!(matches!(session.set_present(1, false), Err(LiveError::Invalid(_))));
    assert_eq!(session.counters().sets, 0);
}

#[test]
fn panoramas_can_stay_on_the_device() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let stitched = |download: bool| {
            let session = session(&device, LiveOptions { download, ..waiting() });
            let format = session.input_formats()[0];
            let pictures = [noise(format, 3), noise(format, 4)];
            let frames = pictures.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
            session.submit(frames, FRAME).unwrap();
            let panorama = session.panoramas().next().unwrap();
            assert_eq!(panorama.frame().is_some(), download);
            assert_eq!(panorama.bytes().is_empty(), !download);
            assert_eq!(panorama.to_picture().is_some(), download);
            let mut bytes = vec![0; panorama.format().bytes()];
            panorama.device_frame().download(&stream, &mut bytes).unwrap();
            if download {
                assert!(panorama.bytes() == bytes, "{device}");
            }
            bytes
        };
        assert!(stitched(true) == stitched(false), "{device}");
    }
}

#[test]
fn a_reader_waits_at_most_its_timeout() {
    let device = Device::cpu();
    let session = session(&device, waiting());
    let mut panoramas = session.panoramas();
    let brief = Duration::from_millis(20);
    let start = Instant::now();
    assert!(panoramas.next_timeout(brief).is_pending());
    assert!(start.elapsed() >= brief);
    let format = session.input_formats()[0];
    let bytes = [noise(format, 3), noise(format, 4)];
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(brief);
            let frames = bytes.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
            session.submit(frames, FRAME).unwrap();
            session.close();
        });
        let long = Duration::from_secs(60);
        assert!(matches!(panoramas.next_timeout(long), Poll::Ready(Some(_))));
        assert!(matches!(panoramas.next_timeout(long), Poll::Ready(None)));
    });
    assert!(start.elapsed() < Duration::from_secs(50));
}
