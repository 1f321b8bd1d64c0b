//! Messages for wrong properties and wrong streams.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use crate::support::{Harnesses, Scene, init, picture_info, text};

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
    assert_eq!(error_at_start(&element), "both `rig` and `warp` are set; set only one of them");
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

/// Pushes a frame per camera and returns the error on the bus.
fn error_at_first_frame(element: &gst::Element, cameras: usize) -> String {
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harnesses = Harnesses::new(element, cameras);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    first_error(&bus)
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
    let message = set("anchor", "2");
    assert_eq!(message, "`anchor` is 2, but the last camera is 1");
    let track = scene.path("track.csv");
    std::fs::write(&track, "t,pan\n0,1\n").unwrap();
    let message = set("view", &text(&track));
    assert!(message.contains("track.csv"), "{message}");
}

#[test]
fn a_picture_of_another_size_is_explained() {
    let scene = Scene::new(2);
    let element = scene.element();
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harnesses = Harnesses::new(&element, 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    let other = VideoInfo::builder(VideoFormat::Nv12, 640, 480).build().unwrap();
    let caps = gst::event::Caps::new(&other.to_caps().unwrap());
    harnesses.cameras[1].push_event(caps);
    let pushed = harnesses.cameras[1].push(gst::Buffer::with_size(other.size()).unwrap());
    assert_eq!(pushed, Err(gst::FlowError::NotNegotiated));
    let second = gst::ClockTime::SECOND;
    let warning = bus.timed_pop_filtered(second, &[gst::MessageType::Warning]).unwrap();
    let gst::MessageView::Warning(warning) = warning.view() else { unreachable!("the filter") };
    let text = warning.error().to_string();
    assert!(text.contains("sink_1 gets pictures of 640×480 pixels, but camera 1 of"), "{text}");
    assert!(text.contains("has 96×72; scale the video"), "{text}");
}
