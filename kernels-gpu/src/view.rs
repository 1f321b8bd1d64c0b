//! View: a perspective picture, as a virtual camera sees it, straight from two cameras' frames or from a
//! panorama.
//!
//! A block makes a tile of the view, a thread eight pixels of it: of one column, or four of two columns where chroma
//! is shared. A pixel's ray is linear in its place. From two cameras, it goes through each camera's lens, as when a
//! warp is made but in f32, and what both see is blended: as a warp is feathered, or by the weights of a warp, which
//! may have a seam. No panorama and no planes lie in between: a frame of 1920×1080 writes 8 MB and reads the part of
//! the frames that it shows.
//!
//! Lenses are worked out at a few places of a tile, and [interpolated](crate::patch) between them where that is exact
//! enough; and where one camera alone can see a tile, the other is left out. Eight samples are on their way at a time.
//!
//! Samples are bilinear, of the frames as they are: a view far wider than its pixels shows them aliased.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2};
use shared_types::Rgba8;
use shared_types::nv12::{Nv12, Nv12Mut};
use shared_types::stitch::{Colour, MIN_WEIGHT};
use shared_types::texture::{Nv12Texture, Rgba8Texture};
use shared_types::view::{
    BLOCK, BLOCK_THREADS, RUN, Rays, ViewCamera, ViewCameras, ViewCanvas, ViewFrame, tile,
};
use shared_types::warp::Projection;
use shared_types::yuv::YuvToRgb;

use crate::camera::is_inside;
use crate::grade::{Scaled, fused};
use crate::lens::{Real, bend};
use crate::patch::{Line, Patches};
use crate::picture::{Panorama, Picture, sample_plane};
use crate::tile::each_result;

/// The kernel that looks through two cameras, of one pair of formats.
macro_rules! cameras_kernel {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!("From two cameras: ", $formats, ".")]
        ///
        /// Blended by both weights, if they have the size of `canvas`; else, and where they say nothing,
        /// feathered. Pixels that no camera sees become opaque black. Nothing is written where an NV12
        /// picture's chroma is not half of its luma in size, a picture is empty, or blocks are not of [`BLOCK`].
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks), barriers(1))]
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

cameras_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_rgba8, 5);
cameras_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_nv12, 3);
cameras_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_nv12_rgba8, 4);
cameras_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_rgba8_nv12, 4);
cameras_kernel!("RGBA in a texture to RGBA", Rgba8Texture => ViewMut<Rgba8>, view_textured_rgba8, 8);
cameras_kernel!("NV12 in textures to NV12", Nv12Texture => Nv12Mut, view_textured_nv12, 5);
cameras_kernel!("NV12 in textures to RGBA", Nv12Texture => ViewMut<Rgba8>,
    view_textured_nv12_rgba8, 8);
cameras_kernel!("RGBA in a texture to NV12", Rgba8Texture => Nv12Mut, view_textured_rgba8_nv12, 6);

/// The kernel that looks at a panorama, of one pair of formats.
macro_rules! panorama_kernel {
    ($formats:literal, $picture:ty => $out:ty, $name:ident) => {
        #[doc = concat!("From a panorama: ", $formats, ".")]
        ///
        /// Pixels beside the panorama become opaque black. Nothing is written where the panorama is not of the
        /// canvas's size or empty, or blocks are not of [`BLOCK`].
        #[kernel(launch_bounds(BLOCK_THREADS, 6), barriers(1))]
        pub fn $name(panorama: $picture, canvas: ViewCanvas, frame: ViewFrame, out: $out) {
            let tile = Tile::new(&[panorama], &frame, out);
            let tile = tile.filter(|_| panorama.size() == canvas.size);
            let patches = Patches::new();
            if let Some(tile) = &tile
                && thread::thread_idx_y() == 0
            {
                // SAFETY: one warp, whole; the barrier follows.
                unsafe { patches.make(0, |share| spread_on(&canvas, tile.place(share))) };
            }
            thread::sync_threads();
            thread::wait_for_kernel_before();
            let Some(tile) = tile else { return };
            // SAFETY: made, behind the barrier.
            let patched = unsafe { patches.fits(0).then(|| tile.columns(patches, 0)) };
            // Each branch is the same for the whole block.
            match patched {
                Some(map) => {
                    tile.each_four(&Flat { panorama, canvas: &canvas, frame: &frame, map })
                }
                None => {
                    let map = Spread(&canvas);
                    tile.each(&Flat { panorama, canvas: &canvas, frame: &frame, map });
                }
            }
        }
    };
}

