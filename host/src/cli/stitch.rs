//! `panoweave stitch`: two pictures and a warp make a panorama.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use glam::{UVec2, Vec3};
use panoweave::device::DeviceName;
use panoweave::picture::Picture;
use panoweave::stitch::{Power, StitchOptions, stitch_pictures};
use panoweave::warp::{DeviceWarp, Warp};
use serde_json::json;
use shared_types::stitch::Colour;

use super::failure::Failure;
use super::output;
use super::recipe::Recipe;
use super::stages::Stages;
use super::values::{canvas_size, gain, gamma};

const AFTER_HELP: &str = "\
Examples:
  panoweave stitch l.jpg r.jpg --rig rig.toml -o pano.png
  panoweave stitch l.jpg r.jpg --homography h.txt -o pano.jpg --gain-right 1.2
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
    source: Source,
    /// Size of the planes of a --lut folder.
    #[arg(long, value_name = "WxH", value_parser = canvas_size, conflicts_with_all = ["rig", "homography"])]
    size: Option<UVec2>,
    /// The panorama to write: .png, .jpg or .jpeg.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Where to run: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Gain of the left picture: one number, or R,G,B.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_left: Vec3,
    /// Gain of the right picture: one number, or R,G,B.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_right: Vec3,
    /// Gamma of the left picture; below 1 brightens.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_left: f32,
    /// Gamma of the right picture; below 1 brightens.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_right: f32,
    /// How gamma is computed; the results differ by one level at most.
    #[arg(long, value_enum, default_value = "fast")]
    power: PowerChoice,
    /// Turns the panorama by 180°.
    #[arg(long)]
    flip: bool,
    /// Brightens both ends of the panorama.
    #[arg(long)]
    edge_boost: bool,
}

/// What says where each camera sees a panorama pixel.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// A warp file, or a folder of six raw planes (with --size).
    #[arg(long, value_name = "PATH")]
    lut: Option<PathBuf>,
    /// A rig file (TOML).
    #[arg(long, value_name = "FILE")]
    rig: Option<PathBuf>,
    /// A homography file (text): right pixels to left pixels.
    #[arg(long, value_name = "FILE")]
    homography: Option<PathBuf>,
}

/// How gamma is computed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PowerChoice {
    Exact,
    Fast,
}

/// A warp before it is on the device.
enum Plan {
    Planes(Warp),
    Render(Recipe),
}

impl Plan {
    /// Sizes of the pictures that it is for: left, right.
    fn sources(&self) -> Option<[UVec2; 2]> {
        match self {
            Self::Planes(warp) => Some(warp.sources()),
            Self::Render(recipe) => recipe.sources(),
        }
    }
}

impl Source {
    fn path(&self) -> Option<&Path> {
        self.lut.as_deref().or(self.rig.as_deref()).or(self.homography.as_deref())
    }

    fn open(
        &self,
        size: Option<UVec2>,
        sources: [UVec2; 2],
        output: &Path,
    ) -> Result<Plan, Failure> {
        if let Some(rig) = &self.rig {
            return Ok(Plan::Render(Recipe::from_rig(rig, None, output)?));
        }
        if let Some(homography) = &self.homography {
            return Ok(Plan::Render(Recipe::from_homography(homography, sources)?));
        }
        let Some(path) = &self.lut else {
            return Err(Failure::Usage("one of --lut, --rig and --homography is needed"));
        };
        let warp = match (path.is_dir(), size) {
            (true, Some(size)) => Warp::import_raw(path, size, sources)?,
            (true, None) => return Err(Failure::RawSize { folder: path.clone() }),
            (false, Some(_)) => return Err(Failure::NeedlessSize { file: path.clone() }),
            (false, None) => Warp::open(path)?,
        };
        Ok(Plan::Planes(warp))
    }
}

impl Args {
    fn options(&self) -> StitchOptions {
        StitchOptions {
            left: Colour { gain: self.gain_left, gamma: self.gamma_left },
            right: Colour { gain: self.gain_right, gamma: self.gamma_right },
            power: match self.power {
                PowerChoice::Exact => Power::Exact,
                PowerChoice::Fast => Power::Fast,
            },
            flip: self.flip,
            edge_boost: self.edge_boost,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let mut inputs = vec![args.left.as_path(), &args.right];
    inputs.extend(args.source.path());
    output::check(&args.output, &inputs)?;
    Picture::check_name(&args.output)?;

    let mut stages = Stages::new();
    let (left, right, plan) = stages.run("load", "reading", || {
        let (left, right) = (Picture::open(&args.left)?, Picture::open(&args.right)?);
        let sources = [&left, &right].map(|p| UVec2::new(p.width(), p.height()));
        let plan = args.source.open(args.size, sources, &args.output)?;
        // Before anything is computed, and with the names of the files.
        let files = [("left", &args.left), ("right", &args.right)];
        let wanted = plan.sources().unwrap_or(sources);
        for (((side, file), found), expected) in files.into_iter().zip(sources).zip(wanted) {
            if found != expected {
                let source_of_warp = args.source.path().unwrap_or(Path::new("")).to_owned();
                let file = file.clone();
                return Err(Failure::PictureSize { file, side, found, expected, source_of_warp });
            }
        }
        Ok((left, right, plan))
    })?;
    let device = args.device.open()?;
    let stream = device.stream()?;
    let (on_device, warp) = stages.run("warp", "preparing the warp", || match plan {
        Plan::Planes(warp) => {
            let on_device = DeviceWarp::upload(&stream, &warp)?;
            stream.synchronize()?;
            Ok((on_device, warp))
        }
        Plan::Render(recipe) => recipe.render(&stream),
    })?;
    let panorama = stages.run("stitch", "stitching", || {
        Ok(stitch_pictures(&stream, &left, &right, &on_device, &args.options())?)
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
