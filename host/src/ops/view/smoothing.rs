//! Gaussian smoothing of a sequence of numbers, in time that does not grow with the width of the window.
//!
//! Narrow windows are applied directly. Wide windows are applied by Fourier transforms of overlapping blocks
//! (overlap-save) in O(n log n). Each block is smoothed relative to its first number, so that a constant sequence stays
//! constant. The two methods differ by less than 10⁻¹¹ of the largest difference between two numbers of a block.

use crate::fourier::Fourier;

/// The radius up to which a window is applied directly.
const DIRECT: usize = 64;

/// The length of a block in radii of the window, before it is rounded up to a power of two.
const BLOCK: usize = 8;

/// Returns the weights of one half of a Gaussian window, from the centre outwards. The weights of the whole window,
/// which is symmetric, have the sum 1. `sigma` is the standard deviation in numbers, and `radius` the number of weights
/// beside the centre.
pub(super) fn gaussian(sigma: f64, radius: usize) -> Vec<f64> {
    let weight = |i: usize| match i {
        0 => 1.0,
        i => libm::exp(-0.5 * (i as f64 / sigma).powi(2)),
    };
    let half: Vec<f64> = (0..=radius).map(weight).collect();
    let sum = 2.0 * half.iter().sum::<f64>() - 1.0;
    half.into_iter().map(|weight| weight / sum).collect()
}

/// Returns the weighted means of all windows that are completely inside `values`. `half` contains the weights of a
/// symmetric window from its centre outwards. The result is empty if `values` is shorter than the window.
pub(super) fn smooth(values: &[f64], half: &[f64]) -> Vec<f64> {
    let radius = half.len() - 1;
    if radius > DIRECT && values.len() > 2 * radius {
        by_blocks(values, half)
    } else {
        directly(values, half)
    }
}

fn directly(values: &[f64], half: &[f64]) -> Vec<f64> {
    let radius = half.len() - 1;
    let mean = |window: &[f64]| {
        let pairs = (1..=radius).map(|i| half[i] * (window[radius - i] + window[radius + i]));
        half[0] * window[radius] + pairs.sum::<f64>()
    };
    values.windows(2 * radius + 1).map(mean).collect()
}

fn by_blocks(values: &[f64], half: &[f64]) -> Vec<f64> {
    let radius = half.len() - 1;
    let length = (BLOCK * radius).min(values.len()).next_power_of_two();
    let mut fourier = Fourier::new(length);
    let (mut block, mut spectrum) = (vec![0.0; length], fourier.spectrum());
    block[0] = half[0];
    for (i, &weight) in half.iter().enumerate().skip(1) {
        block[i] = weight;
        block[length - i] = weight;
    }
    fourier.forward(&block, &mut spectrum);
    // The spectrum of a symmetric window is real.
    let gains: Vec<f64> = spectrum.iter().map(|bin| bin.re / length as f64).collect();
    let count = values.len() - 2 * radius;
    let mut means = Vec::with_capacity(count);
    while means.len() < count {
        let rest = &values[means.len()..];
        let taken = &rest[..length.min(rest.len())];
        let base = taken[0];
        block.fill(0.0);
        block.iter_mut().zip(taken).for_each(|(number, value)| *number = value - base);
        fourier.forward(&block, &mut spectrum);
        spectrum.iter_mut().zip(&gains).for_each(|(bin, gain)| *bin *= gain);
        fourier.inverse(&spectrum, &mut block);
        means.extend(block[radius..taken.len() - radius].iter().map(|mean| mean + base));
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a path with corners, jumps and noise, far from 0.
    fn path(length: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(7);
        let corner = |i: usize| ((i / 500) % 7) as f64 * 25.0;
        (0..length).map(|i| 100.0 + corner(i) + random.f64()).collect()
    }

    #[test]
    fn blocks_and_the_direct_formula_have_the_same_means() {
        for (length, radius) in [(9000, 65), (9000, 1000), (2001, 1000), (4097, 300), (700, 300)] {
            let half = gaussian(radius as f64 / 3.0, radius);
            let values = path(length);
            let (exact, fast) = (directly(&values, &half), smooth(&values, &half));
            assert_eq!((exact.len(), fast.len()), (length - 2 * radius, length - 2 * radius));
            for (exact, fast) in exact.iter().zip(&fast) {
                assert!((exact - fast).abs() < 175e-11, "{length} {radius}: {exact} {fast}");
            }
        }
    }

    #[test]
    fn a_constant_sequence_stays_constant_and_a_short_one_has_no_means() {
        let half = gaussian(400.0, 1200);
        assert!(smooth(&[-123.456; 20_000], &half).iter().all(|&mean| mean == -123.456));
        assert!(smooth(&[1.0; 2400], &half).is_empty());
        assert_eq!(smooth(&[1.0, 2.0], &gaussian(0.0, 0)), [1.0, 2.0]);
    }

    /// The direct formula needs 10¹² steps for these numbers, and this method 10⁹.
    #[test]
    fn the_time_does_not_grow_with_the_window() {
        let half = gaussian(60_000.0, 180_000);
        let begun = std::time::Instant::now();
        let means = smooth(&path(5_360_000), &half);
        assert_eq!(means.len(), 5_000_000);
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }
}
