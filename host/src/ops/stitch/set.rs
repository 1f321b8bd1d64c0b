//! A set of pictures that were checked once, and the choice of the launches that stitch it.

use glam::UVec2;

use super::error::{StitchError, check_size, check_sources};
use super::lookup::{Lookup, LookupCase};
use super::sum::{LayerView, SumView};
use super::{StitchOptions, mesh, planes, sum};
use crate::device::{DeviceError, Image, Stream};
use crate::frame::{DeviceFrame, FrameView, FrameViewMut, Textured};
use crate::io::picture::Pixel;
use crate::lock::lock;
use crate::warp::DeviceWarp;

/// A picture for each camera. The constructor has checked that their number and sizes are those of the cameras, and that
/// their chroma planes are complete.
pub(crate) struct Pictures<'a>(Vec<LayerView<'a>>);

impl<'a> Pictures<'a> {
    /// Takes pictures of cameras with these source sizes.
    pub(crate) fn new<V: Into<LayerView<'a>>>(
        pictures: impl IntoIterator<Item = V>,
        sources: &[UVec2],
    ) -> Result<Self, StitchError> {
        let pictures: Vec<LayerView<'a>> = pictures.into_iter().map(Into::into).collect();
        let sizes: Vec<_> = pictures.iter().map(|picture| picture.format().size).collect();
        check_sources(&sizes, sources)?;
        let broken = pictures.iter().position(|of| of.frame().is_some_and(|it| !it.is_whole()));
        match broken {
            Some(camera) => {
                Err(StitchError::chroma(&format!("the frame of camera {}", camera + 1)))
            }
            None => Ok(Self(pictures)),
        }
    }

    pub(crate) fn all(&self) -> &[LayerView<'a>] {
        &self.0
    }

    /// Returns the pictures that are frames.
    pub(crate) fn frames(&self) -> Vec<FrameView<'a>> {
        self.0.iter().filter_map(|it| it.frame()).collect()
    }
}

/// The pictures of a warp's cameras and the options of a stitch, whose colour corrections the constructor has checked.
pub(crate) struct StitchSet<'a> {
    pub(crate) pictures: Pictures<'a>,
    pub(crate) warp: &'a DeviceWarp,
    pub(crate) options: &'a StitchOptions,
}

/// A panorama in device memory that several launches change.
pub(crate) trait Target {
    /// Returns the panorama for one launch.
    fn panorama(&mut self) -> SumView<'_>;
}

impl Target for DeviceFrame {
    fn panorama(&mut self) -> SumView<'_> {
        SumView::Frame(self.into())
    }
}

impl<P: Pixel> Target for Image<P> {
    fn panorama(&mut self) -> SumView<'_> {
        P::view_mut(self).into()
    }
}

impl<'a> StitchSet<'a> {
    pub(crate) fn new<V: Into<LayerView<'a>>>(
        pictures: impl IntoIterator<Item = V>,
        warp: &'a DeviceWarp,
        options: &'a StitchOptions,
    ) -> Result<Self, StitchError> {
        options.check(warp.sources().len())?;
        Ok(Self { pictures: Pictures::new(pictures, warp.sources())?, warp, options })
    }

    /// Checks that an output has the size of the warp, and that its chroma plane is complete.
    pub(crate) fn check_output(&self, out: &SumView<'_>) -> Result<(), StitchError> {
        check_size(out.format().size, self.warp.size())?;
        if out.is_whole() { Ok(()) } else { Err(StitchError::chroma("the output")) }
    }

    /// Submits the stitch into `out` without waiting.
    #[track_caller]
    pub(crate) fn stitch(&self, stream: &Stream, out: SumView<'_>) -> Result<(), StitchError> {
        let Self { warp, options, .. } = self;
        self.check_output(&out)?;
        let frames = self.pictures.frames();
        // Hold the lock until the launch is submitted, so that no other thread evicts the textures that it uses.
        let mut textures = lock(warp.textures());
        let mut textured = Vec::new();
        if options.lookup.reads_textures() {
            let texture = |frame| Textured::of(stream.device(), &mut textures, frame);
            textured = frames.iter().map(texture).collect::<Result<Vec<_>, DeviceError>>()?;
        }
        let case = LookupCase {
            inputs: &frames.iter().map(|frame| frame.format().pixels).collect::<Vec<_>>(),
            output: out.format(),
            is_deep: frames.is_empty(),
            unaligned: textured.iter().position(Option::is_none),
        };
        let lookup = options.select(&case)?;
        let textured: Vec<_> = textured.into_iter().flatten().collect();
        match (lookup, out) {
            (Lookup::Mesh, SumView::Frame(out)) => {
                let mesh = warp.mesh(stream).map_err(StitchError::Mesh)?;
                mesh::launch(stream, &textured, mesh, options, out)
            }
            (
                Lookup::TexturedPlanes | Lookup::HardwareBilinear | Lookup::GammaTable,
                SumView::Frame(FrameViewMut::Rgba8(out)),
            ) => planes::launch_variant(stream, &mut textures, self, (&frames, &textured), out),
            (_, SumView::Frame(out)) if self.is_for_two(&frames, &out) => {
                planes::launch(stream, [frames[0], frames[1]], warp, options, out)
            }
            (_, out) => sum::launch(stream, self, out),
        }
    }

    /// Returns whether one launch can stitch the frames by planes: two frames of one 8-bit format to 8 bits, sampled
    /// bilinearly, and not covered by a colour.
    fn is_for_two(&self, frames: &[FrameView<'_>], out: &FrameViewMut<'_>) -> bool {
        let [left, right] = frames else { return false };
        let pixels = left.format().pixels;
        let is_alike = pixels == right.format().pixels
            && pixels.bits() == 8
            && out.format().pixels.bits() == 8;
        is_alike && self.options.lookup != Lookup::Cubic && !self.options.covers.covers_any(2)
    }
}
