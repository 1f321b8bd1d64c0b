//! Camera pictures in textures: four samples at a time, and prefetching for later tiles.

use crate::colour::grade;
use crate::io::fused;
use crate::stitch::mesh::ROWS_AHEAD;
use crate::stitch::mesh::patch::{column, offset_from_centre};
use crate::stitch::mesh::rank;
use crate::unroll::unroll;
use bytemuck::Pod;
use cuda_std::LINE_BYTES;
use cuda_std::prelude::*;
use glam::{Vec2, Vec3, Vec4, vec2, vec3};
use shared_types::stitch::mesh::{BLOCK_THREADS, Grading, Patch, TILE};
use shared_types::texture::{AnyTexture, Nv12Texture, P010Texture, Rgba8Texture};

/// Prefetches cache lines of the picture into L2, for the tile that is [`ROWS_AHEAD`] rows of tiles further down. Their
/// position is extrapolated from this tile's patch. The texture unit returns samples in order, so without prefetching,
/// one cache miss would delay all later samples.
///
/// The block computes the picture position of the later tile at 64 heights, half a panorama row apart, with two threads
/// per height. A thread does nothing if its picture row is the same as at the height above. Otherwise it prefetches a
/// cache line that starts inside the tile. The first thread takes the first such line. The second thread takes the
/// second line or, in NV12, the line of chroma. The neighbouring tile prefetches a line that starts left of the tile.
///
/// This covers all cache lines if a panorama row spans at most two picture rows and a tile at most two lines. The only
/// exceptions are lines that start in a neighbouring tile that does not prefetch, at the edge of a camera or in the
/// overlap.
#[device]
pub(super) fn fetch_ahead<P: TextureSampler>(picture: P, patch: &Patch) {
    const ROWS: u32 = BLOCK_THREADS / 2;
    const STEP: f32 = TILE as f32 / ROWS as f32;
    let (which, row) = (rank() / ROWS, rank() % ROWS);
    let y = (row as f32).mul_add(STEP, offset_from_centre(ROWS_AHEAD * TILE));
    let sides = (column(patch, offset_from_centre(0)), column(patch, offset_from_centre(TILE)));
    let (one, other) = (sides.0.at(y), sides.1.at(y));
    let (from, to) = (one.x.min(other.x), one.x.max(other.x));
    picture.fetch(which, RowSpan { from, to, row: one.y, above: sides.0.at(y - STEP).y });
}

/// The picture pixels that a tile covers at one height: the first and the last column, the row, and the row at the
/// height above. Coordinates are in pixels.
#[derive(Clone, Copy)]
pub(super) struct RowSpan {
    pub(super) from: f32,
    pub(super) to: f32,
    pub(super) row: f32,
    pub(super) above: f32,
}

impl RowSpan {
    /// Returns the corresponding span in the chroma plane.
    #[device]
    pub(super) fn half(self) -> Self {
        let Self { from, to, row, above } = self;
        Self { from: from * 0.5, to: to * 0.5, row: row * 0.5, above: above * 0.5 }
    }

    /// Prefetches the `which`-th cache line that starts in the span, counted from 0. Does nothing if the row is the
    /// same as the row above.
    #[device]
    pub(super) fn fetch<T: Pod>(self, rows: View<T>, which: u32) {
        let each = (LINE_BYTES / size_of::<T>()) as f32;
        let row = self.row.floor();
        let first = (self.from * (1.0 / each)).floor() + (which + 1) as f32;
        if row != self.above.floor() && first * each <= self.to {
            // Negative values become 0, which prefetches a valid line. Values beyond the picture are not prefetched.
            rows.prefetch((first * each) as u32, row as u32);
        }
    }
}

/// A picture in textures that is sampled at four positions at a time.
pub(super) trait TextureSampler: KernelArg {
    type Samples: Copy;

    /// Whether the picture has a chroma plane, so that pixels may share its samples.
    const CHROMA: bool;

    /// Takes samples at four texture coordinates. If `cell` is 2, the four pixels share one chroma sample.
    fn take(&self, places: &[Vec2; 4], cell: u32) -> Self::Samples;

    /// Converts samples to colours from 0 to 1. `factor` is that of the vignette.
    fn colours(&self, samples: Self::Samples, factor: f32, grading: &Grading) -> [Vec3; 4];

    /// Prefetches one of the two cache lines of a span into L2; `which` is 0 or 1.
    fn fetch(&self, which: u32, span: RowSpan);
}

impl TextureSampler for Rgba8Texture {
    type Samples = [Vec3; 4];

    const CHROMA: bool = false;

    #[device]
    fn take(&self, places: &[Vec2; 4], _: u32) -> [Vec3; 4] {
        let at = |place: Vec2| self.texels.read(place.x, place.y).truncate();
        [at(places[0]), at(places[1]), at(places[2]), at(places[3])]
    }

