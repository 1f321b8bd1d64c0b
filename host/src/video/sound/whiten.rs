//! Whitens sound: gives all frequencies the same power, and reduces the differences in loudness over time.
//!
//! The sound of one scene differs between two microphones in gain, frequency response and noise. Whitening removes the
//! first two, and makes the correlation of a sound with itself a narrow peak.

use rustfft::num_complex::Complex;

use super::{LEAST_SECONDS, RATE};
use crate::fourier::Fourier;

/// The length of a frame in samples: 128 ms.
const FRAME: usize = 1024;

/// The step between frames.
const HOP: usize = FRAME / 2;

/// The number of bins on each side of a bin over which the power is averaged.
const AROUND: usize = 3;

/// The power of a frame's sample relative to full scale below which the frame counts as silent: -100 dB.
const SILENCE: f32 = 1e-10;

/// The power of a bin relative to the mean of its frame below which it is not amplified further: -50 dB.
const FLOOR: f32 = 1e-5;

/// The sound of a recording, prepared for [`offset`](super::offset).
#[derive(Clone, Debug)]
pub struct Track(Vec<f32>);

impl Track {
    /// Creates a track from mono samples at [`RATE`] per second, with a full scale of ±1.
    #[must_use]
    pub fn new(mut samples: Vec<f32>) -> Self {
        Whitener::new().whiten(&mut samples);
        Self(samples)
    }

    pub(super) fn samples(&self) -> &[f32] {
        &self.0
    }

    /// Returns whether the track has no sound, or lasts less than 0.5 s.
    pub(super) fn is_silent(&self) -> bool {
        (self.0.len() as f64) < LEAST_SECONDS * f64::from(RATE)
            || self.0.iter().all(|sample| *sample == 0.0)
    }
}

struct Whitener {
    fourier: Fourier<f32>,
    window: Vec<f32>,
    band: Vec<f32>,
    frame: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    power: Vec<f32>,
}

impl Whitener {
    fn new() -> Self {
        let fourier = Fourier::new(FRAME);
        // The square root of a Hann window. Applied twice, two overlapping windows add up to 1.
        let window = (0..FRAME).map(|i| (std::f32::consts::PI * i as f32 / FRAME as f32).sin());
        let bins = FRAME / 2 + 1;
        let band = (0..bins).map(|bin| band(bin as f32 * RATE as f32 / FRAME as f32));
        Self {
            window: window.collect(),
            band: band.collect(),
            frame: vec![0.0; FRAME],
            spectrum: fourier.spectrum(),
            power: vec![0.0; bins],
            fourier,
        }
    }

    /// Whitens samples in place.
    fn whiten(&mut self, samples: &mut [f32]) {
        let mut before = [0.0; HOP];
        let mut tail = [0.0; HOP];
        for start in (0..samples.len() + HOP).step_by(HOP) {
            // The frame consists of the previous step's samples, which the output has replaced, and the next ones.
            let mut next = [0.0; HOP];
            let end = samples.len().min(start + HOP);
            if start < end {
                next[..end - start].copy_from_slice(&samples[start..end]);
            }
            self.frame[..HOP].copy_from_slice(&before);
            self.frame[HOP..].copy_from_slice(&next);
            self.whiten_frame();
            let (first, second) = self.frame.split_at(HOP);
            if let Some(done) = start.checked_sub(HOP) {
                let sums = tail.iter().zip(first).map(|(a, b)| a + b);
                samples[done..].iter_mut().zip(sums).for_each(|(sample, sum)| *sample = sum);
            }
            tail.copy_from_slice(second);
            before = next;
        }
    }

    fn whiten_frame(&mut self) {
        let Self { fourier, window, band, frame, spectrum, power } = self;
        frame.iter_mut().zip(&*window).for_each(|(sample, weight)| *sample *= weight);
        fourier.forward(frame, spectrum);
        for ((power, bin), weight) in power.iter_mut().zip(&*spectrum).zip(&*band) {
            // Frequencies that are removed must not count as loudness.
            *power = if *weight > 0.0 { bin.norm_sqr() } else { 0.0 };
        }
        let mean = power.iter().sum::<f32>() / power.len() as f32;
        // A sample of power p gives bins of power p·FRAME/2 under this window.
        if mean.is_nan() || mean <= SILENCE * HOP as f32 {
            frame.fill(0.0);
            return;
        }
        // The fourth root of the power remains as amplitude, so that loud events still count more than noise.
        let loudness = mean.sqrt().sqrt();
        for (i, bin) in spectrum.iter_mut().enumerate() {
            let near = &power[i.saturating_sub(AROUND)..(i + AROUND + 1).min(power.len())];
            let near = near.iter().sum::<f32>() / near.len() as f32;
            *bin *= band[i] * loudness / (near + FLOOR * mean).sqrt();
        }
        fourier.inverse(spectrum, frame);
        frame.iter_mut().zip(&*window).for_each(|(sample, weight)| *sample *= weight);
    }
}

/// Returns the weight of a frequency in Hz: 0 below 60 Hz, where there is rumble, then 1, and falling to 0 at half the
/// sample rate, so that the correlation of a whitened sound with itself has no high side lobes.
fn band(frequency: f32) -> f32 {
    let high_pass = ((frequency - 60.0) / 100.0).clamp(0.0, 1.0);
    let fall = (std::f32::consts::PI * frequency / RATE as f32).cos();
    high_pass * fall.max(0.0).powi(2)
}
