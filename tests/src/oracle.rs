//! Expected results of stitching and of the colour analysis, computed in f64 from the project's specification and from
//! BT.601, BT.709 and BT.2020. Tests compare the results of kernels with these expected results. The functions in this
//! module share data types with the code under test, but call none of its functions.

use glam::UVec2;
use panoweave::frame::{Range, YuvEncoding, YuvMatrix};
use shared_types::Rgba8;
use shared_types::colour::OverlapRule;
use shared_types::photometry::Vignette;
use shared_types::stitch::{Colour, StitchParams};

use crate::raster::{Pixels, Raster};

/// A function that applies a camera's colour correction to the levels (0 to 255) of a pixel, and to the factor of the
/// vignette.
pub type Grade = fn(&Colour, [f64; 3], f64) -> [f64; 3];

/// Stitches two pictures by the formula of the specification. Returns the R'G'B' levels of each panorama pixel before
/// rounding, row by row, or `None` where no camera contributes. `size` is the panorama's size. The `planes` are left x,
/// left y, right x, right y, left weight and right weight.
#[must_use]
pub fn stitch(
    size: UVec2,
    sources: [&Raster; 2],
    planes: &[Vec<f32>],
    params: &StitchParams,
    grade: Grade,
) -> Vec<Option<[f64; 3]>> {
    let [width, height] = size.to_array().map(|side| side as usize);
    let mut out = vec![None; width * height];
    for y in 0..height {
        for x in 0..width {
            let at = y * width + x;
            let mut sum = [0.0; 3];
            let mut weights = 0.0;
            for (camera, colour) in [params.left, params.right].iter().enumerate() {
                let weight = f64::from(planes[4 + camera][at]);
                let Some([u, v]) = place(planes, camera, at, sources[camera].size) else {
                    continue;
                };
                if weight > f64::from(0.001_f32) {
                    let sample = bilinear(sources[camera], u, v);
                    let factor =
                        vignette([&params.left_vignette, &params.right_vignette][camera], u, v);
                    let graded = grade(colour, sample, factor);
                    (0..3).for_each(|c| sum[c] += weight * graded[c]);
                    weights += weight;
                }
            }
            let boost = if params.edge_boost != 0 {
                let half = width as f64 / 2.0;
                let d = (x as f64 - half).abs() / half;
                if d > 0.8 { (1.0 + (d - 0.8) * 1.75).min(1.35) } else { 1.0 }
            } else {
                1.0
            };
            let to = if params.flip != 0 { width * height - 1 - at } else { at };
            if weights > 0.0 {
                out[to] = Some(sum.map(|s| (s / weights * boost).clamp(0.0, 255.0)));
            }
        }
    }
    out
}

/// Returns the position in a camera's picture that the camera's planes contain at index `at`. Returns `None` if this
/// position is outside the picture.
fn place(planes: &[Vec<f32>], camera: usize, at: usize, size: UVec2) -> Option<[f64; 2]> {
    let [u, v] = [0, 1].map(|axis| f64::from(planes[2 * camera + axis][at]));
    let inside = u >= 0.0 && u < f64::from(size.x) && v >= 0.0 && v < f64::from(size.y);
    inside.then_some([u, v])
}

/// Returns the factor that undoes the vignetting of a picture at column `u` and row `v`.
#[must_use]
pub fn vignette(vignette: &Vignette, u: f64, v: f64) -> f64 {
    let [x, y] = vignette.centre.to_array().map(f64::from);
    let q = ((u - x).powi(2) + (v - y).powi(2)) * f64::from(vignette.per_corner);
    let [a, b, c] = vignette.terms.to_array().map(f64::from);
    (1.0 + a * q + b * q.powi(2) + c * q.powi(3)).powf(-1.0 / 2.2)
}

/// Applies a camera's gain and then its gamma to a level `c` of a channel: `255 · clamp(gain · c / 255, 0, 1)^gamma`.
/// If there is a shoulder, it is applied before the clamp, and the pixel is gray.
#[must_use]
pub fn grade(colour: &Colour, channel: usize, level: f64) -> f64 {
    grade_pixel(colour, [level; 3], 1.0)[channel]
}

