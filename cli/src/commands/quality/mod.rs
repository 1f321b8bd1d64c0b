//! `panoweave quality`: scores a panorama of pictures or videos, made elsewhere or here.

mod figures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use glam::UVec2;
use panoweave::device::{Device, DeviceName, Stream};
use panoweave::frame::{Frame, FrameFormat};
use panoweave::io::picture::Picture;
use panoweave::io::video::{STANDARD, Stop, VideoError, VideoSource};
use panoweave::live::ColourOptions;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::Blend;
use panoweave::ops::ssim::compare_pictures;
use panoweave::ops::stitch::Lookup;
use panoweave::panorama::{PanoramaOptions, stitch_warp};
use panoweave::quality::{
    FlickerMeter, Levels, OverlapMeter, SeamLine, owners_of_warp, owners_of_weights,
};
use panoweave::video::{Stitched, VideoOptions, for_each_pair, stitch_each};
use panoweave::warp::DeviceWarp;

use crate::commands::quality::figures::{Figures, SCORES};
use crate::options::blend::Blending;
use crate::options::gate::{self, Gate};
use crate::options::inputs::Clips;
use crate::options::stitching::Stitching;
use crate::options::warp::{Plan, WarpSource};
use crate::output;
use crate::output::failure::Failure;
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave quality panorama.png --warp rig.safetensors
  panoweave quality panorama.mp4 --rig rig.toml --cameras left.mp4 right.mp4
  panoweave quality left.jpg right.jpg --rig rig.toml --blend seam --reference truth.png
  panoweave quality left.mp4 right.mp4 --warp rig.safetensors --every 30 --fail-below 0.8 --json

One file is a panorama that was made with the map. Two are the cameras' pictures or videos, which are stitched
here as `stitch` and `video` do, their colours matched unless they are set or --no-colour is given.

Each score is 1 at best:
  seam     1 / max(ratio, 1): how much more the panorama changes across the line at which one camera hands over
           to the other than beside it, each plus half a level, at distances of 1, 5 and 25 pixels, of which the
           largest counts. 0.9 is a line by a ninth stronger than what is beside it. The line is that of the
           seam where the panorama is made here, otherwise the middle of the map's blend; so a panorama made
           elsewhere with --blend seam is not judged where its seam is.
  colour   1 - d/30: d is by how many levels the means of both cameras differ where they look at the same thing,
           corrected as the panorama is. Only of a panorama that is made here.
  flicker  1 - f/10, of videos: f is the mean over the frames of |b(t) - 2 b(t-1) + b(t-2)| / 4, the median over
           a grid of 8 by 6 blocks of the panorama, whose mean levels are b. Brightness that goes 1 level up and
           1 down from its mean from frame to frame gives 0.9; light that changes evenly gives 1. What moves through less than
           half of the panorama does not count, nor does pulsing over many frames show.
  ssim     SSIM with --reference, as `panoweave compare` has it.
Of videos every so many-th frame is measured (--every), and the worst counts; flicker is that of all frames. Of
NV12 frames the panorama's luma is measured as it is stored.

--fail-below 0.9 holds the lowest score against a limit, --fail-below seam=0.9 one of them; exit code 5 if it is
below. It may be given several times.
Exit codes and the JSON of errors: see panoweave --help.";

