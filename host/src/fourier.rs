//! Fourier transforms of real sequences whose length is a power of two.
//!
//! A sequence is transformed as the real parts of a complex one. A planner, or a transform for real numbers, takes half
//! the time, but the code for all lengths would be a tenth of the library.

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

/// The transforms of sequences of one length.
pub(crate) struct Fourier<T> {
    forward: Radix4<T>,
    inverse: Radix4<T>,
    buffer: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T: FftNum> Fourier<T> {
    /// Creates the transforms for sequences of `length` numbers. `length` must be a power of two.
    pub(crate) fn new(length: usize) -> Self {
        let forward = Radix4::new(length, FftDirection::Forward);
        let inverse = Radix4::new(length, FftDirection::Inverse);
        let zero = Complex { re: T::zero(), im: T::zero() };
        let scratch = forward.get_inplace_scratch_len().max(inverse.get_inplace_scratch_len());
        Self { forward, inverse, buffer: vec![zero; length], scratch: vec![zero; scratch] }
    }

    /// Returns a spectrum of zeros: half the length, and one bin more.
    pub(crate) fn spectrum(&self) -> Vec<Complex<T>> {
        vec![Complex { re: T::zero(), im: T::zero() }; self.buffer.len() / 2 + 1]
    }

    /// Computes the spectrum of a sequence. If it is shorter than the transform's length, zeros follow.
    pub(crate) fn forward(&mut self, numbers: &[T], spectrum: &mut [Complex<T>]) {
        let zeros = std::iter::repeat(T::zero());
        for (to, re) in self.buffer.iter_mut().zip(numbers.iter().copied().chain(zeros)) {
            *to = Complex { re, im: T::zero() };
        }
        self.forward.process_with_scratch(&mut self.buffer, &mut self.scratch);
        spectrum.copy_from_slice(&self.buffer[..spectrum.len()]);
    }

    /// Computes the sequence of a spectrum, times the length. Ignores the imaginary parts of the first and the last bin.
    pub(crate) fn inverse(&mut self, spectrum: &[Complex<T>], numbers: &mut [T]) {
        // A real sequence has a symmetric spectrum, so twice the lower half has the same real parts.
        self.buffer.fill(Complex { re: T::zero(), im: T::zero() });
        for (to, bin) in self.buffer.iter_mut().zip(spectrum) {
            *to = *bin + *bin;
        }
        for end in [0, spectrum.len() - 1] {
            self.buffer[end] = spectrum[end];
        }
        self.inverse.process_with_scratch(&mut self.buffer, &mut self.scratch);
        numbers.iter_mut().zip(&self.buffer).for_each(|(to, from)| *to = from.re);
    }
}

#[cfg(test)]
mod tests {
    use super::Fourier;

    #[test]
    fn transforms_agree_with_the_sum_and_invert_each_other() {
        let mut random = fastrand::Rng::with_seed(3);
        for length in [2, 4, 8, 64, 512] {
            let numbers: Vec<f64> = (0..length).map(|_| random.f64() - 0.5).collect();
            let mut fourier = Fourier::new(length);
            let mut spectrum = fourier.spectrum();
            fourier.forward(&numbers, &mut spectrum);
            for (k, bin) in spectrum.iter().enumerate() {
                let angle =
                    |n: usize| -std::f64::consts::TAU * ((k * n) % length) as f64 / length as f64;
                let sum = |part: fn(f64) -> f64| -> f64 {
                    numbers.iter().enumerate().map(|(n, number)| number * part(angle(n))).sum()
                };
                let error = (bin.re - sum(f64::cos)).hypot(bin.im - sum(f64::sin));
                assert!(error < 1e-12, "{length}, bin {k}: {error}");
            }
            let mut back = vec![0.0; length];
            fourier.inverse(&spectrum, &mut back);
            for (number, back) in numbers.iter().zip(&back) {
                assert!((number - back / length as f64).abs() < 1e-14, "{length}");
            }
        }
    }
}
