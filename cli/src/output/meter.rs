//! Shows the progress of a video: as a bar if stderr is a terminal, otherwise as a log line every 5 s.

use crate::output::log;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glam::UVec2;

use indicatif::{ProgressBar, ProgressStyle};
use panoweave::device::Device;
use panoweave::frame::Rate;
use panoweave::io::video::VideoSource;
use panoweave::ops::colour::Colour;
use panoweave::ops::colour::Colours;
use panoweave::video::Progress;

/// The interval between updates of the bar.
const DRAWN: Duration = Duration::from_millis(500);

/// The interval between log lines if stderr is not a terminal.
const LINES: Duration = Duration::from_secs(5);

/// Shows the progress of a video on stderr, unless `-q` is given.
pub(crate) struct Meter {
    bar: Option<ProgressBar>,
    expected: Option<u64>,
    /// The number of cameras.
    cameras: usize,
    start: Instant,
    last: Instant,
    frames: u64,
}

impl Meter {
    pub(crate) fn new(expected: Option<u64>, cameras: usize) -> Self {
        let wanted = log::shows_info() && io::stderr().is_terminal();
        let bar = wanted.then(|| {
            let (bar, template) = match expected {
                Some(frames) => (ProgressBar::new(frames), "{wide_bar} {percent} %  {msg}"),
                None => (ProgressBar::no_length(), "{spinner} {pos}  {msg}  {elapsed}"),
            };
            match ProgressStyle::with_template(template) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        let start = Instant::now();
        Self { bar, expected, cameras, start, last: start, frames: 0 }
    }

    pub(crate) fn update(&mut self, progress: &Progress) {
        let every = if self.bar.is_some() { DRAWN } else { LINES };
        let since = self.last.elapsed();
        if since < every {
            return;
        }
        let fps = (progress.frames - self.frames) as f64 / since.as_secs_f64();
        let latency = progress.latency.as_secs_f64() * 1e3;
        let expected = self.expected.map(|expected| expected.max(progress.frames));
        let left = expected.filter(|_| progress.frames > 0).map_or(String::new(), |expected| {
            let rest = (expected - progress.frames) as f64 / progress.frames as f64;
            format!(", about {} left", shown(self.start.elapsed().mul_f64(rest)))
        });
        let colours = colours(&progress.colours, self.cameras);
        let text = format!("{fps:.1} fps{left}, {latency:.1} ms, {colours}");
        match &self.bar {
            Some(bar) => {
                bar.set_position(progress.frames);
                bar.set_message(text);
            }
            None => {
                let percent = |frames| 100 * progress.frames / frames;
                let of = expected.map_or(String::new(), |frames| {
                    format!(" of {frames} ({} %)", percent(frames.max(1)))
                });
                tracing::info!("{}{of} frames, {text}", progress.frames);
            }
        }
        (self.last, self.frames) = (Instant::now(), progress.frames);
    }

    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Logs what a run does: the inputs and the outputs with their sizes and rates, the duration and the device.
pub(crate) fn announce(
    sources: &[VideoSource],
    outputs: &[(PathBuf, UVec2)],
    rate: Rate,
    expected: Option<u64>,
    device: &Device,
) {
    let one = |file: &Path, size: UVec2, rate: Rate| {
        let rate = (100.0 * rate.per_second()).round() / 100.0;
        format!("{} ({}×{}, {rate} fps)", file.display(), size.x, size.y)
    };
    let sources = sources.iter().map(|from| one(from.name(), from.format().size, from.rate()));
    let outputs = outputs.iter().map(|(file, size)| one(file, *size, rate));
    let duration = expected.map_or(String::new(), |frames| {
        format!(", {frames} frames ({})", shown(rate.time(frames)))
    });
    tracing::info!(
        "stitching {} to {}{duration} on {device}",
        sources.collect::<Vec<_>>().join(", "),
        outputs.collect::<Vec<_>>().join(", ")
    );
}

/// Formats a duration for a person: in seconds, minutes, or hours and minutes, rounded up.
fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    let minutes = seconds.div_ceil(60);
    match (seconds, minutes) {
        (..60, _) => format!("{seconds} s"),
        (_, ..60) => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Formats the colour correction of each of the first `cameras` cameras: the gains of red, green and blue, and the
/// gamma unless it is 1.
fn colours(colours: &Colours, cameras: usize) -> String {
    let texts: Vec<_> = colours
        .iter()
        .take(cameras)
        .map(|Colour { gain, gamma, .. }| {
            let gamma = if *gamma == 1.0 { String::new() } else { format!(" ^{gamma:.2}") };
            format!("{:.2} {:.2} {:.2}{gamma}", gain.x, gain.y, gain.z)
        })
        .collect();
    format!("colour {}", texts.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (58.2, "59 s"),
            (59.2, "1 min"),
            (690.0, "12 min"),
            (3541.0, "1 h 0 min"),
            (7_380.0, "2 h 3 min"),
        ] {
            assert_eq!(shown(Duration::from_secs_f64(seconds)), text);
        }
    }
}
