//! Textures: reads of an image, or of an array laid out for 2-D locality, through the texture unit.

use std::marker::PhantomData;
use std::ptr;

use cuda_std::cpu::texture::{Address, Channel, Filter};
use cuda_std::{DeviceTexture, DeviceView, Texel, TextureValue, cpu};
use cust_raw::driver_sys as sys;
use glam::{UVec4, Vec4};

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::stream::{Rows, RowsMut};
use super::{Device, Image, Kind, Stream};

/// How a texture answers: which filter, and what lies outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureMode {
    /// Point or bilinear.
    pub filter: Filter,
    /// Clamped or zero.
    pub address: Address,
}

/// What reads of type `V` ask of the texture object.
pub trait ReadMode: TextureValue {
    /// Whether integers are read as they are.
    #[doc(hidden)]
    const INTEGER: bool;
}

impl ReadMode for Vec4 {
    const INTEGER: bool = false;
}

impl ReadMode for UVec4 {
    const INTEGER: bool = true;
}

/// An image laid out by the driver for reads that are near in both directions; only textures read
/// it. On the CPU an [`Image`].
#[derive(Debug)]
pub struct Array<T>(Storage<T>);

#[derive(Debug)]
enum Storage<T> {
    Cpu(Image<T>),
    Cuda { array: sys::CUarray, width: u32, height: u32, device: Device, counted: Token },
}

// SAFETY: an array handle may be used from any thread whose context is current.
unsafe impl<T: Texel> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Texel> Sync for Array<T> {}

impl<T: Texel> Array<T> {
    /// An array with unspecified content.
    ///
    /// # Errors
    /// A size that the device does not support, or what the driver says.
    #[track_caller]
    pub fn new(device: &Device, width: u32, height: u32) -> Result<Self, DeviceError> {
        const OP: &str = "creating an array";
        // A height of 0 means a one-dimensional array to the driver.
        if width == 0 || height == 0 {
            let size = format!("{width}×{height} elements");
            return Err(DeviceError::new(OP, ErrorKind::ImpossibleSize(size)));
        }
        match device.kind() {
            Kind::Cpu { .. } => Image::new(device, width, height).map(|i| Self(Storage::Cpu(i))),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let descriptor = sys::CUDA_ARRAY_DESCRIPTOR {
                    Width: width as usize,
                    Height: height as usize,
                    Format: format(T::CHANNEL),
                    NumChannels: T::format().channels,
                };
                let mut array = ptr::null_mut();
                // SAFETY: the handle is written, the descriptor is complete.
                unsafe { sys::cuArrayCreate_v2(&raw mut array, &raw const descriptor) }
                    .check(OP)?;
                let counted = Token::new(counters::Kind::Arrays, 1);
                let device = device.clone();
                Ok(Self(Storage::Cuda { array, width, height, device, counted }))
            }),
        }
    }

    /// Fills the array from an image of the same size.
    ///
    /// # Errors
    /// Another size, another device, or what the driver says.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &Stream, image: &Image<T>) -> Result<(), DeviceError> {
        let (width, height) = match &self.0 {
            Storage::Cpu(array) => (array.width(), array.height()),
            Storage::Cuda { width, height, .. } => (*width, *height),
        };
        let size = |w: u32, h: u32| (w as usize, h as usize);
        let (found, expected) = (size(image.width(), image.height()), size(width, height));
        if found != expected {
            let kind = ErrorKind::SizeMismatch { what: "image for an array", found, expected };
            return Err(DeviceError::new("filling an array", kind));
        }
        let from = Rows::Device { memory: image.memory(), pitch: image.pitch() as usize };
        let to = match &self.0 {
            Storage::Cpu(array) => {
                RowsMut::Device { memory: array.memory(), pitch: array.pitch() as usize }
            }
            Storage::Cuda { array, device, .. } => {
                RowsMut::Array { array: *array, place: device.place() }
            }
        };
        // SAFETY: both have this size; on the device, copies are ordered by the stream.
        unsafe { stream.copy_rows(from, to, expected.0 * size_of::<T>(), expected.1) }
    }
}

impl<T> Drop for Storage<T> {
    fn drop(&mut self) {
        if let Self::Cuda { array, device, counted, .. } = self
            && let Kind::Cuda(cuda) = device.kind()
        {
            // SAFETY: created here and destroyed once; no copy into it runs any more.
            cuda.release_idle(counted, || unsafe { sys::cuArrayDestroy(*array) });
        }
    }
}

/// A texture object over an image or an array, for kernels to read as `V`.
#[derive(Debug)]
pub struct Texture<'a, V> {
    made: Made,
    value: PhantomData<(&'a (), V)>,
}

/// A texture object. What it is over, whoever has it answers for.
#[derive(Debug)]
pub(super) struct Made {
    object: Object,
    device: Device,
}

#[derive(Debug)]
enum Object {
    Cpu(Box<cpu::texture::Texture>),
    Cuda { handle: sys::CUtexObject, counted: Token },
}

