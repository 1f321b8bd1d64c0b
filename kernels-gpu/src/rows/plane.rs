//! A plane of texels in memory, sampled bilinearly at many positions at once.

use crate::io::cubic_weights;
use cuda_std::cpu::texture::{Address, Channel, Filter, Format};
use cuda_std::{Texture2d, View};
use glam::Vec4;

/// The memory of a plane of texels that is sampled bilinearly. Coordinates are clamped to the edge.
#[derive(Clone, Copy)]
pub(crate) struct Plane {
    texels: *const u8,
    pitch: u32,
    texel: u32,
    /// The last column and row, and the last ones that have a right neighbour and one below.
    last: [f32; 2],
    inner: [i32; 2],
}

// SAFETY: a plane only reads its texels, which nothing writes as long as it is used.
unsafe impl Send for Plane {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Plane {}

/// The four nearest texels of each position of a row: where the first of them is, and the parts of the second column
/// and row.
pub(crate) struct Corners<const N: usize> {
    offsets: [u32; N],
    pub(crate) right: [f32; N],
    pub(crate) below: [f32; N],
}

impl Plane {
    /// Returns the memory of `view`, whose texels have the type of its elements. Returns `None` in the cases of
    /// [`of_texture`](Self::of_texture).
    ///
    /// # Safety
    /// The view must be valid host memory as long as the plane is used, and nothing may write it.
    pub(crate) unsafe fn of_view<T: bytemuck::Pod>(view: View<T>) -> Option<Self> {
        let size = [view.width(), view.height()];
        Self::new(view.host_address().cast(), size, view.host_pitch(), size_of::<T>() as u32)
    }

    /// Returns the memory of `texture`, or `None` unless its texels have `channels` channels of type `channel`, it
    /// filters and clamps, and it has at least two columns and rows and less than 2 GiB.
    ///
    /// # Safety
    /// The texture must be one of the CPU, it must stay alive as long as the plane is used, and nothing may write it.
    pub(crate) unsafe fn of_texture(
        texture: Texture2d<Vec4>,
        channel: Channel,
        channels: u32,
    ) -> Option<Self> {
        // SAFETY: the caller guarantees it.
        let texture = unsafe { texture.host_texture() };
        let format = Format { channel, channels };
        let (texels, size, pitch) = texture.memory(format, Filter::Linear, Address::Clamp)?;
        Self::new(texels, size, pitch, channel.bytes() * channels)
    }

    fn new(texels: *const u8, [width, height]: [u32; 2], pitch: u32, texel: u32) -> Option<Self> {
        let is_small = u64::from(height) * u64::from(pitch) < i32::MAX as u64;
        (width > 1 && height > 1 && is_small).then(|| Self {
            texels,
            pitch,
            texel,
            last: [(width - 1) as f32, (height - 1) as f32],
            inner: [width as i32 - 2, height as i32 - 2],
        })
    }

    /// Returns the nearest texels of the texture coordinates `(x[i], y[i])`. A NaN counts as 0.
    #[inline(always)]
    pub(crate) fn corners<const N: usize>(&self, x: &[f32; N], y: &[f32; N]) -> Corners<N> {
        let mut corners = Corners { offsets: [0; N], right: [0.0; N], below: [0.0; N] };
        for k in 0..N {
            let (column, right) = split(x[k], self.last[0], self.inner[0]);
            let (row, below) = split(y[k], self.last[1], self.inner[1]);
            corners.offsets[k] = row as u32 * self.pitch + column as u32 * self.texel;
            (corners.right[k], corners.below[k]) = (right, below);
        }
        corners
    }

    /// Reads two adjacent texels as a `T` in the first row and in the next one. The corners must be those of this plane.
    #[inline(always)]
    pub(crate) fn pairs<T: Copy, const N: usize>(
        &self,
        corners: &Corners<N>,
        above: &mut [T; N],
        below: &mut [T; N],
    ) {
        assert!(size_of::<T>() == 2 * self.texel as usize);
        for k in 0..N {
            // SAFETY: the corner and its neighbours are in the texture, because `split` limits the column and the row.
            unsafe {
                let at = self.texels.add(corners.offsets[k] as usize);
                above[k] = at.cast::<T>().read_unaligned();
                below[k] = at.add(self.pitch as usize).cast::<T>().read_unaligned();
            }
        }
    }

