//! Pictures in host memory, in any pixel format, with upload to a device and download. Also warp planes in device
//! memory that may contain invalid values.

use bytemuck::Pod;
use glam::UVec2;
use panoweave::device::{Device, Image, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, YuvEncoding};
use shared_types::nv12::chroma_side;
use shared_types::warp::DeviceCameraPlanes;
use shared_types::{Chroma, Chroma10, Rgba8};

use crate::random::Random;

/// A picture in host memory. The rows of its planes have no padding.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// Width and height in pixels.
    pub size: UVec2,
    /// The planes, in the picture's pixel format.
    pub pixels: Pixels,
}

/// The planes of a picture, row by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// One plane of pixels.
    Rgba8(Vec<Rgba8>),
    /// A luma and a chroma plane.
    Nv12 {
        /// Luma, one element for each pixel.
        y: Vec<u8>,
        /// Chroma, one element for each 2 × 2 pixels.
        uv: Vec<Chroma>,
        /// The YUV encoding.
        encoding: YuvEncoding,
    },
    /// A luma and a chroma plane of 10 bits, in the upper bits of 16.
    P010 {
        /// Luma, one element for each pixel.
        y: Vec<u16>,
        /// Chroma, one element for each 2 × 2 pixels.
        uv: Vec<Chroma10>,
        /// The YUV encoding.
        encoding: YuvEncoding,
    },
}

impl Raster {
    /// Creates a picture whose bytes are the results of calls of `byte`.
    pub fn from_bytes(size: UVec2, format: PixelFormat, mut byte: impl FnMut() -> u8) -> Self {
        let area = |size: UVec2| size.element_product();
        let pixels = match format.stored() {
            PixelFormat::Rgba8 => Pixels::Rgba8(
                (0..area(size))
                    .map(|_| Rgba8 { r: byte(), g: byte(), b: byte(), a: byte() })
                    .collect(),
            ),
            PixelFormat::Nv12(encoding) => {
                let y = (0..area(size)).map(|_| byte()).collect();
                let uv =
                    (0..area(chroma_size(size))).map(|_| Chroma { u: byte(), v: byte() }).collect();
                Pixels::Nv12 { y, uv, encoding }
            }
            PixelFormat::P010(encoding) => {
                let mut sample = || u16::from_le_bytes([byte(), byte()]) & 0xffc0;
                let y = (0..area(size)).map(|_| sample()).collect();
                let uv = (0..area(chroma_size(size)))
                    .map(|_| Chroma10 { u: sample(), v: sample() })
                    .collect();
                Pixels::P010 { y, uv, encoding }
            }
            other => unreachable!("kernels do not see {other}"),
        };
        Self { size, pixels }
    }

    /// Returns an NV12 picture as P010: each sample is multiplied by 4.
    ///
    /// # Panics
    /// Panics if the picture is not NV12.
    #[must_use]
    pub fn to_p010(&self) -> Self {
        let Pixels::Nv12 { y, uv, encoding } = &self.pixels else { panic!("{}", self.format()) };
        let sample = |level: u8| u16::from(level) << 8;
        let y = y.iter().copied().map(sample).collect();
        let uv = uv.iter().map(|uv| Chroma10 { u: sample(uv.u), v: sample(uv.v) }).collect();
        Self { size: self.size, pixels: Pixels::P010 { y, uv, encoding: *encoding } }
    }

    /// Returns the samples of a P010 picture as numbers of 10 bits: luma, then chroma.
    ///
    /// # Panics
    /// Panics if the picture is not P010, or if the lower bits of a sample are not 0.
    #[must_use]
    pub fn ten_bits(&self) -> Vec<u16> {
        let Pixels::P010 { y, uv, .. } = &self.pixels else { panic!("{}", self.format()) };
        let stored = y.iter().copied().chain(uv.iter().flat_map(|uv| [uv.u, uv.v]));
        stored
            .map(|sample| {
                assert_eq!(sample & 63, 0, "{sample}");
                sample >> 6
            })
            .collect()
    }

    /// Creates a picture of white noise.
    #[must_use]
    pub fn noise(random: &mut Random, size: UVec2, format: PixelFormat) -> Self {
        Self::from_bytes(size, format, || random.bits() as u8)
    }

    /// Returns the largest difference between a byte of this picture and the corresponding byte of `other`. In P010, it
    /// is the difference of 10-bit samples, at most 255.
    ///
    /// # Panics
    /// Panics if the pictures do not have the same size and format.
    #[must_use]
    pub fn largest_difference(&self, other: &Self) -> u8 {
        assert_eq!(self.format(), other.format());
        let largest = |a: &[u8], b: &[u8]| {
            a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or_default()
        };
        let bytes = bytemuck::cast_slice::<Rgba8, u8>;
        let chroma = bytemuck::cast_slice::<Chroma, u8>;
        match (&self.pixels, &other.pixels) {
            (Pixels::Rgba8(a), Pixels::Rgba8(b)) => largest(bytes(a), bytes(b)),
            (Pixels::Nv12 { y: a, uv: c, .. }, Pixels::Nv12 { y: b, uv: d, .. }) => {
                largest(a, b).max(largest(chroma(c), chroma(d)))
            }
            (Pixels::P010 { .. }, Pixels::P010 { .. }) => {
                let samples = self.ten_bits().into_iter().zip(other.ten_bits());
                let most = samples.map(|(a, b)| a.abs_diff(b)).max().unwrap_or_default();
                most.min(255) as u8
            }
            _ => unreachable!("the formats are equal"),
        }
    }

