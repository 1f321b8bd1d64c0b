//! `panoweave video`: stitches the videos of 1 to 16 cameras into a video of panoramas, or of a virtual camera's view.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use glam::UVec2;
use panoweave::device::{Device, DeviceName};
use panoweave::frame::{ColourTags, Rate};
use panoweave::io::video::{
    Crf, Medium, STANDARD, StreamFormat, TenBit, VideoDecoder, VideoEncoder, VideoError,
    VideoInput, VideoOutput, VideoSink, VideoSource,
};
use panoweave::live::ColourOptions;
use panoweave::ops::blend::Blend;
use panoweave::ops::stitch::{Lookup, StitchOptions};
use panoweave::video::{
    Offset, Summary, VideoOptions, VideoStitchError, check_depths, stitch_video,
};
use panoweave::warp::MAX_CAMERAS;
use serde_json::{Value, json};

use crate::options::blend::Blending;
use crate::options::input_limits::InputLimits;
use crate::options::inputs::{check_pipes, files};
use crate::options::stitching::Stitching;
use crate::options::sync::Synchronising;
use crate::options::values::{by_name, crf, format, picture_size};
use crate::options::view::{Corrections, Viewing};
use crate::options::warp::WarpSource;
use crate::output;
use crate::output::colour;
use crate::output::conversions::Conversions;
use crate::output::failure::{Failure, Kind, exit_code};
use crate::output::interrupt::Interrupt;
use crate::output::log;
use crate::output::meter::Meter;
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave video l.mp4 r.mp4 --rig rig.toml -o pano.mp4
  panoweave video l.mkv r.mkv --warp rig.safetensors -o pano.mkv --crf 18 --device cuda:0
  panoweave video l_%04d.png r_%04d.png --fps 25 --homography h.txt -o pano_%04d.png
  panoweave video l.mp4 r.mp4 --rig rig.toml --view track.csv -o view.mp4
  panoweave video a.mp4 b.mp4 c.mp4 --rig rig.toml --sync audio -o pano.mp4
  camera | panoweave video - right.fifo --input-format nv12 --input-size 1920x1080 --fps 30 \\
      --warp rig.safetensors -o - | ffplay -

The name of a file selects its format: .y4m, .nv12, .p010, .rgba, numbered pictures (frame_%04d.png), or `-` for Y4M on
standard input or output. ffmpeg reads and writes all other files and must be installed (apt install ffmpeg;
PANOWEAVE_FFMPEG and PANOWEAVE_FFPROBE select other binaries). On a GPU, NVDEC decodes H.264 and HEVC, and the frames
stay in device memory; see --decoder. Output files .mp4, .m4v, .mov and .mkv are H.264 with the first video's sound; see --encoder.
If the first video has more than 8 bits per sample, the output has 10: files are HEVC (Main 10) with the colour tags of
the first video, such as BT.2020 and PQ or HLG, and Y4M is C420p10. The levels are not linearised or tone-mapped; static
HDR metadata is not copied. --depth 8 selects 8 bits.
H.264 and HEVC need even sizes, so an odd last column or row is cut off. The panorama ends with the video that ends first. With
--sync, it begins when all cameras record.

If a video fails midway, the panoramas before the failure are written and replace an old output. The command fails, and
its message says after which panorama the output ends.

Ctrl-C, SIGTERM or SIGHUP completes the file with the frames so far and exits with code 130. A second signal aborts, and
so does the end of --finish-limit.
See panoweave --help for exit codes and errors as JSON.";