/// Applies a camera's gain, its shoulder and then its gamma to the levels of a pixel, which are multiplied by the
/// factor of a vignette.
#[must_use]
pub fn grade_pixel(colour: &Colour, levels: [f64; 3], factor: f64) -> [f64; 3] {
    let gains = colour.gain.to_array().map(f64::from);
    // A channel without gain says nothing about white.
    let lit = (0..3).filter(|c| gains[*c] != 0.0);
    let least = lit.map(|c| levels[c] / 255.0).reduce(f64::min).unwrap_or(0.0);
    std::array::from_fn(|c| {
        let gain = gains[c] * factor;
        let gained = gain * levels[c] / 255.0;
        let limited = match f64::from(colour.shoulder) {
            0.0 => gained,
            limit => shoulder(gained, gain, limit, least),
        };
        255.0 * limited.clamp(0.0, 1.0).powf(f64::from(colour.gamma))
    })
}

/// Maps colours of a channel from 0 to `white` to colours from 0 to `limit`. `least` is the smallest part of white of
/// all channels of the pixel.
///
/// If `white` exceeds `limit`, the colours above 0.9 times `limit` follow the curve `L·(1 + L / W²) / (1 + L)`
/// (equation 4 of Reinhard et al. 2002), where `L` and `W` are the parts of the colour and of white above that colour.
/// Otherwise, a parabola raises pixels that have at least 85 % of white in all channels.
#[must_use]
pub fn shoulder(colour: f64, white: f64, limit: f64, least: f64) -> f64 {
    if white > limit {
        let knee = 0.9 * limit;
        let [l, w] = [colour, white].map(|c| (c - knee) / (0.1 * limit));
        if l <= 0.0 { colour } else { knee + 0.1 * limit * l * (1.0 + l / w.powi(2)) / (1.0 + l) }
    } else {
        let raise = ((least - 0.85) / 0.15).max(0.0).powi(2);
        colour + (limit - white) * raise
    }
}

/// Clamps the level to 0–255 and applies [`grade`], because a gamma table has entries only for levels from 0 to 255.
#[must_use]
pub fn grade_cut_off(colour: &Colour, levels: [f64; 3], factor: f64) -> [f64; 3] {
    std::array::from_fn(|c| grade(colour, c, (factor * levels[c]).clamp(0.0, 255.0)))
}

/// Returns the YUV encoding of an NV12 or P010 picture and the bits of its samples, or `None` for RGBA.
fn encoding(picture: &Raster) -> Option<(YuvEncoding, i32)> {
    match &picture.pixels {
        Pixels::Rgba8(_) => None,
        Pixels::Nv12 { encoding, .. } => Some((*encoding, 8)),
        Pixels::P010 { encoding, .. } => Some((*encoding, 10)),
    }
}

/// Returns the luma sample of an NV12 or P010 picture, or the levels of an RGBA pixel.
fn element(picture: &Raster, at: usize) -> [f64; 3] {
    match &picture.pixels {
        Pixels::Rgba8(pixels) => levels(pixels[at]),
        Pixels::Nv12 { y, .. } => [f64::from(y[at]); 3],
        Pixels::P010 { y, .. } => [ten_bits(y[at]); 3],
    }
}

/// Returns the number in the upper 10 bits of a P010 sample, whose lower bits must be 0.
fn ten_bits(sample: u16) -> f64 {
    assert_eq!(sample & 63, 0, "{sample}");
    f64::from(sample >> 6)
}

/// Returns a chroma sample of an NV12 or P010 picture.
fn chroma(picture: &Raster, at: usize) -> [f64; 2] {
    match &picture.pixels {
        Pixels::Rgba8(_) => unreachable!("RGBA has no chroma"),
        Pixels::Nv12 { uv, .. } => [uv[at].u, uv[at].v].map(f64::from),
        Pixels::P010 { uv, .. } => [uv[at].u, uv[at].v].map(ten_bits),
    }
}

