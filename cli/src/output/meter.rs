//! Shows the progress of a video: as a bar if stderr is a terminal, otherwise as a log line every 5 s.

use crate::output::log;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
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
    last: Instant,
    frames: u64,
}

impl Meter {
    pub(crate) fn new(expected: Option<u64>, cameras: usize) -> Self {
        let wanted = log::shows_info() && io::stderr().is_terminal();
        let bar = wanted.then(|| {
            let (bar, template) = match expected {
                Some(frames) => {
                    (ProgressBar::new(frames), "{wide_bar} {pos}/{len}  {msg}  {eta} left")
                }
                None => (ProgressBar::no_length(), "{spinner} {pos}  {msg}  {elapsed}"),
            };
            match ProgressStyle::with_template(template) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { bar, expected, cameras, last: Instant::now(), frames: 0 }
    }

    pub(crate) fn update(&mut self, progress: &Progress) {
        let every = if self.bar.is_some() { DRAWN } else { LINES };
        let since = self.last.elapsed();
        if since < every {
            return;
        }
        let fps = (progress.frames - self.frames) as f64 / since.as_secs_f64();
        let latency = progress.latency.as_secs_f64() * 1e3;
        let text =
            format!("{fps:.1} fps, {latency:.1} ms, {}", colours(&progress.colours, self.cameras));
        match &self.bar {
            Some(bar) => {
                bar.set_position(progress.frames);
                bar.set_message(text);
            }
            None => {
                let of = self.expected.map_or(String::new(), |frames| format!(" of {frames}"));
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
