//! 2-D textures with the semantics of the hardware.
//!
//! Coordinates are unnormalised: texel `i` covers `[i, i + 1)`, and its centre is at `i + 0.5`.
//! Linear filtering follows the CUDA programming guide, "Texture Fetching": `i = floor(x - 0.5)`
//! and `α = frac(x - 0.5)`, where α is a fixed-point number with 8 fractional bits.
//!
//! The guide leaves the rounding open. Measurements on an H100 (20,000 random samples without an
//! exception) show that α, β and the product `αβ`, the weight of the last corner, are rounded to
//! the nearest multiple of 1/256, with halves rounded up. The other three weights are computed from
//! these three numbers, so the four weights sum to 1. A hardware sample therefore differs from
//! exact interpolation by up to 1/256 of the step between neighbours. This module reproduces the
//! rounding.
//!
//! ```
//! use cuda_cpu::texture::{Address, Channel, Filter, Format, Texture};
//!
//! let texels = [0_u8, 255, 255, 0];
//! let format = Format { channel: Channel::U8, channels: 1 };
//! // SAFETY: `texels` has two rows of two bytes, and nothing writes them.
//! let texture =
//!     unsafe { Texture::new(texels.as_ptr(), [2, 2], 2, format, Filter::Linear, Address::Clamp) };
//! // The centre of texel 0 is at 0.5, so (1.0, 0.5) is half way between the texels of row 0.
//! assert_eq!(texture.sample(1.0, 0.5), [0.5, 0.0, 0.0, 0.0]);
//! ```

/// The type of a channel in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// An unsigned integer of 8 bits.
    U8,
    /// An unsigned integer of 16 bits.
    U16,
    /// A float of 32 bits.
    F32,
}

impl Channel {
    /// Returns the size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }
}

/// The filter: the method of sampling between texel centres.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The value of the texel that contains the coordinate.
    Point,
    /// Bilinear interpolation between the four nearest texels.
    Linear,
}

/// The address mode: the value of texels outside the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// The value of the nearest texel at the edge.
    Clamp,
    /// The value 0.
    Border,
}

/// A texture in host memory.
#[derive(Clone, Debug)]
pub struct Texture {
    texels: *const u8,
    size: [u32; 2],
    pitch: u32,
    format: Format,
    filter: Filter,
    address: Address,
}

/// The memory layout of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The type of each channel.
    pub channel: Channel,
    /// The number of channels: 1, 2 or 4.
    pub channels: u32,
}

// SAFETY: the texels are only read, and the contract of `new` keeps them alive and unwritten.
unsafe impl Send for Texture {}
// SAFETY: as for `Send`, all access is read-only.
unsafe impl Sync for Texture {}

impl Texture {
    /// Creates a texture of `size` texels (columns, rows) whose rows start `pitch` bytes apart.
    ///
    /// # Safety
    /// - Neither side of `size` may be 0. While the texture is in use, the rows must be valid for
    ///   reads, and nothing may write to them.
    /// - `texels` and `pitch` must be multiples of a channel's size.
    #[must_use]
    pub unsafe fn new(
        texels: *const u8,
        size: [u32; 2],
        pitch: u32,
        format: Format,
        filter: Filter,
        address: Address,
    ) -> Self {
        debug_assert!(size[0] > 0 && size[1] > 0 && matches!(format.channels, 1 | 2 | 4));
        Self { texels, size, pitch, format, filter, address }
    }

    /// Returns the address of the first texel, the numbers of columns and rows, and the pitch in bytes
    /// of a texture with this format, filter and address mode. Returns `None` for another texture.
    #[must_use]
    pub fn memory(
        &self,
        format: Format,
        filter: Filter,
        address: Address,
    ) -> Option<(*const u8, [u32; 2], u32)> {
        let fits = (self.format, self.filter, self.address) == (format, filter, address);
        fits.then_some((self.texels, self.size, self.pitch))
    }

    /// Returns the filtered value at a coordinate. Integers read as fractions of their maximum, and
    /// missing channels as zero.
    #[must_use]
    pub fn sample(&self, x: f32, y: f32) -> [f32; 4] {
        match self.filter {
            Filter::Point => self.texel(x.floor() as i64, y.floor() as i64, Self::normalised),
            Filter::Linear => self.inner(x, y).unwrap_or_else(|| self.filtered(x, y)),
        }
    }

