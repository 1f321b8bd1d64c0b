//! Scores of a registered panorama beside the truth: PSNR, SSIM, colour error and seam gradient.

use crate::grid::{Grid, Mask, Picture, Plane};

/// Side of the blocks of the colour error, in truth pixels.
const COLOUR_BLOCK: usize = 32;
/// The truth is smooth where its gradient, after a blur of [`SEAM_BLUR`], is below this, in levels per pixel.
const SMOOTH: f32 = 1.2;
/// The blur before gradients are compared, in pixels: it removes the noise and keeps the seams.
const SEAM_BLUR: f64 = 2.0;

/// Returns the peak signal-to-noise ratio in dB over the three channels of the pixels in `mask`. At most 99.
pub(crate) fn psnr(panorama: &Picture, truth: &Picture, mask: &Mask) -> f64 {
    let mut sum = 0.0;
    for i in (0..mask.data.len()).filter(|&i| mask.data[i]) {
        for c in 0..3 {
            sum += f64::from(panorama.data[i][c] - truth.data[i][c]).powi(2);
        }
    }
    let mean = sum / (3 * mask.count()).max(1) as f64;
    (10.0 * (255.0f64.powi(2) / mean).log10()).min(99.0)
}

/// Returns the mean structural similarity of the brightness over the pixels whose window lies in `mask`: a Gaussian
/// window of σ = 1.5 px, constants 0.01 and 0.03 (Wang et al., 2004).
pub(crate) fn ssim(panorama: &Plane, truth: &Plane, mask: &Mask) -> f64 {
    let product = |a: &Plane, b: &Plane| Plane {
        width: a.width,
        height: a.height,
        data: a.data.iter().zip(&b.data).map(|(a, b)| a * b).collect(),
    };
    let mean = |plane: &Plane| plane.blurred(1.5);
    let (ma, mb) = (mean(panorama), mean(truth));
    let aa = mean(&product(panorama, panorama));
    let bb = mean(&product(truth, truth));
    let ab = mean(&product(panorama, truth));
    let (c1, c2) = ((0.01f32 * 255.0).powi(2), (0.03f32 * 255.0).powi(2));
    let inside = mask.eroded(5);
    let mut sum = 0.0;
    for i in (0..inside.data.len()).filter(|&i| inside.data[i]) {
        let (x, y) = (ma.data[i], mb.data[i]);
        let (vx, vy, cov) = (aa.data[i] - x * x, bb.data[i] - y * y, ab.data[i] - x * y);
        let value = (2.0 * x * y + c1) * (2.0 * cov + c2)
            / ((x * x + y * y + c1) * (vx.max(0.0) + vy.max(0.0) + c2));
        sum += f64::from(value);
    }
    sum / inside.count().max(1) as f64
}

/// Returns the colour error in percent: the root mean square, over blocks and channels, of the logarithm of the ratio
/// of the block's mean level in the panorama and in the truth. Only blocks of which `mask` has at least three quarters
/// count.
pub(crate) fn colour_error(panorama: &Picture, truth: &Picture, mask: &Mask) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for top in (0..mask.height).step_by(COLOUR_BLOCK) {
        for left in (0..mask.width).step_by(COLOUR_BLOCK) {
            let (mut here, mut there, mut pixels) = ([0.0; 3], [0.0; 3], 0usize);
            for y in top..(top + COLOUR_BLOCK).min(mask.height) {
                for x in left..(left + COLOUR_BLOCK).min(mask.width) {
                    let i = y * mask.width + x;
                    if mask.data[i] {
                        pixels += 1;
                        for c in 0..3 {
                            here[c] += f64::from(panorama.data[i][c]);
                            there[c] += f64::from(truth.data[i][c]);
                        }
                    }
                }
            }
            if pixels * 4 >= COLOUR_BLOCK * COLOUR_BLOCK * 3 {
                for c in 0..3 {
                    let level = |sum: f64| sum / pixels as f64 + 4.0;
                    sum += (level(here[c]) / level(there[c])).ln().powi(2);
                    count += 1;
                }
            }
        }
    }
    100.0 * (sum / count.max(1) as f64).sqrt()
}

/// Returns the seam gradient in levels per pixel: the root mean square of the difference of the gradients of the
/// panorama and of the truth, after a blur, where the truth is smooth. A step of `s` levels across a smooth area of
/// width `w` gives `s / sqrt(2 σ w sqrt(π))`. `None` if less than 1 % of the pixels are smooth.
pub(crate) fn seam_gradient(panorama: &Plane, truth: &Plane, mask: &Mask) -> Option<f64> {
    let (here, there) =
        (panorama.blurred(SEAM_BLUR).gradient(), truth.blurred(SEAM_BLUR).gradient());
    let busy = there.map(|[x, y]| x.hypot(y) > SMOOTH).dilated(5);
    let inside = mask.eroded(8);
    let smooth = Grid::from_fn(mask.width, mask.height, |x, y| {
        let i = y * mask.width + x;
        inside.data[i] && !busy.data[i]
    });
    let count = smooth.count();
    if count * 100 < inside.count().max(1) {
        return None;
    }
    let off = |i: usize| {
        let ([ax, ay], [bx, by]) = (here.data[i], there.data[i]);
        f64::from((ax - bx).powi(2) + (ay - by).powi(2))
    };
    let sum: f64 = (0..smooth.data.len()).filter(|&i| smooth.data[i]).map(off).sum();
    Some((sum / count as f64).sqrt())
}
