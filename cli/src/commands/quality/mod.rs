//! `panoweave quality`: scores a panorama, which is read from a file or stitched from the cameras' pictures or videos.

mod figures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use glam::UVec2;
use panoweave::device::{Device, DeviceName, Stream};
use panoweave::frame::{Frame, FrameFormat};
use panoweave::io::picture::Picture;
use panoweave::io::video::{Stop, VideoDecoder, VideoError, VideoInput, VideoSource};
use panoweave::job::files::check_pipes;
use panoweave::job::{BlendOptions, InputOptions, LookOptions, Map, MapOptions, Sync};
use panoweave::live::ColourOptions;
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::Colours;
use panoweave::ops::ssim::compare_pictures;
use panoweave::ops::stitch::{Lookup, StitchOptions, Vignettes};
use panoweave::panorama::{PanoramaOptions, stitch_warp};
use panoweave::quality::{
    FlickerMeter, Levels, OverlapMeter, SeamLine, owners_of_warp, owners_of_weights,
};
use panoweave::video::{Stitched, VideoOptions, check_depths, for_each_set, stitch_each};
use panoweave::warp::{DeviceWarp, MAX_CAMERAS};

use crate::commands::quality::figures::{Corrected, Figures, SCORES};
use crate::options::fail_below::FailBelow;
use crate::options::job::Options;
use crate::output;
use crate::output::conversions::Conversions;
use crate::output::failure::Failure;
use crate::output::log;
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave quality panorama.png --warp rig.safetensors
  panoweave quality panorama.mp4 --rig rig.toml --cameras left.mp4 right.mp4
  panoweave quality left.jpg right.jpg --rig rig.toml --blend seam --reference truth.png
  panoweave quality left.mp4 right.mp4 --warp rig.safetensors --every 30 --fail-below 0.8 --json

A single file is a finished panorama; give the --warp, --rig or --homography from which it was made. Two
to 16 files are the pictures or videos of the cameras, in their order. They are stitched first, like `panoweave stitch`
or `panoweave video` does. Their colours are matched, unless a gain or gamma other than 1, or --no-colour, is given.

Each score is from 0 (worst) to 1 (best): good from 0.9, usable from 0.8, poor below. 0.9 is hardly visible: a border that
changes by a ninth more than its surroundings, a colour difference of 3 levels (1 % of white), or a flicker of 1 level.
  seam     1 / max(ratio, 1). The ratio is the panorama's change across the border between the cameras, divided by its
           change beside the border, with half a level added to both. It is computed between pixels that are 1, 5 and
           25 pixels apart, and the largest ratio counts. 0.9 means that the change across the border is a ninth
           larger than beside it. If the panorama is stitched first, the border is its seam, or the middle of the
           feathered blend. For a finished panorama, it is always the middle of the feathered blend, because the file
           does not store a seam. So a seam (--blend seam) elsewhere is not scored.
  colour   1 - d/30. d is the difference between the cameras' mean levels in the overlap, after the colour correction
           of the panorama. Only if the panorama is stitched first.
  flicker  1 - f/10, for videos. The panorama is divided into 8 by 6 blocks, and b(t) is the mean level of a block in
           frame t. f is the median over the blocks of |b(t) - 2 b(t-1) + b(t-2)| / 4, averaged over the frames.
           Brightness that alternates by 1 level around its mean scores 0.9; light that changes evenly scores 1.
           Objects that move through less than half of the panorama, and slow pulsing, do not lower the score.
  ssim     SSIM with the --reference picture, as in `panoweave compare`.
In videos, seam and colour are measured in every Nth frame (--every), and the worst of these frames counts. Flicker is
measured over all frames. In NV12 frames, the stored luma of the panorama is measured, and in P010 frames its
upper 8 bits.

--fail-below 0.9 sets a lower limit for the lowest score, --fail-below seam=0.9 for one score. Below a limit, the exit
code is 5. The option can be repeated.
See panoweave --help for exit codes and errors as JSON.";

