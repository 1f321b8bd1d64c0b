//! Finds the time between two recordings of the same scene from their sound.
//!
//! 1. [`Track`] whitens a recording, so that different microphones, gains and rooms hardly matter (`whiten`).
//! 2. `probe` takes up to `PROBES` loud pieces of the shorter recording, 4 s each, and correlates each one with the
//!    longer recording. It keeps the highest peaks, in units of the noise that the energies at each lag predict.
//! 3. `vote` looks for the line through these peaks that most pieces support. The line gives the offset and the drift
//!    of the clocks. An offset is refused if a second line explains the pieces almost as well, as with a sound that
//!    repeats.
//!
//! Memory is bounded: callers read at most [`MAX_SECONDS`] of each recording, and the correlation works in blocks.
//! A piece of 4 s blurs by 0.4 ms if the clocks differ by 100 ppm, and loses most of its peak if they differ by more
//! than [`MAX_DRIFT`].
//!
//! Not detected: a sound that occurs twice, such as a record that is played again, if the recordings have only
//! different performances in common. Not included: microphones so far apart that they hear different sounds, and the
//! time that sound needs from one microphone to the other (3 ms per metre).

mod probe;
mod vote;
mod whiten;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub use whiten::Track;

use super::Offset;
use crate::error::passes_on;
use crate::io::video::{Sound, Stop, VideoError, VideoSource};

/// The number of samples per second of a [`Track`].
pub const RATE: u32 = 8000;

/// The maximum length of a recording that is searched, in seconds.
pub const MAX_SECONDS: u32 = 3600;

/// The length of sound in seconds that two recordings must have in common.
pub const LEAST_SECONDS: f64 = 3.0;

/// The maximum difference between the speeds of two clocks, as a fraction. Crystal oscillators of cameras differ by
/// less than 1e-4.
pub const MAX_DRIFT: f64 = 3e-4;

/// The maximum number of pieces of a recording that are correlated with the other one.
const PROBES: usize = 24;

/// The ratio of the best to the second-best explanation below which an offset is refused.
const LEAST_CONFIDENCE: f64 = 1.25;

/// The offset of a recording that [`offset`] found, and its reliability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoundOffset {
    /// The offset and the drift of the recording's clock.
    pub offset: Offset,
    /// The height of the correlation at this offset, divided by the height at the second-best offset: 1.25 to 100.
    pub confidence: f64,
    /// The number of pieces of sound that agree with this offset.
    pub agreeing: usize,
    /// The number of pieces of sound that were compared.
    pub compared: usize,
}

impl SoundOffset {
    /// Returns the confidence as a word: `good` if it is at least 2, otherwise `usable`. Worse ones are errors.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.confidence >= 2.0 { "good" } else { "usable" }
    }
}

/// The reason why no offset was found.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum SoundError {
    /// A recording is silent or too short.
    #[error("one of the recordings is silent or shorter than {LEAST_SECONDS} s")]
    Silent,
    /// The recordings have no sound in common, or their clocks differ by more than [`MAX_DRIFT`].
    #[error(
        "the recordings have no {LEAST_SECONDS} s of sound in common at offsets up to {most:.0} s, or their clocks differ by more than {:.0} ppm", MAX_DRIFT * 1e6
    )]
    Different { most: f64 },
    /// Several offsets explain the sound almost equally well.
    #[error(
        "the sound repeats, so that {:.3} s and {:.3} s explain it almost equally well (confidence {confidence:.2}, needed: {LEAST_CONFIDENCE})", .seconds[0], .seconds[1]
    )]
    Ambiguous { seconds: [f64; 2], confidence: f64 },
}

/// The error if the offsets of videos cannot be found from their sound.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum SyncError {
    /// The sound of two videos does not determine their offset.
    #[error("{}: cannot find its offset to {} from the sound: {error}; give the offset in seconds as `sync`, for example 0.25", other.display(), first.display())]
    Sound { first: PathBuf, other: PathBuf, error: SoundError },
    /// The sound of a video cannot be read.
    #[error(transparent)]
    Video(#[from] VideoError),
}

passes_on!(SyncError: Video);

/// Finds the offsets of videos relative to the first one from their sound, searching offsets up to `most` seconds.
/// Returns one offset for each further video, or `None` if a stop was requested.
///
/// Reads the first hour of each video's sound. The sounds of two videos are in memory at a time, up to 115 MB each.
///
/// # Errors
/// Returns [`SyncError`] if a video has no sound, or if the sound does not determine its offset.
pub fn find_offsets(
    sources: &[VideoSource],
    most: f64,
    stop: &Stop,
) -> Result<Option<Vec<SoundOffset>>, SyncError> {
    let Some((first, others)) = sources.split_first() else { return Ok(Some(Vec::new())) };
    // Check all videos before the first one is read, which may take a while.
    for source in sources {
        has_sound(source)?;
    }
    let Some(reference) = track(first, stop)? else { return Ok(None) };
    let mut offsets = Vec::new();
    for other in others {
        let Some(track) = track(other, stop)? else { return Ok(None) };
        let found = offset(&reference, &track, most).map_err(|error| {
            let [first, other] = [first, other].map(|source| source.name().to_owned());
            SyncError::Sound { first, other, error }
        });
        offsets.push(found?);
    }
    Ok(Some(offsets))
}

fn has_sound(source: &VideoSource) -> Result<&Sound, VideoError> {
    source.sound().ok_or_else(|| VideoError::input(source.name(), "no sound track; only files that ffmpeg reads have one; give the offset of the recordings in seconds as `sync`, for example 0.25"))
}

/// Reads the sound of a video. Returns `None` if a stop was requested.
fn track(source: &VideoSource, stop: &Stop) -> Result<Option<Track>, VideoError> {
    let most = Duration::from_secs(MAX_SECONDS.into());
    Ok(has_sound(source)?.samples(RATE, most, stop)?.map(Track::new))
}

/// Finds the offset of `other` relative to `reference` from their sound, searching offsets up to `most` seconds in
/// both directions.
///
/// # Errors
/// Returns [`SoundError`] if the recordings have no sound in common, or if their sound does not determine the offset.
pub fn offset(reference: &Track, other: &Track, most: f64) -> Result<SoundOffset, SoundError> {
    if reference.is_silent() || other.is_silent() {
        return Err(SoundError::Silent);
    }
    // Take the pieces from the shorter recording, because most of the longer one may have no counterpart.
    let swapped = reference.samples().len() < other.samples().len();
    let (short, long) = if swapped { (reference, other) } else { (other, reference) };
    let most_samples = (most.max(0.0) * f64::from(RATE)) as usize;
    let probes = probe::correlate(short.samples(), long.samples(), most_samples);
    let found = vote::vote(&probes, long.samples().len());
    let found = found.ok_or(SoundError::Different { most })?;
    let best = found.offset(swapped);
    if found.confidence < LEAST_CONFIDENCE {
        let second = found.rival_seconds(swapped);
        let seconds = [best.seconds, second];
        return Err(SoundError::Ambiguous { seconds, confidence: found.confidence });
    }
    Ok(SoundOffset {
        offset: best,
        confidence: found.confidence,
        agreeing: found.agreeing,
        compared: probes.len(),
    })
}

#[cfg(test)]
mod tests;