/// Converts an element of a picture at column `u` and row `v` to R'G'B' levels, with chroma interpolated bilinearly.
fn with_chroma(picture: &Raster, element: [f64; 3], u: f64, v: f64) -> [f64; 3] {
    let Some((encoding, bits)) = encoding(picture) else { return element };
    let [width, height] = picture.size.to_array().map(|side| side.div_ceil(2) as usize);
    // Chroma sample i is centred between pixels 2i and 2i + 1.
    let (u, v) = ((u - 0.5) / 2.0, (v - 0.5) / 2.0);
    let chroma = mix(width, height, u, v, |at| chroma(picture, at));
    samples_to_rgb(encoding, bits, element[0], chroma)
}

/// Interpolates a picture bilinearly at column `u` and row `v`. Returns R'G'B' levels.
#[must_use]
pub fn bilinear(picture: &Raster, u: f64, v: f64) -> [f64; 3] {
    let [width, height] = picture.size.to_array().map(|side| side as usize);
    with_chroma(picture, mix(width, height, u, v, |at| element(picture, at)), u, v)
}

/// Filters a picture at column `u` and row `v` with the cubic filter of Keys (1981) with a slope of −0.6 at a distance
/// of one pixel. Chroma is interpolated bilinearly. Returns R'G'B' levels.
#[must_use]
pub fn cubic(picture: &Raster, u: f64, v: f64) -> [f64; 3] {
    // The kernels sample 10-bit pictures bilinearly.
    if let Pixels::P010 { .. } = picture.pixels {
        return bilinear(picture, u, v);
    }
    let [width, height] = picture.size.to_array().map(|side| side as usize);
    with_chroma(picture, cubic_mix(width, height, u, v, |at| element(picture, at)), u, v)
}

/// Filters a plane of `width` × `height` elements at column `u` and row `v` with the filter of [`cubic`]. Outside the
/// plane, the edge elements repeat.
pub fn cubic_mix(
    width: usize,
    height: usize,
    u: f64,
    v: f64,
    element: impl Fn(usize) -> [f64; 3],
) -> [f64; 3] {
    let [width, height] = [width, height].map(|side| side as i64);
    let weight = |distance: f64| {
        const SLOPE: f64 = -0.6;
        let d = distance.abs();
        match d {
            _ if d < 1.0 => (SLOPE + 2.0) * d.powi(3) - (SLOPE + 3.0) * d.powi(2) + 1.0,
            _ if d < 2.0 => SLOPE * (d.powi(3) - 5.0 * d.powi(2) + 8.0 * d - 4.0),
            _ => 0.0,
        }
    };
    let mut sum = [0.0; 3];
    for y in v.floor() as i64 - 1..=v.floor() as i64 + 2 {
        for x in u.floor() as i64 - 1..=u.floor() as i64 + 2 {
            let at = y.clamp(0, height - 1) * width + x.clamp(0, width - 1);
            let weight = weight(u - x as f64) * weight(v - y as f64);
            sum.iter_mut().zip(element(at as usize)).for_each(|(sum, e)| *sum += weight * e);
        }
    }
    sum
}

/// Interpolates a plane of `width` × `height` elements bilinearly at column `u` and row `v`. Outside the plane, the
/// edge elements repeat.
pub fn mix<const N: usize>(
    width: usize,
    height: usize,
    u: f64,
    v: f64,
    element: impl Fn(usize) -> [f64; N],
) -> [f64; N] {
    let (a, b) = (u - u.floor(), v - v.floor());
    let at = |dx: f64, dy: f64| {
        let x = (u.floor() + dx).clamp(0.0, width as f64 - 1.0);
        let y = (v.floor() + dy).clamp(0.0, height as f64 - 1.0);
        element(y as usize * width + x as usize)
    };
    let corners = [
        (at(0.0, 0.0), (1.0 - a) * (1.0 - b)),
        (at(1.0, 0.0), a * (1.0 - b)),
        (at(0.0, 1.0), (1.0 - a) * b),
        (at(1.0, 1.0), a * b),
    ];
    std::array::from_fn(|c| corners.iter().map(|(element, weight)| weight * element[c]).sum())
}

