//! Textures, through which kernels read an image or an array with the texture unit. An array stores
//! neighbouring texels, in x and in y, close together in memory.

use std::marker::PhantomData;
use std::ptr;

use cuda_std::cpu::texture::{Address, Channel, Filter};
use cuda_std::{DeviceTexture, DeviceView, Texel, TextureValue, cpu};
use cust_raw::driver_sys as sys;
use glam::{UVec4, Vec4};

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::rows::RowsMut;
use super::{Device, Image, Kind, Stream};

/// The filter of a texture, and the value of reads outside the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureMode {
    /// Point or bilinear filtering.
    pub filter: Filter,
    /// The value of a read outside the texture: the texel at the edge, or zero.
    pub address: Address,
}

/// A type that kernels can read from a texture: [`Vec4`] or [`UVec4`].
pub trait ReadMode: TextureValue {
    /// Whether reads return integer texels unchanged instead of converting them to floats from 0 to
    /// 1.
    #[doc(hidden)]
    const INTEGER: bool;
}

impl ReadMode for Vec4 {
    const INTEGER: bool = false;
}

impl ReadMode for UVec4 {
    const INTEGER: bool = true;
}

/// An image in a memory layout that the driver chooses, in which reads of neighbouring texels in x
/// and y are fast. Kernels can read an array only through a [`Texture`]. On the CPU an array is an
/// [`Image`].
#[derive(Debug)]
pub struct Array<T>(Storage<T>);

#[derive(Debug)]
enum Storage<T> {
    Cpu(Image<T>),
    Cuda { array: sys::CUarray, width: u32, height: u32, device: Device, counted: Token },
}

// SAFETY: any thread whose context is current may use an array handle.
unsafe impl<T: Texel> Send for Array<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Texel> Sync for Array<T> {}

impl<T: Texel> Array<T> {
    /// Creates an array of `width` × `height` texels with unspecified contents.
    #[track_caller]
    pub fn new(device: &Device, width: u32, height: u32) -> Result<Self, DeviceError> {
        const OP: &str = "creating an array";
        // To the driver, a height of 0 means a one-dimensional array.
        if width == 0 || height == 0 {
            let size = format!("{width}×{height} elements; width and height must be at least 1");
            return Err(DeviceError::new(OP, ErrorKind::ImpossibleSize(size)));
        }
        match device.kind() {
            Kind::Cpu(_) => Image::new(device, width, height).map(|i| Self(Storage::Cpu(i))),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let descriptor = sys::CUDA_ARRAY_DESCRIPTOR {
                    Width: width as usize,
                    Height: height as usize,
                    Format: format(T::CHANNEL),
                    NumChannels: T::format().channels,
                };
                let mut array = ptr::null_mut();
                // SAFETY: all required fields of the descriptor are set, and the driver writes the
                // handle to a local variable.
                unsafe { sys::cuArrayCreate_v2(&raw mut array, &raw const descriptor) }
                    .check(OP)?;
                let counted = Token::new(counters::Kind::Arrays, 1);
                let device = device.clone();
                Ok(Self(Storage::Cuda { array, width, height, device, counted }))
            }),
        }
    }

    /// Submits a copy of `image`, which must have the same size, into the array without waiting.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &Stream, image: &Image<T>) -> Result<(), DeviceError> {
        let (to, width, height) = match &mut self.0 {
            Storage::Cpu(array) => return array.copy_from(stream, image),
            Storage::Cuda { array, width, height, device, .. } => {
                (RowsMut::Array { array: *array, place: device.place() }, *width, *height)
            }
        };
        let size = |w: u32, h: u32| (w as usize, h as usize);
        let (found, expected) = (size(image.width(), image.height()), size(width, height));
        if found != expected {
            let kind = ErrorKind::SizeMismatch { what: "image for an array", found, expected };
            return Err(DeviceError::new("filling an array", kind));
        }
        // SAFETY: both sides have the size `expected`. Both are device memory, which is freed only
        // after the work that uses it, and the stream runs its copies in order.
        unsafe { stream.copy_rows(image.rows(), to, expected.0 * size_of::<T>(), expected.1) }
    }
}

impl<T> Drop for Storage<T> {
    fn drop(&mut self) {
        if let Self::Cuda { array, device, counted, .. } = self
            && let Kind::Cuda(cuda) = device.kind()
        {
            // SAFETY: the handle is alive and is destroyed only once; `release_idle` waits until no
            // copy uses it.
            cuda.release_idle(counted, || unsafe { sys::cuArrayDestroy(*array) });
        }
    }
}

