//! `panoweave video`: stitches the videos of 1 to 16 cameras into a video of panoramas, or of a virtual camera's view.

use std::process::ExitCode;
use std::time::Duration;

use panoweave::io::video::STANDARD;
use panoweave::job::files::is_stdout;
use panoweave::job::{Corrections, Event, Job, OutputReport, Synced, VideoJob, VideoReport};
use panoweave::video::Summary;
use serde_json::{Value, json};

use crate::options::job::Options;
use crate::output;
use crate::output::calibrated::describe as describe_calibration;
use crate::output::colour;
use crate::output::failure::{Failure, Kind, exit_code};
use crate::output::interrupt::Interrupt;
use crate::output::log;
use crate::output::progress::Progress;

const AFTER_HELP: &str = "\
Examples:
  panoweave video l.mp4 r.mp4 -o pano.mp4
  panoweave video l.mp4 r.mp4 --rig rig.toml -o pano.mp4
  panoweave video l.mp4 r.mp4 --at 1:00 -o moment.png
  panoweave video l.mkv r.mkv --warp rig.safetensors -o pano.mkv --crf 18 --device cuda:0
  panoweave video l_%04d.png r_%04d.png --fps 25 --homography h.txt -o pano_%04d.png
  panoweave video l.mp4 r.mp4 --rig rig.toml --view track.csv -o view.mp4
  camera | panoweave video - right.fifo --input-format nv12 --input-size 1920x1080 --fps 30 \\
      --warp rig.safetensors -o - | ffplay -

The name of a file selects its format: .y4m, .nv12, .p010, .rgba, numbered pictures (frame_%04d.png), or `-` for Y4M on
standard input or output. ffmpeg reads and writes all other files and must be installed (apt install ffmpeg;
PANOWEAVE_FFMPEG and PANOWEAVE_FFPROBE select other binaries). On a GPU, NVDEC decodes H.264 and HEVC, and the frames
stay in device memory; see --decoder. Output files .mp4, .m4v, .mov and .mkv are H.264 with the first video's sound; see --encoder.
If the first video has more than 8 bits per sample, the output has 10: files are HEVC (Main 10) with the colour tags of
the first video, such as BT.2020 and PQ or HLG, and Y4M is C420p10. The levels are not linearised or tone-mapped; static
HDR metadata is not copied. --depth 8 selects 8 bits.
H.264 and HEVC need even sizes, so an odd last column or row is cut off. The panorama begins
when all cameras record, and ends with the video that ends first.

An encoded file such as pano.mp4 grows as pano.part.mp4 and becomes pano.mp4 at the end. If panoweave is killed, the power
fails or the disk is full, pano.part.mp4 stays, plays, and lacks at most about 2 s.

If a video or the device fails midway, the panoramas before the failure are written and replace an old output. The command
fails, and its message says after which panorama the output ends.

Ctrl-C, SIGTERM or SIGHUP completes the file with the frames so far and exits with code 130. A second signal aborts, and
so does the end of --finish-limit; both leave the part file.
See panoweave --help for exit codes and errors as JSON.";

/// Stitches the videos of 1 to 16 cameras into a video of panoramas, or of a virtual camera's view.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[group(id = "map", multiple = false, args = ["warp", "rig", "homography"])]
pub(crate) struct Args {
    #[command(flatten)]
    job: Options<VideoJob>,
    #[command(flatten)]
    limit: FinishLimit,
    /// Prints the job as TOML for `panoweave run` instead of doing it.
    #[arg(long)]
    print_job: bool,
}

/// The time limit for completing a video after a signal.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct FinishLimit {
    /// Time limit in seconds for completing the file after a signal. After it, the encoder is killed, and the part
    /// file stays.
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    finish_limit: u64,
}

/// Runs `panoweave video`: writes the video and prints a summary. Returns exit code 130 if a signal ended the video
/// early.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    if args.print_job {
        output::print(&Job::Video(args.job.0.clone()).to_toml()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    stitch(&args.job, args.limit, as_json)
}

