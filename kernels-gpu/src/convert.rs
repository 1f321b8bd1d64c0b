//! Conversion of frames that other kernels do not read to NV12, and back.
//!
//! I420 stores the same samples as NV12, but Cb and Cr in planes of their own; only these are converted. YUY2 and UYVY
//! store four bytes for two pixels of a row, so their chroma has twice the rows of NV12. A chroma sample of NV12 is the
//! mean of two rows, rounded up, and both rows get it back: NV12 survives the way there and back unchanged.
//!
//! All kernels are limited by memory. One thread converts one chroma sample and the pixels that share it.

use cuda_std::prelude::*;
use shared_types::Chroma;
use shared_types::nv12::{Nv12, Nv12Mut};
use shared_types::warp::BLOCK_THREADS;

/// Joins the chroma planes of I420 to that of NV12.
#[kernel(launch_bounds(BLOCK_THREADS))]
pub fn join_chroma(u: View<u8>, v: View<u8>, out: ViewMut<Chroma>) {
    let at = thread::index_2d();
    if u.contains(at.x, at.y) && v.contains(at.x, at.y) && out.contains(at.x, at.y) {
        // SAFETY: all three planes contain the sample, as just checked, and only this thread writes it.
        unsafe { out.store(at.x, at.y, Chroma { u: u.load(at.x, at.y), v: v.load(at.x, at.y) }) };
    }
}

/// Splits the chroma plane of NV12 into those of I420.
#[kernel(launch_bounds(BLOCK_THREADS))]
pub fn split_chroma(from: View<Chroma>, u: ViewMut<u8>, v: ViewMut<u8>) {
    let at = thread::index_2d();
    if from.contains(at.x, at.y) && u.contains(at.x, at.y) && v.contains(at.x, at.y) {
        // SAFETY: all three planes contain the sample, as just checked, and only this thread writes it.
        unsafe {
            let chroma = from.load(at.x, at.y);
            u.store(at.x, at.y, chroma.u);
            v.store(at.x, at.y, chroma.v);
        }
    }
}

/// The order of the bytes of two pixels in a row.
pub trait Order {
    /// Returns the two luma bytes and the chroma.
    fn split(bytes: [u8; 4]) -> ([u8; 2], Chroma);

    /// Reverses [`split`](Self::split).
    fn join(luma: [u8; 2], chroma: Chroma) -> [u8; 4];
}

/// The order luma, Cb, luma, Cr.
pub struct Yuy2;

impl Order for Yuy2 {
    #[device]
    fn split([a, u, b, v]: [u8; 4]) -> ([u8; 2], Chroma) {
        ([a, b], Chroma { u, v })
    }

    #[device]
    fn join([a, b]: [u8; 2], Chroma { u, v }: Chroma) -> [u8; 4] {
        [a, u, b, v]
    }
}

/// The order Cb, luma, Cr, luma.
pub struct Uyvy;

impl Order for Uyvy {
    #[device]
    fn split([u, a, v, b]: [u8; 4]) -> ([u8; 2], Chroma) {
        ([a, b], Chroma { u, v })
    }

    #[device]
    fn join([a, b]: [u8; 2], Chroma { u, v }: Chroma) -> [u8; 4] {
        [u, a, v, b]
    }
}

/// Converts pairs of pixels to NV12. Nothing is written if the planes do not have the sizes of one picture.
#[kernel(
    launch_bounds(BLOCK_THREADS),
    instances(unpack_yuy2 = unpack::<Yuy2>, unpack_uyvy = unpack::<Uyvy>)
)]
pub fn unpack<O: Order>(from: View<u32>, out: Nv12Mut) {
    let at = thread::index_2d();
    let (width, height) = (out.y.width(), out.y.height());
    let fits = from.width() == out.uv.width() && from.height() == height && out.is_whole();
    if !fits || !out.uv.contains(at.x, at.y) {
        return;
    }
    let (x, y) = (2 * at.x, 2 * at.y);
    let below = (y + 1).min(height - 1);
    // SAFETY: the planes have the sizes of one picture, as checked above, so each of them contains the positions: the
    // rows `y` and `below` are less than `height`, and the column `x` less than `width`. Only this thread writes them.
    unsafe {
        let load = |row| O::split(from.load(at.x, row).to_le_bytes());
        let ((top, a), (bottom, b)) = (load(y), load(below));
        for (row, luma) in [(y, top), (below, bottom)] {
            out.y.store(x, row, luma[0]);
            if x + 1 < width {
                out.y.store(x + 1, row, luma[1]);
            }
        }
        let mean = |a: u8, b: u8| ((u32::from(a) + u32::from(b) + 1) >> 1) as u8;
        out.uv.store(at.x, at.y, Chroma { u: mean(a.u, b.u), v: mean(a.v, b.v) });
    }
}

/// Converts NV12 to pairs of pixels. In a picture of odd width, the second pixel of the last pair is a copy of the
/// first. Nothing is written if the planes do not have the sizes of one picture.
#[kernel(
    launch_bounds(BLOCK_THREADS),
    instances(pack_yuy2 = pack_pairs::<Yuy2>, pack_uyvy = pack_pairs::<Uyvy>)
)]
pub fn pack_pairs<O: Order>(from: Nv12, out: ViewMut<u32>) {
    let at = thread::index_2d();
    let (width, height) = (from.y.width(), from.y.height());
    let fits = out.width() == from.uv.width() && out.height() == height && from.is_whole();
    if !fits || !from.uv.contains(at.x, at.y) {
        return;
    }
    let (x, y) = (2 * at.x, 2 * at.y);
    // SAFETY: as in `unpack`.
    unsafe {
        let chroma = from.uv.load(at.x, at.y);
        for row in [y, (y + 1).min(height - 1)] {
            let luma = [x, (x + 1).min(width - 1)].map(|x| from.y.load(x, row));
            out.store(at.x, row, u32::from_le_bytes(O::join(luma, chroma)));
        }
    }
}
