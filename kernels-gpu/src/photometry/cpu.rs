//! The photometric correction on the CPU: rows of the picture on all cores. The results are those of the kernel, except that
//! with a gain field, a level may round differently.

use super::{corrected, field_weights};
use crate::cpu::{covers, vectorised};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{vec2, vec3};
use rayon::prelude::*;
use shared_types::Rgba8;
use shared_types::photometry::{Correction, FieldGrid};
use std::vec;
use std::vec::Vec;

/// Computes a launch of [`photometry_correct`](super::photometry_correct).
///
/// # Safety
/// All memory must be valid host memory. Nothing else may access the picture or write the tables.
pub(super) unsafe fn correct(
    config: &LaunchConfig,
    correction: Correction,
    lights: Slice<f32>,
    grid: FieldGrid,
    nodes: Slice<f32>,
    picture: ViewMut<Rgba8>,
) -> bool {
    // SAFETY: the caller guarantees the memory of the tables.
    let (lights, nodes) = unsafe { (lights.as_host_slice(), nodes.as_host_slice()) };
    let Ok(lights) = <&[f32; 256]>::try_from(lights.get(..256).unwrap_or_default()) else {
        return false;
    };
    let is_whole = covers(config, picture.width(), picture.height());
    if !is_whole || nodes.len() < grid.count() as usize {
        return false;
    }
    (0..picture.height()).into_par_iter().for_each(|y| {
        // SAFETY: the row exists. The caller guarantees its memory, and no other call takes this row.
        let row = unsafe { picture.host_row(y) };
        let fields = field_row(&grid, nodes, y, row.len());
        vectorised!(for (x, (pixel, field)) in row.iter_mut().zip(&fields).enumerate() {
            let light = |level: u8| lights[usize::from(level)];
            let rgb = vec3(light(pixel.r), light(pixel.g), light(pixel.b));
            let place = vec2(x as f32, y as f32);
            let levels = corrected(&correction, rgb, *field, place) * 255.0;
            // Halves are rounded to even, as in the kernel: from 2²³ on, adjacent f32 numbers differ by 1.
            let [r, g, b] = (levels + (1 << 23) as f32).to_array().map(|sum| sum.to_bits() as u8);
            *pixel = Rgba8 { r, g, b, a: pixel.a };
        });
    });
    true
}

/// Returns the factors of a gain field in row `y` of a picture; see [`field_factor`](super::field_factor).
fn field_row(grid: &FieldGrid, nodes: &[f32], y: u32, width: usize) -> Vec<f32> {
    if grid.nodes.min_element() < 3 {
        return vec![1.0; width];
    }
    let columns = grid.nodes.x as usize;
    let (first, rows) = field_weights(y as f32, grid.cells_per_pixel, grid.nodes.y);
    let from = |i: usize| &nodes[(first as usize + i) * columns..][..columns];
    let (above, middle, below) = (from(0), from(1), from(2));
    let mixed: Vec<f32> = (0..columns)
        .map(|i| rows[0] * above[i] + (rows[1] * middle[i] + rows[2] * below[i]))
        .collect();
    let factor = |x: usize| {
        let (first, weights) = field_weights(x as f32, grid.cells_per_pixel, grid.nodes.x);
        let taps = &mixed[first as usize..][..3];
        weights[0] * taps[0] + (weights[1] * taps[1] + weights[2] * taps[2])
    };
    (0..width).map(factor).collect()
}
