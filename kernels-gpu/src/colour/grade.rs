//! Colour correction of a camera: `clamp(gain · c / 255, 0, 1)^gamma` for each channel. A [`shoulder`] replaces the clamp
//! if the correction has one.
//!
//! [`Mixed`] and [`Fast`] compute the power, and [`Table`] interpolates linearly between the results for the 256 integer
//! levels. The interpolation is least accurate in two ranges. Where the gain reaches white,
//! the error is up to gain·gamma/4 levels (0.6 of a level for a gain of 2 and a gamma of 1.2). Near black, it is below
//! 0.5 of a level for gammas from 0.8, but 6 levels for a gamma of 0.45. The table clamps levels outside 0 to 255,
//! which Y'CbCr can have, before it applies the gain; the others clamp after the gain.

use crate::colour::shoulder::shoulder;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{Vec3, Vec4, vec3};
use shared_types::colour::{TABLE_LEN, TABLE_LEVELS, TableEntry};
use shared_types::stitch::Colour;

/// A colour correction from levels (0 to 255) to colours (0 to 1). `levels` contain the factor of the vignette; a shoulder
/// needs this `factor`, because it multiplies white, too.
pub(crate) trait Grade {
    fn apply(&self, levels: Vec3, factor: f32) -> Vec3;
}

/// The correction with a power from the special function unit. For gammas from 0.25 to 4 and results above 1/255, its
/// relative error is at most 1e-5.
pub(crate) struct Fast(pub(crate) Colour);

/// The correction of a camera that may be mixed with a constant colour. `colour.gain` and `colour.shoulder` are
/// multiplied by the part of the picture, and `offset` is the constant colour times its part, before the power. The error
/// of the power is at most 2 ULP if `exact` is set, and otherwise that of [`Fast`], which is several times faster. There
/// is no power if the gamma is 1. The branches are uniform, because all pixels of a camera have the same correction.
pub(crate) struct Mixed {
    pub(crate) colour: Colour,
    pub(crate) offset: Vec3,
    pub(crate) exact: bool,
}

impl Grade for Mixed {
    #[device]
    fn apply(&self, levels: Vec3, factor: f32) -> Vec3 {
        let Self { colour, offset, exact } = self;
        let mixed = levels * (colour.gain * (1.0 / 255.0)) + *offset;
        let linear = limited(mixed, colour, factor, *offset).clamp(Vec3::ZERO, Vec3::ONE);
        if colour.gamma == 1.0 {
            linear
        } else if *exact {
            exact_power(linear, colour.gamma)
        } else {
            fast_power(linear, colour.gamma)
        }
    }
}

impl Grade for Fast {
    #[device]
    fn apply(&self, levels: Vec3, factor: f32) -> Vec3 {
        fast_power(gained(&self.0, levels, factor), self.0.gamma)
    }
}

/// Returns the power of each channel, with an error of at most 2 ULP.
#[device]
fn exact_power(Vec3 { x, y, z }: Vec3, gamma: f32) -> Vec3 {
    // `map` of an array would be a loop over local memory.
    vec3(x.positive_powf(gamma), y.positive_powf(gamma), z.positive_powf(gamma))
}

/// Returns the power of each channel as [`Fast`] computes it.
#[device]
fn fast_power(Vec3 { x, y, z }: Vec3, gamma: f32) -> Vec3 {
    vec3(x.fast_powf(gamma), y.fast_powf(gamma), z.fast_powf(gamma))
}

/// Returns the corrected colours (0 to 1) of red, green and blue levels (0 to 255), with the exact power. The levels
/// contain the `factor` of the vignette, or it is 1.
#[device]
pub fn corrected(colour: &Colour, levels: Vec3, factor: f32) -> Vec3 {
    exact_power(gained(colour, levels, factor), colour.gamma)
}

