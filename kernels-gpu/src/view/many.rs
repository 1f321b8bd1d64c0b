//! Kernels for views of up to [`MAX_CAMERAS`] cameras, whose pictures are in textures and may differ in format.
//!
//! A block finds the cameras that may see its tile, and each of its warps fits patches for some of them. A tile that
//! one camera sees takes the same path as in a view of two cameras. In other tiles, a thread adds the weighted colours
//! of one camera after the other, and divides by the sum of the weights: for four pixels at a time if the cameras are
//! feathered and all patches are accurate, and else for one pixel.
//!
//! All threads of a warp select the same camera, from a ballot. ptxas knows that its result is uniform, so that it
//! reads the texture of this camera without a loop over the lanes.
//!
//! The kernels for two cameras are faster for two cameras: they have no tables, and each camera has its own branch.

use crate::io::{Target, TextureSampler2d, fused, sample_plane};
use crate::unroll::unroll;
use crate::view::camera::{SourceCamera, clamp_to_canvas};
#[cfg(not(target_arch = "nvptx64"))]
use crate::view::cpu;
use crate::view::map::{CanvasMap, LensMap};
use crate::view::pixel::{Pixel, Shader};
use crate::view::shade::{Black, OneCamera};
use crate::view::source::{FALLBACK, nv12, p010, plane, rgba8};
use crate::view::tile::ViewTile;
use crate::warp::patch::{Fit, Map, Patches};
use cuda_std::prelude::*;
use glam::{Vec2, Vec3, Vec4, uvec2};
use shared_types::Rgba8;
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::stitch::MAX_CAMERAS;
use shared_types::texture::Rgba8Texture;
use shared_types::view::{BLOCK, BLOCK_THREADS, ViewCanvas, ViewFrame, ViewSource};

/// Defines the kernel for one output format.
macro_rules! many_cameras_kernel {
    ($format:literal, $out:ty, $name:ident, $deep:literal, $mixed:literal, $blocks:literal) => {
        #[doc = concat!("Renders a view from up to [`MAX_CAMERAS`] cameras to ", $format, ".")]
        ///
        /// Blends the cameras by the weight planes if the planes have the size of `canvas`. Otherwise, and at pixels
        /// where all weights are 0, the kernel feathers the cameras like a warp. Pixels that no camera sees become
        /// opaque black. Nothing is written if the chroma plane of an NV12 view is not half the size of its luma plane,
        /// or blocks are not [`BLOCK`](shared_types::view::BLOCK).
        ///
        /// # Safety
        /// - The pictures in `sources` must be textures that exist, return fractions and have the stated sizes. They
        ///   must be P010 if the view is P010, and must not be P010 otherwise.
        /// - `planes` is the plane of the first camera's weights, or empty. If it is not empty, each address of weights
        ///   in `sources` must be that of a plane with its size and pitch.
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks), barriers(1), cpu(cpu::many::<$deep, $mixed>))]
        pub unsafe fn $name(
            sources: Table<ViewSource, MAX_CAMERAS>,
            planes: View<f32>,
            canvas: ViewCanvas,
            frame: ViewFrame,
            out: $out,
        ) {
            let cameras = ViewCameras { sources: &sources, planes: &planes, canvas: &canvas };
            // SAFETY: the caller guarantees the conditions above, which are those of `from_many`.
            unsafe { from_many::<_, $deep, $mixed>(&cameras, &frame, out) };
        }
    };
}

many_cameras_kernel!("RGBA", ViewMut<Rgba8>, view_many_rgba8, false, false, 6);

many_cameras_kernel!("NV12", Nv12Mut, view_many_nv12, false, false, 6);

many_cameras_kernel!("P010, with P010 pictures", P010Mut, view_many_p010, true, false, 6);

many_cameras_kernel!(
    "RGBA, with pictures that are mixed with a colour, have vignetting or are panoramas",
    ViewMut<Rgba8>,
    view_mixed_rgba8,
    false,
    true,
    5
);

many_cameras_kernel!(
    "NV12, with pictures that are mixed with a colour, have vignetting or are panoramas",
    Nv12Mut,
    view_mixed_nv12,
    false,
    true,
    5
);

many_cameras_kernel!(
    "P010, with P010 pictures that are mixed with a colour, have vignetting or are panoramas",
    P010Mut,
    view_mixed_p010,
    true,
    true,
    5
);

/// The cameras of a view, a plane like those of their weights, and the canvas of the weights.
struct ViewCameras<'a> {
    sources: &'a Table<ViewSource, MAX_CAMERAS>,
    planes: &'a View<f32>,
    canvas: &'a ViewCanvas,
}

/// The index of the canvas's patch. The index of a camera's patch is the camera's index.
const CANVAS: u32 = MAX_CAMERAS as u32;

