//! `panoweave stitch`: stitches pictures into a panorama. The geometry comes from a warp, a rig or a homography, or
//! from a calibration of the pictures.

use std::path::{Path, PathBuf};

use panoweave::device::{DeviceName, Stream};
use panoweave::geometry::calibrate::CalibrateOptions;
use panoweave::io::picture::{Picture, PictureFormat, Pixel, StoredPicture};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::Colour;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{Colours, Lookup, Vignettes};
use panoweave::panorama::{Coverage, Panorama, PanoramaOptions, stitch_geometry, stitch_warp};
use panoweave::warp::MAX_CAMERAS;
use serde_json::json;

use crate::commands::calibrated::{Calibrated, Lenses, Pictures};
use crate::options::blend::Blending;
use crate::options::mask::Masks;
use crate::options::recipe::Recipe;
use crate::options::shape::Shape;
use crate::options::stitching::Stitching;
use crate::options::warp::{Plan, WarpSource};
use crate::output;
use crate::output::colour;
use crate::output::conversions::Conversions;
use crate::output::failure::Failure;
use crate::output::log;
use crate::output::stages::Stages;

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
pub(crate) struct Args {
    #[command(flatten)]
    pictures: Pictures,
    #[command(flatten)]
    map: WarpSource,
    /// Panorama file to write: .png, .jpg or .jpeg.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Bits per channel of the panorama. 8 rounds 16-bit pictures to 8 bits, with a warning. 16 requires a .png output.
    /// Default: 16 if a picture is a 16-bit PNG and the output is .png, otherwise 8.
    #[arg(long, value_name = "BITS", value_parser = ["8", "16"])]
    depth: Option<String>,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Corrects the colours of the pictures so that they match in the overlaps. This is the default unless --warp,
    /// --rig, --homography, a gain or a gamma is given.
    #[arg(long, conflicts_with_all = ["gain", "gamma"])]
    match_colour: bool,
    /// Does not match the colours of the pictures. This is the default with --warp, --rig, --homography, a gain or a
    /// gamma.
    #[arg(long, conflicts_with = "match_colour")]
    no_colour: bool,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    masks: Masks,
    #[command(flatten)]
    stitching: Stitching,
    #[command(flatten)]
    blending: Blending,
}

/// Runs `panoweave stitch`: writes the panorama and prints a summary.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let files = args.pictures.files();
    let map = args.map.files();
    let map = map.iter().map(PathBuf::as_path);
    let inputs: Vec<&Path> = files.iter().copied().chain(map).chain(args.masks.files()).collect();
    output::check(&args.output, &inputs)?;
    let format = PictureFormat::of_file(&args.output)?;
    if format == PictureFormat::Jpeg && args.depth.as_deref() == Some("16") {
        return Err(Failure::usage(
            "--depth 16 requires a .png output, because JPEG has 8 bits; remove --depth, or change the output",
        ));
    }
    let options = args.options()?;

    let mut stages = Stages::new();
    let stored = stages.run("load", "reading", || {
        let stored = files.iter().map(StoredPicture::open);
        Ok(stored.collect::<Result<Vec<_>, _>>()?)
    })?;
    let is_deep = match args.depth.as_deref() {
        Some(depth) => depth == "16",
        None => format == PictureFormat::Png && stored.iter().any(|picture| picture.bits() > 8),
    };
    if is_deep {
        args.stitch(stages, stored, StoredPicture::into_rgba16, options, as_json)
    } else {
        args.stitch(stages, stored, StoredPicture::into_rgba8, options, as_json)
    }
}

/// The median difference between pictures in their overlaps, in levels, above which they probably do not show the same
/// scene. Parallax, moving objects and noise rarely let the median exceed half of it.
const MISMATCH: f32 = 20.0;

/// Logs warnings about a panorama. `masked` states whether masks were given.
fn warn<P>(panorama: &Panorama<P>, coverage: &Coverage, map: &WarpSource, masked: bool) {
    let homography = map.is_homography();
    let several = panorama.colours.len() > 1;
    let apart = several && coverage.overlap == 0.0;
    if coverage.any == 0.0 {
        tracing::warn!(
            "the panorama is black, because no picture covers it; check that the pictures are not transparent, and that \
             masks are white where their pictures are used",
        );
    } else if apart && masked {
        tracing::warn!(
            "the pictures do not overlap in this panorama; check that the masks are white where their pictures are used, \
             and that the order of the pictures is that of the cameras",
        );
    } else if apart && homography {
        tracing::warn!(
            "the pictures do not overlap in this panorama; check that they are not swapped, and that the homography \
             maps pixels of the second picture to pixels of the first one",
        );
    } else if apart {
        tracing::warn!(
            "no two pictures overlap in this panorama; check that their order is that of the cameras, which \
             `panoweave rig` shows",
        );
    }
    let mismatch = panorama.photometry.as_ref().map_or(0.0, |found| found.mismatch);
    if map.path().is_some() && mismatch > MISMATCH {
        tracing::warn!(
            "the pictures differ by {mismatch:.0} of 255 levels (median) in their overlaps; check that their order is that of \
             the cameras",
        );
    }
    if several && !panorama.unmatched.is_empty() {
        tracing::warn!(
            "the colours of some pictures are unchanged: their overlap is too small or too dark to match them",
        );
    }
}

