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

/// Four 16-bit channels, red first, for still pictures.
///
/// Aligned to 8 bytes so that a pixel is one 64-bit load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct Rgba16 {
    /// Red.
    pub r: u16,
    /// Green.
    pub g: u16,
    /// Blue.
    pub b: u16,
    /// The opacity: 0 is transparent, and 65,535 is opaque.
    pub a: u16,
}

impl Rgba16 {
    /// Opaque black, the colour of panorama pixels that no camera sees.
    pub const BLACK: Self = Self::opaque(0, 0, 0);

    /// Returns the opaque colour with these levels of red, green and blue.
    #[must_use]
    pub const fn opaque(r: u16, g: u16, b: u16) -> Self {
        Self { r, g, b, a: u16::MAX }
    }
}

impl From<Rgba8> for Rgba16 {
    /// Widens each channel without loss: multiplies it by 257, because 65,535 is 257 × 255.
    fn from(Rgba8 { r, g, b, a }: Rgba8) -> Self {
        let [r, g, b, a] = [r, g, b, a].map(|channel| 257 * u16::from(channel));
        Self { r, g, b, a }
    }
}

impl From<Rgba16> for Rgba8 {
    /// Rounds each channel to the nearest 8-bit level.
    fn from(Rgba16 { r, g, b, a }: Rgba16) -> Self {
        let [r, g, b, a] = [r, g, b, a].map(|channel| ((u32::from(channel) + 128) / 257) as u8);
        Self { r, g, b, a }
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
