//! Stitches videos: opens the device, the inputs, the map and the output, and runs [`stitch_video`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use glam::UVec2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{check_pipes, check_video_output, input_files, would_be_same};
use super::moments::{Part, end, first, moments};
use super::options::{
    BlendOptions, DecoderName, InputOptions, LensOptions, LookOptions, MapOptions, ShapeOptions,
    VideoOutputOptions,
};
use super::rig_check::told;
use super::sync::Synced;
use super::target::Target;
use super::text::{File, Moment, Sync};
use super::{CalibrateJob, Calibrated, Corrections, JobError, Map, Recipe, View};
use crate::device::{Device, DeviceName, Stream};
use crate::frame::Rate;
use crate::geometry::calibrate::{CalibrateOptions, RigOptions, check_rig};
use crate::io::Conversion;
use crate::io::picture::Picture;
use crate::io::video::{Medium, STANDARD, Stop, VideoError, VideoInput, VideoSource};
use crate::live::{ColourOptions, LiveRig};
use crate::lock::lock;
use crate::ops::blend::Blend;
use crate::ops::matching::links;
use crate::ops::stitch::{Lookup, StitchOptions};
use crate::video::{
    Offset, Progress, Summary, VideoOptions, VideoStitchError, check_depths, stitch_video,
};

/// Stitches the videos of 1 to 16 cameras into a video of panoramas, or of a virtual camera's view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct VideoJob {
    /// Videos of the cameras, in the order of the rig. One of them may be - for standard input.
    #[schemars(extend("value-name" = "VIDEO"))]
    pub videos: Vec<File>,
    /// The warp, rig or homography. Without one, the videos are calibrated first, and the rig is written beside the first
    /// output: `match.rig.toml` beside `match.mp4`.
    pub map: MapOptions,
    /// Model and projection of a calibration.
    pub shape: ShapeOptions,
    /// Known lenses for a calibration.
    pub lenses: LensOptions,
    /// Keeps the black borders of a panorama of calibrated videos. By default, it is cropped.
    #[schemars(title = "Calibration")]
    pub no_crop: bool,
    /// Does not check that the rig fits the first frames of the videos.
    #[schemars(title = "Map")]
    pub no_check: bool,
    /// Output videos.
    pub outputs: Vec<VideoOutputOptions>,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    pub device: DeviceName,
    /// Decoder of input files: nvdec (H.264 and HEVC with 4:2:0 chroma, on the GPU of `device`), ffmpeg (all formats,
    /// on the CPU), or auto (nvdec for files that it supports, otherwise ffmpeg).
    #[schemars(extend("value-name" = "DECODER"), title = "Inputs")]
    pub decoder: DecoderName,
    /// The formats of the inputs.
    pub input: InputOptions,
    /// Stops after N frames of output. Default: stitches until the shortest video ends.
    #[schemars(range(min = 1), title = "Output")]
    pub frames: Option<u64>,
    /// Writes one panorama as a picture (.png, .jpg or .jpeg) instead of a video. TIME is seconds, M:SS or H:MM:SS after
    /// the start of the video that would be written, which begins when all cameras record. The cameras are synchronised,
    /// and their colours and blending are those of the video. All inputs must be encoded files.
    #[schemars(title = "Output")]
    pub at: Option<Moment>,
    /// Stitches without colour correction. By default, the colours of the cameras are measured again and again and
    /// matched, unless a gain or gamma other than 1 is given.
    #[schemars(title = "Colours")]
    pub no_colour: bool,
    /// Colours, orientation and lookup.
    pub look: LookOptions,
    /// Blending.
    pub blend: BlendOptions,
}

