//! Pixel formats, and the sizes of frames and of their planes.
//!
//! Kernels read and write the frames of three formats: RGBA, NV12 and P010. A frame in another format is converted to
//! one of them when it arrives in device memory, and back when it leaves ([`DeviceFrame`](super::DeviceFrame)), so a
//! format is one entry of [`PixelFormat::layout`] and, unless its planes are copied as they are, a pair of conversion
//! kernels.

use std::fmt;
use std::ops::Range as Bytes;

use glam::UVec2;
use shared_types::yuv::{Range, RgbToYuv, YuvEncoding, YuvToRgb};

use super::{FrameError, MAX_CANVAS_SIDE};

/// The pixel format of a frame: its planes, and the bytes of each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PixelFormat {
    /// One plane with four bytes per pixel: red, green, blue, opacity.
    Rgba8,
    /// A plane with one luma byte per pixel, and a plane of chroma byte pairs (Cb, Cr) with half the width and height,
    /// rounded up.
    Nv12(YuvEncoding),
    /// The planes of NV12 with 16 bits per sample in little-endian byte order. The upper 10 bits contain the sample,
    /// and the other bits are 0.
    P010(YuvEncoding),
    /// A luma plane, a Cb plane and a Cr plane; both chroma planes have half the width and height, rounded up. Kernels
    /// see NV12, with the same samples.
    I420(YuvEncoding),
    /// One plane with four bytes for two pixels of a row: luma, Cb, luma, Cr. Kernels see NV12: the chroma of two rows
    /// is averaged, and written to both.
    Yuy2(YuvEncoding),
    /// Like [`Yuy2`](Self::Yuy2), in the order Cb, luma, Cr, luma.
    Uyvy(YuvEncoding),
    /// A plane with one luma byte per pixel. Kernels see NV12 without colour. Of a panorama, only the luma is kept.
    Gray8(YuvEncoding),
}

/// What a byte of an element of a plane contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Byte {
    Red,
    Green,
    Blue,
    Opacity,
    /// A luma sample, or its upper byte.
    Luma,
    /// A chroma sample, or its upper byte.
    Cb,
    Cr,
    /// The lower byte of the sample whose upper byte follows.
    Low,
}

/// The elements of a plane.
struct PlaneLayout {
    /// The width and height in pixels of the rectangle that shares an element.
    cell: [u32; 2],
    /// The bytes of an element.
    element: &'static [Byte],
}

/// What distinguishes a format from the others.
struct Layout {
    name: &'static str,
    /// The name in ffmpeg's option `-pix_fmt`.
    ffmpeg: &'static str,
    planes: &'static [PlaneLayout],
    /// The format that kernels see.
    stored: fn(YuvEncoding) -> PixelFormat,
}

/// The position of the bytes of one kind: the byte for pixel `(x, y)` is in row `y / down` of plane `plane`, at
/// `first + x / across · step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples {
    pub(crate) plane: usize,
    pub(crate) across: usize,
    pub(crate) down: usize,
    pub(crate) step: usize,
    pub(crate) first: usize,
}

impl PixelFormat {
    /// All formats, without their encodings.
    pub const ALL: [fn(YuvEncoding) -> Self; 7] =
        [|_| Self::Rgba8, Self::Nv12, Self::P010, Self::I420, Self::Yuy2, Self::Uyvy, Self::Gray8];

    const fn layout(self) -> Layout {
        use Byte::{Blue, Cb, Cr, Green, Low, Luma, Opacity, Red};
        const fn plane(cell: [u32; 2], element: &'static [Byte]) -> PlaneLayout {
            PlaneLayout { cell, element }
        }
        const RGBA: &[PlaneLayout] = &[plane([1, 1], &[Red, Green, Blue, Opacity])];
        const NV12: &[PlaneLayout] = &[plane([1, 1], &[Luma]), plane([2, 2], &[Cb, Cr])];
        const P010: &[PlaneLayout] =
            &[plane([1, 1], &[Low, Luma]), plane([2, 2], &[Low, Cb, Low, Cr])];
        const I420: &[PlaneLayout] =
            &[plane([1, 1], &[Luma]), plane([2, 2], &[Cb]), plane([2, 2], &[Cr])];
        const YUY2: &[PlaneLayout] = &[plane([2, 1], &[Luma, Cb, Luma, Cr])];
        const UYVY: &[PlaneLayout] = &[plane([2, 1], &[Cb, Luma, Cr, Luma])];
        const GRAY: &[PlaneLayout] = &[plane([1, 1], &[Luma])];
        let (name, ffmpeg, planes, stored): (_, _, _, fn(_) -> _) = match self {
            Self::Rgba8 => ("rgba", "rgba", RGBA, |_| Self::Rgba8),
            Self::Nv12(_) => ("nv12", "nv12", NV12, Self::Nv12),
            Self::P010(_) => ("p010", "p010le", P010, Self::P010),
            Self::I420(_) => ("i420", "yuv420p", I420, Self::Nv12),
            Self::Yuy2(_) => ("yuy2", "yuyv422", YUY2, Self::Nv12),
            Self::Uyvy(_) => ("uyvy", "uyvy422", UYVY, Self::Nv12),
            Self::Gray8(_) => ("gray8", "gray", GRAY, Self::Nv12),
        };
        Layout { name, ffmpeg, planes, stored }
    }

