//! Messages for wrong properties and wrong streams.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use crate::support::{Harnesses, PICTURE, Scene, buffer, init, picture_info, text};

/// Starts the element and returns the text of the error on the bus.
fn error_at_start(element: &gst::Element) -> String {
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    assert!(element.set_state(gst::State::Paused).is_err());
    let message = first_error(&bus);
    element.set_state(gst::State::Null).unwrap();
    message
}

fn first_error(bus: &gst::Bus) -> String {
    let message =
        bus.timed_pop_filtered(gst::ClockTime::from_seconds(20), &[gst::MessageType::Error]);
    match message.expect("an error on the bus").view() {
        gst::MessageView::Error(error) => error.error().to_string(),
        _ => unreachable!("the filter"),
    }
}

#[test]
fn a_rig_or_a_warp_is_required() {
    init();
    let element = gst::ElementFactory::make("panoweavestitch").build().unwrap();
    assert_eq!(error_at_start(&element), "no rig: set the property `rig` or `warp` to a file");
    let scene = Scene::new(2);
    let element = scene.element();
    element.set_property("warp", scene.rig());
    assert_eq!(
        error_at_start(&element),
        "`warp`, `rig` and `homography` exclude each other; give one of them"
    );
}

#[test]
fn unreadable_files_are_named() {
    let scene = Scene::new(2);
    let element = scene.element();
    let missing = text(&scene.path("missing.toml"));
    element.set_property("rig", &missing);
    let message = error_at_start(&element);
    assert!(message.contains(&missing), "{message}");
    std::fs::write(scene.path("rig.toml"), "nonsense").unwrap();
    let message = error_at_start(&scene.element());
    assert!(message.contains("rig.toml"), "{message}");
}

/// Starts the element with NV12 cameras, and returns its bus.
fn play(element: &gst::Element, cameras: usize) -> (gst::Bus, Harnesses) {
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harnesses = Harnesses::new(element, cameras);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    (bus, harnesses)
}

/// Pushes a frame per camera and returns the error on the bus.
fn error_at_first_frame(element: &gst::Element, cameras: usize) -> String {
    let (bus, mut harnesses) = play(element, cameras);
    harnesses.push(VideoFormat::Nv12, 0);
    first_error(&bus)
}

/// The description of the planes in a `GstVideoMeta` may contradict the size of the buffer.
#[test]
fn frames_whose_meta_does_not_fit_their_buffer_are_refused() {
    let (width, height) = (PICTURE.0 as usize, PICTURE.1 as usize);
    let whole = width * height * 3 / 2;
    let (last, wide) = (whole - 1, 2_000_000);
    let stride = width as i32;
    for (bytes, offsets, strides) in [
        (whole, [0, last], [wide, wide]),
        (whole - width, [0, width * height], [stride, stride]),
        (whole, [width * (height - 1), last], [-stride, -stride]),
        (whole, [0, width * height], [stride, stride - 2]),
    ] {
        let scene = Scene::new(2);
        let (bus, mut harnesses) = play(&scene.element(), 2);
        let mut bad = buffer(vec![128; bytes], 0);
        let offsets = [offsets[0], offsets[1], 0, 0];
        let strides = [strides[0], strides[1], 0, 0];
        // SAFETY: the buffer is writable, and the arrays have an element for each of the four possible planes. The meta
        // is deliberately wrong.
        unsafe {
            gst_video::ffi::gst_buffer_add_video_meta_full(
                bad.get_mut().unwrap().as_mut_ptr(),
                0,
                gst_video::ffi::GST_VIDEO_FORMAT_NV12,
                PICTURE.0,
                PICTURE.1,
                2,
                &raw const offsets,
                &raw const strides,
            );
        }
        harnesses.cameras[0].push(bad).unwrap();
        harnesses.cameras[1].push(buffer(vec![128; whole], 0)).unwrap();
        let message = first_error(&bus);
        assert!(message.contains("cannot read the frame of sink_0"), "{message}");
    }
}