/// Scores a panorama: visibility of its seam, agreement of its cameras, flicker.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[group(id = "map", required = true, multiple = true, args = ["warp", "rig", "homography"])]
pub(crate) struct Args {
    /// A panorama; or pictures or videos of the left and the right camera, to stitch here.
    #[arg(required = true, num_args = 1..=2, value_name = "PANORAMA | LEFT RIGHT")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    map: WarpSource,
    /// Pictures or videos of the panorama's cameras, to measure their colour difference.
    #[arg(long, num_args = 2, value_names = ["LEFT", "RIGHT"])]
    cameras: Vec<PathBuf>,
    /// The reference panorama, a picture of the same size.
    #[arg(long, value_name = "PICTURE")]
    reference: Option<PathBuf>,
    /// Videos only: measures seam and colours of every Nth frame.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), default_value = "10")]
    every: u64,
    /// Videos only: stops after this many frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Exits with code 5 if the lowest score, or the named one, is below this: seam, colour, flicker, ssim.
    #[arg(long, value_name = "[NAME=]SCORE")]
    fail_below: Vec<Gate>,
    /// Leaves colours unchanged. Otherwise they are matched, unless a gain or gamma is given.
    #[arg(long)]
    no_colour: bool,
    #[command(flatten)]
    look: Stitching,
    #[command(flatten)]
    blending: Blending,
    #[command(flatten)]
    clips: Clips,
    /// Device to run on: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    gate::check(&args.fail_below, &SCORES)?;
    let (panorama, cameras) = match &args.files[..] {
        [panorama] => (Some(panorama.as_path()), &args.cameras[..]),
        files if args.cameras.is_empty() => (None, files),
        _ => {
            let usage = "--cameras are those of a panorama; of two files a panorama is made here";
            return Err(Failure::Usage(usage));
        }
    };
    let cameras: Vec<&Path> = cameras.iter().map(PathBuf::as_path).collect();
    let files: Vec<&Path> = panorama.into_iter().chain(cameras.iter().copied()).collect();
    if files.iter().filter(|file| **file == Path::new(STANDARD)).count() > 1 {
        return Err(Failure::Usage("only one of the videos can be standard input"));
    }
    let blend = args.blending.blend(Blend::Feather)?;
    let of_stitching = !args.blending.is_default()
        || args.no_colour
        || args.look.options(Lookup::Planes).edge_boost
        || args.look.says_lookup()
        || !args.look.leaves_colours();
    if panorama.is_some() && of_stitching {
        return Err(Failure::Usage(
            "blending and colours apply only if the panorama is made here; give the cameras' pictures or videos instead of a panorama",
        ));
    }
    let pictures = args.clips.are_pictures(&files)?;
    if args.reference.is_some() && !pictures {
        return Err(Failure::Usage(
            "--reference requires pictures; use `panoweave compare` for videos",
        ));
    }
    let mut job = Job { args, blend, stages: Stages::new(), figures: Figures::default() };
    let device = match (pictures, panorama) {
        (true, _) => job.pictures(panorama, &cameras)?,
        (false, Some(panorama)) => job.panorama_video(panorama, &cameras)?,
        (false, None) => job.videos(&cameras)?,
    };
    let Job { stages, figures, .. } = job;
    let scores = figures.scores();
    if scores.is_empty() {
        tracing::warn!("nothing could be measured: the cameras do not meet in this panorama");
    }
    let judged = gate::judge(&args.fail_below, &scores)?;
    if as_json {
        let mut json = figures.json();
        json["kind"] = if pictures { "pictures" } else { "videos" }.into();
        json["files"] = files.iter().map(|file| file.to_string_lossy()).collect();
        json["device"] = device.to_string().into();
        json["failed"] = judged.json();
        json["times_ms"] = stages.json();
        output::print_json(&json)?;
    } else {
        output::print(&format!("{}{}", figures.text(), judged.text()))?;
    }
    Ok(judged.exit_code())
}

/// The job and its measurements so far.
struct Job<'a> {
    args: &'a Args,
    blend: Blend,
    stages: Stages,
    figures: Figures,
}

