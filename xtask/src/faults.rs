//! `cargo xtask faults`: kills the program while it writes, or limits the size of its files, and checks the files that
//! it leaves. `doc/reliability.md` has the results.
//!
//! Each command runs in an empty folder in which its outputs already exist with an old content. After the fault, each
//! output must have its old content or the content of an undisturbed run. The program writes a Y4M stream in place, so
//! this output may also contain the first part of the new content.

mod recordings;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fastrand::Rng;

use crate::Result;
use crate::cargo::{self, cargo, target};
use crate::ffmpeg;

/// The part of the name of a part file.
const PART: &str = ".part";

/// The old content of the outputs.
const OLD: &[u8] = b"the old content of an output\n";

/// The maximum time that a command may take, with all its children.
const LIMIT: Duration = Duration::from_secs(60);

/// The commands that write files: the name, the arguments and the outputs. `IN` stands for the folder of the inputs.
const JOBS: [(&str, &str, &[&str]); 14] = [
    ("stitch png", "stitch IN/l.png IN/r.png --homography IN/h.txt -o out.png", &["out.png"]),
    ("stitch jpg", "stitch IN/l.png IN/r.png --homography IN/h.txt -o out.jpg", &["out.jpg"]),
    (
        "calibrate",
        "calibrate IN/l.png IN/r.png -o out.toml --preview out.png",
        &["out.toml", "out.png"],
    ),
    (
        "warp",
        "warp --homography IN/h.txt --left IN/l.png --right IN/r.png -o out.safetensors",
        &["out.safetensors"],
    ),
    ("warp inspect", "warp inspect IN/h.safetensors --preview out.png", &["out.png"]),
    ("rig", "rig IN/rig.toml --preview out.png", &["out.png"]),
    ("trajectory", "trajectory resample IN/path.csv --fps 1000 -o out.csv", &["out.csv"]),
    ("features", "features IN/l.png --preview out.png", &["out.png"]),
    ("compare", "compare IN/l.png IN/r.png --map out.png", &["out.png"]),
    (
        "compare video",
        "compare IN/l.y4m IN/r.y4m --csv out.csv --plot out.svg",
        &["out.csv", "out.svg"],
    ),
    (
        "video y4m",
        "video IN/l.y4m IN/r.y4m --homography IN/h.txt --no-colour -o out.y4m",
        &["out.y4m"],
    ),
    (
        "video png",
        "video IN/l.y4m IN/r.y4m --homography IN/h.txt --no-colour -o out_%02d.png",
        &["out_01.png", "out_05.png", "out_12.png"],
    ),
    (
        "video mp4",
        "video IN/l.mp4 IN/r.mp4 --homography IN/h.txt --no-colour -o out.mp4",
        &["out.mp4"],
    ),
    (
        "video mov",
        "video IN/l.mp4 IN/r.y4m --homography IN/h.txt --no-colour -o out.mov",
        &["out.mov"],
    ),
];

/// The commands without the option `--device`.
const WITHOUT_DEVICE: [&str; 2] = ["warp inspect", "rig"];

/// The contents of the files in the folder of the outputs, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The folders of the inputs and the outputs, and the program under test.
struct Bed {
    inputs: PathBuf,
    outputs: PathBuf,
    program: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
}

