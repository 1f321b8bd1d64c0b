//! Decodes PNG, after a check of the lengths of its chunks.
//!
//! The PNG decoder inflates texts and colour profiles into memory, although panoweave does not use them. It also splits
//! a palette into entries without checking its length. Therefore this module first reads all chunk headers and rejects
//! files with chunks that are too long. The decoder checks the contents of the chunks.
//!
//! The decoder also draws pixels black whose palette index exceeds the palette. This module rejects them.

use std::io::{BufRead, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use png::{BitDepth, ColorType, DecodingError, Transformations};
use shared_types::{Rgba8, Rgba16};

use crate::io::picture::colour_space::of_png;
use crate::io::picture::decoded::{
    Decoded, Samples, admit, assemble, convert, corrupt_because, memory,
};
use crate::io::picture::exif;
use crate::io::picture::{Picture, PictureError, Pixel, StoredPicture, one_line};

/// The number of bytes of the PNG signature, which comes before the first chunk.
const SIGNATURE: u64 = 8;

/// The number of bytes of a chunk besides its content: length (4) and type (4) before the content, and checksum (4)
/// after it.
const FRAME: u64 = 12;

/// The maximum number of chunks. The largest picture that can be decoded has fewer chunks, even if each chunk contains
/// only 4 KiB.
const MAX_CHUNKS: u32 = 1 << 18;

/// The maximum number of bytes of all text chunks together, and of each other chunk except picture data and EXIF. A
/// text or colour profile may be compressed; inflating it makes it at most about 1000 times as long, which is 128 MiB.
const MAX_TEXT: u64 = 128 << 10;

/// Reads and decodes a PNG of `bytes` bytes. The result has 16 bits per channel if the file has and `keep_depth` is
/// set. Error messages name `path`.
pub(crate) fn decode_png(
    path: &Path,
    mut reader: impl BufRead + Seek,
    bytes: u64,
    keep_depth: bool,
) -> Result<StoredPicture, PictureError> {
    let late =
        look_and_rewind(&mut reader, bytes).map_err(|reason| corrupt_because(path, reason))?;
    check_palette(path, &mut reader)?;
    let bytes = if keep_depth { memory::<Rgba16>() } else { memory::<Rgba8>() };
    let mut decoder = png::Decoder::new_with_limits(reader, png::Limits { bytes: bytes as usize });
    decoder.set_ignore_text_chunk(true);
    decoder.set_transformations(Transformations::EXPAND);
    let pixels = decoder.read_info().map_err(|error| corrupt(path, error))?;
    if keep_depth && pixels.output_color_type().1 == BitDepth::Sixteen {
        return Ok(StoredPicture::Rgba16(decode_pixels(path, pixels, late)?));
    }
    Ok(StoredPicture::Rgba8(decode_pixels(path, pixels, late)?))
}

/// Decodes the pixels of a PNG. `late` is the EXIF data after the pixels, if any.
fn decode_pixels<P: Pixel>(
    path: &Path,
    mut reader: png::Reader<impl BufRead + Seek>,
    late: Option<Vec<u8>>,
) -> Result<Picture<P>, PictureError> {
    let (colour, depth) = reader.output_color_type();
    let colour = Samples { channels: colour.samples() as u8, bits: depth as u8 };
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    admit::<P>(path, width, height, colour, 0)?;
    let colour_space = of_png(info, info.icc_profile.as_deref());
    let exif = late.as_deref().or(info.exif_metadata.as_deref());
    let orientation = exif.and_then(exif::orientation).unwrap_or(1);
    let mut decode = |bytes: &mut [u8]| {
        reader.next_frame(bytes).map_err(|error| corrupt(path, error))?;
        if colour.bits == 16 {
            // A PNG has the high byte first.
            bytes.as_chunks_mut().0.iter_mut().for_each(|sample| {
                *sample = u16::from_be_bytes(*sample).to_ne_bytes();
            });
        }
        Ok(())
    };
    if colour == Samples::of::<P>() {
        let mut pixels = vec![P::default(); width as usize * height as usize];
        decode(bytemuck::cast_slice_mut(&mut pixels))?;
        let picture = assemble(path, width, height, pixels, orientation)?;
        return Ok(Picture { colour_space, ..picture });
    }
    let mut samples = vec![0; width as usize * height as usize * colour.bytes()];
    decode(&mut samples)?;
    convert(path, Decoded { width, height, colour, samples, orientation, colour_space })
}

fn corrupt(path: &Path, error: DecodingError) -> PictureError {
    let file = path.to_owned();
    match error {
        DecodingError::IoError(e) if e.kind() == ErrorKind::UnexpectedEof => {
            PictureError::Truncated { file }
        }
        DecodingError::IoError(source) => PictureError::Unreadable { file, source },
        other => corrupt_because(path, one_line(&other)),
    }
}

/// Rejects a palette index without an entry in the palette, and rewinds the reader. Reads the pixels only if the palette
/// is shorter than the range of the indices. Other errors are left to the decoder, which reports them with a better
/// message.
fn check_palette(path: &Path, reader: &mut (impl BufRead + Seek)) -> Result<(), PictureError> {
    let mut decoder = png::Decoder::new(&mut *reader);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    if let Ok(mut pixels) = decoder.read_info() {
        check_indices(path, &mut pixels)?;
    }
    let unreadable = |source| PictureError::Unreadable { file: path.to_owned(), source };
    reader.rewind().map_err(unreadable)
}

/// Rejects a palette index without an entry in the palette.
fn check_indices(
    path: &Path,
    pixels: &mut png::Reader<impl BufRead + Seek>,
) -> Result<(), PictureError> {
    let info = pixels.info();
    let (width, height, bits) = (info.width, info.height, info.bit_depth as usize);
    let entries = info.palette.as_ref().map_or(0, |palette| palette.len() / 3);
    if info.color_type != ColorType::Indexed || entries >= 1 << bits {
        return Ok(());
    }
    admit::<Rgba8>(path, width, height, Samples { channels: 3, bits: 8 }, 0)?;
    let Some(mut indices) = pixels.output_buffer_size().map(|bytes| vec![0; bytes]) else {
        return Ok(());
    };
    let Ok(frame) = pixels.next_frame(&mut indices) else { return Ok(()) };
    for (y, row) in indices.chunks_exact(frame.line_size).enumerate() {
        for x in 0..width as usize {
            let end = (x + 1) * bits;
            let index = usize::from(row[(end - 1) / 8]) >> ((8 - end % 8) % 8) & ((1 << bits) - 1);
            if index >= entries {
                return Err(corrupt_because(
                    path,
                    format!(
                        "pixel ({x}, {y}) has the palette index {index}, but the palette has {entries} entries; save the picture again"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Checks the chunks of a PNG like [`look`], and rewinds the reader.
fn look_and_rewind(reader: &mut (impl Read + Seek), bytes: u64) -> Result<Option<Vec<u8>>, String> {
    let found = look(reader, bytes);
    reader.rewind().map_err(|error| error.to_string())?;
    found
}

/// Returns the EXIF data after the pixels, if any, which the decoder ignores. Fails with the reason to reject the file
/// if a chunk is not acceptable.
fn look(reader: &mut (impl Read + Seek), bytes: u64) -> Result<Option<Vec<u8>>, String> {
    let (mut at, mut text) = (SIGNATURE, 0);
    let (mut is_after_pixels, mut exif) = (false, None);
    for _ in 0..MAX_CHUNKS {
        let mut header = [0; 8];
        // Do not reject a truncated or unreadable file here, because the decoder reports it with a better message.
        if reader.seek(SeekFrom::Start(at)).is_err() || reader.read_exact(&mut header).is_err() {
            return Ok(exif);
        }
        let [a, b, c, d, kind @ ..] = header;
        let length = u64::from(u32::from_be_bytes([a, b, c, d]));
        match &kind {
            b"IEND" => return Ok(exif),
            b"IDAT" => is_after_pixels = true,
            b"eXIf" if is_after_pixels && length <= MAX_TEXT => {
                let mut content = vec![0; length as usize];
                exif = reader.read_exact(&mut content).is_ok().then_some(content);
            }
            b"PLTE" if length % 3 != 0 || length > 768 => {
                return Err(format!(
                    "the palette has {length} bytes; it must have 3 per entry and at most 256 entries"
                ));
            }
            b"tEXt" | b"zTXt" | b"iTXt" => text += length,
            b"iCCP" if length > MAX_TEXT => {
                return Err(format!(
                    "the colour profile has {length} bytes; at most {MAX_TEXT} are allowed"
                ));
            }
            // These chunks contain picture data and EXIF, which may be long.
            b"fdAT" | b"eXIf" => {}
            _ if length > MAX_TEXT => {
                return Err(format!(
                    "a chunk that is not picture data has {length} bytes; at most {MAX_TEXT} are allowed"
                ));
            }
            _ => {}
        }
        if text > MAX_TEXT {
            return Err(format!("the texts have more than {MAX_TEXT} bytes"));
        }
        at += length + FRAME;
        if at >= bytes {
            return Ok(exif);
        }
    }
    Err(format!("more than {MAX_CHUNKS} chunks"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a PNG of 5×3 pixels whose rows are `row`, with a palette of `entries` grays.
    fn indexed(depth: png::BitDepth, row: &[u8], entries: u8) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 5, 3);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(depth);
        encoder.set_palette((0..entries).flat_map(|gray| [gray; 3]).collect::<Vec<_>>());
        encoder.write_header().unwrap().write_image_data(&row.repeat(3)).unwrap();
        file
    }

    /// The EXIF data may be before or after the pixels.
    #[test]
    fn the_orientation_may_be_after_the_pixels() {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 3, 2);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.write_header().unwrap().write_image_data(&[1, 2, 3, 4, 5, 6]).unwrap();
        // A TIFF header and one entry: the orientation (0x112) is 6, a quarter turn to the right.
        let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let mut chunk = (exif.len() as u32).to_be_bytes().to_vec();
        chunk.extend(b"eXIf");
        chunk.extend(exif);
        chunk.extend(0xd667_4b69_u32.to_be_bytes());
        let (header, end) = (SIGNATURE as usize + 13 + FRAME as usize, file.len() - FRAME as usize);
        for at in [header, end] {
            let file = [&file[..at], &chunk, &file[at..]].concat();
            let picture = Picture::decode(&file, Path::new("a.png")).unwrap();
            let levels: Vec<_> = picture.pixels().iter().map(|pixel| pixel.g).collect();
            assert_eq!((picture.width(), levels), (2, vec![4, 1, 5, 2, 6, 3]), "{at}");
        }
    }

    #[test]
    fn indices_beyond_the_palette_are_rejected() {
        use png::BitDepth::{Eight, Four, One, Two};
        // The last pixel has the largest index. Padding bits, which may have any value, do not count.
        for (depth, row, largest) in [
            (One, vec![0b0000_1111], 1),
            (Two, vec![0b0000_0100, 0b1011_1111], 2),
            (Four, vec![0x01, 0x23, 0x7f], 7),
            (Eight, vec![0, 1, 2, 3, 200], 200),
        ] {
            let decode = |entries: u8| {
                let file = indexed(depth, &row, entries);
                Picture::decode(&file, Path::new("a.png")).map_err(|error| error.to_string())
            };
            let picture = decode(largest + 1).unwrap();
            assert_eq!(picture.pixels()[4], Rgba8::opaque(largest, largest, largest), "{depth:?}");
            let said = decode(largest).unwrap_err();
            let at = format!(
                "pixel (4, 0) has the palette index {largest}, but the palette has {largest} entries"
            );
            assert!(said.contains(&at), "{depth:?}: {said}");
        }
    }
}
