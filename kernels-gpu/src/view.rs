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

use crate::grade::{Scaled, fused};
use crate::lens::{Real, bend};
use crate::patch::{Fit, Line, Map, Patches};
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

cameras_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_rgba8, 4);
cameras_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_nv12, 3);
cameras_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_nv12_rgba8, 4);
cameras_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_rgba8_nv12, 4);
cameras_kernel!("RGBA in a texture to RGBA", Rgba8Texture => ViewMut<Rgba8>, view_textured_rgba8, 8);
cameras_kernel!("NV12 in textures to NV12", Nv12Texture => Nv12Mut, view_textured_nv12, 6);
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
                unsafe { tile.make(patches, 0, &Spread(&canvas), true) };
            }
            thread::sync_threads();
            thread::wait_for_kernel_before();
            let Some(tile) = tile else { return };
            // Each branch is the same for the whole block.
            // SAFETY: the patch was made, behind the barrier.
            unsafe {
                if patches.fit(0) == Fit::Whole {
                    let map = tile.columns(patches, 0);
                    tile.each_four(&Flat { panorama, canvas: &canvas, frame: &frame, map });
                } else {
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

/// A pixel of a thread: which of its columns it is in, which row of the tile, and how far from the view's middle.
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

    /// How far a place of the tile is from the view's middle.
    #[inline(always)]
    fn place(&self, at: Vec2) -> Vec2 {
        self.corner.as_vec2() + at - self.frame.middle
    }

    /// Whether the camera may see something of the tile.
    #[inline(always)]
    fn may_be_seen(&self, camera: &ViewCamera) -> bool {
        let middle = self.place(0.5 * Self::SIZE.as_vec2() - 0.5);
        let sees = |b: &Vec3| middle.x.mul_add(b.x, middle.y.mul_add(b.y, b.z)) >= 0.0;
        let [a, b, c, d] = &camera.bounds;
        sees(a) & sees(b) & sees(c) & sees(d)
    }

    /// Of the tile's pixels along x: the `column`-th of this thread.
    #[inline(always)]
    fn x(column: u32) -> u32 {
        thread::thread_idx_x() * O::FOUR.x + column
    }

    /// Makes the tile's patch of a map, if it is wanted.
    ///
    /// # Safety
    /// As [`Patches::make`].
    #[inline(always)]
    unsafe fn make(&self, patches: Patches, which: u32, map: &impl Map, wanted: bool) {
        // SAFETY: as the caller vouches.
        unsafe {
            if wanted {
                patches.make(which, map, self.place(Vec2::ZERO), Self::SIZE);
            } else {
                patches.set_fit(which, Fit::Unused);
            }
        }
    }

    /// A patch along the thread's columns.
    ///
    /// # Safety
    /// It was made, and a barrier followed.
    #[inline(always)]
    unsafe fn columns(&self, patches: Patches, which: u32) -> Columns {
        let (first, second) = (Self::x(0) as f32, Self::x(1) as f32);
        // SAFETY: as the caller vouches. Where there is one column, the other is not used.
        unsafe { Columns([patches.line(which, first), patches.line(which, second)]) }
    }

    /// Writes the thread's pixels, four at a time. All samples, or those of four, are asked for before the first one is
    /// used.
    #[inline(always)]
    fn each_four<S: Sampler>(&self, sampler: &S) {
        const { assert!(RUN == 8) };
        let x = self.corner.x + Self::x(0);
        let y = self.corner.y + Self::first_row();
        let [inside, all_inside] = [y, y + O::FOUR.y].map(|y| y < self.out.height());
        if x >= self.out.width() || !inside {
            return;
        }
        let ahead = S::AHEAD.then(|| self.four(sampler, O::FOUR.y));
        // SAFETY: the view is whole and `(x, y)` inside, as checked; the four are this thread's.
        unsafe {
            let colours = sampler.colours(self.four(sampler, 0));
            self.out.store_four(x, y, colours, &self.frame.encode, false);
            if all_inside {
                let samples = match ahead {
                    Some(samples) => samples,
                    None => self.four(sampler, O::FOUR.y),
                };
                let colours = sampler.colours(samples);
                self.out.store_four(x, y + O::FOUR.y, colours, &self.frame.encode, false);
            }
        }
    }

    /// Of the tile's rows: the first of this thread.
    #[inline(always)]
    fn first_row() -> u32 {
        thread::thread_idx_y() * (RUN / O::FOUR.x)
    }

    /// Samples of four of the thread's pixels, from the `from`-th of its rows on.
    #[inline(always)]
    fn four<S: Sampler>(&self, sampler: &S, from: u32) -> [S::Sample; 4] {
        [
            sampler.sample(self.of_four(from, 0)),
            sampler.sample(self.of_four(from, 1)),
            sampler.sample(self.of_four(from, 2)),
            sampler.sample(self.of_four(from, 3)),
        ]
    }

    /// The `i`-th of them.
    #[inline(always)]
    fn of_four(&self, from: u32, i: u32) -> Pixel {
        self.pixel(i % O::FOUR.x, from + i / O::FOUR.x)
    }

    /// The same, one pixel after the other: slower, with few values at a time.
    #[inline(always)]
    fn each<S: Sampler>(&self, sampler: &S) {
        let x = self.corner.x + Self::x(0);
        if x >= self.out.width() {
            return;
        }
        let first = self.corner.y + Self::first_row();
        let mut row = 0;
        while row < RUN / O::FOUR.x && first + row < self.out.height() {
            let colour = |px: u32, py: u32| {
                let sample = sampler.sample(self.pixel(px - x, py - first));
                sampler.colours([sample; 4])[0] * 255.0
            };
            // SAFETY: the view is whole and `(x, y)` inside, as checked; the cell is this thread's.
            unsafe { self.out.store(x, first + row, colour, &self.frame.encode) };
            row += O::CELL;
        }
    }

    /// The pixel in one of the thread's columns and one of its rows; it may lie beyond the view.
    #[inline(always)]
    fn pixel(&self, column: u32, of_thread: u32) -> Pixel {
        let in_view = self.corner + uvec2(Self::x(column), Self::first_row() + of_thread);
        // The thread's first row is converted once, not the row of each pixel.
        let row = Self::first_row() as f32 + of_thread as f32;
        Pixel { column, row, at: in_view.as_vec2() - self.frame.middle }
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
    let patches = Patches::new();
    let left_lens = Through { camera: &cameras.left, middle: P::MIDDLE };
    let right_lens = Through { camera: &cameras.right, middle: P::MIDDLE };
    if let Some(tile) = &tile {
        let sees_left = || tile.may_be_seen(&cameras.left);
        let sees_right = || tile.may_be_seen(&cameras.right);
        // SAFETY: a warp each, whole; the barrier follows.
        unsafe {
            match thread::thread_idx_y() {
                LEFT => tile.make(patches, LEFT, &left_lens, sees_left()),
                RIGHT => tile.make(patches, RIGHT, &right_lens, sees_right()),
                CANVAS => {
                    let weighed = weights.are_there() && sees_left() && sees_right();
                    tile.make(patches, CANVAS, &Spread(weights.canvas), weighed);
                }
                _ => {}
            }
        }
    }
    thread::sync_threads();
    // Lenses may be worked out while the kernel before still runs, pictures read and written after it.
    thread::wait_for_kernel_before();
    let Some(tile) = tile else { return };
    // SAFETY: it was said of all, behind the barrier.
    let (left_fit, right_fit, canvas_fit) =
        unsafe { (patches.fit(LEFT), patches.fit(RIGHT), patches.fit(CANVAS)) };
    let off = left_fit == Fit::Off || right_fit == Fit::Off || canvas_fit == Fit::Off;
    let (sees_left, sees_right) = (left_fit != Fit::Unused, right_fit != Fit::Unused);
    let weighed = canvas_fit != Fit::Unused;
    let left = Eye::new(left, &cameras.left, &frame.decode);
    let right = Eye::new(right, &cameras.right, &frame.decode);
    // Each branch is the same for the whole block.
    // SAFETY: those that are asked for were made: the canvas's only where, by the same sums, both cameras' were.
    unsafe {
        if off {
            let maps = (left_lens, right_lens);
            let counts = weighed.then_some((weights, Spread(weights.canvas)));
            tile.each(&Both { left, right, maps, counts });
        } else if weighed {
            let maps = (tile.columns(patches, LEFT), tile.columns(patches, RIGHT));
            tile.each(&Both {
                left,
                right,
                maps,
                counts: Some((weights, tile.columns(patches, CANVAS))),
            });
        } else if sees_left && sees_right {
            let maps = (tile.columns(patches, LEFT), tile.columns(patches, RIGHT));
            tile.each_four(&Both { left, right, maps, counts: None::<(_, Columns)> });
        } else if sees_left {
            // Not one branch for either camera: a texture that is chosen is read warp by warp in a loop.
            tile.each_four(&One { eye: left, map: tile.columns(patches, LEFT) });
        } else if sees_right {
            tile.each_four(&One { eye: right, map: tile.columns(patches, RIGHT) });
        } else {
            tile.each_four(&Nothing);
        }
    }
}

/// The patches of a block, and the warp that makes each.
const LEFT: u32 = 0;
const RIGHT: u32 = 1;
const CANVAS: u32 = 2;

/// Where something lies at the pixels of a tile.
trait OfTile {
    fn place(&self, pixel: Pixel) -> Option<Vec2>;
}

/// Interpolated.
impl OfTile for Columns {
    #[inline(always)]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        Some(self.at(pixel))
    }
}

/// Pixel by pixel.
impl<M: Map> OfTile for M {
    #[inline(always)]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        Map::place(self, pixel.at)
    }
}

