//! What the functions share that compute whole launches on the CPU (option `cpu` of `#[kernel]`).
//!
//! Such a function is in the file `cpu.rs` of its system. It is written in plain loops over arrays, which the compiler
//! vectorises: [`vectorised`] compiles the loops for the best vector instructions of the CPU, and rayon runs them on all
//! cores. The loops write `a * b + c` and not `mul_add`, which is a function call on a CPU without fused multiply-adds.
//! The exceptions are functions whose results must have the same bits as those of the kernels.

use cuda_std::Texture2d;
use cuda_std::cpu::texture::{Address, Channel, Filter, Format};
use cuda_std::launch::LaunchConfig;
use glam::Vec4;

/// Runs `work` compiled for the CPU's vector instructions: AVX-512, AVX2, SSE or NEON. `work` and all functions that it
/// calls must be inlined, or they are compiled without these instructions: mark them `#[inline(always)]`.
macro_rules! vectorised {
    ($work:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::new(), _simd => $work)
    };
}
pub(crate) use vectorised;

/// Returns the number of threads of a launch along one axis.
pub(crate) fn threads(config: &LaunchConfig) -> u64 {
    u64::from(config.grid[0]) * u64::from(config.block[0])
}

/// Returns whether a launch has a thread for each of `width` × `height` elements.
pub(crate) fn covers(config: &LaunchConfig, width: u32, height: u32) -> bool {
    let side = |axis: usize| u64::from(config.grid[axis]) * u64::from(config.block[axis]);
    side(0) >= width.into() && side(1) >= height.into()
}

/// A pointer that all cores may use.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) T);

// SAFETY: every core accesses other elements behind the pointer; the code that dereferences it ensures that.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// Returns the pointer. A closure that names the field would capture only the pointer, which is not `Sync`.
    #[inline(always)]
    pub(crate) fn get(self) -> T {
        self.0
    }
}

/// The memory of a texture that filters bilinearly and clamps coordinates to the edge.
#[derive(Clone, Copy)]
pub(crate) struct Plane {
    texels: Shared<*const u8>,
    pitch: u32,
    texel: u32,
    /// The last column and row, and the last ones that have a right neighbour and one below.
    last: [f32; 2],
    inner: [i32; 2],
}

/// The four nearest texels of each position of a row: where the first of them is, and the parts of the second column
/// and row.
pub(crate) struct Corners<const N: usize> {
    offsets: [u32; N],
    pub(crate) right: [f32; N],
    pub(crate) below: [f32; N],
}

impl Plane {
    /// Returns the memory of `texture`, or `None` unless its texels have `channels` channels of type `channel`, it
    /// filters and clamps, and it has at least two columns and rows and less than 2 GiB.
    ///
    /// # Safety
    /// The texture must be one of the CPU, and it must stay alive as long as the plane is used.
    pub(crate) unsafe fn new(
        texture: Texture2d<Vec4>,
        channel: Channel,
        channels: u32,
    ) -> Option<Self> {
        // SAFETY: the caller guarantees it.
        let texture = unsafe { texture.host_texture() };
        let [width, height] = texture.size();
        let is_small = u64::from(height) * u64::from(texture.pitch()) < i32::MAX as u64;
        (texture.format() == Format { channel, channels }
            && texture.filter() == Filter::Linear
            && texture.address() == Address::Clamp
            && width > 1
            && height > 1
            && is_small)
            .then(|| Self {
                texels: Shared(texture.texels()),
                pitch: texture.pitch(),
                texel: channel.bytes() * channels,
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

    /// Reads two adjacent texels as a `T` in the first row and in the next one.
    #[inline(always)]
    pub(crate) fn pairs<T: Copy, const N: usize>(
        &self,
        corners: &Corners<N>,
        above: &mut [T; N],
        below: &mut [T; N],
    ) {
        debug_assert!(size_of::<T>() == 2 * self.texel as usize);
        for k in 0..N {
            // SAFETY: the corner and its neighbours are in the texture, because `split` limits the column and the row.
            unsafe {
                let at = self.texels.get().add(corners.offsets[k] as usize);
                above[k] = at.cast::<T>().read_unaligned();
                below[k] = at.add(self.pitch as usize).cast::<T>().read_unaligned();
            }
        }
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

/// Returns `x^gamma` for `x` from 0 to 1, with a relative error of at most 1e-6 · gamma for results above 1e-9.
#[inline(always)]
pub(crate) fn power(x: f32, gamma: f32) -> f32 {
    // x = m · 2^e with m from √½ to √2. log₂(m) is the series of the inverse hyperbolic tangent.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let e = (bits.wrapping_sub(ROOT_HALF) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((e << 23) as u32));
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let log = e as f32 + s * (2.885_390_1 + q * (0.961_796_7 + q * (0.577_078 + q * 0.412_198_6)));
    // 2^t is a power of two times a Taylor series around 0.
    let t = log * gamma;
    // These limits, which a NaN does not pass, only matter for absurd gammas.
    let t = if t > -126.0 { t } else { -126.0 };
    let t = if t < 126.0 { t } else { 126.0 };
    // The sum with 1.5 · 2²³ is rounded to an integer.
    const ROUND: f32 = 12_582_912.0;
    let n = (t + ROUND) - ROUND;
    let f = t - n;
    let series = 1.0
        + f * (0.693_147_2
            + f * (0.240_226_5
                + f * (0.055_504_11
                    + f * (0.009_618_129 + f * (0.001_333_356 + f * 0.000_154_035)))));
    // SAFETY: `n` is an integer from −126 to 126.
    let scale = f32::from_bits(((unsafe { n.to_int_unchecked::<i32>() } + 127) << 23) as u32);
    series * scale
}