fn levels(pixel: Rgba8) -> [f64; 3] {
    [pixel.r, pixel.g, pixel.b].map(f64::from)
}

/// Returns the luma weights Kr, Kg and Kb.
fn luma_weights(matrix: YuvMatrix) -> [f64; 3] {
    match matrix {
        YuvMatrix::Bt601 => [0.299, 0.587, 0.114],
        YuvMatrix::Bt709 => [0.2126, 0.7152, 0.0722],
        YuvMatrix::Bt2020 => [0.2627, 0.6780, 0.0593],
    }
}

/// Returns four numbers, in steps of samples of `bits` bits: the luma of black, the difference between the luma of
/// white and of black, the difference between the highest and the lowest chroma, and neutral chroma.
fn extent(range: Range, bits: i32) -> [f64; 4] {
    let step = 2.0_f64.powi(bits - 8);
    let highest = 2.0_f64.powi(bits) - 1.0;
    match range {
        Range::Limited => [16.0 * step, 219.0 * step, 224.0 * step, 128.0 * step],
        Range::Full => [0.0, highest, highest, 128.0 * step],
    }
}

/// Converts Y'CbCr levels to R'G'B' levels, without clamping.
#[must_use]
pub fn to_rgb(encoding: YuvEncoding, y: f64, chroma: [f64; 2]) -> [f64; 3] {
    samples_to_rgb(encoding, 8, y, chroma)
}

/// Converts Y'CbCr samples of `bits` bits to R'G'B' levels (0 to 255), without clamping.
fn samples_to_rgb(encoding: YuvEncoding, bits: i32, y: f64, [cb, cr]: [f64; 2]) -> [f64; 3] {
    let ([kr, kg, kb], [black, luma, chroma, neutral]) =
        (luma_weights(encoding.matrix), extent(encoding.range, bits));
    let y = (y - black) / luma;
    let r = y + 2.0 * (1.0 - kr) * (cr - neutral) / chroma;
    let b = y + 2.0 * (1.0 - kb) * (cb - neutral) / chroma;
    // Solve the definition of luma, Y' = kr·R' + kg·G' + kb·B', for green.
    let g = (y - kr * r - kb * b) / kg;
    [r, g, b].map(|c| 255.0 * c)
}

/// Converts R'G'B' levels to Y'CbCr levels, clamped to 0–255.
#[must_use]
pub fn from_rgb(encoding: YuvEncoding, rgb: [f64; 3]) -> [f64; 3] {
    samples_from_rgb(encoding, 8, rgb)
}

/// Converts R'G'B' levels (0 to 255) to Y'CbCr samples of `bits` bits, clamped to their range.
fn samples_from_rgb(encoding: YuvEncoding, bits: i32, rgb: [f64; 3]) -> [f64; 3] {
    let ([kr, kg, kb], [black, luma, chroma, neutral]) =
        (luma_weights(encoding.matrix), extent(encoding.range, bits));
    let [r, g, b] = rgb.map(|c| c / 255.0);
    let y = kr * r + kg * g + kb * b;
    [
        black + luma * y,
        neutral + chroma * (b - y) / (2.0 * (1.0 - kb)),
        neutral + chroma * (r - y) / (2.0 * (1.0 - kr)),
    ]
    .map(|sample| sample.clamp(0.0, 2.0_f64.powi(bits) - 1.0))
}

/// Returns the largest difference in levels between a picture and the exact colours from [`stitch`], which are
/// converted to the picture's format for the comparison. For P010, it is the difference in steps of 10 bits.
///
/// # Panics
/// Panics if a pixel is not opaque, or if a pixel to which no camera contributes is not exactly black.
#[must_use]
pub fn worst(found: &Raster, exact: &[Option<[f64; 3]>]) -> f64 {
    worst_where(found, exact, &vec![true; exact.len()])
}