    /// Returns the name of the format in lower case and without its encoding, such as `nv12`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.layout().name
    }

    /// Returns the name of the format in ffmpeg's option `-pix_fmt`.
    pub(crate) const fn ffmpeg_name(self) -> &'static str {
        self.layout().ffmpeg
    }

    /// Returns the format that kernels see: RGBA, NV12 or P010.
    #[must_use]
    pub fn stored(self) -> Self {
        (self.layout().stored)(self.encoding().unwrap_or_default())
    }

    /// Returns the name of the format in the names of kernels.
    pub(crate) fn kernel_name(self) -> &'static str {
        match self.stored() {
            Self::Rgba8 => "rgba8",
            Self::P010(_) => "p010",
            _ => "nv12",
        }
    }

    /// Returns the number of bits per sample: 8 or 10.
    #[must_use]
    pub const fn bits(self) -> u8 {
        if let Self::P010(_) = self { 10 } else { 8 }
    }

    /// Returns the colour encoding of Y'CbCr formats, or `None` for RGBA.
    #[must_use]
    pub const fn encoding(self) -> Option<YuvEncoding> {
        match self {
            Self::Rgba8 => None,
            Self::Nv12(encoding)
            | Self::P010(encoding)
            | Self::I420(encoding)
            | Self::Yuy2(encoding)
            | Self::Uyvy(encoding)
            | Self::Gray8(encoding) => Some(encoding),
        }
    }

    /// Returns the format with another colour encoding. RGBA has none.
    #[must_use]
    pub fn with_encoding(self, encoding: YuvEncoding) -> Self {
        let is_same =
            |format: &Self| std::mem::discriminant(format) == std::mem::discriminant(&self);
        Self::ALL.map(|of| of(encoding)).into_iter().find(is_same).unwrap_or(self)
    }

    /// Returns the conversion of the stored samples to R'G'B' levels. Kernels ignore it for RGBA.
    pub(crate) fn to_rgb(self) -> YuvToRgb {
        let encoding = self.encoding().unwrap_or_default();
        if self.bits() > 8 { encoding.to_rgb_10() } else { encoding.to_rgb() }
    }

    /// Returns the conversion of R'G'B' levels to stored samples. Kernels ignore it for RGBA.
    pub(crate) fn to_yuv(self) -> RgbToYuv {
        let encoding = self.encoding().unwrap_or_default();
        if self.bits() > 8 { encoding.from_rgb_10() } else { encoding.from_rgb() }
    }

    /// Returns the side of the square of pixels that share a chroma sample in the format that kernels see: 1 for RGBA,
    /// otherwise 2.
    pub(crate) const fn cell(self) -> u32 {
        if self.encoding().is_none() { 1 } else { 2 }
    }

    /// Returns the mean number of bytes per pixel.
    #[must_use]
    pub fn bytes_per_pixel(self) -> f64 {
        let planes = self.layout().planes.iter();
        planes
            .map(|plane| plane.element.len() as f64 / f64::from(plane.cell[0] * plane.cell[1]))
            .sum()
    }

    /// Returns where the bytes of this kind are, or `None` if the format has none.
    pub(crate) fn samples(self, byte: Byte) -> Option<Samples> {
        let find = |(plane, layout): (usize, &PlaneLayout)| {
            let first = layout.element.iter().position(|other| *other == byte)?;
            // Both luma bytes of YUY2 and UYVY are for one pixel each, and equally far apart.
            let count = layout.element.iter().filter(|other| **other == byte).count();
            let [across, down] = layout.cell.map(|side| side as usize);
            let (across, step) = (across / count, layout.element.len() / count);
            Some(Samples { plane, across, down, step, first })
        };
        self.layout().planes.iter().enumerate().find_map(find)
    }

    /// Returns the number of bytes per pixel in the first plane, and the bytes that are levels: red, green and blue, or
    /// luma (its upper byte).
    pub(crate) fn levels(self) -> (usize, Bytes<usize>) {
        match self.samples(Byte::Luma) {
            Some(Samples { step, first, .. }) => (step, first..first + 1),
            None => (4, 0..3),
        }
    }
}

/// The size and the pixel format of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameFormat {
    /// Width and height in pixels.
    pub size: UVec2,
    /// The pixel format.
    pub pixels: PixelFormat,
}

/// The size of a plane: its rows, and the bytes of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneExtent {
    /// The number of bytes per row, without padding.
    pub row: usize,
    /// The number of rows.
    pub rows: usize,
}