/// Causes the faults. `--trials N` and `--seed N` set the number of trials per command and the seed of the random
/// moments. `--program FILE` names the program panoweave to use instead of building it, and `--job NAME` a single
/// command. The command `recording` has 8 kills and 2 full disks per trial.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let (mut trials, mut seed, mut program, mut only) = (25, fastrand::u64(..), None, "");
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || rest.next().copied().ok_or(format!("{argument} needs a value"));
        match argument {
            "--trials" => trials = value()?.parse()?,
            "--seed" => seed = value()?.parse()?,
            "--program" => program = Some(PathBuf::from(value()?)),
            "--job" => only = value()?,
            _ => return Err(format!("unknown option `{argument}`").into()),
        }
    }
    println!("seed {seed}, {trials} trials per command");
    let bed = Bed::new(program)?;
    let (mut rng, mut failures) = (Rng::with_seed(seed), 0);
    for job in JOBS.into_iter().filter(|job| only.is_empty() || job.0 == only) {
        let (reference, time) = bed.reference(job)?;
        let mut outcomes = BTreeMap::<String, u32>::new();
        for trial in 0..trials {
            bed.reset(job)?;
            let outcome = match trial % 2 {
                0 => bed.kill(job, &reference, time, &mut rng),
                _ => bed.limit(job, &reference, &mut rng),
            };
            let outcome = outcome.unwrap_or_else(|error| {
                failures += 1;
                eprintln!("{}: {error}", job.0);
                "FAILED".to_owned()
            });
            *outcomes.entry(outcome).or_default() += 1;
        }
        let outcomes: Vec<_> = outcomes.iter().map(|(what, n)| format!("{n} {what}")).collect();
        println!("{:14} {}", job.0, outcomes.join(", "));
    }
    if ["", "recording"].contains(&only) {
        failures += recordings::run(&bed, 8 * trials, 2 * trials, &mut rng)?;
    }
    if failures == 0 {
        return Ok(());
    }
    Err(format!("{failures} trials failed; repeat them with --seed {seed}").into())
}

type Job = (&'static str, &'static str, &'static [&'static str]);

