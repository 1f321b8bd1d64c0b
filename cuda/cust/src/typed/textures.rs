//! A cache of textures over frames whose memory is used again and again.
//!
//! A texture object is only an address, a size and a pitch, so it stays valid for any contents at
//! the same place and shape. The cache is therefore not notified when memory is freed. When it is
//! full, it drops the least recently used object.

use std::collections::VecDeque;

use cuda_std::cpu::texture::{Address, Filter, Format};
use cuda_std::{DeviceView, Texel};
use glam::Vec4;

use super::memory::ALIGN;
use super::texture::{Made, TextureMode};
use super::{Device, DeviceError, Kind, Place};

/// The maximum number of cached objects: two cameras, each with 64 frames of two planes in flight.
const MOST: usize = 256;

/// Bilinear filtering, clamped to the edge.
const MODE: TextureMode = TextureMode { filter: Filter::Linear, address: Address::Clamp };

/// The identity of an object: place, address, size, pitch and format.
type Key = (Place, usize, (u32, u32), u32, Format);

/// A cache of texture objects, filtered and clamped, that read as [`Vec4`].
#[derive(Debug, Default)]
pub struct Textures {
    made: VecDeque<(Key, Made)>,
}

impl Textures {
    /// Returns the handle of a texture over the view's rows, or `None` if their alignment does not
    /// allow the device to read them as a texture.
    ///
    /// The handle is valid until the cache is dropped or has served 256 other textures.
    #[track_caller]
    pub fn over<T: Texel>(
        &mut self,
        device: &Device,
        view: &DeviceView<'_, T>,
    ) -> Result<Option<u64>, DeviceError> {
        let ((texels, pitch), size) = (view.rows(), view.size());
        // For rows on another device, the caller's launch with plain loads reports the error.
        let elsewhere = view.place() != device.place();
        if elsewhere || !fits(device, texels.addr(), pitch) || size.0 == 0 || size.1 == 0 {
            return Ok(None);
        }
        let key = (device.place(), texels.addr(), size, pitch, T::format());
        // On the CPU an object is a pointer with the provenance of its rows. A new object has the
        // provenance of the rows that live now. An earlier object for the same key stays, since the
        // same launch may use it.
        let is_gpu = matches!(device.kind(), Kind::Cuda(_));
        let same = |(kept, _): &(Key, Made)| is_gpu && *kept == key;
        let found = self.made.iter().position(same);
        let made = match found.and_then(|at| self.made.remove(at)) {
            Some((_, made)) => made,
            None => {
                if self.made.len() == MOST {
                    self.made.pop_front();
                }
                // SAFETY: the rows live as long as the view, and the code that launches a kernel
                // with the handle holds the view; neither side is 0.
                unsafe { Made::over::<Vec4, T>(device, view, MODE) }?
            }
        };
        // The most recently used object is last.
        let handle = made.handle();
        self.made.push_back((key, made));
        Ok(Some(handle))
    }
}

/// Returns whether the device can read these rows as a texture. The CPU could read any rows, but
/// accepts only those aligned like an image, so that CPU runs also exercise the fallback to loads.
fn fits(device: &Device, address: usize, pitch: u32) -> bool {
    /// The pitch alignment that GPUs require, in bytes.
    const PITCH: u32 = 32;
    let (alignment, pitches) = match device.kind() {
        Kind::Cpu { .. } => (ALIGN, PITCH),
        Kind::Cuda(cuda) => {
            let info = cuda.info();
            (info.texture_alignment as usize, info.texture_pitch)
        }
    };
    address.is_multiple_of(alignment) && pitch.is_multiple_of(pitches)
}
