//! Decodes JPEG strictly.
//!
//! Most JPEG decoders fill missing data with gray and report success, which is useful for viewers. However, a half-gray
//! camera picture must not be stitched. Therefore this module runs the decoder in strict mode. Before decoding, it
//! reads the markers up to the end marker, and rejects a file that is too short for its claimed number of pixels.
//!
//! JPEG has no checksum, so two faults stay undetected: damaged data that decodes without error, and data that is
//! missing just before the end marker.

use std::io::Read;
use std::path::Path;

use image::ColorType;
use image::metadata::Orientation;
use shared_types::Rgba8;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::io::picture::colour_space::of_profile;
use crate::io::picture::decoded::{Decoded, admit, convert, corrupt_because, memory};
use crate::io::picture::{MAX_SIDE, Picture, PictureError};

/// The maximum number of bytes of a JPEG file.
const MAX_BYTES: u64 = memory::<Rgba8>() / 4;

/// Reads and decodes a JPEG of `bytes` bytes. Error messages name `path`.
pub(crate) fn decode_jpeg(
    path: &Path,
    reader: impl Read,
    bytes: u64,
) -> Result<Picture, PictureError> {
    if bytes > MAX_BYTES {
        let reason = format!("the file has {bytes} bytes; a JPEG must have at most {MAX_BYTES}");
        return Err(corrupt_because(path, reason));
    }
    let mut content = Vec::with_capacity(bytes as usize);
    reader
        .take(bytes)
        .read_to_end(&mut content)
        .map_err(|source| PictureError::Unreadable { file: path.to_owned(), source })?;
    let Some(frame) = walk(&content) else {
        return Err(PictureError::Truncated { file: path.to_owned() });
    };
    let (width, height) = (u32::from(frame.width), u32::from(frame.height));
    if frame.scans > MAX_SCANS {
        return Err(corrupt_because(
            path,
            format!("{} scans; at most {MAX_SCANS} are allowed", frame.scans),
        ));
    }
    admit::<Rgba8>(path, width, height, ColorType::Rgb8, bytes)?;
    if !frame.first_is_finest {
        let reason = "the first component has fewer samples than another one".to_owned();
        return Err(corrupt_because(path, reason));
    }
    if !frame.fits() {
        let reason = format!("{bytes} bytes cannot hold {width}×{height} pixels");
        return Err(corrupt_because(path, reason));
    }
    let decoded =
        decode(&content, width, height).map_err(|reason| corrupt_because(path, reason))?;
    drop(content);
    convert(path, decoded)
}

fn decode(content: &[u8], width: u32, height: u32) -> Result<Decoded, String> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(content), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    if decoder.dimensions() != Some((width as usize, height as usize)) {
        return Err("the file has two frames of different sizes".to_owned());
    }
    let gray = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let (space, colour) = match gray {
        true => (ColorSpace::Luma, ColorType::L8),
        false => (ColorSpace::RGB, ColorType::Rgb8),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let orientation = decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif));
    let colour_space = decoder.icc_profile().and_then(|profile| of_profile(&profile));
    let bytes = width as usize * height as usize * usize::from(colour.bytes_per_pixel());
    let mut samples = vec![0; bytes];
    decoder.decode_into(&mut samples).map_err(|error| error.to_string())?;
    let orientation = orientation.unwrap_or(Orientation::NoTransforms);
    Ok(Decoded { width, height, colour, samples, orientation, colour_space })
}

/// The maximum number of scans in a progressive JPEG. Each scan takes a pass over the whole picture, so a small file
/// with many scans could keep the decoder busy for long. Encoders write about ten scans.
const MAX_SCANS: u32 = 32;

/// The size and coding of a picture from the last frame header of a file, and the amount of data in the file.
struct Frame {
    width: u16,
    height: u16,
    progressive: bool,
    /// Whether no component has more samples along an axis than the first one. All encoders write such files, and
    /// zune-jpeg 0.5 panics if there is no such limit.
    first_is_finest: bool,
    /// The number of scans in the file.
    scans: u32,
    /// The number of bytes outside segments. These are entropy-coded data and padding.
    entropy: usize,
}

impl Frame {
    /// Returns whether the file has enough entropy-coded data for the frame's pixels. Each 8×8 block of the first
    /// component needs at least one bit for its mean. In a JPEG that is not progressive, each of these blocks needs
    /// another bit for its end.
    fn fits(&self) -> bool {
        let blocks = usize::from(self.width).div_ceil(8) * usize::from(self.height).div_ceil(8);
        self.entropy * 8 >= blocks * if self.progressive { 1 } else { 2 }
    }
}

/// Returns whether the first component of a frame header has the highest sampling factors along both axes. `components`
/// begins with their number, followed by three bytes each.
fn first_is_finest(components: &[u8]) -> bool {
    let Some((&number, components)) = components.split_first() else { return false };
    let factors = components.chunks_exact(3).take(number.into()).map(|c| [c[1] >> 4, c[1] & 15]);
    let first = factors.clone().next().unwrap_or_default();
    factors.into_iter().all(|factors| factors[0] <= first[0] && factors[1] <= first[1])
}

/// Reads all markers (ITU-T T.81, annex B) and returns the last frame header, or `None` if the file has no end marker.
fn walk(content: &[u8]) -> Option<Frame> {
    let mut frame = Frame {
        width: 0,
        height: 0,
        progressive: false,
        first_is_finest: true,
        scans: 0,
        entropy: 0,
    };
    let mut at = 2; // after the start-of-image marker
    loop {
        // Bytes between segments are entropy-coded data or padding. In the data, 0xFF00 stands for the byte 0xFF, and
        // 0xFFD0 to 0xFFD7 are restart markers.
        let data = content.get(at..)?.iter().position(|&byte| byte == 0xFF)?;
        frame.entropy += data;
        at += data + 1;
        match content.get(at)? {
            0xD9 => return Some(frame),
            0xFF => {}
            0x00 | 0x01 | 0xD0..=0xD8 => {
                frame.entropy += 2;
                at += 1;
            }
            kind => {
                let &[high, low] = content.get(at + 1..at + 3)?.as_array()?;
                // The start-of-frame markers are 0xC0 to 0xCF, except DHT (0xC4), JPG (0xC8) and DAC (0xCC).
                if matches!(kind, 0xC0..=0xCF) && !matches!(kind, 0xC4 | 0xC8 | 0xCC) {
                    let &[h1, h0, w1, w0] = content.get(at + 4..at + 8)?.as_array()?;
                    frame = Frame {
                        width: u16::from_be_bytes([w1, w0]),
                        height: u16::from_be_bytes([h1, h0]),
                        progressive: *kind == 0xC2,
                        first_is_finest: first_is_finest(content.get(at + 8..)?),
                        ..frame
                    };
                }
                frame.scans += u32::from(*kind == 0xDA);
                at += 1 + usize::from(u16::from_be_bytes([high, low])).max(2);
            }
        }
    }
}
