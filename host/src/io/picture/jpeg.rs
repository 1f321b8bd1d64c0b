//! Decodes JPEG strictly.
//!
//! Most JPEG decoders fill missing data with gray and report success, which is useful for viewers. However, a half-gray
//! camera picture must not be stitched. Therefore this module runs the decoder in strict mode. Before decoding, it
//! reads the markers up to the end marker, and rejects a file that is too short for its claimed number of pixels.
//!
//! The decoder reads zeros after the end marker, also in strict mode. In a file with one scan that is not progressive,
//! this module therefore inserts bytes before the end marker that are not a code. They are an error if the decoder
//! needs them, and complete files end before them.
//!
//! JPEG has no checksum, so two faults stay undetected: damaged data that decodes without error, and data that is
//! missing just before the end marker. The latter is the case in a progressive JPEG, in one with several scans, after a
//! complete restart interval, and if only the last few bytes are missing.

use std::io::Read;
use std::path::Path;

use shared_types::Rgba8;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::io::picture::colour_space::of_profile;
use crate::io::picture::decoded::{Decoded, Samples, admit, convert, corrupt_because, memory};
use crate::io::picture::exif;
use crate::io::picture::{MAX_SIDE, Picture, PictureError};

/// The maximum number of bytes of a JPEG file.
const MAX_BYTES: u64 = memory::<Rgba8>() / 4;

/// Bytes to insert before the end marker. In the Huffman codes of JPEG, no code consists of ones only. The zeros accept
/// files that lack a few bits, which is not visible.
const GUARD: [u8; 36] = {
    let mut guard = [0; 36];
    let mut i = 4;
    while i < guard.len() {
        guard[i] = 0xFF;
        i += 2;
    }
    guard
};

/// The end marker.
const END: [u8; 2] = [0xFF, 0xD9];

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
    let mut content = Vec::with_capacity(bytes as usize + GUARD.len());
    reader
        .take(bytes)
        .read_to_end(&mut content)
        .map_err(|source| PictureError::Unreadable { file: path.to_owned(), source })?;
    let Some(frame) = walk(&mut content) else {
        return Err(PictureError::Truncated { file: path.to_owned() });
    };
    let (width, height) = (u32::from(frame.width), u32::from(frame.height));
    if frame.scans > MAX_SCANS {
        return Err(corrupt_because(
            path,
            format!("{} scans; at most {MAX_SCANS} are allowed", frame.scans),
        ));
    }
    admit::<Rgba8>(path, width, height, Samples { channels: 3, bits: 8 }, bytes)?;
    if !frame.first_is_finest {
        let reason = "the first component has fewer samples than another one".to_owned();
        return Err(corrupt_because(path, reason));
    }
    if !frame.fits() {
        let reason = format!("{bytes} bytes cannot hold {width}×{height} pixels");
        return Err(corrupt_because(path, reason));
    }
    content.truncate(frame.end);
    let is_guarded = !frame.progressive && frame.scans == 1;
    if is_guarded {
        content.extend(GUARD);
    }
    content.extend(END);
    let decoded = decode(&content, width, height).map_err(|reason| {
        content.truncate(frame.end);
        content.extend(END);
        match is_guarded && decode(&content, width, height).is_ok() {
            true => PictureError::Truncated { file: path.to_owned() },
            false => corrupt_because(path, reason),
        }
    })?;
    drop(content);
    convert(path, decoded)
}