    /// Returns the filtered value at a coordinate whose four nearest texels are in the texture, or
    /// `None` at other coordinates. Equals [`filtered`](Self::filtered), but is several times as
    /// fast.
    #[inline]
    fn inner(&self, x: f32, y: f32) -> Option<[f32; 4]> {
        let [width, height] = self.size.map(|side| (side - 1) as f32);
        let (x, y) = (x - 0.5, y - 0.5);
        if !(x >= 0.0 && x < width && y >= 0.0 && y < height) {
            return None;
        }
        // The coordinates are not negative, so the conversion to an integer rounds down.
        let (i, j) = (x as u32, y as u32);
        let fraction = |at: f32, floor: u32| ((at - floor as f32) * 256.0 + 0.5) as i32;
        let (a, b) = (fraction(x, i), fraction(y, j));
        let weights = corner_weights(a, b);
        let Format { channel, channels } = self.format;
        let texel = (channel.bytes() * channels) as usize;
        let pitch = self.pitch as usize;
        // SAFETY: columns `i` and `i + 1` and rows `j` and `j + 1` are in the texture, whose rows are
        // valid and aligned by the contract of `new`.
        unsafe {
            let at = self.texels.add(j as usize * pitch + i as usize * texel);
            Some(match (channel, channels) {
                (Channel::U8, 1) => blend::<u8, 1>(at, pitch, weights, byte),
                (Channel::U8, 2) => blend::<u8, 2>(at, pitch, weights, byte),
                (Channel::U8, _) => blend::<u8, 4>(at, pitch, weights, byte),
                (Channel::U16, 1) => blend::<u16, 1>(at, pitch, weights, word),
                (Channel::U16, 2) => blend::<u16, 2>(at, pitch, weights, word),
                (Channel::U16, _) => blend::<u16, 4>(at, pitch, weights, word),
                (Channel::F32, 1) => blend::<f32, 1>(at, pitch, weights, |value| value),
                (Channel::F32, 2) => blend::<f32, 2>(at, pitch, weights, |value| value),
                (Channel::F32, _) => blend::<f32, 4>(at, pitch, weights, |value| value),
            })
        }
    }

    /// Returns the filtered value at any coordinate.
    fn filtered(&self, x: f32, y: f32) -> [f32; 4] {
        let (i, a) = split(x);
        let (j, b) = split(y);
        // For an infinite coordinate, `i` or `j` is the largest integer, so 1 is added with
        // saturation.
        let (right, below) = (i.saturating_add(1), j.saturating_add(1));
        let corners = [(i, j), (right, j), (i, below), (right, below)];
        let mut sum = [0.0; 4];
        for ((i, j), weight) in corners.into_iter().zip(corner_weights(a, b)) {
            let texel = self.texel(i, j, Self::normalised);
            for (sum, value) in sum.iter_mut().zip(texel) {
                *sum += weight * value;
            }
        }
        sum
    }

    /// Returns the integers of the texel that contains the coordinate. Missing channels read as
    /// zero.
    #[must_use]
    pub fn element(&self, x: f32, y: f32) -> [u32; 4] {
        self.texel(x.floor() as i64, y.floor() as i64, Self::integer)
    }

    fn texel<T: Copy + Default>(&self, x: i64, y: i64, read: fn(&Self, *const u8) -> T) -> [T; 4] {
        let [w, h] = self.size.map(i64::from);
        let inside = (0..w).contains(&x) && (0..h).contains(&y);
        if !inside && self.address == Address::Border {
            return [T::default(); 4];
        }
        let (x, y) = (x.clamp(0, w - 1) as usize, y.clamp(0, h - 1) as usize);
        let Format { channel, channels } = self.format;
        let (bytes, channels) = (channel.bytes() as usize, channels as usize);
        let offset = y * self.pitch as usize + x * bytes * channels;
        std::array::from_fn(|c| {
            if c < channels {
                // SAFETY: x and y were clamped to the texture, whose rows are valid by the contract
                // of `new`.
                read(self, unsafe { self.texels.add(offset + c * bytes) })
            } else {
                T::default()
            }
        })
    }

    fn normalised(&self, at: *const u8) -> f32 {
        // SAFETY: `texel` passes a pointer to a whole channel, aligned for the format.
        unsafe {
            match self.format.channel {
                Channel::U8 => byte(*at),
                Channel::U16 => word(*at.cast::<u16>()),
                Channel::F32 => *at.cast::<f32>(),
            }
        }
    }

    fn integer(&self, at: *const u8) -> u32 {
        // SAFETY: as in `normalised`.
        unsafe {
            match self.format.channel {
                Channel::U8 => u32::from(*at),
                Channel::U16 => u32::from(*at.cast::<u16>()),
                Channel::F32 => *at.cast::<u32>(),
            }
        }
    }
}

/// Returns a byte as a fraction of its maximum.
#[inline]
fn byte(value: u8) -> f32 {
    f32::from(value) / 255.0
}

/// Returns a 16-bit integer as a fraction of its maximum.
#[inline]
fn word(value: u16) -> f32 {
    f32::from(value) / 65535.0
}

