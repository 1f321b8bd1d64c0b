//! `panoweave rig`: measures and draws the areas and overlaps of a rig's cameras.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use glam::UVec2;
use panoweave::geometry::rig::Rig;
use panoweave::geometry::{CanvasBox, Geometry, Overlaps};
use panoweave::io::picture::Picture;
use panoweave::job::files::{check_output, same};
use serde_json::{Value, json};

use crate::output;
use crate::output::conversions::Conversions;
use crate::output::failure::Failure;
use panoweave::job::{JobError, Size, check_pictures};

/// Maximum side of the preview, in pixels.
const PREVIEW_SIDE: u32 = 1600;

/// Maximum number of lines for areas that three or more cameras cover. The JSON has all of them.
const MEETINGS: usize = 10;

const AFTER_HELP: &str = "\
Examples:
  panoweave rig rig.toml
  panoweave rig rig.toml --preview layout.png
  panoweave rig rig.toml --preview layout.png --pictures a.jpg b.jpg c.jpg

The overlap of a pair is printed as a share of the smaller of the two areas on the canvas, and as a share of each
camera's picture. Areas are within 1 %, except those of tiny overlaps.

With --json, cameras are numbered from 1, and all shares are from 0 to 1.";

/// Shows which part of the panorama each camera of a rig covers, which pairs overlap and by how much.
///
/// Needs no pictures and no GPU. Warns about cameras that no overlap connects to the others.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Rig file (TOML) to measure.
    file: PathBuf,
    /// Replaces the size of the panorama in the rig file, in pixels, and keeps the field of view.
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Writes a picture of the panorama's canvas, at most 1600 pixels wide and high. It shows the area of each camera
    /// in its own colour, paler where cameras overlap, with the outline of its picture and its number.
    #[arg(long, value_name = "OUT.png")]
    preview: Option<PathBuf>,
    /// Pictures of the cameras, PNG or JPEG, in the order of the rig. The preview shows them below the outlines.
    #[arg(long, value_name = "PICTURE", num_args = 1.., requires = "preview")]
    pictures: Vec<PathBuf>,
}

/// Runs `panoweave rig`: prints the areas and overlaps, and writes the preview if requested.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    if let Some(preview) = &args.preview {
        let inputs: Vec<&Path> =
            [&args.file].into_iter().chain(&args.pictures).map(PathBuf::as_path).collect();
        check_output(preview, &inputs)?;
        Picture::check_name(preview)?;
    }
    let mut rig = Rig::open(&args.file)?;
    if let Some(preview) = &args.preview
        && rig.calibrations.iter().any(|file| same(preview, file))
    {
        return Err(JobError::output_is_input(preview).into());
    }
    if let Some(Size(size)) = args.size {
        rig.panorama = rig.panorama.resized(size);
    }
    let geometry = rig.geometry()?;
    let found = geometry.overlaps();
    let mut conversions = Conversions::default();
    if let Some(preview) = &args.preview {
        let pictures = args.open_pictures(&geometry)?;
        let files: Vec<&Path> = args.pictures.iter().map(PathBuf::as_path).collect();
        conversions.add_pictures(&files, &pictures);
        geometry.preview(&pictures, PREVIEW_SIDE).save(preview)?;
    }
    if let [_, others @ ..] = &found.groups[..]
        && !others.is_empty()
    {
        let groups: Vec<_> = found.groups.iter().map(|group| numbers(group)).collect();
        tracing::warn!(
            "{}: no overlap connects the cameras {}; turn them or add cameras, because gaps stay black and the colours \
             of separate parts are not matched",
            args.file.display(),
            groups.join(" | ")
        );
    }
    if as_json {
        let mut json = describe(args, &rig, &found);
        json["conversions"] = conversions.json();
        return output::print_json(&json);
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut text, args, &rig, &found);
    output::print(&text)
}

impl Args {
    /// Reads the pictures, whose number and sizes must be those of the cameras.
    fn open_pictures(&self, geometry: &Geometry) -> Result<Vec<Picture>, Failure> {
        if self.pictures.is_empty() {
            return Ok(Vec::new());
        }
        let expected: Vec<UVec2> = geometry.cameras.iter().map(|camera| camera.size).collect();
        let files: Vec<&Path> = self.pictures.iter().map(PathBuf::as_path).collect();
        let pictures = files.iter().map(Picture::open).collect::<Result<Vec<_>, _>>()?;
        let sizes: Vec<UVec2> = pictures.iter().map(Picture::size).collect();
        check_pictures(&self.file, &expected, &sizes, &files)?;
        Ok(pictures)
    }
}

