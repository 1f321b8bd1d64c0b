//! `panoweave stitch`: two pictures and a warp make a panorama.

use std::path::PathBuf;

use glam::UVec2;
use panoweave::colour::{Colours, matched_pictures};
use panoweave::device::DeviceName;
use panoweave::picture::Picture;
use panoweave::seam::{Blend, seamed_pictures};
use panoweave::stitch::stitch_pictures;
use serde_json::json;

use super::blend::Blending;
use super::failure::Failure;
use super::look::{COLOURS, Look};
use super::map::Map;
use super::output;
use super::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave stitch l.jpg r.jpg --rig rig.toml -o pano.png
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --gain-right 1.2
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --match-colour --blend seam
  panoweave stitch l.png r.png --lut rig.safetensors -o pano.png --device cuda:0 --json
  panoweave stitch l.png r.png --lut planes/ --size 5700x1900 -o pano.png --flip

A homography file has nine numbers, row by row, that take right pixels to left pixels.
Exit codes and the JSON of errors: see panoweave --help.";

/// Stitches two pictures into a panorama.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Picture of the left camera, PNG or JPEG.
    left: PathBuf,
    /// Picture of the right camera, PNG or JPEG.
    right: PathBuf,
    #[command(flatten)]
    map: Map,
    /// The panorama to write: .png, .jpg or .jpeg.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Where to run: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Matches the colours of both pictures where they overlap, in place of given gains and gammas.
    #[arg(long, conflicts_with_all = COLOURS)]
    match_colour: bool,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    blending: Blending,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let mut inputs = vec![args.left.as_path(), &args.right];
    inputs.extend(args.map.path());
    output::check(&args.output, &inputs)?;
    Picture::check_name(&args.output)?;
    let blend = args.blending.blend()?;

    let mut stages = Stages::new();
    let (left, right, plan) = stages.run("load", "reading", || {
        let (left, right) = (Picture::open(&args.left)?, Picture::open(&args.right)?);
        let sources = [&left, &right].map(|p| UVec2::new(p.width(), p.height()));
        let plan = args.map.open(sources, [&args.left, &args.right], &args.output)?;
        Ok((left, right, plan))
    })?;
    let device = args.device.open()?;
    let stream = device.stream()?;
    let (on_device, warp) = stages.run("warp", "preparing the warp", || plan.prepare(&stream))?;
    let mut options = args.look.options();
    if args.match_colour {
        let found = stages.run("colour", "matching colours", || {
            Ok(matched_pictures(&stream, &left, &right, &on_device)?)
        })?;
        match found {
            Some(Colours { left, right }) => (options.left, options.right) = (left, right),
            None => tracing::warn!("colours are left as they are: the overlap is small or dark"),
        }
    }
    let on_device = match blend {
        Blend::Feather => on_device,
        Blend::Seam(seam) => stages.run("seam", "finding the seam", || {
            match seamed_pictures(&stream, &left, &right, &on_device, &options, seam) {
                Err(reason) if reason.is_of_warp() => {
                    tracing::warn!("{reason}");
                    Ok(on_device)
                }
                seamed => Ok(seamed?),
            }
        })?,
    };
    let panorama = stages.run("stitch", "stitching", || {
        Ok(stitch_pictures(&stream, &left, &right, &on_device, &options)?)
    })?;
    stages.run("save", "writing", || Ok(panorama.save(&args.output)?))?;

    let stats = warp.stats();
    if as_json {
        return output::print_json(&json!({
            "output": args.output.to_string_lossy(),
            "size": [panorama.width(), panorama.height()],
            "device": device.to_string(),
            "times_ms": stages.json(),
            "coverage": {
                "any": stats.coverage,
                "left": stats.cameras[0].coverage,
                "right": stats.cameras[1].coverage,
                "overlap": stats.overlap,
            },
        }));
    }
    output::print(&format!(
        "{}: {}×{} pixels, {:.1} % filled, {:.1} % overlap, {:.0} ms on {device}\n",
        args.output.display(),
        panorama.width(),
        panorama.height(),
        stats.coverage * 100.0,
        stats.overlap * 100.0,
        stages.total().as_secs_f64() * 1e3,
    ))
}
