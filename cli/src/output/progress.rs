//! Shows the progress of a job: its stages, the warnings about its inputs, and the panoramas of a video.

use panoweave::job::Event;

use crate::output::calibrated::summary;
use crate::output::conversions::Conversions;
use crate::output::failure::Failure;
use crate::output::meter::{Meter, announce};
use crate::output::stages::Stages;

/// The progress of a job so far.
pub(crate) struct Progress {
    pub(crate) stages: Stages,
    pub(crate) conversions: Conversions,
    meter: Option<Meter>,
}

impl Progress {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self { stages: Stages::new()?, conversions: Conversions::default(), meter: None })
    }

    /// Shows an event.
    pub(crate) fn show(&mut self, event: Event<'_>) {
        match event {
            Event::Stage(name, message) => self.stages.begin(name, message),
            Event::Converted(file, conversion) => {
                self.conversions.add(file, [conversion].into_iter());
            }
            Event::Calibrated(found, rig) => {
                if let Some(rig) = rig {
                    tracing::info!("{}: {}", rig.display(), summary(found));
                }
                found.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            }
            Event::Start { expected, sources, outputs, rate, device } => {
                self.stages.end();
                announce(sources, outputs, rate, expected, device);
                self.meter = Some(Meter::new(expected, sources.len()));
            }
            Event::Written(progress) => {
                self.meter.iter_mut().for_each(|meter| meter.update(progress));
            }
        }
    }

    /// Ends the last stage.
    pub(crate) fn end(&mut self) {
        self.stages.end();
        self.meter.take().into_iter().for_each(Meter::finish);
    }
}