/// Stitches the videos of 1 to 16 cameras into a video of panoramas, or of a virtual camera's view.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[group(id = "map", required = true, multiple = true, args = ["warp", "rig", "homography"])]
pub(crate) struct Args {
    /// Videos of the cameras, in the order of the rig. One of them may be - for standard
    /// input.
    #[arg(required = true, num_args = 1..=MAX_CAMERAS, value_name = "VIDEO")]
    videos: Vec<PathBuf>,
    #[command(flatten)]
    map: WarpSource,
    /// Video file to write, or - for standard output. By default, the file extension selects the format, and standard
    /// output is Y4M.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Decoder of input files: nvdec (H.264 and HEVC with 4:2:0 chroma, on the GPU of --device), ffmpeg (all formats,
    /// on the CPU), or auto (nvdec for files that it supports, otherwise ffmpeg).
    #[arg(long, value_enum, value_name = "DECODER", default_value_t)]
    decoder: DecoderName,
    /// Encoder of ffmpeg for .mp4, .m4v, .mov and .mkv output. Default: libx264, or libx265 for 10 bits. Those of H.264
    /// write 8 bits. The ones with _nvenc run on an NVIDIA GPU, and h264_v4l2m2m on boards with such an encoder.
    #[arg(long, value_name = "NAME", value_parser = by_name(VideoEncoder::ALL.map(|it| (it.name(), it))))]
    encoder: Option<VideoEncoder>,
    /// Format of all inputs: y4m, or the pixel format of raw frames without a header. Default: the file extension
    /// selects the format.
    #[arg(long, value_parser = format(), value_name = "FORMAT")]
    input_format: Option<StreamFormat>,
    /// Frame size of raw input videos in pixels. Required for raw videos, because they do not store
    /// their size.
    #[arg(long, value_name = "WxH", value_parser = picture_size)]
    input_size: Option<UVec2>,
    /// Frame rate of the output in frames per second, such as 30 or 30000/1001. Default: the rate of the first video,
    /// which is an average if the times between its frames vary. To change the rate, frames are repeated or dropped;
    /// the playback speed stays the same. Required for raw videos and numbered pictures, which do not store a rate:
    /// they are read at this rate, too.
    #[arg(long, value_name = "RATE")]
    fps: Option<Rate>,
    #[command(flatten)]
    limits: InputLimits,
    /// Format of the output: y4m, or the pixel format of raw frames without a header. Default: the file extension
    /// selects the format.
    #[arg(long, value_parser = format(), value_name = "FORMAT")]
    output_format: Option<StreamFormat>,
    /// Bits per sample of the output: 8 or 10. Default: 10 if the first video has more than 8 and the output can store
    /// them, otherwise 8.
    #[arg(long, value_name = "BITS", value_parser = ["8", "10"])]
    depth: Option<String>,
    /// Quality of encoded output (.mp4, .m4v, .mov, .mkv): the CRF of libx264, libx265 and libsvtav1, and the constant
    /// quality of others. 0 makes the largest file, which is lossless for libx264 and libx265; 51 makes the smallest.
    #[arg(long, value_name = "N", value_parser = crf, default_value = "20")]
    crf: Crf,
    /// Stops after N frames of output. Default: stitches until the shortest video ends.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Time limit in seconds for completing the file after a signal. After it, the encoder is killed, and the file is
    /// not written.
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    finish_limit: u64,
    /// Stitches without colour correction. By default, the colours of the cameras are measured again and again and
    /// matched, unless a gain or gamma other than 1 is given.
    #[arg(long)]
    no_colour: bool,
    #[command(flatten)]
    sync: Synchronising,
    #[command(flatten)]
    stitching: Stitching,
    #[command(flatten)]
    blending: Blending,
    #[command(flatten)]
    viewing: Viewing,
}

/// The decoder of input files.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum DecoderName {
    #[default]
    Auto,
    Nvdec,
    Ffmpeg,
}

impl DecoderName {
    fn of(self, device: &Device) -> VideoDecoder {
        match self {
            Self::Auto => VideoDecoder::Auto(device.clone()),
            Self::Nvdec => VideoDecoder::Nvdec(device.clone()),
            Self::Ffmpeg => VideoDecoder::Ffmpeg,
        }
    }
}

