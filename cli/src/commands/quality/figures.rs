//! Collects the measurements of `panoweave quality`, and formats them as a table and as JSON.

use std::fmt::Write as _;

use panoweave::frame::Frame;
use panoweave::ops::colour::Colours;
use panoweave::ops::ssim::Similarity;
use panoweave::ops::stitch::Vignettes;
use panoweave::quality::{
    CameraDifference, Flicker, OverlapMeter, QualityError, SeamVisibility, SpanDifference,
    colour_score, flicker_score, seam_score,
};
use panoweave::video::AtFrame;
use serde_json::{Value, json};

use crate::commands::compare::{decibels, shown};

/// The names of all scores, which `--fail-below` accepts.
pub(crate) const SCORES: [&str; 4] = ["seam", "colour", "flicker", "ssim"];

/// The measurements of a panorama, which is a picture or a video. Frames are numbered from 0. A picture counts as
/// frame 0.
#[derive(Default)]
pub(crate) struct Figures {
    seams: Vec<(u64, SeamVisibility)>,
    cameras: Vec<CameraDifferences>,
    /// The fraction of the panorama, 0 to 1, that both cameras cover.
    overlap: Option<f64>,
    pub(crate) flicker: Option<Flicker>,
    pub(crate) similarity: Option<Similarity>,
}

/// The corrections that the stitch applies.
pub(crate) struct Corrected<'a> {
    /// The frames to which the stitch applies them, if they are not those of the cameras.
    pub(crate) frames: Option<&'a [Frame<'a>]>,
    pub(crate) colours: Colours,
    pub(crate) vignettes: Vignettes,
}

/// The colour difference between two cameras in one frame.
struct CameraDifferences {
    frame: u64,
    /// The colour difference of the cameras' frames without colour correction.
    before: CameraDifference,
    /// The colour difference after the correction that the stitch applied. `None` for a finished panorama, because it
    /// is unknown which correction its stitch applied.
    after: Option<CameraDifference>,
}

impl CameraDifferences {
    /// Returns the difference that the score counts: after the correction, if there is one.
    fn counts(&self) -> f64 {
        self.after.unwrap_or(self.before).colour()
    }
}

/// The mean and the maximum of a measured value over all measured frames, and the number of the frame with the maximum.
struct Spread {
    mean: f64,
    worst: AtFrame,
}

/// Computes the mean and the maximum of `values`, each with its frame number. Returns `None` if there are no values.
fn spread(values: impl Iterator<Item = (u64, f64)>) -> Option<Spread> {
    let (mut sum, mut many, mut worst) = (0.0, 0.0, None::<AtFrame>);
    for (frame, value) in values {
        sum += value;
        many += 1.0;
        if worst.is_none_or(|worst| value > worst.value) {
            worst = Some(AtFrame { frame, value });
        }
    }
    worst.map(|worst| Spread { mean: sum / many, worst })
}

impl Figures {
    pub(crate) fn add_seam(&mut self, frame: u64, found: Option<SeamVisibility>) {
        self.seams.extend(found.map(|found| (frame, found)));
    }

