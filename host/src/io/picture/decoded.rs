//! The steps that PNG and JPEG share: the check of the memory limit, and the conversion of samples to an upright RGBA
//! picture.

use crate::io::picture::{MAX_SIDE, Picture, PictureError, Pixel};
use shared_types::{Rgba8, Rgba16};
use std::path::Path;

/// Returns the maximum memory for decoding one picture, in bytes: 248 MiB with 8 bits per channel, and twice as much
/// with
/// 16. An RGB picture of 7680×4320 pixels (8K) takes 222 MiB or 443 MiB.
pub(crate) const fn memory<P>() -> u64 {
    (62 << 20) * size_of::<P>() as u64
}

/// The samples of a decoded pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Samples {
    /// 1 is gray, 2 gray and alpha, 3 RGB, 4 RGBA.
    pub(crate) channels: u8,
    /// The bits of a sample: 8 or 16.
    pub(crate) bits: u8,
}

impl Samples {
    /// Returns the samples of a pixel type.
    pub(crate) fn of<P: Pixel>() -> Self {
        Self { channels: 4, bits: P::BITS }
    }

    /// Returns the number of bytes of a pixel.
    pub(crate) fn bytes(self) -> usize {
        usize::from(self.channels) * usize::from(self.bits) / 8
    }
}

/// A picture as the decoder returns it, before conversion to RGBA.
pub(crate) struct Decoded {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) colour: Samples,
    /// The bytes of the pixels, row by row from the top, without padding. 16-bit samples are in native byte order.
    pub(crate) samples: Vec<u8>,
    /// The EXIF orientation, from 1 to 8.
    pub(crate) orientation: u8,
    /// The colour space, if it is not sRGB.
    pub(crate) colour_space: Option<String>,
}

/// Rejects a picture that is too large, before memory is allocated for it. `held` is the number of bytes that the
/// caller has already allocated.
pub(crate) fn admit<P: Pixel>(
    path: &Path,
    width: u32,
    height: u32,
    colour: Samples,
    held: u64,
) -> Result<(), PictureError> {
    let file = || path.to_owned();
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(PictureError::TooLarge { file: file(), width, height });
    }
    // Samples of the resulting type are decoded directly into the resulting picture, so they need no buffer of their
    // own.
    let native = if colour == Samples::of::<P>() { 0 } else { colour.bytes() as u64 };
    let bytes = u64::from(width) * u64::from(height) * (native + size_of::<P>() as u64) + held;
    let limit = memory::<P>();
    if bytes > limit {
        return Err(PictureError::TooMuchMemory { file: file(), width, height, limit });
    }
    Ok(())
}

/// Converts decoded samples to an upright RGBA picture.
pub(crate) fn convert<P: Pixel>(path: &Path, decoded: Decoded) -> Result<Picture<P>, PictureError> {
    let Decoded { width, height, colour, samples, orientation, colour_space } = decoded;
    let pixels = to_rgba(&samples, colour)
        .ok_or_else(|| corrupt_because(path, format!("unsupported pixels: {colour:?}")))?;
    drop(samples);
    let picture = assemble(path, width, height, pixels, orientation)?;
    Ok(Picture { stored_bits: colour.bits, colour_space, ..picture })
}

pub(super) fn assemble<P: Pixel>(
    path: &Path,
    width: u32,
    height: u32,
    pixels: Vec<P>,
    orientation: u8,
) -> Result<Picture<P>, PictureError> {
    let (width, height, pixels) = upright(width, height, pixels, orientation);
    Picture::from_pixels(width, height, pixels).ok_or_else(|| {
        corrupt_because(path, "the number of pixels differs from its size".to_owned())
    })
}

/// Converts samples of any PNG or JPEG pixel type to RGBA. Returns `None` for other types.
pub(super) fn to_rgba<P: Pixel>(samples: &[u8], colour: Samples) -> Option<Vec<P>> {
    fn each<P: From<S>, S>(
        samples: &[u8],
        bytes: usize,
        pixel: impl Fn(&[u8]) -> S,
    ) -> Option<Vec<P>> {
        Some(samples.chunks_exact(bytes).map(|samples| pixel(samples).into()).collect())
    }
    let gray = |g, a| Rgba8 { r: g, g, b: g, a };
    let gray_16 = |g, a| Rgba16 { r: g, g, b: g, a };
    let wide =
        |samples: &[u8], at: usize| u16::from_ne_bytes([samples[2 * at], samples[2 * at + 1]]);
    match (colour.channels, colour.bits) {
        (1, 8) => each(samples, 1, |s| gray(s[0], 255)),
        (2, 8) => each(samples, 2, |s| gray(s[0], s[1])),
        (3, 8) => each(samples, 3, |s| Rgba8::opaque(s[0], s[1], s[2])),
        (4, 8) => each(samples, 4, |s| Rgba8 { r: s[0], g: s[1], b: s[2], a: s[3] }),
        (1, 16) => each(samples, 2, |s| gray_16(wide(s, 0), u16::MAX)),
        (2, 16) => each(samples, 4, |s| gray_16(wide(s, 0), wide(s, 1))),
        (3, 16) => each(samples, 6, |s| Rgba16::opaque(wide(s, 0), wide(s, 1), wide(s, 2))),
        (4, 16) => each(samples, 8, |s| {
            let [r, g, b, a] = [0, 1, 2, 3].map(|channel| wide(s, channel));
            Rgba16 { r, g, b, a }
        }),
        _ => None,
    }
}

/// Rotates and mirrors a picture as its EXIF orientation requires (TIFF 6.0, tag 0x0112). Returns the new width, height
/// and pixels.
pub(super) fn upright<P: Copy>(
    width: u32,
    height: u32,
    pixels: Vec<P>,
    orientation: u8,
) -> (u32, u32, Vec<P>) {
    // `place` maps pixel (x, y) of the result to its position in the stored picture. `right` and `down` are the last
    // column and row of the stored picture.
    let (right, down) = (width.saturating_sub(1), height.saturating_sub(1));
    type Place = fn(u32, u32, u32, u32) -> (u32, u32);
    let (turned, place): (bool, Place) = match orientation {
        2 => (false, |x, y, right, _| (right - x, y)),
        3 => (false, |x, y, right, down| (right - x, down - y)),
        4 => (false, |x, y, _, down| (x, down - y)),
        5 => (true, |x, y, _, _| (y, x)),
        6 => (true, |x, y, _, down| (y, down - x)),
        7 => (true, |x, y, right, down| (right - y, down - x)),
        8 => (true, |x, y, right, _| (right - y, x)),
        _ => return (width, height, pixels),
    };
    let (new_width, new_height) = if turned { (height, width) } else { (width, height) };
    let mut result = Vec::with_capacity(pixels.len());
    for y in 0..new_height {
        for x in 0..new_width {
            let (from_x, from_y) = place(x, y, right, down);
            result.push(pixels[from_y as usize * width as usize + from_x as usize]);
        }
    }
    (new_width, new_height, result)
}

pub(crate) fn corrupt_because(path: &Path, reason: String) -> PictureError {
    PictureError::Corrupt { file: path.to_owned(), reason }
}
