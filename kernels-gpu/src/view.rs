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
    BLOCK, BLOCK_THREADS, Rays, ViewCamera, ViewCanvas, ViewCanvasParams, ViewParams, run,
};
use shared_types::warp::Projection;
use shared_types::yuv::{RgbToYuv, YuvToRgb};

use crate::camera::is_inside;
use crate::grade::{Fast, Grade, Linear};
use crate::lens::{Real, bend};
use crate::picture::{Panorama, Picture, sample_plane};
use crate::stitch::WeightedSum;
use crate::warp::edge_pixels;

/// The kernels that look through two cameras, of one pair of formats.
macro_rules! camera_kernels {
    ($formats:literal, $picture:ty => $out:ty, $feather:ident, $weighed:ident) => {
        #[doc = concat!("From two cameras, feathered: ", $formats, ".")]
        ///
        /// Pixels that no camera sees become opaque black. Nothing is written where an NV12 picture's
        /// chroma is not half of its luma in size.
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $feather(left: $picture, right: $picture, params: ViewParams, out: $out) {
            of_cameras(left, right, |_, margins| margins, &params, out);
        }

        #[doc = concat!("From two cameras, by the weights of a warp: ", $formats, ".")]
        ///
        /// `left_weight` and `right_weight` have the size of `canvas`. Where they say nothing, as
        #[doc = concat!("[`", stringify!($feather), "`].")]
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $weighed(
            left: $picture,
            right: $picture,
            left_weight: View<f32>,
            right_weight: View<f32>,
            canvas: ViewCanvasParams,
            params: ViewParams,
            out: $out,
        ) {
            let planes = [left_weight, right_weight];
            let weigh = |at, margins| weights(&planes, &canvas.canvas, at, margins);
            of_cameras(left, right, weigh, &params, out);
        }
    };
}

camera_kernels!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_rgba8, view_weighed_rgba8);
camera_kernels!("NV12 to NV12", Nv12 => Nv12Mut, view_nv12, view_weighed_nv12);
camera_kernels!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_nv12_rgba8, view_weighed_nv12_rgba8);
camera_kernels!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_rgba8_nv12, view_weighed_rgba8_nv12);
camera_kernels!("RGBA in a texture to RGBA", Rgba8Texture => ViewMut<Rgba8>,
    view_textured_rgba8, view_textured_weighed_rgba8);
camera_kernels!("NV12 in textures to NV12", Nv12Texture => Nv12Mut,
    view_textured_nv12, view_textured_weighed_nv12);
camera_kernels!("NV12 in textures to RGBA", Nv12Texture => ViewMut<Rgba8>,
    view_textured_nv12_rgba8, view_textured_weighed_nv12_rgba8);
camera_kernels!("RGBA in a texture to NV12", Rgba8Texture => Nv12Mut,
    view_textured_rgba8_nv12, view_textured_weighed_rgba8_nv12);

/// The kernel that looks at a panorama, of one pair of formats.
macro_rules! panorama_kernel {
    ($formats:literal, $picture:ty => $out:ty, $panorama:ident) => {
        #[doc = concat!("From a panorama: ", $formats, ".")]
        ///
        /// Pixels beside the panorama become opaque black.
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $panorama(panorama: $picture, params: ViewCanvasParams, out: $out) {
            let ViewCanvasParams { canvas, middle, decode, encode } = &params;
            let fits = panorama.width() == canvas.size.x && panorama.height() == canvas.size.y;
            if !(panorama.is_whole() && fits) {
                return;
            }
            let colour = |at| match place_on(canvas, at) {
                // SAFETY: inside of the panorama, which is whole.
                Some(place) => unsafe { panorama.sample(place.x, place.y, decode) },
                None => Vec3::ZERO,
            };
            each_pixel(*middle, colour, encode, out);
        }
    };
}

panorama_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_panorama_rgba8);
panorama_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_panorama_nv12);
panorama_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_panorama_nv12_rgba8);
panorama_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_panorama_rgba8_nv12);

/// Writes a cell of the view: `colour` is that of a place as far from the view's middle, in levels.
#[inline(always)]
fn each_pixel<O: Panorama>(middle: Vec2, colour: impl Fn(Vec2) -> Vec3, encode: &RgbToYuv, out: O) {
    let y = thread::index_2d().y * O::CELL;
    if y >= out.height() || !out.is_whole() {
        return;
    }
    let colour = |x: u32, y: u32| colour(vec2(x as f32, y as f32) - middle);
    let run = run(O::CELL);
    let first = thread::block_idx_x() * (BLOCK[0] * run) + thread::thread_idx_x();
    let mut i = 0;
    while i < run {
        let x = (first + i * BLOCK[0]) * O::CELL;
        if x < out.width() {
            // SAFETY: the view is whole and the cell begins inside, as checked; it is this thread's.
            unsafe { out.store(x, y, colour, encode) };
        }
        i += 1;
    }
}