/// Does a job, and prints a summary.
pub(crate) fn stitch(
    job: &VideoJob,
    FinishLimit { finish_limit }: FinishLimit,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let output = job.outputs.first().map(|output| output.output.0.clone()).unwrap_or_default();
    let to_stdout = output.as_os_str() == STANDARD || is_stdout(&output);
    if to_stdout && as_json {
        return Err(Failure::usage(
            "--json and --output - both write to standard output; choose one",
        ));
    }
    let interrupt = Interrupt::listen(&output, Duration::from_secs(finish_limit), as_json)?;
    let mut progress = Progress::new()?;
    let done = job.run(interrupt.stop(), &mut |event| {
        if let Event::Start { .. } = event {
            interrupt.running();
        }
        progress.show(event);
    });
    progress.end();
    if let Some(killed) = interrupt.killed() {
        return Err(killed);
    }
    let done = done?;
    if as_json {
        let mut json = describe(job, &done);
        json["warnings"] = log::warnings().into();
        json["conversions"] = progress.conversions.json();
        output::print_json(&json)?;
    } else {
        let lines: String =
            done.outputs.iter().map(|output| line(job, &done, output) + "\n").collect();
        if to_stdout { tracing::info!("{}", lines.trim_end()) } else { output::print(&lines)? }
    }
    let stopped = done.summary.stopped;
    Ok(if stopped { exit_code(Kind::Interrupted).into() } else { ExitCode::SUCCESS })
}

/// Formats the summary of a finished output as one line.
fn line(job: &VideoJob, report: &VideoReport, output: &OutputReport) -> String {
    let (VideoReport { summary: done, device, .. }, OutputReport { file, size, corrections }) =
        (report, output);
    let kept = match corrections {
        Some(Corrections { views: views @ 1.., most, at }) => format!(
            ", {views} views moved into the area that the cameras cover, by at most {most:.1}° (at {:.2} s)",
            at.as_secs_f64()
        ),
        _ => String::new(),
    };
    let speed = job.at.map_or_else(|| format!("{:.1} fps", fps(done)), |at| format!("at {at} s,"));
    format!(
        "{}: {} frame{} of {}×{} pixels, {speed} on {device}{kept}{}",
        file.display(),
        done.written,
        if done.written == 1 { "" } else { "s" },
        size.x,
        size.y,
        if done.stopped { ", stopped early" } else { "" }
    )
}

/// Returns the offset of a video as JSON. `confidence` and `agreeing` are null for offsets that were given.
pub(crate) fn describe_offset(Synced { offsets, found }: &Synced, video: usize) -> Value {
    let found = video.checked_sub(1).and_then(|i| found.get(i));
    json!({
        "offset": offsets[video].seconds,
        "drift_ppm": 1e6 * offsets[video].drift,
        "confidence": found.map(|found| found.confidence),
        "agreeing": found.map(|found| [found.agreeing, found.compared]),
    })
}

fn fps(done: &Summary) -> f64 {
    done.written as f64 / done.time.as_secs_f64().max(1e-9)
}

fn describe(job: &VideoJob, report: &VideoReport) -> Value {
    let done = &report.summary;
    let milliseconds = |seconds: f64| (seconds * 1e6).round() / 1e3;
    let camera = |i: usize| {
        json!({
            "frames": done.read[i],
            "expected": done.expected[i],
            "unpaired": done.unpaired[i],
            "repeated": done.repeated[i],
            "decoder": report.decoders[i],
            "sync": report.synced.as_ref().map(|synced| describe_offset(synced, i)),
            "colour": done.colours.map(|colours| colour::describe(&colours[i])),
        })
    };
    let mut json = json!({
        "cameras": (0..done.read.len()).map(camera).collect::<Vec<_>>(),
        "frames": { "written": done.written, "filled": done.filled },
        "ended_first": done.ended_first.map(|camera| camera + 1),
        "dropped": done.live.dropped,
        "seconds": done.time.as_secs_f64(),
        "fps": fps(done),
        "latency_ms": { "p50": milliseconds(done.live.latency_p50), "p99": milliseconds(done.live.latency_p99) },
        "stopped": done.stopped,
        "rate": report.rate.to_string(),
        "device": report.device.to_string(),
        "calibration": report.calibrated.as_ref().map(|found| describe_calibration(found, &job.videos)),
        "times_ms": {
            "read": milliseconds(done.stages.read.as_secs_f64()),
            "stitch": milliseconds(done.stages.stitch.as_secs_f64()),
            "write": milliseconds(done.stages.write.as_secs_f64()),
        },
        "outputs": report.outputs.iter().map(describe_output).collect::<Vec<_>>(),
    });
    // The keys of the first output are also those of a job with one.
    if let (Some(all), Some(Value::Object(first))) =
        (json.as_object_mut(), report.outputs.first().map(describe_output))
    {
        all.extend(first);
    }
    json
}

fn describe_output(OutputReport { file, size, corrections }: &OutputReport) -> Value {
    json!({
        "output": file.to_string_lossy(),
        "size": [size.x, size.y],
        "view": corrections.map(|Corrections { views, most, at }| {
            json!({ "limited": views, "most_degrees": most, "at": at.as_secs_f64() })
        }),
    })
}
