//! `panoweave calibrate`: makes a rig from overlapping photographs or videos, or checks whether a rig fits new ones.

mod sketch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use panoweave::geometry::calibrate::{CalibrateOptions, RigCheck, check_rig};
use panoweave::geometry::rig::Rig;
use panoweave::io::picture::{Picture, PictureFormat};
use panoweave::io::video::Stop;
use panoweave::job::files::{check_output, would_be_same};
use panoweave::job::{CalibrateJob, Calibrated, Event, File, JobError, check_pictures, told};
use panoweave::ops::matching::{joined, links};
use serde_json::{Value, json};

use crate::options::job::Options;
use crate::output;
use crate::output::calibrated::{describe, summary};
use crate::output::failure::{CHECK_FAILED, Failure};

use crate::output::progress::Progress;

const AFTER_HELP: &str = "\
Examples:
  panoweave calibrate left.jpg right.jpg -o rig.toml --preview check.png
  panoweave calibrate left.jpg right.jpg --check rig.toml
  panoweave calibrate a.jpg b.jpg c.jpg -o rig.toml --crop
  panoweave calibrate a.mp4 b.mp4 -o rig.toml

The pictures must overlap, ideally by a fifth to a half, and must be taken at the same time. Two pictures that do not
fit together are rejected, with the reason. Of three or more, pictures that do not fit the others are left out, with a
warning. --check exits with code 5 if the rig has drifted, and with code 2 if a camera cannot be checked, for example
because it was moved so far that it shows nothing of the other pictures. In the JSON, cameras are numbered from 1, and
the homography of a pair maps pixels of its second camera to its first one: nine numbers, row by row.
See panoweave --help for exit codes and errors as JSON.";

/// Makes a rig file from overlapping photographs or videos, or checks that a rig file still fits them.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    job: Options<CalibrateJob>,
    /// Rig file to write. Required unless --check is given.
    #[arg(short, long, value_name = "RIG.toml", required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Instead of making a rig, checks that this rig still fits the pictures. Exits with code 5 if the rig has drifted,
    /// for example because a camera was moved.
    #[arg(long, value_name = "RIG.toml", conflicts_with_all = ["output", "preview", "model", "crop", "projection"])]
    check: Option<PathBuf>,
    /// Writes a picture for checking the result by eye, with the extension .png, .jpg or .jpeg. The picture shows the
    /// matches, the overlap and the seam.
    #[arg(long, value_name = "OUT.png")]
    preview: Option<PathBuf>,
}

/// Runs `panoweave calibrate`: writes a rig, or checks one with `--check`. Returns exit code 5 if the rig has drifted.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    let (job, files) = (&args.job, &args.job.pictures);
    let inputs = files.iter().chain(&job.mask.mask).chain(&job.lenses.lens);
    let inputs: Vec<&Path> = inputs.map(|file| &**file).collect();
    for file in args.output.iter().chain(&args.preview) {
        check_output(file, &inputs)?;
    }
    if let (Some(output), Some(preview)) = (&args.output, &args.preview)
        && would_be_same(output, preview)
    {
        return Err(Failure::output_twice(preview));
    }
    if let Some(preview) = &args.preview {
        Picture::check_name(preview)?;
    }
    if args.output.as_ref().is_some_and(|file| PictureFormat::of_file(file).is_ok()) {
        return Err(Failure::usage(
            "--output is a rig file (TOML), but its name is that of a picture; choose another name, or use --preview",
        ));
    }
    let rig =
        args.check.as_ref().map(|file| Ok::<_, Failure>((file, Rig::open(file)?))).transpose()?;
    let mut progress = Progress::new()?;
    let moments = job.read(&Stop::default(), &mut |event| progress.show(event))?;
    if let Some((file, rig)) = &rig {
        let wanted: Vec<_> = rig.cameras.iter().map(|camera| camera.size.into()).collect();
        let sizes: Vec<_> = moments[0].iter().map(Picture::size).collect();
        let files: Vec<&Path> = files.iter().map(|file| &**file).collect();
        check_pictures(file, &wanted, &sizes, &files)?;
    }
    let stream = job.device.open()?.stream()?;
    if let Some((file, rig)) = &rig {
        progress.show(Event::Stage("match", "matching"));
        let links = moments.iter().map(|pictures| links(&stream, pictures));
        let links = joined(&links.collect::<Result<Vec<_>, _>>()?);
        progress.show(Event::Stage("check", "checking"));
        let found = check_rig(rig, &links, &CalibrateOptions::default())
            .map_err(|refusal| JobError::refused(files, refusal))?;
        progress.end();
        return tell_check(file, found, files, &progress, as_json);
    }
    let (found, pictures) = job.run(&stream, moments, &mut |event| progress.show(event))?;
    progress.show(Event::Calibrated(&found, None));
    if let Some(file) = &args.output {
        progress.show(Event::Stage("save", "writing"));
        found.rig.save(file)?;
    }
    if let Some(file) = &args.preview {
        progress.show(Event::Stage("preview", "drawing"));
        sketch::calibration(&stream, &pictures, &found)?.save(file)?;
    }
    progress.end();
    tell(&found, args, &progress, as_json)?;
    Ok(ExitCode::SUCCESS)
}

