//! Decodes PNG, after a check of the lengths of its chunks.
//!
//! The PNG decoder inflates texts and colour profiles into memory, although panoweave does not use them. It also splits
//! a palette into entries without checking its length. Therefore this module first reads all chunk headers and rejects
//! files with chunks that are too long. The decoder checks the contents of the chunks.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::{ImageDecoder, Limits};
use shared_types::{Rgba8, Rgba16};

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
    let corrupt = |error| corrupt(path, error);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(if keep_depth { memory::<Rgba16>() } else { memory::<Rgba8>() });
    let decoder = PngDecoder::with_limits(reader, limits).map_err(corrupt)?;
    if keep_depth && bits(decoder.color_type()) > 8 {
        return Ok(StoredPicture::Rgba16(decode_pixels(path, decoder)?));
    }
    Ok(StoredPicture::Rgba8(decode_pixels(path, decoder)?))
}

/// Decodes the pixels of a PNG.
fn decode_pixels<P: Pixel>(
    path: &Path,
    mut decoder: impl ImageDecoder,
) -> Result<Picture<P>, PictureError> {
    let corrupt = |error| corrupt(path, error);
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type();
    admit::<P>(path, width, height, colour, 0)?;
    let orientation = decoder.orientation().map_err(corrupt)?;
    if colour == P::DECODED {
        let mut pixels = vec![P::default(); width as usize * height as usize];
        decoder.read_image(bytemuck::cast_slice_mut(&mut pixels)).map_err(corrupt)?;
        return assemble(path, width, height, pixels, orientation);
    }
    let mut samples = vec![0; decoder.total_bytes() as usize];
    decoder.read_image(&mut samples).map_err(corrupt)?;
    convert(path, Decoded { width, height, colour, samples, orientation })
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