/// Runs `panoweave video`: writes the video and prints a summary. Returns exit code 130 if a signal ended the video
/// early.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    // A stream to the file of standard output has no extension of its own.
    let has_extension = args.output.extension().is_some();
    let is_stdout = !has_extension && output::is_stdout(&args.output);
    let output = if is_stdout { Path::new(STANDARD) } else { &args.output };
    let medium = Medium::of_output(output, args.output_format)?;
    if args.encoder.is_some() && medium != Medium::File {
        return Err(Failure::usage(
            "--encoder applies only to .mp4, .m4v, .mov and .mkv output; remove it",
        ));
    }
    let mut inputs = args.inputs(args.reads_ten_bits(&medium)?)?;
    args.sync.check(inputs.len())?;
    args.stitching.check(inputs.len())?;
    let mut video = args.output(&inputs, medium)?;
    let to_stdout = video.path == Path::new(STANDARD);
    if to_stdout && as_json {
        return Err(Failure::usage(
            "--json and --output - both write to standard output; choose one",
        ));
    }
    let blend = args.blending.blend(Blend::Feather)?;
    let interrupt =
        Interrupt::listen(&args.output, Duration::from_secs(args.finish_limit), as_json)?;
    let stop = interrupt.stop();
    let device = args.device.open()?;
    for input in &mut inputs {
        input.decoder = args.decoder.of(&device);
        input.device = Some(device.clone());
    }

    let mut stages = Stages::new();
    let (sources, plan) = stages.run("open", "opening", || {
        let mut sources = VideoSource::open_all(&inputs, stop)?;
        check_depths(&sources)?;
        video.ten_bit = args.ten_bit(&sources, &video.medium)?;
        let sizes: Vec<_> = sources.iter().map(|source| source.format().size).collect();
        let names: Vec<_> = sources.iter().map(VideoSource::name).collect();
        let plan = args.map.open(&sizes, &names, &args.output)?;
        // Wait for the first frame of each input, so that an input without frames is an error before any computation.
        for source in &mut sources {
            source.await_first()?;
        }
        Ok((sources, plan))
    })?;
    let mut conversions = Conversions::default();
    conversions.add_videos(&sources);
    let synced = stages.run("sync", "comparing the sound", || args.sync.offsets(&sources, stop))?;
    let offsets = synced.as_ref().map_or_else(Vec::new, |synced| synced.offsets.clone());
    let first = &sources[0];
    let stream = device.stream()?;
    let rate = args.fps.unwrap_or(first.rate());
    let vignettes = plan.vignettes();
    let look = StitchOptions { vignettes, ..args.stitching.options(Lookup::Auto) };
    let viewed = args.viewing.open(&stream, plan.rig(), &look, rate)?;
    if viewed.is_some() && args.stitching.says_lookup() {
        return Err(Failure::usage(
            "--lookup applies only to panoramas, because a view is rendered directly from the frames; remove --lookup",
        ));
    }
    if viewed.is_some() && args.blending.refine.is_some() {
        return Err(Failure::usage(
            "--refine applies only to panoramas, because a view is rendered from the models of the cameras; remove --refine",
        ));
    }
    let warp = stages.run("warp", "preparing the warp", || plan.prepare(&stream))?;

    let size = viewed.as_ref().map_or(warp.size(), |viewed| viewed.size);
    let expected = args.expected(&sources, &offsets, rate);
    let decoders: Vec<_> = sources.iter().map(VideoSource::decoder).collect();
    let start = Offset::start(&offsets, rate);
    video.sound = first.sound().map(|sound| sound.clone().starting_at(start));
    interrupt.running();
    let sink = VideoSink::create(&video, size, rate, stop)?;
    let follow = !args.no_colour && args.stitching.leaves_colours();
    let options = VideoOptions {
        stitch: look,
        colour: ColourOptions {
            follow,
            anchor: args.stitching.anchor(follow)?,
            keep_highlights: args.stitching.keeps_highlights(),
            ..ColourOptions::at_rate(rate.per_second())
        },
        refine: args.blending.refine,
        rate: Some(rate),
        offsets,
        blend,
        view: viewed.as_ref().map(|viewed| viewed.camera.clone()),
        limit: args.frames,
    };
    let mut meter = Meter::new(expected, sources.len());
    let done = stitch_video(&device, warp, sources, sink, &options, |now| meter.update(now));
    meter.finish();
    if let Some(killed) = interrupt.killed() {
        return Err(killed);
    }
    let done = match done {
        Ok(done) if done.written == 0 => Err(Failure::not_begun(&args.output)),
        Err(VideoStitchError::Video(VideoError::NoReader { file })) => {
            Err(Failure::not_begun(&file))
        }
        done => Ok(done?),
    }?;
    // An encoder drops an odd last column or row.
    let size = if video.medium == Medium::File { size & !UVec2::ONE } else { size };
    let limited = viewed.map(|viewed| viewed.limited.get());
    if as_json {
        let mut json = describe(&done);
        for (i, decoder) in decoders.iter().enumerate() {
            json["cameras"][i]["decoder"] = json!(decoder);
            json["cameras"][i]["sync"] = json!(synced.as_ref().map(|synced| synced.json(i)));
        }
        json["output"] = args.output.to_string_lossy().into();
        json["size"] = json!([size.x, size.y]);
        json["rate"] = rate.to_string().into();
        json["device"] = device.to_string().into();
        json["warnings"] = log::warnings().into();
        json["conversions"] = conversions.json();
        json["view"] = json!(limited.map(describe_corrections));
        output::print_json(&json)?;
    } else {
        let line = args.line(&done, size, &device, limited.unwrap_or_default());
        if to_stdout { tracing::info!("{line}") } else { output::print(&format!("{line}\n"))? }
    }
    let code = if done.stopped { exit_code(Kind::Interrupted).into() } else { ExitCode::SUCCESS };
    Ok(code)
}

