//! Pictures of the cameras at several moments of their recordings, from which a rig is made or checked.
//!
//! The pictures are gray: the luma of the frames, with which matching works in any pixel format. Encoded files are
//! read again from each moment. Other media can be read only once, so their first frames are the only moment.

use super::JobError;
use crate::frame::{Frame, Rgba8};
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
    let end = |(i, source): (usize, &VideoSource)| {
        Some(source.expected()? as f64 / source.rate().per_second() + offset(i).seconds)
    };
    let ends: Option<Vec<f64>> = sources.iter().enumerate().map(end).collect();
    let end = ends.map(|ends| ends.into_iter().fold(f64::INFINITY, f64::min));
    let mut found = Vec::new();
    if let Some(end) = end.filter(|_| inputs.iter().all(|input| input.medium == Medium::File)) {
        let many = (PICTURES / inputs.len().max(1)).clamp(1, MOMENTS);
        for moment in 0..many {
            let time = begin + (end - begin) * (moment as f64 + 0.5) / many as f64;
            let at = |(i, (input, source)): (usize, (&VideoInput, &VideoSource))| VideoInput {
                start: ((time - offset(i).seconds) * (1.0 + offset(i).drift)).max(0.0),
                rate: Some(source.rate()),
                decoder: VideoDecoder::Ffmpeg,
                ..input.clone()
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

/// Returns the pictures of the first frames of all cameras.
pub(super) fn first(sources: &mut [VideoSource]) -> Result<Vec<Picture>, JobError> {
    sources.iter_mut().map(picture).collect()
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
