//! Colour correction of a camera: `clamp(gain · c / 255, 0, 1)^gamma` for each channel, in four variants.
//!
//! [`Linear`] has no gamma; [`Exact`] and [`Fast`] compute the power; [`Table`] interpolates between 256 levels in
//! shared memory. The table is inaccurate where the curve bends between two levels: where the gain reaches white, by
//! up to gain·gamma/4 levels, and near black for a gamma below 1. For gains up to 2 and gammas from 0.8 to 1.2 the
//! error is 0.6 of a level; a gamma of 0.45 has an error of 6 levels near black. Levels outside 0 to 255, which Y'CbCr
//! can have, are clamped before the gain in the table and after it in the other variants.

use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{Vec3, vec3};
use shared_types::colour::{TABLE_LEN, TABLE_LEVELS, TableEntry};
use shared_types::stitch::Colour;

/// Corrects levels from 0 to 255 to colours from 0 to 1.
pub(crate) trait Grade {
    fn apply(&self, levels: Vec3) -> Vec3;
}

/// No gamma: the exponent is 1.
pub(crate) struct Linear(pub(crate) Colour);
/// Computes the power within 2 ULP.
pub(crate) struct Exact(pub(crate) Colour);
/// Computes the power in the special function unit. The error is far below one level, and the power is several times
/// faster than that of [`Exact`].
pub(crate) struct Fast(pub(crate) Colour);

impl Grade for Linear {
    #[inline(always)]
    fn apply(&self, levels: Vec3) -> Vec3 {
        gained(&self.0, levels)
    }
}

impl Grade for Exact {
    #[inline(always)]
    fn apply(&self, levels: Vec3) -> Vec3 {
        let [r, g, b] = gained(&self.0, levels).to_array().map(|c| c.positive_powf(self.0.gamma));
        vec3(r, g, b)
    }
}

impl Grade for Fast {
    #[inline(always)]
    fn apply(&self, levels: Vec3) -> Vec3 {
        let [r, g, b] = gained(&self.0, levels).to_array().map(|c| c.fast_powf(self.0.gamma));
        vec3(r, g, b)
    }
}

/// Returns `clamp(gain · c / 255, 0, 1)` for each channel.
#[inline(always)]
fn gained(colour: &Colour, levels: Vec3) -> Vec3 {
    (levels * (colour.gain * (1.0 / 255.0))).clamp(Vec3::ZERO, Vec3::ONE)
}

/// A camera's colour correction, scaled for samples with a given value of white.
#[derive(Clone, Copy)]
pub(crate) struct Scaled(Colour);

impl Scaled {
    #[inline(always)]
    pub(crate) fn new(Colour { gain, gamma }: Colour, white: f32) -> Self {
        Self(Colour { gain: gain * (1.0 / white), gamma })
    }

    /// Corrects four samples to colours from 0 to 1.
    #[inline(always)]
    pub(crate) fn apply(&self, samples: [Vec3; 4]) -> [Vec3; 4] {
        let Self(Colour { gain, gamma }) = *self;
        let mut colours = samples;
        unroll!(4, |i| colours[i] = samples[i] * gain);
        powers(colours, gamma)
    }
}

/// Returns `clamp(colour, 0, 1)^gamma` for four colours, like [`Linear`] if `gamma` is 1 and like [`Fast`] otherwise.
/// The branch is uniform.
#[inline(always)]
pub(crate) fn powers(colours: [Vec3; 4], gamma: f32) -> [Vec3; 4] {
    let mut powers = colours;
    unroll!(4, |i| {
        let Vec3 { x, y, z } = colours[i];
        powers[i] = vec3(x.saturate(), y.saturate(), z.saturate());
    });
    if gamma != 1.0 {
        unroll!(4, |i| {
            let Vec3 { x, y, z } = powers[i];
            powers[i] = vec3(x.fast_powf(gamma), y.fast_powf(gamma), z.fast_powf(gamma));
        });
    }
    powers
}

/// Returns `a·t + b`, fused.
#[inline(always)]
pub(crate) fn fused(a: Vec3, t: f32, b: Vec3) -> Vec3 {
    vec3(a.x.mul_add(t, b.x), a.y.mul_add(t, b.y), a.z.mul_add(t, b.z))
}

/// Corrects one channel of one level exactly: an entry of the table.
#[inline(always)]
pub(crate) fn graded(colour: &Colour, channel: u32, level: u32) -> f32 {
    let gain = match channel {
        0 => colour.gain.x,
        1 => colour.gain.y,
        _ => colour.gain.z,
    };
    (gain * (1.0 / 255.0) * level as f32).clamp(0.0, 1.0).positive_powf(colour.gamma)
}

/// One camera's part of the gamma table, in the block's shared memory.
pub(crate) struct Table {
    entries: Shared<TableEntry>,
    first: u32,
}

impl Table {
    /// Copies the gamma table into shared memory. Returns the parts of the left and the right camera.
    ///
    /// Contains a barrier.
    ///
    /// # Safety
    /// - Every thread of the block must call it.
    /// - `table` must have [`TABLE_LEN`] elements.
    #[inline(always)]
    pub(crate) unsafe fn load(table: Slice<TableEntry>) -> [Self; 2] {
        let entries = shared_array![TableEntry; TABLE_LEN as usize];
        let threads = thread::block_dim_x() * thread::block_dim_y();
        let mut i = thread::rank();
        while i < TABLE_LEN {
            // SAFETY: element `i` exists in both tables, and one thread writes it.
            unsafe { entries.store(i, table.load(i)) };
            i += threads;
        }
        thread::sync_threads();
        [Self { entries, first: 0 }, Self { entries, first: TABLE_LEN / 2 }]
    }

    #[inline(always)]
    fn channel(&self, channel: u32, level: f32) -> f32 {
        let level = level.clamp(0.0, (TABLE_LEVELS - 1) as f32);
        let floor = level.floor();
        // SAFETY: the level is clamped to the table, which no thread writes after the barrier. Samples are finite, so
        // no level is NaN.
        let entry = unsafe {
            let i = floor.to_int_unchecked::<u32>();
            self.entries.load(self.first + channel * TABLE_LEVELS + i)
        };
        entry.y.mul_add(level - floor, entry.x)
    }
}

impl Grade for Table {
    #[inline(always)]
    fn apply(&self, levels: Vec3) -> Vec3 {
        vec3(self.channel(0, levels.x), self.channel(1, levels.y), self.channel(2, levels.z))
    }
}