impl Args {
    fn stores_ten_bits(&self, output: &Medium) -> bool {
        output.stores_ten_bits() && self.encoder.is_none_or(VideoEncoder::stores_ten_bits)
    }

    /// Returns whether inputs with more than 8 bits are read with 10.
    fn reads_ten_bits(&self, output: &Medium) -> Result<bool, Failure> {
        match self.depth.as_deref() {
            Some("8") if *output == Medium::Stream(StreamFormat::P010) => Err(Failure::usage(
                "--depth 8 does not go with raw P010, which has 10 bits; remove --depth, or write .nv12 or .y4m",
            )),
            Some("8") => Ok(false),
            Some(_) if !self.stores_ten_bits(output) => {
                Err(VideoError::Depth { file: self.output.clone() }.into())
            }
            _ => Ok(self.stores_ten_bits(output)),
        }
    }

    /// Returns the properties of a 10-bit output, or `None` for 8 bits. Logs a warning if colour tags are lost, or
    /// differ between the videos. Fails if the output has another depth than the frames of the videos.
    fn ten_bit(&self, sources: &[VideoSource], output: &Medium) -> Result<Option<TenBit>, Failure> {
        let first = &sources[0];
        let pixels = first.format().pixels;
        let bits = match output {
            Medium::Stream(StreamFormat::P010) => 10,
            _ if self.depth.as_deref() == Some("8") || !self.stores_ten_bits(output) => 8,
            _ => pixels.bits(),
        };
        if bits != pixels.bits() {
            let (file, input) = (self.output.clone(), first.name().to_owned());
            return Err(VideoError::OutputDepth { file, bits, input, found: pixels.bits() }.into());
        }
        if bits == 8 {
            if self.depth.as_deref() == Some("10") {
                return Err(Failure::usage(
                    "--depth 10 requires a first video with more than 8 bits per sample; remove --depth",
                ));
            }
            return Ok(None);
        }
        let tags = first.tags();
        for source in sources.iter().filter(|source| source.tags() != tags) {
            tracing::warn!(
                "{} has {}, but {} has {tags}; their levels are mixed without conversion",
                source.name().display(),
                source.tags(),
                first.name().display()
            );
        }
        if tags != ColourTags::default() && *output != Medium::File {
            tracing::warn!(
                "{} does not store the tags of the levels, {tags}",
                self.output.display()
            );
        }
        Ok(Some(TenBit { encoding: pixels.encoding().unwrap_or_default(), tags }))
    }

    fn inputs(&self, ten_bit: bool) -> Result<Vec<VideoInput>, Failure> {
        check_pipes(&self.videos)?;
        let input = |file: &PathBuf| {
            let medium = Medium::of_input(file, self.input_format)?;
            Ok::<_, Failure>(VideoInput {
                size: self.input_size,
                rate: self.fps,
                ten_bit,
                limits: self.limits.limits(),
                ..VideoInput::new(file, medium)
            })
        };
        self.videos.iter().map(input).collect()
    }

