//! Output pictures, in RGBA (8 or 16 bits) or NV12. Kernels write them cell by cell, because 2×2 pixels share a chroma
//! sample in NV12.

use crate::io::pack::{beside, fused_dot, in_a_row, yuv_of_four};
use crate::io::rgba::Rgba;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3, uvec2};
use shared_types::Chroma;
use shared_types::nv12::Nv12Mut;
use shared_types::yuv::RgbToYuv;

/// An output picture. It consists of cells of [`CELL`](Self::CELL)² pixels: single pixels in RGBA, and 2×2 pixels that
/// share a chroma sample in NV12.
pub(crate) trait Target: Copy {
    /// The side of a cell in pixels.
    const CELL: u32;

    /// Returns the number of columns.
    fn width(&self) -> u32;

    /// Returns the number of rows.
    fn height(&self) -> u32;

    /// Returns whether all planes have matching sizes; see [`Sampler2d::is_whole`].
    fn is_whole(&self) -> bool;

    /// Writes the cell whose first pixel is `(x, y)`. `colour` returns the R'G'B' levels (0 to 255) of a pixel, which
    /// are rounded once. If the cell extends beyond the picture, the last column or row of the picture is repeated to
    /// compute the cell's chroma.
    ///
    /// # Safety
    /// - The picture must [be whole](Self::is_whole) and contain `(x, y)`.
    /// - No other thread may write the cell.
    unsafe fn store(&self, x: u32, y: u32, colour: impl Fn(u32, u32) -> Vec3, encode: &RgbToYuv);

    /// The numbers of columns and rows that [`store_four`](Self::store_four) writes.
    const FOUR: UVec2;

    /// Writes [`FOUR`](Self::FOUR) pixels, the first one at `(x, y)`. `colours` are from 0 to 1, row by row, and are
    /// rounded once. Colours of pixels outside the picture are ignored. For chroma, the colours of the last pixels
    /// inside replace them. If `flip` is set, each pixel is written to its position after a rotation of the picture by
    /// 180°.
    ///
    /// # Safety
    /// - The picture must [be whole](Self::is_whole) and contain `(x, y)`, a multiple of [`CELL`](Self::CELL).
    /// - No other thread may write these pixels.
    /// - The width and height of a flipped picture must be multiples of [`CELL`](Self::CELL).
    unsafe fn store_four(&self, x: u32, y: u32, colours: [Vec3; 4], encode: &RgbToYuv, flip: bool);

    /// The numbers of columns and rows that [`store_eight`](Self::store_eight) writes: two blocks of
    /// [`FOUR`](Self::FOUR), side by side or one above the other.
    const EIGHT: UVec2;

    /// Returns the offset of the `i`-th of eight pixels from the first one. The order of the pixels is that of two
    /// successive [`store_four`](Self::store_four) calls.
    #[device]
    fn of_eight(i: u32) -> UVec2 {
        let second = if i < 4 { UVec2::ZERO } else { Self::EIGHT - Self::FOUR };
        second + uvec2(i % Self::FOUR.x, i % 4 / Self::FOUR.x)
    }

    /// Writes [`EIGHT`](Self::EIGHT) pixels like two [`store_four`](Self::store_four) calls. In NV12, four adjacent
    /// bytes are written with one store if rows start at multiples of four bytes.
    ///
    /// # Safety
    /// The conditions of [`store_four`](Self::store_four) apply, and `x` and `y` must be multiples of the columns and
    /// rows of [`EIGHT`](Self::EIGHT).
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        colours: [[Vec3; 4]; 2],
        encode: &RgbToYuv,
        flip: bool,
    );
}

impl<P: Rgba> Target for ViewMut<P> {
    const CELL: u32 = 1;

    #[device]
    fn width(&self) -> u32 {
        ViewMut::width(self)
    }

    #[device]
    fn height(&self) -> u32 {
        ViewMut::height(self)
    }

    #[device]
    fn is_whole(&self) -> bool {
        true
    }

    #[device]
    unsafe fn store(&self, x: u32, y: u32, colour: impl Fn(u32, u32) -> Vec3, _: &RgbToYuv) {
        // SAFETY: the caller guarantees that `(x, y)` is inside the picture and that no other thread writes it.
        unsafe { P::store(self, x, y, colour(x, y)) };
    }