panorama_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_panorama_rgba8);
panorama_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_panorama_nv12);
panorama_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_panorama_nv12_rgba8);
panorama_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_panorama_rgba8_nv12);

/// A pixel of a thread: which of its columns it is in, which row of the tile from 0 to 2, and how far from the view's
/// middle.
#[derive(Clone, Copy)]
struct Pixel {
    column: u32,
    row: f32,
    at: Vec2,
}

/// What a block makes of a view.
struct Tile<O> {
    frame: ViewFrame,
    out: O,
    /// Its first pixel.
    corner: UVec2,
}

/// Interpolated places along a thread's columns.
#[derive(Clone, Copy)]
struct Columns([Line; 2]);

impl Columns {
    #[inline(always)]
    fn at(&self, pixel: Pixel) -> Vec2 {
        // Where the column is known when compiling, so is this choice.
        if pixel.column == 0 { self.0[0].at(pixel.row) } else { self.0[1].at(pixel.row) }
    }
}

impl<O: Panorama> Tile<O> {
    /// Columns and rows.
    const SIZE: UVec2 = tile(O::CELL);

    /// `None` where nothing is to be written: for all threads of a block or for none.
    #[inline(always)]
    fn new<P: Picture>(pictures: &[P], frame: &ViewFrame, out: O) -> Option<Self> {
        let sound = |picture: &P| picture.is_whole() && picture.size().min_element() > 0;
        let shape = thread::block_dim_x() == BLOCK[0] && thread::block_dim_y() == BLOCK[1];
        let corner = uvec2(thread::block_idx_x(), thread::block_idx_y()) * Self::SIZE;
        let inside = corner.x < out.width() && corner.y < out.height();
        (pictures.iter().all(sound) && shape && inside && out.is_whole()).then_some(Self {
            frame: *frame,
            out,
            corner,
        })
    }

    /// How far a place of the tile, from 0 to 2, is from the view's middle.
    #[inline(always)]
    fn place(&self, share: Vec2) -> Vec2 {
        let half = 0.5 * Self::SIZE.as_vec2();
        vec2(
            share.x.mul_add(half.x, self.corner.x as f32) - self.frame.middle.x,
            share.y.mul_add(half.y, self.corner.y as f32) - self.frame.middle.y,
        )
    }

    /// Whether the camera may see something of the tile.
    #[inline(always)]
    fn may_be_seen(&self, camera: &ViewCamera) -> bool {
        let middle = self.place(Vec2::splat(1.0)) - 0.5;
        let sees = |b: &Vec3| middle.x.mul_add(b.x, middle.y.mul_add(b.y, b.z)) >= 0.0;
        let [a, b, c, d] = &camera.bounds;
        sees(a) & sees(b) & sees(c) & sees(d)
    }

    /// Of the tile's pixels along x: the `column`-th of this thread.
    #[inline(always)]
    fn x(column: u32) -> u32 {
        thread::thread_idx_x() * O::FOUR.x + column
    }

    /// A patch along the thread's columns.
    ///
    /// # Safety
    /// It was made, and a barrier followed.
    #[inline(always)]
    unsafe fn columns(&self, patches: Patches, which: u32) -> Columns {
        let share = |column| Self::x(column) as f32 * (2.0 / Self::SIZE.x as f32);
        // SAFETY: as the caller vouches. Where there is one column, the other is not used.
        unsafe { Columns([patches.line(which, share(0)), patches.line(which, share(1))]) }
    }