    /// Measures the colour difference between the frames of each pair of cameras in their overlap, without
    /// correction. If `after` is given, also measures the differences of the corrected frames. Keeps the pair that
    /// differs most.
    pub(crate) fn add_cameras(
        &mut self,
        frame: u64,
        meters: &[OverlapMeter],
        frames: &[Frame<'_>],
        after: Option<&Corrected<'_>>,
    ) -> Result<(), QualityError> {
        let mut worst: Option<CameraDifferences> = None;
        for meter in meters {
            let before = meter.measure(frames, &Colours::IDENTITY, &Vignettes::NONE)?;
            let after = match after {
                None => None,
                Some(Corrected {
                    frames: None,
                    colours: Colours::IDENTITY,
                    vignettes: Vignettes::NONE,
                }) => Some(before),
                Some(Corrected { frames: corrected, colours, vignettes }) => {
                    Some(meter.measure(corrected.unwrap_or(frames), colours, vignettes)?)
                }
            };
            let found = CameraDifferences { frame, before, after };
            if worst.as_ref().is_none_or(|worst| found.counts() > worst.counts()) {
                worst = Some(found);
            }
        }
        if let Some(worst) = worst {
            self.overlap = Some(meters.iter().map(OverlapMeter::share).sum());
            self.cameras.push(worst);
        }
        Ok(())
    }

    fn seam(&self) -> Option<Spread> {
        spread(self.seams.iter().map(|(frame, seam)| (*frame, seam.ratio())))
    }

    fn colour(&self) -> Option<Spread> {
        let after = |cameras: &CameraDifferences| Some((cameras.frame, cameras.after?.colour()));
        spread(self.cameras.iter().filter_map(after))
    }

    /// Returns the name and value of each score that could be measured, in the order of [`SCORES`].
    pub(crate) fn scores(&self) -> Vec<(&'static str, f64)> {
        // The flicker score compares three consecutive frames, so videos with fewer frames do not have this score.
        let flicker = self.flicker.filter(|flicker| flicker.frames > 2);
        let scores = [
            self.seam().map(|seam| seam_score(seam.worst.value)),
            self.colour().map(|colour| colour_score(colour.worst.value)),
            flicker.map(|flicker| flicker_score(flicker.mean)),
            self.similarity.map(|similarity| similarity.ssim),
        ];
        SCORES.into_iter().zip(scores).filter_map(|(name, score)| Some((name, score?))).collect()
    }

    /// Returns the number of the frame with the most visible seam, and the measurements of this seam.
    fn worst_seam(&self) -> Option<&(u64, SeamVisibility)> {
        self.seams.iter().max_by(|(_, a), (_, b)| a.ratio().total_cmp(&b.ratio()))
    }

    /// Formats one line per measurement: its name, its score (`-` if there is no score), and the measured values.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let scores = self.scores();
        let mut line = |name: &str, what: String| {
            let score = scores.iter().find(|(score, _)| *score == name);
            let verdict = score.map_or("", |(_, score)| verdict(*score));
            let score = score.map_or("-".to_owned(), |(_, score)| format!("{score:.4}"));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<8} {score:>7}  {verdict:<6}  {what}");
        };
        let many = self.seams.len() > 1 || self.flicker.is_some();
        let of =
            |at: &AtFrame| if many { format!(" in frame {}", at.frame) } else { String::new() };
        if let (Some(Spread { mean, worst }), Some((_, seam))) = (self.seam(), self.worst_seam()) {
            let SpanDifference { span, places, across, beside, step } = *seam.worst();
            let mean = if many { format!("mean ratio {mean:.3}, ") } else { String::new() };
            line(
                "seam",
                format!(
                    "{mean}ratio {:.3}{}: change {across:.2} levels across the seam and {beside:.2} beside it, each plus \
                     half a level; step {step:.2} levels between pixels {span} px apart, at {places} positions",
                    worst.value,
                    of(&worst)
                ),
            );
        } else {
            line("seam", "not measured: there is no border between the cameras".to_owned());
        }
        let before = spread(self.cameras.iter().map(|c| (c.frame, c.before.colour())));
        if let Some(before) = before {
            let (before, frame) = (before.worst.value, of(&before.worst));
            line(
                "colour",
                match self.colour() {
                    Some(after) => format!(
                        "mean levels of the cameras differ by {:.2}{}, by {before:.2} before correction{frame}",
                        after.worst.value,
                        of(&after.worst)
                    ),
                    None => {
                        format!(
                            "mean levels of the cameras differ by {before:.2}{frame}, without correction"
                        )
                    }
                },
            );
        }
        let pixels = self.cameras.iter().map(|c| (c.frame, c.after.unwrap_or(c.before)));
        let pixels = spread(pixels.map(|(frame, found)| (frame, found.disagreement())));
        if let (Some(pixels), Some(share)) = (pixels, self.overlap) {
            line(
                "overlap",
                format!(
                    "{:.1} % of the panorama, pixels differ by {:.2} levels{}",
                    100.0 * share,
                    pixels.worst.value,
                    of(&pixels.worst)
                ),
            );
        }
        if let Some(Flicker { frames, mean, most, largest_step }) = self.flicker {
            line(
                "flicker",
                format!(
                    "mean {mean:.3} levels, maximum {:.3} in frame {}, largest step {:.3} in frame {}; {frames} frames",
                    most.value, most.frame, largest_step.value, largest_step.frame
                ),
            );
        }
        if let Some(Similarity { psnr, psnr_rgb, .. }) = self.similarity {
            let rgb = psnr_rgb.map_or(String::new(), |psnr| format!(", of RGB {}", shown(psnr)));
            line("ssim", format!("PSNR of gray {}{rgb}", shown(psnr)));
        }
        text
    }

    /// Returns the scores and the measurements as a JSON object.
    pub(crate) fn json(&self) -> Value {
        let scores: serde_json::Map<_, _> = self
            .scores()
            .into_iter()
            .map(|(name, score)| (name.to_owned(), score.into()))
            .collect();
        json!({
            "scores": scores,
            "seam": self.seam().map(|Spread { mean, worst }| json!({
                "ratio": { "mean": mean, "most": at(worst) },
                "frames": self.seams.iter().map(seam_json).collect::<Vec<_>>(),
            })),
            "colour": spread(self.cameras.iter().map(|c| (c.frame, c.before.colour()))).map(|before| json!({
                "before": { "mean": before.mean, "most": at(before.worst) },
                "after": self.colour().map(|after| json!({ "mean": after.mean, "most": at(after.worst) })),
                "frames": self.cameras.iter().map(camera_json).collect::<Vec<_>>(),
            })),
            "overlap": self.overlap,
            "flicker": self.flicker.map(|flicker| json!({
                "frames": flicker.frames,
                "mean": flicker.mean,
                "most": at(flicker.most),
                "largest_step": at(flicker.largest_step),
            })),
            "similarity": self.similarity.map(|similarity| json!({
                "ssim_gray": similarity.ssim,
                "psnr_gray": decibels(similarity.psnr),
                "psnr_rgb": similarity.psnr_rgb.map(decibels),
                "identical": {
                    "gray": similarity.psnr.is_infinite(),
                    "rgb": similarity.psnr_rgb.map(f64::is_infinite),
                },
            })),
        })
    }
}

/// Returns a score as a word. The help of the command explains the limits.
fn verdict(score: f64) -> &'static str {
    match score {
        0.9.. => "good",
        0.8..0.9 => "usable",
        _ => "poor",
    }
}

fn at(AtFrame { frame, value }: AtFrame) -> Value {
    json!({ "value": value, "frame": frame })
}

fn seam_json((frame, seam): &(u64, SeamVisibility)) -> Value {
    let span = |found: &SpanDifference| {
        json!({
            "span": found.span,
            "ratio": found.ratio(),
            "across": found.across,
            "beside": found.beside,
            "step": found.step,
            "places": found.places,
        })
    };
    let spans: Vec<_> = seam.spans.iter().map(span).collect();
    json!({ "frame": frame, "ratio": seam.ratio(), "spans": spans })
}

fn camera_json(CameraDifferences { frame, before, after }: &CameraDifferences) -> Value {
    let difference = |found: &CameraDifference| {
        json!({
            "means": found.means,
            "colour": found.colour(),
            "pixels": found.pixels,
            "disagreement": found.disagreement(),
        })
    };
    json!({ "frame": frame, "before": difference(before), "after": after.as_ref().map(difference) })
}