    #[device]
    fn colours(&self, samples: [Vec3; 4], factor: f32, grading: &Grading) -> [Vec3; 4] {
        let mut colours = samples;
        let (gain, offset) = (grading.gain() * factor, grading.offset * factor);
        unroll!(4, |i| {
            let Vec3 { x, y, z } = samples[i];
            colours[i] = vec3(
                x.mul_add(gain.x, offset.x),
                y.mul_add(gain.y, offset.y),
                z.mul_add(gain.z, offset.z),
            );
        });
        grade::powers(colours, grading.gamma)
    }

    #[device]
    fn fetch(&self, which: u32, span: RowSpan) {
        span.fetch(self.rows, which);
    }
}

/// Implements [`TextureSampler`] for NV12 and P010. The conversion of a [`Grading`] scales the samples, so only the memory
/// behind the textures differs.
macro_rules! yuv_texture {
    ($($texture:ty),+) => {$(
        impl TextureSampler for $texture {
            /// Four lumas, and four times Cb and Cr.
            type Samples = ([f32; 4], [Vec2; 4]);

            const CHROMA: bool = true;

            #[device]
            fn take(&self, places: &[Vec2; 4], cell: u32) -> Self::Samples {
                yuv_samples(self.y, self.uv, places, cell)
            }

            #[device]
            fn colours(
                &self,
                (lumas, chromas): Self::Samples,
                factor: f32,
                grading: &Grading,
            ) -> [Vec3; 4] {
                let mut samples = [Vec3::ZERO; 4];
                unroll!(4, |i| samples[i] = vec3(lumas[i], chromas[i].x, chromas[i].y));
                converted(samples, factor, grading)
            }

            /// Prefetches the line of luma (`which` is 0) or of chroma.
            #[device]
            fn fetch(&self, which: u32, span: RowSpan) {
                if which == 0 {
                    span.fetch(self.rows.y, 0);
                } else {
                    span.half().fetch(self.rows.uv, 0);
                }
            }
        }
    )+};
}

yuv_texture!(Nv12Texture, P010Texture);

/// A picture in RGBA or NV12. The branches are uniform.
impl TextureSampler for AnyTexture {
    type Samples = [Vec3; 4];

    const CHROMA: bool = true;

    #[device]
    fn take(&self, places: &[Vec2; 4], cell: u32) -> [Vec3; 4] {
        match self {
            Self::Rgba8(picture) => picture.take(places, cell),
            Self::Nv12(picture) => {
                let (lumas, chromas) = picture.take(places, cell);
                let mut samples = [Vec3::ZERO; 4];
                unroll!(4, |i| samples[i] = vec3(lumas[i], chromas[i].x, chromas[i].y));
                samples
            }
        }
    }

    #[device]
    fn colours(&self, samples: [Vec3; 4], factor: f32, grading: &Grading) -> [Vec3; 4] {
        converted(samples, factor, grading)
    }

    #[device]
    fn fetch(&self, which: u32, span: RowSpan) {
        match self {
            Self::Rgba8(picture) => picture.fetch(which, span),
            Self::Nv12(picture) => picture.fetch(which, span),
        }
    }
}

/// Takes four lumas, and four times Cb and Cr, from a luma and a chroma texture. If `cell` is 2, the four pixels share
/// one chroma sample.
#[device]
fn yuv_samples(
    y: Texture2d<Vec4>,
    uv: Texture2d<Vec4>,
    places: &[Vec2; 4],
    cell: u32,
) -> ([f32; 4], [Vec2; 4]) {
    let luma = |place: Vec2| y.read(place.x, place.y).x;
    let chroma = |place: Vec2| {
        let value = uv.read(place.x, place.y);
        vec2(value.x, value.y)
    };
    let [a, b, c, d] = *places;
    let lumas = [luma(a), luma(b), luma(c), luma(d)];
    // The shared sample is at the middle of the four pixels, `(a + d) / 2`; a chroma coordinate is half a luma
    // coordinate.
    let chromas = if cell == 2 {
        [chroma((a + d) * 0.25); 4]
    } else {
        [chroma(a * 0.5), chroma(b * 0.5), chroma(c * 0.5), chroma(d * 0.5)]
    };
    (lumas, chromas)
}

/// Converts four samples to colours from 0 to 1 with the whole matrix of a [`Grading`].
#[device]
fn converted(samples: [Vec3; 4], factor: f32, grading: &Grading) -> [Vec3; 4] {
    let Grading { first, second, third, offset, gamma, .. } = *grading;
    let (first, second, third) = (first * factor, second * factor, third * factor);
    let offset = offset * factor;
    let mut colours = samples;
    unroll!(4, |i| {
        let Vec3 { x, y, z } = samples[i];
        let base = fused(second, y, fused(third, z, offset));
        colours[i] = fused(first, x, base);
    });
    grade::powers(colours, gamma)
}
