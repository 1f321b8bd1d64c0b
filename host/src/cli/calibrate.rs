//! `panoweave calibrate`: photographs of cameras that overlap make a rig, or hold one against what they see.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use glam::UVec2;
use panoweave::calibrate::{
    self, Bundle, Calibration, Drift, ModelChoice, Options, Pair, RigOptions, bundle, check, pair,
};
use panoweave::device::{DeviceName, Image, Stream};
use panoweave::matching::{Described, Describer, MatchOptions, pairs};
use panoweave::picture::Picture;
use panoweave::rig::{ProjectionName, Rig};
use panoweave::warp::DeviceWarp;
use serde_json::{Value, json};

use super::failure::Failure;
use super::output;
use super::sketch;
use super::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave calibrate left.jpg right.jpg -o rig.toml --preview check.png
  panoweave calibrate left.jpg right.jpg --check rig.toml
  panoweave calibrate a.jpg b.jpg c.jpg -o rig.toml --crop

The pictures must overlap, best by a fifth to a half, and show the same moment. What does not fit well enough
is refused, with the reason. homography_right_to_left in the JSON is nine numbers, row by row.
Exit codes and the JSON of errors: see panoweave --help.";

/// How pictures lie to each other.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Model {
    /// Whichever the pictures speak for.
    Auto,
    /// One plane, or cameras far from what they see.
    Homography,
    /// Cameras in one place that only turn.
    Rotation,
}

/// Shapes of a panorama.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Projection {
    Planar,
    Cylindrical,
    Equirectangular,
}

/// Makes a rig file from photographs that overlap.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// A picture of each camera, PNG or JPEG: left, right, and more if there are.
    #[arg(required = true, num_args = 2..)]
    pictures: Vec<PathBuf>,
    /// The rig file to write.
    #[arg(short, long, value_name = "RIG.toml", required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Says instead whether this rig still fits the pictures of its first two cameras.
    #[arg(long, value_name = "RIG.toml", conflicts_with_all = ["output", "preview", "model", "crop", "projection"])]
    check: Option<PathBuf>,
    /// How the pictures lie to each other.
    #[arg(long, value_enum, default_value = "auto")]
    model: Model,
    /// Shape of the panorama; the one that suits the view if it is not given.
    #[arg(long, value_enum)]
    projection: Option<Projection>,
    /// Cuts the panorama to the largest rectangle without black edges.
    #[arg(long)]
    crop: bool,
    /// Writes a picture of the matches, the overlap and the seam: .png, .jpg or .jpeg.
    #[arg(long, value_name = "OUT.png")]
    preview: Option<PathBuf>,
    /// Where to run: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let inputs: Vec<&Path> = args.pictures.iter().map(PathBuf::as_path).collect();
    for file in args.output.iter().chain(&args.preview) {
        output::check(file, &inputs)?;
    }
    if let Some(preview) = &args.preview {
        Picture::check_name(preview)?;
    }
    let mut stages = Stages::new();
    let pictures = stages.run("load", "reading", || {
        args.pictures
            .iter()
            .map(|file| Ok(Picture::open(file)?))
            .collect::<Result<Vec<_>, Failure>>()
    })?;
    let device = args.device.open()?;
    let stream = device.stream()?;
    let links = stages.run("match", "matching", || matched(&stream, &pictures))?;
    let options = Options { model: args.model.into(), ..Options::default() };
    if let Some(file) = &args.check {
        let [Pair { correspondences, .. }] = &links[..] else {
            return Err(Failure::Usage("--check takes the pictures of two cameras"));
        };
        let rig = Rig::open(file)?;
        let drift = stages
            .run("check", "checking", || Ok(check(&rig, [0, 1], correspondences, &options)?))?;
        return tell_drift(file, &drift, &stages, as_json);
    }
    let named = named(&args.pictures, &pictures);
    let rig_options = RigOptions { projection: args.projection.map(Into::into), crop: args.crop };
    let found = stages.run("fit", "calibrating", || match &links[..] {
        [Pair { correspondences, .. }] => {
            let found = pair(correspondences, [&named[0], &named[1]], &options)?;
            let rig = found.rig(&rig_options)?;
            Ok(Found { rig, pair: Some(found), bundle: None })
        }
        links => {
            let found = bundle(&named, links, &options)?;
            let rig = found.rig(&rig_options)?;
            Ok(Found { rig, pair: None, bundle: Some(found) })
        }
    })?;
    if let Some(file) = &args.output {
        stages.run("save", "writing", || Ok(found.rig.save(file)?))?;
    }
    if let (Some(file), Some(pair)) = (&args.preview, &found.pair) {
        stages.run("preview", "drawing", || {
            let warp = DeviceWarp::render(&stream, &found.rig.geometry()?)?.download(&stream)?;
            let sketch =
                sketch::calibration(&stream, &pictures, pair, &links[0].correspondences, &warp)?;
            Ok(sketch.save(file)?)
        })?;
    }
    found.tell(args, &stages, as_json)
}

/// What came out: of two pictures, or of more.
struct Found {
    rig: Rig,
    pair: Option<Calibration>,
    bundle: Option<Bundle>,
}

