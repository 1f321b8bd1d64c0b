//! View: a perspective picture, as a virtual camera sees it, straight from two cameras' frames or from a
//! panorama.
//!
//! A thread makes four pixels of the view, a warp's width apart, or the four of an NV12 chroma sample, which
//! share what they have of a row in common. A pixel's ray is linear in its place. From two cameras, it goes through each camera's lens, as when a warp is made but in f32, and what both see is
//! blended: as a warp is feathered, or by the weights of a warp, which may have a seam. No panorama and no
//! planes lie in between: a frame of 1920×1080 writes 8 MB and reads the part of the frames that it shows.
//!
//! Samples are bilinear, of the frames as they are: a view far wider than its pixels shows them aliased.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2};
use shared_types::Rgba8;
use shared_types::nv12::{Nv12, Nv12Mut};
use shared_types::stitch::{Colour, MIN_WEIGHT};
use shared_types::texture::{Nv12Texture, Rgba8Texture};
use shared_types::view::{
    BLOCK, BLOCK_THREADS, Rays, ViewCamera, ViewCameras, ViewCanvas, ViewFrame, run, warp_pixels,
};
use shared_types::warp::Projection;
use shared_types::yuv::YuvToRgb;

use crate::camera::is_inside;
use crate::grade::{Fast, Grade, Linear};
use crate::lens::{Real, bend};
use crate::picture::{Panorama, Picture, sample_plane};
use crate::stitch::WeightedSum;
use crate::warp::edge_pixels;

/// The kernel that looks through two cameras, of one pair of formats.
macro_rules! cameras_kernel {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!("From two cameras: ", $formats, ".")]
        ///
        /// Blended by both weights, if they have the size of `canvas`; else, and where they say nothing,
        /// feathered. Pixels that no camera sees become opaque black. Nothing is written where an NV12
        /// picture's chroma is not half of its luma in size, or blocks are not as wide as [`BLOCK`].
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks))]
        pub fn $name(
            left: $picture,
            right: $picture,
            left_weight: View<f32>,
            right_weight: View<f32>,
            canvas: ViewCanvas,
            cameras: ViewCameras,
            frame: ViewFrame,
            out: $out,
        ) {
            let weights = Weights { planes: [left_weight, right_weight], canvas: &canvas };
            of_cameras(left, right, &weights, &cameras, &frame, out);
        }
    };
}

cameras_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_rgba8, 3);
cameras_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_nv12, 3);
cameras_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_nv12_rgba8, 3);
cameras_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_rgba8_nv12, 3);
cameras_kernel!("RGBA in a texture to RGBA", Rgba8Texture => ViewMut<Rgba8>, view_textured_rgba8, 4);
cameras_kernel!("NV12 in textures to NV12", Nv12Texture => Nv12Mut, view_textured_nv12, 4);
cameras_kernel!("NV12 in textures to RGBA", Nv12Texture => ViewMut<Rgba8>,
    view_textured_nv12_rgba8, 4);
cameras_kernel!("RGBA in a texture to NV12", Rgba8Texture => Nv12Mut, view_textured_rgba8_nv12, 4);

/// The kernel that looks at a panorama, of one pair of formats.
macro_rules! panorama_kernel {
    ($formats:literal, $picture:ty => $out:ty, $name:ident) => {
        #[doc = concat!("From a panorama: ", $formats, ".")]
        ///
        /// Pixels beside the panorama become opaque black. Nothing is written where the panorama is not of the
        /// canvas's size.
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $name(panorama: $picture, canvas: ViewCanvas, frame: ViewFrame, out: $out) {
            if !panorama.is_whole() || panorama.size() != canvas.size {
                return;
            }
            let colour = |at| match place_on(&canvas, at) {
                // SAFETY: inside of the panorama, which is whole.
                Some(place) => unsafe { panorama.sample(place.x, place.y, &frame.decode) },
                None => Vec3::ZERO,
            };
            each_pixel(&frame, colour, out);
        }
    };
}

panorama_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_panorama_rgba8);
panorama_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_panorama_nv12);
panorama_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_panorama_nv12_rgba8);
panorama_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_panorama_rgba8_nv12);