/// Returns the weights of the four nearest texels, row by row, for the filter fractions in 256ths along
/// x and y.
#[inline]
fn corner_weights(a: i32, b: i32) -> [f32; 4] {
    let last = (a * b + 128) / 256;
    [256 - a - b + last, a - last, b - last, last].map(|weight| weight as f32 / 256.0)
}

/// Returns the sum of four texels of `N` channels with their weights: the texel at `at`, the one to
/// its right, and the two below, whose row is `pitch` bytes further.
///
/// # Safety
/// The texels must be valid for reads and aligned.
#[inline(always)]
unsafe fn blend<T: Copy, const N: usize>(
    at: *const u8,
    pitch: usize,
    weights: [f32; 4],
    value: impl Fn(T) -> f32,
) -> [f32; 4] {
    let mut sum = [0.0; 4];
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        let (above, below) = (at.cast::<[T; N]>(), at.add(pitch).cast::<[T; N]>());
        let texels = [*above, *above.add(1), *below, *below.add(1)];
        for (texel, weight) in texels.into_iter().zip(weights) {
            for (sum, channel) in sum.iter_mut().zip(texel) {
                *sum += weight * value(channel);
            }
        }
    }
    sum
}

/// Returns the index of the last texel whose centre is at most `x`, and the filter fraction in
/// 256ths.
fn split(x: f32) -> (i64, i32) {
    let centred = x - 0.5;
    let floor = centred.floor();
    (floor as i64, ((centred - floor) * 256.0 + 0.5).floor() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fractions and corner weights in 256ths, measured on an H100 (`tex2D` on arrays that are 1 at
    /// one corner).
    const MEASURED: [([f32; 2], [f32; 4]); 8] = [
        ([131.026, 92.195], [80.0, 84.0, 45.0, 47.0]),
        ([243.319, 119.574], [7.0, 129.0, 6.0, 114.0]),
        ([36.905, 113.579], [121.0, 21.0, 98.0, 16.0]),
        ([242.854, 80.458], [9.0, 167.0, 4.0, 76.0]),
        ([79.829, 23.506], [160.0, 72.0, 16.0, 8.0]),
        ([108.372, 249.427], [4.0, 3.0, 144.0, 105.0]),
        ([211.892, 56.296], [34.0, 166.0, 10.0, 46.0]),
        ([7.055, 91.353], [160.0, 5.0, 89.0, 2.0]),
    ];

    /// The fast path for inner coordinates must give the same results as the general one.
    #[test]
    fn inner_samples_equal_filtered_ones() {
        let bytes: Vec<u8> = (0..16 * 9 * 5).map(|i| (i * 37 % 251) as u8).collect();
        // Only the lower bits are random, so that the floats are finite.
        let floats: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) * 0.37).collect();
        for (channel, texels) in [
            (Channel::U8, bytes.as_ptr()),
            (Channel::U16, floats.as_ptr().cast()),
            (Channel::F32, floats.as_ptr().cast()),
        ] {
            for channels in [1, 2, 4] {
                let format = Format { channel, channels };
                let pitch = 9 * channel.bytes() * channels;
                // SAFETY: the memory has five rows of this size.
                let texture = unsafe {
                    Texture::new(texels, [9, 5], pitch, format, Filter::Linear, Address::Border)
                };
                let mut inner = 0;
                for n in 0..20_000_u32 {
                    let [x, y] = [n.wrapping_mul(2_654_435_761), n.wrapping_mul(40_503 << 16)]
                        .map(|hash| (hash >> 8) as f32 / (1 << 24) as f32);
                    let (x, y) = (x * 11.0 - 1.0, y * 7.0 - 1.0);
                    if let Some(sample) = texture.inner(x, y) {
                        inner += 1;
                        assert_eq!(sample, texture.filtered(x, y), "{format:?} ({x}, {y})");
                    }
                }
                assert!(inner > 5_000, "{inner}");
                assert!(texture.inner(0.5, 0.5).is_some() && texture.inner(8.5, 0.5).is_none());
            }
        }
    }

    #[test]
    fn linear_weights_are_those_of_the_hardware() {
        for ([x, y], weights) in MEASURED {
            for (corner, weight) in weights.into_iter().enumerate() {
                let mut texels = [0.0_f32; 4];
                texels[corner] = 1.0;
                let format = Format { channel: Channel::F32, channels: 1 };
                // SAFETY: the texture covers four floats in two rows of two, which outlive it.
                let texture = unsafe {
                    let texels = texels.as_ptr().cast();
                    Texture::new(texels, [2, 2], 8, format, Filter::Linear, Address::Clamp)
                };
                let sample = texture.sample(0.5 + x / 256.0, 0.5 + y / 256.0);
                assert_eq!(sample, [weight / 256.0, 0.0, 0.0, 0.0], "({x}, {y}), corner {corner}");
            }
        }
    }
}
