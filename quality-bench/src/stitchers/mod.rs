//! The stitchers, each as a list of programs that run on picture files.
//!
//! No stitcher receives exposures, directions or distortion. Hugin receives the horizontal field of view, rounded to
//! degrees, which the metadata of a photograph contains, because its assistant does not estimate it. The others do.

pub mod process;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Error, Result};
pub use process::Times;

/// The script that runs OpenCV's `Stitcher`.
const OPENCV: &str = include_str!("opencv.py");

/// The script that composes a sequence with OpenCV's `Stitcher`.
const OPENCV_VIDEO: &str = include_str!("opencv_video.py");

/// A stitcher that is installed.
#[derive(Clone, Debug)]
pub struct Stitcher {
    /// The name in results.
    pub name: &'static str,
    /// The version that it reports.
    pub version: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Panoweave { program: PathBuf, arguments: Vec<String> },
    OpenCv,
    Hugin,
}

/// The pictures to stitch.
#[derive(Clone, Debug)]
pub struct Photos {
    /// The files, in the order of the cameras.
    pub files: Vec<PathBuf>,
    /// The horizontal field of view in radians, if it is known.
    pub view: Option<f64>,
}

/// What became of a stitch.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The panorama's file, or the reason why there is none.
    pub panorama: std::result::Result<PathBuf, String>,
    /// The time that it took.
    pub times: Times,
}

/// Returns the stitchers that are installed, and a line for each that is not. `panoweave` is the program's path.
#[must_use]
pub fn installed(panoweave: &Path, arguments: &[String]) -> (Vec<Stitcher>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    // The line in which a program tells its version has this word.
    let mut add = |name, command: &mut Command, word: &str, kind, remedy: &str| {
        let text = process::printed(command).unwrap_or_default();
        match text.lines().find(|line| line.contains(word)) {
            Some(line) => found.push(Stitcher { name, version: line.trim().to_owned(), kind }),
            None => missing.push(format!("{name} is left out: {remedy}")),
        }
    };
    let kind = Kind::Panoweave { program: panoweave.into(), arguments: arguments.to_vec() };
    add(
        "panoweave",
        Command::new(panoweave).arg("--version"),
        "panoweave",
        kind,
        "build it with `cargo build --release -p panoweave-cli`, or pass --panoweave PATH",
    );
    let script = &mut Command::new("python3");
    script.args(["-c", OPENCV]);
    add("opencv", script, "OpenCV ", Kind::OpenCv, "python3 cannot import cv2");
    let first = &mut Command::new("pto_gen");
    first.arg("-h");
    add("hugin", first, "version", Kind::Hugin, "its command line (pto_gen, …) is not in PATH");
    (found, missing)
}

impl Stitcher {
    /// Stitches pictures. `folder` is the folder for the panorama and the log.
    pub fn stitch(&self, photos: &Photos, folder: &Path, limit: Duration) -> Result<Outcome> {
        let files = &photos.files;
        fs::create_dir_all(folder).map_err(|source| Error::file(folder, source))?;
        let folder = &folder.canonicalize().map_err(|source| Error::file(folder, source))?;
        let (out, log) = (folder.join("panorama.png"), folder.join("log.txt"));
        for old in panorama(folder).iter().chain(log.exists().then_some(&log)) {
            fs::remove_file(old).map_err(|source| Error::file(old, source))?;
        }
        let steps = match &self.kind {
            Kind::Panoweave { program, arguments } => {
                let mut step = Command::new(program);
                step.arg("stitch").args(files).arg("-o").arg(&out).args(arguments);
                vec![step]
            }
            Kind::OpenCv => {
                let mut step = Command::new("python3");
                step.args(["-c", OPENCV]).arg(&out).args(files);
                vec![step]
            }
            Kind::Hugin => hugin(photos, folder),
        };
        let (times, result) = process::run(steps, limit, &log);
        let wrote = || panorama(folder).ok_or_else(|| format!("{} wrote no panorama", self.name));
        Ok(Outcome { panorama: result.and_then(|()| wrote()), times })
    }
}

