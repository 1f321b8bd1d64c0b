//! The inputs of the fault tests, the commands that write files, and the check of their outputs.
//!
//! Each command runs in an empty folder in which its outputs already exist with an old content. After the command, each
//! output must have its old content or the content of an undisturbed run. The program writes a Y4M stream in place, so
//! this output may also contain the first part of the new content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::Result;
use crate::cargo::{self, cargo, target};
use crate::ffmpeg;

/// The old content of the outputs.
const OLD: &[u8] = b"the old content of an output\n";

/// The maximum time that a command may take, with all its children.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// The exit code of a shell that cannot set a limit.
pub(super) const NO_LIMIT: i32 = 98;

/// A command that writes files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) name: &'static str,
    line: &'static str,
    /// The files that the command writes.
    pub(super) outputs: &'static [&'static str],
    /// Whether the outputs are streams, which are written in place.
    is_stream: bool,
    /// Whether the command has the option `--device`.
    has_device: bool,
}

impl Job {
    pub(super) const fn new(
        name: &'static str,
        line: &'static str,
        outputs: &'static [&'static str],
    ) -> Self {
        Self { name, line, outputs, is_stream: false, has_device: true }
    }

    const fn without_device(self) -> Self {
        Self { has_device: false, ..self }
    }

    pub(super) const fn stream(self) -> Self {
        Self { is_stream: true, ..self }
    }
}

/// All commands that write files. `HOMOGRAPHY` and `IN` stand for options and the folder of the inputs.
pub(super) const JOBS: [Job; 14] = [
    Job::new("stitch png", "stitch IN/l.png IN/r.png HOMOGRAPHY -o out.png", &["out.png"]),
    Job::new("stitch jpg", "stitch IN/l.png IN/r.png HOMOGRAPHY -o out.jpg", &["out.jpg"]),
    Job::new(
        "calibrate",
        "calibrate IN/l.png IN/r.png -o out.toml --preview out.png",
        &["out.toml", "out.png"],
    ),
    Job::new(
        "warp",
        "warp HOMOGRAPHY --left IN/l.png --right IN/r.png -o out.safetensors",
        &["out.safetensors"],
    ),
    Job::new("warp inspect", "warp inspect IN/h.safetensors --preview out.png", &["out.png"])
        .without_device(),
    Job::new("rig", "rig IN/rig.toml --preview out.png", &["out.png"]).without_device(),
    Job::new("trajectory", "trajectory resample IN/path.csv --fps 1000 -o out.csv", &["out.csv"]),
    Job::new("features", "features IN/l.png --preview out.png", &["out.png"]),
    Job::new("compare", "compare IN/l.png IN/r.png --map out.png", &["out.png"]),
    Job::new(
        "compare video",
        "compare IN/l.y4m IN/r.y4m --csv out.csv --plot out.svg",
        &["out.csv", "out.svg"],
    ),
    Job::new("video y4m", "video IN/l.y4m IN/r.y4m HOMOGRAPHY FIXED -o out.y4m", &["out.y4m"])
        .stream(),
    Job::new(
        "video png",
        "video IN/l.y4m IN/r.y4m HOMOGRAPHY FIXED -o out_%02d.png",
        &["out_01.png", "out_05.png", "out_12.png"],
    ),
    Job::new("video mp4", "video IN/l.mp4 IN/r.mp4 HOMOGRAPHY FIXED -o out.mp4", &["out.mp4"]),
    Job::new("video mov", "video IN/l.mp4 IN/r.y4m HOMOGRAPHY FIXED -o out.mov", &["out.mov"]),
];

/// The contents of the outputs after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// All outputs have the old content.
    Old,
    /// All outputs have the new content.
    New,
    /// Each output has the old or the new content. A command that writes several files replaces one after the other.
    Mixed,
    /// The output is a stream, and contains the first part of the new content.
    Part,
}

impl State {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Old => "with the old output",
            Self::New => "with the new output",
            Self::Mixed => "with some new outputs",
            Self::Part => "with a part of the stream",
        }
    }
}

/// The result of an undisturbed run of a command.
pub(super) struct Reference {
    files: BTreeMap<String, Vec<u8>>,
    pub(super) time: Duration,
}