    /// Writes the thread's pixels, four at a time. All samples, or those of four, are asked for before the first one is
    /// used.
    #[inline(always)]
    fn each_four<S: Sampler>(&self, sampler: &S) {
        const { assert!(RUN == 8) };
        let x = self.corner.x + thread::thread_idx_x() * O::FOUR.x;
        let first = thread::thread_idx_y() * (RUN / O::FOUR.x);
        let second = first + O::FOUR.y;
        let [inside, all_inside] = [first, second].map(|y| self.corner.y + y < self.out.height());
        if x >= self.out.width() || !inside {
            return;
        }
        let ahead = S::AHEAD.then(|| self.four(sampler, second));
        // SAFETY: the view is whole and `(x, y)` inside, as checked; the four are this thread's.
        unsafe {
            let colours = sampler.colours(self.four(sampler, first));
            self.out.store_four(x, self.corner.y + first, colours, &self.frame.encode, false);
            if all_inside {
                let samples = match ahead {
                    Some(samples) => samples,
                    None => self.four(sampler, second),
                };
                let colours = sampler.colours(samples);
                self.out.store_four(x, self.corner.y + second, colours, &self.frame.encode, false);
            }
        }
    }

    /// Samples of the thread's four pixels from a row of the tile on.
    #[inline(always)]
    fn four<S: Sampler>(&self, sampler: &S, y: u32) -> [S::Sample; 4] {
        [
            sampler.sample(self.pixel(y, 0)),
            sampler.sample(self.pixel(y, 1)),
            sampler.sample(self.pixel(y, 2)),
            sampler.sample(self.pixel(y, 3)),
        ]
    }

    /// The same, one pixel after the other: slower, with few values at a time.
    #[inline(always)]
    fn each<S: Sampler>(&self, sampler: &S) {
        let x = self.corner.x + thread::thread_idx_x() * O::FOUR.x;
        if x >= self.out.width() {
            return;
        }
        let rows = RUN / O::FOUR.x;
        let first = thread::thread_idx_y() * rows;
        let mut y = first;
        while y < first + rows && self.corner.y + y < self.out.height() {
            let colour = |px: u32, py: u32| {
                let sample = sampler.sample(self.pixel_at(px - x, py - self.corner.y));
                sampler.colours([sample; 4])[0] * 255.0
            };
            // SAFETY: the view is whole and `(x, y)` inside, as checked; the cell is this thread's.
            unsafe { self.out.store(x, self.corner.y + y, colour, &self.frame.encode) };
            y += O::CELL;
        }
    }

    /// The `i`-th of the thread's four pixels from a row of the tile on; some may lie beyond the view.
    #[inline(always)]
    fn pixel(&self, y: u32, i: u32) -> Pixel {
        self.pixel_at(i % O::FOUR.x, y + i / O::FOUR.x)
    }