/// What every kernel that looks through cameras does. `weigh` is told the place and how far inside of each
/// picture it is, and says how much each counts.
#[inline(always)]
fn of_cameras<P: Picture, O: Panorama>(
    left: P,
    right: P,
    weigh: impl Fn(Vec2, [f32; 2]) -> [f32; 2],
    params: &ViewParams,
    out: O,
) {
    if !(left.is_whole() && right.is_whole()) {
        return;
    }
    let left = Source { picture: left, camera: &params.left };
    let right = Source { picture: right, camera: &params.right };
    let run = Run::of_warp::<O>(params.middle);
    let both = |at| {
        let (l, r) = (left.look(at), right.look(at));
        let [a, b] = weigh(at, [l.margin, r.margin]);
        let mut sum = WeightedSum::default();
        // As a warp's weights, whose sum is 1.
        let least = MIN_WEIGHT * (a + b);
        left.add(&l, a, least, &params.decode, &mut sum);
        right.add(&r, b, least, &params.decode, &mut sum);
        sum.levels(1.0)
    };
    // The branch is the same for a whole warp. Most of a view is seen by one camera, which saves half of the work.
    match (run.is_seen(&params.left), run.is_seen(&params.right)) {
        (true, true) => each_pixel(params.middle, both, &params.encode, out),
        (true, false) => {
            let colour = |at| left.levels(at, &params.decode);
            each_pixel(params.middle, colour, &params.encode, out);
        }
        (false, true) => {
            let colour = |at| right.levels(at, &params.decode);
            each_pixel(params.middle, colour, &params.encode, out);
        }
        (false, false) => each_pixel(params.middle, |_| Vec3::ZERO, &params.encode, out),
    }
}

/// The pixels that a warp makes: first and last, in pixels from the view's middle.
struct Run {
    first: Vec2,
    last: Vec2,
}

impl Run {
    #[inline(always)]
    fn of_warp<O: Panorama>(middle: Vec2) -> Self {
        let width = BLOCK[0] * run(O::CELL) * O::CELL;
        let (x, y) = (thread::block_idx_x() * width, thread::index_2d().y * O::CELL);
        let place = |x: u32, y: u32| vec2(x as f32, y as f32) - middle;
        Self { first: place(x, y), last: place(x + width - 1, y + O::CELL - 1) }
    }

    /// Whether the camera may see something of it: what is linear in the place is largest at a corner.
    #[inline(always)]
    fn is_seen(&self, camera: &ViewCamera) -> bool {
        camera.bounds.iter().all(|bound| {
            let (a, b) = (self.first * bound.truncate(), self.last * bound.truncate());
            let most = a.max(b);
            most.x + most.y + bound.z >= 0.0
        })
    }
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
        let margin = |place| edge_pixels(self.size(), place) * self.camera.per_side;
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

    /// The picture's own size, within which it is read.
    #[inline(always)]
    fn size(&self) -> UVec2 {
        uvec2(self.picture.width(), self.picture.height())
    }

    /// What the camera sees, in levels; black where it sees nothing.
    #[inline(always)]
    fn levels(&self, at: Vec2, decode: &YuvToRgb) -> Vec3 {
        match self.place(at) {
            Some(place) if is_inside(self.size(), place) => {
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

/// What both planes say at the place where the canvas shows a ray; the margins where they say nothing of
/// what the cameras see.
#[inline(always)]
fn weights(planes: &[View<f32>; 2], canvas: &ViewCanvas, at: Vec2, margins: [f32; 2]) -> [f32; 2] {
    let [left, right] = margins;
    // Only one sees it, or none.
    if !(left > 0.0 && right > 0.0) {
        return margins;
    }
    let Some(place) = place_on(canvas, at) else { return margins };
    let all_there =
        |plane: &View<f32>| plane.width() == canvas.size.x && plane.height() == canvas.size.y;
    if !planes.iter().all(all_there) {
        return margins;
    }
    // SAFETY: inside of the canvas, whose size the planes have.
    let [a, b] = unsafe { [sample_plane(&planes[0], place), sample_plane(&planes[1], place)] };
    if a + b > 0.0 { [a, b] } else { margins }
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