impl Job<'_> {
    /// Measures a panorama picture with or without its cameras' pictures, or stitches the cameras' pictures.
    fn pictures(&mut self, panorama: Option<&Path>, files: &[&Path]) -> Result<Device, Failure> {
        let Self { args, blend, stages, figures } = self;
        let (panorama, cameras, reference, plan) = stages.run("load", "reading", || {
            let panorama = panorama.map(Picture::open).transpose()?;
            let cameras = files.iter().map(Picture::open).collect::<Result<Vec<_>, _>>()?;
            let reference = args.reference.as_ref().map(Picture::open).transpose()?;
            let sizes: Vec<_> = cameras.iter().map(Picture::size).collect();
            Ok((panorama, cameras, reference, args.plan(&sizes, files)?))
        })?;
        let device = args.device.open()?;
        let stream = device.stream()?;
        let warp = stages.run("warp", "preparing the warp", || plan.prepare(&stream))?;
        let made_here = panorama.is_none();
        let mut colours = Colours::IDENTITY;
        let (panorama, owners) = match (panorama, &cameras[..]) {
            (None, [left, right]) => stages.run("stitch", "stitching", || {
                let options = PanoramaOptions {
                    stitch: args.look.options(Lookup::Planes),
                    match_colour: args.follows(),
                    blend: *blend,
                    owners: true,
                };
                let made = stitch_warp(&stream, [left, right], &warp, &options)?;
                for reason in &made.without_seam {
                    tracing::warn!("{reason}");
                }
                if let [left, right] = made.colours[..] {
                    colours = Colours { left, right };
                }
                Ok((made.picture, args.turned(made.owners)))
            })?,
            (Some(panorama), _) => {
                let owners = args.owners(&stream, &warp, panorama.size(), [0, 0])?;
                (panorama, owners)
            }
            (None, _) => return Err(Failure::Usage("a panorama is made of two pictures here")),
        };
        stages.run("measure", "measuring", || {
            let line = SeamLine::new(&owners, panorama.size())?;
            figures.add_seam(0, line.visibility(&Levels::of_picture(&panorama))?);
            if let [left, right] = &cameras[..]
                && let Some(meter) = OverlapMeter::new(&stream, &warp)?
            {
                let [left, right] = [frame(left)?, frame(right)?];
                let corrected = made_here.then_some(colours);
                figures.add_cameras(0, &meter, [left, right], corrected)?;
            }
            if let Some(reference) = &reference {
                let (similarity, _) = compare_pictures(&stream, reference, &panorama)
                    .map_err(|error| Failure::compare(&args.compared(), error))?;
                figures.similarity = Some(similarity);
            }
            Ok(())
        })?;
        Ok(device)
    }

    /// Measures a video of panoramas, with or without its cameras' videos.
    fn panorama_video(&mut self, panorama: &Path, files: &[&Path]) -> Result<Device, Failure> {
        let Self { args, stages, figures, .. } = self;
        let stop = Stop::default();
        let (mut source, cameras, plan) = stages.run("open", "opening", || {
            let source = VideoSource::open(&args.clips.input(panorama)?, None, &stop)?;
            let cameras = args.open(files, &stop)?;
            let sizes: Vec<_> = cameras.iter().map(|source| source.format().size).collect();
            let plan = args.plan(&sizes, files)?;
            Ok((source, cameras, plan))
        })?;
        let device = args.device.open()?;
        let stream = device.stream()?;
        let warp = stages.run("warp", "preparing the warp", || plan.prepare(&stream))?;
        let (format, rate) = (source.format(), source.rate());
        let owners = args.owners(&stream, &warp, format.size, [1, 1])?;
        let mut frames = 0;
        stages.run("measure", "measuring", || {
            let line = SeamLine::new(&owners, format.size)?;
            let mut flicker = FlickerMeter::new(format.size, &owners)?;
            while frames < args.frames.unwrap_or(u64::MAX) {
                let Some(bytes) = source.frame()? else { break };
                let frame = Frame::tight(format, &bytes).map_err(VideoError::Pair)?;
                let levels = Levels::of_frame(&frame);
                flicker.add(&levels)?;
                if frames.is_multiple_of(args.every) {
                    figures.add_seam(frames, line.visibility(&levels)?);
                }
                frames += 1;
                source.give_back(bytes);
            }
            figures.flicker = Some(flicker.found());
            Ok(())
        })?;
        if let Ok(cameras) = <[VideoSource; 2]>::try_from(cameras)
            && let Some(meter) = OverlapMeter::new(&stream, &warp)?
        {
            stages.run("measure", "measuring", || {
                for_each_pair(cameras, rate, args.every, frames, |n, pair| {
                    if n < frames {
                        figures.add_cameras(n, &meter, pair, None)?;
                    }
                    Ok::<_, Failure>(())
                })
            })?;
        }
        Ok(device)
    }

    /// Stitches two videos and measures the result.
    fn videos(&mut self, files: &[&Path]) -> Result<Device, Failure> {
        let Self { args, blend, stages, figures } = self;
        let stop = Stop::default();
        let (sources, plan) = stages.run("open", "opening", || {
            let sources = args.open(files, &stop)?;
            let sizes: Vec<_> = sources.iter().map(|source| source.format().size).collect();
            let plan = args.plan(&sizes, files)?;
            Ok((sources, plan))
        })?;
        let Ok(sources) = <[VideoSource; 2]>::try_from(sources) else {
            return Err(Failure::Usage("a panorama is made of two videos here"));
        };
        let device = args.device.open()?;
        let stream = device.stream()?;
        let warp = stages.run("warp", "preparing the warp", || plan.prepare(&stream))?;
        let (size, meter) = (warp.size(), OverlapMeter::new(&stream, &warp)?);
        let owners = args.owners(&stream, &warp, size, [0, 0])?;
        let options = VideoOptions {
            stitch: args.look.options(Lookup::Mesh),
            colour: ColourOptions { follow: args.follows(), ..ColourOptions::default() },
            blend: *blend,
            limit: args.frames,
            ..VideoOptions::default()
        };
        let mut flicker = FlickerMeter::new(size, &owners)?;
        let mut line = SeamLine::new(&owners, size)?;
        stages.run("measure", "measuring", || {
            stitch_each(&device, warp, sources, &options, |stitched: &Stitched<'_>| {
                let panorama = stitched.panorama;
                let frame = panorama.frame();
                let levels = Levels::of_frame(&frame);
                flicker.add(&levels)?;
                let number = stitched.number;
                if number.is_multiple_of(args.every) {
                    if matches!(blend, Blend::Seam(_)) {
                        // The seam moves.
                        let weights = stitched.weights()?;
                        let owners = owners_of_weights(weights.each_ref().map(Vec::as_slice));
                        line = SeamLine::new(&args.turned(owners), size)?;
                    }
                    figures.add_seam(number, line.visibility(&levels)?);
                    if let Some(meter) = &meter {
                        let colours = Some(panorama.colours());
                        figures.add_cameras(number, meter, stitched.cameras, colours)?;
                    }
                }
                Ok::<_, Failure>(())
            })
        })?;
        figures.flicker = Some(flicker.found());
        Ok(device)
    }
}