/// What each two pictures have in common.
fn matched(stream: &Stream, pictures: &[Picture]) -> Result<Vec<Pair>, Failure> {
    let options = MatchOptions::default();
    let mut described: Vec<Described> = Vec::new();
    for picture in pictures {
        let size = UVec2::new(picture.width(), picture.height());
        let image = Image::from_slice(stream, size.x, size.y, picture.pixels())?;
        let mut describer = Describer::new(stream, size, &options)?;
        described.push(describer.describe(stream, image.view())?);
    }
    let mut links = Vec::new();
    for right in 1..described.len() {
        for left in 0..right {
            let correspondences = pairs(stream, &described[left], &described[right], &options)?;
            links.push(Pair { left, right, correspondences });
        }
    }
    Ok(links)
}

/// Names of cameras: left and right of two, of more what their files are called, or their number.
fn named(files: &[PathBuf], pictures: &[Picture]) -> Vec<calibrate::Picture> {
    let stem = |file: &PathBuf| file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = match files.len() {
        2 => vec!["left".to_owned(), "right".to_owned()],
        _ => files.iter().map(|file| stem(file).unwrap_or_default()).collect(),
    };
    for i in 0..names.len() {
        if names[i].is_empty() || names[..i].contains(&names[i]) {
            names[i] = format!("camera {}", i + 1);
        }
    }
    let sizes = pictures.iter().map(|picture| UVec2::new(picture.width(), picture.height()));
    names.into_iter().zip(sizes).map(|(name, size)| calibrate::Picture::new(name, size)).collect()
}

impl Found {
    fn tell(&self, args: &Args, stages: &Stages, as_json: bool) -> Result<(), Failure> {
        let file = args.output.as_deref().unwrap_or(Path::new("")).to_string_lossy().into_owned();
        if as_json {
            return output::print_json(&self.json(&file, args, stages));
        }
        let Some(q) = &self.rig.quality else { return Ok(()) };
        output::print(&format!(
            "{file}: {}, {} of {} matches agree, off by {:.2} px, {:.1} px expected at the seam, overlap {:.0} %, {}×{} panorama, {:.0} ms\n",
            q.model.as_str(),
            q.inliers,
            q.matches,
            q.rms_px,
            q.seam_error_px,
            100.0 * q.overlap,
            self.rig.panorama.width,
            self.rig.panorama.height,
            stages.total().as_secs_f64() * 1e3,
        ))
    }

    fn json(&self, file: &str, args: &Args, stages: &Stages) -> Value {
        let panorama = &self.rig.panorama;
        let common = json!({
            "rig": file,
            "size": [panorama.width, panorama.height],
            "projection": panorama.projection.as_str(),
            "preview": args.preview.as_ref().map(|file| file.to_string_lossy()),
            "times_ms": stages.json(),
        });
        let figures = match (&self.pair, &self.bundle) {
            (Some(pair), _) => json!({
                "homography_right_to_left":
                    pair.homography_right_to_left.transpose().to_cols_array(),
                "model": pair.views.name().as_str(),
                "matches": pair.matches,
                "inliers": pair.inliers.len(),
                "inlier_ratio": pair.inlier_ratio,
                "rms_px": pair.rms_px,
                "overlap": pair.overlap[0],
                "coverage": pair.coverage,
                "seam_error_px": pair.seam_error_px,
            }),
            (None, Some(bundle)) => json!({
                "model": bundle.views.name().as_str(),
                "pictures": bundle.pictures.iter().map(|p| &p.name).collect::<Vec<_>>(),
                "pairs": bundle.pairs.iter().map(|pair| json!({
                    "left": pair.left,
                    "right": pair.right,
                    "matches": pair.matches,
                    "inliers": pair.inliers,
                    "rms_px": pair.rms_px,
                    "overlap": pair.overlap[0],
                    "coverage": pair.coverage,
                    "seam_error_px": pair.seam_error_px,
                })).collect::<Vec<_>>(),
            }),
            (None, None) => Value::Null,
        };
        let (mut all, rest) = (common, figures);
        if let (Value::Object(all), Value::Object(rest)) = (&mut all, rest) {
            all.extend(rest);
        }
        all
    }
}

fn tell_drift(rig: &Path, drift: &Drift, stages: &Stages, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return output::print_json(&json!({
            "rig": rig.to_string_lossy(),
            "drifted": drift.drifted,
            "median_px": drift.median_px,
            "rms_px": drift.rms_px,
            "allowed_px": drift.allowed_px,
            "agreeing": drift.agreeing,
            "matches": drift.matches,
            "inliers": drift.inliers,
            "times_ms": stages.json(),
        }));
    }
    output::print(&format!(
        "{}: {}: off by {:.2} px at the median, {:.2} px allowed; {:.0} % of {} points within\n",
        rig.display(),
        if drift.drifted { "drifted, calibrate again" } else { "fits" },
        drift.median_px,
        drift.allowed_px,
        100.0 * drift.agreeing,
        drift.inliers,
    ))
}

impl From<Model> for ModelChoice {
    fn from(model: Model) -> Self {
        match model {
            Model::Auto => Self::Auto,
            Model::Homography => Self::Homography,
            Model::Rotation => Self::Rotation,
        }
    }
}

impl From<Projection> for ProjectionName {
    fn from(projection: Projection) -> Self {
        match projection {
            Projection::Planar => Self::Planar,
            Projection::Cylindrical => Self::Cylindrical,
            Projection::Equirectangular => Self::Equirectangular,
        }
    }
}
