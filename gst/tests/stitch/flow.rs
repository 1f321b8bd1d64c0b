//! End of stream, flushes, states, gaps and different rates.

use gst::prelude::*;
use gst_video::VideoFormat;

use crate::support::{Harnesses, Scene, buffer, bytes, frame, gain, picture_info, time};

#[test]
fn panoramas_have_the_times_of_their_frames() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    (0..5).for_each(|number| harnesses.push(VideoFormat::Nv12, number));
    harnesses.end();
    let times: Vec<_> = harnesses.rest().iter().map(|panorama| panorama.pts().unwrap()).collect();
    assert_eq!(times, [0, 1, 2, 3, 4].map(time));
}

#[test]
fn the_panorama_ends_with_the_first_camera_that_ends() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    harnesses.push(VideoFormat::Nv12, 1);
    assert!(harnesses.cameras[1].push_event(gst::event::Eos::new()));
    let bytes = frame(VideoFormat::Nv12, 0, 2, gain(0));
    // The element may have ended before it takes this frame.
    let _ = harnesses.cameras[0].push(buffer(bytes, 2));
    assert_eq!(harnesses.rest().len(), 2);
}

#[test]
fn a_pad_can_repeat_its_last_frame_after_its_end() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.element.static_pad("sink_1").unwrap().set_property("repeat-after-eos", true);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    assert!(harnesses.cameras[1].push_event(gst::event::Eos::new()));
    for number in 1..4 {
        let bytes = frame(VideoFormat::Nv12, 0, number, gain(0));
        harnesses.cameras[0].push(buffer(bytes, number)).unwrap();
    }
    assert!(harnesses.cameras[0].push_event(gst::event::Eos::new()));
    assert_eq!(harnesses.rest().len(), 4);
}

#[test]
fn a_camera_with_half_the_rate_is_repeated() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    let info = picture_info(VideoFormat::Nv12);
    let slow = gst_video::VideoInfo::builder(info.format(), info.width(), info.height())
        .fps(gst::Fraction::new(25, 2))
        .colorimetry(&info.colorimetry())
        .build()
        .unwrap();
    harnesses.cameras[0].set_src_caps(info.to_caps().unwrap());
    harnesses.cameras[1].set_src_caps(slow.to_caps().unwrap());
    harnesses.cameras.iter_mut().for_each(gst_check::Harness::play);
    // A push blocks until the element has taken the frame before, so each camera has a thread.
    std::thread::scope(|scope| {
        for (i, camera) in harnesses.cameras.iter_mut().enumerate() {
            scope.spawn(move || {
                for number in (0..6).step_by(i + 1) {
                    let mut buffer = buffer(frame(VideoFormat::Nv12, i, number, gain(i)), number);
                    buffer.get_mut().unwrap().set_duration(time(i + 1));
                    camera.push(buffer).unwrap();
                }
                assert!(camera.push_event(gst::event::Eos::new()));
            });
        }
    });
    assert_eq!(harnesses.rest().len(), 6);
}

#[test]
fn a_flush_restarts_the_panorama() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    harnesses.push(VideoFormat::Nv12, 1);
    let first = bytes(&harnesses.cameras[0].pull().unwrap());
    // The events of a seek have one number.
    let seqnum = gst::Seqnum::next();
    for camera in &mut harnesses.cameras {
        assert!(camera.push_event(gst::event::FlushStart::builder().seqnum(seqnum).build()));
    }
    for camera in &mut harnesses.cameras {
        assert!(camera.push_event(gst::event::FlushStop::builder(true).seqnum(seqnum).build()));
        let segment = gst::FormattedSegment::<gst::ClockTime>::new();
        assert!(camera.push_event(gst::event::Segment::builder(&segment).seqnum(seqnum).build()));
    }
    while harnesses.cameras[0].try_pull().is_some() {}
    for number in 0..3 {
        harnesses.push(VideoFormat::Nv12, number);
    }
    harnesses.end();
    let panoramas = harnesses.rest();
    let times: Vec<_> = panoramas.iter().map(|panorama| panorama.pts().unwrap()).collect();
    assert_eq!(times, [0, 1, 2].map(time));
    // The colours have followed the frames, so the levels may differ by one.
    let again = bytes(&panoramas[0]);
    assert!(first.iter().zip(&again).all(|(a, b)| a.abs_diff(*b) <= 1));
}

#[test]
fn a_seek_that_cameras_refuse_changes_nothing() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    for number in 0..4 {
        let flags = gst::SeekFlags::FLUSH;
        let (start, stop) = (gst::SeekType::Set, gst::SeekType::None);
        let seek = gst::event::Seek::new(1.0, flags, start, time(9), stop, gst::ClockTime::NONE);
        assert!(!harnesses.cameras[0].push_upstream_event(seek));
        harnesses.push(VideoFormat::Nv12, number);
    }
    harnesses.end();
    assert_eq!(harnesses.rest().len(), 4);
}

#[test]
fn frames_before_the_running_time_are_dropped() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
    segment.set_offset(time(2));
    for camera in &mut harnesses.cameras {
        assert!(camera.push_event(gst::event::Segment::new(&segment)));
    }
    (0..6).for_each(|number| harnesses.push(VideoFormat::Nv12, number));
    harnesses.end();
    assert_eq!(harnesses.rest().len(), 4);
}

#[test]
fn a_gap_repeats_the_last_frame() {
    let scene = Scene::new(2);
    let mut harnesses = Harnesses::new(&scene.element(), 2);
    harnesses.element.set_property("match-colours", false);
    harnesses.play(&picture_info(VideoFormat::Nv12));
    harnesses.push(VideoFormat::Nv12, 0);
    for (i, camera) in harnesses.cameras.iter_mut().enumerate() {
        if i == 0 {
            camera.push(buffer(frame(VideoFormat::Nv12, 0, 0, gain(0)), 1)).unwrap();
        } else {
            let gap = gst::event::Gap::builder(time(1)).duration(time(1)).build();
            assert!(camera.push_event(gap));
        }
    }
    harnesses.push(VideoFormat::Nv12, 2);
    harnesses.end();
    let panoramas = harnesses.rest();
    assert_eq!(panoramas.len(), 3);
    // Both cameras show their first frame again.
    assert!(bytes(&panoramas[0]) == bytes(&panoramas[1]));
    assert!(bytes(&panoramas[0]) != bytes(&panoramas[2]));
}
