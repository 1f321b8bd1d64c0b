//! The pictures that a stitcher makes from each set of frames: panoramas and views, each in a pixel format of its own.

use std::fmt;

use glam::{UVec2, Vec3};
use shared_types::stitch::{Colour, MAX_CAMERAS};

use super::error::LiveError;
use super::options::LiveOptions;
use super::shared::Formats;
use crate::frame::{FrameFormat, PixelFormat};
use crate::ops::stitch::{Colours, Lookup, LookupCase, LookupError, StitchOptions};
use crate::ops::view::{DEFAULT_SIZE, ViewPath, Viewer};
use crate::warp::DeviceWarp;

/// A picture that a stitcher makes from each set of frames.
#[derive(Clone)]
pub struct Output {
    /// The pixel format. It has 10 bits per sample if and only if all cameras do.
    pub pixels: PixelFormat,
    /// The size. The default is the size of the warp for a panorama, and [`DEFAULT_SIZE`] for a view.
    pub size: Option<UVec2>,
    /// The pose of a view over time, or `None` for the panorama.
    /// [`Stitcher::steer`](super::Stitcher::steer) replaces it.
    pub view: Option<ViewPath>,
}

impl Output {
    /// Returns the panorama in the size of the warp.
    #[must_use]
    pub const fn panorama(pixels: PixelFormat) -> Self {
        Self { pixels, size: None, view: None }
    }

    /// Returns a view.
    #[must_use]
    pub const fn view(pixels: PixelFormat, size: UVec2, path: ViewPath) -> Self {
        Self { pixels, size: Some(size), view: Some(path) }
    }

    fn format(&self, warp: &DeviceWarp) -> OutputFormat {
        let is_view = self.view.is_some();
        let default = if is_view { DEFAULT_SIZE } else { warp.size() };
        let format = FrameFormat { size: self.size.unwrap_or(default), pixels: self.pixels };
        OutputFormat { format, is_view }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.view.is_some() { "view" } else { "panorama" };
        write!(f, "{kind} in {}", self.pixels)
    }
}

/// The format of an output, and whether it is a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputFormat {
    pub(super) format: FrameFormat,
    pub(super) is_view: bool,
}

impl Formats {
    /// Returns the formats of the cameras' frames and of the outputs.
    ///
    /// # Errors
    /// Returns [`LiveError`] if there is no output, if there is a view without a viewer, or if panoramas have another
    /// size than each other or, beside views, than the warp: all of them use the weights of one warp.
    pub(super) fn new(
        inputs: &[PixelFormat],
        outputs: &[Output],
        warp: &DeviceWarp,
        viewer: Option<&Viewer>,
    ) -> Result<Self, LiveError> {
        let of = |(&size, &pixels)| FrameFormat { size, pixels };
        let formats = Self {
            inputs: warp.sources().iter().zip(inputs).map(of).collect(),
            outputs: outputs.iter().map(|output| output.format(warp)).collect(),
        };
        let views = outputs.iter().filter(|output| output.view.is_some()).count();
        let size = if views > 0 { Some(warp.size()) } else { formats.panorama() };
        let mut panoramas = formats.outputs.iter().filter(|output| !output.is_view);
        let checks = [
            (outputs.is_empty(), "a stitcher needs at least one output"),
            (
                views > 0 && viewer.is_none(),
                "a view needs a viewer; make it from the geometry of the warp",
            ),
            (
                panoramas.any(|panorama| Some(panorama.format.size) != size),
                "all panoramas must have the same size, and beside views that of the warp; render the warp in this size",
            ),
        ];
        match checks.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, text)) => Err(LiveError::invalid(text)),
            None => Ok(formats),
        }
    }

    /// Returns the size of the panoramas, if there are any.
    pub(super) fn panorama(&self) -> Option<UVec2> {
        self.outputs.iter().find(|output| !output.is_view).map(|output| output.format.size)
    }

    /// Returns whether panoramas are stitched by a mesh with the options `stitch`.
    ///
    /// # Errors
    /// Returns [`LookupError`] if the lookup does not support the panoramas, or shoulders and covers that the colour
    /// correction and failing cameras may add.
    pub(super) fn uses_mesh(
        &self,
        options: &LiveOptions,
        stitch: StitchOptions,
    ) -> Result<bool, LookupError> {
        let inputs: Vec<_> = self.inputs.iter().map(|format| format.pixels.stored()).collect();
        let mut worst = stitch;
        if options.colour.keep_highlights {
            let colour = Colour { gain: Vec3::splat(2.0), ..Colour::IDENTITY };
            worst.colours = Colours::of([colour.with_shoulder(); MAX_CAMERAS]);
        }
        if options.failure.is_some() {
            worst.covers.parts = [1.0; MAX_CAMERAS];
        }
        let mut by_mesh = false;
        for output in self.outputs.iter().filter(|output| !output.is_view) {
            let output = output.format.stored();
            let case = LookupCase { inputs: &inputs, output, is_deep: false, unaligned: None };
            worst.select(&case)?;
            by_mesh |= stitch.select(&case)? == Lookup::Mesh;
        }
        Ok(by_mesh)
    }

    /// Yields the formats of all frames.
    pub(super) fn all(&self) -> impl Iterator<Item = FrameFormat> {
        self.inputs.iter().copied().chain(self.outputs.iter().map(|output| output.format))
    }
}
