//! Decodes PNG and JPEG within fixed limits.
//!
//! A file of a few bytes can claim any size, so the size is checked before memory is allocated. Each side must be at
//! most [`MAX_SIDE`]. The decoder's buffer and the result must fit into [`MEMORY`] together; for a JPEG, so must the
//! file, which is read into memory. These limits accept 8K pictures (7680×4320).

use crate::io::picture::decoded::Decoded;
use crate::io::picture::decoded::MEMORY;
use crate::io::picture::decoded::admit;
use crate::io::picture::decoded::assemble;
use crate::io::picture::decoded::convert;
use crate::io::picture::decoded::corrupt;
use crate::io::picture::decoded::corrupt_because;
use std::io::{BufRead, BufReader, Cursor, Seek};

use std::path::Path;

use image::codecs::png::PngDecoder;

use image::{ColorType, ImageDecoder, ImageFormat, Limits};

use shared_types::Rgba8;

use crate::io::picture::jpeg::decode_jpeg;

use crate::io::picture::{Picture, PictureError};

use crate::io::text::open_regular;

/// Reads the picture at `path`; see [`Picture::open`].
pub(crate) fn open(path: &Path) -> Result<Picture, PictureError> {
    let unreadable = |source| PictureError::Unreadable { file: path.to_owned(), source };
    let (file, bytes) = open_regular(path).map_err(unreadable)?;
    read(path, BufReader::new(file), bytes)
}

/// Reads the picture in `content`; see [`Picture::decode`].
pub(crate) fn decode(content: &[u8], name: &Path) -> Result<Picture, PictureError> {
    read(name, Cursor::new(content), content.len() as u64)
}

fn read(path: &Path, mut reader: impl BufRead + Seek, bytes: u64) -> Result<Picture, PictureError> {
    let unreadable = |source| PictureError::Unreadable { file: path.to_owned(), source };
    let start = reader.fill_buf().map_err(unreadable)?;
    match image::guess_format(start) {
        Ok(ImageFormat::Png) => decode_png(path, reader, bytes),
        Ok(ImageFormat::Jpeg) => decode_jpeg(path, reader, bytes),
        Ok(other) => Err(PictureError::WrongFormat {
            file: path.to_owned(),
            found: format!("{other:?}").to_uppercase(),
        }),
        Err(_) => Err(PictureError::NotAPicture { file: path.to_owned() }),
    }
}

fn decode_png(
    path: &Path,
    mut reader: impl BufRead + Seek,
    bytes: u64,
) -> Result<Picture, PictureError> {
    if let Some(reason) = super::png::refuse(&mut reader, bytes) {
        return Err(corrupt_because(path, reason));
    }
    let corrupt = |error| corrupt(path, error);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MEMORY);
    let mut decoder = PngDecoder::with_limits(reader, limits).map_err(corrupt)?;
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type();
    admit(path, width, height, colour, 0)?;
    let orientation = decoder.orientation().map_err(corrupt)?;
    if colour == ColorType::Rgba8 {
        let mut pixels = vec![Rgba8::default(); width as usize * height as usize];
        decoder.read_image(bytemuck::cast_slice_mut(&mut pixels)).map_err(corrupt)?;
        return assemble(path, width, height, pixels, orientation);
    }
    let mut samples = vec![0; decoder.total_bytes() as usize];
    decoder.read_image(&mut samples).map_err(corrupt)?;
    convert(path, Decoded { width, height, colour, samples, orientation })
}