impl Reference {
    /// Returns the size of the largest output in bytes.
    pub(super) fn largest(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).max().unwrap_or(0)
    }
}

/// The folders of the inputs and the outputs, and the program under test.
pub(super) struct Bed {
    inputs: PathBuf,
    pub(super) outputs: PathBuf,
    program: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Bed {
    /// Builds the program unless `program` names one, and makes the inputs in the target folder.
    pub(super) fn new(program: Option<PathBuf>) -> Result<Self> {
        let program = match program {
            Some(program) => program.canonicalize()?,
            None => {
                cargo::run(&mut cargo(&["build", "--release", "--package", "panoweave-cli"]))?;
                target().join("release/panoweave").canonicalize()?
            }
        };
        let folder = target().join("faults");
        fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        let variables = ffmpeg::provide();
        let bed =
            Self { inputs: folder.join("in"), outputs: folder.join("out"), program, variables };
        bed.make_inputs()?;
        Ok(bed)
    }

    fn make_inputs(&self) -> Result {
        match fs::remove_dir_all(&self.inputs) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(&self.inputs)?,
        }
        let at = |name: &str| self.inputs.join(name);
        fs::write(at("scene.ppm"), scene(480, 240))?;
        fs::write(at("h.txt"), "1 0 160\n0 1 0\n0 0 1\n")?;
        fs::write(at("rig.toml"), RIG)?;
        let path: String =
            (0..200).map(|i| format!("{},{},{}\n", f64::from(i) * 0.1, i * i, 7 * i)).collect();
        fs::write(at("path.csv"), path)?;
        let cut = |x: u32| format!("crop=320:240:{x}:0");
        for (name, x) in [("l", 0), ("r", 160)] {
            let (png, y4m, mp4) =
                (format!("{name}.png"), format!("{name}.y4m"), format!("{name}.mp4"));
            self.ffmpeg(&["-vf", &cut(x), &png])?;
            self.video(12, x, &[], &y4m)?;
            self.video(12, x, &["-crf", "10"], &mp4)?;
        }
        let mut warp = self.program_with(
            "warp --homography h.txt --left l.png --right r.png --device cpu -o h.safetensors",
        );
        cargo::output(warp.current_dir(&self.inputs)).map(drop)
    }

    /// Makes the video `name` of a camera that sees the scene from the column `x`. Its brightness changes.
    fn video(&self, frames: u32, x: u32, options: &[&str], name: &str) -> Result {
        let filter = format!(
            "loop={}:1:0,setpts=N/25/TB,crop=320:240:{x}:0,eq=brightness=0.02*sin(n):eval=frame",
            frames - 1
        );
        let format = ["-vf", &filter, "-r", "25", "-pix_fmt", "yuv420p"];
        self.ffmpeg(&[&format, options, &[name]].concat())
    }

    /// Makes two videos `long_l.y4m` and `long_r.y4m` with this number of frames.
    pub(super) fn make_long_videos(&self, frames: u32) -> Result {
        self.video(frames, 0, &[], "long_l.y4m")?;
        self.video(frames, 160, &[], "long_r.y4m")
    }

    /// Runs ffmpeg on the scene, in the folder of the inputs.
    fn ffmpeg(&self, arguments: &[&str]) -> Result {
        let named = self.variables.iter().find(|variable| variable.0 == "PANOWEAVE_FFMPEG");
        let named = named.map(|(_, program)| program.clone().into_os_string());
        let program =
            named.or_else(|| std::env::var_os("PANOWEAVE_FFMPEG")).unwrap_or("ffmpeg".into());
        let mut command = Command::new(program);
        command.args(["-v", "error", "-y", "-i", "scene.ppm"]).args(arguments);
        cargo::run(command.current_dir(&self.inputs))
    }

    fn program_with(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        self.set_up(&mut command);
        command.args(line.split_whitespace());
        command
    }