/// A texture object that reads an image or an array. Kernels read values of type `V` from the
/// texture.
///
/// ```
/// use cuda_std::glam::Vec4;
/// use cuda_std::prelude::*;
/// use cust::typed::{Address, Buffer, Device, Filter, Image, LaunchConfig, Texture, TextureMode};
///
/// /// Reads the middle between two texels.
/// #[kernel(dims(1))]
/// pub fn middle(texture: Texture2d<Vec4>, out: SliceMut<f32>) {
///     out.set(thread::unique_1d(), texture.read(1.0, 0.5).x);
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let image = Image::from_slice(&stream, 2, 1, &[1.0_f32, 2.0])?;
/// let mode = TextureMode { filter: Filter::Linear, address: Address::Clamp };
/// let texture = Texture::of_image(&image, mode)?;
/// let mut out = Buffer::new(&device, 1)?;
/// let middle = Middle { texture: texture.view(), out: out.view_mut() };
/// stream.launch(&LaunchConfig::for_1d(1, 1), &middle)?;
/// assert_eq!(out.download(&stream)?, [1.5]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Texture<'a, V> {
    made: Made,
    value: PhantomData<(&'a (), V)>,
}

/// A texture object that does not borrow the texels that it reads. The owner of this value must
/// keep the texels valid.
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
    /// Creates a texture that reads an image without copying it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if `V` is [`UVec4`] and the filter is linear or the
    /// texels are floats. Otherwise returns the driver's error, for example if the device does not
    /// support the pitch.
    #[track_caller]
    pub fn of_image<T: Texel>(image: &'a Image<T>, mode: TextureMode) -> Result<Self, DeviceError> {
        // SAFETY: `image` is borrowed as long as the texture lives, so its rows stay alive and
        // unchanged. The width and height of an image are not 0.
        let made = unsafe { Made::over::<V, T>(image.device(), &image.view(), mode) }?;
        Ok(Self { made, value: PhantomData })
    }

    /// Creates a texture that reads an array.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if `V` is [`UVec4`] and the filter is linear or the
    /// texels are floats. Otherwise returns the driver's error, if any.
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

    /// Returns a view that a kernel can read.
    #[must_use]
    pub fn view(&self) -> DeviceTexture<'_, V> {
        // SAFETY: the object was created for reads of `V`. The object and its texels live as long
        // as the returned view.
        unsafe { DeviceTexture::new(self.made.device.place(), self.made.handle()) }
    }
}

impl Made {
    /// Creates a texture that reads the rows of `view` without copying them.
    ///
    /// # Safety
    /// The rows must stay alive and unchanged while kernels read them through the texture. The
    /// width and height of `view` must not be 0.
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
        // SAFETY: the caller upholds this function's safety contract.
        let texture = unsafe {
            cpu::texture::Texture::new(texels, size, pitch, format, mode.filter, mode.address)
        };
        Ok(Self { object: Object::Cpu(Box::new(texture)), device: device.clone() })
    }

    /// Returns the handle as the integer that a kernel takes as an argument.
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
            unreachable!("`on_cuda` is called only for a GPU");
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
            // SAFETY: all required fields of the descriptors are set, and the driver writes the
            // handle to a local variable.
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
            // SAFETY: the handle is alive and is destroyed only once; `release_idle` waits until no
            // launch uses it.
            cuda.release_idle(counted, || unsafe { sys::cuTexObjectDestroy(*handle) });
        }
    }
}

/// Checks that the texture unit supports reads as `V` with this mode. The texture unit cannot
/// filter reads that return integers, and it cannot read float texels as integers.
#[track_caller]
fn check_mode<V: ReadMode, T: Texel>(mode: TextureMode) -> Result<(), DeviceError> {
    let readable = !(V::INTEGER && (mode.filter == Filter::Linear || T::CHANNEL == Channel::F32));
    let reason = "a texture for reads as `UVec4` needs point filtering and an integer format; set \
                  these, or read `Vec4` instead";
    let refused = || ErrorKind::Invalid(reason.to_owned());
    readable.then_some(()).ok_or_else(refused).check("creating a texture")
}

fn format(channel: Channel) -> sys::CUarray_format {
    match channel {
        Channel::U8 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        Channel::U16 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        Channel::F32 => sys::CUarray_format::CU_AD_FORMAT_FLOAT,
    }
}
