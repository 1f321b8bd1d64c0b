//! The pictures that a session makes from each set of frames: panoramas and views, each in a pixel format of its own.

use glam::{UVec2, Vec3};
use shared_types::stitch::{Colour, MAX_CAMERAS};

use super::error::LiveError;
use super::options::LiveOptions;
use crate::frame::{FrameFormat, PixelFormat};
use crate::geometry::MAX_CANVAS_AREA;
use crate::ops::stitch::{Colours, Lookup, LookupCase, LookupError, StitchOptions, check_depths};
use crate::ops::view::{DEFAULT_SIZE, ViewPath};
use crate::warp::DeviceWarp;

/// A picture that a session makes from each set of frames.
#[derive(Clone, Debug)]
pub struct Output {
    /// What the picture shows.
    pub kind: OutputKind,
    /// The pixel format. It has 10 bits per sample if and only if all cameras do.
    pub pixels: PixelFormat,
    /// The size. The default is the size of the warp for a panorama, and [`DEFAULT_SIZE`] for a view.
    pub size: Option<UVec2>,
}

/// What an output shows.
#[derive(Clone, Debug, Default)]
pub enum OutputKind {
    /// The panorama.
    #[default]
    Panorama,
    /// A view, with its pose over time, which [`Session::steer`](super::Session::steer) replaces.
    View(ViewPath),
}

impl Default for Output {
    /// Returns the panorama in RGBA.
    fn default() -> Self {
        Self::panorama(PixelFormat::Rgba8)
    }
}

impl Output {
    /// Returns the panorama in the size of the warp.
    #[must_use]
    pub const fn panorama(pixels: PixelFormat) -> Self {
        Self { kind: OutputKind::Panorama, pixels, size: None }
    }

    /// Returns a view.
    #[must_use]
    pub fn view(pixels: PixelFormat, size: UVec2, path: impl Into<ViewPath>) -> Self {
        Self { kind: OutputKind::View(path.into()), pixels, size: Some(size) }
    }

    /// Returns this output with a size.
    #[must_use]
    pub fn sized(self, size: UVec2) -> Self {
        Self { size: Some(size), ..self }
    }

    fn is_view(&self) -> bool {
        matches!(self.kind, OutputKind::View(_))
    }
}

/// The formats of a session's input frames, one per camera, and of its outputs. All have the same number of bits per
/// sample.
#[derive(Clone, Debug)]
pub(super) struct Formats {
    pub(super) inputs: Vec<FrameFormat>,
    pub(super) outputs: Vec<FrameFormat>,
    /// The formats of the outputs that are panoramas. All have the same size.
    pub(super) panoramas: Vec<FrameFormat>,
    pub(super) has_views: bool,
}

impl Formats {
    /// Returns the formats of the cameras' frames and of the outputs.
    ///
    /// # Errors
    /// Returns [`LiveError`] if there is no output, if an output is too large, if panoramas have another size than each
    /// other or, beside views, than the warp (all of them use the weights of one warp), or if the depths of the formats
    /// differ.
    pub(super) fn new(
        inputs: &[PixelFormat],
        outputs: &[Output],
        warp: &DeviceWarp,
    ) -> Result<Self, LiveError> {
        let format = |output: &Output| {
            let default = if output.is_view() { DEFAULT_SIZE } else { warp.size() };
            FrameFormat { size: output.size.unwrap_or(default), pixels: output.pixels }
        };
        let input = |(&size, &pixels)| FrameFormat { size, pixels };
        let inputs: Vec<_> = warp.sources().iter().zip(inputs).map(input).collect();
        let formats: Vec<_> = outputs.iter().map(format).collect();
        let sized = outputs.iter().zip(&formats).filter(|(output, _)| !output.is_view());
        let panoramas: Vec<_> = sized.map(|(_, format)| *format).collect();
        let has_views = outputs.iter().any(Output::is_view);
        let size = if has_views { Some(warp.size()) } else { panoramas.first().map(|it| it.size) };
        let is_large = |FrameFormat { size, .. }: &FrameFormat| {
            u64::from(size.x) * u64::from(size.y) > MAX_CANVAS_AREA
        };
        let checks = [
            (outputs.is_empty(), "a session needs at least one output"),
            (formats.iter().any(is_large), "`size` of an output must have at most 2²⁶ pixels"),
            (
                panoramas.iter().any(|panorama| Some(panorama.size) != size),
                "all panoramas must have the same size, and beside views that of the warp; render the warp in this size",
            ),
        ];
        if let Some((_, text)) = checks.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(LiveError::invalid(text));
        }
        let formats = Self { inputs, outputs: formats, panoramas, has_views };
        check_depths(formats.all())?;
        Ok(formats)
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
        for output in &self.panoramas {
            let output = output.stored();
            let case = LookupCase { inputs: &inputs, output, is_deep: false, unaligned: None };
            worst.select(&case)?;
            by_mesh |= stitch.select(&case)? == Lookup::Mesh;
        }
        Ok(by_mesh)
    }

    /// Yields the formats of all frames.
    pub(super) fn all(&self) -> impl Iterator<Item = FrameFormat> {
        self.inputs.iter().chain(&self.outputs).copied()
    }
}