fn tell(
    found: &Calibrated,
    args: &Args,
    Progress { stages, conversions, .. }: &Progress,
    as_json: bool,
) -> Result<(), Failure> {
    let file = args.output.as_deref().unwrap_or(Path::new("")).to_string_lossy();
    let panorama = &found.rig.panorama;
    if !as_json {
        return output::print(&format!(
            "{file}: {}, {}×{} panorama, {:.0} ms\n",
            summary(found),
            panorama.width,
            panorama.height,
            stages.total().as_secs_f64() * 1e3,
        ));
    }
    let common = json!({
        "rig": file,
        "size": [panorama.width, panorama.height],
        "projection": panorama.projection.as_str(),
        "preview": args.preview.as_ref().map(|file| file.to_string_lossy()),
        "conversions": conversions.json(),
        "times_ms": stages.json(),
    });
    let (mut all, figures) = (common, describe(found, &args.job.pictures));
    if let (Value::Object(all), Value::Object(figures)) = (&mut all, figures) {
        all.extend(figures);
    }
    output::print_json(&all)
}

/// Prints how the pictures fit the rig. Fails if no pair has drifted and a camera cannot be checked.
fn tell_check(
    rig: &Path,
    found: RigCheck,
    files: &[File],
    Progress { stages, conversions, .. }: &Progress,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let has_drifted = found.order.is_some() || found.worst.is_some_and(|drift| drift.drifted);
    let told = told(&found, files).filter(|_| has_drifted);
    if let (None, Some((cameras, refusal))) = (&told, found.unchecked) {
        return Err(JobError::refused(&cameras.map(|camera| &*files[camera]), refusal).into());
    }
    let Some(drift) = found.worst else {
        return Err(Failure::usage("--check needs a rig with two or more cameras that overlap"));
    };
    let code = if told.is_some() { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS };
    let number = |i: &usize| i + 1;
    if as_json {
        output::print_json(&json!({
            "rig": rig.to_string_lossy(),
            "drifted": told.is_some(),
            "moved": found.moved.iter().map(number).collect::<Vec<_>>(),
            "order": found.order.as_ref().map(|all| all.iter().map(number).collect::<Vec<_>>()),
            "median_px": drift.median_px,
            "rms_px": drift.rms_px,
            "allowed_px": drift.allowed_px,
            "agreeing": drift.agreeing,
            "matches": drift.matches,
            "inliers": drift.inliers,
            "conversions": conversions.json(),
            "times_ms": stages.json(),
        }))?;
        return Ok(code);
    }
    let text = told.map_or_else(|| "fits".to_owned(), |told| format!("drifted: {told}"));
    output::print(&format!(
        "{}: {text}: median error {:.2} px, {:.2} px allowed; {:.0} % of {} points are within the limit\n",
        rig.display(),
        drift.median_px,
        drift.allowed_px,
        100.0 * drift.agreeing,
        drift.inliers,
    ))?;
    Ok(code)
}
