//! The offsets of recordings that did not start together.

use super::JobError;
use super::options::InputOptions;
use super::text::Sync;
use crate::io::video::{Stop, VideoSource};
use crate::video::Offset;
use crate::video::sound::{SoundError, SoundOffset, SyncError, find_offsets};

/// The largest offset, in seconds, that is searched in the sound.
const MOST_AUDIO: f64 = 600.0;

/// The offset of each video, and how it was found.
#[derive(Clone, Debug)]
pub struct Synced {
    /// The offset of each video. That of the first one is [`Offset::NONE`].
    pub offsets: Vec<Offset>,
    /// The results of the search in the sound for each further video. Empty if the offsets were given.
    pub found: Vec<SoundOffset>,
}

impl InputOptions {
    /// Checks that there is one offset for each video after the first, if offsets are given.
    pub fn check(&self, videos: usize) -> Result<(), JobError> {
        match &self.sync {
            Some(Sync::Seconds(seconds)) if seconds.len() + 1 != videos => {
                let (found, expected) = (seconds.len(), videos.saturating_sub(1));
                Err(JobError::Usage(format!(
                    "`sync`: {found} offsets are given, but {expected} are needed: one for each video after the first"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns the offsets of the videos, or `None` if they start together. `otherwise` is the default of the field
    /// `sync`.
    ///
    /// # Errors
    /// Returns [`JobError`] if an offset must come from the sound and cannot be found there, or if a stop was requested.
    pub fn offsets(
        &self,
        sources: &[VideoSource],
        otherwise: &Sync,
        stop: &Stop,
    ) -> Result<Option<Synced>, JobError> {
        let sync = self.sync.as_ref().unwrap_or(otherwise);
        let (further, found) = match sync {
            Sync::Together => return Ok(None),
            Sync::Seconds(seconds) => {
                let offset = |seconds: &f64| Offset { seconds: *seconds, drift: 0.0 };
                (seconds.iter().map(offset).collect(), Vec::new())
            }
            Sync::Auto if sources.iter().any(|source| source.sound().is_none()) => return Ok(None),
            Sync::Audio | Sync::Auto => {
                let found = match find_offsets(sources, MOST_AUDIO, stop) {
                    Err(SyncError::Sound { error: SoundError::Silent, .. })
                        if *sync == Sync::Auto =>
                    {
                        return Ok(None);
                    }
                    Err(error @ SyncError::Sound { .. }) if *sync == Sync::Auto => {
                        tracing::warn!("{error}; until then, the videos start together");
                        return Ok(None);
                    }
                    found => found?.ok_or(JobError::Interrupted)?,
                };
                for (source, found) in sources[1..].iter().zip(&found) {
                    let Offset { seconds, drift } = found.offset;
                    tracing::info!(
                        "{} starts {:.4} s {} {}; its clock drifts by {:.1} ppm; confidence {:.1} ({}), {} of {} pieces of sound agree",
                        source.name().display(),
                        seconds.abs(),
                        if seconds < 0.0 { "before" } else { "after" },
                        sources[0].name().display(),
                        1e6 * drift,
                        found.confidence,
                        found.verdict(),
                        found.agreeing,
                        found.compared,
                    );
                }
                (found.iter().map(|found| found.offset).collect::<Vec<_>>(), found)
            }
        };
        Ok(Some(Synced { offsets: [vec![Offset::NONE], further].concat(), found }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_offset_for_each_further_video() {
        let given = |count: usize| InputOptions {
            sync: Some(Sync::Seconds(vec![0.5; count])),
            ..InputOptions::default()
        };
        assert!(given(3).check(4).is_ok());
        for count in [2, 4] {
            let error = given(count).check(4).unwrap_err();
            assert!(error.to_string().contains("3"), "{error}");
        }
        assert!(InputOptions::default().check(4).is_ok());
    }
}
