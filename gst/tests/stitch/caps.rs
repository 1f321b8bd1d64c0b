//! Negotiation of caps: sizes of the rig, depths, colours, and changes during the stream.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use crate::support::{Harnesses, PANORAMA, PICTURE, Scene, buffer, frame, gain, picture_info};

/// Returns the caps of the last buffer that the first harness receives.
fn output(harnesses: &Harnesses) -> VideoInfo {
    let pad = harnesses.element.static_pad("src").unwrap();
    VideoInfo::from_caps(&pad.current_caps().unwrap()).unwrap()
}

#[test]
fn pads_accept_only_the_sizes_of_their_cameras() {
    let scene = Scene::new(2);
    let element = scene.element();
    let pad = element.request_pad_simple("sink_%u").unwrap();
    element.set_state(gst::State::Paused).unwrap();
    let caps = pad.query_caps(None);
    let (width, height) = PICTURE;
    for structure in caps.iter() {
        assert_eq!(structure.get::<i32>("width"), Ok(width as i32));
        assert_eq!(structure.get::<i32>("height"), Ok(height as i32));
    }
    let right = picture_info(VideoFormat::Nv12).to_caps().unwrap();
    assert!(pad.query_accept_caps(&right));
    // Caps need not have all fields.
    let brief = format!("video/x-raw, format=NV12, width={width}, height={height}");
    assert!(pad.query_accept_caps(&brief.parse().unwrap()));
    let wrong = VideoInfo::builder(VideoFormat::Nv12, 640, 480).build().unwrap();
    assert!(!pad.query_accept_caps(&wrong.to_caps().unwrap()));
    element.set_state(gst::State::Null).unwrap();
}

#[test]
fn the_panorama_has_the_depth_and_the_colours_of_the_first_camera() {
    let pq = VideoInfo::builder(VideoFormat::P01010le, PICTURE.0, PICTURE.1)
        .colorimetry(&"bt2100-pq".parse().unwrap())
        .fps(gst::Fraction::new(25, 1))
        .build()
        .unwrap();
    for info in [pq, picture_info(VideoFormat::Nv12), picture_info(VideoFormat::Rgba)] {
        let scene = Scene::new(2);
        let mut harnesses = Harnesses::new(&scene.element(), 2);
        harnesses.play(&info);
        harnesses.push(info.format(), 0);
        harnesses.end();
        assert_eq!(harnesses.rest().len(), 1);
        let output = output(&harnesses);
        assert_eq!((output.width(), output.height()), PANORAMA);
        assert_eq!(output.format(), info.format());
        assert_eq!(output.colorimetry(), info.colorimetry());
        assert_eq!(output.fps(), info.fps());
    }
}

#[test]
fn cameras_with_different_transfer_functions_cause_a_warning() {
    let info = |colorimetry: &str| {
        VideoInfo::builder(VideoFormat::P01010le, PICTURE.0, PICTURE.1)
            .colorimetry(&colorimetry.parse().unwrap())
            .fps(gst::Fraction::new(25, 1))
            .build()
            .unwrap()
    };
    for (other, warns) in [("bt2100-hlg", true), ("bt709", true), ("bt2100-pq", false)] {
        let scene = Scene::new(2);
        let element = scene.element();
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        let mut harnesses = Harnesses::new(&element, 2);
        harnesses.play(&info("bt2100-pq"));
        let caps = info(other).to_caps().unwrap();
        harnesses.cameras[1].push_event(gst::event::Caps::new(&caps));
        harnesses.push(VideoFormat::P01010le, 0);
        harnesses.end();
        assert_eq!(harnesses.rest().len(), 1);
        let warning = bus.pop_filtered(&[gst::MessageType::Warning]);
        let text = warning.as_ref().map(|warning| match warning.view() {
            gst::MessageView::Warning(warning) => warning.error().to_string(),
            _ => unreachable!("the filter"),
        });
        let says = |text: &String| text.contains("sink_1 has the colorimetry");
        assert_eq!(text.as_ref().is_some_and(says), warns, "{other}: {text:?}");
    }
}

#[test]
fn downstream_selects_the_format_and_the_colours() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.cameras[0].set_sink_caps_str("video/x-raw, format=RGBA");
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    harnesses.end();
    assert_eq!(harnesses.rest().len(), 1);
    assert_eq!(output(&harnesses).format(), VideoFormat::Rgba);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.cameras[0].set_sink_caps_str("video/x-raw, format=NV12, colorimetry=bt601");
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    harnesses.end();
    assert_eq!(harnesses.rest().len(), 1);
    assert_eq!(output(&harnesses).colorimetry().to_string(), "bt601");
}

#[test]
fn a_new_format_during_the_stream_continues_the_panorama() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    let mut panoramas = 0;
    for (number, format) in
        [VideoFormat::Nv12, VideoFormat::Nv12, VideoFormat::Rgba, VideoFormat::Rgba]
            .into_iter()
            .enumerate()
    {
        for (i, camera) in harnesses.cameras.iter_mut().enumerate() {
            if number == 2 {
                let caps = picture_info(format).to_caps().unwrap();
                assert!(camera.push_event(gst::event::Caps::new(&caps)));
            }
            camera.push(buffer(frame(format, i, number, gain(i)), number)).unwrap();
        }
    }
    harnesses.end();
    panoramas += harnesses.rest().len();
    assert_eq!(panoramas, 4);
}

#[test]
fn a_row_pitch_beyond_the_width_is_respected() {
    // 98 pixels are not a multiple of 4, so GStreamer pads the rows.
    let scene = Scene::new(2);
    let rig = std::fs::read_to_string(scene.path("rig.toml")).unwrap();
    std::fs::write(scene.path("rig.toml"), rig.replace("width = 160", "width = 158")).unwrap();
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    harnesses.end();
    let panorama = harnesses.rest().remove(0);
    let info = output(&harnesses);
    assert_eq!((info.width(), info.stride()[0]), (158, 160));
    // The rows without their padding are those of the library.
    let frame = gst_video::VideoFrame::from_buffer_readable(panorama, &info).unwrap();
    let rows =
        |plane: u32| frame.plane_data(plane).unwrap().chunks(160).flat_map(|row| &row[..158]);
    let found: Vec<u8> = rows(0).chain(rows(1)).copied().collect();
    let options = crate::pixels::options(panoweave::ops::blend::Blend::Feather);
    let expected = crate::pixels::expected(&scene, VideoFormat::Nv12, (158, 64), options);
    assert!(found == expected[..found.len()]);
}

#[test]
fn cameras_of_different_depths_are_refused() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    let [ten, eight] = [VideoFormat::P01010le, VideoFormat::Nv12].map(picture_info);
    harnesses.cameras[0].set_src_caps(ten.to_caps().unwrap());
    harnesses.cameras.iter_mut().for_each(gst_check::Harness::play);
    let pad = harnesses.element.static_pad("sink_1").unwrap();
    let formats = pad.query_caps(None);
    assert!(!formats.can_intersect(&eight.to_caps().unwrap()), "{formats}");
}