    fn set_up(&self, command: &mut Command) {
        command
            .current_dir(&self.outputs)
            // Rust's standard library waits for ever if there is no memory for the backtrace that it prints.
            .env_remove("RUST_BACKTRACE")
            .envs(self.variables.iter().map(|(name, file)| (name, file)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    /// Returns the arguments of a command.
    pub(super) fn line(&self, job: Job) -> String {
        let homography = format!("--homography {}", self.inputs.join("h.txt").display());
        let line = job.line.replace("HOMOGRAPHY", &homography).replace("FIXED", "--no-colour");
        let device = if job.has_device { " --device cpu" } else { "" };
        format!("{}{device} --json", line.replace("IN/", &format!("{}/", self.inputs.display())))
    }

    /// Returns a command for the job. Its working directory is the folder of the outputs.
    pub(super) fn command(&self, job: Job) -> Command {
        self.program_with(&self.line(job))
    }

    /// Returns a command that runs the job after the shell commands `before`, such as `ulimit`. Without starting the
    /// job, it exits with [`NO_LIMIT`] if they fail.
    pub(super) fn limited(&self, job: Job, before: &str) -> Command {
        let mut command = Command::new("sh");
        self.set_up(&mut command);
        command.args(["-c", &after(before)]).arg(&self.program);
        command.args(self.line(job).split_whitespace());
        command
    }

    /// Empties the folder of the outputs, and writes the old content to the outputs of the job.
    pub(super) fn reset(&self, job: Job) -> Result {
        match fs::read_dir(&self.outputs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.outputs)?
            }
            Err(error) => return Err(error.into()),
            Ok(entries) => entries.flatten().try_for_each(|entry| fs::remove_file(entry.path()))?,
        }
        for name in job.outputs {
            fs::write(self.outputs.join(name), OLD)?;
        }
        Ok(())
    }

    /// Runs the job three times without a disturbance. All runs must write the same bytes.
    pub(super) fn reference(&self, job: Job) -> Result<Reference> {
        let mut found: Option<Reference> = None;
        for _ in 0..3 {
            self.reset(job)?;
            let start = Instant::now();
            let output = finish(self.command(job).spawn()?)?;
            let time = start.elapsed();
            if !output.status.success() {
                return Err(format!("{}: {}: {}", job.name, output.status, said(&output)).into());
            }
            let files = self.files()?;
            if job.outputs.iter().any(|name| files.get(*name).is_none_or(|bytes| bytes == OLD)) {
                return Err(
                    format!("{}: an output is missing in {:?}", job.name, files.keys()).into()
                );
            }
            if found.as_ref().is_some_and(|found| found.files != files) {
                return Err(format!("{}: two runs write different files", job.name).into());
            }
            // The first run is slower, because the program is not in the cache.
            let time = found.map_or(time, |found| found.time.min(time));
            found = Some(Reference { files, time });
        }
        found.ok_or_else(|| "no run".into())
    }

    /// Returns the contents of all files in the folder of the outputs.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(&self.outputs)? {
            let entry = entry?;
            files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
        }
        Ok(files)
    }

    /// Compares the outputs with their old and their new contents. Returns also the number of temporary files.
    ///
    /// # Errors
    /// Returns an error if an output has another content, or if there is an unexpected file.
    pub(super) fn state(&self, job: Job, reference: &Reference) -> Result<(State, usize)> {
        let (mut states, mut temporary) = (BTreeSet::new(), 0);
        for (name, bytes) in self.files()? {
            let new = reference.files.get(&name);
            if is_temporary(&name) {
                temporary += 1;
            } else if bytes == OLD && job.outputs.contains(&&*name) {
                states.insert(0);
            } else if new == Some(&bytes) {
                states.insert(1);
            } else if job.is_stream && new.is_some_and(|new| new.starts_with(&bytes)) {
                states.insert(2);
            } else {
                return Err(format!("{name} is neither old nor new: {} bytes", bytes.len()).into());
            }
        }
        if let Some(missing) = job.outputs.iter().find(|name| !self.outputs.join(name).exists()) {
            return Err(format!("{missing} does not exist any more").into());
        }
        let state = match (states.len(), states.first()) {
            (1, Some(0)) => State::Old,
            (1, Some(1)) => State::New,
            (1, Some(2)) => State::Part,
            _ => State::Mixed,
        };
        Ok((state, temporary))
    }

    /// Returns the number of temporary files.
    pub(super) fn temporary(&self) -> Result<usize> {
        let names = fs::read_dir(&self.outputs)?.flatten().map(|entry| entry.file_name());
        Ok(names.filter(|name| is_temporary(&name.to_string_lossy())).count())
    }

    /// Sets the time of the temporary files back, as if they had been left two minutes ago.
    pub(super) fn age(&self) -> Result {
        for entry in fs::read_dir(&self.outputs)?.flatten() {
            if is_temporary(&entry.file_name().to_string_lossy()) {
                let file = File::options().write(true).open(entry.path())?;
                file.set_modified(SystemTime::now() - Duration::from_secs(120))?;
            }
        }
        Ok(())
    }

    /// Waits until no process works in the folder of the outputs any more.
    pub(super) fn await_children(&self) -> Result {
        let start = Instant::now();
        while !self.processes().is_empty() {
            if start.elapsed() > LIMIT {
                return Err(format!("processes {:?} do not end", self.processes()).into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Returns the numbers of the processes whose working directory is the folder of the outputs.
    pub(super) fn processes(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
            .filter(|id: &i32| {
                fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|folder| folder == self.outputs)
            })
            .collect()
    }
}

/// Returns a shell script that runs `before`, and then its arguments.
fn after(before: &str) -> String {
    format!("{{ {before}; }} || exit {NO_LIMIT}; exec \"$0\" \"$@\"")
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".panoweave-") && name.ends_with(".tmp")
}

/// Waits for a process. Kills it and returns an error if it takes too long.
pub(super) fn finish(mut child: Child) -> Result<Output> {
    let drain = |mut pipe: Box<dyn io::Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    };
    let stdout = drain(Box::new(child.stdout.take().ok_or("no stdout")?));
    let stderr = drain(Box::new(child.stderr.take().ok_or("no stderr")?));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Err(format!("the program does not end in {} s", LIMIT.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(2));
    };
    let join = |bytes: thread::JoinHandle<Vec<u8>>| bytes.join().unwrap_or_default();
    Ok(Output { status, stdout: join(stdout), stderr: join(stderr) })
}

