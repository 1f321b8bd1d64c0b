//! Pictures in memory, and their PNG and JPEG files.
//!
//! This module has no colour management. It treats all levels as sRGB, and does not convert pixel values to another
//! colour space. [`Picture::conversions`] reports a file that states another one.

mod colour_space;
mod decode;
mod decoded;
mod exif;
mod jpeg;
mod mask;
mod pixel;
mod png;
mod stored;

pub(crate) use mask::{Mask, is_masked};
pub use pixel::Pixel;
pub(crate) use pixel::{RgbaView, RgbaViewMut};
pub use shared_types::Rgba16;
pub use stored::StoredPicture;

use std::borrow::{Borrow, Cow};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ::png::{BitDepth, ColorType, Compression, EncodingError, Filter};
use glam::UVec2;
use jpeg_encoder::{Encoder as JpegEncoder, ImageBuffer, JpegColorType, rgb_to_ycbcr};
use shared_types::Rgba8;

use crate::device::{DeviceError, Image, Stream};
use crate::error::{Classify, Kind};
use crate::io::{Conversion, replace};
use decode::Depth;

/// Maximum width and height of an input picture, in pixels.
pub const MAX_SIDE: u32 = 16_384;

/// The quality of written JPEG files, on a scale of 1 to 100.
const JPEG_QUALITY: u8 = 92;

/// The error for a picture that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum PictureError {
    /// The file is missing, unreadable, or not a regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The content is not a picture.
    #[error("{}: not a picture; use a PNG or JPEG file", file.display())]
    NotAPicture { file: PathBuf },
    /// The picture's format is not supported.
    #[error("{}: the format {found} is not supported; {}", file.display(), decode::remedy(found))]
    WrongFormat { file: PathBuf, found: String },
    /// A side is larger than [`MAX_SIDE`].
    #[error("{}: the picture is {width}×{height} pixels; each side must be at most {MAX_SIDE} pixels", file.display())]
    TooLarge { file: PathBuf, width: u32, height: u32 },
    /// Decoding would take more memory than the fixed limit.
    #[error("{}: decoding {width}×{height} pixels would take more than the limit of {limit} bytes; use a smaller picture", file.display())]
    TooMuchMemory { file: PathBuf, width: u32, height: u32, limit: u64 },
    /// The file ends before the picture is complete.
    #[error("{}: truncated: the file ends before the picture is complete; copy or save the picture again", file.display())]
    Truncated { file: PathBuf },
    /// The content violates its file format, or exceeds a limit other than the size of the picture.
    #[error("{}: cannot be decoded: {reason}", file.display())]
    Corrupt { file: PathBuf, reason: String },
    /// The name of the output file does not end in `.png`, `.jpg` or `.jpeg`.
    #[error("{}: cannot be written: the name must end in .png, .jpg or .jpeg", file.display())]
    Extension { file: PathBuf },
    /// The picture has no pixels, the format does not support its size, or the number of gray levels does not match its
    /// size.
    #[error("{}: cannot be written: {reason}", file.display())]
    Unencodable { file: PathBuf, reason: String },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
}

impl Classify for PictureError {
    fn kind(&self) -> Kind {
        match self {
            Self::Extension { .. } | Self::Unencodable { .. } | Self::Unwritable { .. } => {
                Kind::Output
            }
            _ => Kind::Input,
        }
    }
}

/// An RGBA picture in host memory, with 8 bits per channel or, as `Picture<Rgba16>`, with 16. Its pixels are stored row
/// by row from the top, without padding. [`StoredPicture`] reads files with the depth that they have.
///
/// Two pictures are equal if they have the same size and pixels.
#[derive(Clone, Debug)]
pub struct Picture<P = Rgba8> {
    width: u32,
    height: u32,
    pixels: Vec<P>,
    /// The number of bits per sample in the file, or of the pixels of a picture that was not read from a file.
    stored_bits: u8,
    /// The colour space of the file, if it is not sRGB.
    colour_space: Option<String>,
}