    /// Returns whether [`cubic`](Self::cubic) can sample the plane: it has at least four columns and rows.
    pub(crate) fn fits_cubic(&self) -> bool {
        self.inner.iter().all(|inner| *inner >= 2)
    }

    /// Samples texels of four bytes with the cubic filter of [`cubic`](crate::io::Cubic) at the texture coordinates
    /// `(x[i], y[i])`, and returns the levels of the first three bytes. The plane must [fit](Self::fits_cubic).
    #[inline(always)]
    pub(crate) fn cubic<const N: usize>(&self, x: &[f32; N], y: &[f32; N]) -> [[f32; 4]; N] {
        debug_assert!(self.texel == 4 && self.fits_cubic());
        let mut samples = [[0.0; 4]; N];
        for k in 0..N {
            let (columns, rows) =
                (taps(x[k], self.last[0], self.inner[0]), taps(y[k], self.last[1], self.inner[1]));
            let start = rows.first as u32 * self.pitch + columns.first as u32 * self.texel;
            let mut sum = [0.0; 4];
            for i in 0..4 {
                // SAFETY: the four texels of the row are in the texture, because `taps` limits the column and the row.
                let texels = unsafe {
                    let at = self.texels.add((start + i as u32 * self.pitch) as usize);
                    at.cast::<[[u8; 4]; 4]>().read_unaligned()
                };
                let mut row = [0.0; 4];
                for (texel, weight) in texels.into_iter().zip(columns.weights) {
                    for (sum, level) in row.iter_mut().zip(texel) {
                        *sum += f32::from(level) * weight;
                    }
                }
                for (sum, row) in sum.iter_mut().zip(row) {
                    *sum += row * rows.weights[i];
                }
            }
            samples[k] = sum;
        }
        samples
    }
}

/// Returns the last texel whose centre is at most at texture coordinate `at`, limited to 0 to `inner`, and the part of
/// the texel after it.
#[inline(always)]
fn split(at: f32, last: f32, inner: i32) -> (i32, f32) {
    let centred = at - 0.5;
    let positive = if centred > 0.0 { centred } else { 0.0 };
    let inside = if positive < last { positive } else { last };
    // SAFETY: the value is from 0 to `last`, which is less than 2³¹.
    let floor = unsafe { inside.to_int_unchecked::<i32>() };
    let texel = if floor < inner { floor } else { inner };
    (texel, inside - texel as f32)
}

/// Returns the bilinear mean of four values.
#[inline(always)]
pub(crate) fn bilinear([a, b, c, d]: [f32; 4], right: f32, below: f32) -> f32 {
    let above = a + (b - a) * right;
    let under = c + (d - c) * right;
    above + (under - above) * below
}

/// Four adjacent texels along an axis, and their weights in the cubic filter.
struct Taps {
    first: i32,
    weights: [f32; 4],
}

/// Returns the texels around texture coordinate `at`. Beyond the edge, the last texel is repeated: the first of the four
/// moves inside, and the texel at the edge gets the weights of those outside.
#[inline(always)]
fn taps(at: f32, last: f32, inner: i32) -> Taps {
    let centred = at - 0.5;
    let positive = if centred > 0.0 { centred } else { 0.0 };
    let inside = if positive < last + 1.0 { positive } else { last };
    // SAFETY: the value is from 0 to `last` + 1, which is less than 2³¹.
    let second = unsafe { inside.to_int_unchecked::<i32>() };
    let [a, b, c, d] = cubic_weights(inside - second as f32);
    // Of the texels from `second` − 1 to `second` + 2, the first one or the last two may be outside.
    let (first, weights) = if second == 0 {
        (0, [a + b, c, d, 0.0])
    } else if second < inner {
        (second - 1, [a, b, c, d])
    } else if second == inner {
        (inner - 2, [0.0, a, b, c + d])
    } else {
        (inner - 2, [0.0, 0.0, a, b + c + d])
    };
    Taps { first, weights }
}