/// The first of the cells that a thread makes, [`BLOCK`]`[0]` apart.
#[inline(always)]
fn first_cell(cell: u32) -> UVec2 {
    let x = thread::block_idx_x() * (BLOCK[0] * run(cell)) + thread::thread_idx_x();
    uvec2(x, thread::index_2d().y)
}

/// Writes a thread's cells of the view: `colour` is that of a place as far from the view's middle, in levels.
#[inline(always)]
fn each_pixel<O: Panorama>(frame: &ViewFrame, colour: impl Fn(Vec2) -> Vec3, out: O) {
    let first = first_cell(O::CELL);
    let y = first.y * O::CELL;
    if y >= out.height() || !out.is_whole() || thread::block_dim_x() != BLOCK[0] {
        return;
    }
    let colour = |x: u32, y: u32| colour(vec2(x as f32, y as f32) - frame.middle);
    let mut i = 0;
    while i < run(O::CELL) {
        let x = (first.x + i * BLOCK[0]) * O::CELL;
        if x < out.width() {
            // SAFETY: the view is whole and the cell begins inside, as checked; it is this thread's.
            unsafe { out.store(x, y, colour, &frame.encode) };
        }
        i += 1;
    }
}

/// What every kernel that looks through cameras does.
#[inline(always)]
fn of_cameras<P: Picture, O: Panorama>(
    left: P,
    right: P,
    weights: &Weights<'_>,
    cameras: &ViewCameras,
    frame: &ViewFrame,
    out: O,
) {
    if !(left.is_whole() && right.is_whole()) {
        return;
    }
    let left = Source { picture: left, camera: &cameras.left };
    let right = Source { picture: right, camera: &cameras.right };
    let weighed = weights.are_there();
    let both = |at| {
        let (l, r) = (left.look(at), right.look(at));
        let mut counts = [l.margin, r.margin];
        if weighed && l.margin > 0.0 && r.margin > 0.0 {
            counts = weights.at(at).unwrap_or(counts);
        }
        let [a, b] = counts;
        let mut sum = WeightedSum::default();
        // As a warp's weights, whose sum is 1.
        let least = MIN_WEIGHT * (a + b);
        left.add(&l, a, least, &frame.decode, &mut sum);
        right.add(&r, b, least, &frame.decode, &mut sum);
        sum.levels(1.0)
    };
    // The branch is the same for a whole warp. Most of a view is seen by one camera, which saves half of the work.
    let middle = middle_of_warp(O::CELL) - frame.middle;
    match (may_see(&cameras.left, middle), may_see(&cameras.right, middle)) {
        (true, true) => each_pixel(frame, both, out),
        (true, false) => each_pixel(frame, |at| left.levels(at, &frame.decode), out),
        (false, true) => each_pixel(frame, |at| right.levels(at, &frame.decode), out),
        (false, false) => each_pixel(frame, |_| Vec3::ZERO, out),
    }
}

/// The middle of the pixels that a warp makes.
#[inline(always)]
fn middle_of_warp(cell: u32) -> Vec2 {
    let pixels = warp_pixels(cell);
    let first = uvec2(thread::block_idx_x() * pixels.x, thread::index_2d().y * cell);
    first.as_vec2() + (pixels - 1).as_vec2() * 0.5
}

/// Whether the camera may see something of what a warp makes, whose middle this is.
#[inline(always)]
fn may_see(camera: &ViewCamera, middle: Vec2) -> bool {
    let sees = |b: &Vec3| middle.x.mul_add(b.x, middle.y.mul_add(b.y, b.z)) >= 0.0;
    let [a, b, c, d] = &camera.bounds;
    sees(a) & sees(b) & sees(c) & sees(d)
}

/// A camera and its picture.
struct Source<'a, P> {
    picture: P,
    camera: &'a ViewCamera,
}

/// Where a camera's picture shows a ray.
struct Seen {
    place: Vec2,
    /// Distance to the picture's nearest edge as a fraction of its shorter side; 0 where it is not seen.
    margin: f32,
}