/// Through a camera's lens to its picture.
struct Through<'a> {
    camera: &'a ViewCamera,
    /// [`Picture::MIDDLE`].
    middle: f32,
}

impl Map for Through<'_> {
    /// Where the ray of a place in the view is thrown, as samples of the picture are counted.
    #[inline(always)]
    fn place(&self, at: Vec2) -> Option<Vec2> {
        let ViewCamera { rays, focal, centre, distortion, limit, lens, .. } = self.camera;
        let [x, y] = bend(*lens, distortion, *limit, ray(rays, at))?;
        let centre = *centre + self.middle;
        let place = vec2(x.mul_add(focal.x, centre.x), y.mul_add(focal.y, centre.y));
        // A ray almost in the picture plane overflows.
        place.is_finite().then_some(place)
    }
}

/// On a canvas without edges.
struct Spread<'a>(&'a ViewCanvas);

impl Map for Spread<'_> {
    /// Where the ray of a place in the view would meet the canvas.
    #[inline(always)]
    fn place(&self, at: Vec2) -> Option<Vec2> {
        let canvas = self.0;
        let [x, y, z] = ray(&canvas.rays, at);
        let p = match canvas.projection {
            Projection::CYLINDRICAL => vec2(Real::angle_from(x, z), y / x.mul_add(x, z * z).sqrt()),
            Projection::EQUIRECTANGULAR => {
                vec2(Real::angle_from(x, z), Real::angle_from(y, x.mul_add(x, z * z).sqrt()))
            }
            _ if z > 0.0 => vec2(x / z, y / z),
            _ => return None,
        };
        Some(p * canvas.scale + canvas.centre)
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

impl<P: Picture, M: OfTile> Sampler for Flat<'_, P, M> {
    type Sample = Vec3;

    const AHEAD: bool = false;

    #[inline(always)]
    fn sample(&self, pixel: Pixel) -> Vec3 {
        const { assert!(P::MIDDLE == 0.0, "as the canvas counts") };
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
        (self.eye.sample(place), self.eye.is_inside(place))
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

impl<P: Picture, M: OfTile, C: OfTile> Both<'_, P, M, C> {
    /// How much the left camera counts, and the sum of both, where their margins are these.
    #[inline(always)]
    fn counts(&self, pixel: Pixel, [left, right]: [f32; 2]) -> (f32, f32) {
        if let Some((weights, map)) = &self.counts
            && left > 0.0
            && right > 0.0
            && let Some(place) = map.place(pixel)
            && let Some(place) = confined(weights.canvas, place)
            && let Some([left, right]) = weights.at(place)
        {
            return (left, left + right);
        }
        let left = left * self.left.per_side;
        (left, right.mul_add(self.right.per_side, left))
    }
}

impl<P: Picture, M: OfTile, C: OfTile> Sampler for Both<'_, P, M, C> {
    /// Samples, and the left one's share; `None` where neither counts.
    type Sample = ([Vec3; 2], Option<f32>);

    const AHEAD: bool = false;

    #[inline(always)]
    fn sample(&self, pixel: Pixel) -> Self::Sample {
        let (l, r) = (self.maps.0.place(pixel), self.maps.1.place(pixel));
        let (counts, sum) = self.counts(pixel, [self.left.margin(l), self.right.margin(r)]);
        let samples =
            [self.left.sample(l.unwrap_or_default()), self.right.sample(r.unwrap_or_default())];
        let share = counts * sum.fast_recip();
        // As of a warp's weights, whose sum is 1, too small ones are none.
        let share = if share > MIN_WEIGHT { share } else { 0.0 };
        let share = if share < 1.0 - MIN_WEIGHT { share } else { 1.0 };
        (samples, (sum > 0.0).then_some(share))
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

    /// One pixel behind the middle of the last one.
    #[inline(always)]
    fn end(&self) -> Vec2 {
        self.picture.size().as_vec2() + P::MIDDLE
    }

    /// Whether a place is inside of the picture. A NaN is not.
    #[inline(always)]
    fn is_inside(&self, place: Vec2) -> bool {
        let end = self.end();
        place.x >= P::MIDDLE && place.x < end.x && place.y >= P::MIDDLE && place.y < end.y
    }

    /// How far a place, of numbers, is within the picture, in pixels; 0 where it is not seen. As a fraction of the
    /// picture's shorter side it is a warp's weight, which is nothing one pixel beside the middles of the first and last.
    #[inline(always)]
    fn margin(&self, place: Option<Vec2>) -> f32 {
        let Some(place) = place else { return 0.0 };
        let far = self.end() - place;
        let (near, far) = (place.x.min(place.y), far.x.min(far.y));
        let is_inside = near >= P::MIDDLE && far > 0.0;
        if is_inside { (near + (1.0 - P::MIDDLE)).min(far) } else { 0.0 }
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

/// The canvas's pixel at a place up to half of one beside it.
#[inline(always)]
fn confined(canvas: &ViewCanvas, place: Vec2) -> Option<Vec2> {
    let size = canvas.size.as_vec2();
    let reach = 0.5 + ROUNDING * size;
    // A NaN is nowhere.
    let inside = place.cmpge(-reach).all() && place.cmplt(size - 1.0 + reach).all();
    inside.then(|| place.clamp(Vec2::ZERO, (canvas.size - 1).as_vec2()))
}