impl ViewCameras<'_> {
    /// Returns the cameras that may see a tile as a mask. The result is uniform for the block.
    ///
    /// # Safety
    /// All lanes of the warp must call it.
    #[device]
    unsafe fn seeing<O: Target>(&self, tile: &ViewTile<O>) -> u32 {
        let source = self.sources.get(warp::lane_id());
        let sees = source.is_some_and(|source| tile.may_see(&source.camera()));
        // SAFETY: the caller guarantees that all lanes make this call.
        unsafe { warp::warp_vote_ballot(warp::FULL_MASK, sees) }
    }

    /// Returns whether the weights of a warp blend a tile.
    ///
    /// # Safety
    /// If several cameras may see the tile, the fit of the canvas's patch must have been set before a barrier.
    #[device]
    unsafe fn weighed(&self, patches: Patches, seen: u32) -> bool {
        // SAFETY: the caller guarantees that the fit was set.
        seen & (seen - 1) != 0 && unsafe { patches.fit(CANVAS) } != Fit::Unused
    }
}

/// Returns whether the patch of any camera of a mask is not accurate enough.
///
/// # Safety
/// The patches of these cameras must have been computed before a barrier.
#[device]
unsafe fn any_off(patches: Patches, seen: u32) -> bool {
    let (mut left, mut off) = (seen, false);
    while left != 0 {
        // SAFETY: the caller guarantees that the patch was computed.
        off |= unsafe { patches.fit(left.trailing_zeros()) } == Fit::Off;
        left &= left - 1;
    }
    off
}

/// Returns a camera with its picture. If `MIXED`, the picture is mixed with a constant colour, its vignetting is undone,
/// and it may be a panorama.
#[device]
fn source_camera<P: TextureSampler2d, const MIXED: bool>(
    picture: P,
    source: &ViewSource,
) -> SourceCamera<'_, P> {
    let camera = SourceCamera::new(picture, &source.camera(), &source.decode);
    if MIXED { camera.mixed(source.offset, source.vignette) } else { camera }
}

/// The body of every kernel for many cameras.
///
/// # Safety
/// The conditions of the kernels apply.
#[device]
unsafe fn from_many<O: Target, const DEEP: bool, const MIXED: bool>(
    cameras: &ViewCameras<'_>,
    frame: &ViewFrame,
    out: O,
) {
    let tile = ViewTile::new::<Rgba8Texture>(&[], frame, out);
    let patches = Patches::of_cameras();
    let mut seen = 0;
    if let Some(tile) = &tile {
        // SAFETY: each row of the block is one complete warp. Each patch has one warp, and is read only after the
        // barrier below.
        unsafe {
            seen = cameras.seeing(tile);
            let (mut left, mut warp) = (seen, 0);
            while left != 0 {
                if warp % BLOCK[1] == thread::thread_idx_y() {
                    let camera = left.trailing_zeros();
                    let source = cameras.sources.get_unchecked(camera);
                    tile.make(patches, camera, &LensMap::<MIXED>(&source.camera()), true);
                }
                left &= left - 1;
                warp += 1;
            }
            if warp % BLOCK[1] == thread::thread_idx_y() {
                let size = uvec2(cameras.planes.width(), cameras.planes.height());
                let weighed = warp > 1 && size == cameras.canvas.size;
                tile.make(patches, CANVAS, &CanvasMap(cameras.canvas), weighed);
            }
        }
    }
    thread::sync_threads();
    // As in a view of two cameras, the previous kernel may still run until here.
    thread::wait_for_kernel_before();
    let Some(tile) = tile else { return };
    if seen == 0 {
        tile.each_four(&Black);
        return;
    }
    let first = seen.trailing_zeros();
    // SAFETY: the patches of all cameras in `seen` were computed before the barrier, and the fit of the canvas's patch
    // was set. The formats of the pictures are checked.
    unsafe {
        if seen & (seen - 1) == 0 && patches.fit(first) == Fit::Whole {
            let source = &cameras.sources.get_unchecked(first);
            let map = tile.columns(patches, first);
            if DEEP {
                let camera = source_camera::<_, MIXED>(p010(source), source);
                tile.each_four(&OneCamera { camera, map });
            } else if source.chroma != 0 {
                let camera = source_camera::<_, MIXED>(nv12(source), source);
                tile.each_four(&OneCamera { camera, map });
            } else {
                let camera = source_camera::<_, MIXED>(rgba8(source), source);
                tile.each_four(&OneCamera { camera, map });
            }
        } else if cameras.weighed(patches, seen) || any_off(patches, seen) {
            let tile_cameras =
                ManyCameras::<_, true, DEEP, MIXED> { cameras, tile: &tile, patches, seen };
            tile.each(&tile_cameras);
        } else {
            let tile_cameras =
                ManyCameras::<_, false, DEEP, MIXED> { cameras, tile: &tile, patches, seen };
            tile.each_four(&tile_cameras);
        }
    }
}

/// Runs `$body` for each index `$i` below `$many`, which is 1 or 4. Unlike for `unroll!`, it may be a generic constant.
macro_rules! each {
    ($many:ident, |$i:ident| $body:expr) => {
        unroll!(4, |$i| {
            if $i < $many {
                $body
            }
        })
    };
}

