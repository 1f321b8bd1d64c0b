//! Correlates pieces of one recording with another recording, and keeps the highest peaks.
//!
//! The correlation at a lag is a sum of products. If the recordings are unrelated, the products have random signs, and
//! the variance of the sum is the sum of their squares. That sum is the correlation of the two signals' energies, which
//! change slowly, so it is computed at 1/[`CELL`] of the rate. A peak's height is given in standard deviations of this
//! model. So two loud events do not make a high peak unless their waveforms agree.
//!
//! The products of two vowels or notes of the same pitch do not have random signs, though, and can agree for a few
//! tenths of a second by chance. Therefore a height counts fully only if all parts of a piece contribute to the sum.

use std::ops::Range;

use rustfft::num_complex::Complex;

use super::{PROBES, RATE};
use crate::fourier::Fourier;

/// The length of a piece in samples: 4.1 s.
const PIECE: usize = 1 << 15;

/// The length of the Fourier transforms in samples.
const BLOCK: usize = 1 << 17;

/// The number of lags that one block yields.
const STEP: usize = BLOCK - PIECE;

/// The number of samples whose energies are added up.
const CELL: usize = 64;

/// The number of samples of a part of a piece, whose contribution to a peak is computed: 0.26 s. It is about the length
/// of a syllable.
const PART: usize = 2048;

/// The minimum number of samples that a piece and the long recording must have in common at a lag: 0.5 s. Less sound is
/// too often similar by chance, such as two notes of the same pitch.
const LEAST_COMMON: usize = RATE as usize / 2;

/// The maximum number of peaks that are kept of each piece.
const PEAKS: usize = 24;

/// Two peaks that are closer than this number of samples (1 ms) count as one.
pub(super) const NEAR: f64 = RATE as f64 / 1000.0;

/// A piece of the short recording, with the highest peaks of its correlation with the long recording.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    /// The samples of the short recording that the piece consists of.
    pub(super) range: Range<usize>,
    /// The peaks in descending order of height.
    pub(super) peaks: Vec<Peak>,
}

/// A peak of the correlation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    /// The sample of the long recording minus the sample of the short recording that it corresponds to.
    pub(super) lag: f64,
    /// The height in standard deviations of unrelated sound, reduced if few parts of the piece contribute.
    pub(super) height: f64,
    /// The normalised correlation, 0 to 1, over the samples that both recordings have at this lag.
    pub(super) likeness: f64,
}

/// Correlates pieces of `short` with `long` at lags up to `most` samples.
pub(super) fn correlate(short: &[f32], long: &[f32], most: usize) -> Vec<Probe> {
    let mut transforms = Transforms::new();
    let mut pieces: Vec<Piece> =
        choose(short).into_iter().map(|range| Piece::new(range, short, &mut transforms)).collect();
    let mut block = Block { start: -(PIECE as i64), long: long.len(), ..Block::new(&transforms) };
    while block.start < long.len() as i64 {
        if pieces.iter().any(|piece| !piece.places(&block, most).is_empty()) {
            transforms.load(long, &mut block);
            for piece in &mut pieces {
                piece.search(piece.places(&block, most), &block, &mut transforms);
            }
        }
        block.start += STEP as i64;
    }
    pieces.into_iter().map(|piece| piece.finish(short, long)).collect()
}

/// Chooses the pieces: divides the recording into equal parts, and takes the loudest piece of each part.
fn choose(short: &[f32]) -> Vec<Range<usize>> {
    let parts = short.len().div_ceil(PIECE).clamp(1, PROBES);
    let bound = |part: usize| short.len() * part / parts;
    let energies: Vec<f32> = short.chunks(CELL).map(energy).collect();
    let loudest = |part: usize| {
        let (first, last) = (bound(part), bound(part + 1).max(PIECE) - PIECE);
        let piece = |start: &usize| {
            let cells = &energies[start / CELL..((start + PIECE) / CELL).min(energies.len())];
            cells.iter().sum::<f32>()
        };
        // A part that is shorter than a piece overlaps with the part before.
        let starts = (first.min(last) / CELL..=last / CELL).step_by(16).map(|cell| cell * CELL);
        let start = starts.max_by(|a, b| piece(a).total_cmp(&piece(b))).unwrap_or(0);
        start..(start + PIECE).min(short.len())
    };
    (0..parts).map(loudest).collect()
}

