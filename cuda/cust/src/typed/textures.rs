//! A cache of texture objects, for programs that reuse the same memory for many frames.
//!
//! On a GPU, a texture object stores only an address, a size, a pitch and a format. The cache can
//! return the same object for any later memory with the same address, size, pitch and format, so it
//! need not know when memory is freed. A full cache drops its least recently used object.

use std::collections::VecDeque;

use cuda_std::cpu::texture::{Address, Filter, Format};
use cuda_std::{DeviceView, Texel};
use glam::Vec4;

use super::memory::ALIGN;
use super::texture::{Made, TextureMode};
use super::{Device, DeviceError, Kind, Place};

/// The maximum number of cached objects. 256 objects suffice for two cameras that each have 64
/// frames of two planes in flight.
const MOST: usize = 256;

/// The mode of all cached textures: bilinear filtering, and reads outside the texture return the
/// texel at the edge.
const MODE: TextureMode = TextureMode { filter: Filter::Linear, address: Address::Clamp };

/// The key of a cached texture object: the device, and the address, size, pitch and format of the
/// rows that the texture reads.
type Key = (Place, usize, (u32, u32), u32, Format);

/// A cache of texture objects with bilinear filtering. Kernels read [`Vec4`] values from these
/// textures. Reads outside a texture return the texel at the edge.
///
/// ```
/// use cust::typed::{Device, Image, Textures};
///
/// let device = Device::cpu();
/// let mut textures = Textures::default();
/// let frame = Image::<u8>::new(&device, 640, 480)?;
/// let handle = textures.over(&device, &frame.view())?;
/// assert!(handle.is_some());
///
/// // The rows of this image are too close together for a texture.
/// let tight = Image::<u8>::with_pitch(&device, 3, 2, 3)?;
/// assert!(textures.over(&device, &tight.view())?.is_none());
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug, Default)]
pub struct Textures {
    made: VecDeque<(Key, Made)>,
}

impl Textures {
    /// Returns the handle of a texture that reads the rows of `view`. Returns `None` if the view is
    /// empty, if its memory is on another device, or if the device cannot read rows with this
    /// alignment as a texture.
    ///
    /// The handle is valid until the cache is dropped or has returned 256 other handles.
    #[track_caller]
    pub fn over<T: Texel>(
        &mut self,
        device: &Device,
        view: &DeviceView<'_, T>,
    ) -> Result<Option<u64>, DeviceError> {
        let ((texels, pitch), size) = (view.rows(), view.size());
        // If the rows are on another device, this function reports no error. The caller then
        // launches the kernel without a texture, and that launch reports the wrong device.
        let elsewhere = view.place() != device.place();
        if elsewhere || !fits(device, texels.addr(), pitch) || size.0 == 0 || size.1 == 0 {
            return Ok(None);
        }
        let key = (device.place(), texels.addr(), size, pitch, T::format());
        // On the CPU, a texture object contains a pointer whose provenance is a single allocation,
        // so objects are not reused and each call creates a new object. An older object with the
        // same key stays in the cache, because the launch being prepared may already use it.
        let is_gpu = matches!(device.kind(), Kind::Cuda(_));
        let same = |(kept, _): &(Key, Made)| is_gpu && *kept == key;
        let found = self.made.iter().position(same);
        let made = match found.and_then(|at| self.made.remove(at)) {
            Some((_, made)) => made,
            None => {
                if self.made.len() == MOST {
                    self.made.pop_front();
                }
                // SAFETY: the rows live as long as `view`, and the caller keeps `view` until the
                // launch that uses the handle is done. The width and height are not 0, as checked
                // above.
                unsafe { Made::over::<Vec4, T>(device, view, MODE) }?
            }
        };
        // Appends the object, because the queue is sorted from least to most recently used.
        let handle = made.handle();
        self.made.push_back((key, made));
        Ok(Some(handle))
    }
}

/// Returns whether the device can read these rows as a texture. The CPU could read any rows, but it
/// accepts only rows with the alignment that GPUs require, so that CPU runs also exercise the
/// fallback to plain loads.
fn fits(device: &Device, address: usize, pitch: u32) -> bool {
    /// The pitch alignment in bytes that current GPUs require.
    const PITCH: u32 = 32;
    let (alignment, pitches) = match device.kind() {
        Kind::Cpu(_) => (ALIGN, PITCH),
        Kind::Cuda(cuda) => {
            let info = cuda.info();
            (info.texture_alignment as usize, info.texture_pitch)
        }
    };
    address.is_multiple_of(alignment) && pitch.is_multiple_of(pitches)
}
