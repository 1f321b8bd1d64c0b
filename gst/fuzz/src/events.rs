//! The target of events, queries and buffers in any order.

use arbitrary::{Arbitrary, Result, Unstructured};
use gst::prelude::*;
use gst_check::Harness;

use crate::{CAMERAS, PICTURE, element};

/// The maximum number of steps.
const STEPS: usize = 40;

/// Steps that the input selects: caps, segments, buffers with any timestamps and sizes, flushes, gaps, ends, seeks,
/// queries, and changes of state. The element may refuse a step, but may not panic or hang.
pub(crate) fn events(data: &[u8]) {
    let element = element();
    let harness = |camera: usize| {
        let source = (camera == 0).then_some("src");
        Harness::with_element(&element, Some(&format!("sink_{camera}")), source)
    };
    let mut cameras: Vec<_> = (0..CAMERAS).map(harness).collect();
    cameras.iter_mut().for_each(Harness::play);
    let mut input = Unstructured::new(data);
    for _ in 0..STEPS {
        if input.is_empty() || step(&mut input, &element, &mut cameras).is_err() {
            break;
        }
        while cameras[0].try_pull().is_some() {}
    }
    drop(cameras);
    let _ = element.set_state(gst::State::Null);
}

fn step(
    input: &mut Unstructured<'_>,
    element: &gst::Element,
    cameras: &mut [Harness],
) -> Result<()> {
    let camera = &mut cameras[input.int_in_range(0..=CAMERAS - 1)?];
    match input.int_in_range(0..=11)? {
        0 | 1 => {
            let format = *input.choose(&["NV12", "I420", "RGBA", "P010_10LE", "BGRA"])?;
            let (mut width, height) = (PICTURE.0 as i32, PICTURE.1 as i32);
            if u8::arbitrary(input)? == 0 {
                width = i32::arbitrary(input)?;
            }
            let rate =
                gst::Fraction::new(input.int_in_range(0..=120)?, input.int_in_range(1..=1001)?);
            let caps = gst::Caps::builder("video/x-raw")
                .field("format", format)
                .field("width", width)
                .field("height", height)
                .field("framerate", rate)
                .build();
            camera.push_event(gst::event::Caps::new(&caps));
        }
        2 => {
            let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
            segment.set_start(time(input)?);
            segment.set_stop(time(input)?);
            segment.set_base(time(input)?);
            segment.set_time(time(input)?);
            camera.push_event(gst::event::Segment::new(&segment));
        }
        3..=6 => {
            let bytes = match u8::arbitrary(input)? {
                length @ 0..16 => usize::from(length) * 16,
                _ => (PICTURE.0 * PICTURE.1) as usize * *input.choose(&[3, 4, 6])? / 2,
            };
            let mut buffer = gst::Buffer::from_mut_slice(vec![u8::arbitrary(input)?; bytes]);
            if let Some(inside) = buffer.get_mut() {
                inside.set_pts(time(input)?);
                inside.set_duration(time(input)?);
                inside.set_flags(gst::BufferFlags::from_bits_truncate(
                    u32::arbitrary(input)? & 0xfff0,
                ));
            }
            let _ = camera.push(buffer);
        }
        7 => {
            let start = time(input)?.unwrap_or_default();
            camera.push_event(gst::event::Gap::builder(start).duration(time(input)?).build());
        }
        8 => {
            camera.push_event(gst::event::FlushStart::new());
            camera.push_event(gst::event::FlushStop::new(bool::arbitrary(input)?));
        }
        9 => {
            camera.push_event(gst::event::Eos::new());
        }
        10 => {
            let seek = gst::event::Seek::new(
                f64::from(i8::arbitrary(input)?) / 16.0 + 0.01,
                gst::SeekFlags::from_bits_truncate(u32::arbitrary(input)? & 0xf),
                gst::SeekType::Set,
                time(input)?,
                gst::SeekType::None,
                time(input)?,
            );
            element.send_event(seek);
            let mut latency = gst::query::Latency::new();
            element.query(&mut latency);
            let mut position = gst::query::Position::new(gst::Format::Time);
            element.query(&mut position);
        }
        _ => {
            let state =
                *input.choose(&[gst::State::Paused, gst::State::Ready, gst::State::Playing])?;
            let _ = element.set_state(state);
        }
    }
    Ok(())
}

/// Returns a time: none, a frame's time, or any.
fn time(input: &mut Unstructured<'_>) -> Result<Option<gst::ClockTime>> {
    Ok(match input.int_in_range(0..=7)? {
        0 => None,
        1 => Some(gst::ClockTime::from_nseconds(u64::arbitrary(input)? >> 1)),
        _ => Some(gst::ClockTime::from_mseconds(40 * u64::from(u8::arbitrary(input)?))),
    })
}
