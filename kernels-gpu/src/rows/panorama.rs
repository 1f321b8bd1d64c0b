//! Panoramas that are written two rows of pixels at a time.

use super::{Colours, SIDE};
use crate::cpu::vectorised;
use cuda_std::ViewMut;
use glam::{UVec2, Vec3};
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::yuv::RgbToYuv;
use shared_types::{Chroma, Chroma10, Rgba8};

/// A panorama in memory. Its format is a value and not a type, so that the functions that compute panoramas are compiled
/// once: only [`store`](Self::store) contains code for each format.
#[derive(Clone, Copy)]
pub(crate) enum Panorama {
    Rgba8(ViewMut<Rgba8>),
    Nv12(Nv12Mut),
    P010(P010Mut),
}

impl From<ViewMut<Rgba8>> for Panorama {
    fn from(view: ViewMut<Rgba8>) -> Self {
        Self::Rgba8(view)
    }
}

impl From<Nv12Mut> for Panorama {
    fn from(planes: Nv12Mut) -> Self {
        Self::Nv12(planes)
    }
}

impl From<P010Mut> for Panorama {
    fn from(planes: P010Mut) -> Self {
        Self::P010(planes)
    }
}

impl Panorama {
    /// Returns the side of a group of pixels that share a chroma sample.
    pub(crate) fn cell(&self) -> u32 {
        if matches!(self, Self::Rgba8(_)) { 1 } else { 2 }
    }

    /// Returns the numbers of columns and rows.
    pub(crate) fn size(&self) -> (u32, u32) {
        match self {
            Self::Rgba8(view) => (view.width(), view.height()),
            Self::Nv12(planes) => (planes.y.width(), planes.y.height()),
            Self::P010(planes) => (planes.y.width(), planes.y.height()),
        }
    }

    /// Returns whether all planes have matching sizes.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Rgba8(_) => true,
            Self::Nv12(planes) => planes.is_whole(),
            Self::P010(planes) => planes.is_whole(),
        }
    }

    /// Writes the pixels of two rows, whose first pixel is `at`, and omits those outside the panorama. If
    /// `flip` is set, each pixel is written to its position after a rotation by 180°.
    ///
    /// # Safety
    /// `at` must be inside the panorama, and both its coordinates even. The panorama must be whole and in host memory,
    /// and nothing else may access these pixels. If it is flipped, its width and height must be multiples of
    /// [`cell`](Self::cell).
    #[inline(never)]
    pub(crate) unsafe fn store(&self, at: UVec2, colours: &Colours, encode: &RgbToYuv, flip: bool) {
        // SAFETY: the caller guarantees it.
        vectorised!(unsafe {
            match self {
                Self::Rgba8(view) => store_rgba(view, at, colours, flip),
                Self::Nv12(planes) => store(planes, at, colours, encode, flip),
                Self::P010(planes) => store(planes, at, colours, encode, flip),
            }
        });
    }
}

/// Writes two rows of RGBA; see [`Panorama::store`].
///
/// # Safety
/// The conditions are those of [`Panorama::store`].
#[inline(always)]
unsafe fn store_rgba(out: &ViewMut<Rgba8>, at: UVec2, colours: &Colours, flip: bool) {
    for (i, [red, green, blue]) in colours.iter().enumerate() {
        let mut pixels = [0_u32; SIDE];
        for k in 0..SIDE {
            let [r, g, b] = [red[k], green[k], blue[k]].map(|c| rounded(c * 255.0));
            pixels[k] = (r | g << 8 | b << 16 | 255 << 24).to_le();
        }
        let pixels: [Rgba8; SIDE] = bytemuck::cast(pixels);
        let y = at.y + i as u32;
        if y < out.height() {
            // SAFETY: the row is inside, as just checked. The caller guarantees the rest.
            unsafe { write(out, at.x, y, &pixels, flip) };
        }
    }
}

/// The planes of a panorama in NV12 or P010.
trait Planes: Copy + Sync {
    type Luma: bytemuck::Pod;
    type Chroma: bytemuck::Pod;

    fn luma(&self) -> &ViewMut<Self::Luma>;

    fn chroma(&self) -> &ViewMut<Self::Chroma>;

    /// Rounds a level from 0 to 255 to a sample.
    fn sample(level: f32) -> Self::Luma;

    /// Combines two samples.
    fn pair(cb: Self::Luma, cr: Self::Luma) -> Self::Chroma;
}

impl Planes for Nv12Mut {
    type Luma = u8;
    type Chroma = Chroma;

    #[inline(always)]
    fn luma(&self) -> &ViewMut<u8> {
        &self.y
    }

    #[inline(always)]
    fn chroma(&self) -> &ViewMut<Chroma> {
        &self.uv
    }

    #[inline(always)]
    fn sample(level: f32) -> u8 {
        rounded(limited(level, 255.0)) as u8
    }

    #[inline(always)]
    fn pair(u: u8, v: u8) -> Chroma {
        Chroma { u, v }
    }
}

impl Planes for P010Mut {
    type Luma = u16;
    type Chroma = Chroma10;

    #[inline(always)]
    fn luma(&self) -> &ViewMut<u16> {
        &self.y
    }

    #[inline(always)]
    fn chroma(&self) -> &ViewMut<Chroma10> {
        &self.uv
    }