    /// Returns the size and format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        let pixels = match self.pixels {
            Pixels::Rgba8(_) => PixelFormat::Rgba8,
            Pixels::Nv12 { encoding, .. } => PixelFormat::Nv12(encoding),
            Pixels::P010 { encoding, .. } => PixelFormat::P010(encoding),
        };
        FrameFormat { size: self.size, pixels }
    }

    /// Copies the picture to the device of `stream`, with `padding` bytes (a multiple of 4) after each row.
    ///
    /// # Panics
    /// Panics if the device fails.
    #[must_use]
    pub fn upload(&self, stream: &Stream, padding: u64) -> DeviceFrame {
        match &self.pixels {
            Pixels::Rgba8(pixels) => {
                DeviceFrame::Rgba8(upload_plane(stream, self.size, pixels, padding))
            }
            Pixels::Nv12 { y, uv, encoding } => DeviceFrame::Nv12 {
                y: upload_plane(stream, self.size, y, padding),
                uv: upload_plane(stream, chroma_size(self.size), uv, padding),
                encoding: *encoding,
            },
            Pixels::P010 { y, uv, encoding } => DeviceFrame::P010 {
                y: upload_plane(stream, self.size, y, padding),
                uv: upload_plane(stream, chroma_size(self.size), uv, padding),
                encoding: *encoding,
            },
        }
    }

    /// Waits until the stream's work is complete, and copies a picture from the stream's device to host memory.
    ///
    /// # Panics
    /// Panics if the device fails.
    #[must_use]
    pub fn download(stream: &Stream, frame: &DeviceFrame) -> Self {
        let pixels = match frame {
            DeviceFrame::Rgba8(image) => Pixels::Rgba8(image.download(stream).expect("pixels")),
            DeviceFrame::Nv12 { y, uv, encoding } => Pixels::Nv12 {
                y: y.download(stream).expect("luma"),
                uv: uv.download(stream).expect("chroma"),
                encoding: *encoding,
            },
            DeviceFrame::P010 { y, uv, encoding } => Pixels::P010 {
                y: y.download(stream).expect("luma"),
                uv: uv.download(stream).expect("chroma"),
                encoding: *encoding,
            },
            DeviceFrame::Converted(_) => panic!("{} is converted", frame.format()),
        };
        Self { size: frame.format().size, pixels }
    }
}

/// Returns the size of the chroma plane of an NV12 or P010 picture: half of each side, rounded up.
#[must_use]
pub fn chroma_size(size: UVec2) -> UVec2 {
    UVec2::new(chroma_side(size.x), chroma_side(size.y))
}

/// Creates a device image with `padding` bytes after each row.
///
/// # Panics
/// Panics if the device fails.
#[must_use]
pub fn padded<T: Pod>(device: &Device, size: UVec2, padding: u64) -> Image<T> {
    let pitch = u64::from(size.x) * size_of::<T>() as u64 + padding;
    Image::with_pitch(device, size.x, size.y, pitch).expect("an image")
}

/// Creates a device image with `padding` bytes after each row, like [`padded`], and copies `elements` to its rows.
///
/// # Panics
/// Panics if the device fails.
#[must_use]
pub fn upload_plane<T: Pod>(
    stream: &Stream,
    size: UVec2,
    elements: &[T],
    padding: u64,
) -> Image<T> {
    let mut image = padded(stream.device(), size, padding);
    image.upload(stream, elements).expect("an upload");
    image
}

/// The planes of a warp in device memory, in the order of [`Plane`](panoweave::warp::Plane). Unlike
/// [`Warp`](panoweave::warp::Warp), this type does not check the values, so tests can use invalid planes.
#[derive(Debug)]
pub struct DevicePlanes([Image<f32>; 6]);

impl DevicePlanes {
    /// Copies planes of `size` to a device. Each row of the left camera's planes is followed by `left` bytes of
    /// padding, and each row of the right camera's planes by `right` bytes.
    ///
    /// # Panics
    /// Panics if the device fails.
    #[must_use]
    pub fn upload(
        stream: &Stream,
        size: UVec2,
        planes: &[Vec<f32>],
        [left, right]: [u64; 2],
    ) -> Self {
        let padding = [left, left, right, right, left, right];
        Self(std::array::from_fn(|i| upload_plane(stream, size, &planes[i], padding[i])))
    }

    /// Returns the planes of the left and of the right camera as kernel arguments.
    ///
    /// # Panics
    /// Never panics, because the planes of a camera have the same size and pitch.
    #[must_use]
    pub fn cameras(&self) -> [DeviceCameraPlanes<'_>; 2] {
        let [left_x, left_y, right_x, right_y, left_weight, right_weight] =
            self.0.each_ref().map(Image::view);
        [(left_x, left_y, left_weight), (right_x, right_y, right_weight)]
            .map(|(x, y, weight)| DeviceCameraPlanes::new(x, y, weight).expect("planes alike"))
    }
}