    /// Returns the description from which the output video is opened. Fails if the output cannot be written or is also
    /// one of the inputs.
    fn output(&self, inputs: &[VideoInput], medium: Medium) -> Result<VideoOutput, Failure> {
        let is_stream = matches!(medium, Medium::Stream(_));
        let to_stdout = is_stream && output::is_stdout(&self.output);
        let path = if to_stdout { STANDARD.into() } else { self.output.clone() };
        let mut read = Vec::new();
        for input in inputs {
            read.extend(files(input)?);
        }
        read.extend(self.map.files());
        let files: Vec<&Path> =
            read.iter().map(PathBuf::as_path).chain(self.viewing.path()).collect();
        match &medium {
            Medium::File => output::check(&path, &files)?,
            Medium::Stream(_) => {
                let special =
                    std::fs::metadata(&path).is_ok_and(|found| !found.is_file() && !found.is_dir());
                if path == Path::new(STANDARD) {
                    // If the shell redirects standard output with `>> input`, the input would grow while it is read.
                    if files.iter().any(|file| output::same(file, output::STDOUT.as_ref())) {
                        return Err(Failure::output_is_input(Path::new("stdout")));
                    }
                } else if !special {
                    output::check(&path, &files)?;
                }
            }
            Medium::Pictures(pattern) => {
                output::check(&pattern.file(1), &files)?;
                // No output picture may replace an input. The number of output pictures is not known yet, so check
                // every existing file that matches the pattern.
                let read: HashSet<_> = files.iter().filter_map(|f| output::identity(f)).collect();
                for number in pattern.numbers()? {
                    let file = pattern.file(number);
                    if output::identity(&file).is_some_and(|file| read.contains(&file)) {
                        return Err(Failure::output_is_input(&file));
                    }
                }
            }
        }
        Ok(VideoOutput { encoder: self.encoder, crf: self.crf, ..VideoOutput::new(path, medium) })
    }

    /// Formats the summary of a finished video as one line. `limited` contains how many views of a virtual camera were
    /// moved into the area that the cameras cover.
    fn line(&self, done: &Summary, size: UVec2, device: &Device, limited: Corrections) -> String {
        let Corrections { views, most, at } = limited;
        let kept = match views {
            0 => String::new(),
            views => format!(
                ", {views} views moved into the area that the cameras cover, by at most {most:.1}° (at {:.2} s)",
                at.as_secs_f64()
            ),
        };
        format!(
            "{}: {} frame{} of {}×{} pixels, {:.1} fps on {device}{kept}{}",
            self.output.display(),
            done.written,
            if done.written == 1 { "" } else { "s" },
            size.x,
            size.y,
            fps(done),
            if done.stopped { ", stopped early" } else { "" }
        )
    }

    /// Estimates the number of output frames: the smallest of the lengths of all inputs and `--frames`. Returns `None`
    /// if none of them is known.
    fn expected(&self, sources: &[VideoSource], offsets: &[Offset], rate: Rate) -> Option<u64> {
        let first = Offset::first_tick(offsets, rate);
        let of = |(i, source): (usize, &VideoSource)| {
            let offset = offsets.get(i).map_or(0.0, |offset| offset.seconds);
            let end = source.expected()? as f64 / source.rate().per_second() + offset;
            Some(((end * rate.per_second()).round() as u64).saturating_sub(first))
        };
        sources.iter().enumerate().filter_map(of).chain(self.frames).min()
    }
}

fn fps(done: &Summary) -> f64 {
    done.written as f64 / done.time.as_secs_f64().max(1e-9)
}

fn describe_corrections(Corrections { views, most, at }: Corrections) -> Value {
    json!({ "limited": views, "most_degrees": most, "at": at.as_secs_f64() })
}

fn describe(done: &Summary) -> Value {
    let milliseconds = |seconds: f64| (seconds * 1e6).round() / 1e3;
    let camera = |i: usize| {
        json!({
            "frames": done.read[i],
            "expected": done.expected[i],
            "unpaired": done.unpaired[i],
            "repeated": done.repeated[i],
            "colour": done.colours.map(|colours| colour::describe(&colours[i])),
        })
    };
    json!({
        "cameras": (0..done.read.len()).map(camera).collect::<Vec<_>>(),
        "frames": { "written": done.written, "filled": done.filled },
        "ended_first": done.ended_first.map(|camera| camera + 1),
        "dropped": done.live.dropped,
        "seconds": done.time.as_secs_f64(),
        "fps": fps(done),
        "latency_ms": { "p50": milliseconds(done.live.latency_p50), "p99": milliseconds(done.live.latency_p99) },
        "stopped": done.stopped,
        "times_ms": {
            "read": milliseconds(done.stages.read.as_secs_f64()),
            "stitch": milliseconds(done.stages.stitch.as_secs_f64()),
            "write": milliseconds(done.stages.write.as_secs_f64()),
        },
    })
}
