//! 2-D textures: reads through the texture unit, which filters and clamps in hardware.
//!
//! Coordinates are in texels: texel `i` has its centre at `i + 0.5`. The host selects filter, edge
//! mode and format when it creates the texture object. The type parameter is the type that a read
//! returns. Linear filtering uses weights of 8 bits, on the CPU too.

use core::marker::PhantomData;

use glam::{UVec4, Vec4};

use crate::KernelArg;
use crate::stamp::Stamp;

/// A type that a texture read can return.
pub trait TextureValue: Copy + Sync + 'static {
    /// Reads the texture at `(x, y)`.
    ///
    /// # Safety
    /// `handle` must be a live texture object that was created for reads of this type.
    #[doc(hidden)]
    unsafe fn read(handle: u64, x: f32, y: f32) -> Self;
}

/// A texture of up to four channels. Missing channels read as zero.
///
/// ```
/// use cuda_std::glam::Vec4;
/// use cuda_std::prelude::*;
/// use cust::typed::{Address, Buffer, Device, Filter, Image, LaunchConfig, Texture, TextureMode};
///
/// /// Samples the first row at multiples of `step`.
/// #[kernel(dims(1))]
/// pub fn resample(row: Texture2d<Vec4>, step: f32, out: SliceMut<f32>) {
///     let at = thread::unique_1d();
///     out.set(at, row.read(0.5 + step * at.index() as f32, 0.5).x);
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let image = Image::from_slice(&stream, 2, 1, &[10.0_f32, 20.0])?;
/// let mode = TextureMode { filter: Filter::Linear, address: Address::Clamp };
/// let row = Texture::of_image(&image, mode)?;
/// let mut out = Buffer::new(&device, 4)?;
/// let resample = Resample { row: row.view(), step: 0.5, out: out.view_mut() };
/// stream.launch(&LaunchConfig::for_1d(4, 32), &resample)?;
/// assert_eq!(out.download(&stream)?, [10.0, 15.0, 20.0, 20.0]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Texture2d<T> {
    pub(crate) handle: u64,
    stamp: Stamp,
    value: PhantomData<T>,
}

copy!([T] Texture2d<T>);

impl<T: TextureValue> Texture2d<T> {
    /// Reads the texture at `(x, y)`. Any coordinate is allowed. The edge mode determines the
    /// result outside the texture.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self, x: f32, y: f32) -> T {
        self.stamp.check("Texture2d");
        // SAFETY: the caller of `DeviceTexture::new` guarantees that the texture object stays alive
        // during the launch.
        unsafe { T::read(self.handle, x, y) }
    }
}

/// Implements a read as `tex.level.2d.v4.TYPE.f32` on the GPU and with the software texture on the
/// CPU. The instruction names level 0, the only level of a texture, as a constant. This form takes
/// no extra register and is faster than `tex.2d`.
macro_rules! texture_value {
    ($(#[$doc:meta])* $vector:ty, $scalar:ty, $ptx:literal, $method:ident) => {
        $(#[$doc])*
        impl TextureValue for $vector {
            #[inline(always)]
            unsafe fn read(handle: u64, x: f32, y: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let (r, g, b, a): ($scalar, $scalar, $scalar, $scalar);
                    core::arch::asm!(
                        concat!(
                            "tex.level.2d.v4.", $ptx,
                            ".f32 {{{}, {}, {}, {}}}, [{}, {{{}, {}}}], 0f00000000;"
                        ),
                        out(reg32) r, out(reg32) g, out(reg32) b, out(reg32) a,
                        in(reg64) handle, in(reg32) x, in(reg32) y,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                    Self::new(r, g, b, a)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract. On the CPU, the
                // handle is the address of the texture object.
                unsafe {
                    let texture = &*core::ptr::with_exposed_provenance::<cuda_cpu::texture::Texture>(
                        handle as usize,
                    );
                    Self::from_array(texture.$method(x, y))
                }
            }
        }
    };
}

texture_value! {
    /// Reads floats unchanged, and integers as fractions of their maximum.
    Vec4, f32, "f32", sample
}
texture_value! {
    /// Reads integers unchanged. The texture must not filter.
    UVec4, u32, "u32", element
}

// SAFETY: the parameter is one 64-bit handle, which the host handle pushes.
unsafe impl<T: TextureValue> KernelArg for Texture2d<T> {
    type Params = (u64, ());
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceTexture<'a, T>;

    #[inline(always)]
    unsafe fn from_params((handle, ()): Self::Params) -> Self {
        Self { handle, stamp: Stamp::now(), value: PhantomData }
    }
}

/// The host's handle for a [`Texture2d`]: a texture object on a device.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct DeviceTexture<'a, T> {
    texture: Texture2d<T>,
    place: crate::launch::Place,
    borrow: PhantomData<&'a T>,
}

#[cfg(not(target_arch = "nvptx64"))]
copy!([T] DeviceTexture<'_, T>);

#[cfg(not(target_arch = "nvptx64"))]
impl<T: TextureValue> DeviceTexture<'_, T> {
    /// Creates a handle for the texture object `handle` on the device `place`: a `CUtexObject`, or
    /// on the CPU the exposed address of a [`cuda_cpu::texture::Texture`].
    ///
    /// # Safety
    /// - The object must have been created for reads of type `T`.
    /// - The object and its texels must stay alive and unwritten for the lifetime of the handle and
    ///   until every launch that it is passed to has completed.
    pub unsafe fn new(place: crate::launch::Place, handle: u64) -> Self {
        let texture = Texture2d { handle, stamp: Stamp::now(), value: PhantomData };
        Self { texture, place, borrow: PhantomData }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: TextureValue> crate::arg::HostArg<Texture2d<T>> for DeviceTexture<'_, T> {
    fn push<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
        params.refer_to(self.place);
        params.push(&self.texture.handle);
    }
}