impl<P: PartialEq> PartialEq for Picture<P> {
    fn eq(&self, other: &Self) -> bool {
        let same_size = (self.width, self.height) == (other.width, other.height);
        same_size && self.pixels == other.pixels
    }
}

impl<P: Eq> Eq for Picture<P> {}

impl Picture {
    /// Reads a PNG or JPEG file with any extension, and applies the EXIF orientation.
    ///
    /// Converts all pixel types to 8-bit RGBA. Rounds 16-bit values to the nearest 8-bit value, which
    /// [`conversions`](Self::conversions) reports. [`StoredPicture::open`] keeps 16 bits.
    ///
    /// # Errors
    /// Returns [`PictureError`] if the file cannot be read, is not a valid PNG or JPEG, or is too large.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        decode::open(path.as_ref(), Depth::Eight).map(StoredPicture::into_rgba8)
    }

    /// Decodes the content of a PNG or JPEG file as [`open`](Self::open) does. Error messages call the file `name`.
    ///
    /// # Errors
    /// Returns [`PictureError`] if the content is not a valid PNG or JPEG, or is too large.
    pub fn decode(content: &[u8], name: impl AsRef<Path>) -> Result<Self, PictureError> {
        let picture = decode::decode(content, name.as_ref(), Depth::Eight);
        picture.map(StoredPicture::into_rgba8)
    }

    /// Checks that [`save`](Self::save) supports the extension of `path`. Call this before a long computation whose
    /// result is saved.
    ///
    /// # Errors
    /// Returns [`Extension`](PictureError::Extension) for an unsupported extension.
    pub fn check_name(path: impl AsRef<Path>) -> Result<(), PictureError> {
        PictureFormat::of_file(path).map(|_| ())
    }

    /// Writes an 8-bit gray PNG for any extension of `path`, and replaces the file atomically. `levels` are the gray
    /// values of the pixels, row by row from the top, from 0 (black) to 255 (white).
    ///
    /// # Errors
    /// Returns [`Unencodable`](PictureError::Unencodable) if there are no pixels or `levels` does not have one element
    /// per pixel, and [`Unwritable`](PictureError::Unwritable) if writing fails.
    pub fn save_gray(
        path: impl AsRef<Path>,
        size: UVec2,
        levels: &[u8],
    ) -> Result<(), PictureError> {
        let file = path.as_ref();
        let expected = u64::from(size.x) * u64::from(size.y);
        let written = replace(file, |out| {
            if levels.is_empty() || levels.len() as u64 != expected {
                let (found, UVec2 { x, y }) = (levels.len(), size);
                return Err(Refusal::Encoder(format!("{found} levels for {x}×{y} pixels")));
            }
            write_png(out, size, ColorType::Grayscale, BitDepth::Eight, levels)
        });
        written.map_err(|refusal| refusal.of(file))
    }
}

impl<P: Pixel> Picture<P> {
    /// Creates a picture of `width`×`height` pixels. Returns `None` unless `pixels` has exactly one element per pixel.
    #[must_use]
    pub fn from_pixels(width: u32, height: u32, pixels: Vec<P>) -> Option<Self> {
        (pixels.len() as u64 == u64::from(width) * u64::from(height)).then_some(Self {
            width,
            height,
            pixels,
            stored_bits: P::BITS,
            colour_space: None,
        })
    }

    /// Creates a picture of `width`×`height` pixels that all have the same colour.
    #[must_use]
    pub fn filled(width: u32, height: u32, colour: P) -> Self {
        let pixels = vec![colour; width as usize * height as usize];
        Self { width, height, pixels, stored_bits: P::BITS, colour_space: None }
    }

