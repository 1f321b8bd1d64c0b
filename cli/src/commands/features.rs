//! `panoweave features`: finds pixels of a picture that can be tracked into another picture.

use std::fmt::Write as _;
use std::path::PathBuf;

use panoweave::device::{DeviceName, Image};
use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave::ops::features::{Feature, FeatureOptions, good_features};
use serde_json::json;

use crate::options::values::{eigenvalue, sigma, window};
use crate::output;
use crate::output::failure::Failure;
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave features photo.jpg --count 500
  panoweave features photo.png --mindist 30 --preview marked.png --device cuda:0 --json

Prints one line per feature, the best first: column, row, and the smaller eigenvalue of the matrix of gradient
products.
See panoweave --help for exit codes and errors as JSON.";

/// Radius of a mark in the preview, in pixels.
const MARK: i64 = 3;
/// Colours of a mark's outline and of the mark. The outline keeps the mark visible on a bright picture.
const MARK_COLOURS: [Rgba8; 2] = [Rgba8::opaque(0, 0, 0), Rgba8::opaque(255, 220, 0)];

/// Finds features as the KLT library does: pixels whose neighbourhood changes along both axes.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The picture, PNG or JPEG.
    image: PathBuf,
    /// Maximum number of features.
    #[arg(long, value_name = "N", default_value = "100")]
    count: usize,
    /// Side of the window around a feature in pixels: odd, 3 to 31.
    #[arg(long, value_name = "PIXELS", value_parser = window, default_value = "7")]
    window: u32,
    /// Minimum distance between features in pixels, along x or y.
    #[arg(long, value_name = "PIXELS", default_value = "10")]
    mindist: u32,
    /// Minimum eigenvalue of a feature; values below 1 count as 1.
    #[arg(long, value_name = "VALUE", value_parser = eigenvalue, default_value = "1")]
    min_eigenvalue: f32,
    /// Width of the border without features, in pixels.
    #[arg(long, value_name = "PIXELS", default_value = "24")]
    border: u32,
    /// Standard deviation of the Gaussian whose derivatives are the gradients, in pixels: 0.1 to 1000.
    #[arg(long, value_name = "PIXELS", value_parser = sigma, default_value = "1")]
    gradient_sigma: f32,
    /// Computes gradients without smoothing the picture first.
    #[arg(long)]
    no_smoothing: bool,
    /// Device to run on: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Writes the picture with the features marked: .png, .jpg or .jpeg.
    #[arg(long, value_name = "OUT.png")]
    preview: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    if let Some(preview) = &args.preview {
        output::check(preview, &[&args.image])?;
        Picture::check_name(preview)?;
    }
    let mut stages = Stages::new();
    let mut picture = stages.run("load", "reading", || Ok(Picture::open(&args.image)?))?;
    let device = args.device.open()?;
    let stream = device.stream()?;
    let (width, height) = (picture.width(), picture.height());
    let features = stages.run("find", "finding features", || {
        let image = Image::from_slice(&stream, width, height, picture.pixels())?;
        Ok(good_features(&stream, image.view(), &args.options())?)
    })?;
    if let Some(preview) = &args.preview {
        stages.run("preview", "writing", || {
            mark(&mut picture, &features);
            Ok(picture.save(preview)?)
        })?;
    }
    if as_json {
        return output::print_json(&json!({
            "file": args.image.to_string_lossy(),
            "size": [width, height],
            "device": device.to_string(),
            "preview": args.preview.as_ref().map(|file| file.to_string_lossy()),
            "times_ms": stages.json(),
            "features": features,
        }));
    }
    let mut text = String::new();
    for Feature { x, y, value } in features {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{x:5} {y:5} {value:12.2}");
    }
    output::print(&text)
}

impl Args {
    fn options(&self) -> FeatureOptions {
        FeatureOptions {
            count: self.count,
            window: self.window,
            min_distance: self.mindist,
            min_eigenvalue: self.min_eigenvalue,
            border: self.border,
            smooth: !self.no_smoothing,
            gradient_sigma: self.gradient_sigma,
        }
    }
}

/// Draws a square around each feature.
fn mark(picture: &mut Picture, features: &[Feature]) {
    let (width, height) = (picture.width(), picture.height());
    let pixels = picture.pixels_mut();
    // Draw all marks after all outlines, so that no outline hides a mark.
    for (radius, colour) in [MARK + 1, MARK].into_iter().zip(MARK_COLOURS) {
        for feature in features {
            let mut draw = |dx: i64, dy: i64| {
                let at = [(feature.x, dx, width), (feature.y, dy, height)].map(|(at, by, side)| {
                    u32::try_from(i64::from(at) + by).ok().filter(|&at| at < side)
                });
                if let [Some(x), Some(y)] = at {
                    pixels[y as usize * width as usize + x as usize] = colour;
                }
            };
            for i in -radius..=radius {
                draw(i, -radius);
                draw(i, radius);
                draw(-radius, i);
                draw(radius, i);
            }
        }
    }
}