    /// A pixel of one of the thread's columns and a row of the tile.
    #[inline(always)]
    fn pixel_at(&self, column: u32, y: u32) -> Pixel {
        let place = (self.corner + uvec2(Self::x(column), y)).as_vec2();
        let row = y as f32 * (2.0 / Self::SIZE.y as f32);
        Pixel { column, row, at: place - self.frame.middle }
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
    let tile = Tile::new(&[left, right], frame, out);
    let sees = |camera| tile.as_ref().is_some_and(|tile| tile.may_be_seen(camera));
    let (sees_left, sees_right) = (sees(&cameras.left), sees(&cameras.right));
    let weighed = weights.are_there() && sees_left && sees_right;
    let patches = Patches::new();
    if let Some(tile) = &tile {
        // SAFETY: a warp each, whole; the barrier follows.
        unsafe {
            match thread::thread_idx_y() {
                LEFT if sees_left => patches.make(LEFT, |at| place(&cameras.left, tile.place(at))),
                RIGHT if sees_right => {
                    patches.make(RIGHT, |at| place(&cameras.right, tile.place(at)));
                }
                CANVAS if weighed => {
                    patches.make(CANVAS, |at| spread_on(weights.canvas, tile.place(at)));
                }
                _ => {}
            }
        }
    }
    thread::sync_threads();
    // Lenses may be worked out while the kernel before still runs, pictures read and written after it.
    thread::wait_for_kernel_before();
    let Some(tile) = tile else { return };
    // SAFETY: those that are asked for were made, behind the barrier.
    let fits = |which, made: bool| unsafe { !made || patches.fits(which) };
    let fit = fits(LEFT, sees_left) && fits(RIGHT, sees_right) && fits(CANVAS, weighed);
    // SAFETY: as above.
    let columns = |which| unsafe { tile.columns(patches, which) };
    let left = Eye::new(left, &cameras.left, &frame.decode);
    let right = Eye::new(right, &cameras.right, &frame.decode);
    // Each branch is the same for the whole block.
    if !fit {
        let maps = (Through(&cameras.left), Through(&cameras.right));
        let counts = weighed.then_some((weights, Spread(weights.canvas)));
        tile.each(&Both { left, right, maps, counts });
    } else if weighed {
        let maps = (columns(LEFT), columns(RIGHT));
        tile.each(&Both { left, right, maps, counts: Some((weights, columns(CANVAS))) });
    } else if sees_left && sees_right {
        let maps = (columns(LEFT), columns(RIGHT));
        tile.each_four(&Both { left, right, maps, counts: None::<(_, Columns)> });
    } else if sees_left {
        // Not one branch for either camera: a texture that is chosen is read warp by warp in a loop.
        tile.each_four(&One { eye: left, map: columns(LEFT) });
    } else if sees_right {
        tile.each_four(&One { eye: right, map: columns(RIGHT) });
    } else {
        tile.each_four(&Nothing);
    }
}

/// The patches of a block, and the warp that makes each.
const LEFT: u32 = 0;
const RIGHT: u32 = 1;
const CANVAS: u32 = 2;

/// Where something lies at the pixels of a tile.
trait Map {
    fn place(&self, pixel: Pixel) -> Option<Vec2>;
}

impl Map for Columns {
    #[inline(always)]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        Some(self.at(pixel))
    }
}

/// Through a camera's lens, without interpolation.
struct Through<'a>(&'a ViewCamera);

impl Map for Through<'_> {
    #[inline(always)]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        place(self.0, pixel.at)
    }
}

/// On a canvas without edges, without interpolation.
struct Spread<'a>(&'a ViewCanvas);

impl Map for Spread<'_> {
    #[inline(always)]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        spread_on(self.0, pixel.at)
    }
}

/// What a pixel is made of, in two steps, so that the first one of four pixels comes before the second.
trait Sampler {
    type Sample: Copy;

    /// Whether there are registers for samples of all the thread's pixels.
    const AHEAD: bool;

    fn sample(&self, pixel: Pixel) -> Self::Sample;

    /// From 0 to 1.
    fn colours(&self, samples: [Self::Sample; 4]) -> [Vec3; 4];
}

/// Black.
struct Nothing;

impl Sampler for Nothing {
    type Sample = ();

    const AHEAD: bool = false;

    #[inline(always)]
    fn sample(&self, _: Pixel) {}

    #[inline(always)]
    fn colours(&self, _: [(); 4]) -> [Vec3; 4] {
        [Vec3::ZERO; 4]
    }
}

/// A panorama.
struct Flat<'a, P, M> {
    panorama: P,
    canvas: &'a ViewCanvas,
    frame: &'a ViewFrame,
    map: M,
}

