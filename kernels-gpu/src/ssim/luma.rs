//! Pixels as the luma that SSIM compares.

use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::ssim::LINES;

/// A pixel that is compared by its luma.
pub(super) trait Pixel: bytemuck::Pod {
    /// Whether the squared differences of a batch fit into 32 bits.
    const SMALL: bool;

    /// As it is in memory: bytes that lie packed in registers would have to be unpacked.
    fn bits(self) -> u32;

    /// The luma of one with these bits.
    fn luma(bits: u32) -> i32;

    /// The squared differences of red, green and blue; of luma alone 0.
    fn colour_squares(bits: [u32; 2]) -> u32;
}

/// A luma of some bits, and whether it is [`SMALL`](Pixel::SMALL).
macro_rules! luma {
    ($type:ty, $small:literal) => {
        impl Pixel for $type {
            const SMALL: bool = $small;

            #[inline(always)]
            fn bits(self) -> u32 {
                self.into()
            }

            #[inline(always)]
            fn luma(bits: u32) -> i32 {
                bits as i32
            }

            #[inline(always)]
            fn colour_squares(_: [u32; 2]) -> u32 {
                0
            }
        }
    };
}

luma!(u8, true);

luma!(u16, false);

impl Pixel for Rgba8 {
    const SMALL: bool = true;

    #[inline(always)]
    fn bits(self) -> u32 {
        bytemuck::cast(self)
    }

    /// By BT.601 in integers, as Pillow's `convert("L")` has it: (19595 r + 38470 g + 7471 b + 32768) / 65536.
    #[inline(always)]
    fn luma(bits: u32) -> i32 {
        // The weights are two bytes each.
        const HIGH: u32 = u32::from_le_bytes([76, 150, 29, 0]);
        const LOW: u32 = u32::from_le_bytes([139, 70, 47, 0]);
        (dp4a(bits, LOW, 256 * dp4a(bits, HIGH, 128)) >> 16) as i32
    }

    /// (a − b)² is a² + b² − 2ab.
    #[inline(always)]
    fn colour_squares([a, b]: [u32; 2]) -> u32 {
        // Without alpha.
        let [rgb_a, rgb_b] = [a, b].map(|bits| bits & 0xff_ff_ff);
        dp4a(rgb_a, a, dp4a(rgb_b, b, 0)) - 2 * dp4a(rgb_a, b, 0)
    }
}

/// The lumas of a batch.
#[inline(always)]
pub(super) fn lumas<P: Pixel>(batch: Batch) -> Lumas {
    batch.map(|pair| pair.map(P::luma))
}

/// A batch of both pictures' pixels in the thread's column.
pub(super) type Batch = [[u32; 2]; LINES as usize];

/// Their lumas.
pub(super) type Lumas = [[i32; 2]; LINES as usize];

/// # Safety
/// `x < width` and `y < height`.
#[inline(always)]
pub(super) unsafe fn load_luma<P: Pixel>(view: View<P>, x: u32, y: u32) -> i32 {
    // SAFETY: as the caller vouches.
    P::luma(unsafe { view.load(x, y) }.bits())
}