#[test]
fn missing_and_repeated_cameras_are_listed() {
    let scene = Scene::new(3);
    let message = error_at_first_frame(&scene.element(), 2);
    assert!(message.contains("has 3 cameras, but the pads select cameras 0, 1"), "{message}");
    let scene = Scene::new(2);
    let element = scene.element();
    let pads = [0, 1].map(|_| element.request_pad_simple("sink_%u").unwrap());
    pads[0].set_property("camera", 1);
    let message = error_at_first_frame(&element, 2);
    assert!(message.contains("the pads select cameras 1, 1"), "{message}");
    assert!(message.contains("link one pad per camera, sink_0 to sink_1"), "{message}");
}

#[test]
fn wrong_properties_are_named() {
    let scene = Scene::new(2);
    let set = |name: &str, value: &str| {
        let element = scene.element();
        element.set_property_from_str(name, value);
        error_at_first_frame(&element, 2)
    };
    let element = scene.element();
    element.set_property("device", "gpu");
    let message = error_at_start(&element);
    assert!(message.contains("cuda:N"), "{message}");
    let message = set("anchor", "3");
    assert_eq!(message, "`anchor` is 3, but there are only 2 cameras; give a number from 1 to 2");
    let track = scene.path("track.csv");
    std::fs::write(&track, "t,pan\n0,1\n").unwrap();
    let message = set("view", &text(&track));
    assert!(message.contains("track.csv"), "{message}");
}

#[test]
fn a_view_with_too_many_pixels_is_refused() {
    let scene = Scene::new(2);
    let element = scene.element();
    element.set_property("view", text(&scene.path("track.csv")));
    element.set_property("view-size", "32768x32768");
    let message = error_at_start(&element);
    assert!(message.contains("`view-size` is 32768x32768"), "{message}");
}

/// Changes the caps of camera 1 after the first frames, and returns the warning on the bus.
fn warning_after_a_change(other: &VideoInfo) -> String {
    let scene = Scene::new(2);
    let (bus, mut harnesses) = play(&scene.element(), 2);
    harnesses.push(VideoFormat::Nv12, 0);
    let caps = gst::event::Caps::new(&other.to_caps().unwrap());
    harnesses.cameras[1].push_event(caps);
    let pushed = harnesses.cameras[1].push(gst::Buffer::with_size(other.size()).unwrap());
    assert_eq!(pushed, Err(gst::FlowError::NotNegotiated));
    let second = gst::ClockTime::SECOND;
    let warning = bus.timed_pop_filtered(second, &[gst::MessageType::Warning]).unwrap();
    let gst::MessageView::Warning(warning) = warning.view() else { unreachable!("the filter") };
    warning.error().to_string()
}

#[test]
fn a_picture_of_another_size_is_explained() {
    let text =
        warning_after_a_change(&VideoInfo::builder(VideoFormat::Nv12, 640, 480).build().unwrap());
    assert!(text.contains("sink_1 gets pictures of 640×480 pixels, but camera 1 of"), "{text}");
    assert!(text.contains("has 96×72; scale the video"), "{text}");
}

/// An element upstream asks for caps before it sends any.
#[test]
fn caps_that_upstream_asks_for_are_explained() {
    let scene = Scene::new(2);
    let pipeline = gst::parse::launch(&format!(
        "panoweavestitch name=s device=cpu rig={} ! fakesink videotestsrc ! s.sink_1 videotestsrc ! \
         video/x-raw,format=NV12,width=640,height=480 ! queue ! s.sink_0",
        scene.rig()
    ));
    let pipeline = pipeline.unwrap();
    pipeline.set_state(gst::State::Playing).ok();
    let limit = gst::ClockTime::from_seconds(10);
    let bus = pipeline.bus().unwrap();
    let warning = bus.timed_pop_filtered(limit, &[gst::MessageType::Warning]).unwrap();
    let gst::MessageView::Warning(warning) = warning.view() else { unreachable!("the filter") };
    let text = warning.error().to_string();
    assert!(text.contains("sink_0 gets pictures of 640×480 pixels, but camera 0 of"), "{text}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn a_change_of_the_depth_is_explained() {
    let text = warning_after_a_change(&picture_info(VideoFormat::P01010le));
    assert!(text.contains("sink_1 gets P010_10LE, but another camera has NV12"), "{text}");
}