impl<P: Picture, M: Map> Sampler for Flat<'_, P, M> {
    type Sample = Vec3;

    const AHEAD: bool = false;

    #[inline(always)]
    fn sample(&self, pixel: Pixel) -> Vec3 {
        let place = self.map.place(pixel).and_then(|place| confined(self.canvas, place));
        // SAFETY: the panorama is whole and not empty, as the tile has checked.
        let sample =
            unsafe { self.panorama.sample_near(place.unwrap_or_default(), &self.frame.decode) };
        if place.is_some() { sample } else { Vec3::ZERO }
    }

    #[inline(always)]
    fn colours(&self, samples: [Vec3; 4]) -> [Vec3; 4] {
        Scaled::new(Colour::IDENTITY, P::WHITE).apply(samples)
    }
}

/// One camera, where it alone can see.
struct One<'a, P> {
    eye: Eye<'a, P>,
    map: Columns,
}

impl<P: Picture> Sampler for One<'_, P> {
    /// A sample, and whether it is of the picture.
    type Sample = (Vec3, bool);

    const AHEAD: bool = true;

    #[inline(always)]
    fn sample(&self, pixel: Pixel) -> (Vec3, bool) {
        let place = self.map.at(pixel);
        (self.eye.sample(place), is_inside(self.eye.picture.size(), place))
    }

    #[inline(always)]
    fn colours(&self, samples: [(Vec3, bool); 4]) -> [Vec3; 4] {
        let mut colours = self.eye.colour.apply(samples.map(|(sample, _)| sample));
        each_result!(4, |i| {
            if !samples[i].1 {
                colours[i] = Vec3::ZERO;
            }
        });
        colours
    }
}

/// Two cameras, by the weights of a warp or feathered.
struct Both<'a, P, M, C> {
    left: Eye<'a, P>,
    right: Eye<'a, P>,
    maps: (M, M),
    counts: Option<(&'a Weights<'a>, C)>,
}

impl<P: Picture, M: Map, C: Map> Both<'_, P, M, C> {
    /// How much each camera counts where their margins are these.
    #[inline(always)]
    fn counts(&self, pixel: Pixel, margins: [f32; 2]) -> [f32; 2] {
        if let Some((weights, map)) = &self.counts
            && margins[0] > 0.0
            && margins[1] > 0.0
            && let Some(place) = map.place(pixel)
            && let Some(place) = confined(weights.canvas, place)
        {
            return weights.at(place).unwrap_or(margins);
        }
        margins
    }
}

impl<P: Picture, M: Map, C: Map> Sampler for Both<'_, P, M, C> {
    /// Samples, and the left one's share; `None` where neither counts.
    type Sample = ([Vec3; 2], Option<f32>);

    const AHEAD: bool = false;

    #[inline(always)]
    fn sample(&self, pixel: Pixel) -> Self::Sample {
        let (l, r) = (self.maps.0.place(pixel), self.maps.1.place(pixel));
        let [a, b] = self.counts(pixel, [self.left.margin(l), self.right.margin(r)]);
        let samples =
            [self.left.sample(l.unwrap_or_default()), self.right.sample(r.unwrap_or_default())];
        let share = a * (a + b).fast_recip();
        // As of a warp's weights, whose sum is 1, too small ones are none.
        let share = if share > MIN_WEIGHT { share } else { 0.0 };
        let share = if share < 1.0 - MIN_WEIGHT { share } else { 1.0 };
        (samples, (a + b > 0.0).then_some(share))
    }

    #[inline(always)]
    fn colours(&self, samples: [Self::Sample; 4]) -> [Vec3; 4] {
        let left = self.left.colour.apply(samples.map(|([left, _], _)| left));
        let mut colours = self.right.colour.apply(samples.map(|([_, right], _)| right));
        each_result!(4, |i| {
            colours[i] = match samples[i].1 {
                Some(share) => fused(left[i] - colours[i], share, colours[i]),
                None => Vec3::ZERO,
            };
        });
        colours
    }
}