    /// Writes the picture to a file and replaces the file atomically. The extension selects the format: PNG with the
    /// picture's bits per channel, or JPEG with quality 92, 8 bits and without alpha.
    ///
    /// # Errors
    /// Returns [`Extension`](PictureError::Extension), [`Unencodable`](PictureError::Unencodable) (no pixels, or a
    /// side of more than 65 535 pixels as JPEG) or [`Unwritable`](PictureError::Unwritable).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let file = path.as_ref();
        let format = PictureFormat::of_file(file)?;
        replace(file, |out| self.write(format, out)).map_err(|refusal| refusal.of(file))
    }

    /// Returns the bytes that [`save`](Self::save) writes to a file of this format.
    ///
    /// # Errors
    /// Returns [`Unencodable`](PictureError::Unencodable) if the format does not support the size.
    pub fn encode(&self, format: PictureFormat) -> Result<Vec<u8>, PictureError> {
        let mut content = Vec::new();
        let written = self.write(format, &mut content);
        written.map_err(|refusal| refusal.of(Path::new("a picture in memory")))?;
        Ok(content)
    }

    fn write(&self, format: PictureFormat, out: &mut dyn Write) -> Result<(), Refusal> {
        if self.pixels.is_empty() {
            return Err(Refusal::Encoder("the picture has no pixels".into()));
        }
        match format {
            PictureFormat::Png => {
                let size = self.size();
                if P::BITS == 8 {
                    let bytes = bytemuck::cast_slice(&self.pixels);
                    return write_png(out, size, ColorType::Rgba, BitDepth::Eight, bytes);
                }
                // A PNG has the high byte first.
                let samples: &[u16] = bytemuck::cast_slice(&self.pixels);
                let bytes: Vec<_> =
                    samples.iter().flat_map(|sample| sample.to_be_bytes()).collect();
                write_png(out, size, ColorType::Rgba, BitDepth::Sixteen, &bytes)
            }
            PictureFormat::Jpeg => {
                if self.width.max(self.height) > u32::from(u16::MAX) {
                    let UVec2 { x, y } = self.size();
                    let reason = format!("{x}×{y} pixels; a JPEG has at most 65535 along a side");
                    return Err(Refusal::Encoder(reason));
                }
                Ok(JpegEncoder::new(out, JPEG_QUALITY).encode_image(Rows(self))?)
            }
        }
    }

    /// Returns the width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns width and height in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        UVec2::new(self.width, self.height)
    }

    /// Returns all pixels, row by row from the top.
    #[must_use]
    pub fn pixels(&self) -> &[P] {
        &self.pixels
    }

    /// Returns the properties of the file that the pixels lack: [`Conversion::ColourSpace`] if it is not sRGB, and
    /// [`Conversion::Depth`] if the file has more bits per sample than the picture.
    pub fn conversions(&self) -> impl Iterator<Item = Conversion> + use<P> {
        let from = self.stored_bits;
        let space = self.colour_space.clone().map(|stored| Conversion::ColourSpace { stored });
        let depth = (from > P::BITS).then_some(Conversion::Depth { from, to: P::BITS });
        space.into_iter().chain(depth)
    }

    /// Returns whether all pixels are opaque. Otherwise, an operation that ignores opacity loses it; see
    /// [`Conversion::Alpha`].
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.pixels.iter().all(|pixel| pixel.is_opaque())
    }

    /// Converts the picture to another number of bits per channel. More bits lose nothing: each value is multiplied by
    /// 257. Fewer bits round to the nearest value, which [`conversions`](Self::conversions) of the result reports.
    #[must_use]
    pub fn to_depth<Q: Pixel>(&self) -> Picture<Q>
    where
        P: Into<Q>,
    {
        let Self { width, height, stored_bits, .. } = *self;
        let colour_space = self.colour_space.clone();
        let pixels = self.pixels.iter().map(|&pixel| pixel.into()).collect();
        Picture { width, height, pixels, stored_bits, colour_space }
    }

    /// Returns the pictures with 8 bits per channel, for instance to match them. Does not copy pictures that have 8
    /// bits.
    #[must_use]
    pub fn all_rgba8(pictures: &[Self]) -> Cow<'_, [Picture]> {
        P::rgba8(pictures)
    }

    /// Copies the picture to the stream's device and waits for the copy.
    #[track_caller]
    pub fn upload(&self, stream: &Stream) -> Result<Image<P>, DeviceError> {
        Image::from_slice(stream, self.width, self.height, &self.pixels)
    }

    /// Copies pictures to the stream's device and waits for the copies.
    #[track_caller]
    pub(crate) fn upload_all(
        stream: &Stream,
        pictures: &[impl Borrow<Self>],
    ) -> Result<Vec<Image<P>>, DeviceError> {
        pictures.iter().map(|picture| picture.borrow().upload(stream)).collect()
    }

    /// Copies a picture from device memory and waits for the copy.
    #[track_caller]
    pub(crate) fn download(stream: &Stream, image: &Image<P>) -> Result<Self, DeviceError> {
        let mut picture = Self::filled(image.width(), image.height(), P::BLACK);
        image.download_to(stream, picture.pixels_mut())?;
        Ok(picture)
    }

    /// Returns a mutable slice of all pixels, row by row from the top.
    pub fn pixels_mut(&mut self) -> &mut [P] {
        &mut self.pixels
    }

    /// Consumes the picture and returns its pixels, row by row from the top.
    #[must_use]
    pub fn into_pixels(self) -> Vec<P> {
        self.pixels
    }
}

