//! Kills the program while it writes a long video, or fills its disk. The part file that it leaves must decode without an
//! error, and lack at most 2 s of the frames that the encoder has received.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

/// The containers.
const CONTAINERS: [&str; 3] = ["mp4", "mkv", "mov"];

/// The frames per second of the videos, and the number of bytes of a panorama.
const RATE: f64 = 30.0;
const BYTES: u64 = 480 * 180 * 3 / 2;

/// The most that a part file may lack, in seconds.
const LOSS: f64 = 2.0;

/// What the trials have found so far.
#[derive(Default)]
struct Tally {
    /// The numbers of trials: the program alone was killed, all of its processes were killed, or the disk was full.
    trials: [u32; 3],
    failures: u32,
    /// The number of kills before a frame was in the part file.
    empty: u32,
    /// The largest loss in seconds.
    loss: f64,
}

/// The kind of a trial, the loss in seconds and the number of frames in the part file.
type Outcome = (usize, f64, u64);

/// Kills the program `kills` times, and fills the disk `full` times. Returns the number of failures.
pub(super) fn run(bed: &Bed, kills: u32, full: u32, rng: &mut Rng) -> Result<u32> {
    let (video, encoder) = (bed.inputs.join("match.mp4"), bed.inputs.join("encoder"));
    let ffmpeg = bed.tool("PANOWEAVE_FFMPEG", "ffmpeg");
    let sources = "-v error -y -f lavfi -i testsrc2=s=320x180:r=30 -f lavfi -i sine -t 20";
    let mut command = Command::new(&ffmpeg);
    command.args(sources.split(' ')).args(["-pix_fmt", "yuv420p", "-c:a", "aac"]).arg(&video);
    cargo::run(&mut command)?;
    // The encoder stores the frames that it receives. A limit on the size of files does not apply to them.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *pipe:0*) ulimit -S -f unlimited; tee '{}' | '{}' \"$@\"; exit;; esac\nexec '{1}' \"$@\"\n",
        frames(bed).display(),
        ffmpeg.display()
    );
    fs::write(&encoder, script)?;
    fs::set_permissions(&encoder, fs::Permissions::from_mode(0o755))?;
    let start = Instant::now();
    let output = finish(recording(bed, CONTAINERS[0], "").spawn()?)?;
    if !output.status.success() {
        return Err(format!("recording: {}", said(&output)).into());
    }
    let (time, length) = (start.elapsed(), fs::metadata(bed.outputs.join("out.mp4"))?.len());
    let mut tally = Tally::default();
    while tally.trials[0] + tally.trials[1] < kills || tally.trials[2] < full {
        let container = CONTAINERS[rng.usize(..CONTAINERS.len())];
        let is_kill = tally.trials[0] + tally.trials[1] < kills;
        let trial = match is_kill {
            true => kill(bed, container, time, rng),
            false => fill(bed, container, length, rng),
        };
        match trial {
            Ok(Some((kind, loss, frames))) => {
                tally.trials[kind] += 1;
                tally.empty += u32::from(frames == 0);
                tally.loss = tally.loss.max(loss);
            }
            // The recording was complete before the kill.
            Ok(None) => {}
            Err(error) => {
                tally.trials[if is_kill { 0 } else { 2 }] += 1;
                tally.failures += 1;
                eprintln!("recording {container}: {error}");
            }
        }
    }
    let Tally { trials: [alone, all, full], failures, empty, loss } = tally;
    println!(
        "recording      {alone} killed alone, {all} killed with ffmpeg, {full} on a full disk: {failures} failed, {empty} before the first frame, largest loss {loss:.2} s"
    );
    Ok(failures)
}

/// The file with the frames that the encoder has received.
fn frames(bed: &Bed) -> PathBuf {
    bed.inputs.join("frames")
}

