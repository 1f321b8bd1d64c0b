//! `panoweave compare`: measures the similarity of two pictures, or of two videos frame by frame.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use panoweave::device::DeviceName;
use panoweave::io::picture::Picture;
use panoweave::io::text::replace_text;
use panoweave::io::video::{Medium, STANDARD, Stop, VideoDecoder, VideoInput, VideoSource};
use panoweave::job::files::{check_output, check_pipes, input_files, would_be_same};
use panoweave::job::{InputOptions, Sync};
use panoweave::ops::ssim::MARGIN;
use panoweave::ops::ssim::compare_pictures;
use panoweave::video::{AtFrame, Comparison, FrameSimilarity, compare_videos};
use serde_json::{Value, json};

use crate::commands::video::describe_offset;
use crate::options::fail_below::FailBelow;
use crate::options::job::Options;
use crate::output;
use crate::output::conversions::Conversions;
use crate::output::failure::Failure;
use crate::output::log;
use crate::output::plot::{self, Panel};
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave compare truth.png panorama.png --map ssim.png
  panoweave compare truth.mp4 panorama.mp4 --csv frames.csv --plot frames.svg
  panoweave compare truth.mp4 panorama.mp4 --json --fail-below 0.95

SSIM compares gray levels (Rec. 601 in integers, like Pillow) under an 11-tap Gaussian of sigma 1.5. It is the mean
over the pixels whose window is inside the picture, like scikit-image with gaussian_weights=True, sigma=1.5,
use_sample_covariance=False. PSNR is computed from gray levels, and from red, green and blue, over all pixels; opacity
is ignored. The PSNR of identical pictures is infinite. It is \"identical\" in the text, null in the JSON (which has a
field \"identical\"), and inf in the CSV.

The inputs are two pictures (.png, .jpg, .jpeg) or two videos in the formats of `panoweave video`. Frames are compared
one by one in order, up to the end of the shorter video. With --sync, each frame of the reference is compared with the
nearest frame in time. With --fps, the nearest frames of both videos are compared at this rate. Videos from ffmpeg or
Y4M are compared by their stored luma. If the reference has more than 8 bits per sample, both are compared with 10 bits;
otherwise, with 8.
If ffmpeg reads only one of the videos, it converts that video to the depth, YUV matrix and range of the other one
(Y4M: BT.601; raw NV12 and P010: BT.709, limited). The PSNR of videos is computed from the mean squared error of all frames.

--fail-below sets a minimum for the SSIM of two pictures, or of the worst frame of two videos. Below it, the exit code
is 5.
See panoweave --help for exit codes and errors as JSON.";

/// Measures the similarity of two pictures or videos: SSIM and PSNR.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Reference picture or video, or - for a video from standard input.
    reference: PathBuf,
    /// Picture or video to compare with the reference, or - for a video from standard input. It must have the size of
    /// the reference.
    distorted: PathBuf,
    /// Pictures only: writes the SSIM of each pixel as a gray PNG. The levels are linear, from 0 for an SSIM of 0 or
    /// less to 255 for an SSIM of 1. Pixels less than 5 pixels from an edge have no SSIM, so the PNG has 10 columns and
    /// 10 rows fewer than the pictures.
    #[arg(long, value_name = "OUT.png")]
    map: Option<PathBuf>,
    /// Videos only: writes a CSV file with one line per frame. The columns are frame (counted from 0), time (in
    /// seconds), ssim_gray, psnr_gray (in dB) and, for RGBA frames, psnr_rgb (in dB).
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
    /// Videos only: writes a plot of SSIM and PSNR over time as an SVG file.
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    fail_below: FailBelow,
    #[command(flatten)]
    clips: Options<InputOptions>,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// Runs `panoweave compare` and prints the result. Returns exit code 5 if a score is below `--fail-below`.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    let outputs = [&args.map, &args.csv, &args.plot];
    if outputs.into_iter().flatten().any(|file| file == Path::new(STANDARD)) {
        return Err(Failure::usage("--map, --csv and --plot need a file name; - is not supported"));
    }
    args.fail_below.check(&["ssim"])?;
    if args.clips.are_pictures(&args.files())? {
        pictures(args, as_json)
    } else {
        videos(args, as_json)
    }
}

