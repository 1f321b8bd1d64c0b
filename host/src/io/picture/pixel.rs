//! The pixels of pictures: RGBA with 8 or 16 bits per channel.
//!
//! [`Pixel`] contains what differs between the two depths in host memory, and selects the views of images in device
//! memory. Everything else is generic over it.

use std::borrow::Cow;
use std::fmt::Debug;

use bytemuck::Pod;
use shared_types::{Rgba8, Rgba16};

use super::Picture;
use crate::device::Image;
use crate::frame::{DeviceView, DeviceViewMut};

/// A pixel of a [`Picture`]: [`Rgba8`] or [`Rgba16`]. No other type implements this trait.
pub trait Pixel:
    Hooks
    + Pod
    + Send
    + Sync
    + Debug
    + Default
    + Eq
    + From<Rgba8>
    + From<Rgba16>
    + Into<Rgba8>
    + Into<Rgba16>
{
    /// The number of bits per channel.
    const BITS: u8;

    /// Opaque black, the colour of panorama pixels that no camera sees.
    const BLACK: Self;
}

/// The functions of a pixel that only this crate calls.
pub trait Hooks: Sized {
    /// Returns whether the pixel is opaque.
    fn is_opaque(&self) -> bool;

    /// Returns the pixel with opacity 0.
    fn masked(self) -> Self;

    /// Returns the pictures with 8 bits per channel. Does not copy pictures that have 8 bits.
    fn rgba8(pictures: &[Picture<Self>]) -> Cow<'_, [Picture]>;

    /// Returns the view of an image in device memory.
    fn view(image: &Image<Self>) -> RgbaView<'_>;

    /// Returns the writable view of an image in device memory.
    fn view_mut(image: &mut Image<Self>) -> RgbaViewMut<'_>;
}

/// An RGBA picture in device memory that a kernel reads.
#[derive(Clone, Copy, Debug)]
pub enum RgbaView<'a> {
    /// A picture with 8 bits per channel.
    Rgba8(DeviceView<'a, Rgba8>),
    /// A picture with 16 bits per channel.
    Rgba16(DeviceView<'a, Rgba16>),
}

/// An RGBA picture in device memory that a kernel writes.
#[derive(Debug)]
pub enum RgbaViewMut<'a> {
    /// A picture with 8 bits per channel.
    Rgba8(DeviceViewMut<'a, Rgba8>),
    /// A picture with 16 bits per channel.
    Rgba16(DeviceViewMut<'a, Rgba16>),
}

/// Implements the traits for a pixel type with this name and number of bits.
macro_rules! pixel {
    ($pixel:ident, $bits:literal, |$pictures:ident| $rgba8:expr) => {
        impl Pixel for $pixel {
            const BITS: u8 = $bits;
            const BLACK: Self = Self::BLACK;
        }

        impl Hooks for $pixel {
            fn is_opaque(&self) -> bool {
                self.a == Self::BLACK.a
            }

            fn masked(self) -> Self {
                Self { a: 0, ..self }
            }

            fn rgba8($pictures: &[Picture<Self>]) -> Cow<'_, [Picture]> {
                $rgba8
            }

            fn view(image: &Image<Self>) -> RgbaView<'_> {
                RgbaView::$pixel(image.view())
            }

            fn view_mut(image: &mut Image<Self>) -> RgbaViewMut<'_> {
                RgbaViewMut::$pixel(image.view_mut())
            }
        }
    };
}

pixel!(Rgba8, 8, |pictures| Cow::Borrowed(pictures));
pixel!(Rgba16, 16, |pictures| pictures.iter().map(Picture::to_depth).collect());
