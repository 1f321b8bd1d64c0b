//! `panoweave warp inspect`: prints the properties of a warp file.

use std::fmt::Write as _;
use std::path::PathBuf;

use panoweave::geometry::rig::ProjectionName;
use panoweave::io::picture::Picture;
use panoweave::job::files::check_output;
use panoweave::warp::{Warp, WarpStats};
use serde_json::{Value, json};

use crate::output;
use crate::output::failure::Failure;

/// Maximum side of the preview, in pixels.
const PREVIEW_SIDE: u32 = 1600;

/// Prints the properties of a warp file, and draws the warp with --preview.
///
/// A warp file is rejected if its checksum is wrong, if a value is NaN, or if a weight is not from 0 to 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  panoweave warp inspect rig.safetensors --preview look.png\n")]
pub(crate) struct Args {
    /// Warp file to inspect.
    file: PathBuf,
    /// Writes a picture of the warp. Each camera has its own colour (the first is orange, the second is blue), an
    /// outline and its number. Where cameras overlap, their colours are mixed by weight and paler. Fine lines divide
    /// the width and the height of each camera's picture into eighths.
    #[arg(long, value_name = "OUT.png")]
    preview: Option<PathBuf>,
}

/// Runs `panoweave warp inspect`: prints the properties, and writes the preview if requested.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    if let Some(preview) = &args.preview {
        check_output(preview, &[&args.file])?;
        Picture::check_name(preview)?;
    }
    let warp = Warp::open(&args.file)?;
    let stats = warp.stats();
    if let Some(preview) = &args.preview {
        warp.preview(PREVIEW_SIDE).save(preview)?;
    }
    if as_json {
        return output::print_json(&json!({
            "file": args.file.to_string_lossy(),
            "preview": args.preview.as_ref().map(|file| file.to_string_lossy()),
            // The checksum is valid, because `Warp::open` has not rejected the file.
            "checksum": "valid",
            "warp": describe(&warp, &stats),
        }));
    }
    let mut text = format!("{}\n", args.file.display());
    // Writing to a string cannot fail.
    let _ = write_text(&mut text, &warp, &stats);
    output::print(&text)
}

/// Returns a JSON object with the projection and the statistics of a warp, and the rig or homography that it is from.
pub(crate) fn describe(warp: &Warp, stats: &WarpStats) -> Value {
    json!({
        "projection": warp.projection().map_or("unknown", ProjectionName::as_str),
        "stats": stats,
        "rig": warp.rig(),
    })
}

fn write_text(text: &mut String, warp: &Warp, stats: &WarpStats) -> std::fmt::Result {
    let projection = warp.projection().map_or("unknown projection", ProjectionName::as_str);
    writeln!(text, "panorama  {}×{} pixels, {projection}", stats.size[0], stats.size[1])?;
    writeln!(text, "checksum  valid")?;
    for (number, camera) in (1..).zip(&stats.cameras) {
        let [width, height] = camera.size;
        write!(text, "camera {number:<2} {width}×{height} pixels, fills ")?;
        match (camera.least, camera.most) {
            (Some(least), Some(most)) => writeln!(
                text,
                "{:.1} % from columns {:.2} to {:.2} and rows {:.2} to {:.2}",
                camera.coverage * 100.0,
                least[0],
                most[0],
                least[1],
                most[1]
            )?,
            _ => writeln!(text, "nothing")?,
        }
    }
    writeln!(text, "filled    {:.1} %", stats.coverage * 100.0)?;
    match stats.overlap_box {
        Some(found) => writeln!(
            text,
            "overlap   {:.1} % within {}×{} pixels at column {}, row {}",
            stats.overlap * 100.0,
            found.width,
            found.height,
            found.x,
            found.y
        )?,
        None => writeln!(text, "overlap   none")?,
    }
    match warp.rig() {
        Some(rig) => {
            writeln!(text, "made from")?;
            rig.lines().try_for_each(|line| writeln!(text, "  {line}"))
        }
        None => writeln!(text, "made from unknown"),
    }
}