impl Args {
    /// Stitches pictures that `to_depth` converts to the depth of the panorama. Writes the panorama and prints a
    /// summary.
    fn stitch<P: Pixel>(
        &self,
        mut stages: Stages,
        stored: Vec<StoredPicture>,
        to_depth: fn(StoredPicture) -> Picture<P>,
        mut options: PanoramaOptions,
        as_json: bool,
    ) -> Result<(), Failure> {
        let files = self.pictures.files();
        let (mut pictures, plan) = stages.run("load", "reading", || {
            let mut pictures: Vec<_> = stored.into_iter().map(to_depth).collect();
            self.masks.apply(&mut pictures, &files)?;
            let sizes: Vec<_> = pictures.iter().map(Picture::size).collect();
            let plan = match self.map.path() {
                Some(_) => Some(self.cropped(self.map.open(&sizes, &files, &self.output)?)?),
                None => {
                    self.map.check_absent()?;
                    None
                }
            };
            Ok((pictures, plan))
        })?;
        let mut conversions = Conversions::default();
        conversions.add_pictures(&files, &pictures);
        let device = self.device.open()?;
        let stream = device.stream()?;
        let (plan, calibrated) = match plan {
            Some(plan) => (plan, None),
            None => {
                let how = CalibrateOptions {
                    // Two exposures of one view make a panorama. The same picture twice is a mistake.
                    same_view: pictures.windows(2).all(|two| two[0].pixels() != two[1].pixels()),
                    ..self.shape.calibration()
                };
                let found = Calibrated::new(
                    &mut stages,
                    &stream,
                    &files,
                    &Picture::all_rgba8(&pictures),
                    &Lenses::default(),
                    &how,
                    &self.shape.rig(),
                )?;
                found.warn();
                pictures = found.select(pictures);
                let colours = found.calibration.indices.iter().filter(|&&i| i < MAX_CAMERAS);
                let colours = colours.map(|&i| options.stitch.colours[i]);
                options.stitch.colours = Colours::of(colours.collect::<Vec<_>>());
                if let Some(anchor) = options.anchor {
                    let kept = found.calibration.indices.iter().position(|&i| i == anchor);
                    options.anchor = Some(kept.ok_or(Failure::usage(
                        "--anchor names a picture that was left out; choose another one",
                    ))?);
                }
                (Plan::Render(Recipe::new(&found.rig)?), Some(found))
            }
        };
        options.stitch.vignettes = plan.vignettes();
        let (panorama, coverage) = stitched(&options, &mut stages, &stream, &pictures, plan)?;
        stages.run("save", "writing", || Ok(panorama.picture.save(&self.output)?))?;

        let masked = self.masks.files().next().is_some();
        warn(&panorama, &coverage, &self.map, masked);
        let Coverage { any, overlap, .. } = coverage;
        let size = [panorama.picture.width(), panorama.picture.height()];
        // The results have an element for each input, also for those that are left out.
        let inputs = Inputs {
            count: files.len(),
            kept: calibrated.as_ref().map(|found| found.calibration.indices.clone()),
        };
        if as_json {
            let photometry = panorama.photometry.as_ref();
            let cameras = panorama.colours.iter().enumerate().map(|(i, of)| {
                json!({
                    "coverage": coverage.cameras[i],
                    "colour": colour::describe(of),
                    "vignetting": photometry.map(|found| found.vignetting[i]),
                    "gain_field": photometry.map(|found| found.fields[i].limits()),
                })
            });
            return output::print_json(&json!({
                "output": self.output.to_string_lossy(),
                "size": size,
                "depth": P::BITS,
                "device": device.to_string(),
                "times_ms": stages.json(),
                "cameras": inputs.spread(&cameras.collect::<Vec<_>>()),
                "coverage": any,
                "overlap": overlap,
                "response": photometry.map(|found| [found.response.a, found.response.b]),
                "calibration": calibrated.as_ref().map(|found| found.json(&files)),
                "warnings": log::warnings(),
                "conversions": conversions.json(),
            }));
        }
        let calibration = calibrated.map(|found| format!("calibrated: {}\n", found.summary()));
        let colours = inputs.spread(&panorama.colours).into_iter();
        let colours: Vec<_> = colours.map(|colour| colour.unwrap_or(Colour::IDENTITY)).collect();
        let matched = options.match_colour.then(|| {
            let photometry = panorama.photometry.as_ref();
            let described = photometry.and_then(colour::photometry);
            colour::text(&colours, described.is_none()) + &described.unwrap_or_default()
        });
        output::print(&format!(
            "{}{}{}: {}×{} pixels, {:.1} % filled, {:.1} % seen by several cameras, {:.0} ms on {device}\n",
            calibration.unwrap_or_default(),
            matched.unwrap_or_default(),
            self.output.display(),
            size[0],
            size[1],
            100.0 * any,
            100.0 * overlap,
            stages.total().as_secs_f64() * 1e3,
        ))
    }

