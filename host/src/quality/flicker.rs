//! Measures the flicker of a video: brightness that varies from frame to frame.
//!
//! A grid divides the panorama into blocks. Let b(t) be the mean gray level of a block in frame t. The flicker of a
//! frame is the median over all blocks of
//!
//! ```text
//! |b(t) − 2 b(t−1) + b(t−2)| / 4
//! ```
//!
//! Brightness that alternates by ±a levels from frame to frame has the flicker a. The second difference is 0 for light
//! that changes evenly, and for a colour correction that follows this light. The median ignores objects that move
//! through less than half of the panorama. A second measure is the step of a frame, the median of |b(t) − b(t−1)|. The
//! largest step of the video shows an exposure that jumps once, which the mean flicker of the video hides.
//!
//! The measurement does not detect flicker in less than half of the blocks, for example from one lamp, and it does not
//! detect slow pulsing, because that looks like changing light. A moving camera or a cut is measured as flicker.

use glam::UVec2;

use super::{Levels, NOBODY, QualityError, check_owners, check_size};
use crate::video::AtFrame;

/// The maximum number of columns and rows of blocks into which the panorama is divided.
const BLOCKS: UVec2 = UVec2::new(8, 6);

/// The flicker, in levels, for which the score is 0.
const FLICKER_RANGE: f64 = 10.0;

/// Measures the flicker of a video, one frame after the other. Allocates nothing per frame.
#[derive(Clone, Debug)]
pub struct FlickerMeter {
    size: UVec2,
    blocks: UVec2,
    /// Whether each block is measured. A block is measured if cameras see at least half of its pixels.
    seen: Vec<bool>,
    /// The mean levels of the blocks in the current frame and the two frames before it, newest first.
    means: [Vec<f64>; 3],
    sorted: Vec<f64>,
    found: Flicker,
    sum: f64,
}

/// The measurements of one frame, in levels from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlickerFrame {
    /// The mean gray level of the measured blocks.
    pub level: f64,
    /// The median over the blocks of the absolute change since the previous frame. `None` for the first frame.
    pub step: Option<f64>,
    /// The flicker, which is computed from three consecutive frames. `None` for the first two frames.
    pub flicker: Option<f64>,
}

/// The flicker of a video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flicker {
    /// The number of measured frames.
    pub frames: u64,
    /// The mean flicker of all frames, in levels. 0 for fewer than three frames.
    pub mean: f64,
    /// The maximum flicker of a frame, in levels, and the number of the frame with the maximum.
    pub most: AtFrame,
    /// The maximum [step](FlickerFrame::step) of a frame, in levels, and the number of the frame with the maximum.
    pub largest_step: AtFrame,
}

/// Returns the score for a [mean flicker](Flicker::mean) of `levels`: `1 − levels / 10`, at least 0. For instance,
/// brightness that alternates by ±1 level from frame to frame has a score of 0.9.
#[must_use]
pub fn flicker_score(levels: f64) -> f64 {
    (1.0 - levels / FLICKER_RANGE).clamp(0.0, 1.0)
}

impl FlickerMeter {
    /// Creates a meter for frames of `size` pixels. `owners` contains the index of the camera of each pixel, row by
    /// row, or [`NOBODY`] at pixels to which no camera contributes. Blocks in which cameras see fewer than half of the
    /// pixels are not measured, unless all blocks are like this.
    pub fn new(size: UVec2, owners: &[u8]) -> Result<Self, QualityError> {
        if size.min_element() == 0 {
            check_size("panorama", size, size.max(UVec2::ONE))?;
        }
        check_owners(owners, size)?;
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

    /// Adds the next frame of the video, and returns its measurements.
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

    /// Returns the flicker of the frames so far.
    #[must_use]
    pub fn found(&self) -> Flicker {
        self.found
    }

    /// Returns the median of the absolute result of `value` over the measured blocks. The argument of `value` is the
    /// mean levels of a block in the current frame and the two frames before it.
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

/// Returns the index of the first pixel of block `block` along one axis, if `blocks` blocks divide `side` pixels.
fn first(block: u32, side: u32, blocks: u32) -> u32 {
    (u64::from(block) * u64::from(side) / u64::from(blocks)) as u32
}

/// Returns the index of the block that contains the pixel (`x`, `y`).
fn block(x: u32, y: u32, size: UVec2, blocks: UVec2) -> usize {
    let of = |at: u32, side: u32, blocks: u32| {
        // `guess` is the last block that begins at or before the pixel.
        let guess = ((u64::from(at) + 1) * u64::from(blocks)).div_ceil(u64::from(side)) as u32 - 1;
        debug_assert!(first(guess, side, blocks) <= at && at < first(guess + 1, side, blocks));
        guess
    };
    (of(y, size.y, blocks.y) * blocks.x + of(x, size.x, blocks.x)) as usize
}