fn pictures(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    if args.csv.is_some() || args.plot.is_some() {
        return Err(Failure::usage("--csv and --plot require videos, but these are pictures"));
    }
    let both = args.files();
    if let Some(map) = &args.map {
        check_output(map, &both)?;
        let png = map.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
        if !png {
            return Err(Failure::output(map, "the name of an SSIM map must end in .png"));
        }
    }
    let mut stages = Stages::new()?;
    let [a, b] = stages.run("load", "reading", || {
        Ok([Picture::open(&args.reference)?, Picture::open(&args.distorted)?])
    })?;
    let mut conversions = Conversions::default();
    conversions.add_opaque(&args.reference, &a);
    conversions.add_opaque(&args.distorted, &b);
    let device = args.device.open()?;
    let stream = device.stream()?;
    let (found, map) = stages.run("compare", "comparing", || {
        compare_pictures(&stream, &a, &b).map_err(|error| Failure::compare(&both, error))
    })?;
    if let Some(file) = &args.map {
        stages.run("save", "writing", || {
            let levels: Vec<u8> = map.iter().map(|ssim| (255.0 * ssim).round() as u8).collect();
            Ok(Picture::save_gray(file, a.size() - MARGIN, &levels)?)
        })?;
    }
    let judged = args.fail_below.judge(&[("ssim", found.ssim)])?;
    let psnr_rgb = found.psnr_rgb.unwrap_or(f64::INFINITY);
    if as_json {
        output::print_json(&json!({
            "kind": "pictures",
            "reference": args.reference.to_string_lossy(),
            "distorted": args.distorted.to_string_lossy(),
            "size": a.size().to_array(),
            "device": device.to_string(),
            "ssim_gray": found.ssim,
            "psnr_gray": decibels(found.psnr),
            "psnr_rgb": decibels(psnr_rgb),
            "identical": { "gray": found.psnr.is_infinite(), "rgb": psnr_rgb.is_infinite() },
            "map": args.map.as_ref().map(|file| file.to_string_lossy()),
            "warnings": log::warnings(),
            "conversions": conversions.json(),
            "failed": judged.json(),
            "times_ms": stages.json(),
        }))?;
    } else {
        output::print(&format!(
            "ssim_gray  {:.6}\npsnr_gray  {}\npsnr_rgb   {}\n{}",
            found.ssim,
            shown(found.psnr),
            shown(psnr_rgb),
            judged.text()
        ))?;
    }
    Ok(judged.exit_code())
}

