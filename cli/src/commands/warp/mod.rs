//! `panoweave warp`: makes warp files from rigs, homographies and raw planes.

mod inspect;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use glam::UVec2;
use panoweave::device::DeviceName;
use panoweave::geometry::MAX_CANVAS_AREA;
use panoweave::io::picture::Picture;
use panoweave::job::files::check_output;
use panoweave::warp::{Plane, Warp};
use serde_json::json;

use crate::output;
use crate::output::failure::Failure;
use crate::output::stages::Stages;
use panoweave::job::{Recipe, Size};

const AFTER_HELP: &str = "\
Examples:
  panoweave warp --rig rig.toml -o rig.safetensors
  panoweave warp --rig rig.toml --size 1900x633 -o small.safetensors
  panoweave warp --homography h.txt --left l.jpg --right r.jpg -o h.safetensors
  panoweave warp --import planes/ --size 5700x1900 --left-size 3840x2160 --right-size 3840x2160 -o old.safetensors
  panoweave warp inspect rig.safetensors --preview look.png

See panoweave --help for exit codes and errors as JSON.";

/// Makes a warp file, or inspects one.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    make: Make,
}

#[derive(Debug, Subcommand)]
enum Action {
    Inspect(inspect::Args),
}

#[derive(Debug, clap::Args)]
struct Make {
    #[command(flatten)]
    source: WarpInput,
    /// Size of the panorama in pixels, for --import, which requires it, and for --rig. With --rig, replaces the size in
    /// the rig file and keeps the field of view.
    #[arg(long, value_name = "WxH", conflicts_with = "homography")]
    size: Option<Size>,
    /// Maximum number of pixels of the panorama that a rig or a homography describes. The default is 8192×4096; the
    /// highest value is twice as much.
    #[arg(long, value_name = "N", default_value_t = 1 << 25,
        value_parser = clap::value_parser!(u64).range(1..=MAX_CANVAS_AREA))]
    max_pixels: u64,
    /// Size in pixels of the left camera's pictures, for --homography and --import.
    #[arg(long, value_name = "WxH", conflicts_with_all = ["rig", "left"])]
    left_size: Option<Size>,
    /// Size in pixels of the right camera's pictures, for --homography and --import.
    #[arg(long, value_name = "WxH", conflicts_with_all = ["rig", "right"])]
    right_size: Option<Size>,
    /// Picture of the left camera, from which only the size is read. This is an alternative to --left-size.
    #[arg(long, value_name = "PICTURE", conflicts_with = "rig")]
    left: Option<PathBuf>,
    /// Picture of the right camera, from which only the size is read. This is an alternative to --right-size.
    #[arg(long, value_name = "PICTURE", conflicts_with = "rig")]
    right: Option<PathBuf>,
    /// Warp file to write, usually with the extension .safetensors.
    // This is an `Option` because the subcommand `inspect` does not require `--output`.
    #[arg(short, long, value_name = "FILE", required = true)]
    output: Option<PathBuf>,
    /// Device that computes the warp of a rig or homography: cpu, cuda:N (GPU number N, from 0), auto (the first GPU,
    /// otherwise the CPU), or simulator (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct WarpInput {
    /// Rig file (TOML) that describes the size and projection of the panorama, and the lens and direction of each
    /// camera. `panoweave calibrate` writes such files.
    #[arg(long, value_name = "FILE")]
    rig: Option<PathBuf>,
    /// Text file with a homography: nine numbers, row by row, of the 3×3 matrix that maps pixels of the right picture
    /// to pixels of the left picture.
    #[arg(long, value_name = "FILE")]
    homography: Option<PathBuf>,
    /// Folder with six raw planes to import, from lut_left_x.bin to weight_right.bin.
    #[arg(long, value_name = "DIR")]
    import: Option<PathBuf>,
}

/// Runs `panoweave warp`: makes a warp file, or inspects one with the subcommand `inspect`.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    match (&args.action, &args.make.output) {
        (Some(Action::Inspect(args)), _) => inspect::run(args, as_json),
        (None, Some(file)) => args.make.run(file, as_json),
        (None, None) => Err(Failure::usage("there is no output; give --output FILE")),
    }
}

impl Make {
    fn run(&self, file: &Path, as_json: bool) -> Result<(), Failure> {
        self.check_output(file)?;
        let mut stages = Stages::new()?;
        let warp = self.make(file, &mut stages)?;
        stages.run("save", "writing", || Ok(warp.save(file)?))?;
        let stats = warp.stats();
        if as_json {
            return output::print_json(&json!({
                "output": file.to_string_lossy(),
                "times_ms": stages.json(),
                "warp": inspect::describe(&warp, &stats),
            }));
        }
        output::print(&format!(
            "{}: {}×{} pixels, {:.1} % filled, {:.1} % overlap, {:.0} ms\n",
            file.display(),
            warp.size().x,
            warp.size().y,
            stats.coverage * 100.0,
            stats.overlap * 100.0,
            stages.total().as_secs_f64() * 1e3,
        ))
    }

    fn check_output(&self, file: &Path) -> Result<(), Failure> {
        let WarpInput { rig, homography, import } = &self.source;
        let planes: Vec<_> = import
            .iter()
            .flat_map(|folder| Plane::all(2).map(|plane| plane.raw_file(folder)))
            .collect();
        let inputs: Vec<&Path> = [rig, homography, &self.left, &self.right]
            .into_iter()
            .flatten()
            .chain(&planes)
            .map(PathBuf::as_path)
            .collect();
        Ok(check_output(file, &inputs)?)
    }

    fn make(&self, file: &Path, stages: &mut Stages) -> Result<Warp, Failure> {
        if let Some(folder) = &self.source.import {
            let Some(Size(size)) = self.size else {
                return Err(Failure::usage(format!(
                    "{}: raw planes do not store their size; give --size WxH",
                    folder.display()
                )));
            };
            return stages
                .run("load", "reading", || Ok(Warp::import_raw(folder, size, self.sources()?)?));
        }
        let recipe = stages.run("load", "reading", || match &self.source {
            WarpInput { rig: Some(rig), .. } => {
                let size = self.size.map(|Size(size)| size);
                Ok(Recipe::from_rig(
                    rig,
                    |own| size.map(|size| own.resized(size)),
                    self.max_pixels,
                    file,
                )?)
            }
            WarpInput { homography: Some(homography), .. } => {
                Ok(Recipe::from_homography(homography, self.sources()?, self.max_pixels)?)
            }
            _ => Err(Failure::usage("there is no input; give --rig, --homography or --import")),
        })?;
        let stream = self.device.open()?.stream()?;
        stages.run("warp", "computing the warp", || Ok(recipe.render(&stream)?))
    }

    /// Returns the picture sizes of the left and the right camera, from the options `--left-size` and `--right-size` or
    /// from the pictures `--left` and `--right`.
    fn sources(&self) -> Result<[UVec2; 2], Failure> {
        let size = |side, size: Option<Size>, picture: &Option<PathBuf>| match (size, picture) {
            (Some(Size(size)), _) => Ok(size),
            (None, Some(file)) => {
                let picture = Picture::open(file)?;
                Ok(picture.size())
            }
            (None, None) => Err(Failure::usage(format!(
                "the size of the {side} picture is unknown; give --{side}-size WxH, or give a picture of that size with --{side} PICTURE"
            ))),
        };
        Ok([
            size("left", self.left_size, &self.left)?,
            size("right", self.right_size, &self.right)?,
        ])
    }
}
