//! View: the perspective picture of a virtual camera, rendered from the frames of two cameras, or of up to 16 cameras
//! (`many`), in textures.
//!
//! A block computes a tile of the view, and a thread eight of its pixels: one column, or, where pixels share chroma,
//! two columns of four rows. A pixel's ray, which is linear in its position, passes through each camera's lens in f32.
//! Overlaps are feathered like a warp, or blended by the weights of a warp, which may have a seam. There is neither an
//! intermediate panorama nor a plane of coordinates: an RGBA view of 1920×1080 writes 8 MB and reads what is visible.
//!
//! The lens is computed at a few positions of a tile and interpolated between them (`warp::patch`) if that is accurate
//! enough. A block skips cameras that cannot see its tile. Eight samples are in flight at a time.
//!
//! Samples are bilinear, without prefiltering: a view with far fewer pixels than the frames is aliased.

mod camera;
#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
mod many;
mod map;
mod pixel;
mod shade;
mod source;
mod tile;

pub use many::*;

use crate::io::{Target, TextureSampler2d};
use crate::view::camera::{SourceCamera, Weights};
use crate::view::map::{CanvasMap, LensMap};
use crate::view::pixel::Columns;
use crate::view::shade::{Black, OneCamera, TwoCameras};
use crate::view::tile::ViewTile;
use crate::warp::patch::{Fit, Patches};
use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::texture::{Nv12Texture, P010Texture, Rgba8Texture};
use shared_types::view::{BLOCK_THREADS, ViewCameras, ViewCanvas, ViewFrame};

/// Defines the kernel for two cameras and one pair of formats.
macro_rules! cameras_kernel {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!("Renders a view from two cameras: ", $formats, ".")]
        ///
        /// Blends both cameras by the weight planes if both planes have the size of `canvas`. Otherwise, and at pixels
        /// where both weights are 0, the kernel feathers the cameras like a warp. Pixels that no camera sees become
        /// opaque black. Nothing is written if the chroma plane of an NV12 view is not half the size of its luma plane, a
        /// picture is empty, or blocks are not [`BLOCK`](shared_types::view::BLOCK).
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks), barriers(1), cpu(cpu::cameras))]
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

cameras_kernel!("RGBA to RGBA", Rgba8Texture => ViewMut<Rgba8>, view_textured_rgba8, 8);

cameras_kernel!("NV12 to NV12", Nv12Texture => Nv12Mut, view_textured_nv12, 6);

cameras_kernel!("NV12 to RGBA", Nv12Texture => ViewMut<Rgba8>, view_textured_nv12_rgba8, 8);

cameras_kernel!("RGBA to NV12", Rgba8Texture => Nv12Mut, view_textured_rgba8_nv12, 6);

cameras_kernel!("P010 to P010", P010Texture => P010Mut, view_textured_p010, 6);

/// The body of every kernel for two cameras.
#[device]
fn from_cameras<P: TextureSampler2d, O: Target>(
    left: P,
    right: P,
    weights: &Weights<'_>,
    cameras: &ViewCameras,
    frame: &ViewFrame,
    out: O,
) {
    let tile = ViewTile::new(&[left, right], frame, out);
    let patches = Patches::new();
    let left_lens = LensMap::<false>(&cameras.left);
    let right_lens = LensMap::<false>(&cameras.right);
    if let Some(tile) = &tile {
        let sees_left = || tile.may_see(&cameras.left);
        let sees_right = || tile.may_see(&cameras.right);
        // SAFETY: each row of the block is one complete warp. The patches are read only after the barrier below.
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
    // The patches depend only on kernel arguments, so they are computed while the previous kernel still runs. Pictures
    // are read and written only after the previous kernel has ended.
    thread::wait_for_kernel_before();
    let Some(tile) = tile else { return };
    // SAFETY: `make` has set the fit of all three patches before the barrier.
    let (left_fit, right_fit, canvas_fit) =
        unsafe { (patches.fit(LEFT), patches.fit(RIGHT), patches.fit(CANVAS)) };
    let off = left_fit == Fit::Off || right_fit == Fit::Off || canvas_fit == Fit::Off;
    let (sees_left, sees_right) = (left_fit != Fit::Unused, right_fit != Fit::Unused);
    let weighed = canvas_fit != Fit::Unused;
    let left = SourceCamera::new(left, &cameras.left, &frame.decode);
    let right = SourceCamera::new(right, &cameras.right, &frame.decode);
    // Each branch is uniform for the block. SAFETY: the patches that a branch uses were computed before the barrier. In
    // particular, the patch of the canvas was computed if `weighed` is true.
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
            // One branch per camera, because a texture that is selected at run time would be read in a loop over the
            // lanes of the warp.
            tile.each_four(&OneCamera { camera: left, map: tile.columns(patches, LEFT) });
        } else if sees_right {
            tile.each_four(&OneCamera { camera: right, map: tile.columns(patches, RIGHT) });
        } else {
            tile.each_four(&Black);
        }
    }
}

/// The index of the left camera's patch, and of the block's warp (32 threads) that computes the patch.
const LEFT: u32 = 0;

/// The index of the right camera's patch, and of the block's warp (32 threads) that computes the patch.
const RIGHT: u32 = 1;

/// The index of the canvas's patch, and of the block's warp (32 threads) that computes the patch.
const CANVAS: u32 = 2;