/// Wraps a picture as a frame.
fn frame(picture: &Picture) -> Result<Frame<'_>, Failure> {
    let format = FrameFormat::rgba8(picture.width(), picture.height());
    let frame = Frame::tight(format, bytemuck::cast_slice(picture.pixels()));
    Ok(frame.map_err(VideoError::Pair)?)
}

impl Args {
    /// Reads the warp for the cameras' pictures, if there are any.
    fn plan(&self, sizes: &[UVec2], files: &[&Path]) -> Result<Plan, Failure> {
        if files.is_empty() {
            return self.map.open_alone();
        }
        self.map.open(sizes, files, Path::new(""))
    }

    /// Returns whether colours are matched.
    fn follows(&self) -> bool {
        !self.no_colour && self.look.leaves_colours()
    }

    /// Opens the cameras' videos.
    fn open(&self, files: &[&Path], stop: &Stop) -> Result<Vec<VideoSource>, Failure> {
        let mut sources: Vec<VideoSource> = Vec::with_capacity(files.len());
        for file in files {
            let pixels = sources.first().map(|source| source.format().pixels);
            sources.push(VideoSource::open(&self.clips.input(file)?, pixels, stop)?);
        }
        Ok(sources)
    }

    /// Flips the owners of a panorama if `--flip` is set.
    fn turned(&self, mut owners: Vec<u8>) -> Vec<u8> {
        if self.look.flips() {
            owners.reverse();
        }
        owners
    }

    /// Returns the owners by the warp for a panorama of `size`. The panorama may lack a few of the last columns and
    /// rows, as encoded videos do.
    fn owners(
        &self,
        stream: &Stream,
        warp: &DeviceWarp,
        size: UVec2,
        lacking: [u32; 2],
    ) -> Result<Vec<u8>, Failure> {
        let expected = warp.size();
        if size.cmpgt(expected).any() || (expected - size).cmpgt(lacking.into()).any() {
            let map = self.map.path().unwrap_or(Path::new("")).to_owned();
            return Err(Failure::PanoramaSize { map, found: size, expected });
        }
        let owners = self.turned(owners_of_warp(&warp.download(stream)?));
        let rows = owners.chunks_exact(expected.x as usize).take(size.y as usize);
        Ok(rows.flat_map(|row| &row[..size.x as usize]).copied().collect())
    }

    /// Returns the files for messages about the reference.
    fn compared(&self) -> Vec<&Path> {
        self.reference.iter().chain(self.files.first()).map(PathBuf::as_path).collect()
    }
}
