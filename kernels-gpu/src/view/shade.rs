//! Shaders of a view. They take samples first and compute colours afterwards, so that several samples are in flight.

use crate::io::{TextureSampler2d, fused};
use crate::unroll::unroll;
use crate::view::camera::{SourceCamera, Weights, clamp_to_canvas};
use crate::view::map::TileMap;
use crate::view::pixel::{Columns, Pixel, Shader};
use cuda_std::prelude::*;
use glam::{Vec3, Vec4};
use shared_types::stitch::MIN_WEIGHT;

/// The shader of tiles that no camera can see: black.
pub(super) struct Black;

impl Shader for Black {
    type Sample = ();

    const AHEAD: bool = false;

    #[device]
    fn sample(&self, _: Pixel) {}

    #[device]
    fn colours(&self, _: [(); 4]) -> [Vec3; 4] {
        [Vec3::ZERO; 4]
    }
}

/// The shader of tiles that only one camera can see.
pub(super) struct OneCamera<'a, P> {
    pub(super) camera: SourceCamera<'a, P>,
    pub(super) map: Columns,
}

impl<P: TextureSampler2d> Shader for OneCamera<'_, P> {
    /// A sample, and whether its position is inside the picture.
    type Sample = (Vec4, bool);

    const AHEAD: bool = true;

    #[device]
    fn sample(&self, pixel: Pixel) -> (Vec4, bool) {
        let place = self.map.at(pixel);
        (self.camera.sample(place), self.camera.is_inside(place))
    }

    #[device]
    fn colours(&self, samples: [(Vec4, bool); 4]) -> [Vec3; 4] {
        let mut colours = self.camera.colour.apply(samples.map(|(sample, _)| sample));
        unroll!(4, |i| {
            if !samples[i].1 {
                colours[i] = Vec3::ZERO;
            }
        });
        colours
    }
}

/// The shader of tiles with two cameras, blended by the weights of a warp or feathered.
pub(super) struct TwoCameras<'a, P, M, C> {
    pub(super) left: SourceCamera<'a, P>,
    pub(super) right: SourceCamera<'a, P>,
    pub(super) maps: (M, M),
    /// The weight planes of a warp, and the map to their canvas. `None` if the cameras are feathered.
    pub(super) counts: Option<(&'a Weights<'a>, C)>,
}

impl<P: TextureSampler2d, M: TileMap, C: TileMap> TwoCameras<'_, P, M, C> {
    /// Returns the left camera's weight and the sum of both weights. `left` and `right` are the distances in pixels
    /// from the pixel's position in each camera's picture to the edge of this picture.
    #[device]
    pub(super) fn counts(&self, pixel: Pixel, [left, right]: [f32; 2]) -> (f32, f32) {
        if let Some((weights, map)) = &self.counts
            && left > 0.0
            && right > 0.0
            && let Some(place) = map.place(pixel)
            && let Some(place) = clamp_to_canvas(weights.canvas, place)
            && let Some([left, right]) = weights.at(place)
        {
            return (left, left + right);
        }
        let left = left * self.left.per_side;
        (left, right.mul_add(self.right.per_side, left))
    }
}

impl<P: TextureSampler2d, M: TileMap, C: TileMap> Shader for TwoCameras<'_, P, M, C> {
    /// The samples of both cameras, and the left camera's share; `None` if neither camera contributes.
    type Sample = ([Vec4; 2], Option<f32>);

    const AHEAD: bool = false;

    #[device]
    fn sample(&self, pixel: Pixel) -> Self::Sample {
        let (l, r) = (self.maps.0.place(pixel), self.maps.1.place(pixel));
        let (counts, sum) = self.counts(pixel, [self.left.margin(l), self.right.margin(r)]);
        let samples =
            [self.left.sample(l.unwrap_or_default()), self.right.sample(r.unwrap_or_default())];
        let share = counts * sum.fast_recip();
        // The weights of a warp sum to 1. As in a stitch, a weight of at most `MIN_WEIGHT` counts as 0.
        let share = if share > MIN_WEIGHT { share } else { 0.0 };
        let share = if share < 1.0 - MIN_WEIGHT { share } else { 1.0 };
        (samples, (sum > 0.0).then_some(share))
    }

    #[device]
    fn colours(&self, samples: [Self::Sample; 4]) -> [Vec3; 4] {
        let left = self.left.colour.apply(samples.map(|([left, _], _)| left));
        let mut colours = self.right.colour.apply(samples.map(|([_, right], _)| right));
        unroll!(4, |i| {
            colours[i] = match samples[i].1 {
                Some(share) => fused(left[i] - colours[i], share, colours[i]),
                None => Vec3::ZERO,
            };
        });
        colours
    }
}