/// Gives a panorama scores from 0 (bad) to 1 (good): for an invisible seam, matching colours of its cameras, little
/// flicker, and similarity to a reference.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[group(id = "map", required = true, multiple = true, args = ["warp", "rig", "homography"])]
pub(crate) struct Args {
    /// A finished panorama (picture or video), or the pictures or videos of the cameras, which are stitched first. For
    /// two cameras: left, right.
    #[arg(required = true, num_args = 1..=MAX_CAMERAS, value_name = "PANORAMA | CAMERA CAMERA")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    map: Options<MapOptions>,
    /// Pictures or videos of the cameras from which the finished panorama was stitched, in order to also measure the
    /// colour difference of the cameras.
    #[arg(long, num_args = 1..=MAX_CAMERAS, value_name = "CAMERA")]
    cameras: Vec<PathBuf>,
    /// Pictures only: reference picture of the same size as the panorama. The score ssim states how similar the
    /// panorama is to this picture.
    #[arg(long, value_name = "PICTURE")]
    reference: Option<PathBuf>,
    /// Videos only: measures the seam and the colours in the first frame and every Nth frame after it. Flicker is
    /// measured in all frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), default_value = "10")]
    every: u64,
    /// Videos only: stops after N frames. Default: measures until the shortest video ends.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    #[command(flatten)]
    fail_below: FailBelow,
    /// Stitches without colour correction. By default, the stitch matches the colours of the cameras, unless a gain or
    /// gamma other than 1 is given.
    #[arg(long)]
    no_colour: bool,
    #[command(flatten)]
    look: Options<LookOptions>,
    #[command(flatten)]
    blending: Options<BlendOptions>,
    #[command(flatten)]
    clips: Options<InputOptions>,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// Runs `panoweave quality` and prints the scores. Returns exit code 5 if a score is below `--fail-below`.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    args.fail_below.check(&SCORES)?;
    let (panorama, cameras) = match &args.files[..] {
        [panorama] => (Some(panorama.as_path()), &args.cameras[..]),
        files if args.cameras.is_empty() => (None, files),
        _ => {
            let usage = "--cameras belongs to a finished panorama, but several files are stitched first; remove --cameras";
            return Err(Failure::usage(usage));
        }
    };
    let cameras: Vec<&Path> = cameras.iter().map(PathBuf::as_path).collect();
    let files: Vec<&Path> = panorama.into_iter().chain(cameras.iter().copied()).collect();
    check_pipes(&files)?;
    let blend = args.blending.blend(Blend::Feather)?;
    let of_stitching = args.blending.0 != BlendOptions::default()
        || args.no_colour
        || args.look.0 != LookOptions { flip: args.look.flip, ..LookOptions::default() };
    if panorama.is_some() && of_stitching {
        return Err(Failure::usage(
            "options for blending and colours apply only if the panorama is stitched first; give the cameras' pictures or videos instead of a panorama",
        ));
    }
    if panorama.is_none() {
        args.look.check(cameras.len())?;
    }
    let pictures = args.clips.are_pictures(&files)?;
    args.clips.check(cameras.len())?;
    if args.reference.is_some() && !pictures {
        return Err(Failure::usage(
            "--reference requires pictures; use `panoweave compare` for videos",
        ));
    }
    let (figures, conversions) = (Figures::default(), Conversions::default());
    let mut job = Job { args, blend, stages: Stages::new()?, conversions, figures };
    let device = match (pictures, panorama) {
        (true, _) => job.pictures(panorama, &cameras)?,
        (false, Some(panorama)) => job.panorama_video(panorama, &cameras)?,
        (false, None) => job.videos(&cameras)?,
    };
    let Job { stages, conversions, figures, .. } = job;
    let scores = figures.scores();
    if scores.is_empty() {
        tracing::warn!(
            "nothing could be measured, because the areas of the cameras do not touch in this panorama; check the warp, rig or homography"
        );
    }
    let judged = args.fail_below.judge(&scores)?;
    if as_json {
        let mut json = figures.json();
        json["kind"] = if pictures { "pictures" } else { "videos" }.into();
        json["files"] = files.iter().map(|file| file.to_string_lossy()).collect();
        json["device"] = device.to_string().into();
        json["warnings"] = log::warnings().into();
        json["conversions"] = conversions.json();
        json["failed"] = judged.json();
        json["times_ms"] = stages.json();
        output::print_json(&json)?;
    } else {
        output::print(&format!("{}{}", figures.text(), judged.text()))?;
    }
    Ok(judged.exit_code())
}

/// The state of a run of `panoweave quality`: its options, the times of its stages, the conversions of its inputs, and
/// the measurements so far.
struct Job<'a> {
    args: &'a Args,
    blend: Blend,
    stages: Stages,
    conversions: Conversions,
    figures: Figures,
}