/// The shader of tiles that several cameras can see, or that have no patch. If `EXACT` is false, all patches must be
/// accurate and the cameras are feathered. The pictures are P010 if `DEEP` is true, and otherwise RGBA or NV12.
struct ManyCameras<'a, O, const EXACT: bool, const DEEP: bool, const MIXED: bool> {
    cameras: &'a ViewCameras<'a>,
    tile: &'a ViewTile<O>,
    patches: Patches,
    /// A mask of the cameras that may see the tile. Their patches and that of the canvas were computed.
    seen: u32,
}

impl<O: Target, const EXACT: bool, const DEEP: bool, const MIXED: bool>
    ManyCameras<'_, O, EXACT, DEEP, MIXED>
{
    /// Returns the position of a pixel by a patch or, if the patch is not accurate enough, by its map.
    #[device]
    fn place(&self, patch: u32, map: &impl Map, pixel: Pixel) -> Option<Vec2> {
        // SAFETY: the patch was computed before a barrier. The branch is uniform for the block.
        unsafe {
            if !EXACT || self.patches.fit(patch) == Fit::Whole {
                Some(self.tile.columns(self.patches, patch).at(pixel))
            } else {
                map.place(pixel.at)
            }
        }
    }

    /// Returns the blended colours of the first `N` pixels.
    #[device]
    fn blend<const N: usize>(&self, pixels: [Pixel; 4]) -> [Vec3; 4] {
        let cameras = self.cameras;
        let mut on_canvas = [None; 4];
        // SAFETY: the fit was set before a barrier.
        let weighed = EXACT && unsafe { cameras.weighed(self.patches, self.seen) };
        if weighed {
            each!(N, |i| {
                let place = self.place(CANVAS, &CanvasMap(cameras.canvas), pixels[i]);
                on_canvas[i] = place.and_then(|place| clamp_to_canvas(cameras.canvas, place));
            });
        }
        let (mut sums, mut totals) = ([Vec3::ZERO; 4], [0.0; 4]);
        let mut left = self.seen;
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            // SAFETY: a camera of the mask is in the table.
            let source = &unsafe { cameras.sources.get_unchecked(camera) };
            let (map, mut places) = (source.camera(), [None; 4]);
            each!(N, |i| places[i] = self.place(camera, &LensMap::<MIXED>(&map), pixels[i]));
            // SAFETY: the conditions of the kernels apply, and the picture has this format.
            let (colours, mut weights) = unsafe {
                if DEEP {
                    sampled::<_, N, MIXED>(p010(source), source, &places)
                } else if source.chroma != 0 {
                    sampled::<_, N, MIXED>(nv12(source), source, &places)
                } else {
                    sampled::<_, N, MIXED>(rgba8(source), source, &places)
                }
            };
            if weighed {
                each!(N, |i| {
                    let feathered = weights[i];
                    weights[i] *= FALLBACK;
                    if let Some(place) = on_canvas[i]
                        && feathered > 0.0
                    {
                        // SAFETY: the position is clamped to the canvas, and the planes have its size.
                        weights[i] +=
                            unsafe { sample_plane(&plane(cameras.planes, source), place) };
                    }
                });
            }
            each!(N, |i| {
                sums[i] = fused(colours[i], weights[i], sums[i]);
                totals[i] += weights[i];
            });
        }
        each!(N, |i| {
            sums[i] = if totals[i] > 0.0 { sums[i] * totals[i].fast_recip() } else { Vec3::ZERO };
        });
        sums
    }
}

/// Returns the colours of the first `N` pixels in a camera's picture, and their distances from its edge as fractions of
/// its shorter side.
#[device]
fn sampled<P: TextureSampler2d, const N: usize, const MIXED: bool>(
    picture: P,
    source: &ViewSource,
    places: &[Option<Vec2>; 4],
) -> ([Vec3; 4], [f32; 4]) {
    let camera = source_camera::<_, MIXED>(picture, source);
    let (mut samples, mut margins) = ([Vec4::ZERO; 4], [0.0; 4]);
    each!(N, |i| samples[i] = camera.sample(places[i].unwrap_or_default()));
    each!(N, |i| margins[i] = camera.margin(places[i]) * camera.per_side);
    (camera.colour.apply(samples), margins)
}

/// Takes four pixels at a time.
impl<O: Target, const DEEP: bool, const MIXED: bool> Shader
    for ManyCameras<'_, O, false, DEEP, MIXED>
{
    type Sample = Pixel;

    const AHEAD: bool = false;

    #[device]
    fn sample(&self, pixel: Pixel) -> Pixel {
        pixel
    }

    #[device]
    fn colours(&self, pixels: [Pixel; 4]) -> [Vec3; 4] {
        self.blend::<4>(pixels)
    }
}

/// Takes one pixel at a time, which needs fewer registers.
impl<O: Target, const DEEP: bool, const MIXED: bool> Shader
    for ManyCameras<'_, O, true, DEEP, MIXED>
{
    type Sample = Vec3;

    const AHEAD: bool = false;

    #[device]
    fn sample(&self, pixel: Pixel) -> Vec3 {
        self.blend::<1>([pixel; 4])[0]
    }

    #[device]
    fn colours(&self, colours: [Vec3; 4]) -> [Vec3; 4] {
        colours
    }
}
