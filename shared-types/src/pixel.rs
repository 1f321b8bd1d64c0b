//! Pixel formats in memory.

use bytemuck::{Pod, Zeroable};

/// Four 8-bit channels, red first.
///
/// Aligned to 4 bytes so that a pixel is one 32-bit load or store on the GPU; a `[u8; 4]` would be four byte loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(4))]
pub struct Rgba8 {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
    /// The opacity: 0 is transparent, and 255 is opaque.
    pub a: u8,
}

impl Rgba8 {
    /// Opaque black, the colour of panorama pixels that no camera sees.
    pub const BLACK: Self = Self::opaque(0, 0, 0);

    /// Returns the opaque colour with these levels of red, green and blue.
    #[must_use]
    pub const fn opaque(r: u8, g: u8, b: u8) -> Self {
        Self { r, g, b, a: 255 }
    }
}

/// An NV12 chroma sample: the blue difference (Cb), followed by the red difference (Cr).
///
/// Aligned so that a sample is one 16-bit load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(2))]
pub struct Chroma {
    /// Cb.
    pub u: u8,
    /// Cr.
    pub v: u8,
}

/// A P010 chroma sample: the blue difference (Cb), followed by the red difference (Cr). Each is in the upper 10 bits.
///
/// Aligned so that a sample is one 32-bit load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(4))]
pub struct Chroma10 {
    /// Cb.
    pub u: u16,
    /// Cr.
    pub v: u16,
}

#[cfg(not(target_arch = "nvptx64"))]
mod texels {
    use cuda_std::Texel;
    use cuda_std::cpu::texture::Channel;

    use super::{Chroma, Chroma10, Rgba8};

    // SAFETY: `Rgba8` consists of four `u8` channels and nothing else.
    unsafe impl Texel for Rgba8 {
        const CHANNEL: Channel = Channel::U8;
    }

    // SAFETY: `Chroma` consists of two `u8` channels and nothing else.
    unsafe impl Texel for Chroma {
        const CHANNEL: Channel = Channel::U8;
    }

    // SAFETY: `Chroma10` consists of two `u16` channels and nothing else.
    unsafe impl Texel for Chroma10 {
        const CHANNEL: Channel = Channel::U16;
    }
}