fn energy(samples: &[f32]) -> f32 {
    samples.iter().map(|sample| sample * sample).sum()
}

/// A part of a recording.
struct Block {
    /// The first sample of the block. It is negative for a block that begins before the recording.
    start: i64,
    /// The number of samples of the recording.
    long: usize,
    /// The Fourier transform of the block's samples. Samples outside the recording are 0.
    spectrum: Vec<Complex<f32>>,
    /// The energies of the block's cells.
    energies: Vec<f32>,
}

impl Block {
    fn new(transforms: &Transforms) -> Self {
        let (spectrum, energies) = (transforms.fourier.spectrum(), Vec::new());
        Self { start: 0, long: 0, spectrum, energies }
    }
}

/// The Fourier transforms, and their buffers.
struct Transforms {
    fourier: Fourier<f32>,
    samples: Vec<f32>,
    product: Vec<Complex<f32>>,
}

impl Transforms {
    fn new() -> Self {
        let fourier = Fourier::new(BLOCK);
        Self { samples: vec![0.0; BLOCK], product: fourier.spectrum(), fourier }
    }

    /// Loads the samples of a block from a recording.
    fn load(&mut self, sound: &[f32], block: &mut Block) {
        self.samples.fill(0.0);
        let skip = block.start.min(0).unsigned_abs() as usize;
        let rest = sound.get(block.start.max(0) as usize..).unwrap_or_default();
        self.samples[skip..].iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        block.energies.clear();
        block.energies.extend(self.samples.chunks(CELL).map(energy));
        self.fourier.forward(&self.samples, &mut block.spectrum);
    }

    /// Returns the correlation of a block with a piece, at each sample at which the piece can begin.
    fn correlation(&mut self, block: &[Complex<f32>], piece: &[Complex<f32>]) -> &[f32] {
        for ((product, a), b) in self.product.iter_mut().zip(block).zip(piece) {
            *product = a * b.conj() / BLOCK as f32;
        }
        self.fourier.inverse(&self.product, &mut self.samples);
        &self.samples[..STEP]
    }
}

/// A piece of the short recording while it is correlated.
struct Piece {
    range: Range<usize>,
    spectrum: Vec<Complex<f32>>,
    energies: Vec<f32>,
    /// The peaks so far, in descending order of height. The heights have an unknown scale.
    peaks: Vec<Peak>,
    /// The sum of the squares of all heights, and their number.
    squares: (f64, u64),
}

impl Piece {
    fn new(range: Range<usize>, short: &[f32], transforms: &mut Transforms) -> Self {
        let mut block = Block::new(transforms);
        transforms.load(&short[range.clone()], &mut block);
        let Block { spectrum, mut energies, .. } = block;
        energies.truncate(PIECE / CELL);
        Self { range, spectrum, energies, peaks: Vec::new(), squares: (0.0, 0) }
    }

    /// Returns the places in a block at which the piece can begin.
    fn places(&self, block: &Block, most: usize) -> Range<usize> {
        let (own, most) = (self.range.start as i64, most as i64);
        let least = (own - most).max(LEAST_COMMON as i64 - self.range.len() as i64);
        let last = (own + most).min(block.long as i64 - LEAST_COMMON as i64);
        let place = |place: i64| (place - block.start).clamp(0, STEP as i64) as usize;
        place(least)..place(last + 1)
    }

    /// Correlates the piece with a block, and keeps the highest peaks.
    fn search(&mut self, places: Range<usize>, block: &Block, transforms: &mut Transforms) {
        if places.is_empty() {
            return;
        }
        let sums = transforms.correlation(&block.spectrum, &self.spectrum);
        let variances = self.variances(&block.energies);
        let loudest = block.energies.iter().fold(0.0, |a: f32, b| a.max(*b));
        // Below this variance, the sums are rounding errors of the transforms.
        let least = 1e-7 * loudest * self.energies.iter().sum::<f32>();
        let height = |place: usize| {
            let (cell, part) = (place / CELL, (place % CELL) as f32 / CELL as f32);
            let variance = variances[cell] * (1.0 - part) + variances[cell + 1] * part;
            if variance > least { sums[place].abs() / variance.sqrt() } else { 0.0 }
        };
        let mut heights = [0.0, height(places.start)];
        for place in places.clone() {
            let next = if place + 1 < places.end { height(place + 1) } else { 0.0 };
            let [before, this] = heights;
            self.squares.0 += f64::from(this).powi(2);
            self.squares.1 += 1;
            if this > before && this >= next && self.is_high(this) {
                let offset = place.checked_sub(1).and_then(|before| {
                    Some(summit([*sums.get(before)?, sums[place], *sums.get(place + 1)?]))
                });
                let lag = (block.start + place as i64 - self.range.start as i64) as f64;
                let likeness = self.likeness(sums[place].abs(), place, block);
                let lag = lag + offset.unwrap_or(0.0);
                self.keep(Peak { lag, height: this.into(), likeness });
            }
            heights = [this, next];
        }
    }