impl Job<'_> {
    /// Measures a panorama picture. If `panorama` is given, reads this finished panorama; `files` then contains the
    /// pictures of its cameras, or is empty. Otherwise, stitches the panorama from the pictures in `files`.
    fn pictures(&mut self, panorama: Option<&Path>, files: &[&Path]) -> Result<Device, Failure> {
        let Self { args, blend, stages, conversions, figures } = self;
        let file_of_panorama = panorama;
        let (panorama, cameras, reference, plan) = stages.run("load", "reading", || {
            let panorama = panorama.map(Picture::open).transpose()?;
            let cameras = files.iter().map(Picture::open).collect::<Result<Vec<_>, _>>()?;
            let reference = args.reference.as_ref().map(Picture::open).transpose()?;
            let sizes: Vec<_> = cameras.iter().map(Picture::size).collect();
            Ok((panorama, cameras, reference, args.plan(&sizes, files)?))
        })?;
        conversions.add_pictures(files, &cameras);
        let measured = file_of_panorama.zip(panorama.as_ref());
        let reference_file = args.reference.as_deref();
        for (file, picture) in measured.into_iter().chain(reference_file.zip(reference.as_ref())) {
            conversions.add_opaque(file, picture);
        }
        let device = args.device.open()?;
        let stream = device.stream()?;
        let vignettes = plan.vignettes();
        let warp = stages.run("warp", "preparing the warp", || Ok(plan.prepare(&stream)?))?;
        // The pictures that were corrected before the stitch, if any, and the corrections that the stitch applied.
        let mut stitched = None;
        let (panorama, owners) = match (panorama, &cameras[..]) {
            (None, [_, _, ..]) => stages.run("stitch", "stitching", || {
                let options = PanoramaOptions {
                    stitch: StitchOptions { vignettes, ..args.look.stitch(Lookup::Planes) },
                    match_colour: args.follows(),
                    anchor: args.look.anchor(args.follows())?,
                    blend: *blend,
                    refine: args.blending.refine(),
                    owners: true,
                };
                let pictures: Vec<_> = cameras.iter().collect();
                let panorama = stitch_warp(&stream, &pictures, &warp, &options)?;
                stitched = Some(match panorama.photometry {
                    Some(photometry) => {
                        let corrected = photometry.corrected(&stream, &cameras)?;
                        (Some(corrected), Colours::IDENTITY, Vignettes::NONE)
                    }
                    None => (None, Colours::of(&panorama.colours), vignettes),
                });
                Ok((panorama.picture, args.turned(panorama.owners)))
            })?,
            (Some(panorama), _) => {
                args.check_size(panorama.size(), warp.size(), [0, 0])?;
                let owners = args.owners(&stream, &warp, panorama.size())?;
                (panorama, owners)
            }
            (None, _) => {
                return Err(Failure::usage(
                    "a panorama is stitched from two or more pictures; give one per camera",
                ));
            }
        };
        stages.run("measure", "measuring", || {
            let line = SeamLine::new(&owners, panorama.size())?;
            figures.add_seam(0, line.visibility(&Levels::of_picture(&panorama))?);
            if !cameras.is_empty() {
                // As the stitch, ignore the transparent pixels of the cameras.
                let meters = meters(&stream, &warp)?.into_iter();
                let meters =
                    meters.map(|meter| meter.unmasked(&cameras)).filter_map(Result::transpose);
                let meters = meters.collect::<Result<Vec<_>, _>>()?;
                let corrected = stitched.as_ref().and_then(|(pictures, ..)| pictures.as_deref());
                let corrected = corrected.map(frames).transpose()?;
                let after = stitched.as_ref().map(|&(_, colours, vignettes)| Corrected {
                    frames: corrected.as_deref(),
                    colours,
                    vignettes,
                });
                figures.add_cameras(0, &meters, &frames(&cameras)?, after.as_ref())?;
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

    /// Measures the finished panorama video in the file `panorama`. `files` contains the videos of its cameras, or is
    /// empty.
    fn panorama_video(&mut self, panorama: &Path, files: &[&Path]) -> Result<Device, Failure> {
        let Self { args, stages, conversions, figures, .. } = self;
        if args.clips.sync.is_some() {
            return Err(Failure::usage(
                "--sync applies only to videos that are stitched first; remove it",
            ));
        }
        let stop = Stop::default();
        let (source, cameras, plan) = stages.run("open", "opening", || {
            let source = VideoSource::open(&args.input(panorama)?, None, &stop)?;
            let (cameras, plan) = args.open(files, &stop)?;
            Ok((source, cameras, plan))
        })?;
        conversions.add_videos([&source].into_iter().chain(&cameras));
        let device = args.device.open()?;
        let stream = device.stream()?;
        let warp = stages.run("warp", "preparing the warp", || Ok(plan.prepare(&stream)?))?;
        let format = source.format();
        let rate = args.clips.fps.unwrap_or(source.rate());
        // The panorama may lack the warp's last column and row: H.264 needs even sizes, so an encoder may crop them.
        args.check_size(format.size, warp.size(), [1, 1])?;
        let owners = args.owners(&stream, &warp, format.size)?;
        let mut frames = 0;
        stages.run("measure", "measuring", || {
            let line = SeamLine::new(&owners, format.size)?;
            let mut flicker = FlickerMeter::new(format.size, &owners)?;
            let limit = args.frames.unwrap_or(u64::MAX);
            for_each_set(vec![source], rate, 1, limit, |n, panorama| {
                for frame in panorama {
                    let levels = Levels::of_frame(frame);
                    flicker.add(&levels)?;
                    if n.is_multiple_of(args.every) {
                        figures.add_seam(n, line.visibility(&levels)?);
                    }
                }
                frames = n + 1;
                Ok::<_, Failure>(())
            })?;
            figures.flicker = Some(flicker.found());
            Ok(())
        })?;
        if !cameras.is_empty() {
            let meters = meters(&stream, &warp)?;
            stages.run("measure", "measuring", || {
                for_each_set(cameras, rate, args.every, frames, |n, frames_of| {
                    if n < frames {
                        figures.add_cameras(n, &meters, frames_of, None)?;
                    }
                    Ok::<_, Failure>(())
                })
            })?;
        }
        Ok(device)
    }

    /// Stitches the videos of the cameras in `files`, and measures the panoramas.
    fn videos(&mut self, files: &[&Path]) -> Result<Device, Failure> {
        let Self { args, blend, stages, conversions, figures } = self;
        let stop = Stop::default();
        let (sources, plan) = stages.run("open", "opening", || args.open(files, &stop))?;
        check_depths(&sources)?;
        conversions.add_videos(&sources);
        if args.blending.refine.is_some() {
            return Err(Failure::usage("--refine does not apply to measured videos; remove it"));
        }
        if sources.len() < 2 {
            return Err(Failure::usage(
                "a panorama is stitched from two or more videos; give one per camera",
            ));
        }
        let device = args.device.open()?;
        let stream = device.stream()?;
        let vignettes = plan.vignettes();
        let warp = stages.run("warp", "preparing the warp", || Ok(plan.prepare(&stream)?))?;
        let (size, meters) = (warp.size(), meters(&stream, &warp)?);
        let owners = args.owners(&stream, &warp, size)?;
        let rate = args.clips.fps.unwrap_or(sources[0].rate());
        let synced = stages.run("sync", "comparing the sound", || {
            Ok(args.clips.offsets(&sources, &Sync::Auto, &stop)?)
        })?;
        let options = VideoOptions {
            offsets: synced.map_or_else(Vec::new, |synced| synced.offsets),
            stitch: StitchOptions { vignettes, ..args.look.stitch(Lookup::Auto) },
            colour: ColourOptions {
                follow: args.follows(),
                anchor: args.look.anchor(args.follows())?,
                keep_highlights: args.look.keep_highlights,
                ..ColourOptions::at_rate(rate.per_second())
            },
            blend: *blend,
            rate: Some(rate),
            limit: args.frames,
            ..VideoOptions::default()
        };
        let mut flicker = FlickerMeter::new(size, &owners)?;
        let mut line = SeamLine::new(&owners, size)?;
        stages.run("measure", "measuring", || {
            stitch_each(&device, warp, sources, &options, |stitched: &Stitched<'_>| {
                let panorama = stitched.panorama;
                let Some(frame) = panorama.frame() else { return Ok(()) };
                let levels = Levels::of_frame(&frame);
                flicker.add(&levels)?;
                let number = stitched.number;
                if number.is_multiple_of(args.every) {
                    if *blend != Blend::Feather {
                        // The stitcher may have moved the seam since the last measured frame, so find it again.
                        let weights = stitched.weights()?;
                        let owners = owners_of_weights(&weights);
                        line = SeamLine::new(&args.turned(owners), size)?;
                    }
                    figures.add_seam(number, line.visibility(&levels)?);
                    let colours = panorama.colours();
                    let after = Corrected { frames: None, colours, vignettes };
                    figures.add_cameras(number, &meters, &stitched.cameras, Some(&after))?;
                }
                Ok::<_, Failure>(())
            })
        })?;
        figures.flicker = Some(flicker.found());
        Ok(device)
    }
}

/// Returns a meter for each pair of cameras that overlap.
fn meters(stream: &Stream, warp: &DeviceWarp) -> Result<Vec<OverlapMeter>, Failure> {
    let cameras = warp.sources().len();
    let mut meters = Vec::new();
    for right in 1..cameras {
        for left in 0..right {
            meters.extend(OverlapMeter::new(stream, warp, [left, right])?);
        }
    }
    Ok(meters)
}

/// Returns the pixels of pictures as RGBA frames, without copying.
fn frames(pictures: &[Picture]) -> Result<Vec<Frame<'_>>, Failure> {
    let frames = pictures.iter().map(|picture| {
        let format = FrameFormat::rgba8(picture.width(), picture.height());
        Frame::tight(format, bytemuck::cast_slice(picture.pixels()))
    });
    Ok(frames.collect::<Result<_, _>>().map_err(VideoError::Pair)?)
}

impl Args {
    /// Reads the warp, rig or homography that the user gave. If `files`, the cameras' pictures or videos, is not empty,
    /// checks that it is for pictures with the sizes `sizes`.
    fn plan(&self, sizes: &[UVec2], files: &[&Path]) -> Result<Map, Failure> {
        if files.is_empty() {
            return Ok(self.map.open_alone()?);
        }
        Ok(self.map.open(sizes, files, Path::new(""))?)
    }

    /// Returns whether the stitch measures the cameras' colours and corrects them until they match.
    fn follows(&self) -> bool {
        !self.no_colour && self.look.leaves_colours()
    }

    fn input(&self, file: &Path) -> Result<VideoInput, Failure> {
        Ok(self.clips.input(file, true, VideoDecoder::Ffmpeg, None)?)
    }

    /// Opens the cameras' videos. If ffmpeg decodes the second video, it converts the frames to the pixel format of the
    /// first video. Returns also the map.
    fn open(&self, files: &[&Path], stop: &Stop) -> Result<(Vec<VideoSource>, Map), Failure> {
        let inputs = files.iter().map(|file| self.input(file));
        let inputs = inputs.collect::<Result<Vec<_>, Failure>>()?;
        let sources = VideoSource::open_all(&inputs, stop)?;
        let sizes: Vec<_> = sources.iter().map(|source| source.format().size).collect();
        let plan = self.plan(&sizes, files)?;
        Ok((sources, plan))
    }

    /// Rotates `owners` by 180° if `--flip` is given. `owners` contains, row by row, the index of the camera that each
    /// panorama pixel shows.
    fn turned(&self, mut owners: Vec<u8>) -> Vec<u8> {
        if self.look.flip {
            owners.reverse();
        }
        owners
    }

    /// Checks that the size `found` of a finished panorama is the size `expected` of the warp. `lacking` is the number
    /// of columns at the right and of rows at the bottom that the panorama may lack.
    fn check_size(&self, found: UVec2, expected: UVec2, lacking: [u32; 2]) -> Result<(), Failure> {
        if found.cmpgt(expected).any() || (expected - found).cmpgt(lacking.into()).any() {
            return Err(Failure::input(format!(
                "{}: the size is {}×{} pixels, but {} describes a panorama of {}×{} pixels; give the file that made this panorama",
                self.files[0].display(),
                found.x,
                found.y,
                self.map.path().unwrap_or(Path::new("")).display(),
                expected.x,
                expected.y
            )));
        }
        Ok(())
    }

    /// Returns the index of the camera with the larger weight for each pixel of a panorama, row by row. `size` is the
    /// size of the panorama. It is smaller than the warp if columns and rows were cropped.
    fn owners(&self, stream: &Stream, warp: &DeviceWarp, size: UVec2) -> Result<Vec<u8>, Failure> {
        let owners = self.turned(owners_of_warp(&warp.download(stream)?));
        let rows = owners.chunks_exact(warp.size().x as usize).take(size.y as usize);
        Ok(rows.flat_map(|row| &row[..size.x as usize]).copied().collect())
    }

    /// Returns the files of the reference and of the panorama (or the left picture), for the error message if their
    /// comparison fails.
    fn compared(&self) -> Vec<&Path> {
        self.reference.iter().chain(self.files.first()).map(PathBuf::as_path).collect()
    }
}
