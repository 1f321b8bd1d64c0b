//! OneCamera camera of a view, and the weights of both.

use crate::colour::grade::Scaled;
use crate::io::{Sampler2d, sample_plane};
use cuda_std::prelude::*;
use glam::{Vec2, Vec3, uvec2};
use shared_types::view::{ViewCamera, ViewCanvas};
use shared_types::yuv::YuvToRgb;

/// What of a camera a pixel needs.
#[derive(Clone, Copy)]
pub(super) struct SourceCamera<'a, P> {
    pub(super) picture: P,
    pub(super) colour: Scaled,
    /// 1 / the shorter side of the picture.
    pub(super) per_side: f32,
    pub(super) decode: &'a YuvToRgb,
}

impl<'a, P: Sampler2d> SourceCamera<'a, P> {
    #[inline(always)]
    pub(super) fn new(picture: P, camera: &ViewCamera, decode: &'a YuvToRgb) -> Self {
        let colour = Scaled::new(camera.colour, P::WHITE);
        Self { picture, colour, per_side: camera.per_side, decode }
    }

    /// OneCamera pixel behind the middle of the last one.
    #[inline(always)]
    pub(super) fn end(&self) -> Vec2 {
        self.picture.size().as_vec2() + P::MIDDLE
    }

    /// Whether a place is inside of the picture. A NaN is not.
    #[inline(always)]
    pub(super) fn is_inside(&self, place: Vec2) -> bool {
        let end = self.end();
        place.x >= P::MIDDLE && place.x < end.x && place.y >= P::MIDDLE && place.y < end.y
    }

    /// How far a place, of numbers, is within the picture, in pixels; 0 where it is not seen. As a fraction of the
    /// picture's shorter side it is a warp's weight, which is nothing one pixel beside the middles of the first and last.
    #[inline(always)]
    pub(super) fn margin(&self, place: Option<Vec2>) -> f32 {
        let Some(place) = place else { return 0.0 };
        let far = self.end() - place;
        let (near, far) = (place.x.min(place.y), far.x.min(far.y));
        let is_inside = near >= P::MIDDLE && far > 0.0;
        if is_inside { (near + (1.0 - P::MIDDLE)).min(far) } else { 0.0 }
    }

    /// A sample at a place, or at the edge next to it.
    #[inline(always)]
    pub(super) fn sample(&self, place: Vec2) -> Vec3 {
        // SAFETY: the picture is whole and not empty, as the tile has checked.
        unsafe { self.picture.sample_near(place, self.decode) }
    }
}

/// How much the cameras count on a canvas.
pub(super) struct Weights<'a> {
    pub(super) planes: [View<f32>; 2],
    pub(super) canvas: &'a ViewCanvas,
}

impl Weights<'_> {
    /// Whether they have the canvas's size.
    #[inline(always)]
    pub(super) fn are_there(&self) -> bool {
        let there = |plane: &View<f32>| uvec2(plane.width(), plane.height()) == self.canvas.size;
        there(&self.planes[0]) && there(&self.planes[1])
    }

    /// What both say at a place of the canvas, unless that is nothing. They are there.
    #[inline(always)]
    pub(super) fn at(&self, place: Vec2) -> Option<[f32; 2]> {
        // SAFETY: confined to the canvas, whose size the planes have.
        let [a, b] =
            unsafe { [sample_plane(&self.planes[0], place), sample_plane(&self.planes[1], place)] };
        (a + b > 0.0).then_some([a, b])
    }
}

/// How far off a place on a canvas is, as a share of the canvas: so that ends that meet all round leave no
/// gap, whose rays f32 would have beside both.
pub(super) const ROUNDING: f32 = 3e-7;

/// The canvas's pixel at a place up to half of one beside it.
#[inline(always)]
pub(super) fn clamp_to_canvas(canvas: &ViewCanvas, place: Vec2) -> Option<Vec2> {
    let size = canvas.size.as_vec2();
    let reach = 0.5 + ROUNDING * size;
    // A NaN is nowhere.
    let inside = place.cmpge(-reach).all() && place.cmplt(size - 1.0 + reach).all();
    inside.then(|| place.clamp(Vec2::ZERO, (canvas.size - 1).as_vec2()))
}
