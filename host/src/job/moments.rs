//! Moments of recordings: pictures of the cameras at several moments, from which a rig is made or checked, and the part of
//! the recordings that leads to the panorama of one moment.
//!
//! The pictures are gray: the luma of the frames, with which matching works in any pixel format. Encoded files are
//! read again from each moment. Other media can be read only once, so their first frames are the only moment.

use std::time::Duration;

use super::JobError;
use super::text::Moment;
use crate::frame::{Frame, Rate, Rgba8};
use crate::io::picture::Picture;
use crate::io::video::{
    Medium, Stop, VideoDecoder, VideoError, VideoFrame, VideoInput, VideoSource,
};
use crate::quality::Levels;
use crate::video::Offset;

/// The maximum number of moments. More hardly add information, because the cameras do not move.
const MOMENTS: usize = 5;

/// The maximum number of pictures in all, which limits the memory: 530 MB for frames of 4K.
const PICTURES: usize = 16;

/// Returns the pictures of all cameras at each of several moments that are spread over the time that all `sources`
/// record; at least one moment. `inputs` describe the sources.
pub(super) fn moments(
    inputs: &[VideoInput],
    sources: &mut [VideoSource],
    offsets: &[Offset],
    stop: &Stop,
) -> Result<Vec<Vec<Picture>>, JobError> {
    let offset = |i: usize| offsets.get(i).copied().unwrap_or(Offset::NONE);
    let begin = offsets.iter().map(|offset| offset.seconds).fold(0.0, f64::max);
    let ends = sources.iter().enumerate().map(|(i, source)| end(source, offsets.get(i)));
    let ends: Option<Vec<f64>> = ends.collect();
    let end = ends.map(|ends| ends.into_iter().fold(f64::INFINITY, f64::min));
    let mut found = Vec::new();
    if let Some(end) = end.filter(|_| inputs.iter().all(|input| input.medium == Medium::File)) {
        let many = (PICTURES / inputs.len().max(1)).clamp(1, MOMENTS);
        for moment in 0..many {
            let time = begin + (end - begin) * (moment as f64 + 0.5) / many as f64;
            let at = |(i, (input, source)): (usize, (&VideoInput, &VideoSource))| {
                let start = (time - offset(i).seconds) * (1.0 + offset(i).drift);
                again(input, source, start)
            };
            let inputs: Vec<_> = inputs.iter().zip(&*sources).enumerate().map(at).collect();
            match VideoSource::open_all(&inputs, stop).map(|mut all| first(&mut all)) {
                // A file may be shorter than it states.
                Ok(Err(JobError::Video(VideoError::NoFrames { .. }))) => {}
                pictures => found.push(pictures??),
            }
        }
    }
    if found.is_empty() {
        found.push(first(sources)?);
    }
    Ok(found)
}

/// Returns the stated end of a recording in seconds since the start of the first one, if its length is known.
pub(super) fn end(source: &VideoSource, offset: Option<&Offset>) -> Option<f64> {
    let offset = offset.map_or(0.0, |offset| offset.seconds);
    Some(source.expected()? as f64 / source.rate().per_second() + offset)
}

/// Returns the input that reads a recording again, from `start` seconds or from its beginning.
fn again(input: &VideoInput, source: &VideoSource, start: f64) -> VideoInput {
    let (start, decoder) = (start.max(0.0), VideoDecoder::Ffmpeg);
    VideoInput { start, rate: Some(source.rate()), decoder, ..input.clone() }
}

/// Returns the pictures of the first frames of all cameras.
pub(super) fn first(sources: &mut [VideoSource]) -> Result<Vec<Picture>, JobError> {
    sources.iter_mut().map(picture).collect()
}

/// The time before the panorama of one moment from which the videos are stitched, so that its colours and its seam are
/// those of a video.
const LEAD: Duration = Duration::from_secs(2);

/// The part of the recordings that is stitched.
pub(super) struct Part {
    pub(super) sources: Vec<VideoSource>,
    pub(super) offsets: Vec<Offset>,
    /// The time from the first panorama of the recordings to the first one of the part.
    pub(super) begin: Duration,
    /// The number of panoramas that are not written.
    pub(super) skip: u64,
    /// The number of panoramas, if it is limited.
    pub(super) limit: Option<u64>,
    /// The approximate number of panoramas, if it is known.
    pub(super) expected: Option<u64>,
}

impl Part {
    /// Opens the recordings again, at the frames that lead to the panorama of `moment`. `expected` is the number of
    /// panoramas of the recordings, and `rate` their rate.
    pub(super) fn at(
        moment: Moment,
        expected: Option<u64>,
        inputs: &[VideoInput],
        (sources, offsets): (Vec<VideoSource>, &[Offset]),
        rate: Rate,
        stop: &Stop,
    ) -> Result<Self, JobError> {
        let number = rate.frames(moment.0);
        if let Some(end) = expected.filter(|end| number >= *end) {
            let end = Moment(rate.time(end));
            return Err(JobError::Usage(format!(
                "`at` is {moment} s, but the video would end at {end} s; give an earlier time"
            )));
        }
        let skip = number.min(rate.frames(LEAD));
        let tick = Offset::first_tick(offsets, rate) + number - skip;
        let (mut parts, mut begun) = (Vec::new(), Vec::new());
        for (i, (input, source)) in inputs.iter().zip(&sources).enumerate() {
            let offset = offsets.get(i).copied().unwrap_or(Offset::NONE);
            let own = source.rate();
            let frame = offset.begun(own, tick, rate).unwrap_or(0);
            // Between two frames, because the times of frames in files are rounded.
            let start = (frame as f64 - 0.5) / own.per_second();
            parts.push(again(input, source, start));
            let time = own.time(frame).as_secs_f64() / (1.0 + offset.drift);
            begun.push(Offset { seconds: offset.seconds + time, ..offset });
        }
        let base = begun.first().map_or(0.0, |first| first.seconds);
        drop(sources);
        // No recording begins after the first panorama of the part.
        begun.iter_mut().for_each(|offset| offset.seconds = (offset.seconds - base).min(0.0));
        Ok(Self {
            sources: VideoSource::open_all(&parts, stop)?,
            offsets: begun,
            begin: rate.time(number - skip),
            skip,
            limit: Some(skip + 1),
            expected: Some(skip + 1),
        })
    }
}

fn picture(source: &mut VideoSource) -> Result<Picture, JobError> {
    source.await_first()?;
    let format = source.format();
    let copy;
    let frame = match source.first() {
        Some(VideoFrame::Host(frame)) => frame.frame(),
        Some(VideoFrame::Device(frame)) => {
            let mut bytes = vec![0; format.bytes()];
            source.download(frame, &mut bytes)?;
            copy = bytes;
            Frame::of_tight(format, &copy)
        }
        None => return Err(JobError::Interrupted),
    };
    let levels = Levels::of_frame(&frame);
    let gray = |level: u32| Rgba8::opaque(level as u8, level as u8, level as u8);
    let rows = (0..format.size.y).flat_map(|y| levels.gray_row(y).map(gray));
    let mut picture = Picture::filled(format.size.x, format.size.y, Rgba8::BLACK);
    picture.pixels_mut().iter_mut().zip(rows).for_each(|(pixel, gray)| *pixel = gray);
    Ok(picture)
}
