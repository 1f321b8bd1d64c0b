//! The outputs of a job that stitches videos.

use std::path::PathBuf;
use std::time::Duration;

use glam::UVec2;

use super::files::is_stdout;
use super::moments::Part;
use super::options::VideoOutputOptions;
use super::{JobError, View};
use crate::frame::{ColourTags, Rate};
use crate::io::picture::Picture;
use crate::io::video::{
    Crf, Medium, Pattern, STANDARD, Stop, StreamFormat, TenBit, VideoEncoder, VideoError,
    VideoOutput, VideoSink, VideoSource,
};
use crate::ops::view::ViewPath;
use crate::video::Offset;

/// An output that was checked before anything is opened.
pub(super) struct Target<'a> {
    pub(super) options: &'a VideoOutputOptions,
    /// The path, or `-` for standard output.
    pub(super) path: PathBuf,
    pub(super) medium: Medium,
}

impl<'a> Target<'a> {
    /// Checks an output: a video, or a `single` picture.
    pub(super) fn new(options: &'a VideoOutputOptions, single: bool) -> Result<Self, JobError> {
        let file = &options.output;
        if file.as_os_str().is_empty() {
            return Err(JobError::usage("there is no output; give `output`"));
        }
        // A stream to the file of standard output has no extension of its own.
        let known =
            if file.extension().is_none() && is_stdout(file) { STANDARD.as_ref() } else { &**file };
        let medium = if single {
            Picture::check_name(file)?;
            Medium::Pictures(Pattern::single(file))
        } else {
            Medium::of_output(known, options.output_format)?
        };
        if options.encoder.is_some() && medium != Medium::File {
            return Err(JobError::usage(
                "`encoder` applies only to .mp4, .m4v, .mov and .mkv output; remove it",
            ));
        }
        let to_stdout = matches!(medium, Medium::Stream(_)) && is_stdout(file);
        let path = if to_stdout { STANDARD.into() } else { file.0.clone() };
        let target = Self { options, path, medium };
        match options.depth {
            Some(8) if target.medium == Medium::Stream(StreamFormat::P010) => Err(JobError::usage(
                "`depth` 8 does not go with raw P010, which has 10 bits; remove it, or write .nv12 or .y4m",
            )),
            Some(10) if !target.stores_ten_bits() => {
                Err(VideoError::Depth { file: file.0.clone() }.into())
            }
            _ => Ok(target),
        }
    }

    pub(super) fn stopped(&self) -> JobError {
        JobError::Stopped { file: self.options.output.0.clone() }
    }

    fn stores_ten_bits(&self) -> bool {
        let encoder = self.options.encoder;
        self.medium.stores_ten_bits() && encoder.is_none_or(VideoEncoder::stores_ten_bits)
    }

    /// Returns whether inputs with more than 8 bits are read with 10.
    pub(super) fn reads_ten_bits(&self) -> bool {
        self.options.depth != Some(8) && self.stores_ten_bits()
    }

    /// Checks that the output has the depth of the frames of the first video.
    pub(super) fn check_depth(&self, first: &VideoSource) -> Result<(), JobError> {
        let found = first.format().pixels.bits();
        let bits = match &self.medium {
            Medium::Stream(StreamFormat::P010) => 10,
            _ if !self.reads_ten_bits() => 8,
            _ => found,
        };
        let file = self.options.output.0.clone();
        if bits != found {
            let input = first.name().to_owned();
            return Err(VideoError::OutputDepth { file, bits, input, found }.into());
        }
        if bits == 8 && self.options.depth == Some(10) {
            return Err(JobError::usage(
                "`depth` 10 requires a first video with more than 8 bits per sample; remove it",
            ));
        }
        Ok(())
    }

    /// Returns the file and its size, if its panoramas or views have the size `size`.
    pub(super) fn written(&self, size: UVec2) -> (PathBuf, UVec2) {
        // An encoder drops an odd last column or row.
        let mask = if self.medium == Medium::File { !UVec2::ONE } else { UVec2::MAX };
        (self.options.output.0.clone(), size & mask)
    }

    /// Creates the output of a part of recordings, for panoramas or views of `size` pixels, and returns the path of the
    /// view.
    pub(super) fn create(
        &self,
        size: UVec2,
        view: Option<&View>,
        part: &Part,
        rate: Rate,
        stop: &Stop,
    ) -> Result<(VideoSink, Option<ViewPath>), JobError> {
        let output = self.output(&part.sources, Offset::start(&part.offsets, rate))?;
        let path = view.map(|view| {
            let (path, begin) = (view.path.clone(), part.begin);
            ViewPath::new(move |time| path.at(begin + time))
        });
        Ok((VideoSink::create(&output, size, rate, stop)?, path))
    }

    /// Returns the description from which the output is created. The sound of the first video begins at `start`. Logs a
    /// warning if colour tags are lost, or differ between the videos.
    fn output(&self, sources: &[VideoSource], start: Duration) -> Result<VideoOutput, JobError> {
        let first = &sources[0];
        let (pixels, tags) = (first.format().pixels, first.tags());
        let is_deep = pixels.bits() > 8;
        for source in sources.iter().filter(|source| is_deep && source.tags() != tags) {
            tracing::warn!(
                "{} has {}, but {} has {tags}; their levels are mixed without conversion",
                source.name().display(),
                source.tags(),
                first.name().display()
            );
        }
        if is_deep && tags != ColourTags::default() && self.medium != Medium::File {
            let file = self.options.output.display();
            tracing::warn!("{file} does not store the tags of the levels, {tags}");
        }
        let crf = Crf::new(self.options.crf);
        Ok(VideoOutput {
            path: self.path.clone(),
            medium: self.medium.clone(),
            encoder: self.options.encoder,
            crf: crf.ok_or_else(|| JobError::usage("`crf` must be 0 to 51"))?,
            sound: first.sound().map(|sound| sound.clone().starting_at(start)),
            ten_bit: is_deep
                .then(|| TenBit { encoding: pixels.encoding().unwrap_or_default(), tags }),
        })
    }
}
