//! RGBA pixels with 8 or 16 bits per channel.
//!
//! [`Rgba`] converts a stored pixel to levels from 0 to 255 and back, so one kernel body serves both depths. A 16-bit
//! pixel has 257 steps per level. An f32 number represents each step exactly enough to be rounded back to it. This
//! module does not convert opacity: all stored pixels are opaque.

use crate::io::pack::opaque;
use bytemuck::Pod;
use cuda_std::prelude::*;
use glam::{Vec3, vec3};
use shared_types::{Rgba8, Rgba16};

/// An RGBA pixel.
pub(crate) trait Rgba: Pod {
    /// The number of stored steps per level.
    const STEPS: f32;

    /// Returns the levels (0 to 255) of red, green and blue.
    fn levels(self) -> Vec3;

    /// Converts a colour from 0 to 1 to an opaque pixel.
    fn from_fraction(colour: Vec3) -> Self;

    /// Rounds levels, and stores them as an opaque pixel. Levels outside 0 to 255 are clamped, and NaN becomes 0.
    ///
    /// This is a store instead of a conversion, because LLVM packs a pixel that a generic function returns with more
    /// instructions.
    ///
    /// # Safety
    /// The picture must contain `(x, y)`, and no other thread may access this pixel.
    unsafe fn store(picture: &ViewMut<Self>, x: u32, y: u32, levels: Vec3);
}

impl Rgba for Rgba8 {
    const STEPS: f32 = 1.0;

    #[device]
    fn levels(self) -> Vec3 {
        vec3(self.r.into(), self.g.into(), self.b.into())
    }

    #[device]
    fn from_fraction(colour: Vec3) -> Self {
        opaque(colour)
    }

    #[device]
    unsafe fn store(picture: &ViewMut<Self>, x: u32, y: u32, levels: Vec3) {
        let [r, g, b] = levels.to_array().map(GpuPower::to_u8_saturating);
        // SAFETY: the caller guarantees the conditions.
        unsafe { picture.store(x, y, Self::opaque(r, g, b)) };
    }
}

impl Rgba for Rgba16 {
    const STEPS: f32 = 257.0;

    #[device]
    fn levels(self) -> Vec3 {
        vec3(self.r.into(), self.g.into(), self.b.into()) * (1.0 / Self::STEPS)
    }

    #[device]
    fn from_fraction(colour: Vec3) -> Self {
        let [r, g, b] = (colour * 255.0).to_array().map(sixteen_bits);
        Self::opaque(r, g, b)
    }

    #[device]
    unsafe fn store(picture: &ViewMut<Self>, x: u32, y: u32, levels: Vec3) {
        let [r, g, b] = levels.to_array().map(sixteen_bits);
        // SAFETY: the caller guarantees the conditions.
        unsafe { picture.store(x, y, Self::opaque(r, g, b)) };
    }
}

/// Rounds a level to the nearest 16-bit step. Levels outside 0 to 255 are clamped, and NaN becomes 0.
#[device]
pub(crate) fn sixteen_bits(level: f32) -> u16 {
    #[expect(clippy::manual_clamp, reason = "a NaN becomes 0")]
    let level = level.max(0.0).min(255.0);
    // Storing 16 of the 32 bits of a sum with `WHOLE`, as in `opaque`, would be shorter. But with this store in a kernel, the
    // compiler in NVIDIA's driver 580 stored 65,535 for every sample of a channel (H200).
    level.mul_add(Rgba16::STEPS, 0.5) as u16
}
