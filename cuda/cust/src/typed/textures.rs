//! Textures over frames that come again and again: each is made when its memory is first seen, and kept.
//!
//! A texture object is no more than an address, a size and a pitch: it stays right for whatever lies there with
//! the same ones. So nothing tells when memory is freed; those that were asked for least lately go
//! when there are too many.

use std::collections::VecDeque;

use cuda_std::cpu::texture::{Address, Filter, Format};
use cuda_std::{DeviceView, Texel};
use glam::Vec4;

use super::memory::ALIGN;
use super::texture::{Made, TextureMode};
use super::{Device, DeviceError, Kind, Place};

/// Most objects that are kept: those of sixty-four frames of two planes under way from each of two cameras.
const MOST: usize = 256;

/// Bilinear, and beyond the edge the edge.
const MODE: TextureMode = TextureMode { filter: Filter::Linear, address: Address::Clamp };

/// What tells one object from another: place, address, size, pitch and format.
type Key = (Place, usize, (u32, u32), u32, Format);

/// Texture objects, filtered and clamped, that read as [`Vec4`].
#[derive(Debug, Default)]
pub struct Textures {
    made: VecDeque<(Key, Made)>,
}

impl Textures {
    /// The handle of a texture over the view's rows; `None` where the device cannot read them as a texture, since
    /// they do not begin where it asks for.
    ///
    /// It lives until the objects are dropped or so many others have been asked for.
    #[track_caller]
    pub fn over<T: Texel>(
        &mut self,
        device: &Device,
        view: &DeviceView<'_, T>,
    ) -> Result<Option<u64>, DeviceError> {
        let ((texels, pitch), size) = (view.rows(), view.size());
        // A launch on loads tells of rows on another device.
        let elsewhere = view.place() != device.place();
        if elsewhere || !fits(device, texels.addr(), pitch) || size.0 == 0 || size.1 == 0 {
            return Ok(None);
        }
        let key = (device.place(), texels.addr(), size, pitch, T::format());
        // On the CPU an object is a pointer, of which Rust knows what it was made from: made anew it is that of
        // the rows that live now. One that was asked for before stays, since it may be of the same launch.
        let is_gpu = matches!(device.kind(), Kind::Cuda(_));
        let same = |(kept, _): &(Key, Made)| is_gpu && *kept == key;
        let found = self.made.iter().position(same);
        let made = match found.and_then(|at| self.made.remove(at)) {
            Some((_, made)) => made,
            None => {
                if self.made.len() == MOST {
                    self.made.pop_front();
                }
                // SAFETY: the rows live as long as the view, and whoever launches a kernel on the handle has the
                // view; no side is 0.
                unsafe { Made::over::<Vec4, T>(device, view, MODE) }?
            }
        };
        // The newest is last.
        let handle = made.handle();
        self.made.push_back((key, made));
        Ok(Some(handle))
    }
}

/// Whether the device can read such rows as a texture. The CPU could read any, and takes those that begin as
/// images do there, so that the other way is gone on it too.
fn fits(device: &Device, address: usize, pitch: u32) -> bool {
    /// What GPUs ask of a pitch.
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