/// The format of a written picture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// PNG with alpha and 8 or 16 bits per channel, lossless.
    Png,
    /// JPEG with quality 92 and 8 bits per channel, without alpha.
    Jpeg,
}

impl PictureFormat {
    /// Returns the format that the extension of a file name selects.
    ///
    /// # Errors
    /// Returns [`Extension`](PictureError::Extension) for an unsupported extension.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        let file = path.as_ref();
        let extension = file.extension().and_then(|e| e.to_str()).unwrap_or("");
        match extension.to_ascii_lowercase().as_str() {
            "png" => Ok(Self::Png),
            "jpg" | "jpeg" => Ok(Self::Jpeg),
            _ => Err(PictureError::Extension { file: file.to_owned() }),
        }
    }
}

/// The reason why a picture could not be written, without the name of the file.
enum Refusal {
    System(io::Error),
    Encoder(String),
}

impl Refusal {
    fn of(self, file: &Path) -> PictureError {
        let file = file.to_owned();
        match self {
            Self::System(source) => PictureError::Unwritable { file, source },
            Self::Encoder(reason) => PictureError::Unencodable { file, reason },
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<EncodingError> for Refusal {
    fn from(error: EncodingError) -> Self {
        match error {
            EncodingError::IoError(error) => Self::System(error),
            other => Self::Encoder(one_line(&other)),
        }
    }
}

impl From<jpeg_encoder::EncodingError> for Refusal {
    fn from(error: jpeg_encoder::EncodingError) -> Self {
        match error {
            jpeg_encoder::EncodingError::IoError(error) => Self::System(error),
            other => Self::Encoder(one_line(&other)),
        }
    }
}

/// The rows of a picture, for the JPEG encoder. Both sides of the picture fit into a `u16`.
struct Rows<'a, P>(&'a Picture<P>);

impl<P: Pixel> ImageBuffer for Rows<'_, P> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.0.width as u16
    }

    fn height(&self) -> u16 {
        self.0.height as u16
    }

    fn fill_buffers(&self, y: u16, [luma, cb, cr, _]: &mut [Vec<u8>; 4]) {
        let width = self.0.width as usize;
        for &pixel in &self.0.pixels[usize::from(y) * width..][..width] {
            let Rgba8 { r, g, b, .. } = pixel.into();
            let levels = rgb_to_ycbcr(r, g, b);
            luma.push(levels.0);
            cb.push(levels.1);
            cr.push(levels.2);
        }
    }
}

/// Writes a PNG of samples that are in the order of bytes of the file.
fn write_png(
    out: &mut dyn Write,
    size: UVec2,
    colour: ColorType,
    depth: BitDepth,
    samples: &[u8],
) -> Result<(), Refusal> {
    let mut encoder = ::png::Encoder::new(out, size.x, size.y);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(samples)?;
    Ok(writer.finish()?)
}

/// Returns the message of an error of a decoder or encoder, without line breaks.
fn one_line(error: &impl Display) -> String {
    error.to_string().replace('\n', " ")
}