/// Where a camera's lens throws the ray of a place in the view.
#[inline(always)]
fn place(camera: &ViewCamera, at: Vec2) -> Option<Vec2> {
    let ViewCamera { rays, focal, centre, distortion, limit, lens, .. } = camera;
    let [x, y] = bend(*lens, distortion, *limit, ray(rays, at))?;
    let place = vec2(x.mul_add(focal.x, centre.x), y.mul_add(focal.y, centre.y));
    // A ray almost in the picture plane overflows.
    place.is_finite().then_some(place)
}

/// What of a camera a pixel needs.
#[derive(Clone, Copy)]
struct Eye<'a, P> {
    picture: P,
    colour: Scaled,
    /// 1 / the shorter side of the picture.
    per_side: f32,
    decode: &'a YuvToRgb,
}

impl<'a, P: Picture> Eye<'a, P> {
    #[inline(always)]
    fn new(picture: P, camera: &ViewCamera, decode: &'a YuvToRgb) -> Self {
        let colour = Scaled::new(camera.colour, P::WHITE);
        Self { picture, colour, per_side: camera.per_side, decode }
    }

    /// How far a place, of numbers, is within the picture, as a fraction of its shorter side; 0 where it is not seen.
    /// As a warp's weight, edges being at −1 and at the size.
    #[inline(always)]
    fn margin(&self, place: Option<Vec2>) -> f32 {
        let Some(place) = place else { return 0.0 };
        let far = self.picture.size().as_vec2() - place;
        let (near, far) = (place.x.min(place.y), far.x.min(far.y));
        if near >= 0.0 && far > 0.0 { (near + 1.0).min(far) * self.per_side } else { 0.0 }
    }

    /// A sample at a place, or at the edge next to it.
    #[inline(always)]
    fn sample(&self, place: Vec2) -> Vec3 {
        // SAFETY: the picture is whole and not empty, as the tile has checked.
        unsafe { self.picture.sample_near(place, self.decode) }
    }
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

    /// What both say at a place of the canvas, unless that is nothing. They are there.
    #[inline(always)]
    fn at(&self, place: Vec2) -> Option<[f32; 2]> {
        // SAFETY: confined to the canvas, whose size the planes have.
        let [a, b] =
            unsafe { [sample_plane(&self.planes[0], place), sample_plane(&self.planes[1], place)] };
        (a + b > 0.0).then_some([a, b])
    }
}

/// How far off a place on a canvas is, as a share of the canvas: so that ends that meet all round leave no
/// gap, whose rays f32 would have beside both.
const ROUNDING: f32 = 3e-7;

/// Where a ray would meet the canvas if that had no edges.
#[inline(always)]
fn spread_on(canvas: &ViewCanvas, at: Vec2) -> Option<Vec2> {
    let [x, y, z] = ray(&canvas.rays, at);
    let p = match canvas.projection {
        Projection::CYLINDRICAL => vec2(Real::atan2(x, z), y / x.mul_add(x, z * z).sqrt()),
        Projection::EQUIRECTANGULAR => {
            vec2(Real::atan2(x, z), Real::atan2(y, x.mul_add(x, z * z).sqrt()))
        }
        _ if z > 0.0 => vec2(x / z, y / z),
        _ => return None,
    };
    Some(p * canvas.scale + canvas.centre)
}

/// The canvas's pixel at a place up to half of one beside it.
#[inline(always)]
fn confined(canvas: &ViewCanvas, place: Vec2) -> Option<Vec2> {
    let size = canvas.size.as_vec2();
    let reach = 0.5 + ROUNDING * size;
    // A NaN is nowhere.
    let inside = place.cmpge(-reach).all() && place.cmplt(size - 1.0 + reach).all();
    inside.then(|| place.clamp(Vec2::ZERO, (canvas.size - 1).as_vec2()))
}
