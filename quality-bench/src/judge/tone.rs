//! The global tone: no stitcher knows the exposure of the truth, so one curve per channel is free.

use crate::grid::{Mask, Picture, Rgb};

/// The curve `gain · (level / 255)^gamma · 255 + offset` of a channel, from panorama levels to truth levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tone {
    pub(crate) gain: f64,
    pub(crate) gamma: f64,
    /// Offset in levels.
    pub(crate) offset: f64,
}

impl Tone {
    /// Returns the corrected level, from 0 to 255.
    pub(crate) fn apply(&self, level: f32) -> f32 {
        let v = (f64::from(level.max(0.0)) / 255.0).powf(self.gamma) * 255.0;
        (self.gain * v + self.offset).clamp(0.0, 255.0) as f32
    }

    /// Fits the curve of a channel by least squares over pairs of panorama and truth levels.
    fn fit(pairs: &[(f32, f32)]) -> Self {
        let mut best = (f64::MAX, Self { gain: 1.0, gamma: 1.0, offset: 0.0 });
        for step in 0..=24 {
            let gamma = 0.6 * 1.05f64.powi(step);
            let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for &(x, y) in pairs {
                let (x, y) = ((f64::from(x.max(0.0)) / 255.0).powf(gamma) * 255.0, f64::from(y));
                (n, sx, sy, sxx, sxy) = (n + 1.0, sx + x, sy + y, sxx + x * x, sxy + x * y);
            }
            let spread = n * sxx - sx * sx;
            if spread <= 0.0 {
                continue;
            }
            let gain = (n * sxy - sx * sy) / spread;
            let tone = Self { gain, gamma, offset: (sy - gain * sx) / n };
            let off = |(x, y): &(f32, f32)| f64::from(tone.apply(*x) - y).powi(2);
            let cost: f64 = pairs.iter().map(off).sum();
            if cost < best.0 {
                best = (cost, tone);
            }
        }
        best.1
    }
}

/// Fits the tone of each channel over the pixels of `mask`.
pub(crate) fn fit(panorama: &Picture, truth: &Picture, mask: &Mask) -> [Tone; 3] {
    let pixels: Vec<(Rgb, Rgb)> = (0..mask.data.len())
        .filter(|&i| mask.data[i])
        .map(|i| (panorama.data[i], truth.data[i]))
        .collect();
    let every = (pixels.len() / 20_000).max(1);
    [0, 1, 2].map(|c| {
        let pairs: Vec<_> = pixels.iter().step_by(every).map(|(p, t)| (p[c], t[c])).collect();
        Tone::fit(&pairs)
    })
}
