//! `panoweave features`: finds the pixels of a picture that can be found again in another picture, such as corners.

use std::fmt::Write as _;
use std::path::PathBuf;

use panoweave::device::{DeviceName, Image};
use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave::job::files::check_output;
use panoweave::ops::features::{Feature, FeatureOptions, good_features};
use serde_json::json;

use crate::options::values::{eigenvalue, sigma, window};
use crate::output;
use crate::output::conversions::Conversions;
use crate::output::failure::Failure;
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave features photo.jpg --count 500
  panoweave features photo.png --mindist 30 --preview marked.png --device cuda:0 --json

Prints one line per feature, the best first: column and row from 0, and the smaller eigenvalue of the matrix of gradient
products in the window. A larger eigenvalue means a stronger corner.
See panoweave --help for exit codes and errors as JSON.";

/// Half the side of the square that marks a feature in the preview, in pixels.
const MARK: i64 = 3;
/// Colours of the outline of a feature's mark (black) and of the mark itself (yellow). The outline keeps the mark
/// visible on a bright picture.
const MARK_COLOURS: [Rgba8; 2] = [Rgba8::opaque(0, 0, 0), Rgba8::opaque(255, 220, 0)];

/// Finds features that can be tracked, with the method of the KLT library: pixels in whose neighbourhood the brightness
/// changes along both axes.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Picture to search, PNG or JPEG.
    image: PathBuf,
    /// Maximum number of features to print. If there are more, only the best ones are printed.
    #[arg(long, value_name = "N", default_value = "100")]
    count: usize,
    /// Side in pixels of the square window around a feature, an odd number from 3 to 31. A pixel counts as a feature if
    /// the brightness in this window changes along both axes.
    #[arg(long, value_name = "PIXELS", value_parser = window, default_value = "7")]
    window: u32,
    /// Minimum distance between two features in pixels, horizontal or vertical, whichever is larger.
    #[arg(long, value_name = "PIXELS", default_value = "10")]
    mindist: u32,
    /// Minimum strength of a feature, measured by the eigenvalue that is printed with it. A larger value keeps only
    /// stronger corners. A value below 1 counts as 1.
    #[arg(long, value_name = "VALUE", value_parser = eigenvalue, default_value = "1")]
    min_eigenvalue: f32,
    /// Width in pixels of the border of the picture that is not searched for features. The border is always at least
    /// as wide as the filters and half of --window reach: 8 pixels by default.
    #[arg(long, value_name = "PIXELS", default_value = "24")]
    border: u32,
    /// Standard deviation in pixels, from 0.1 to 32, of the Gaussian whose derivatives compute the gradients.
    #[arg(long, value_name = "PIXELS", value_parser = sigma, default_value = "1")]
    gradient_sigma: f32,
    /// Does not smooth the picture before the gradients are computed. By default, a Gaussian smooths the picture. Its
    /// standard deviation is a tenth of --window.
    #[arg(long)]
    no_smoothing: bool,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Writes a copy of the picture with a square around each feature, as .png, .jpg or .jpeg file.
    #[arg(long, value_name = "OUT.png")]
    preview: Option<PathBuf>,
}

/// Runs `panoweave features` and prints the features.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    if let Some(preview) = &args.preview {
        check_output(preview, &[&args.image])?;
        Picture::check_name(preview)?;
    }
    let mut stages = Stages::new()?;
    let mut picture = stages.run("load", "reading", || Ok(Picture::open(&args.image)?))?;
    let mut conversions = Conversions::default();
    conversions.add_opaque(&args.image, &picture);
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
            "conversions": conversions.json(),
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

/// Draws a yellow square with a black outline around each feature.
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
