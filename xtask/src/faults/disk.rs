//! Full and slow disks: a limit of the file size, a small file system, and a reader that is slower than the program.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::Run;
use super::bed::{JOBS, Job, State};
use crate::Result;
use crate::cargo;

const LIMITED: &str = "file size";
const FULL: &str = "full";
const SLOW: &str = "slow";

pub(super) fn run(run: &mut Run) -> Result {
    for job in JOBS {
        let reference = run.bed.reference(job)?;
        for trial in 0..run.trials {
            // The shell's limit is in units of 512 bytes. The signal of the limit is ignored in every second trial.
            let blocks = run.rng.u64(0..=reference.largest().div_ceil(512));
            let ignored = if trial % 2 == 0 { "trap '' XFSZ; " } else { "" };
            let before = format!("{ignored}ulimit -f {blocks}");
            run.bed.reset(job)?;
            let child = run.bed.limited(job, &before).spawn()?;
            run.check(LIMITED, job, &reference, child, &before, is_of_output)?;
        }
    }
    match SmallDisk::mount(&run.bed.outputs) {
        Ok(disk) => full(run, disk)?,
        Err(error) => println!("{FULL}: no small file system: {error}; run as the superuser"),
    }
    slow(run)
}

fn is_of_output(kind: Option<&str>) -> bool {
    kind == Some("output")
}

/// Runs each command on a file system that has room for a part of its output.
fn full(run: &mut Run, disk: SmallDisk) -> Result {
    for job in JOBS {
        disk.resize(64 << 20)?;
        let reference = run.bed.reference(job)?;
        for _ in 0..run.trials.div_ceil(4) {
            run.bed.reset(job)?;
            // A page for the folder and for each old output, and a random part of the largest new one.
            let pages = 1 + job.outputs.len() as u64;
            let bytes = 4096 * pages + run.rng.u64(0..=reference.largest());
            disk.resize(bytes)?;
            let child = run.bed.command(job).spawn()?;
            let what = format!("a disk of {bytes} bytes");
            run.check(FULL, job, &reference, child, &what, is_of_output)?;
        }
    }
    Ok(())
}

/// A small file system at the folder of the outputs. Dropping it unmounts it.
struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    fn mount(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(folder);
        cargo::output(&mut mount)?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn resize(&self, bytes: u64) -> Result {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,size={bytes}")]).arg(&self.folder);
        cargo::output(&mut mount).map(drop)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}

/// A video of 400 panoramas of 480×240 pixels, which have 66 MiB. All of them do not fit into the memory that the
/// program may need more than for a short video.
const LONG: Job = Job::new(
    "video long",
    "video IN/long_l.y4m IN/long_r.y4m HOMOGRAPHY FIXED -o out.y4m",
    &["out.y4m"],
)
.stream();

/// The number of frames of [`LONG`].
const FRAMES: u32 = 400;

/// The memory in KiB by which the peak of a long video may exceed that of a short one.
const GROWTH: u64 = 16 * 1024;

/// Writes videos to pipes. The bytes must not change, and the memory must grow neither with the length of the video,
/// nor with the time for which the program waits for a slow reader.
fn slow(run: &mut Run) -> Result {
    run.bed.make_long_videos(FRAMES)?;
    let short = JOBS.into_iter().find(|job| job.name == "video y4m").ok_or("no short video")?;
    let mut least = None;
    for (job, pause) in [(short, 0), (LONG, 0), (LONG, 10)] {
        let reference = run.bed.reference(job)?;
        run.bed.reset(job)?;
        let (status, peak) = read_slowly(run, job, Duration::from_millis(pause))?;
        match run.bed.state(job, &reference) {
            Ok((State::New, 0)) if status.success() => {
                let text = format!("runs with the new output, peak {peak} KiB, pause {pause} ms");
                run.count(SLOW, job.name, text);
            }
            found => run.fail(SLOW, job.name, format!("{found:?}, {status}")),
        }
        let least = *least.get_or_insert(peak);
        if peak > least + GROWTH {
            let text = format!("the memory grows from {least} to {peak} KiB, pause {pause} ms");
            run.fail(SLOW, job.name, text);
        }
    }
    Ok(())
}

/// Runs a command that writes a video to a pipe, waits for `pause` before each read, and writes the bytes to the
/// output. Returns the status and the peak of the program's resident memory in KiB.
fn read_slowly(run: &Run, job: Job, pause: Duration) -> Result<(ExitStatus, u64)> {
    let line = run.bed.line(job).replace("-o out.y4m", "-o -").replace(" --json", "");
    let mut command = Command::new(run.bed.command(job).get_program());
    let mut child = command.args(line.split_whitespace()).stdout(Stdio::piped()).spawn()?;
    let mut stdout = child.stdout.take().ok_or("no stdout")?;
    // The capacity of a pipe.
    let mut part = vec![0; 1 << 16];
    let (mut bytes, mut peak) = (Vec::new(), 0);
    loop {
        thread::sleep(pause);
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak = peak.max(peak_of(&status).unwrap_or(0));
        match stdout.read(&mut part)? {
            0 => break,
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
    let status = child.wait()?;
    fs::write(run.bed.outputs.join("out.y4m"), &bytes)?;
    Ok((status, peak))
}

/// Returns the peak of the resident memory in KiB.
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