    const FOUR: UVec2 = uvec2(1, 4);
    const EIGHT: UVec2 = uvec2(1, 8);

    #[device]
    unsafe fn store_four(&self, x: u32, y: u32, colours: [Vec3; 4], _: &RgbToYuv, flip: bool) {
        // SAFETY: the caller guarantees the conditions of `store_four`, which `store_down` has, too.
        unsafe { store_down(self, x, y, colours, flip) };
    }

    #[device]
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        [[a, b, c, d], [e, f, g, h]]: [[Vec3; 4]; 2],
        _: &RgbToYuv,
        flip: bool,
    ) {
        // SAFETY: the caller guarantees the conditions of `store_four`, which `store_down` has, too.
        unsafe { store_down(self, x, y, [a, b, c, d, e, f, g, h], flip) };
    }
}

/// Stores a column of opaque pixels, from `(x, y)` down. Omits pixels below the picture.
///
/// # Safety
/// The conditions of [`Target::store_four`] apply.
#[device]
pub(super) unsafe fn store_down<P: Rgba, const N: usize>(
    out: &ViewMut<P>,
    x: u32,
    y: u32,
    colours: [Vec3; N],
    flip: bool,
) {
    let (width, height) = (out.width(), out.height());
    let pixels = colours.map(P::from_fraction);
    let x = if flip { width - 1 - x } else { x };
    let row = |i: usize| {
        let y = y + i as u32;
        if flip { height - 1 - y } else { y }
    };
    if y + (N as u32 - 1) < height {
        // SAFETY: the last pixel is inside `out`, so all pixels are. The caller guarantees that no other thread writes
        // them.
        unroll!(N, |i| unsafe { out.store(x, row(i), pixels[i]) });
    } else {
        unroll!(N, |i| {
            if y + (i as u32) < height {
                // SAFETY: the pixel is inside `out`, as just checked. The caller guarantees that no other thread writes
                // it.
                unsafe { out.store(x, row(i), pixels[i]) };
            }
        });
    }
}

/// Implements the parts of [`Target`] that NV12 and P010 have in common. `$round` rounds a level to a stored sample.
macro_rules! yuv_target {
    ($picture:ty, $chroma:ident, $round:path) => {
        const CELL: u32 = 2;

        #[device]
        fn width(&self) -> u32 {
            self.y.width()
        }

        #[device]
        fn height(&self) -> u32 {
            self.y.height()
        }

        #[device]
        fn is_whole(&self) -> bool {
            <$picture>::is_whole(self)
        }

        #[device]
        unsafe fn store(
            &self,
            x: u32,
            y: u32,
            colour: impl Fn(u32, u32) -> Vec3,
            encode: &RgbToYuv,
        ) {
            let mut sum = Vec3::ZERO;
            // Process one pixel at a time, because an array of colours would be in local memory.
            for i in 0..4 {
                let (x, y) = (x + i % 2, y + i / 2);
                let at = (x.min(self.y.width() - 1), y.min(self.y.height() - 1));
                // Clamp levels outside 0 to 255 before averaging, because they cannot be displayed.
                let colour = colour(at.0, at.1).clamp(Vec3::ZERO, Vec3::splat(255.0));
                sum += colour;
                if self.y.contains(x, y) {
                    let luma = $round(fused_dot(encode.y, colour, encode.black));
                    // SAFETY: the pixel is inside the luma plane, as just checked. The caller guarantees that no other
                    // thread writes it.
                    unsafe { self.y.store(x, y, luma) };
                }
            }
            let mean = sum * 0.25;
            let chroma = $chroma {
                u: $round(fused_dot(encode.cb, mean, 128.0)),
                v: $round(fused_dot(encode.cr, mean, 128.0)),
            };
            // SAFETY: the picture is whole, so the chroma plane has a sample for every cell. The caller guarantees that no
            // other thread writes this cell.
            unsafe { self.uv.store(x / 2, y / 2, chroma) };
        }

        const FOUR: UVec2 = uvec2(2, 2);
        const EIGHT: UVec2 = uvec2(4, 2);
    };
}
pub(super) use yuv_target;

impl Target for Nv12Mut {
    yuv_target!(Nv12Mut, Chroma, GpuPower::to_u8_saturating);