fn recording(bed: &Bed, container: &str, before: &str) -> Command {
    let line = format!(
        "video IN/match.mp4 IN/match.mp4 --homography IN/h.txt --no-colour -o out.{container}"
    );
    let mut command = bed.command("recording", &line, before);
    command.env("PANOWEAVE_FFMPEG", bed.inputs.join("encoder"));
    command
}

/// Empties the folder of the outputs, and writes an old output.
fn reset(bed: &Bed, container: &str) -> Result {
    bed.empty()?;
    let _ = fs::remove_file(frames(bed));
    Ok(fs::write(bed.outputs.join(format!("out.{container}")), OLD)?)
}

/// Kills a recording that takes `time`. Returns `None` if it was complete before.
fn kill(bed: &Bed, container: &str, time: Duration, rng: &mut Rng) -> Result<Option<Outcome>> {
    reset(bed, container)?;
    let mut child = recording(bed, container, "").spawn()?;
    thread::sleep(time.mul_f64(0.05 + 0.85 * rng.f64()));
    let all = rng.bool();
    if all {
        let processes = bed.processes()?.iter().map(ToString::to_string).collect::<Vec<_>>();
        // A process that has ended meanwhile is an error.
        let _ = Command::new("kill").arg("-KILL").args(processes).stderr(Stdio::null()).status()?;
    } else {
        child.kill()?;
    }
    let output = finish(child)?;
    bed.await_children()?;
    if output.status.signal().is_none() {
        return Ok(None);
    }
    check(bed, container, &output, usize::from(all)).map(Some)
}

/// Fills the disk of a recording: with the rights of root a file system in memory, otherwise by a limit on the size of
/// files. `length` is the size of a complete recording.
fn fill(bed: &Bed, container: &str, length: u64, rng: &mut Rng) -> Result<Option<Outcome>> {
    let kilobytes = rng.u64(64..length / 1024);
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs"]).arg(&bed.outputs);
    let is_mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    let limit = format!("ulimit -S -f {}; ", 2 * kilobytes);
    let trial = || {
        reset(bed, container)?;
        let before = if is_mounted { "" } else { &limit };
        let output = finish(recording(bed, container, before).spawn()?)?;
        bed.await_children()?;
        if error_kind(&output).as_deref() != Some("output") {
            return Err(said(&output).into());
        }
        check(bed, container, &output, 2).map(Some)
    };
    let result = trial();
    if is_mounted {
        cargo::run(Command::new("umount").arg(&bed.outputs))?;
    }
    result
}

/// Checks the files that a recording has left, and what it said.
fn check(bed: &Bed, container: &str, output: &Output, kind: usize) -> Result<Outcome> {
    let part = format!("out.part.{container}");
    let frames_in_part = count(bed, &bed.outputs.join(&part))?;
    if frames_in_part > 0 && !String::from_utf8_lossy(&output.stderr).contains(&part) {
        return Err("the part file is not named".into());
    }
    if fs::read(bed.outputs.join(format!("out.{container}")))? != OLD {
        return Err("the old output has changed".into());
    }
    let received = fs::metadata(frames(bed)).map_or(0, |file| file.len()) / BYTES;
    let loss = received.saturating_sub(frames_in_part) as f64 / RATE;
    if loss > LOSS {
        Err(format!("{loss:.2} s of {received} frames are lost").into())
    } else {
        Ok((kind, loss, frames_in_part))
    }
}

/// Decodes a part file without an error. Returns the number of its frames.
fn count(bed: &Bed, part: &Path) -> Result<u64> {
    if fs::metadata(part).map_or(0, |file| file.len()) == 0 {
        return Ok(0);
    }
    let options =
        "-v error -count_frames -select_streams v -show_entries stream=nb_read_frames -of csv=p=0";
    let mut command = Command::new(bed.tool("PANOWEAVE_FFPROBE", "ffprobe"));
    let output = command.args(options.split(' ')).arg(part).output()?;
    if !output.status.success() || !output.stderr.is_empty() {
        return Err(format!("{}: {}", part.display(), said(&output)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().trim_end_matches(',').parse()?)
}
