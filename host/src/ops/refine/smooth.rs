//! Fits a smooth field of displacements to measurements at some nodes of a grid.
//!
//! The field minimises `Σ r · (d − m)ᵀ C (d − m) + STIFFNESS · Σ |d − d'|² + REST · Σ |d|²`, where `m` is a
//! measurement, `C` its certainty, `r` its reliability, and `d'` the displacement of a neighbouring node. The
//! reliability falls with the square of the residual (Geman and McClure 1985), so that windows of moving objects and
//! wrong matches have hardly any influence. Iteratively reweighted least squares solve it; each round takes 100 sweeps
//! over the grid.

use glam::{IVec2, Mat2, UVec2, Vec2};

use super::points;
use super::search::Found;

/// The influence of the difference between neighbours. Good windows have a certainty of 0.02 to 0.3. A field that
/// follows each window would bend the background around every small object; small objects are left to the seam.
const STIFFNESS: f32 = 0.1;

/// The influence of the displacement itself. Without measurements, a displacement falls to half over 10 nodes.
const REST: f32 = 0.0005;

/// The residual, in pixels of the reduced panorama, at which a measurement keeps a quarter of its influence.
const TOLERANCE: f32 = 1.5;

/// The number of times that the reliabilities are computed.
const ROUNDS: usize = 4;

/// The number of sweeps over the grid per round.
const SWEEPS: usize = 100;

/// The smallest number of measurements of a field.
const FEWEST: usize = 3;

/// Returns the displacement at each node, or `None` if there are too few measurements.
pub(super) fn smooth(found: &[Found], nodes: UVec2) -> Option<Vec<Vec2>> {
    if found.len() < FEWEST {
        return None;
    }
    let index = |node: UVec2| (node.y * nodes.x + node.x) as usize;
    let mut measured: Vec<Option<&Found>> = vec![None; index(nodes - 1) + 1];
    found.iter().for_each(|found| measured[index(found.node)] = Some(found));
    let mut field = vec![Vec2::ZERO; measured.len()];
    for round in 0..ROUNDS {
        let reliable = |(found, now): (&Option<&Found>, &Vec2)| match found {
            Some(found) if round > 0 => {
                (1.0 + ((found.shift - *now) / TOLERANCE).length_squared()).powi(-2)
            }
            _ => 1.0,
        };
        let reliability: Vec<_> = measured.iter().zip(&field).map(reliable).collect();
        for _ in 0..SWEEPS {
            for node in points(nodes) {
                let mut matrix = Mat2::from_diagonal(Vec2::splat(REST));
                let mut right = Vec2::ZERO;
                for step in [IVec2::X, IVec2::NEG_X, IVec2::Y, IVec2::NEG_Y] {
                    let neighbour = node.wrapping_add_signed(step);
                    if neighbour.cmplt(nodes).all() {
                        matrix += Mat2::from_diagonal(Vec2::splat(STIFFNESS));
                        right += STIFFNESS * field[index(neighbour)];
                    }
                }
                if let Some(found) = measured[index(node)] {
                    let certainty = reliability[index(node)] * found.certainty;
                    matrix += certainty;
                    right += certainty * found.shift;
                }
                field[index(node)] = matrix.inverse() * right;
            }
        }
    }
    Some(field)
}