/// Returns `clamp(gain · c / 255, 0, 1)` for the level `c` of each channel.
#[device]
fn gained(colour: &Colour, levels: Vec3, factor: f32) -> Vec3 {
    let gained = levels * (colour.gain * (1.0 / 255.0));
    limited(gained, colour, factor, Vec3::ZERO).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Applies the shoulder of a correction, if it has one. `colours` are multiplied by its gain and by the `factor` of the
/// vignette, and `offset` is added. This branch is uniform, because all pixels of a camera have the same correction.
#[device]
fn limited(colours: Vec3, colour: &Colour, factor: f32, offset: Vec3) -> Vec3 {
    if colour.shoulder == 0.0 {
        return colours;
    }
    shoulder(colours, colour.gain * factor + offset, offset + colour.shoulder, offset)
}

/// A camera's colour correction for samples on a given scale: white is 255, or 1 if the samples come from a texture.
/// It has a shoulder only if the picture is [mixed](Self::mixed) with a colour, because the registers of kernels without
/// mixing do not suffice for it.
#[derive(Clone, Copy)]
pub(crate) struct Scaled {
    colour: Colour,
    /// The factor of a sample that makes white 1.
    scale: f32,
    /// See [`Mixed`]. `None` if the picture is not mixed with a colour.
    offset: Option<Vec3>,
}

impl Scaled {
    #[device]
    pub(crate) fn new(colour: Colour, white: f32) -> Self {
        Self { colour, scale: 1.0 / white, offset: None }
    }

    /// Adds a constant to the colours before the power.
    #[device]
    pub(crate) fn mixed(self, offset: Vec3) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// Converts four samples to corrected colours from 0 to 1. Each sample contains the factor of the vignette, which is
    /// its fourth component.
    #[device]
    pub(crate) fn apply(&self, samples: [Vec4; 4]) -> [Vec3; 4] {
        let Self { colour, scale, offset } = *self;
        let mut colours = [Vec3::ZERO; 4];
        let gain = colour.gain * scale;
        unroll!(4, |i| colours[i] = samples[i].truncate() * gain);
        if let Some(offset) = offset {
            unroll!(4, |i| colours[i] += offset);
            if colour.shoulder != 0.0 {
                let limit = offset + colour.shoulder;
                unroll!(4, |i| {
                    let white = colour.gain * samples[i].w + offset;
                    colours[i] = shoulder(colours[i], white, limit, offset);
                });
            }
        }
        powers(colours, colour.gamma)
    }
}

/// Returns `clamp(colour, 0, 1)^gamma` for each channel of four colours, with the power of [`Fast`]. If `gamma` is 1,
/// it omits the power. This branch is uniform, because all pixels of a camera have the same gamma.
#[device]
pub(crate) fn powers(colours: [Vec3; 4], gamma: f32) -> [Vec3; 4] {
    let mut powers = colours;
    unroll!(4, |i| {
        let Vec3 { x, y, z } = colours[i];
        powers[i] = vec3(x.saturate(), y.saturate(), z.saturate());
    });
    if gamma != 1.0 {
        unroll!(4, |i| powers[i] = fast_power(powers[i], gamma));
    }
    powers
}

/// Returns the exact corrected colour (0 to 1) for an integer level of one channel (0 red, 1 green, 2 blue).
#[device]
pub(crate) fn graded(colour: &Colour, channel: u32, level: u32) -> f32 {
    let Vec3 { x, y, z } = gained(colour, Vec3::splat(level as f32), 1.0);
    let gained = match channel {
        0 => x,
        1 => y,
        _ => z,
    };
    gained.positive_powf(colour.gamma)
}

/// One camera's half of the gamma table, in the block's shared memory.
pub(crate) struct Table {
    entries: Shared<TableEntry>,
    first: u32,
}

impl Table {
    /// Copies the gamma table of both cameras into shared memory. Returns the halves of the left and the right camera.
    ///
    /// Contains a barrier.
    ///
    /// # Safety
    /// - Every thread of the block must call it.
    /// - `table` must have [`TABLE_LEN`] elements.
    #[device]
    pub(crate) unsafe fn load(table: Slice<TableEntry>) -> [Self; 2] {
        let entries = shared_array![TableEntry; TABLE_LEN as usize];
        let threads = thread::block_dim_x() * thread::block_dim_y();
        let mut i = thread::rank();
        while i < TABLE_LEN {
            // SAFETY: `i < TABLE_LEN`, which is the length of `entries` and, as the caller guarantees, of `table`. Only
            // this thread writes element `i` of `entries`.
            unsafe { entries.store(i, table.load(i)) };
            i += threads;
        }
        thread::sync_threads();
        [Self { entries, first: 0 }, Self { entries, first: TABLE_LEN / 2 }]
    }

    #[device]
    fn channel(&self, channel: u32, level: f32) -> f32 {
        let level = level.clamp(0.0, (TABLE_LEVELS - 1) as f32);
        let floor = level.floor();
        // SAFETY: `level` is not NaN, because samples are finite, and it is clamped to the levels of the table. So the
        // index is in bounds of `entries`, which no thread writes after the barrier in `load`.
        let entry = unsafe {
            let i = floor.to_int_unchecked::<u32>();
            self.entries.load(self.first + channel * TABLE_LEVELS + i)
        };
        entry.y.mul_add(level - floor, entry.x)
    }
}

/// The table has no shoulder; a stitch with a shoulder uses [`Mixed`].
impl Grade for Table {
    #[device]
    fn apply(&self, levels: Vec3, _: f32) -> Vec3 {
        vec3(self.channel(0, levels.x), self.channel(1, levels.y), self.channel(2, levels.z))
    }
}