fn decode(content: &[u8], width: u32, height: u32) -> Result<Decoded, String> {
    // The decoder counts the end marker as another scan.
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize)
        .jpeg_set_max_scans(MAX_SCANS as usize + 1);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(content), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    if decoder.dimensions() != Some((width as usize, height as usize)) {
        return Err("the file has two frames of different sizes".to_owned());
    }
    let gray = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let (space, channels) = if gray { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let orientation = decoder.exif().and_then(|exif| exif::orientation(exif)).unwrap_or(1);
    let colour_space = decoder.icc_profile().and_then(|profile| of_profile(&profile));
    let colour = Samples { channels, bits: 8 };
    let mut samples = vec![0; width as usize * height as usize * colour.bytes()];
    decoder.decode_into(&mut samples).map_err(|error| error.to_string())?;
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
    /// The position of the end marker.
    end: usize,
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
///
/// zune-jpeg 0.5 reads one byte too many of an APP0 segment with 4 bytes, and would find other markers than this
/// function. Such a segment becomes a comment.
fn walk(content: &mut [u8]) -> Option<Frame> {
    let mut frame = Frame {
        width: 0,
        height: 0,
        progressive: false,
        first_is_finest: true,
        scans: 0,
        end: 0,
        entropy: 0,
    };
    let mut at = 2; // after the start-of-image marker
    loop {
        // Bytes between segments are entropy-coded data or padding. In the data, 0xFF00 stands for the byte 0xFF, and
        // 0xFFD0 to 0xFFD7 are restart markers.
        let data = content.get(at..)?.iter().position(|&byte| byte == 0xFF)?;
        frame.entropy += data;
        at += data + 1;
        match *content.get(at)? {
            0xD9 => return Some(Frame { end: at - 1, ..frame }),
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
                        progressive: kind == 0xC2,
                        first_is_finest: first_is_finest(content.get(at + 8..)?),
                        ..frame
                    };
                }
                frame.scans += u32::from(kind == 0xDA);
                let length = u16::from_be_bytes([high, low]);
                if kind == 0xE0 && length == 6 {
                    content[at] = 0xFE;
                }
                at += 1 + usize::from(length).max(2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jpeg_encoder::{ColorType, Encoder};

    use super::*;

    /// Returns a JPEG of 40×32 pixels with the levels of `level`.
    fn jpeg(colour: ColorType, level: impl Fn(usize) -> u8) -> Vec<u8> {
        let mut file = Vec::new();
        let channels = if colour == ColorType::Luma { 1 } else { 3 };
        let levels: Vec<_> = (0..40 * 32 * channels).map(level).collect();
        Encoder::new(&mut file, 75).encode(&levels, 40, 32, colour).unwrap();
        file
    }

    fn open(file: &[u8]) -> Result<Picture, PictureError> {
        decode_jpeg(Path::new("a.jpg"), file, file.len() as u64)
    }

    /// Returns the position after the bytes `marker` and the segment that they begin.
    fn after_segment(file: &[u8], marker: [u8; 2]) -> usize {
        let at = file.windows(2).position(|two| two == marker).unwrap() + 2;
        at + usize::from(u16::from_be_bytes([file[at], file[at + 1]]))
    }

    /// The decoder would read the comment as an end marker, if it read five bytes of the APP0 segment.
    #[test]
    fn the_decoder_finds_the_same_markers() {
        let whole = jpeg(ColorType::Luma, |i| i as u8);
        let short = [0xFF, 0xE0, 0, 6, 1, 2, 3, 4];
        let comment = [0xFF, 0xFE, 0, 4, 0xFF, 0xD9];
        let hidden = [&whole[..2], &short, &comment, &whole[2..]].concat();
        assert_eq!(open(&hidden).unwrap().pixels(), open(&whole).unwrap().pixels());
    }

    #[test]
    fn data_before_the_end_marker_must_be_complete() {
        let noise = |i: usize| (i * i * 7919 % 251) as u8;
        for colour in [ColorType::Luma, ColorType::Rgb] {
            let whole = jpeg(colour, noise);
            assert!(open(&whole).is_ok());
            // The zeros of the guard can complete the last 8×8 pixels, which are up to 54 bytes here.
            let data = after_segment(&whole, [0xFF, 0xDA]);
            for length in data..whole.len() - 64 {
                let cut = [&whole[..length], &END].concat();
                assert!(open(&cut).is_err(), "{colour:?}: {length} of {}", whole.len());
            }
            let half = [&whole[..whole.len() / 2], &END].concat();
            assert!(matches!(open(&half), Err(PictureError::Truncated { .. })), "{colour:?}");
            // A height that was increased needs more data.
            let mut high = whole.clone();
            let frame = whole.windows(2).position(|two| two == [0xFF, 0xC0]).unwrap();
            high[frame + 5..frame + 7].copy_from_slice(&[0, 64]);
            assert!(matches!(open(&high), Err(PictureError::Truncated { .. })), "{colour:?}");
        }
    }

    #[test]
    fn unusual_but_complete_files_open() {
        let level = |i: usize| (i / 40 % 17 * 15) as u8;
        let gray = jpeg(ColorType::Luma, level);
        let expected = open(&gray).unwrap();
        // Fill bytes before the end marker, and bytes after it.
        let end = gray.len() - 2;
        let filled = [&gray[..end], &[0xFF; 3], &END, b"more"].concat();
        // The sampling factors do not count if there is one component.
        let mut sampled = gray.clone();
        let frame = gray.windows(2).position(|two| two == [0xFF, 0xC0]).unwrap();
        sampled[frame + 11] = 0x22;
        for file in [filled, sampled] {
            assert_eq!(open(&file).unwrap(), expected);
        }
        // The blocks of a picture of one colour have the fewest bits.
        for colour in [ColorType::Luma, ColorType::Rgb] {
            assert!(open(&jpeg(colour, |_| 0)).is_ok(), "{colour:?}");
        }
    }
}
