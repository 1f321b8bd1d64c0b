//! The steps that PNG and JPEG share: the check of the memory limit, and the conversion of samples to an upright RGBA
//! picture.

use crate::io::picture::{MAX_SIDE, Picture, PictureError, one_line};
use image::metadata::Orientation;
use image::{ColorType, ImageError};
use shared_types::Rgba8;
use std::io::{self};
use std::path::Path;

/// The maximum memory for decoding one picture, in bytes. An RGB picture of 7680×4320 pixels (8K) takes 222 MiB.
pub(crate) const MEMORY: u64 = 248 << 20;

/// A picture as the decoder returns it, before conversion to RGBA.
pub(crate) struct Decoded {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The channels and the bits per channel of the pixels in `samples`.
    pub(crate) colour: ColorType,
    /// The bytes of the pixels, row by row from the top, without padding. 16-bit samples are in native byte order.
    pub(crate) samples: Vec<u8>,
    /// The rotation and mirroring that make the picture upright.
    pub(crate) orientation: Orientation,
}

/// Rejects a picture that is too large, before memory is allocated for it. `held` is the number of bytes that the
/// caller has already allocated.
pub(crate) fn admit(
    path: &Path,
    width: u32,
    height: u32,
    colour: ColorType,
    held: u64,
) -> Result<(), PictureError> {
    let file = || path.to_owned();
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(PictureError::TooLarge { file: file(), width, height });
    }
    // RGBA8 samples are decoded directly into the resulting picture, so they need no buffer of their own.
    let native = if colour == ColorType::Rgba8 { 0 } else { u64::from(colour.bytes_per_pixel()) };
    let bytes = u64::from(width) * u64::from(height) * (native + 4) + held;
    if bytes > MEMORY {
        return Err(PictureError::TooMuchMemory { file: file(), width, height, limit: MEMORY });
    }
    Ok(())
}

/// Converts decoded samples to an upright RGBA picture.
pub(crate) fn convert(path: &Path, decoded: Decoded) -> Result<Picture, PictureError> {
    let Decoded { width, height, colour, samples, orientation } = decoded;
    let pixels = to_rgba(&samples, colour)
        .ok_or_else(|| corrupt_because(path, format!("unsupported pixel type {colour:?}")))?;
    drop(samples);
    let picture = assemble(path, width, height, pixels, orientation)?;
    let bits = 8 * (colour.bytes_per_pixel() / colour.channel_count());
    Ok(Picture { stored_bits: bits, ..picture })
}

pub(super) fn assemble(
    path: &Path,
    width: u32,
    height: u32,
    pixels: Vec<Rgba8>,
    orientation: Orientation,
) -> Result<Picture, PictureError> {
    let (width, height, pixels) = upright(width, height, pixels, orientation);
    Picture::from_pixels(width, height, pixels).ok_or_else(|| {
        corrupt_because(path, "the number of pixels differs from its size".to_owned())
    })
}

/// Converts samples of any PNG or JPEG pixel type to RGBA. Returns `None` for other types.
pub(super) fn to_rgba(samples: &[u8], colour: ColorType) -> Option<Vec<Rgba8>> {
    fn wide(samples: &[u8], at: usize) -> u8 {
        let value = u32::from(u16::from_ne_bytes([samples[2 * at], samples[2 * at + 1]]));
        // Divide by 257 and round to nearest, because 65535 is 257 × 255.
        ((value + 128) / 257) as u8
    }
    fn each(samples: &[u8], bytes: usize, pixel: impl Fn(&[u8]) -> [u8; 4]) -> Option<Vec<Rgba8>> {
        let to_pixel = |s| {
            let [r, g, b, a] = pixel(s);
            Rgba8 { r, g, b, a }
        };
        Some(samples.chunks_exact(bytes).map(to_pixel).collect())
    }
    match colour {
        ColorType::L8 => each(samples, 1, |s| [s[0], s[0], s[0], 255]),
        ColorType::La8 => each(samples, 2, |s| [s[0], s[0], s[0], s[1]]),
        ColorType::Rgb8 => each(samples, 3, |s| [s[0], s[1], s[2], 255]),
        ColorType::L16 => each(samples, 2, |s| [wide(s, 0), wide(s, 0), wide(s, 0), 255]),
        ColorType::La16 => each(samples, 4, |s| [wide(s, 0), wide(s, 0), wide(s, 0), wide(s, 1)]),
        ColorType::Rgb16 => each(samples, 6, |s| [wide(s, 0), wide(s, 1), wide(s, 2), 255]),
        ColorType::Rgba16 => each(samples, 8, |s| [wide(s, 0), wide(s, 1), wide(s, 2), wide(s, 3)]),
        _ => None,
    }
}

/// Rotates and mirrors a picture as its EXIF orientation requires (TIFF 6.0, tag 0x0112). Returns the new width, height
/// and pixels.
pub(super) fn upright(
    width: u32,
    height: u32,
    pixels: Vec<Rgba8>,
    orientation: Orientation,
) -> (u32, u32, Vec<Rgba8>) {
    // `place` maps pixel (x, y) of the result to its position in the stored picture. `right` and `down` are the last
    // column and row of the stored picture.
    let (right, down) = (width.saturating_sub(1), height.saturating_sub(1));
    type Place = fn(u32, u32, u32, u32) -> (u32, u32);
    let (turned, place): (bool, Place) = match orientation {
        Orientation::NoTransforms => return (width, height, pixels),
        Orientation::FlipHorizontal => (false, |x, y, right, _| (right - x, y)),
        Orientation::Rotate180 => (false, |x, y, right, down| (right - x, down - y)),
        Orientation::FlipVertical => (false, |x, y, _, down| (x, down - y)),
        Orientation::Rotate90FlipH => (true, |x, y, _, _| (y, x)),
        Orientation::Rotate90 => (true, |x, y, _, down| (y, down - x)),
        Orientation::Rotate270FlipH => (true, |x, y, right, down| (right - y, down - x)),
        Orientation::Rotate270 => (true, |x, y, right, _| (right - y, x)),
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

pub(super) fn corrupt(path: &Path, error: ImageError) -> PictureError {
    let file = path.to_owned();
    match error {
        ImageError::IoError(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            PictureError::Truncated { file }
        }
        ImageError::IoError(source) => PictureError::Unreadable { file, source },
        other => PictureError::Corrupt { file, reason: one_line(&other) },
    }
}