/// The progress of a job.
pub enum Event<'a> {
    /// A stage begins. It has a name and a text for a person who waits.
    Stage(&'static str, &'static str),
    /// A property of an input is lost on reading.
    Converted(&'a Path, Conversion),
    /// The cameras were calibrated, and their rig was written to a file if there is one.
    Calibrated(&'a Calibrated, Option<&'a Path>),
    /// The stitch of videos begins. From now on, a stop ends the output in order.
    Start {
        /// The approximate number of panoramas, if it is known.
        expected: Option<u64>,
        /// The videos of the cameras.
        sources: &'a [VideoSource],
        /// The files of the outputs and their sizes in pixels.
        outputs: &'a [(PathBuf, UVec2)],
        /// The rate of the outputs.
        rate: Rate,
        /// The device that computes.
        device: &'a Device,
    },
    /// A panorama was written.
    Written(&'a Progress),
}

/// The result of a [`VideoJob`].
#[derive(Debug)]
pub struct VideoReport {
    /// The counts and times of the stitch.
    pub summary: Summary,
    /// The outputs.
    pub outputs: Vec<OutputReport>,
    /// The rate of the outputs.
    pub rate: Rate,
    /// The device that computed.
    pub device: Device,
    /// The decoder of each video: `nvdec`, `ffmpeg`, or `None` for other media than files.
    pub decoders: Vec<Option<&'static str>>,
    /// The offsets of the videos, if they do not start together.
    pub synced: Option<Synced>,
    /// The calibration of the videos, if there was no map.
    pub calibrated: Option<Calibrated>,
}

/// An output of a [`VideoJob`].
#[derive(Clone, Debug)]
pub struct OutputReport {
    /// The file.
    pub file: PathBuf,
    /// The size in pixels.
    pub size: UVec2,
    /// The corrections of the virtual camera, if there is one.
    pub corrections: Option<Corrections>,
}

impl VideoJob {
    /// Runs the job, and calls `watch` with its progress. `stop` ends it early.
    ///
    /// # Errors
    /// Returns [`JobError`] if the options contradict each other or do not fit the inputs, if an input cannot be read or
    /// the output cannot be written, or if the device fails.
    pub fn run(
        &self,
        stop: &Stop,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<VideoReport, JobError> {
        let (targets, blend, anchor) = self.check()?;
        let device = self.device.open()?;
        watch(Event::Stage("open", "opening"));
        let inputs = self.inputs(&targets, &device)?;
        let (mut sources, map) = self.open(&inputs, &targets, stop)?;
        for source in &sources {
            let lost = source.conversions().iter().cloned();
            lost.for_each(|conversion| watch(Event::Converted(source.name(), conversion)));
        }
        let decoders = sources.iter().map(VideoSource::decoder).collect();
        watch(Event::Stage("sync", "comparing the sound"));
        let synced = self.input.offsets(&sources, &Sync::Auto, stop)?;
        let offsets = synced.as_ref().map_or_else(Vec::new, |synced| synced.offsets.clone());
        let stream = device.stream()?;
        let mut calibrated = None;
        let map = match map {
            Some(map) => self.check_rig(&stream, map, &mut sources, watch)?,
            None => {
                let moments = moments(&inputs, &mut sources, &offsets, stop)?;
                let found = self.calibrate(&stream, moments, &targets[0], watch)?;
                Map::Render(Recipe::new(&calibrated.insert(found).rig)?)
            }
        };
        let rate = self.input.fps.unwrap_or(sources[0].rate());
        let part = self.part(&inputs, sources, offsets, rate, stop)?;
        let stitch = StitchOptions { vignettes: map.vignettes(), ..self.look.stitch(Lookup::Auto) };
        let view =
            |target: &Target<'_>| target.options.view.open(&stream, map.rig(), &stitch, rate);
        let views = targets.iter().map(view).collect::<Result<Vec<_>, _>>()?;
        watch(Event::Stage("warp", "preparing the warp"));
        let warp = map.prepare(&stream)?;
        let size = |view: &Option<View>| view.as_ref().map_or(warp.size(), |view| view.size);
        let sizes: Vec<_> = views.iter().map(size).collect();
        let outputs = targets.iter().zip(&sizes).map(|(target, size)| target.written(*size));
        let outputs: Vec<_> = outputs.collect();
        let (expected, sources) = (part.expected, &part.sources[..]);
        watch(Event::Start { expected, sources, outputs: &outputs, rate, device: &device });
        let sinks = targets.iter().zip(sizes).zip(&views);
        let sinks = sinks
            .map(|((target, size), view)| target.create(size, view.as_ref(), &part, rate, stop));
        let sinks = sinks.collect::<Result<Vec<_>, _>>()?;
        let viewer = views.iter().flatten().next().map(|view| view.viewer.clone());
        let options = self.options((blend, anchor), stitch, rate, &part);
        let (rig, progress) =
            (LiveRig { warp, viewer }, |now: &Progress| watch(Event::Written(now)));
        let summary = match stitch_video(&device, rig, part.sources, sinks, &options, progress) {
            Ok(Summary { written: 0, stopped: false, .. }) => Err(JobError::usage(
                "`at` is after the end of a video that is shorter than it states; give an earlier time",
            )),
            Ok(done) if done.written == 0 => Err(targets[0].stopped()),
            Err(VideoStitchError::Video(VideoError::NoReader { file })) => {
                Err(JobError::Stopped { file })
            }
            done => Ok(done?),
        }?;
        let outputs = outputs.into_iter().zip(views).map(|((file, size), view)| OutputReport {
            file,
            size,
            corrections: view.map(|it| *lock(&it.corrections)),
        });
        let outputs = outputs.collect();
        Ok(VideoReport { summary, outputs, rate, device, decoders, synced, calibrated })
    }

    /// Checks all that does not depend on the contents of the inputs, and returns the outputs, the blend and the anchor.
    fn check(&self) -> Result<(Vec<Target<'_>>, Blend, Option<usize>), JobError> {
        let target = |output| Target::new(output, self.at.is_some());
        let targets = self.outputs.iter().map(target).collect::<Result<Vec<_>, _>>()?;
        check_pipes(&self.videos)?;
        self.map.check()?;
        if self.videos.is_empty() || targets.is_empty() {
            return Err(JobError::usage(
                "a video needs inputs and outputs; give `videos`, one per camera, and `outputs`",
            ));
        }
        if self.map.path().is_some()
            && (self.shape != ShapeOptions::default() || self.lenses != LensOptions::default())
        {
            return Err(JobError::usage(
                "`model`, `projection`, `crop`, `roll`, `pitch` and `lens` are for a calibration of the videos; remove them, or remove `warp`, `rig` and `homography`",
            ));
        }
        self.input.check(self.videos.len())?;
        self.look.check(self.videos.len())?;
        let blend = self.blend.blend(if self.map.path().is_none() {
            Blend::AUTO
        } else {
            Blend::Feather
        })?;
        let anchor = self.look.anchor(self.follows())?;
        let only_views = self.outputs.iter().all(|output| output.view.view.is_some());
        if only_views && self.look.lookup.is_some() {
            return Err(JobError::usage(
                "`lookup` applies only to panoramas, because a view is rendered directly from the frames; remove it",
            ));
        }
        if only_views && self.blend.refine.is_some() {
            return Err(JobError::usage(
                "`refine` applies only to panoramas, because a view is rendered from the models of the cameras; remove it",
            ));
        }
        let mut read = self.map.files();
        for file in &self.videos {
            let medium = Medium::of_input(file, self.input.input_format)?;
            if self.at.is_some() && (medium != Medium::File || self.frames.is_some()) {
                return Err(JobError::usage(
                    "`at` requires encoded files, such as .mp4, and excludes `frames`; pipes, raw videos and numbered pictures are read from their start",
                ));
            }
            read.extend(input_files(file, &medium)?);
        }
        read.extend(
            self.outputs.iter().filter_map(|output| Some(output.view.view.as_ref()?.0.clone())),
        );
        let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
        for (i, target) in targets.iter().enumerate() {
            target.options.view.check()?;
            check_video_output(&target.path, &target.medium, &read)?;
            if targets[..i].iter().any(|other| would_be_same(&target.path, &other.path)) {
                let reason = "two outputs have this name; choose different names";
                return Err(JobError::output(&target.path, reason));
            }
        }
        Ok((targets, blend, anchor))
    }

    fn inputs(
        &self,
        targets: &[Target<'_>],
        device: &Device,
    ) -> Result<Vec<VideoInput>, VideoError> {
        let ten_bit = targets.iter().all(Target::reads_ten_bits);
        let decoder = self.decoder.of(device);
        let input =
            |file: &File| self.input.input(file, ten_bit, decoder.clone(), Some(device.clone()));
        self.videos.iter().map(input).collect()
    }

    /// Opens the videos and the map, if there is one, and waits for the first frame of each video, so that a video
    /// without frames is an error before any computation.
    fn open(
        &self,
        inputs: &[VideoInput],
        targets: &[Target<'_>],
        stop: &Stop,
    ) -> Result<(Vec<VideoSource>, Option<Map>), JobError> {
        let mut sources = VideoSource::open_all(inputs, stop)?;
        check_depths(&sources)?;
        targets.iter().try_for_each(|target| target.check_depth(&sources[0]))?;
        let sizes: Vec<_> = sources.iter().map(|source| source.format().size).collect();
        let names: Vec<_> = sources.iter().map(VideoSource::name).collect();
        let map = self.map.path().map(|_| self.map.open(&sizes, &names, &targets[0].path));
        let map = map.transpose()?;
        for source in &mut sources {
            source.await_first()?;
        }
        Ok((sources, map))
    }

    /// Calibrates the cameras from their pictures at several moments, and writes the rig beside the first output.
    fn calibrate(
        &self,
        stream: &Stream,
        moments: Vec<Vec<Picture>>,
        target: &Target<'_>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Calibrated, JobError> {
        let job = CalibrateJob {
            pictures: self.videos.clone(),
            shape: self.shape.clone(),
            lenses: self.lenses.clone(),
            ..CalibrateJob::default()
        };
        let (mut found, _) = job.run(stream, moments, watch)?;
        if !self.no_crop {
            // Without a rectangle that the cameras cover, the borders stay.
            let cropped = RigOptions { crop: true, ..self.shape.rig() };
            found.rig.panorama =
                found.calibration.rig(&cropped).map_or(found.rig.panorama, |rig| rig.panorama);
        }
        found.rig.panorama = self.map.scaled(&found.rig.panorama).unwrap_or(found.rig.panorama);
        if let Some(one) = found.calibration.left_out.first() {
            return Err(JobError::input(
                &self.videos[one.index],
                format!(
                    "it does not fit the other videos: {}; leave it out, or give a rig",
                    one.reason
                ),
            ));
        }
        let file =
            (target.path.as_os_str() != STANDARD).then(|| target.path.with_extension("rig.toml"));
        if let Some(file) = &file {
            found.rig.save(file)?;
        }
        watch(Event::Calibrated(&found, file.as_deref()));
        Ok(found)
    }

    /// Checks that the rig of a map fits the first frames of the videos, and returns the map.
    fn check_rig(
        &self,
        stream: &Stream,
        map: Map,
        sources: &mut [VideoSource],
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Map, JobError> {
        let Some(rig) = map.as_rig().filter(|rig| rig.cameras.len() > 1 && !self.no_check) else {
            return Ok(map);
        };
        watch(Event::Stage("check", "checking the rig"));
        let links = links(stream, &first(sources)?)?;
        let refused = |refusal| JobError::refused(&self.videos, refusal);
        let found = check_rig(&rig, &links, &CalibrateOptions::default()).map_err(refused)?;
        let Some(told) = told(&found, &self.videos) else { return Ok(map) };
        if found.fits_nothing() {
            let file = self.map.path().unwrap_or(Path::new(""));
            return Err(JobError::input(file, format!("{told}; set `no-check` to use it anyway")));
        }
        tracing::warn!("{}: {told}", self.map.path().unwrap_or(Path::new("")).display());
        Ok(map)
    }

    /// Returns whether the colours of the cameras are measured and matched.
    fn follows(&self) -> bool {
        !self.no_colour && self.look.leaves_colours()
    }

    fn options(
        &self,
        (blend, anchor): (Blend, Option<usize>),
        stitch: StitchOptions,
        rate: Rate,
        part: &Part,
    ) -> VideoOptions {
        let (follow, keep_highlights) = (self.follows(), self.look.keep_highlights);
        let colour = ColourOptions::at_rate(rate.per_second());
        let colour = ColourOptions { follow, anchor, keep_highlights, ..colour };
        let (refine, rate) = (self.blend.refine(), Some(rate));
        let Part { skip, limit, .. } = *part;
        let offsets = part.offsets.clone();
        VideoOptions { stitch, colour, blend, refine, rate, offsets, skip, limit }
    }

    /// Returns the part of the recordings that is stitched: all, the first `frames`, or those that lead to `at`.
    fn part(
        &self,
        inputs: &[VideoInput],
        sources: Vec<VideoSource>,
        offsets: Vec<Offset>,
        rate: Rate,
        stop: &Stop,
    ) -> Result<Part, JobError> {
        let expected = Self::expected(&sources, &offsets, rate);
        if let Some(at) = self.at {
            return Part::at(at, expected, inputs, (sources, &offsets), rate, stop);
        }
        let (begin, skip, limit) = (Duration::ZERO, 0, self.frames);
        let expected = expected.into_iter().chain(limit).min();
        Ok(Part { sources, offsets, begin, skip, limit, expected })
    }

    /// Estimates the number of panoramas: the smallest of the lengths of all inputs. Returns `None` if none is known.
    fn expected(sources: &[VideoSource], offsets: &[Offset], rate: Rate) -> Option<u64> {
        let first = Offset::first_tick(offsets, rate);
        let of = |(i, source): (usize, &VideoSource)| {
            let end = end(source, offsets.get(i))?;
            Some(((end * rate.per_second()).round() as u64).saturating_sub(first))
        };
        sources.iter().enumerate().filter_map(of).min()
    }
}
