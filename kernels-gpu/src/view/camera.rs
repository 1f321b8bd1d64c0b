//! A camera that contributes to a view, and the blending weights of both cameras.

use crate::colour::grade::Scaled;
use crate::colour::vignette::factor;
use crate::io::{TextureSampler2d, sample_plane};
use cuda_std::prelude::*;
use glam::{Vec2, Vec3, Vec4, uvec2};
use shared_types::photometry::Vignette;
use shared_types::view::{ViewCamera, ViewCanvas};
use shared_types::yuv::YuvToRgb;

/// The texture coordinate of the first pixel's centre, along both axes.
pub(super) const MIDDLE: f32 = 0.5;

/// A camera's picture, and the parameters by which a shader samples, corrects and weights it.
#[derive(Clone, Copy)]
pub(super) struct SourceCamera<'a, P> {
    pub(super) picture: P,
    pub(super) colour: Scaled,
    /// The reciprocal of the shorter side of the picture in pixels.
    pub(super) per_side: f32,
    pub(super) decode: &'a YuvToRgb,
    pub(super) vignette: Option<Vignette>,
}

impl<'a, P: TextureSampler2d> SourceCamera<'a, P> {
    #[device]
    pub(super) fn new(picture: P, camera: &ViewCamera, decode: &'a YuvToRgb) -> Self {
        let colour = Scaled::new(camera.colour, P::WHITE);
        Self { picture, colour, per_side: camera.per_side, decode, vignette: None }
    }

    /// Adds a constant colour to the picture, and undoes its vignetting; see
    /// [`ViewSource::offset`](shared_types::view::ViewSource::offset).
    #[device]
    pub(super) fn mixed(self, offset: Vec3, vignette: Vignette) -> Self {
        Self { colour: self.colour.mixed(offset), vignette: Some(vignette), ..self }
    }

    /// Returns the position one pixel beyond the centre of the last pixel, along both axes.
    #[device]
    pub(super) fn end(&self) -> Vec2 {
        self.picture.size().as_vec2() + MIDDLE
    }

    /// Returns whether a position is inside the picture; false for NaN.
    #[device]
    pub(super) fn is_inside(&self, place: Vec2) -> bool {
        let end = self.end();
        place.x >= MIDDLE && place.x < end.x && place.y >= MIDDLE && place.y < end.y
    }

    /// Returns the distance in pixels from a position to the edge of the picture, or 0 if the position is `None` or
    /// outside. As in a warp, edges are one pixel beyond the centres of the first and the last pixel. To get the
    /// weights of a warp, this distance is divided by the shorter side of the picture, and then by the sum for both
    /// cameras.
    #[device]
    pub(super) fn margin(&self, place: Option<Vec2>) -> f32 {
        let Some(place) = place else { return 0.0 };
        let far = self.end() - place;
        let (near, far) = (place.x.min(place.y), far.x.min(far.y));
        let is_inside = near >= MIDDLE && far > 0.0;
        if is_inside { (near + (1.0 - MIDDLE)).min(far) } else { 0.0 }
    }

    /// Samples the picture at a position. A position outside the picture is clamped to the picture's edge. The sample
    /// contains the factor of the vignette, which is the fourth component.
    #[device]
    pub(super) fn sample(&self, place: Vec2) -> Vec4 {
        let sample = self.picture.sample_texture(place, self.decode);
        match &self.vignette {
            Some(vignette) => {
                let factor = factor(vignette, place - MIDDLE);
                (sample * factor).extend(factor)
            }
            None => sample.extend(1.0),
        }
    }
}

/// The weight planes of both cameras, left camera first, and the canvas that they cover.
pub(super) struct Weights<'a> {
    pub(super) planes: [View<f32>; 2],
    pub(super) canvas: &'a ViewCanvas,
}

impl Weights<'_> {
    /// Returns whether both weight planes have the size of the canvas. Otherwise, they are not used.
    #[device]
    pub(super) fn are_there(&self) -> bool {
        let there = |plane: &View<f32>| uvec2(plane.width(), plane.height()) == self.canvas.size;
        there(&self.planes[0]) && there(&self.planes[1])
    }

    /// Returns both weights at a position inside the canvas, or `None` if both are 0. The planes must have the
    /// canvas's size.
    #[device]
    pub(super) fn at(&self, place: Vec2) -> Option<[f32; 2]> {
        // SAFETY: the position is clamped to the canvas, and the planes have the canvas's size.
        let [a, b] =
            unsafe { [sample_plane(&self.planes[0], place), sample_plane(&self.planes[1], place)] };
        (a + b > 0.0).then_some([a, b])
    }
}

/// The rounding error of a canvas position in f32, as a fraction of the canvas's size. On a canvas of 360°, the last
/// column is next to the first one. Without this tolerance, a rounded position between them could be outside the canvas
/// on both sides.
pub(super) const ROUNDING: f32 = 3e-7;

/// Clamps a position to the centres of the canvas's pixels. Returns `None` if the position is more than half a pixel
/// outside these centres.
#[device]
pub(super) fn clamp_to_canvas(canvas: &ViewCanvas, place: Vec2) -> Option<Vec2> {
    let size = canvas.size.as_vec2();
    let reach = 0.5 + ROUNDING * size;
    // A NaN fails both comparisons, so the result is `None`.
    let inside = place.cmpge(-reach).all() && place.cmplt(size - 1.0 + reach).all();
    inside.then(|| place.clamp(Vec2::ZERO, (canvas.size - 1).as_vec2()))
}