/// Returns the largest difference like [`worst`], but compares only the pixels that are `true` in `sure`, and only the
/// chroma samples whose pixels are all `true` in `sure`.
///
/// # Panics
/// Panics in the same cases as [`worst`].
#[must_use]
pub fn worst_where(found: &Raster, exact: &[Option<[f64; 3]>], sure: &[bool]) -> f64 {
    let [width, height] = found.size.to_array().map(|side| side as usize);
    assert_eq!(exact.len(), width * height);
    let mut worst = 0.0_f64;
    let mut compare = |found: f64, exact: f64| worst = worst.max((found - exact).abs());
    match &found.pixels {
        Pixels::Rgba8(pixels) => {
            for (i, (found, exact)) in pixels.iter().zip(exact).enumerate() {
                assert_eq!(found.a, 255, "pixel {i} is not opaque");
                match exact {
                    _ if !sure[i] => {}
                    None => assert_eq!(*found, Rgba8::BLACK, "pixel {i} is seen by no camera"),
                    Some(exact) => (0..3).for_each(|c| {
                        compare([found.r, found.g, found.b][c].into(), exact[c]);
                    }),
                }
            }
        }
        Pixels::Nv12 { encoding, .. } | Pixels::P010 { encoding, .. } => {
            let bits = if let Pixels::P010 { .. } = found.pixels { 10 } else { 8 };
            let [black, _, _, neutral] = extent(encoding.range, bits);
            for (i, exact) in exact.iter().enumerate() {
                let found = element(found, i)[0];
                match exact {
                    _ if !sure[i] => {}
                    None => assert_eq!(found, black, "pixel {i} is seen by no camera"),
                    Some(exact) => compare(found, samples_from_rgb(*encoding, bits, *exact)[0]),
                }
            }
            for i in 0..width.div_ceil(2) * height.div_ceil(2) {
                let [u, v] = chroma(found, i);
                let (x, y) = (i % width.div_ceil(2) * 2, i / width.div_ceil(2) * 2);
                let cell = [(0, 0), (1, 0), (0, 1), (1, 1)]
                    .map(|(dx, dy)| (y + dy).min(height - 1) * width + (x + dx).min(width - 1));
                if cell.iter().any(|at| !sure[*at]) {
                    continue;
                }
                let cell = cell.map(|at| exact[at]);
                if cell.iter().all(Option::is_none) {
                    assert_eq!((u, v), (neutral, neutral), "cell {i} is seen by no camera");
                }
                let cell = cell.map(Option::unwrap_or_default);
                let mean = std::array::from_fn(|c| cell.iter().map(|p| p[c]).sum::<f64>() / 4.0);
                let [_, cb, cr] = samples_from_rgb(*encoding, bits, mean);
                compare(u, cb);
                compare(v, cr);
            }
        }
    }
    worst
}

/// Returns the largest difference in levels between two pictures, and their PSNR in dB over red, green and blue.
#[must_use]
pub fn compare(a: &[Rgba8], b: &[Rgba8]) -> (u8, f64) {
    assert_eq!(a.len(), b.len());
    let mut largest = 0;
    let mut squares = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in [(a.r, b.r), (a.g, b.g), (a.b, b.b)] {
            largest = largest.max(a.abs_diff(b));
            squares += f64::from(a.abs_diff(b)).powi(2);
        }
    }
    let mse = squares / (3 * a.len()) as f64;
    (largest, if mse == 0.0 { f64::INFINITY } else { 10.0 * (255.0 * 255.0 / mse).log10() })
}

