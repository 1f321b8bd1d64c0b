//! The option `--sync`, which states when the recording of each camera starts, or finds it from the sound.

use std::path::Path;

use panoweave::io::video::{Stop, VideoSource};
use panoweave::video::sound::{SoundOffset, find_offsets};
use panoweave::video::{MAX_OFFSET, Offset};
use serde_json::{Value, json};

use crate::output::failure::Failure;

/// The word that selects the search in the sound.
const AUDIO: &str = "audio";

/// The largest offset, in seconds, that is searched in the sound.
const MOST_AUDIO: f64 = 600.0;

/// The options that align recordings which did not start at the same time.
#[derive(Debug, clap::Args)]
pub(crate) struct Synchronising {
    /// Aligns recordings that did not start together. N is the time in seconds from the start of the first video to the
    /// start of each further video, separated by commas; it is negative if that video started earlier. `audio` finds
    /// these times, up to 10 minutes, and the drift of the cameras' clocks from the sound of the files. By default, all
    /// videos start together.
    #[arg(long, value_name = "audio|N,...", value_parser = sync, allow_hyphen_values = true)]
    sync: Option<Sync>,
}

/// The value of `--sync`.
#[derive(Clone, Debug, PartialEq)]
enum Sync {
    Audio,
    Seconds(Vec<f64>),
}

/// Parses `audio`, or numbers of seconds separated by commas.
fn sync(text: &str) -> Result<Sync, String> {
    if text == AUDIO {
        return Ok(Sync::Audio);
    }
    let seconds = |word: &str| word.trim().parse().ok().filter(|n: &f64| n.abs() <= MAX_OFFSET);
    let all: Option<Vec<f64>> = text.split(',').map(seconds).collect();
    all.map(Sync::Seconds).ok_or_else(|| {
        format!("the value must be audio, or a number of seconds from -{MAX_OFFSET} to {MAX_OFFSET} for each further video, separated by commas, as in 0.25,-1.5")
    })
}

/// The offset of each video, and how it was found.
#[derive(Debug)]
pub(crate) struct Synced {
    /// The offset of each video. That of the first one is [`Offset::NONE`].
    pub(crate) offsets: Vec<Offset>,
    /// The results of the search in the sound for each further video. Empty if the offsets were given.
    found: Vec<SoundOffset>,
}

impl Synchronising {
    /// Returns the offsets of the videos, or `None` if the option is not given.
    pub(crate) fn offsets(
        &self,
        sources: &[VideoSource],
        stop: &Stop,
    ) -> Result<Option<Synced>, Failure> {
        let (further, found) = match &self.sync {
            None => return Ok(None),
            Some(Sync::Seconds(seconds)) => {
                let offset = |seconds: &f64| Offset { seconds: *seconds, drift: 0.0 };
                (seconds.iter().map(offset).collect(), Vec::new())
            }
            Some(Sync::Audio) => {
                let found = find_offsets(sources, MOST_AUDIO, stop)?
                    .ok_or_else(crate::output::interrupt::stopped)?;
                for (source, found) in sources[1..].iter().zip(&found) {
                    tracing::info!("{}", describe(source.name(), sources[0].name(), found));
                }
                (found.iter().map(|found| found.offset).collect::<Vec<_>>(), found)
            }
        };
        let offsets = [vec![Offset::NONE], further].concat();
        Ok(Some(Synced { offsets, found }))
    }

    pub(crate) fn is_given(&self) -> bool {
        self.sync.is_some()
    }

    /// Checks the number of offsets. Call this before the videos are opened.
    pub(crate) fn check(&self, videos: usize) -> Result<(), Failure> {
        match &self.sync {
            Some(Sync::Seconds(seconds)) if seconds.len() + 1 != videos => {
                let (found, expected) = (seconds.len(), videos - 1);
                Err(Failure::usage(format!(
                    "--sync: {found} offsets are given, but {expected} are needed: one for each video after the first"
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Synced {
    /// Returns the offset of a video as JSON. `confidence` and `agreeing` are null for offsets that were given.
    pub(crate) fn json(&self, video: usize) -> Value {
        let found = video.checked_sub(1).and_then(|i| self.found.get(i));
        json!({
            "offset": self.offsets[video].seconds,
            "drift_ppm": 1e6 * self.offsets[video].drift,
            "confidence": found.map(|found| found.confidence),
            "agreeing": found.map(|found| [found.agreeing, found.compared]),
        })
    }
}

fn describe(video: &Path, first: &Path, found: &SoundOffset) -> String {
    let Offset { seconds, drift } = found.offset;
    format!(
        "{} starts {:.4} s {} {}; its clock drifts by {:.1} ppm; confidence {:.1}, {} of {} pieces of sound agree",
        video.display(),
        seconds.abs(),
        if seconds < 0.0 { "before" } else { "after" },
        first.display(),
        1e6 * drift,
        found.confidence,
        found.agreeing,
        found.compared,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_audio_or_seconds() {
        assert_eq!(sync("audio"), Ok(Sync::Audio));
        assert_eq!(sync("0.25"), Ok(Sync::Seconds(vec![0.25])));
        assert_eq!(sync("0, -1.25,86400"), Ok(Sync::Seconds(vec![0.0, -1.25, 86_400.0])));
        for text in ["", "Audio", "1,", "1;2", "nan", "inf", "86401", "1 2", "audio,1"] {
            assert!(sync(text).is_err(), "{text}");
        }
    }

    #[test]
    fn there_is_one_offset_for_each_further_video() {
        let given = |count: usize| Synchronising { sync: Some(Sync::Seconds(vec![0.5; count])) };
        assert!(given(3).check(4).is_ok());
        for count in [2, 4] {
            let error = given(count).check(4).unwrap_err();
            assert!(error.to_string().contains("3"), "{error}");
        }
        assert!(Synchronising { sync: None }.check(4).is_ok());
    }
}