    /// Crops the panorama of a rig or of a homography if `--crop` is given.
    fn cropped(&self, mut plan: Plan) -> Result<Plan, Failure> {
        match &mut plan {
            _ if !self.shape.crops() => {}
            Plan::Planes(_) => {
                return Err(Failure::usage(
                    "--crop cannot change the panorama of a warp file; give the rig or the homography instead",
                ));
            }
            Plan::Render(recipe) => {
                if !recipe.crop() {
                    return Err(Failure::usage(
                        "--crop: the pictures cover no rectangle of the panorama completely; remove --crop",
                    ));
                }
            }
        }
        Ok(plan)
    }

    /// Returns the options for stitching the panorama. The default is a blend along a seam and, if `stitch` first
    /// calibrates the pictures, matched colours.
    fn options(&self) -> Result<PanoramaOptions, Failure> {
        let calibrates = self.map.path().is_none();
        let pictures = self.pictures.files().len();
        self.stitching.check(pictures)?;
        if !calibrates && self.shape.needs_calibration() {
            return Err(Failure::usage(
                "--model and --projection are for a calibration of the pictures; remove them, or remove --warp, --rig and --homography",
            ));
        }
        let match_colour =
            self.match_colour || (calibrates && !self.no_colour && self.stitching.leaves_colours());
        Ok(PanoramaOptions {
            stitch: self.stitching.options(Lookup::Cubic),
            match_colour,
            anchor: self.stitching.anchor(match_colour)?,
            blend: self.blending.blend(Blend::Seam(SeamOptions::default()))?,
            refine: self.blending.refine,
            owners: false,
        })
    }
}

/// Stitches the pictures. Returns the panorama, and the fractions of its pixels that each camera, any camera and all
/// overlaps cover.
fn stitched<P: Pixel>(
    options: &PanoramaOptions,
    stages: &mut Stages,
    stream: &Stream,
    pictures: &[Picture<P>],
    plan: Plan,
) -> Result<(Panorama<P>, Coverage), Failure> {
    match (plan, pictures) {
        (Plan::Planes(warp), pictures) => {
            let stats = warp.stats();
            let coverage = Coverage {
                any: stats.coverage,
                cameras: stats.cameras.iter().map(|camera| camera.coverage).collect(),
                overlap: stats.overlap,
            };
            let plan = Plan::Planes(warp);
            let warp = stages.run("warp", "preparing the warp", || plan.prepare(stream))?;
            let panorama = stages.run("stitch", "stitching", || {
                Ok(stitch_warp(stream, &pictures.iter().collect::<Vec<_>>(), &warp, options)?)
            })?;
            Ok((panorama, coverage))
        }
        (Plan::Render(recipe), pictures) => stages.run("stitch", "stitching", || {
            if pictures.len() <= MAX_CAMERAS {
                return Ok(stitch_geometry(stream, pictures, recipe.geometry(), options)?);
            }
            // The options have the vignettes of 16 cameras, so those of more are undone before the stitch.
            let pictures = recipe.without_vignetting(stream, pictures)?;
            let mut options = *options;
            options.stitch.vignettes = Vignettes::NONE;
            Ok(stitch_geometry(stream, &pictures, recipe.geometry(), &options)?)
        }),
    }
}

/// The input pictures of a panorama.
struct Inputs {
    /// The number of all pictures.
    count: usize,
    /// The indices of the pictures in the panorama. `None` if it has all pictures.
    kept: Option<Vec<usize>>,
}

impl Inputs {
    /// Returns an element for each input: the value of the picture, or `None` for a picture that is left out. `values`
    /// has an element for each picture in the panorama.
    fn spread<T: Clone>(&self, values: &[T]) -> Vec<Option<T>> {
        let Some(kept) = &self.kept else { return values.iter().cloned().map(Some).collect() };
        let mut all = vec![None; self.count];
        kept.iter().zip(values).for_each(|(&i, value)| all[i] = Some(value.clone()));
        all
    }
}