fn videos(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    let both = args.files();
    let inputs = args.video_inputs(both)?;
    args.clips.check(inputs.len())?;
    let mut stages = Stages::new()?;
    let stop = Stop::default();
    let sources = stages.run("open", "opening", || open(&inputs, &stop))?;
    let synced = stages.run("sync", "comparing the sound", || {
        Ok(args.clips.offsets(&sources, &Sync::Together, &stop)?)
    })?;
    let offset = synced.as_ref().and_then(|synced| synced.offsets.last().copied());
    let mut conversions = Conversions::default();
    conversions.add_videos(&sources);
    let device = args.device.open()?;
    let rates = sources.each_ref().map(VideoSource::rate);
    let rate = args.clips.fps;
    if rates[0] != rates[1] && offset.is_none() && rate.is_none() {
        tracing::warn!(
            "{} has {} frames per second but {} has {}; frames are compared by number",
            both[0].display(),
            rates[0],
            both[1].display(),
            rates[1]
        );
    }
    let (expected, size) =
        (sources.each_ref().map(VideoSource::expected), sources[0].format().size);
    let mut frames: Vec<FrameSimilarity> = Vec::new();
    let each = |frame: &FrameSimilarity| {
        if args.csv.is_some() || args.plot.is_some() {
            frames.push(*frame);
        }
    };
    let found = stages.run("compare", "comparing", || {
        compare_videos(&device, sources, offset, rate, each)
            .map_err(|error| Failure::compare(&both, error))
    })?;
    stages.run("save", "writing", || args.save(&frames))?;
    let judged = args.fail_below.judge(&[("ssim", found.least_ssim.value)])?;
    if let Some(i) = found.ended_first {
        tracing::warn!(
            "{} ended after {} frames, before {}; the rest was not compared",
            both[i].display(),
            found.frames,
            both[1 - i].display()
        );
    }
    if !as_json {
        output::print(&format!("{}{}", table(&found), judged.text()))?;
        return Ok(judged.exit_code());
    }
    let mut json = describe(&found);
    json["reference"] = args.reference.to_string_lossy().into();
    json["distorted"] = args.distorted.to_string_lossy().into();
    json["size"] = json!(size.to_array());
    json["rate"] = rates[0].to_string().into();
    json["device"] = device.to_string().into();
    json["reference_expected"] = json!(expected[0]);
    json["distorted_expected"] = json!(expected[1]);
    json["csv"] = json!(args.csv.as_ref().map(|file| file.to_string_lossy()));
    json["plot"] = json!(args.plot.as_ref().map(|file| file.to_string_lossy()));
    json["sync"] = json!(synced.map(|synced| [0, 1].map(|video| describe_offset(&synced, video))));
    json["warnings"] = log::warnings().into();
    json["conversions"] = conversions.json();
    json["failed"] = judged.json();
    json["times_ms"] = stages.json();
    output::print_json(&json)?;
    Ok(judged.exit_code())
}

/// Opens both videos. Returns the reference first, then the distorted video.
fn open(inputs: &[VideoInput; 2], stop: &Stop) -> Result<[VideoSource; 2], Failure> {
    // Both videos must have the same pixel format. ffmpeg can convert a video that it decodes. So if only one video is
    // decoded by ffmpeg, open the other one first, and request its format from ffmpeg.
    let is_file = inputs.each_ref().map(|input| input.medium == Medium::File);
    let order = if is_file == [true, false] { [1, 0] } else { [0, 1] };
    let mut sources = VideoSource::open_all(&order.map(|i| inputs[i].clone()), stop)?;
    if order == [1, 0] {
        sources.reverse();
    }
    Ok(sources.try_into().unwrap_or_else(|_| unreachable!("there is a source for each input")))
}

/// Returns the similarity of two videos as a JSON object.
fn describe(found: &Comparison) -> Value {
    json!({
        "kind": "videos",
        "frames": found.frames,
        "ended_first": found.ended_first.map(|i| ["reference", "distorted"][i]),
        "ssim_gray": { "mean": found.ssim, "least": at(found.least_ssim) },
        "psnr_gray": { "mean": decibels(found.psnr), "least": at(found.least_psnr) },
        "psnr_rgb": found.psnr_rgb.map(|psnr| json!({ "mean": decibels(psnr) })),
        "identical": {
            "gray": found.psnr.is_infinite(),
            "rgb": found.psnr_rgb.map(f64::is_infinite),
        },
    })
}

impl Args {
    fn files(&self) -> [&Path; 2] {
        [&self.reference, &self.distorted]
    }

