//! The target of events, buffers, queries and changes of state, in any order.
//!
//! A thread for each camera pushes events and buffers, as an element upstream would. Another thread sends events and
//! queries from downstream, and changes the state. The element may refuse each of them, but may not panic, and stops
//! when the application stops it. Its panoramas have the size of its caps. It reads all cameras to their end, unless
//! the input flushes, removes a camera, changes the state, or has times of years, whose gap takes as many panoramas.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use gst::prelude::*;

use crate::{CAMERAS, PICTURE, element};

/// The maximum number of steps of all threads.
const STEPS: usize = 60;

/// The time after which cameras that have sent all their data must have been read, on a busy machine. libFuzzer's
/// `-timeout` is shorter.
const PATIENCE: Duration = Duration::from_secs(60);

/// A step of a camera.
enum Step {
    Event(gst::Event),
    Buffer(gst::Buffer),
}

/// A step of the application, or of the elements downstream.
enum Control {
    Event(gst::Event),
    Query(gst::Query),
    State(gst::State),
    /// Removes a camera's pad.
    Release(usize),
}

pub(crate) fn events(data: &[u8]) {
    // Before the events, because it initialises GStreamer.
    let element = element();
    let (mut cameras, mut controls) = ([const { Vec::new() }; CAMERAS], Vec::new());
    let mut input = Unstructured::new(data);
    let must_end = bool::arbitrary(&mut input).unwrap_or(true);
    for camera in &mut cameras {
        camera.extend(start());
    }
    for _ in 0..STEPS {
        let mut add = || add_step(&mut input, must_end, &mut cameras, &mut controls);
        if add().is_err() || input.is_empty() {
            break;
        }
    }
    for camera in &mut cameras {
        camera.push(Step::Event(gst::event::Eos::new()));
    }
    run(&element, cameras, controls, must_end);
}

/// Connects an element to a pad per camera, and runs all steps.
fn run(
    element: &gst::Element,
    cameras: [Vec<Step>; CAMERAS],
    controls: Vec<Control>,
    must_end: bool,
) {
    let sink = sink();
    let source = element.static_pad("src").expect("the source pad");
    source.link(&sink).expect("a link");
    let (ended, ends) = channel();
    let pads: Vec<_> = (0..CAMERAS).map(|_| camera(element)).collect();
    element.set_state(gst::State::Playing).expect("an element that plays");
    thread::scope(|scope| {
        for (pad, steps) in pads.iter().zip(cameras) {
            let ended = ended.clone();
            scope.spawn(move || {
                for step in steps {
                    match step {
                        Step::Event(event) => drop(pad.push_event(event)),
                        Step::Buffer(buffer) => drop(pad.push(buffer)),
                    }
                }
                let _ = ended.send(());
            });
        }
        for control in controls {
            match control {
                Control::Event(event) => drop(sink.push_event(event)),
                Control::Query(mut query) => {
                    let _ = sink.peer_query(query.get_mut().expect("the only reference"));
                }
                Control::State(state) => drop(element.set_state(state)),
                Control::Release(camera) => {
                    if let Some(pad) = pads[camera].peer() {
                        element.release_request_pad(&pad);
                    }
                }
            }
        }
        let patience = if must_end { PATIENCE } else { Duration::from_millis(20) };
        let has_ended = (0..CAMERAS).all(|_| ends.recv_timeout(patience).is_ok());
        element.set_state(gst::State::Null).expect("a stopped element");
        assert!(has_ended || !must_end, "the element does not read its cameras");
    });
}

/// Adds a pad of the element for a camera, and returns the pad that sends to it.
fn camera(element: &gst::Element) -> gst::Pad {
    let sink = element.request_pad_simple("sink_%u").expect("a pad per camera");
    // A pad that accepted a flushing seek would have to flush. Cameras cannot seek.
    let pad = gst::Pad::builder(gst::PadDirection::Src)
        .event_function(|_, _, event| event.type_() != gst::EventType::Seek)
        .build();
    pad.link(&sink).expect("a link");
    pad.set_active(true).expect("an active pad");
    pad
}

/// Returns a pad that receives panoramas, and compares their size with that of their caps.
fn sink() -> gst::Pad {
    let pad = gst::Pad::builder(gst::PadDirection::Sink)
        .chain_function(|pad, _, buffer| {
            let caps = pad.current_caps().expect("caps before a panorama");
            let info = gst_video::VideoInfo::from_caps(&caps).expect("caps of a video");
            assert_eq!(buffer.size(), info.size(), "{caps}");
            Ok(gst::FlowSuccess::Ok)
        })
        .build();
    pad.set_active(true).expect("an active pad");
    pad
}

/// Returns the events with which each camera starts, so that most inputs lead to panoramas.
fn start() -> [Step; 3] {
    let caps = caps("NV12", PICTURE.0 as i32, gst::Fraction::new(25, 1));
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    [
        gst::event::StreamStart::new("camera"),
        gst::event::Caps::new(&caps),
        gst::event::Segment::new(&segment),
    ]
    .map(Step::Event)
}

fn caps(format: &str, width: i32, rate: gst::Fraction) -> gst::Caps {
    gst::Caps::builder("video/x-raw")
        .field("format", format)
        .field("width", width)
        .field("height", PICTURE.1 as i32)
        .field("framerate", rate)
        .build()
}

