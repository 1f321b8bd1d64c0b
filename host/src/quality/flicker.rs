//! Whether a video's brightness is restless.
//!
//! The panorama is divided into a grid of blocks; b(t) is a block's mean gray level in frame t. A frame's flicker
//! is the median over the blocks of
//!
//! ```text
//! |b(t) − 2 b(t−1) + b(t−2)| / 4
//! ```
//!
//! Brightness that alternates by ±a levels from frame to frame has the flicker a. A second difference, because
//! light that changes evenly, and colours that follow it, are no flicker: they give 0. The median, because what
//! moves through less than half of the panorama is none either. Beside it stands the largest step, the median
//! of |b(t) − b(t−1)|: of an exposure that jumps once, which a mean over the video hides.
//!
//! Blind to: flicker of less than half of the blocks, as of one lamp; and pulsing that takes many frames, which
//! looks like light that changes. A camera that moves, or a cut, is taken for flicker.

use glam::UVec2;

use super::{Levels, NOBODY, QualityError, check_count, check_size};
use crate::video::AtFrame;

/// Columns and rows of blocks.
const BLOCKS: UVec2 = UVec2::new(8, 6);

/// Measures frame after frame of a video. Allocates nothing from frame to frame.
#[derive(Clone, Debug)]
pub struct FlickerMeter {
    size: UVec2,
    blocks: UVec2,
    /// Whether a block counts: at least half of it is seen.
    seen: Vec<bool>,
    /// Means of the blocks: of this frame, the last, and the one before that.
    means: [Vec<f64>; 3],
    sorted: Vec<f64>,
    found: Flicker,
    sum: f64,
}

/// What one frame adds, in levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlickerFrame {
    /// Mean gray level of the blocks that count.
    pub level: f64,
    /// The median of the blocks' changes from the last frame; `None` of the first.
    pub step: Option<f64>,
    /// The flicker; `None` of the first two.
    pub flicker: Option<f64>,
}

/// How restless a video is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flicker {
    /// Frames measured.
    pub frames: u64,
    /// Mean of the frames' flicker in levels, 0 of fewer than three frames.
    pub mean: f64,
    /// The largest.
    pub most: AtFrame,
    /// The largest step.
    pub largest_step: AtFrame,
}

impl FlickerMeter {
    /// For frames of `size` pixels. `owners` says who sees each pixel, [`NOBODY`] where no camera does, as for
    /// [`SeamLine`](super::SeamLine): blocks that are mostly black say nothing.
    ///
    /// # Errors
    /// [`QualityError::Count`], of no pixels too.
    pub fn new(size: UVec2, owners: &[u8]) -> Result<Self, QualityError> {
        if size.min_element() == 0 {
            return Err(QualityError::Count { what: "pixels", found: 0, size });
        }
        check_count("owners", owners.len(), size)?;
        let blocks = BLOCKS.min(size);
        let many = blocks.element_product() as usize;
        let mut counts = vec![(0_u64, 0_u64); many];
        for (i, owner) in owners.iter().enumerate() {
            let (x, y) = (i as u32 % size.x, i as u32 / size.x);
            let (seen, all) = &mut counts[block(x, y, size, blocks)];
            *seen += u64::from(*owner != NOBODY);
            *all += 1;
        }
        let mut seen: Vec<_> = counts.iter().map(|(seen, all)| 2 * seen >= *all).collect();
        if !seen.contains(&true) {
            seen.fill(true);
        }
        let none = AtFrame { frame: 0, value: 0.0 };
        Ok(Self {
            size,
            blocks,
            seen,
            means: [vec![0.0; many], vec![0.0; many], vec![0.0; many]],
            sorted: Vec::with_capacity(many),
            found: Flicker { frames: 0, mean: 0.0, most: none, largest_step: none },
            sum: 0.0,
        })
    }

    /// Takes in the next frame.
    ///
    /// # Errors
    /// [`QualityError::Size`].
    pub fn add(&mut self, levels: &Levels<'_>) -> Result<FlickerFrame, QualityError> {
        check_size("frame", levels.size(), self.size)?;
        self.means.rotate_right(1);
        let (size, blocks) = (self.size, self.blocks);
        self.means[0].fill(0.0);
        for y in 0..size.y {
            let row = &mut self.means[0][block(0, y, size, blocks)..][..blocks.x as usize];
            let mut levels = levels.gray_row(y);
            for (column, mean) in (0..blocks.x).zip(row) {
                let width = first(column + 1, size.x, blocks.x) - first(column, size.x, blocks.x);
                let sum: u64 = levels.by_ref().take(width as usize).map(u64::from).sum();
                *mean += sum as f64;
            }
        }
        for (i, mean) in self.means[0].iter_mut().enumerate() {
            let (column, row) = (i as u32 % blocks.x, i as u32 / blocks.x);
            let width = first(column + 1, size.x, blocks.x) - first(column, size.x, blocks.x);
            let height = first(row + 1, size.y, blocks.y) - first(row, size.y, blocks.y);
            *mean /= f64::from(width) * f64::from(height);
        }
        let frame = self.found.frames;
        let step = (frame >= 1).then(|| self.median(|[now, last, _]| now - last));
        let flicker = (frame >= 2).then(|| self.median(|[now, last, old]| now - 2.0 * last + old));
        let flicker = flicker.map(|second| second / 4.0);
        for (value, most) in [(step, &mut self.found.largest_step), (flicker, &mut self.found.most)]
        {
            if let Some(value) = value.filter(|value| *value > most.value) {
                *most = AtFrame { frame, value };
            }
        }
        self.found.frames += 1;
        if let Some(flicker) = flicker {
            self.sum += flicker;
            self.found.mean = self.sum / (self.found.frames - 2) as f64;
        }
        let counted = self.means[0].iter().zip(&self.seen).filter(|(_, seen)| **seen);
        let many = self.seen.iter().filter(|seen| **seen).count() as f64;
        let level = counted.map(|(mean, _)| mean).sum::<f64>() / many;
        Ok(FlickerFrame { level, step, flicker })
    }

    /// What was found so far.
    #[must_use]
    pub fn found(&self) -> Flicker {
        self.found
    }

    /// The median of a value's magnitude over the blocks that count, from the means of this frame and the two
    /// before.
    fn median(&mut self, value: impl Fn([f64; 3]) -> f64) -> f64 {
        self.sorted.clear();
        for (i, _) in self.seen.iter().enumerate().filter(|(_, seen)| **seen) {
            self.sorted.push(value(self.means.each_ref().map(|means| means[i])).abs());
        }
        self.sorted.sort_unstable_by(f64::total_cmp);
        let many = self.sorted.len();
        0.5 * (self.sorted[(many - 1) / 2] + self.sorted[many / 2])
    }
}

/// First pixel of a column or row of blocks.
fn first(block: u32, side: u32, blocks: u32) -> u32 {
    (u64::from(block) * u64::from(side) / u64::from(blocks)) as u32
}

/// The block that a pixel lies in.
fn block(x: u32, y: u32, size: UVec2, blocks: UVec2) -> usize {
    let of = |at: u32, side: u32, blocks: u32| {
        // The last block that begins at the pixel or before.
        let guess = ((u64::from(at) + 1) * u64::from(blocks)).div_ceil(u64::from(side)) as u32 - 1;
        debug_assert!(first(guess, side, blocks) <= at && at < first(guess + 1, side, blocks));
        guess
    };
    (of(y, size.y, blocks.y) * blocks.x + of(x, size.x, blocks.x)) as usize
}
