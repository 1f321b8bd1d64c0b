//! `panoweave stitch`: pictures make a panorama, with a map of where the cameras look or without one.

use std::path::{Path, PathBuf};

use glam::UVec2;
use panoweave::calibrate::{Options, RigOptions};
use panoweave::device::{DeviceName, Stream};
use panoweave::mosaic::Mosaic;
use panoweave::picture::Picture;
use panoweave::seam::{Blend, SeamOptions};
use serde_json::{Value, json};

use super::blend::Blending;
use super::calibrated::{Calibrated, Pictures, open};
use super::failure::Failure;
use super::look::{COLOURS, Look};
use super::map::{Map, Plan};
use super::output;
use super::panorama::Making;
use super::recipe::Recipe;
use super::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave stitch l.jpg r.jpg -o pano.png
  panoweave stitch l.jpg r.jpg --rig rig.toml -o pano.png
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --gain-right 1.2
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --match-colour --blend seam
  panoweave stitch l.png r.png --lut rig.safetensors -o pano.png --device cuda:0 --json
  panoweave stitch l.png r.png --lut planes/ --size 5700x1900 -o pano.png --flip

Without --lut, --rig or --homography the pictures are calibrated first, as `panoweave calibrate` does, their
colours are matched and they are divided by a seam. More than two pictures take a rig, or none.
A homography file has nine numbers, row by row, that take right pixels to left pixels.
Exit codes and the JSON of errors: see panoweave --help.";

/// Stitches pictures into a panorama.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pictures: Pictures,
    #[command(flatten)]
    map: Map,
    /// The panorama to write: .png, .jpg or .jpeg.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Where to run: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Matches the colours of pictures where they overlap, in place of given gains and gammas. So it is
    /// without a map, unless a gain or gamma is given.
    #[arg(long, conflicts_with_all = COLOURS)]
    match_colour: bool,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    blending: Blending,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let files = args.pictures.files();
    let inputs: Vec<&Path> = files.iter().copied().chain(args.map.path()).collect();
    output::check(&args.output, &inputs)?;
    Picture::check_name(&args.output)?;
    let making = args.making()?;

    let mut stages = Stages::new();
    let (pictures, plan) = stages.run("load", "reading", || {
        let pictures = open(&files)?;
        let sizes: Vec<_> = pictures.iter().map(|p| UVec2::new(p.width(), p.height())).collect();
        let plan = match args.map.path() {
            Some(_) => Some(args.map.open(&sizes, &files, &args.output)?),
            None => None,
        };
        Ok((pictures, plan))
    })?;
    let device = args.device.open()?;
    let stream = device.stream()?;
    let (plan, calibrated) = match plan {
        Some(plan) => (plan, None),
        None => {
            let (options, rig) = (Options::default(), RigOptions::default());
            let found = Calibrated::new(&mut stages, &stream, &files, &pictures, &options, &rig)?;
            (Plan::Render(Recipe::new(&found.rig)?), Some(found))
        }
    };
    let (panorama, coverage) = stitched(&making, &mut stages, &stream, &pictures, plan)?;
    stages.run("save", "writing", || Ok(panorama.save(&args.output)?))?;

    if as_json {
        return output::print_json(&json!({
            "output": args.output.to_string_lossy(),
            "size": [panorama.width(), panorama.height()],
            "device": device.to_string(),
            "times_ms": stages.json(),
            "coverage": coverage,
            "calibration": calibrated.as_ref().map(Calibrated::json),
        }));
    }
    let percent = |name: &str| 100.0 * coverage[name].as_f64().unwrap_or(0.0);
    let calibration = calibrated.map(|found| format!("calibrated: {}\n", found.summary()));
    output::print(&format!(
        "{}{}: {}×{} pixels, {:.1} % filled, {:.1} % overlap, {:.0} ms on {device}\n",
        calibration.unwrap_or_default(),
        args.output.display(),
        panorama.width(),
        panorama.height(),
        percent("any"),
        percent("overlap"),
        stages.total().as_secs_f64() * 1e3,
    ))
}

impl Args {
    /// How the panorama is made. Without a map nothing was settled before, so what looks best is chosen.
    fn making(&self) -> Result<Making, Failure> {
        let calibrates = self.map.path().is_none();
        let as_they_are = self.look.leaves_colours();
        if self.pictures.files().len() > 2 && !as_they_are {
            return Err(Failure::Usage(
                "gains and gammas are of two pictures; --match-colour is for more",
            ));
        }
        let otherwise =
            if calibrates { Blend::Seam(SeamOptions::default()) } else { Blend::Feather };
        Ok(Making {
            options: self.look.options(),
            match_colour: self.match_colour || (calibrates && as_they_are),
            blend: self.blending.blend(otherwise)?,
        })
    }
}

/// The panorama, and what fractions of it are seen.
fn stitched(
    making: &Making,
    stages: &mut Stages,
    stream: &Stream,
    pictures: &[Picture],
    plan: Plan,
) -> Result<(Picture, Value), Failure> {
    match (plan, pictures) {
        (plan, [left, right]) => {
            let (on_device, warp) =
                stages.run("warp", "preparing the warp", || plan.prepare(stream))?;
            let (panorama, _) = making.pair(stages, stream, [left, right], on_device)?;
            let stats = warp.stats();
            let coverage = json!({
                "any": stats.coverage,
                "left": stats.cameras[0].coverage,
                "right": stats.cameras[1].coverage,
                "overlap": stats.overlap,
            });
            Ok((panorama, coverage))
        }
        (Plan::Render(recipe), pictures) => {
            let mosaic = stages.run("warp", "preparing the warp", || {
                Ok(Mosaic::new(stream, recipe.geometry())?)
            })?;
            let seen = mosaic.coverage();
            let coverage =
                json!({ "any": seen.any, "cameras": seen.cameras, "overlap": seen.overlap });
            Ok((making.mosaic(stages, stream, pictures, mosaic, |_| Ok(()))?, coverage))
        }
        (Plan::Planes(_), _) => Err(Failure::Usage("a warp is of two pictures")),
    }
}