/// Returns, for each panorama pixel, the nearest pixels `[x, y]` in the left and in the right picture, or `None` if the
/// panorama pixel is outside the overlap. In the overlap, the positions in both pictures are inside these pictures, and
/// the weights of both cameras exceed `weight` and `share` times their sum.
#[must_use]
pub fn overlap(
    planes: &[Vec<f32>],
    sources: [UVec2; 2],
    OverlapRule { weight, share }: OverlapRule,
) -> Vec<Option<[[usize; 2]; 2]>> {
    let nearest = |camera: usize, at: usize| {
        let size = sources[camera];
        let [u, v] = place(planes, camera, at, size)?;
        let [mine, other] = [camera, 1 - camera].map(|camera| f64::from(planes[4 + camera][at]));
        let enough = share == 0.0 || mine > f64::from(share) * (mine + other);
        let counts = mine > f64::from(weight) && enough;
        // A position can be up to one pixel beyond the centre of the last pixel. It then counts as the last pixel.
        let pixel = |at: f64, side: u32| (at.round_ties_even() as usize).min(side as usize - 1);
        counts.then(|| [pixel(u, size.x), pixel(v, size.y)])
    };
    (0..planes[0].len()).map(|at| Some([nearest(0, at)?, nearest(1, at)?])).collect()
}

/// Returns the bounding box of the overlap in a panorama with `width` columns, as its first pixel `[x, y]` and the
/// pixel `[x, y]` after its last. Returns `None` if there is no overlap.
#[must_use]
pub fn overlap_box(overlap: &[Option<[[usize; 2]; 2]>], width: usize) -> Option<[[usize; 2]; 2]> {
    let inside = || (0..overlap.len()).filter(|&at| overlap[at].is_some());
    let (xs, ys) = (|| inside().map(|at| at % width), || inside().map(|at| at / width));
    Some([[xs().min()?, ys().min()?], [xs().max()? + 1, ys().max()? + 1]])
}

/// Returns the nine colour sums of the overlap: red, green, blue and luma of the left camera, red, green, blue and luma
/// of the right camera, and the weights. For bounds on the rounding error, also returns the weighted and the unweighted
/// sums of the absolute values.
#[must_use]
pub fn colour_sums(
    overlap: &[Option<[[usize; 2]; 2]>],
    width: usize,
    sources: [&Raster; 2],
) -> [[f64; 9]; 3] {
    let mut sums = [[0.0; 9]; 3];
    let Some([[first, _], [end, _]]) = overlap_box(overlap, width) else { return sums };
    let band = (end - first) as f64;
    // The middle column of the overlap. An even number of columns gives a position between two pixel centres, such as
    // 3.5.
    let centre = first as f64 + 0.5 * (band - 1.0);
    for (at, pixels) in overlap.iter().enumerate() {
        let Some(pixels) = pixels else { continue };
        let colours = [0, 1].map(|camera| pixel(sources[camera], pixels[camera]));
        let saturated = colours.as_flattened().iter().any(|&c| c > 247.0);
        // Pixels with a luma below 8 count as black. The tolerance of 0.0005 is for a luma of exactly 8, which the
        // conversion from Y'CbCr can round to slightly less than 8.
        let black = colours.iter().any(|&c| luma(c) < 8.0 - 0.0005);
        if saturated || black {
            continue;
        }
        let s = (1.0 - ((at % width) as f64 - centre).abs() / (band / 2.0)).powi(2);
        let [[a, b, c], [d, e, f]] = colours;
        let terms = [a, b, c, luma(colours[0]), d, e, f, luma(colours[1]), 1.0];
        for (i, term) in terms.into_iter().enumerate() {
            sums[0][i] += s * term;
            sums[1][i] += s * term.abs();
            sums[2][i] += term.abs();
        }
    }
    sums
}

/// Returns the R'G'B' levels of one pixel, without interpolation.
fn pixel(picture: &Raster, [x, y]: [usize; 2]) -> [f64; 3] {
    let width = picture.size.x as usize;
    let element = element(picture, y * width + x);
    let Some((encoding, bits)) = encoding(picture) else { return element };
    let chroma = chroma(picture, y / 2 * width.div_ceil(2) + x / 2);
    samples_to_rgb(encoding, bits, element[0], chroma)
}

/// Returns the Rec. 709 luma of a pixel. If the levels are integers, the sum before the division has no rounding error.
fn luma([r, g, b]: [f64; 3]) -> f64 {
    (2126.0 * r + 7152.0 * g + 722.0 * b) / 10_000.0
}
