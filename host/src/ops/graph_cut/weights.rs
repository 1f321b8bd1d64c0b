//! Turns the cameras of cells into blending weights of pixels.

use glam::UVec2;
use rayon::prelude::*;
use shared_types::colour::OverlapBox;

use super::labels::Labels;

/// The part of the weight that a camera keeps outside its cells, so that it covers pixels that no other camera shows.
/// It changes a level by less than 0.1.
const LEAST: f32 = 1e-4;

impl Labels {
    /// Returns the weights of a camera for the pixels of `place`, row by row. At each pixel, the share of a camera is
    /// its weight divided by the sum of all weights. The weight is 0 where the camera does not see the pixel, and
    /// greater than 0 elsewhere.
    ///
    /// `margin` is the distance in source pixels from the edge of the camera's picture, and 0 at pixels that the camera
    /// does not see. Towards the edge, the weight falls to 0 within half a feather, so that no edge is visible.
    pub(crate) fn weights(&self, camera: usize, place: OverlapBox, margin: &[f32]) -> Vec<f32> {
        let cells = self.grid.cells();
        let presence = self.presence(camera);
        let cell = self.grid.cell as f32;
        // A ramp of the blurred presence is as wide as the blur and one cell. It is scaled to the width of the feather.
        let steep = (self.blur() + 1.0) * cell / self.feather;
        let free = 2.0 / self.feather;
        let width = place.size().x.max(1) as usize;
        let cells = cells.as_usizevec2();
        let columns: Vec<_> =
            (place.min.x..place.max.x).map(|x| between(x, cell, cells.x)).collect();
        let mut weights = vec![0.0; margin.len()];
        let rows = weights.par_chunks_exact_mut(width).zip(margin.par_chunks_exact(width));
        rows.enumerate().for_each(|(y, (weights, margin))| {
            let row = between(place.min.y + y as u32, cell, cells.y);
            let [above, below] =
                [row.low, row.high].map(|row| &presence[row * cells.x..][..cells.x]);
            for ((weight, &margin), column) in weights.iter_mut().zip(margin).zip(&columns) {
                if margin > 0.0 {
                    let presence =
                        column.mix(above) + (column.mix(below) - column.mix(above)) * row.part;
                    let sharp = ((presence - 0.5) * steep + 0.5).clamp(0.0, 1.0);
                    let least = LEAST * (0.1 + presence);
                    *weight = (margin * free).min(1.0) * (sharp + least);
                }
            }
        });
        weights
    }

    /// Returns the width of the blur in cells. A blur of at least one cell smooths the steps of diagonal cuts.
    fn blur(&self) -> f32 {
        (self.feather / self.grid.cell as f32 - 1.0).max(1.0)
    }

    /// Returns the presence of a camera in each cell: the fraction of the cells nearby that show it, from 0 to 1.
    fn presence(&self, camera: usize) -> Vec<f32> {
        let own = |label: &u8| f32::from(u8::from(usize::from(*label) == camera));
        let mut all: Vec<f32> = self.of.iter().map(own).collect();
        let known: Vec<f32> = self
            .of
            .iter()
            .map(|&label| f32::from(u8::from(label != super::labels::NOBODY)))
            .collect();
        let cells = self.grid.cells();
        let mut weight = known;
        for plane in [&mut all, &mut weight] {
            blur(plane, cells, self.blur());
        }
        // Cells that no camera sees do not count.
        all.iter().zip(&weight).map(|(own, all)| if *all > 0.0 { own / all } else { 0.0 }).collect()
    }
}

/// Replaces each value by the mean over a square of `width` cells around it. Cells outside the grid count as 0.
fn blur(values: &mut [f32], size: UVec2, width: f32) {
    let (columns, rows) = (size.x as usize, size.y as usize);
    let row = |y: usize| (y * columns, 1, columns);
    let column = |x: usize| (x, columns, rows);
    let mut line = Vec::new();
    for (first, step, many) in (0..rows).map(row).chain((0..columns).map(column)) {
        line.clear();
        line.push(0.0_f32);
        let mut sum = 0.0;
        for i in 0..many {
            sum += values[first + i * step];
            line.push(sum);
        }
        // `line` is the integral. It is linear within a cell, so the square may end inside cells.
        let integral = |at: f32| {
            let at = at.clamp(0.0, many as f32);
            let low = (at as usize).min(many - 1);
            line[low] + (line[low + 1] - line[low]) * (at - low as f32)
        };
        for i in 0..many {
            let middle = i as f32 + 0.5;
            let sum = integral(middle + 0.5 * width) - integral(middle - 0.5 * width);
            values[first + i * step] = sum / width;
        }
    }
}

/// The position of a pixel between the centres of two cells along an axis.
struct Between {
    low: usize,
    high: usize,
    part: f32,
}

/// Returns the position of a pixel between cells of `cell` pixels along an axis of `cells` cells.
fn between(pixel: u32, cell: f32, cells: usize) -> Between {
    let at = ((pixel as f32 + 0.5) / cell - 0.5).clamp(0.0, (cells - 1) as f32);
    let low = at as usize;
    Between { low, high: (low + 1).min(cells - 1), part: at - low as f32 }
}

impl Between {
    /// Returns the value at the position, interpolated linearly.
    fn mix(&self, values: &[f32]) -> f32 {
        values[self.low] + (values[self.high] - values[self.low]) * self.part
    }
}
