//! View: a perspective picture, as a virtual camera sees it, straight from two cameras' frames or from a
//! panorama.
//!
//! A block makes a tile of the view, a thread eight pixels of it: of one column, or four of two columns where chroma
//! is shared. A pixel's ray is linear in its place. From two cameras, it goes through each camera's lens, as when a
//! warp is made but in f32, and what both see is blended: as a warp is feathered, or by the weights of a warp, which
//! may have a seam. No panorama and no planes lie in between: a frame of 1920×1080 writes 8 MB and reads the part of
//! the frames that it shows.
//!
//! Lenses are worked out at a few places of a tile, and interpolated (`warp::patch`) between them where that is exact
//! enough; and where one camera alone can see a tile, the other is left out. Eight samples are on their way at a time.
//!
//! Samples are bilinear, of the frames as they are: a view far wider than its pixels shows them aliased.

mod camera;
mod map;
mod pixel;
mod shade;
mod tile;

use crate::io::{Sampler2d, Target};
use crate::view::camera::SourceCamera;
use crate::view::camera::Weights;
use crate::view::map::CanvasMap;
use crate::view::map::LensMap;
use crate::view::pixel::Columns;
use crate::view::shade::Black;
use crate::view::shade::FromPanorama;
use crate::view::shade::OneCamera;
use crate::view::shade::TwoCameras;
use crate::view::tile::ViewTile;
use crate::warp::patch::{Fit, Patches};
use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::nv12::{Nv12, Nv12Mut};
use shared_types::texture::{Nv12Texture, Rgba8Texture};
use shared_types::view::{BLOCK_THREADS, ViewCameras, ViewCanvas, ViewFrame};

/// The kernel that looks through two cameras, of one pair of formats.
macro_rules! cameras_kernel {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!("From two cameras: ", $formats, ".")]
        ///
        /// Blended by both weights, if they have the size of `canvas`; else, and where they say nothing,
        /// feathered. Pixels that no camera sees become opaque black. Black is written where an NV12
        /// picture's chroma is not half of its luma in size, a picture is empty, or blocks are not of [`BLOCK`](shared_types::view::BLOCK).
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
            from_cameras(left, right, &weights, &cameras, &frame, out);
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
        /// Pixels beside the panorama become opaque black. Black is written where the panorama is not of the
        /// canvas's size or empty, or blocks are not of [`BLOCK`](shared_types::view::BLOCK).
        #[kernel(launch_bounds(BLOCK_THREADS, 6), barriers(1))]
        pub fn $name(panorama: $picture, canvas: ViewCanvas, frame: ViewFrame, out: $out) {
            let tile = ViewTile::new(&[panorama], &frame, out);
            let tile = tile.filter(|_| panorama.size() == canvas.size);
            let patches = Patches::new();
            if let Some(tile) = &tile
                && thread::thread_idx_y() == 0
            {
                // SAFETY: one warp, whole; the barrier follows.
                unsafe { tile.make(patches, 0, &CanvasMap(&canvas), true) };
            }
            thread::sync_threads();
            thread::wait_for_kernel_before();
            let Some(tile) = tile else { return };
            // Each branch is the same for the whole block.
            // SAFETY: the patch was made, behind the barrier.
            unsafe {
                if patches.fit(0) == Fit::Whole {
                    let map = tile.columns(patches, 0);
                    tile.each_four(&FromPanorama { panorama, canvas: &canvas, frame: &frame, map });
                } else {
                    let map = CanvasMap(&canvas);
                    tile.each(&FromPanorama { panorama, canvas: &canvas, frame: &frame, map });
                }
            }
        }
    };
}

panorama_kernel!("RGBA to RGBA", View<Rgba8> => ViewMut<Rgba8>, view_panorama_rgba8);

panorama_kernel!("NV12 to NV12", Nv12 => Nv12Mut, view_panorama_nv12);

panorama_kernel!("NV12 to RGBA", Nv12 => ViewMut<Rgba8>, view_panorama_nv12_rgba8);

panorama_kernel!("RGBA to NV12", View<Rgba8> => Nv12Mut, view_panorama_rgba8_nv12);

/// What every kernel that looks through cameras does.
#[inline(always)]
fn from_cameras<P: Sampler2d, O: Target>(
    left: P,
    right: P,
    weights: &Weights<'_>,
    cameras: &ViewCameras,
    frame: &ViewFrame,
    out: O,
) {
    let tile = ViewTile::new(&[left, right], frame, out);
    let patches = Patches::new();
    let left_lens = LensMap { camera: &cameras.left, middle: P::MIDDLE };
    let right_lens = LensMap { camera: &cameras.right, middle: P::MIDDLE };
    if let Some(tile) = &tile {
        let sees_left = || tile.may_see(&cameras.left);
        let sees_right = || tile.may_see(&cameras.right);
        // SAFETY: a warp each, whole; the barrier follows.
        unsafe {
            match thread::thread_idx_y() {
                LEFT => tile.make(patches, LEFT, &left_lens, sees_left()),
                RIGHT => tile.make(patches, RIGHT, &right_lens, sees_right()),
                CANVAS => {
                    let weighed = weights.are_there() && sees_left() && sees_right();
                    tile.make(patches, CANVAS, &CanvasMap(weights.canvas), weighed);
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
    let left = SourceCamera::new(left, &cameras.left, &frame.decode);
    let right = SourceCamera::new(right, &cameras.right, &frame.decode);
    // Each branch is the same for the whole block.
    // SAFETY: those that are asked for were made: the canvas's only where, by the same sums, both cameras' were.
    unsafe {
        if off {
            let maps = (left_lens, right_lens);
            let counts = weighed.then_some((weights, CanvasMap(weights.canvas)));
            tile.each(&TwoCameras { left, right, maps, counts });
        } else if weighed {
            let maps = (tile.columns(patches, LEFT), tile.columns(patches, RIGHT));
            tile.each(&TwoCameras {
                left,
                right,
                maps,
                counts: Some((weights, tile.columns(patches, CANVAS))),
            });
        } else if sees_left && sees_right {
            let maps = (tile.columns(patches, LEFT), tile.columns(patches, RIGHT));
            tile.each_four(&TwoCameras { left, right, maps, counts: None::<(_, Columns)> });
        } else if sees_left {
            // Not one branch for either camera: a texture that is chosen is read warp by warp in a loop.
            tile.each_four(&OneCamera { camera: left, map: tile.columns(patches, LEFT) });
        } else if sees_right {
            tile.each_four(&OneCamera { camera: right, map: tile.columns(patches, RIGHT) });
        } else {
            tile.each_four(&Black);
        }
    }
}

/// The patches of a block, and the warp that makes each.
const LEFT: u32 = 0;

const RIGHT: u32 = 1;

const CANVAS: u32 = 2;