/// Returns the panorama that a stitcher left in its folder. Hugin writes TIFF: enblend fails to write some colour
/// profiles into PNG.
#[must_use]
pub fn panorama(folder: &Path) -> Option<PathBuf> {
    ["panorama.png", "panorama.tif"].map(|name| folder.join(name)).into_iter().find(|f| f.exists())
}

/// A way to stitch a sequence of frames with cameras that are estimated once.
#[derive(Clone, Debug)]
pub struct VideoWay {
    /// The name in results.
    pub name: &'static str,
    stitcher: Stitcher,
    blend: &'static str,
}

impl VideoWay {
    /// Returns the ways that the stitchers have: panoweave with both blends, and OpenCV. Hugin has none.
    #[must_use]
    pub fn all(stitchers: &[Stitcher]) -> Vec<Self> {
        let ways = |stitcher: &Stitcher| {
            let way = |name, blend| Self { name, stitcher: stitcher.clone(), blend };
            match stitcher.kind {
                Kind::Panoweave { .. } => {
                    vec![way("panoweave seam", "seam"), way("panoweave feather", "feather")]
                }
                Kind::OpenCv => vec![way("opencv", "")],
                Kind::Hugin => Vec::new(),
            }
        };
        stitchers.iter().flat_map(ways).collect()
    }

    /// Stitches the sequences of the cameras. `patterns` are file names with `%02d` for the number of the frame, from
    /// 0. Returns the files of the panoramas, in the order of the frames, and the times.
    pub fn stitch(
        &self,
        patterns: &[PathBuf],
        frames: usize,
        folder: &Path,
        limit: Duration,
    ) -> Result<(std::result::Result<Vec<PathBuf>, String>, Times)> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|source| Error::file(folder, source))?;
        }
        fs::create_dir_all(folder).map_err(|source| Error::file(folder, source))?;
        let (out, rig) = (folder.join("frame_%02d.png"), folder.join("rig.toml"));
        let first = |pattern: &PathBuf| pattern.to_string_lossy().replace("%02d", "00");
        let steps = match &self.stitcher.kind {
            Kind::Panoweave { program, .. } => {
                let mut calibrate = Command::new(program);
                calibrate.arg("calibrate").args(patterns.iter().map(first)).arg("-o").arg(&rig);
                let mut video = Command::new(program);
                video.arg("video").args(patterns).args(["--fps", "10", "--rig"]).arg(&rig);
                video.args(["--blend", self.blend, "-o"]).arg(&out);
                vec![calibrate, video]
            }
            _ => {
                let mut step = Command::new("python3");
                step.args(["-c", OPENCV_VIDEO]).arg(&out).arg(frames.to_string()).args(patterns);
                vec![step]
            }
        };
        let (times, result) = process::run(steps, limit, &folder.join("log.txt"));
        let files = (0..frames + 1).map(|i| folder.join(format!("frame_{i:02}.png")));
        let files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
        let complete = result.and_then(|()| match files.len() {
            found if found == frames => Ok(files),
            found => Err(format!("{} wrote {found} of {frames} frames", self.name)),
        });
        Ok((complete, times))
    }
}

/// Returns the steps of Hugin's command line, as its assistant runs them. The panorama is not cropped, because the
/// other stitchers do not crop either.
fn hugin(photos: &Photos, folder: &Path) -> Vec<Command> {
    let step = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments);
        command
    };
    let mut first = step("pto_gen", &["-o", "project.pto"]);
    if let Some(view) = photos.view {
        first.args(["-p", "0", "-f", &format!("{:.0}", view.to_degrees())]);
    }
    first.args(&photos.files);
    vec![
        first,
        step("cpfind", &["--multirow", "-o", "project.pto", "project.pto"]),
        step("cpclean", &["-o", "project.pto", "project.pto"]),
        step("autooptimiser", &["-a", "-m", "-l", "-s", "-o", "project.pto", "project.pto"]),
        step(
            "pano_modify",
            &["--canvas=AUTO", "--fov=AUTO", "--ldr-file=TIF", "-o", "project.pto", "project.pto"],
        ),
        step("hugin_executor", &["--stitching", "--prefix=panorama", "project.pto"]),
    ]
}
