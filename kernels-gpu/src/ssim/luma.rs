//! Converts pixels to the luma that SSIM compares.

use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::ssim::LINES;

/// A pixel type that SSIM compares.
pub(super) trait Pixel: bytemuck::Pod {
    /// Whether the squared luma differences of a thread's batch fit into 32 bits when they are added up.
    const SMALL: bool;

    /// Returns the pixel's bytes in one word. If it returned separate bytes, they would occupy several registers.
    fn bits(self) -> u32;

    /// Returns the luma of a pixel, given its [`bits`](Self::bits).
    fn luma(bits: u32) -> i32;

    /// Returns the sum of the squared differences of red, green and blue between two pixels; 0 for luma formats.
    fn colour_squares(bits: [u32; 2]) -> u32;
}

/// Implements [`Pixel`] for an integer type that contains only luma. The second argument is [`SMALL`](Pixel::SMALL).
macro_rules! luma {
    ($type:ty, $small:literal) => {
        impl Pixel for $type {
            const SMALL: bool = $small;

            #[device]
            fn bits(self) -> u32 {
                self.into()
            }

            #[device]
            fn luma(bits: u32) -> i32 {
                bits as i32
            }

            #[device]
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

    #[device]
    fn bits(self) -> u32 {
        bytemuck::cast(self)
    }

    /// Computes BT.601 luma in integers, as in Pillow's `convert("L")`: (19595 r + 38470 g + 7471 b + 32768) / 65536.
    #[device]
    fn luma(bits: u32) -> i32 {
        // The weights have 16 bits. `HIGH` and `LOW` contain their high and low bytes.
        const HIGH: u32 = u32::from_le_bytes([76, 150, 29, 0]);
        const LOW: u32 = u32::from_le_bytes([139, 70, 47, 0]);
        (dp4a(bits, LOW, 256 * dp4a(bits, HIGH, 128)) >> 16) as i32
    }

    /// Computes (a − b)² as a² + b² − 2ab, because `dp4a` sums products of bytes.
    #[device]
    fn colour_squares([a, b]: [u32; 2]) -> u32 {
        // Clear alpha in one factor of each product, so that alpha does not count.
        let [rgb_a, rgb_b] = [a, b].map(|bits| bits & 0xff_ff_ff);
        dp4a(rgb_a, a, dp4a(rgb_b, b, 0)) - 2 * dp4a(rgb_a, b, 0)
    }
}

/// Returns the lumas of all pixels of a batch.
#[device]
pub(super) fn lumas<P: Pixel>(batch: Batch) -> Lumas {
    batch.map(|pair| pair.map(P::luma))
}

/// The pixels of a batch of rows in the thread's column: for each row, one pixel of each picture.
pub(super) type Batch = [[u32; 2]; LINES as usize];

/// The lumas of the pixels of a [`Batch`].
pub(super) type Lumas = [[i32; 2]; LINES as usize];