/// Appends the step that the input selects.
fn add_step(
    input: &mut Unstructured<'_>,
    must_end: bool,
    cameras: &mut [Vec<Step>; CAMERAS],
    controls: &mut Vec<Control>,
) -> Result<()> {
    let number = input.int_in_range(0..=CAMERAS - 1)?;
    let camera = &mut cameras[number];
    // The last kind needs the freedom not to end.
    let event = match input.int_in_range(0..=15 - u8::from(must_end))? {
        0 | 1 => {
            let format = *input.choose(&["NV12", "I420", "RGBA", "P010_10LE", "BGRA"])?;
            let width = match u8::arbitrary(input)? {
                0 => i32::arbitrary(input)?,
                _ => PICTURE.0 as i32,
            };
            let rate =
                gst::Fraction::new(input.int_in_range(0..=120)?, input.int_in_range(1..=1001)?);
            gst::event::Caps::new(&caps(format, width, rate))
        }
        2 => gst::event::Segment::new(&segment(input, must_end)?),
        3..=8 => {
            camera.push(Step::Buffer(buffer(input, must_end)?));
            return Ok(());
        }
        9 => {
            let start = time(input, must_end)?.unwrap_or_default();
            gst::event::Gap::builder(start).duration(time(input, must_end)?).build()
        }
        10 => gst::event::Eos::new(),
        11..=14 => {
            controls.push(control(input, number, must_end)?);
            return Ok(());
        }
        _ => {
            camera.push(Step::Event(gst::event::FlushStart::new()));
            camera.push(Step::Event(gst::event::FlushStop::new(bool::arbitrary(input)?)));
            // A flush removes the segment, and GStreamer requires one before buffers.
            gst::event::Segment::new(&segment(input, must_end)?)
        }
    };
    camera.push(Step::Event(event));
    Ok(())
}

/// Returns a segment with any bounds.
fn segment(
    input: &mut Unstructured<'_>,
    must_end: bool,
) -> Result<gst::FormattedSegment<gst::ClockTime>> {
    let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
    let start = time(input, must_end)?.unwrap_or_default();
    segment.set_start(start);
    // GStreamer requires a stop after the start.
    segment.set_stop(time(input, must_end)?.filter(|stop| *stop >= start));
    segment.set_base(time(input, must_end)?.unwrap_or_default());
    segment.set_time(time(input, must_end)?);
    segment.set_offset(time(input, must_end)?.unwrap_or_default());
    Ok(segment)
}

/// Returns a buffer with any timestamps and flags, whose size is mostly that of a frame.
fn buffer(input: &mut Unstructured<'_>, must_end: bool) -> Result<gst::Buffer> {
    let bytes = match u8::arbitrary(input)? {
        length @ 0..16 => usize::from(length) * 16,
        // NV12 and I420, RGBA and BGRA, P010.
        length => (PICTURE.0 * PICTURE.1) as usize * [3, 3, 3, 8, 6][usize::from(length % 5)] / 2,
    };
    let mut buffer = gst::Buffer::from_mut_slice(vec![u8::arbitrary(input)?; bytes]);
    let inside = buffer.get_mut().expect("the only reference");
    inside.set_pts(time(input, must_end)?);
    inside.set_duration(time(input, must_end)?);
    // The lower bits belong to GStreamer.
    let flags = u32::from(u16::arbitrary(input)?) & 0xfff0;
    inside.set_flags(gst::BufferFlags::from_bits_truncate(flags));
    Ok(buffer)
}

fn control(input: &mut Unstructured<'_>, camera: usize, must_end: bool) -> Result<Control> {
    // As above, for the last two kinds.
    Ok(match input.int_in_range(0..=9 - 2 * u8::from(must_end))? {
        0 | 1 => Control::Event(gst::event::Seek::new(
            f64::from(i8::arbitrary(input)?) / 16.0 + 0.01,
            gst::SeekFlags::from_bits_truncate(u32::arbitrary(input)? & 0xf),
            gst::SeekType::Set,
            time(input, must_end)?.unwrap_or_default(),
            gst::SeekType::None,
            gst::ClockTime::NONE,
        )),
        2 => Control::Event(gst::event::Reconfigure::new()),
        3 => {
            let now = time(input, must_end)?.unwrap_or_default();
            // GStreamer requires a sum that is not negative.
            let jitter = i64::arbitrary(input)?.max(-now.nseconds().cast_signed());
            let kind = *input.choose(&[
                gst::QOSType::Overflow,
                gst::QOSType::Underflow,
                gst::QOSType::Throttle,
            ])?;
            Control::Event(gst::event::Qos::new(
                kind,
                f64::from(u8::arbitrary(input)?),
                jitter,
                now,
            ))
        }
        4 => Control::Event(gst::event::Latency::new(time(input, must_end)?.unwrap_or_default())),
        5 => Control::Query(gst::query::Latency::new().into()),
        6 => Control::Query(gst::query::Position::new(gst::Format::Time).into()),
        7 => Control::Query(gst::query::Duration::new(gst::Format::Time).into()),
        8 => Control::Release(camera),
        _ => Control::State(*input.choose(&[
            gst::State::Paused,
            gst::State::Ready,
            gst::State::Playing,
        ])?),
    })
}

/// Returns a time: none, any, or mostly that of a frame.
fn time(input: &mut Unstructured<'_>, must_end: bool) -> Result<Option<gst::ClockTime>> {
    Ok(match input.int_in_range(0..=15)? {
        0 => None,
        1 if !must_end => {
            Some(gst::ClockTime::from_nseconds(u64::arbitrary(input)?.min(u64::MAX - 1)))
        }
        _ => Some(gst::ClockTime::from_mseconds(40 * u64::from(u8::arbitrary(input)?))),
    })
}