    #[device]
    unsafe fn store_four(&self, x: u32, y: u32, colours: [Vec3; 4], encode: &RgbToYuv, flip: bool) {
        let (width, height) = (self.y.width(), self.y.height());
        let wide = self.y.is_aligned(2) && self.uv.is_aligned(2);
        // SAFETY: all four pixels are inside the picture, as checked before the first store. Two neighbours are stored
        // at once only if rows start at even addresses, and `x` is even. The caller guarantees that no other thread
        // writes these pixels.
        unsafe {
            if !wide || x + 1 >= width || y + 1 >= height {
                return store_bytes(self, x, y, colours, encode, flip);
            }
            let ([a, b, c, d], chroma) = yuv_of_four(colours, encode);
            let (x, y, top, bottom) = if flip {
                (width - 2 - x, height - 2 - y, [d, c], [b, a])
            } else {
                (x, y, [a, b], [c, d])
            };
            self.y.store_wide(x, y, beside(top));
            self.y.store_wide(x, y + 1, beside(bottom));
            self.uv.store_wide(x / 2, y / 2, beside(chroma));
        }
    }

    #[device]
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        [first, second]: [[Vec3; 4]; 2],
        encode: &RgbToYuv,
        flip: bool,
    ) {
        let (width, height) = (self.y.width(), self.y.height());
        let wide = self.y.is_aligned(4) && self.uv.is_aligned(4) && (!flip || width % 4 == 0);
        // SAFETY: all eight pixels are inside the picture, as checked before the first store. Four neighbours are
        // stored at once only if rows start at multiples of four bytes. The caller guarantees that `x` is a multiple of
        // four. With `flip`, `wide` also requires such a width, so the flipped column is a multiple of four, too. The
        // caller guarantees that no other thread writes these pixels.
        unsafe {
            if !wide || x + 3 >= width || y + 1 >= height {
                store_bytes(self, x, y, first, encode, flip);
                if x + 2 < width {
                    store_bytes(self, x + 2, y, second, encode, flip);
                }
                return;
            }
            let ([a, b, c, d], left) = yuv_of_four(first, encode);
            let ([e, f, g, h], right) = yuv_of_four(second, encode);
            let (x, y, top, bottom, [[cb, cr], [next_cb, next_cr]]) = if flip {
                let (x, y) = (width - 4 - x, height - 2 - y);
                (x, y, [h, g, d, c], [f, e, b, a], [right, left])
            } else {
                (x, y, [a, b, e, f], [c, d, g, h], [left, right])
            };
            self.y.store_wide(x, y, in_a_row(top));
            self.y.store_wide(x, y + 1, in_a_row(bottom));
            self.uv.store_wide(x / 2, y / 2, in_a_row([cb, cr, next_cb, next_cr]));
        }
    }
}

/// Writes like [`Target::store_four`], but byte by byte, so any alignment and pixels at the edges of the picture are
/// allowed.
///
/// # Safety
/// The conditions of [`Target::store_four`] apply.
#[device]
pub(super) unsafe fn store_bytes(
    out: &Nv12Mut,
    x: u32,
    y: u32,
    mut colours: [Vec3; 4],
    encode: &RgbToYuv,
    flip: bool,
) {
    let (width, height) = (out.y.width(), out.y.height());
    // Replace the colours of pixels outside the picture by those of the last pixels inside, because chroma is computed
    // from the mean of all four colours.
    if x + 1 >= width {
        [colours[1], colours[3]] = [colours[0], colours[2]];
    }
    if y + 1 >= height {
        [colours[2], colours[3]] = [colours[0], colours[1]];
    }
    let (levels, [u, v]) = yuv_of_four(colours, encode);
    // SAFETY: each pixel is inside the luma plane, as checked before its store. The picture is whole, so the chroma
    // plane has a sample for every cell. The caller guarantees that no other thread writes these pixels.
    unsafe {
        unroll!(4, |i| {
            let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
            if x < width && y < height {
                let (x, y) = if flip { (width - 1 - x, height - 1 - y) } else { (x, y) };
                out.y.store(x, y, levels[i].to_u8_saturating());
            }
        });
        let (x, y) = if flip { (width - 2 - x, height - 2 - y) } else { (x, y) };
        let chroma = Chroma { u: u.to_u8_saturating(), v: v.to_u8_saturating() };
        out.uv.store(x / 2, y / 2, chroma);
    }
}
