//! Pixel formats as they lie in memory.

use bytemuck::{Pod, Zeroable};

/// Four 8-bit channels, red first.
///
/// Aligned to 4 bytes so that a pixel is one 32-bit load or store on the GPU; an `[u8; 4]` would be
/// four byte loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(4))]
pub struct Rgba8 {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
    /// Opacity; 255 is opaque.
    pub a: u8,
}

impl Rgba8 {
    /// What the panorama shows where no camera looks.
    pub const BLACK: Self = Self::opaque(0, 0, 0);

    /// An opaque colour.
    #[must_use]
    pub const fn opaque(r: u8, g: u8, b: u8) -> Self {
        Self { r, g, b, a: 255 }
    }
}

/// A chroma sample of NV12: blue difference, red difference.
///
/// Aligned so that it is one 16-bit load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(2))]
pub struct Chroma {
    /// Cb.
    pub u: u8,
    /// Cr.
    pub v: u8,
}

#[cfg(not(target_arch = "nvptx64"))]
mod texels {
    use cuda_std::Texel;
    use cuda_std::cpu::texture::Channel;

    use super::{Chroma, Rgba8};

    // SAFETY: four bytes.
    unsafe impl Texel for Rgba8 {
        const CHANNEL: Channel = Channel::U8;
    }

    // SAFETY: two bytes.
    unsafe impl Texel for Chroma {
        const CHANNEL: Channel = Channel::U8;
    }
}
