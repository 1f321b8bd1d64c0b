//! The stored samples of Y'CbCr pictures: 8 bits in NV12, and 10 bits in the upper bits of 16 in P010.
//!
//! A kernel handles a 10-bit sample in quarters of a level: the stored number divided by 256. So the code for levels from
//! 0 to 255 serves both formats, with the conversions of
//! [`to_rgb_10`](shared_types::yuv::YuvEncoding::to_rgb_10) and
//! [`from_rgb_10`](shared_types::yuv::YuvEncoding::from_rgb_10) for P010. Results are rounded once.

use crate::io::pack::WHOLE;
use bytemuck::Pod;
use cuda_std::GpuPower;
// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use shared_types::{Chroma, Chroma10};

/// A stored sample.
pub(crate) trait Depth: Pod {
    /// A stored Cb and Cr.
    type Chroma: Pod + Default;

    /// The number of stored steps per level.
    const STEPS: f32;

    /// The highest level.
    const MOST: f32;

    /// The number of levels, as fractions of 255, per fraction that a texture returns.
    const PER_TEXEL: f32;

    /// Returns the level.
    fn level(self) -> f32;

    /// Rounds a level. Levels outside the range are clamped, and NaN becomes 0.
    fn stored(level: f32) -> Self;

    /// Returns Cb and Cr.
    fn split(chroma: Self::Chroma) -> [Self; 2];

    /// Returns the chroma sample of Cb and Cr.
    fn join(chroma: [Self; 2]) -> Self::Chroma;
}

impl Depth for u8 {
    type Chroma = Chroma;

    const STEPS: f32 = 1.0;
    const MOST: f32 = 255.0;
    const PER_TEXEL: f32 = 1.0;

    #[inline(always)]
    fn level(self) -> f32 {
        self.into()
    }

    #[inline(always)]
    fn stored(level: f32) -> Self {
        level.to_u8_saturating()
    }

    #[inline(always)]
    fn split(Chroma { u, v }: Chroma) -> [Self; 2] {
        [u, v]
    }

    #[inline(always)]
    fn join([u, v]: [Self; 2]) -> Chroma {
        Chroma { u, v }
    }
}

/// The number of levels per unit of a 10-bit sample. A quarter of a level is 64 units.
const PER_UNIT: f32 = 1.0 / 256.0;

impl Depth for u16 {
    type Chroma = Chroma10;

    const STEPS: f32 = 4.0;
    const MOST: f32 = 255.75;
    const PER_TEXEL: f32 = 65_535.0 * PER_UNIT / 255.0;

    #[inline(always)]
    fn level(self) -> f32 {
        f32::from(self) * PER_UNIT
    }

    #[inline(always)]
    fn stored(level: f32) -> Self {
        #[expect(clippy::manual_clamp, reason = "a NaN becomes 0")]
        let level = level.max(0.0).min(Self::MOST);
        // Adding `WHOLE` rounds the number of quarters. The bits of `WHOLE` are above the lowest 10.
        let quarters = level.mul_add(Self::STEPS, WHOLE).to_bits();
        (quarters << 6) as u16
    }

    #[inline(always)]
    fn split(Chroma10 { u, v }: Chroma10) -> [Self; 2] {
        [u, v]
    }

    #[inline(always)]
    fn join([u, v]: [Self; 2]) -> Chroma10 {
        Chroma10 { u, v }
    }
}
