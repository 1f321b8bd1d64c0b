//! Decodes PNG, after a check of the lengths of its chunks.
//!
//! The PNG decoder inflates texts and colour profiles into memory, although panoweave does not use them. It also splits
//! a palette into entries without checking its length. Therefore this module first reads all chunk headers and rejects
//! files with chunks that are too long. The decoder checks the contents of the chunks.
//!
//! The decoder also draws pixels black whose palette index exceeds the palette. This module rejects them.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::{ColorType, ImageDecoder, Limits};
use shared_types::{Rgba8, Rgba16};

use crate::io::picture::colour_space::of_png;
use crate::io::picture::decoded::{
    Decoded, admit, assemble, bits, convert, corrupt, corrupt_because, memory,
};
use crate::io::picture::{Picture, PictureError, Pixel, StoredPicture};

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

/// Reads and decodes a PNG of `bytes` bytes. The result has 16 bits per channel if the file has and `keep_depth` is set.
/// Error messages name `path`.
pub(crate) fn decode_png(
    path: &Path,
    mut reader: impl BufRead + Seek,
    bytes: u64,
    keep_depth: bool,
) -> Result<StoredPicture, PictureError> {
    if let Some(reason) = refuse(&mut reader, bytes) {
        return Err(corrupt_because(path, reason));
    }
    let header = read_header(path, &mut reader)?;
    let corrupt = |error| corrupt(path, error);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(if keep_depth { memory::<Rgba16>() } else { memory::<Rgba8>() });
    let mut decoder = PngDecoder::with_limits(reader, limits).map_err(corrupt)?;
    let profile = decoder.icc_profile().map_err(corrupt)?;
    let space = header.and_then(|header| of_png(&header, profile.as_deref()));
    drop(profile);
    if keep_depth && bits(decoder.color_type()) > 8 {
        return Ok(StoredPicture::Rgba16(decode_pixels(path, decoder, space)?));
    }
    Ok(StoredPicture::Rgba8(decode_pixels(path, decoder, space)?))
}

/// Decodes the pixels of a PNG.
fn decode_pixels<P: Pixel>(
    path: &Path,
    mut decoder: impl ImageDecoder,
    colour_space: Option<String>,
) -> Result<Picture<P>, PictureError> {
    let corrupt = |error| corrupt(path, error);
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type();
    admit::<P>(path, width, height, colour, 0)?;
    let orientation = decoder.orientation().map_err(corrupt)?;
    if colour == P::DECODED {
        let mut pixels = vec![P::default(); width as usize * height as usize];
        decoder.read_image(bytemuck::cast_slice_mut(&mut pixels)).map_err(corrupt)?;
        let picture = assemble(path, width, height, pixels, orientation)?;
        return Ok(Picture { colour_space, ..picture });
    }
    let mut samples = vec![0; decoder.total_bytes() as usize];
    decoder.read_image(&mut samples).map_err(corrupt)?;
    convert(path, Decoded { width, height, colour, samples, orientation, colour_space })
}

/// Reads the chunks before the pixels, without texts and colour profile. Returns `None` if the file is not a valid PNG,
/// which the decoder reports with a better message. Rewinds the reader.
fn read_header(
    path: &Path,
    reader: &mut (impl BufRead + Seek),
) -> Result<Option<png::Info<'static>>, PictureError> {
    let mut decoder = png::Decoder::new(&mut *reader);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = match decoder.read_info() {
        Ok(mut pixels) => {
            check_palette(path, &mut pixels)?;
            Some(pixels.info().clone())
        }
        Err(_) => None,
    };
    let unreadable = |source| PictureError::Unreadable { file: path.to_owned(), source };
    reader.rewind().map_err(unreadable)?;
    Ok(header)
}

/// Rejects a palette index without an entry in the palette. Reads the pixels only if the palette is shorter than the
/// range of the indices.
fn check_palette(
    path: &Path,
    pixels: &mut png::Reader<impl BufRead + Seek>,
) -> Result<(), PictureError> {
    let info = pixels.info();
    let (width, height, bits) = (info.width, info.height, info.bit_depth as usize);
    let entries = info.palette.as_ref().map_or(0, |palette| palette.len() / 3);
    if info.color_type != png::ColorType::Indexed || entries >= 1 << bits {
        return Ok(());
    }
    admit::<Rgba8>(path, width, height, ColorType::Rgb8, 0)?;
    let Some(mut indices) = pixels.output_buffer_size().map(|bytes| vec![0; bytes]) else {
        return Ok(());
    };
    // The decoder reports errors with a better message.
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

/// Returns the reason to reject a PNG because of its chunks, or `None` if all chunks are acceptable. Rewinds the reader
/// in both cases.
fn refuse(reader: &mut (impl Read + Seek), bytes: u64) -> Option<String> {
    let reason = look(reader, bytes);
    match reader.rewind() {
        Ok(()) => reason,
        Err(e) => Some(e.to_string()),
    }
}

fn look(reader: &mut (impl Read + Seek), bytes: u64) -> Option<String> {
    let (mut at, mut text) = (SIGNATURE, 0);
    for _ in 0..MAX_CHUNKS {
        let mut header = [0; 8];
        // Do not reject a truncated or unreadable file here, because the decoder reports it with a better message.
        if reader.seek(SeekFrom::Start(at)).is_err() || reader.read_exact(&mut header).is_err() {
            return None;
        }
        let [a, b, c, d, kind @ ..] = header;
        let length = u64::from(u32::from_be_bytes([a, b, c, d]));
        match &kind {
            b"IEND" => return None,
            b"PLTE" if length % 3 != 0 || length > 768 => {
                return Some(format!(
                    "the palette has {length} bytes; it must have 3 per entry and at most 256 entries"
                ));
            }
            b"tEXt" | b"zTXt" | b"iTXt" => text += length,
            b"iCCP" if length > MAX_TEXT => {
                return Some(format!(
                    "the colour profile has {length} bytes; at most {MAX_TEXT} are allowed"
                ));
            }
            // These chunks contain picture data and EXIF, which may be long.
            b"IDAT" | b"fdAT" | b"eXIf" => {}
            _ if length > MAX_TEXT => {
                return Some(format!(
                    "a chunk that is not picture data has {length} bytes; at most {MAX_TEXT} are allowed"
                ));
            }
            _ => {}
        }
        if text > MAX_TEXT {
            return Some(format!("the texts have more than {MAX_TEXT} bytes"));
        }
        at += length + FRAME;
        if at >= bytes {
            return None;
        }
    }
    Some(format!("more than {MAX_CHUNKS} chunks"))
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