impl<P: Picture> Source<'_, P> {
    #[inline(always)]
    fn look(&self, at: Vec2) -> Seen {
        let margin = |place| edge_pixels(self.picture.size(), place) * self.camera.per_side;
        match self.place(at) {
            Some(place) => Seen { place, margin: margin(place) },
            None => Seen { place: Vec2::ZERO, margin: 0.0 },
        }
    }

    /// Where the lens throws the ray of a place in the view.
    #[inline(always)]
    fn place(&self, at: Vec2) -> Option<Vec2> {
        let ViewCamera { rays, focal, centre, distortion, limit, lens, .. } = self.camera;
        let [x, y] = bend(*lens, distortion, *limit, ray(rays, at))?;
        Some(vec2(x.mul_add(focal.x, centre.x), y.mul_add(focal.y, centre.y)))
    }

    /// What the camera sees, in levels; black where it sees nothing.
    #[inline(always)]
    fn levels(&self, at: Vec2, decode: &YuvToRgb) -> Vec3 {
        match self.place(at) {
            Some(place) if is_inside(self.picture.size(), place) => {
                // SAFETY: inside of the picture, which is whole.
                let levels = unsafe { self.picture.sample(place.x, place.y, decode) };
                graded(self.camera.colour, levels) * 255.0
            }
            _ => Vec3::ZERO,
        }
    }

    /// Adds what the camera sees, if its weight is over `least`.
    #[inline(always)]
    fn add(&self, seen: &Seen, weight: f32, least: f32, decode: &YuvToRgb, sum: &mut WeightedSum) {
        if seen.margin > 0.0 && weight > least {
            // SAFETY: a margin is inside of the picture, which is whole.
            let levels = unsafe { self.picture.sample(seen.place.x, seen.place.y, decode) };
            sum.add(weight, graded(self.camera.colour, levels));
        }
    }
}

/// The camera's colour. The branch is the same for all threads.
#[inline(always)]
fn graded(colour: Colour, levels: Vec3) -> Vec3 {
    if colour.gamma == 1.0 { Linear(colour).apply(levels) } else { Fast(colour).apply(levels) }
}

/// The ray of a place in the view.
#[inline(always)]
fn ray(Rays { middle, along, down }: &Rays, at: Vec2) -> [f32; 3] {
    let axis = |m: f32, a: f32, d: f32| at.x.mul_add(a, at.y.mul_add(d, m));
    [
        axis(middle.x, along.x, down.x),
        axis(middle.y, along.y, down.y),
        axis(middle.z, along.z, down.z),
    ]
}

/// How much the cameras count on a canvas.
struct Weights<'a> {
    planes: [View<f32>; 2],
    canvas: &'a ViewCanvas,
}

impl Weights<'_> {
    /// Whether they have the canvas's size.
    #[inline(always)]
    fn are_there(&self) -> bool {
        let there = |plane: &View<f32>| uvec2(plane.width(), plane.height()) == self.canvas.size;
        there(&self.planes[0]) && there(&self.planes[1])
    }

    /// What both say at a place in the view, unless that is nothing. They are there.
    #[inline(always)]
    fn at(&self, at: Vec2) -> Option<[f32; 2]> {
        let place = place_on(self.canvas, at)?;
        // SAFETY: inside of the canvas, whose size the planes have.
        let [a, b] =
            unsafe { [sample_plane(&self.planes[0], place), sample_plane(&self.planes[1], place)] };
        (a + b > 0.0).then_some([a, b])
    }
}

/// How far off a place on a canvas is, as a share of the canvas: so that ends that meet all round leave no
/// gap, whose rays f32 would have beside both.
const ROUNDING: f32 = 3e-7;

/// Where the canvas shows a ray, if it does: at a pixel, or up to half of one beside it.
#[inline(always)]
fn place_on(canvas: &ViewCanvas, at: Vec2) -> Option<Vec2> {
    let [x, y, z] = ray(&canvas.rays, at);
    let p = match canvas.projection {
        Projection::CYLINDRICAL => vec2(Real::atan2(x, z), y / x.mul_add(x, z * z).sqrt()),
        Projection::EQUIRECTANGULAR => {
            vec2(Real::atan2(x, z), Real::atan2(y, x.mul_add(x, z * z).sqrt()))
        }
        _ if z > 0.0 => vec2(x / z, y / z),
        _ => return None,
    };
    let place = p * canvas.scale + canvas.centre;
    let size = canvas.size.as_vec2();
    let reach = 0.5 + ROUNDING * size;
    // A NaN is nowhere.
    let inside = place.cmpge(-reach).all() && place.cmplt(size - 1.0 + reach).all();
    inside.then(|| place.clamp(Vec2::ZERO, (canvas.size - 1).as_vec2()))
}