impl Bed {
    /// Builds the program unless `program` names one, and makes the inputs in the target folder.
    fn new(program: Option<PathBuf>) -> Result<Self> {
        let program = match program {
            Some(program) => program,
            None => {
                cargo::run(&mut cargo(&["build", "--release", "--package", "panoweave-cli"]))?;
                target().join("release/panoweave")
            }
        };
        let folder = target().join("faults");
        for part in ["in", "out"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let folder = folder.canonicalize()?;
        let bed = Self {
            inputs: folder.join("in"),
            outputs: folder.join("out"),
            program: program.canonicalize()?,
            variables: ffmpeg::provide(),
        };
        bed.make_inputs()?;
        Ok(bed)
    }

    fn make_inputs(&self) -> Result {
        let at = |name: &str| self.inputs.join(name);
        fs::write(at("scene.ppm"), scene(480, 240))?;
        fs::write(at("h.txt"), "1 0 160\n0 1 0\n0 0 1\n")?;
        fs::write(at("rig.toml"), RIG)?;
        let path: String =
            (0..200).map(|i| format!("{},{},{}\n", f64::from(i) * 0.1, i * i, 7 * i)).collect();
        fs::write(at("path.csv"), path)?;
        let ffmpeg = self.tool("PANOWEAVE_FFMPEG", "ffmpeg");
        for (name, x) in [("l", 0), ("r", 160)] {
            // The videos have 12 frames, whose brightness changes.
            let (cut, video) = (
                format!("crop=320:240:{x}:0"),
                format!(
                    "loop=11:1:0,setpts=N/25/TB,crop=320:240:{x}:0,eq=brightness=0.02*sin(n):eval=frame"
                ),
            );
            let stream = ["-vf", &video, "-r", "25", "-pix_fmt", "yuv420p"];
            for (options, extension) in [
                (&["-vf", &cut][..], "png"),
                (&stream, "y4m"),
                (&[&stream[..], &["-crf", "10"]].concat(), "mp4"),
            ] {
                let mut command = Command::new(&ffmpeg);
                command.args(["-v", "error", "-y", "-i", "scene.ppm"]).args(options);
                command.arg(format!("{name}.{extension}"));
                cargo::run(command.current_dir(&self.inputs))?;
            }
        }
        let warp =
            "warp --homography h.txt --left l.png --right r.png --device cpu -o h.safetensors";
        let mut command = Command::new(&self.program);
        cargo::output(command.args(warp.split(' ')).current_dir(&self.inputs)).map(drop)
    }

    /// Returns the path of the program that a variable selects, or `name`.
    fn tool(&self, variable: &str, name: &str) -> PathBuf {
        let provided = self.variables.iter().find(|(provided, _)| *provided == variable);
        let provided = provided.map(|(_, program)| program.clone());
        provided.or(std::env::var_os(variable).map(PathBuf::from)).unwrap_or(name.into())
    }

    /// Returns a command for a job, which the shell starts after the commands `before`. Its working directory is the
    /// folder of the outputs.
    fn command(&self, name: &str, line: &str, before: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before}exec \"$0\" \"$@\"")]).arg(&self.program);
        command.args(line.replace("IN/", &format!("{}/", self.inputs.display())).split(' '));
        command.args(["--device", "cpu"].iter().filter(|_| !WITHOUT_DEVICE.contains(&name)));
        command.arg("--json").current_dir(&self.outputs);
        command.envs(self.variables.iter().map(|(name, file)| (name, file)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Empties the folder of the outputs, and writes the old content to the outputs of the job.
    fn reset(&self, (_, _, outputs): Job) -> Result {
        self.empty()?;
        for name in outputs {
            fs::write(self.outputs.join(name), OLD)?;
        }
        Ok(())
    }

    fn empty(&self) -> Result {
        for entry in fs::read_dir(&self.outputs)?.flatten() {
            fs::remove_file(entry.path())?;
        }
        Ok(())
    }

    /// Runs the job twice without a fault. Both runs must write the same bytes. Returns the files and the time.
    fn reference(&self, job: Job) -> Result<(Files, Duration)> {
        let run = || -> Result<(Files, Duration)> {
            self.reset(job)?;
            let start = Instant::now();
            let output = finish(self.command(job.0, job.1, "").spawn()?)?;
            if !output.status.success() {
                return Err(format!("{}: {}", job.0, said(&output)).into());
            }
            Ok((self.files()?, start.elapsed()))
        };
        let ((files, _), (again, time)) = (run()?, run()?);
        let is_new = |name: &&str| files.get(*name).is_some_and(|bytes| bytes != OLD);
        if files != again || !job.2.iter().all(is_new) {
            return Err(format!("{}: outputs are missing, or differ between runs", job.0).into());
        }
        Ok((files, time))
    }

    fn files(&self) -> Result<Files> {
        let entries = fs::read_dir(&self.outputs)?.flatten();
        let read = |entry: fs::DirEntry| {
            Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
        };
        entries.map(read).collect()
    }

    /// Returns the number of temporary files and of part files of videos.
    fn temporary(&self) -> Result<usize> {
        let entries = fs::read_dir(&self.outputs)?.flatten();
        Ok(entries.filter(|entry| is_temporary(&entry.file_name().to_string_lossy())).count())
    }

    /// Compares the outputs with their old and their new contents. Returns a description, which is `new` if all are new.
    fn state(&self, (_, _, outputs): Job, reference: &Files) -> Result<&'static str> {
        let files = self.files()?;
        let (mut old, mut new, mut part) = (0, 0, 0);
        for (name, bytes) in files.iter().filter(|(name, _)| !is_temporary(name)) {
            let expected = reference.get(name);
            if bytes == OLD && outputs.contains(&&**name) {
                old += 1;
            } else if expected == Some(bytes) {
                new += 1;
            } else if name.ends_with(".y4m") && expected.is_some_and(|new| new.starts_with(bytes)) {
                part += 1;
            } else {
                return Err(format!("{name} is neither old nor new: {} bytes", bytes.len()).into());
            }
        }
        if let Some(missing) = outputs.iter().find(|name| !files.contains_key(**name)) {
            return Err(format!("{missing} does not exist any more").into());
        }
        Ok(match (old, new, part) {
            (_, 0, 0) => "old",
            (0, _, 0) => "new",
            (0, 0, _) => "part of a stream",
            _ => "some new",
        })
    }

    /// Kills the program: half of the times at a random moment of its `time`, half while it writes. All children must
    /// end, and the next run must succeed and remove the temporary files.
    fn kill(&self, job: Job, reference: &Files, time: Duration, rng: &mut Rng) -> Result<String> {
        let mut child = self.command(job.0, job.1, "").spawn()?;
        if rng.bool() {
            thread::sleep(time.mul_f64(1.1 * rng.f64()));
        } else {
            let start = Instant::now();
            while self.temporary()? == 0 && child.try_wait()?.is_none() && start.elapsed() < LIMIT {
                thread::sleep(Duration::from_micros(200));
            }
            thread::sleep(Duration::from_micros(rng.u64(0..5000)));
        }
        child.kill()?;
        let is_killed = child.wait()?.signal().is_some();
        self.await_children()?;
        let state = self.state(job, reference)?;
        self.remove_parts()?;
        // A file counts as left over after a minute.
        for entry in fs::read_dir(&self.outputs)?.flatten() {
            if is_temporary(&entry.file_name().to_string_lossy()) {
                let file = File::options().write(true).open(entry.path())?;
                file.set_modified(SystemTime::now() - Duration::from_secs(120))?;
            }
        }
        let output = finish(self.command(job.0, job.1, "").spawn()?)?;
        if !output.status.success() || self.state(job, reference)? != "new" || self.temporary()? > 0
        {
            return Err(format!("the run after a kill: {}", said(&output)).into());
        }
        Ok(format!("{} ({state})", if is_killed { "killed" } else { "already done" }))
    }

    /// Limits the size of the files to a random part of the largest output. The program must write all outputs, or print
    /// an error of the kind `output`, and leave no temporary file. The shell ignores the signal of the limit half of the
    /// times.
    fn limit(&self, job: Job, reference: &Files, rng: &mut Rng) -> Result<String> {
        let largest = reference.values().map(Vec::len).max().unwrap_or(0) as u64;
        // The shell's limit is in units of 512 bytes.
        let blocks = rng.u64(0..=largest.div_ceil(512));
        let ignored = if rng.bool() { "trap '' XFSZ; " } else { "" };
        let before = format!("{ignored}ulimit -f {blocks} || exit 98; ");
        let output = finish(self.command(job.0, job.1, &before).spawn()?)?;
        self.await_children()?;
        self.remove_parts()?;
        let (state, kind) = (self.state(job, reference)?, error_kind(&output));
        let is_right = match &kind {
            None => output.status.success() && state == "new",
            Some(kind) => kind == "output" && state != "new",
        };
        if !is_right || self.temporary()? > 0 {
            return Err(format!("{before}{state}, {kind:?}, {}", said(&output)).into());
        }
        Ok(format!("limited ({state})"))
    }

    /// Removes the part files of videos, which stay for the user.
    fn remove_parts(&self) -> Result {
        for entry in fs::read_dir(&self.outputs)?.flatten() {
            if entry.file_name().to_string_lossy().contains(PART) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Returns the processes that work in the folder of the outputs.
    fn processes(&self) -> Result<Vec<u32>> {
        let works_here = |entry: &fs::DirEntry| {
            fs::read_link(entry.path().join("cwd")).is_ok_and(|folder| folder == self.outputs)
        };
        let here = fs::read_dir("/proc")?.flatten().filter(works_here);
        Ok(here.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }

    /// Waits until no process works in the folder of the outputs any more.
    fn await_children(&self) -> Result {
        let start = Instant::now();
        while !self.processes()?.is_empty() {
            if start.elapsed() > LIMIT {
                return Err("a child of the program does not end".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".panoweave-") && name.ends_with(".tmp") || name.contains(PART)
}

/// Waits for a process. Kills it and returns an error if it takes too long.
fn finish(mut child: Child) -> Result<Output> {
    let drain = |pipe: Option<Box<dyn io::Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            bytes
        })
    };
    let stdout = drain(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = drain(child.stderr.take().map(|pipe| Box::new(pipe) as _));
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

/// Returns the kind of the error that the program printed as JSON, if its exit code is that of the program.
fn error_kind(output: &Output) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let is_code = json["error"]["exit_code"] == output.status.code()?;
    is_code.then(|| json["error"]["kind"].as_str().map(str::to_owned)).flatten()
}

/// Returns the status of a program and the last line that it printed.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, text.lines().last().unwrap_or_default())
}

/// Returns a picture with random blobs, as a PPM file.
fn scene(width: usize, height: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(1);
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