    /// Returns the inputs from which both videos are opened. Fails if `--map` is given, which requires pictures, or if
    /// an output file cannot be written or is also an input.
    fn video_inputs(&self, both: [&Path; 2]) -> Result<[VideoInput; 2], Failure> {
        if self.map.is_some() {
            return Err(Failure::usage("--map requires pictures, but these are videos"));
        }
        check_pipes(&both)?;
        let input = |file| self.clips.input(file, true, VideoDecoder::Ffmpeg, None);
        let inputs = [input(both[0])?, input(both[1])?];
        let files = |input: &VideoInput| input_files(&input.path, &input.medium);
        let read = [files(&inputs[0])?, files(&inputs[1])?].concat();
        let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
        for file in self.csv.iter().chain(&self.plot) {
            check_output(file, &read)?;
        }
        if let (Some(csv), Some(plot)) = (&self.csv, &self.plot)
            && would_be_same(csv, plot)
        {
            return Err(Failure::output_twice(plot));
        }
        if let Some(file) = &self.plot {
            plot::check_name(file)?;
        }
        Ok(inputs)
    }

    /// Writes the files of `--csv` and `--plot`, if these options are given.
    fn save(&self, frames: &[FrameSimilarity]) -> Result<(), Failure> {
        let write = |file: &Path, text: String| {
            replace_text(file, &text).map_err(|source| Failure::output(file, source))
        };
        if let Some(file) = &self.csv {
            write(file, csv(frames))?;
        }
        if let Some(file) = &self.plot {
            let title =
                format!("{} against {}", self.distorted.display(), self.reference.display());
            let times: Vec<_> = frames.iter().map(|frame| frame.time.as_secs_f64()).collect();
            let panel = |label, digits, colour, of: fn(&FrameSimilarity) -> f64| Panel {
                label,
                values: frames.iter().map(of).collect(),
                digits,
                colour,
            };
            let panels = [
                panel("SSIM, gray", 4, "#1f6fb4", |frame| frame.similarity.ssim),
                panel("PSNR, gray, in dB", 2, "#2a8a3e", |frame| frame.similarity.psnr),
            ];
            write(file, plot::svg(&title, &times, &panels))?;
        }
        Ok(())
    }
}

/// Formats the similarity of each frame as CSV: a header, and one line per frame.
fn csv(frames: &[FrameSimilarity]) -> String {
    let colour = frames.iter().any(|frame| frame.similarity.psnr_rgb.is_some());
    let mut text = String::from("frame,time,ssim_gray,psnr_gray");
    text.push_str(if colour { ",psnr_rgb\n" } else { "\n" });
    for FrameSimilarity { frame, time, similarity } in frames {
        let (time, ssim, psnr) = (time.as_secs_f64(), similarity.ssim, similarity.psnr);
        // Writing to a string cannot fail.
        let _ = write!(text, "{frame},{time:.6},{ssim:.9},{psnr:.6}");
        let _ = match similarity.psnr_rgb {
            Some(psnr) => writeln!(text, ",{psnr:.6}"),
            None => writeln!(text),
        };
    }
    text
}

fn table(found: &Comparison) -> String {
    let mut text = format!(
        "frames     {}\nssim_gray  mean {:.6}, lowest {:.6} in frame {}\npsnr_gray  mean {}, lowest {}",
        found.frames,
        found.ssim,
        found.least_ssim.value,
        found.least_ssim.frame,
        shown(found.psnr),
        shown(found.least_psnr.value),
    );
    if found.least_psnr.value.is_finite() {
        // Writing to a string cannot fail.
        let _ = write!(text, " in frame {}", found.least_psnr.frame);
    }
    text.push('\n');
    if let Some(psnr) = found.psnr_rgb {
        let _ = writeln!(text, "psnr_rgb   mean {}", shown(psnr));
    }
    text
}

/// Formats a PSNR in dB as text. An infinite PSNR is `identical`.
pub(crate) fn shown(psnr: f64) -> String {
    if psnr.is_finite() { format!("{psnr:.6} dB") } else { "identical".to_owned() }
}

/// Returns a PSNR in dB as JSON. An infinite PSNR is null, because JSON has no infinity.
pub(crate) fn decibels(psnr: f64) -> Value {
    if psnr.is_finite() { psnr.into() } else { Value::Null }
}

fn at(AtFrame { frame, value }: AtFrame) -> Value {
    let frame = value.is_finite().then_some(frame);
    json!({ "value": decibels(value), "frame": frame })
}
