//! Tests of a virtual camera in live video. Each view must show its pair of frames with the pose for the pair's
//! timestamp, and arguments that do not match must be rejected.

use std::thread;
use std::time::Duration;

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::geometry::rig::Rig;
use panoweave::live::{InputFormats, LiveError, LiveOptions, Output, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{FADE, SeamOptions, seamed};
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{DEFAULT_SIZE, ViewPath, ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, SOURCE, device_warp, frame, session, stamp, waiting};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

const SIZE: UVec2 = uvec2(37, 23);

/// Returns a rig with a panorama of `width` pixels and two cameras with frames of size [`SOURCE`]. One camera is turned
/// left by `yaw` degrees and one right.
fn rig(yaw: f64, width: u32) -> Rig {
    let UVec2 { x, y } = SOURCE;
    let camera = |name: &str, yaw: f64| {
        format!(
            "[[camera]]\nname = \"{name}\"\nsize = [{x}, {y}]\nlens = \"pinhole\"\nmatrix = {{ fx = 60.0, fy = 60.0, cx = 32.0, cy = 23.0 }}\ndistortion = [-0.05]\nyaw = {yaw:?}\n"
        )
    };
    let text = format!(
        "[panorama]\nprojection = \"cylindrical\"\nwidth = {width}\nheight = 47\nfov = 90.0\n{}{}",
        camera("left", -yaw),
        camera("right", yaw)
    );
    Rig::parse(&text, "made up").unwrap()
}

/// Returns a viewer for a rig, and the rig's warp.
fn viewer(device: &Device, rig: &Rig) -> (Viewer, DeviceWarp) {
    let geometry = rig.geometry().unwrap();
    let warp = DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
    (Viewer::new(&geometry, false).unwrap(), warp)
}

fn with_view(device: &Device, path: impl Into<ViewPath>, options: LiveOptions) -> Session {
    with_output(device, Output::view(PixelFormat::Rgba8, SIZE, path), options)
}

fn with_output(device: &Device, output: Output, options: LiveOptions) -> Session {
    let (viewer, warp) = viewer(device, &rig(15.0, 101));
    Session::new(device, (warp, viewer), &[output], options).unwrap()
}

/// Returns the pose of the moving virtual camera in these tests.
fn moving(time: Duration) -> ViewPose {
    let t = time.as_secs_f64();
    ViewPose { pan: 40.0 * t - 8.0, tilt: 3.0 - 10.0 * t, roll: 20.0 * t, fov: 30.0 + 20.0 * t }
}

/// Returns the expected bytes of a view of two frames, rendered by a single call of `Viewer::submit` instead of the
/// live session.
fn single(
    device: &Device,
    viewer: &Viewer,
    weights: Option<&DeviceWarp>,
    output: FrameFormat,
    frames: [Frame<'_>; 2],
    view: &ViewPose,
) -> Vec<u8> {
    let stream = device.stream().unwrap();
    let frames = frames.map(|frame| {
        let mut on_device = DeviceFrame::new(device, frame.format()).unwrap();
        on_device.upload(&stream, &frame).unwrap();
        on_device
    });
    let frames = frames.each_ref().map(DeviceFrame::view);
    let mut out = DeviceFrame::new(device, output).unwrap();
    viewer.submit(&stream, &frames, weights, view, &StitchOptions::default(), &mut out).unwrap();
    let mut bytes = vec![0; output.bytes()];
    out.download(&stream, &mut bytes).unwrap();
    bytes
}

fn noise(format: FrameFormat, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..format.bytes()).map(|_| random.bits() as u8).collect()
}

#[test]
fn each_view_is_that_of_its_pair_at_its_time() {
    let nv12 = PixelFormat::Nv12(YuvEncoding::default());
    for device in panoweave_devices() {
        for (input, output) in [
            (PixelFormat::Rgba8.into(), PixelFormat::Rgba8),
            (nv12.into(), nv12),
            (nv12.into(), PixelFormat::Rgba8),
            (PixelFormat::Rgba8.into(), nv12),
            (InputFormats::each([nv12, PixelFormat::Rgba8]), nv12),
        ] {
            let view = Output::view(output, SIZE, ViewPath::new(moving));
            let session = with_output(&device, view, LiveOptions { input, ..waiting() });
            assert_eq!(session.output_format().size, SIZE);
            let (viewer, _) = viewer(&device, &rig(15.0, 101));
            let formats = [0, 1].map(|camera| session.input_formats()[camera]);
            let mut panoramas = session.panoramas();
            let mut last = Vec::new();
            for i in 0..8 {
                let bytes = [noise(formats[0], i), noise(formats[1], 100 + i)];
                let tight = |camera: usize| Frame::tight(formats[camera], &bytes[camera]).unwrap();
                let frames = [tight(0), tight(1)];
                let time = FRAME * i as u32;
                session.submit(frames, time).unwrap();
                let panorama = panoramas.next().unwrap();
                assert_eq!(panorama.timestamp(), time);
                let expected =
                    single(&device, &viewer, None, session.output_format(), frames, &moving(time));
                assert!(panorama.bytes() == expected, "{device}, {input:?} to {output:?}, {i}");
                assert!(expected != last, "two views are the same");
                last = expected;
            }
        }
    }
}

#[test]
fn a_view_has_a_size_of_its_own() {
    let device = Device::cpu();
    let view =
        Output { size: None, ..Output::view(PixelFormat::Rgba8, SIZE, ViewPath::new(moving)) };
    let session = with_output(&device, view, waiting());
    assert_eq!(session.output_format().size, DEFAULT_SIZE);
    assert!(session.input_formats().iter().all(|format| format.size == SOURCE));
}

/// Submits two gray frames and returns the levels at the left and the right edge of the view.
fn edges(session: &Session, time: Duration) -> Result<[u8; 2], LiveError> {
    let (left, right) = (stamp(50), stamp(200));
    let mut panoramas = session.panoramas();
    session.submit([frame(&left), frame(&right)], time)?;
    let Some(panorama) = panoramas.next() else { return Err(session.health().unwrap_err()) };
    let row = SIZE.y as usize / 2 * SIZE.x as usize;
    Ok([row, row + SIZE.x as usize - 1].map(|pixel| panorama.bytes()[4 * pixel]))
}

#[test]
fn of_a_view_that_cannot_be_the_last_one_stays() {
    let path = |time: Duration| {
        let narrow = ViewPose { fov: 5.0, ..ViewPose::default() };
        match time.as_secs() {
            0 | 3 => ViewPose { fov: f64::NAN, ..narrow },
            1 => ViewPose { pan: -25.0, ..narrow },
            2 => ViewPose { pan: 25.0, fov: 171.0, ..narrow },
            4 => ViewPose { pan: f64::INFINITY, ..narrow },
            _ => ViewPose { pan: 25.0, ..narrow },
        }
    };
    for device in panoweave_devices() {
        let session = with_view(&device, ViewPath::new(path), waiting());
        let seen: Vec<_> =
            (0..6).map(|t| edges(&session, Duration::from_secs(t)).unwrap()).collect();
        // For an invalid pose, the virtual camera uses the last valid pose. Before the first valid pose, it looks
        // straight ahead, where the view shows both pictures.
        let [first, views @ .., last] = &seen[..] else { unreachable!("six views") };
        assert!(first[0] == 50 && first[1] == 200, "{seen:?} on {device}");
        assert_eq!(views, [[50, 50]; 4], "on {device}");
        assert_eq!(*last, [200, 200], "on {device}");
        session.health().unwrap();
    }
}

#[test]
fn a_path_that_panics_ends_the_session() {
    let path = |time: Duration| {
        assert!(time < Duration::from_secs(2), "a deliberate panic of this test's path");
        ViewPose::default()
    };
    for device in panoweave_devices() {
        let session = with_view(&device, ViewPath::new(path), waiting());
        edges(&session, Duration::from_secs(1)).unwrap();
        let error = edges(&session, Duration::from_secs(2)).unwrap_err();
        assert!(matches!(error, LiveError::Panicked), "{error} on {device}");
        assert!(matches!(session.health(), Err(LiveError::Panicked)), "on {device}");
        let (left, right) = (stamp(1), stamp(2));
        let refused = session.submit([frame(&left), frame(&right)], Duration::from_secs(3));
        assert!(matches!(refused, Err(LiveError::Panicked)), "{refused:?} on {device}");
        // Wait until the session has counted the lost pair, because the reader may get the error earlier.
        while session.counters().dropped.lost == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let counters = session.counters();
        assert_eq!((counters.sets, counters.panoramas, counters.dropped.lost), (2, 1, 1));
    }
}

#[test]
fn viewers_are_swapped_between_frames() {
    let ahead = ViewPose { pan: 12.0, ..ViewPose::default() };
    for device in panoweave_devices() {
        let session = with_view(&device, ahead, waiting());
        let (format, output) = (session.input_formats()[0], session.output_format());
        let bytes = [noise(format, 1), noise(format, 2)];
        let frames = bytes.each_ref().map(|bytes| frame(bytes));
        let mut panoramas = session.panoramas();
        let mut check = |viewer: &Viewer| {
            session.submit(frames, FRAME).unwrap();
            let expected = single(&device, viewer, None, output, frames, &ahead);
            assert!(panoramas.next().unwrap().bytes() == expected, "on {device}");
            expected
        };
        let (first, _) = viewer(&device, &rig(15.0, 101));
        let (second, warp) = viewer(&device, &rig(20.0, 77));
        let before = check(&first);
        session.swap((warp, second.clone())).unwrap();
        assert!(check(&second) != before, "another viewer shows the same");

        // The session must reject a viewer whose canvas differs from the warp's, and keep the current viewer.
        let (_, warp) = viewer(&device, &rig(20.0, 90));
        let said = session.swap((warp, first.clone())).unwrap_err().to_string();
        assert!(said.contains("is 90×47 pixels, but the canvas is 101×47"), "{said}");
        let warp = device_warp(&device, 0.0);
        let said = session.swap(warp).unwrap_err();
        assert!(matches!(said, LiveError::Invalid(_)), "{said}");
        assert!(said.to_string().contains("needs a viewer"), "{said}");
        let mut other = rig(20.0, 101);
        other.cameras[0].size[0] -= 1;
        let (other, warp) = viewer(&device, &other);
        let refused = session.swap((warp, other.clone())).unwrap_err();
        assert!(matches!(refused, LiveError::Invalid(_)), "{refused}");
        let (_, warp) = viewer(&device, &rig(20.0, 101));
        let said = session.swap((warp, other)).unwrap_err().to_string();
        assert!(said.contains("the picture of camera 1 is 65×47 pixels"), "{said}");
        check(&second);
    }
}

#[test]
fn a_session_of_panoramas_does_not_need_its_viewer() {
    let bytes = [stamp(50), stamp(200)];
    for device in panoweave_devices() {
        let session = session(&device, waiting());
        let mut panoramas = session.panoramas();
        let mut shown = || {
            session.submit(bytes.each_ref().map(|bytes| frame(bytes)), FRAME).unwrap();
            panoramas.next().unwrap().bytes().to_vec()
        };
        let (viewer, warp) = viewer(&device, &rig(15.0, 101));
        session.swap((warp, viewer.clone())).unwrap();
        let with = shown();
        session.swap(device_warp(&device, 1.0)).unwrap();
        let other = shown();
        session.swap(self::viewer(&device, &rig(15.0, 101)).1).unwrap();
        assert!(shown() == with && with != other, "{device}");
        // A viewer of another geometry is refused though no view uses it.
        let (_, warp) = self::viewer(&device, &rig(15.0, 102));
        assert!(session.swap((warp, viewer)).is_err());
    }
}

#[test]
fn a_warp_of_another_geometry_is_refused() {
    for device in panoweave_devices() {
        let start = |viewer: Viewer, warp: DeviceWarp| {
            let view = Output::view(PixelFormat::Rgba8, SIZE, ViewPath::new(moving));
            Session::new(&device, (warp, viewer), &[view], waiting()).unwrap_err()
        };
        let (first, _) = viewer(&device, &rig(15.0, 101));
        let (_, warp) = viewer(&device, &rig(15.0, 102));
        let error = start(first.clone(), warp);
        assert!(matches!(error, LiveError::Invalid(_)), "{error}");
        assert!(
            error.to_string().contains("is 102×47 pixels, but the canvas is 101×47"),
            "{error}"
        );
        let mut other = rig(15.0, 101);
        other.cameras[1].size[1] += 1;
        let (_, warp) = viewer(&device, &other);
        let error = start(first, warp);
        assert!(matches!(error, LiveError::Invalid(_)), "{error}");
        assert!(error.to_string().contains("the picture of camera 2 is 65×48 pixels"), "{error}");
    }
}

/// Checks that a seam fades in. Afterwards, the view of the live session must equal a view of the same frames that a
/// single call renders with the seam.
#[test]
fn a_seam_is_seen_in_views() {
    let ahead = ViewPose { fov: 50.0, ..ViewPose::default() };
    let seam = SeamOptions { feather: 4.0 };
    for device in panoweave_devices() {
        let options = LiveOptions { blend: Blend::Seam(seam), ..waiting() };
        let session = with_view(&device, ahead, options);
        let (format, output) = (session.input_formats()[0], session.output_format());
        // Use gray gradients of different brightness, whose levels agree at some positions of the overlap.
        let bytes = [50_u32, 90].map(|level| {
            let pixel = move |at: u32| [(level + at % SOURCE.x + at / SOURCE.x % 7) as u8; 4];
            (0..SOURCE.element_product()).flat_map(pixel).collect::<Vec<u8>>()
        });
        let [left, right] = bytes.each_ref().map(Vec::as_slice);
        let mut panoramas = session.panoramas();
        let shown: Vec<_> = (0..3 * FADE + 20)
            .map(|i| {
                session.submit([frame(left), frame(right)], FRAME * i).unwrap();
                panoramas.next().unwrap().bytes().to_vec()
            })
            .collect();
        let (viewer, warp) = viewer(&device, &rig(15.0, 101));
        let stream = device.stream().unwrap();
        let frames = [left, right].map(|bytes| {
            let mut image = DeviceFrame::new(&device, format).unwrap();
            image.upload(&stream, &frame(bytes)).unwrap();
            image
        });
        let [l, r] = &frames;
        let with =
            seamed(&stream, &warp, &[l.into(), r.into()], Colours::IDENTITY, seam).unwrap().0;
        let single = |weights| {
            single(&device, &viewer, weights, output, [frame(left), frame(right)], &ahead)
        };
        let (feathered, seamed) = (single(None), single(Some(&with)));
        assert!(feathered != seamed, "the seam changes nothing on {device}");
        assert!(*shown.last().unwrap() == seamed, "the last view has no seam on {device}");
        let far = shown[0].iter().zip(&feathered).map(|(a, b)| a.abs_diff(*b)).max();
        // A difference of one level is allowed, because the session reads the weights from planes, and the single view
        // computes them.
        assert!(far.unwrap() <= 1, "{far:?} levels in the first view on {device}");
        assert_eq!(session.counters().seam_moves, 1, "on {device}");
    }
}