/// Returns the kind of the error that the program printed as JSON. Returns `None` if it did not.
pub(super) fn error_kind(output: &Output) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let is_code = json["error"]["exit_code"] == output.status.code()?;
    is_code.then(|| json["error"]["kind"].as_str().map(str::to_owned)).flatten()
}

/// Returns the end of the text that a program printed.
pub(super) fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" | ")
}

/// Returns whether a signal ended the process.
pub(super) fn is_killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status).is_some()
}

/// Returns a picture with random blobs, as a PPM file.
fn scene(width: usize, height: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut levels = vec![[90_i32; 3]; width * height];
    for _ in 0..900 {
        let (x, y) = (rng.usize(..width), rng.usize(..height));
        let (side, by) = (rng.usize(3..14), [rng.i32(-60..60), rng.i32(-60..60), rng.i32(-60..60)]);
        for row in y..height.min(y + side) {
            for pixel in &mut levels[row * width + x..row * width + width.min(x + side)] {
                (0..3).for_each(|i| pixel[i] += by[i]);
            }
        }
    }
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write!(bytes, "P6\n{width} {height}\n255\n");
    bytes.extend(levels.iter().flatten().map(|level| (*level).clamp(0, 255) as u8));
    bytes
}

/// A rig of two cameras whose pictures have the size of the inputs.
const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 480
height = 240
fov = 100.0

[[camera]]
name = "left"
size = [320, 240]
lens = "pinhole"
matrix = { fx = 240.0, fy = 240.0, cx = 159.5, cy = 119.5 }
yaw = -20.0

[[camera]]
name = "right"
size = [320, 240]
lens = "pinhole"
matrix = { fx = 240.0, fy = 240.0, cx = 159.5, cy = 119.5 }
yaw = 20.0
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_its_limit_does_not_start() {
        let run = |before: &str| {
            let output =
                Command::new("sh").args(["-c", &after(before), "echo", "started"]).output();
            let Output { status, stdout, .. } = output.unwrap();
            (status.code(), String::from_utf8(stdout).unwrap())
        };
        assert_eq!(run("trap '' XFSZ; ulimit -f 8"), (Some(0), "started\n".to_owned()));
        for before in ["ulimit -f wrong", "echo $$ > /no/such/cgroup.procs", "false"] {
            assert_eq!(run(before), (Some(NO_LIMIT), String::new()), "{before}");
        }
    }
}