impl<'a, V: ReadMode> Texture<'a, V> {
    /// A texture over an image, in place.
    ///
    /// # Errors
    /// Linear filtering of whole integers, a pitch that the device cannot read, or what the driver
    /// says.
    #[track_caller]
    pub fn of_image<T: Texel>(image: &'a Image<T>, mode: TextureMode) -> Result<Self, DeviceError> {
        // SAFETY: the image's rows, which the borrow keeps alive; no side of an image is 0.
        let made = unsafe { Made::over::<V, T>(image.device(), &image.view(), mode) }?;
        Ok(Self { made, value: PhantomData })
    }

    /// A texture over an array.
    ///
    /// # Errors
    /// Linear filtering of whole integers, or what the driver says.
    #[track_caller]
    pub fn of_array<T: Texel>(array: &'a Array<T>, mode: TextureMode) -> Result<Self, DeviceError> {
        let made = match &array.0 {
            Storage::Cpu(image) => return Self::of_image(image, mode),
            Storage::Cuda { array, device, .. } => {
                Made::on_cuda::<V, T>(device, &sys::CUDA_RESOURCE_DESC::array(*array), mode)?
            }
        };
        Ok(Self { made, value: PhantomData })
    }

    /// For a kernel to read.
    #[must_use]
    pub fn view(&self) -> DeviceTexture<'_, V> {
        // SAFETY: made for reads of `V`; object and texels live as long as the borrow.
        unsafe { DeviceTexture::new(self.made.device.place(), self.made.handle()) }
    }
}

impl Made {
    /// Over rows in place.
    ///
    /// # Safety
    /// The rows live, unwritten, while anything reads through the object, and neither side is 0.
    #[track_caller]
    pub(super) unsafe fn over<V: ReadMode, T: Texel>(
        device: &Device,
        view: &DeviceView<'_, T>,
        mode: TextureMode,
    ) -> Result<Self, DeviceError> {
        let ((texels, pitch), (width, height)) = (view.rows(), view.size());
        if let Kind::Cuda(_) = device.kind() {
            let rows = sys::CUDA_RESOURCE_DESC_pitch2D {
                devPtr: texels.addr() as u64,
                format: format(T::CHANNEL),
                numChannels: T::format().channels,
                width: width as usize,
                height: height as usize,
                pitchInBytes: pitch as usize,
            };
            return Self::on_cuda::<V, T>(device, &sys::CUDA_RESOURCE_DESC::pitch2D(rows), mode);
        }
        check_mode::<V, T>(mode)?;
        let (texels, size, format) = (texels.cast(), [width, height], T::format());
        // SAFETY: as the caller vouches.
        let texture = unsafe {
            cpu::texture::Texture::new(texels, size, pitch, format, mode.filter, mode.address)
        };
        Ok(Self { object: Object::Cpu(Box::new(texture)), device: device.clone() })
    }

    /// As kernels take it.
    pub(super) fn handle(&self) -> u64 {
        match &self.object {
            Object::Cpu(texture) => ptr::from_ref(&**texture).expose_provenance() as u64,
            Object::Cuda { handle, .. } => *handle,
        }
    }

    #[track_caller]
    fn on_cuda<V: ReadMode, T: Texel>(
        device: &Device,
        resource: &sys::CUDA_RESOURCE_DESC,
        mode: TextureMode,
    ) -> Result<Self, DeviceError> {
        const OP: &str = "creating a texture";
        check_mode::<V, T>(mode)?;
        let Kind::Cuda(cuda) = device.kind() else {
            unreachable!("called for GPUs only");
        };
        let address = match mode.address {
            Address::Clamp => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            Address::Border => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        };
        let texture = sys::CUDA_TEXTURE_DESC {
            addressMode: [address; 3],
            filterMode: match mode.filter {
                Filter::Point => sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
                Filter::Linear => sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
            },
            flags: if V::INTEGER { sys::CU_TRSF_READ_AS_INTEGER } else { 0 },
            ..Default::default()
        };
        cuda.enter(OP, || {
            let mut handle = 0;
            // SAFETY: the descriptors are complete, the handle is written.
            unsafe {
                sys::cuTexObjectCreate(
                    &raw mut handle,
                    ptr::from_ref(resource),
                    &raw const texture,
                    ptr::null(),
                )
            }
            .check(OP)?;
            let object = Object::Cuda { handle, counted: Token::new(counters::Kind::Textures, 1) };
            Ok(Self { object, device: device.clone() })
        })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let (Object::Cuda { handle, counted }, Kind::Cuda(cuda)) =
            (&mut self.object, self.device.kind())
        {
            // SAFETY: created here and destroyed once; no launch that reads it runs any more.
            cuda.release_idle(counted, || unsafe { sys::cuTexObjectDestroy(*handle) });
        }
    }
}

/// A texture unit filters floats and fractions, not whole integers.
#[track_caller]
fn check_mode<V: ReadMode, T: Texel>(mode: TextureMode) -> Result<(), DeviceError> {
    let readable = !(V::INTEGER && (mode.filter == Filter::Linear || T::CHANNEL == Channel::F32));
    readable.then_some(()).ok_or(ErrorKind::UnreadableTexture).check("creating a texture")
}

fn format(channel: Channel) -> sys::CUarray_format {
    match channel {
        Channel::U8 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        Channel::U16 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        Channel::F32 => sys::CUarray_format::CU_AD_FORMAT_FLOAT,
    }
}