impl PlaneExtent {
    /// Returns the number of bytes of the plane without padding, at most [`usize::MAX`].
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.row.saturating_mul(self.rows)
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().to_ascii_uppercase())?;
        let Some(YuvEncoding { matrix, range }) = self.encoding() else { return Ok(()) };
        write!(f, " ({matrix:?}, {range:?})")
    }
}

impl fmt::Display for FrameFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{} {}", self.size.x, self.size.y, self.pixels)
    }
}

impl FrameFormat {
    /// Returns the format of RGBA frames of this size.
    #[must_use]
    pub const fn rgba8(width: u32, height: u32) -> Self {
        Self { size: UVec2::new(width, height), pixels: PixelFormat::Rgba8 }
    }

    /// Returns the format of NV12 frames of this size and colour encoding.
    #[must_use]
    pub const fn nv12(width: u32, height: u32, encoding: YuvEncoding) -> Self {
        Self { size: UVec2::new(width, height), pixels: PixelFormat::Nv12(encoding) }
    }

    /// Returns the format of P010 frames of this size and colour encoding.
    #[must_use]
    pub const fn p010(width: u32, height: u32, encoding: YuvEncoding) -> Self {
        Self { size: UVec2::new(width, height), pixels: PixelFormat::P010(encoding) }
    }

    /// Returns the format that kernels see.
    pub(crate) fn stored(self) -> Self {
        Self { pixels: self.pixels.stored(), ..self }
    }

    /// Yields the extent of each plane, in the order in which [`PixelFormat`] describes the planes.
    pub fn planes(self) -> impl ExactSizeIterator<Item = PlaneExtent> {
        self.pixels.layout().planes.iter().map(move |plane| {
            let [columns, rows] =
                [0, 1].map(|axis| self.size[axis].div_ceil(plane.cell[axis]) as usize);
            PlaneExtent { row: columns * plane.element.len(), rows }
        })
    }

    /// Splits the bytes of a frame without padding into its planes. If `bytes` is too short, the last planes are
    /// truncated or empty.
    pub(super) fn split(self, bytes: &[u8]) -> impl Iterator<Item = (&[u8], PlaneExtent)> {
        let mut rest = bytes;
        self.planes().map(move |extent| {
            let (bytes, after) = rest.split_at(extent.bytes().min(rest.len()));
            rest = after;
            (bytes, extent)
        })
    }

    /// Splits the writable bytes of a frame without padding into its planes, and yields each plane with its extent. If
    /// `bytes` is too short, the last planes are truncated or empty.
    pub(crate) fn split_mut(
        self,
        bytes: &mut [u8],
    ) -> impl Iterator<Item = (&mut [u8], PlaneExtent)> {
        let mut rest = bytes;
        self.planes().map(move |extent| {
            let whole = std::mem::take(&mut rest);
            let (plane, after) = whole.split_at_mut(extent.bytes().min(whole.len()));
            rest = after;
            (plane, extent)
        })
    }

    /// Returns the bytes of a black frame without padding. In RGBA, its pixels are transparent.
    ///
    /// # Panics
    /// Panics if the frame does not fit into memory, which is possible only if [`check`](Self::check) fails.
    #[must_use]
    pub fn black(self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes()];
        self.fill_black(&mut bytes);
        bytes
    }

    /// Fills the bytes of a frame without padding with black.
    pub(crate) fn fill_black(self, bytes: &mut [u8]) {
        let limited = self.pixels.encoding().is_some_and(|it| it.range == Range::Limited);
        for ((plane, _), layout) in self.split_mut(bytes).zip(self.pixels.layout().planes) {
            let level = |byte: &Byte| match byte {
                Byte::Luma if limited => 16,
                Byte::Cb | Byte::Cr => 128,
                _ => 0,
            };
            let black: Vec<u8> = layout.element.iter().map(level).collect();
            for element in plane.chunks_mut(black.len()) {
                element.copy_from_slice(&black[..element.len()]);
            }
        }
    }

    /// Returns the number of bytes of a frame without padding between its rows and planes, at most [`usize::MAX`].
    #[must_use]
    pub fn bytes(self) -> usize {
        self.planes().map(PlaneExtent::bytes).fold(0, usize::saturating_add)
    }

    /// Checks that width and height are 1 to [`MAX_CANVAS_SIDE`] pixels. Does not check
    /// [`MAX_SIDE`](crate::io::picture::MAX_SIDE), the smaller maximum for camera frames.
    pub fn check(self) -> Result<(), FrameError> {
        let UVec2 { x, y } = self.size;
        if self.size.min_element() > 0 && self.size.max_element() <= MAX_CANVAS_SIDE {
            return Ok(());
        }
        Err(FrameError(format!(
            "the frame is {x}×{y} pixels; each side must be 1 to {MAX_CANVAS_SIDE} pixels"
        )))
    }
}
