//! Pictures and panoramas in the layout of the functions on the CPU: two rows of 32 pixels at a time, each channel in its
//! own array, so that loops over the pixels are vectorised.
//!
//! A function computes [`Places`], samples a [`Picture`] there, applies the rest of the colour correction ([`Shading`]) to
//! the [`Colours`], and writes them to a [`Panorama`].

mod panorama;
mod picture;
mod plane;
mod shade;

pub(crate) use panorama::Panorama;
pub(crate) use picture::{Opens, Picture};
pub(crate) use plane::{Corners, Plane, bilinear};
pub(crate) use shade::Shading;

/// The number of pixels of a row that are computed together.
pub(crate) const SIDE: usize = 32;

/// A value for each pixel of a row.
pub(crate) type Row = [f32; SIDE];

/// Red, green and blue (0 to 1), each for two rows.
pub(crate) type Colours = [[Row; 3]; 2];

/// Texture coordinates of two rows: columns and rows of the picture.
pub(crate) type Places = [[Row; 2]; 2];

/// Adds the colours of a camera times their weights to sums, and the weights to their sums.
#[inline(always)]
pub(crate) fn accumulate(
    sums: &mut Colours,
    totals: &mut [Row; 2],
    colours: &Colours,
    weights: &[Row; 2],
) {
    for i in 0..2 {
        for k in 0..SIDE {
            totals[i][k] += weights[i][k];
        }
        for channel in 0..3 {
            for k in 0..SIDE {
                sums[i][channel][k] += colours[i][channel][k] * weights[i][k];
            }
        }
    }
}

/// Divides sums of colours by the sums of their weights. Pixels without a weight become black.
#[inline(always)]
pub(crate) fn divide(sums: &mut Colours, weights: &[Row; 2]) {
    for (sums, weights) in sums.iter_mut().zip(weights) {
        for channel in sums {
            for (sum, weight) in channel.iter_mut().zip(weights) {
                let mean = if *weight > 0.0 { *sum / weight } else { 0.0 };
                // The quotient may exceed 1 by a rounding error. A NaN becomes 0.
                let positive = if mean > 0.0 { mean } else { 0.0 };
                *sum = if positive < 1.0 { positive } else { 1.0 };
            }
        }
    }
}