    /// A stored sample is 64 times the number of quarters of a level.
    #[inline(always)]
    fn sample(level: f32) -> u16 {
        (rounded(limited(level, 255.75) * 4.0) << 6) as u16
    }

    #[inline(always)]
    fn pair(u: u16, v: u16) -> Chroma10 {
        Chroma10 { u, v }
    }
}

/// Writes two rows; see [`Panorama::store`].
///
/// # Safety
/// The conditions are those of [`Panorama::store`].
#[inline(always)]
unsafe fn store<P: Planes>(out: &P, at: UVec2, colours: &Colours, encode: &RgbToYuv, flip: bool) {
    const HALF: usize = SIDE / 2;
    let (width, height) = (out.luma().width(), out.luma().height());
    let mut rows = *colours;
    // Replace the colours outside the panorama by those of the last pixels inside, because chroma is computed from the
    // mean of all four colours.
    if at.y + 1 >= height {
        rows[1] = rows[0];
    }
    let inside = (width - at.x) as usize;
    if inside < SIDE {
        for row in rows.iter_mut().flatten() {
            row[inside] = row[inside - 1];
        }
    }
    for (i, row) in rows.iter().enumerate() {
        let mut samples = [P::sample(0.0); SIDE];
        let levels = dot(row, encode.y * 255.0, encode.black);
        for k in 0..SIDE {
            samples[k] = P::sample(levels[k]);
        }
        let y = at.y + i as u32;
        if y < height {
            // SAFETY: the row is inside, as just checked. The caller guarantees the rest.
            unsafe { write(out.luma(), at.x, y, &samples, flip) };
        }
    }
    let [above, below] = &rows;
    let mut means = [[0.0; HALF]; 3];
    for channel in 0..3 {
        for k in 0..HALF {
            let left = above[channel][2 * k] + below[channel][2 * k];
            let right = above[channel][2 * k + 1] + below[channel][2 * k + 1];
            means[channel][k] = (left + right) * (0.25 * 255.0);
        }
    }
    let (cb, cr) = (fused_dot(&means, encode.cb, 128.0), fused_dot(&means, encode.cr, 128.0));
    let mut samples = [P::pair(P::sample(0.0), P::sample(0.0)); HALF];
    for k in 0..HALF {
        samples[k] = P::pair(P::sample(cb[k]), P::sample(cr[k]));
    }
    // SAFETY: the panorama is whole, so the chroma plane has a row for these two rows. The caller guarantees the rest.
    unsafe { write(out.chroma(), at.x / 2, at.y / 2, &samples, flip) };
}

/// Returns the dot product of each colour with `weights`, plus `constant`.
#[inline(always)]
fn dot<const N: usize>(colours: &[[f32; N]; 3], weights: Vec3, constant: f32) -> [f32; N] {
    let mut sums = [0.0; N];
    for k in 0..N {
        let [r, g, b] = [colours[0][k], colours[1][k], colours[2][k]];
        sums[k] = r * weights.x + (g * weights.y + (b * weights.z + constant));
    }
    sums
}

/// Returns the same as [`dot`], but rounds as the kernels do. The chroma of pure colours is half way between two levels, so
/// it must not differ by any error.
#[inline(always)]
fn fused_dot<const N: usize>(colours: &[[f32; N]; 3], weights: Vec3, constant: f32) -> [f32; N] {
    let mut sums = [0.0; N];
    for k in 0..N {
        let [r, g, b] = [colours[0][k], colours[1][k], colours[2][k]];
        sums[k] = r.mul_add(weights.x, g.mul_add(weights.y, b.mul_add(weights.z, constant)));
    }
    sums
}

/// Writes elements of a row from column `x` on and omits those outside `out`. If `flip` is set, writes each element to
/// its position after a rotation by 180°.
///
/// # Safety
/// `(x, y)` must be inside `out`, which is in host memory, and nothing else may access these elements.
#[inline(always)]
unsafe fn write<T: bytemuck::Pod, const N: usize>(
    out: &ViewMut<T>,
    x: u32,
    y: u32,
    values: &[T; N],
    flip: bool,
) {
    let (width, height) = (out.width(), out.height());
    let count = ((width - x) as usize).min(N);
    let y = if flip { height - 1 - y } else { y };
    // Only these elements may be borrowed, because other cores write the rest of the row. The loops below write bytes
    // through a pointer to the row.
    // SAFETY: the caller guarantees that the row exists, and all columns are inside it.
    unsafe {
        let row = out.host_address(y);
        if flip {
            for (k, value) in values.iter().take(count).enumerate() {
                *row.add((width - 1 - x) as usize - k) = *value;
            }
        } else {
            row.add(x as usize).copy_from_nonoverlapping(values.as_ptr(), count);
        }
    }
}

/// Limits a level to 0 to `highest`. A NaN becomes 0.
#[inline(always)]
fn limited(level: f32, highest: f32) -> f32 {
    let positive = if level > 0.0 { level } else { 0.0 };
    if positive < highest { positive } else { highest }
}

/// Rounds a number from 0 to 1023 to the nearest integer, and halves to even, as the kernels do.
#[inline(always)]
fn rounded(value: f32) -> u32 {
    // From 2²³ to 2²⁴, adjacent f32 numbers differ by 1.
    const WHOLE: f32 = (1 << 23) as f32;
    (value + WHOLE).to_bits() & 0x3ff
}

/// Groups of 2×2 pixels must be whole.
const _: () = assert!(SIDE.is_multiple_of(2));
