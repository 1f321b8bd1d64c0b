//! The stitchers, each as a list of programs that run on picture files.
//!
//! No stitcher receives exposures, directions or distortion. Hugin receives the horizontal field of view, rounded to
//! degrees, which the metadata of a photograph contains, because its assistant does not estimate it. The others do.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Result, cannot};

/// The script that runs OpenCV's `Stitcher`.
const OPENCV: &str = include_str!("stitchers/opencv.py");

/// The script that composes a sequence with OpenCV's `Stitcher`.
const OPENCV_VIDEO: &str = include_str!("stitchers/opencv_video.py");

/// Where and how long stitchers run.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// The folder for pictures, panoramas and reports.
    pub(crate) out: PathBuf,
    /// The time limit of a program in seconds.
    pub(crate) limit: u64,
}

/// A stitcher that is installed.
#[derive(Clone, Debug)]
pub(crate) struct Stitcher {
    pub(crate) name: &'static str,
    /// The version that it reports.
    pub(crate) version: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Panoweave { program: PathBuf, arguments: Vec<String> },
    OpenCv,
    Hugin,
}

/// What a stitcher made, or the reason why it failed.
type Made<T> = std::result::Result<T, String>;

/// Returns the stitchers that are installed, and a line for each that is not. `panoweave` is the program's path.
pub(crate) fn installed(panoweave: &Path, arguments: &[String]) -> (Vec<Stitcher>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    // The line in which a program tells its version has this word.
    let mut add = |name, command: &mut Command, word: &str, kind, remedy: &str| {
        let output = command.stdin(Stdio::null()).output();
        let text = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
        match String::from_utf8_lossy(&text).lines().find(|line| line.contains(word)) {
            Some(line) => found.push(Stitcher { name, version: line.trim().to_owned(), kind }),
            None => missing.push(format!("{name} is left out: {remedy}")),
        }
    };
    let kind = Kind::Panoweave { program: panoweave.into(), arguments: arguments.to_vec() };
    let program = &mut Command::new(panoweave);
    let remedy = "build it with `cargo build --release -p panoweave-cli`, or pass --panoweave PATH";
    add("panoweave", program.arg("--version"), "panoweave", kind, remedy);
    let script = &mut Command::new("python3");
    let remedy = "python3 cannot import cv2";
    add("opencv", script.args(["-c", OPENCV]), "OpenCV ", Kind::OpenCv, remedy);
    let first = &mut Command::new("pto_gen");
    let remedy = "its command line (pto_gen, …) is not in PATH";
    add("hugin", first.arg("-h"), "version", Kind::Hugin, remedy);
    (found, missing)
}

impl Stitcher {
    /// Stitches picture files of cameras with a horizontal field of view in radians. `folder` is the folder for the
    /// panorama and the log. Returns the panorama's file.
    pub(crate) fn stitch(
        &self,
        files: &[PathBuf],
        view: f64,
        folder: &Path,
        limit: u64,
    ) -> Result<Made<PathBuf>> {
        empty(folder)?;
        let out = folder.join("panorama.png");
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
            Kind::Hugin => hugin(files, view, folder),
        };
        let made = run(steps, limit, &folder.join("log.txt"));
        let name = self.name;
        Ok(made.and_then(|()| {
            if out.exists() { Ok(out) } else { Err(format!("{name} wrote no panorama")) }
        }))
    }
}

/// A way to stitch a sequence of frames with cameras that are estimated once.
#[derive(Clone, Debug)]
pub(crate) struct VideoWay {
    pub(crate) name: &'static str,
    stitcher: Stitcher,
    blend: &'static str,
}

impl VideoWay {
    /// Returns the ways that the stitchers have: panoweave with both blends, and OpenCV. Hugin has none.
    pub(crate) fn all(stitchers: &[Stitcher]) -> Vec<Self> {
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
    /// 0. Returns the files of the panoramas, in the order of the frames.
    pub(crate) fn stitch(
        &self,
        patterns: &[PathBuf],
        frames: usize,
        folder: &Path,
        limit: u64,
    ) -> Result<Made<Vec<PathBuf>>> {
        empty(folder)?;
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
        let made = run(steps, limit, &folder.join("log.txt"));
        let files = (0..=frames).map(|i| folder.join(format!("frame_{i:02}.png")));
        let files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
        Ok(made.and_then(|()| match files.len() {
            found if found == frames => Ok(files),
            found => Err(format!("{} wrote {found} of {frames} frames", self.name)),
        }))
    }
}

/// Creates a folder, and removes what an earlier run left in it.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| cannot("remove", folder, error))?;
    }
    fs::create_dir_all(folder).map_err(|error| cannot("create", folder, error))
}

/// Returns the steps of Hugin's command line, as its assistant runs them. The panorama is not cropped, because the
/// other stitchers do not crop either.
fn hugin(files: &[PathBuf], view: f64, folder: &Path) -> Vec<Command> {
    let step = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments);
        command
    };
    let view = format!("{:.0}", view.to_degrees());
    let mut first = step("pto_gen", &["-o", "project.pto", "-p", "0", "-f", &view]);
    first.args(files);
    vec![
        first,
        step("cpfind", &["--multirow", "-o", "project.pto", "project.pto"]),
        step("cpclean", &["-o", "project.pto", "project.pto"]),
        step("autooptimiser", &["-a", "-m", "-l", "-s", "-o", "project.pto", "project.pto"]),
        step(
            "pano_modify",
            &["--canvas=AUTO", "--fov=AUTO", "--ldr-file=PNG", "-o", "project.pto", "project.pto"],
        ),
        step("hugin_executor", &["--stitching", "--prefix=panorama", "project.pto"]),
    ]
}

/// Runs programs one after the other until one fails or takes longer than `limit` seconds. What they print goes to
/// `log`. Returns the reason if a program failed.
fn run(steps: Vec<Command>, limit: u64, log: &Path) -> Made<()> {
    for step in steps {
        let program = step.get_program();
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let open = || File::options().create(true).append(true).open(log);
        let mut timed = Command::new("timeout");
        timed.arg(limit.to_string()).arg(program).args(step.get_args()).stdin(Stdio::null());
        if let Some(folder) = step.get_current_dir() {
            timed.current_dir(folder);
        }
        let status = open()
            .and_then(|out| timed.stdout(out).stderr(open()?).status())
            .map_err(|error| format!("{name} does not start: {error}"))?;
        if status.code() == Some(124) {
            return Err(format!("{name}: time limit exceeded"));
        }
        if !status.success() {
            return Err(format!("{name}: {status}{}", last_line(log)));
        }
    }
    Ok(())
}

/// Returns the last line of the log that has letters, as the reason of a failure.
fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| line.chars().any(char::is_alphabetic));
    line.map_or_else(String::new, |line| {
        format!(": {}", line.trim().chars().take(200).collect::<String>())
    })
}