    /// Returns the correlation of the energies of this piece and of a block, at each cell at which the piece can begin.
    fn variances(&self, energies: &[f32]) -> Vec<f32> {
        let at = |cell: usize| {
            let products = self.energies.iter().zip(&energies[cell..]).map(|(a, b)| a * b);
            products.sum::<f32>() / CELL as f32
        };
        (0..=STEP / CELL).map(at).collect()
    }

    /// Normalises a correlation by the energies of the samples that both recordings have at this place.
    fn likeness(&self, sum: f32, place: usize, block: &Block) -> f64 {
        let others = &block.energies[place / CELL..][..self.energies.len()];
        let first = block.start + (place / CELL * CELL) as i64;
        let both =
            self.energies.iter().zip(others).enumerate().filter(|(cell, _)| {
                (0..block.long as i64).contains(&(first + (cell * CELL) as i64))
            });
        let [own, other] = both.fold([0.0; 2], |[a, b], (_, (own, other))| {
            [a + f64::from(*own), b + f64::from(*other)]
        });
        f64::from(sum) / (own * other).sqrt().max(f64::MIN_POSITIVE)
    }

    fn is_high(&self, height: f32) -> bool {
        self.peaks.len() < PEAKS || self.peaks.last().is_some_and(|p| p.height < height.into())
    }

    fn keep(&mut self, peak: Peak) {
        let is_near = |other: &Peak| (other.lag - peak.lag).abs() < NEAR;
        if self.peaks.iter().any(|other| is_near(other) && other.height >= peak.height) {
            return;
        }
        self.peaks.retain(|other| !is_near(other));
        let place = self.peaks.partition_point(|other| other.height >= peak.height);
        self.peaks.insert(place, peak);
        self.peaks.truncate(PEAKS);
    }

    /// Scales the heights, so that their root mean square over all lags is 1, and reduces the heights of peaks to which
    /// few parts of the piece contribute.
    fn finish(mut self, short: &[f32], long: &[f32]) -> Probe {
        let (squares, count) = self.squares;
        let scale = (squares / count.max(1) as f64).sqrt().max(f64::MIN_POSITIVE);
        for peak in &mut self.peaks {
            peak.height *= evenness(&self.range, peak.lag, short, long) / scale;
        }
        self.peaks.sort_by(|a, b| b.height.total_cmp(&a.height));
        Probe { range: self.range, peaks: self.peaks }
    }
}

/// Returns the square root of the fraction of a piece's parts that contribute to a peak. With `c` the contribution of
/// a part, the number of contributing parts is (Σc)² / Σc²: their number if they contribute equally, and 1 for one.
fn evenness(range: &Range<usize>, lag: f64, short: &[f32], long: &[f32]) -> f64 {
    let lag = lag.round() as i64;
    let part = |start: usize| -> f64 {
        let product = |i: usize| {
            let other = usize::try_from(i as i64 + lag).ok().and_then(|i| long.get(i));
            f64::from(short[i]) * other.map_or(0.0, |other| f64::from(*other))
        };
        (start..(start + PART).min(range.end)).map(product).sum()
    };
    let parts = range.clone().step_by(PART).map(part);
    let [sum, squares] = parts.fold([0.0; 2], |[sum, squares], c| [sum + c, squares + c * c]);
    let count = PIECE as f64 / PART as f64;
    sum.abs() / (squares * count).sqrt().max(f64::MIN_POSITIVE)
}

/// Returns the summit of the parabola through three values at -1, 0 and 1, of which the middle one is the highest in
/// magnitude.
fn summit([before, this, after]: [f32; 3]) -> f64 {
    let curvature = 2.0 * this - before - after;
    if curvature == 0.0 {
        0.0
    } else {
        f64::from(0.5 * (after - before) / curvature).clamp(-0.5, 0.5)
    }
}
