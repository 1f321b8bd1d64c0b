//! `panoweave stitch`: stitches pictures into a panorama. The geometry comes from a warp, a rig or a homography, or
//! from a calibration of the pictures.

use panoweave::job::{Job, StitchJob};
use panoweave::ops::colour::Colour;
use panoweave::panorama::Coverage;
use serde_json::json;

use crate::options::job::Options;
use crate::output;
use crate::output::calibrated::{describe, summary};
use crate::output::colour;
use crate::output::failure::Failure;
use crate::output::log;
use crate::output::progress::Progress;

const AFTER_HELP: &str = "\
Examples:
  panoweave stitch l.jpg r.jpg -o pano.png
  panoweave stitch a.jpg b.jpg c.jpg d.jpg -o pano.jpg --crop
  panoweave stitch l.jpg r.jpg --rig rig.toml -o pano.png
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --gain 1 --gain 1.2
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --match-colour --feather 40
  panoweave stitch l.png r.png --warp rig.safetensors -o pano.png --device cuda:0 --json
  panoweave stitch l.png r.png --warp planes/ --size 5700x1900 -o pano.png --flip

Without --warp, --rig or --homography, the pictures are calibrated first, like `panoweave calibrate` does, and their
colours are matched. Of three or more pictures, those that do not fit the others are left out, with a warning.
--homography accepts only two pictures.
A homography file has nine numbers, row by row: the matrix that maps pixels of the second picture to the first one.
See panoweave --help for exit codes and errors as JSON.";

/// Stitches pictures into a panorama.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[group(id = "map", multiple = false, args = ["warp", "rig", "homography"])]
pub(crate) struct Args {
    #[command(flatten)]
    job: Options<StitchJob>,
    /// Prints the job as TOML for `panoweave run` instead of doing it.
    #[arg(long)]
    print_job: bool,
}

/// Runs `panoweave stitch`: writes the panorama and prints a summary.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    if args.print_job {
        return output::print(&Job::Stitch(args.job.0.clone()).to_toml()?);
    }
    stitch(&args.job, as_json)
}

/// Does a job, and prints a summary.
pub(crate) fn stitch(job: &StitchJob, as_json: bool) -> Result<(), Failure> {
    let mut progress = Progress::new()?;
    let done = job.run(&mut |event| progress.show(event))?;
    progress.end();
    let Progress { stages, conversions, .. } = progress;
    let Coverage { any, overlap, cameras } = &done.coverage;
    let (size, device, photometry) = (done.panorama.size(), &done.device, done.photometry.as_ref());
    // The results have an element for each input, also for those that are left out.
    let kept = done.calibrated.as_ref().map(|found| &found.calibration.indices[..]);
    let count = job.pictures.len();
    if as_json {
        let cameras = done.colours.iter().zip(cameras).enumerate().map(|(i, (of, coverage))| {
            json!({
                "coverage": coverage,
                "colour": colour::describe(of),
                "vignetting": photometry.map(|found| found.vignetting[i]),
                "gain_field": photometry.map(|found| found.fields[i].limits()),
            })
        });
        return output::print_json(&json!({
            "output": job.output.to_string_lossy(),
            "size": size.to_array(),
            "depth": done.panorama.bits(),
            "device": device.to_string(),
            "times_ms": stages.json(),
            "cameras": spread(kept, count, &cameras.collect::<Vec<_>>()),
            "coverage": any,
            "overlap": overlap,
            "response": photometry.map(|found| [found.response.a, found.response.b]),
            "calibration": done.calibrated.as_ref().map(|found| describe(found, &job.pictures)),
            "warnings": log::warnings(),
            "conversions": conversions.json(),
        }));
    }
    let calibration = done.calibrated.as_ref();
    let calibration = calibration.map(|found| format!("calibrated: {}\n", summary(found)));
    let colours = spread(kept, count, &done.colours).into_iter();
    let colours: Vec<_> = colours.map(|colour| colour.unwrap_or(Colour::IDENTITY)).collect();
    let matched = done.matched.then(|| {
        let described = photometry.and_then(colour::photometry);
        colour::text(&colours, described.is_none()) + &described.unwrap_or_default()
    });
    output::print(&format!(
        "{}{}{}: {}×{} pixels, {:.1} % filled, {:.1} % seen by several cameras, {:.0} ms on {device}\n",
        calibration.unwrap_or_default(),
        matched.unwrap_or_default(),
        job.output.display(),
        size.x,
        size.y,
        100.0 * any,
        100.0 * overlap,
        stages.total().as_secs_f64() * 1e3,
    ))
}

/// Returns an element for each of `count` inputs: the value of the picture, or `None` for a picture that is left out.
/// `values` has an element for each picture in the panorama. `kept` has their indices; `None` if all are kept.
fn spread<T: Clone>(kept: Option<&[usize]>, count: usize, values: &[T]) -> Vec<Option<T>> {
    let Some(kept) = kept else { return values.iter().cloned().map(Some).collect() };
    let mut all = vec![None; count];
    kept.iter().zip(values).for_each(|(&i, value)| all[i] = Some(value.clone()));
    all
}