/// Returns the numbers of cameras, counted from 1, such as "1, 2 and 5".
fn numbers(cameras: &[usize]) -> String {
    let numbers: Vec<_> = cameras.iter().map(|camera| (camera + 1).to_string()).collect();
    match &numbers[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        numbers => numbers.concat(),
    }
}

fn describe(args: &Args, rig: &Rig, found: &Overlaps) -> Value {
    let cameras = rig.cameras.iter().zip(&found.cameras);
    let (mut pairs, mut groups) = (found.pairs.clone(), found.groups.clone());
    let mut meetings = found.meetings.clone();
    let lists = groups.iter_mut().chain(meetings.iter_mut().map(|one| &mut one.cameras)).flatten();
    let numbers = lists.chain(pairs.iter_mut().flat_map(|pair| &mut pair.cameras));
    numbers.for_each(|camera| *camera += 1);
    json!({
        "rig": args.file.to_string_lossy(),
        "preview": args.preview.as_ref().map(|file| file.to_string_lossy()),
        "panorama": {
            "projection": rig.panorama.projection.as_str(),
            "size": [rig.panorama.width, rig.panorama.height],
        },
        "cameras": cameras.map(|(camera, area)| json!({
            "name": camera.name,
            "size": camera.size,
            "canvas": area.canvas,
            "picture": area.picture,
            "bounds": area.bounds,
        })).collect::<Vec<_>>(),
        "pairs": pairs,
        "groups": groups,
        "meetings": meetings,
        "uncovered": found.uncovered,
    })
}

fn write_text(text: &mut String, args: &Args, rig: &Rig, found: &Overlaps) -> std::fmt::Result {
    let panorama = &rig.panorama;
    writeln!(text, "{}", args.file.display())?;
    writeln!(
        text,
        "panorama  {}×{} pixels, {}, {} cameras, {} uncovered",
        panorama.width,
        panorama.height,
        panorama.projection.as_str(),
        rig.cameras.len(),
        percent(found.uncovered),
    )?;
    let names: Vec<_> = rig
        .cameras
        .iter()
        .enumerate()
        .map(|(i, camera)| format!("{} {}", i + 1, camera.name))
        .collect();
    let mut table = Table::new(&["camera", "picture", "of canvas", "of picture used", "area"]);
    for ((camera, area), name) in rig.cameras.iter().zip(&found.cameras).zip(&names) {
        table.row([
            name.clone(),
            format!("{}×{}", camera.size[0], camera.size[1]),
            percent(area.canvas),
            percent(area.picture),
            area.bounds.as_ref().map_or("outside the canvas".to_owned(), place),
        ]);
    }
    table.write(text)?;
    let mut table = Table::new(&["overlap", "of smaller", "of pictures", "area"]);
    for pair in &found.pairs {
        let [a, b] = pair.cameras;
        let [of_a, of_b] = pair.pictures;
        table.row([
            format!("{} – {}", names[a], names[b]),
            percent(pair.smaller),
            format!("{}, {}", percent(of_a), percent(of_b)),
            place(&pair.bounds),
        ]);
    }
    if found.pairs.is_empty() {
        writeln!(text, "\nno cameras overlap")?;
    } else {
        table.write(text)?;
    }
    if !found.meetings.is_empty() {
        let mut table = Table::new(&["three or more", "of canvas", "area"]);
        for meeting in found.meetings.iter().take(MEETINGS) {
            let cells =
                [numbers(&meeting.cameras), percent(meeting.canvas), place(&meeting.bounds)];
            table.row(cells);
        }
        table.write(text)?;
        if found.meetings.len() > MEETINGS {
            writeln!(text, "{} smaller ones", found.meetings.len() - MEETINGS)?;
        }
    }
    Ok(())
}

/// Returns a share as text in percent. A share that is not zero does not become "0.0 %".
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        "<0.1 %".to_owned()
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

/// Returns the size and the position of a box in whole pixels.
fn place(bounds: &CanvasBox) -> String {
    let CanvasBox { x, y, width, height } = bounds;
    format!("{width:.0}×{height:.0} pixels at column {x:.0}, row {y:.0}")
}

/// A table of text with a header. The first and the last column are left-aligned, the others right-aligned.
struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    fn new(header: &[&str; COLUMNS]) -> Self {
        Self { rows: vec![header.map(str::to_owned)] }
    }

    fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells);
    }

    /// Writes an empty line and the table.
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        writeln!(text)?;
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                match column {
                    0 => write!(text, "{cell:<width$}", width = width(0))?,
                    _ if column + 1 == COLUMNS => writeln!(text, "  {cell}")?,
                    _ => write!(text, "  {cell:>width$}", width = width(column))?,
                }
            }
        }
        Ok(())
    }
}
