//! Fits the gain fields of pictures to differences that the photometric model leaves.
//!
//! The logarithm of a field is linear in its nodes. It is the same for red, green and blue, so an object that moved,
//! whose colour differs from the background's, does not look like a change of the light. The priors keep a field close
//! to 1 and make neighbouring nodes similar. Without overlap, the logarithm of a field therefore decays by a factor of
//! e every [`SIZE`] / [`SLOPE`] nodes, about 7.

use glam::UVec2;
use nalgebra::DVector;
use shared_types::photometry::FieldGrid;

use super::super::gain_field::{GainField, grid, taps};
use super::predict::Model;
use super::{FINE, Problem, Solution, scale};

/// Standard deviations of the priors: the logarithm at a node, and its difference between neighbouring nodes.
const SIZE: f64 = 0.2;
const SLOPE: f64 = 0.03;

/// The largest magnitude of the logarithm at a node.
const MOST: f64 = 0.25;

/// The amount by which the mean loss must fall for fields to be used. Moving objects reduce the loss by
/// less than this.
const BETTER: f64 = 0.03;

/// The scale of the loss in the first iteration, in levels. It falls to [`FINE`] in the first half of the iterations.
const COARSE: f64 = 12.0;
const ITERATIONS: i32 = 10;

/// The maximum number of steps of conjugate gradients per iteration. Each iteration starts from the result of the last
/// one.
const STEPS: usize = 60;

/// Returns the gain field of each picture. All fields are uniform if fitted ones do not reduce the loss by [`BETTER`].
/// The anchor has a uniform field.
pub(super) fn fit(
    problem: &Problem,
    model: &Solution,
    sizes: &[UVec2],
    anchor: Option<usize>,
) -> Vec<GainField> {
    let system = System::new(problem, sizes, anchor);
    let predicting = Model::new(model);
    let mut nodes = DVector::zeros(system.unknowns);
    for i in 0..ITERATIONS {
        let scale = scale(COARSE, i, ITERATIONS);
        nodes = system.solve(&system.equations(&predicting, &nodes, scale), nodes);
    }
    let nodes = nodes.map(|node: f64| node.clamp(-MOST, MOST));
    let loss = system.loss(&predicting, &nodes);
    tracing::debug!(before = model.loss, after = loss, "fitted gain fields");
    // The comparison is false for NaN.
    let is_better = loss <= model.loss - BETTER;
    if !is_better {
        return vec![GainField::default(); sizes.len()];
    }
    let field = |(grid, &first): (&FieldGrid, &usize)| {
        let nodes = &nodes.as_slice()[first..first + grid.count() as usize];
        GainField::new(*grid, nodes.iter().map(|node| (-node).exp() as f32).collect())
    };
    system.grids.iter().zip(&system.first).map(field).collect()
}

/// The nodes of all fields, and their relations.
struct System<'a> {
    problem: &'a Problem<'a>,
    grids: Vec<FieldGrid>,
    /// The index of the first node of each picture.
    first: Vec<usize>,
    unknowns: usize,
    /// The nodes that determine the logarithm of the ratio of both fields at each sample.
    ratios: Vec<[(usize, f64); 18]>,
    /// Pairs of neighbouring nodes.
    neighbours: Vec<[usize; 2]>,
}

/// The normal equations of the samples: their weights, and the right side.
struct Equations {
    weights: Vec<f64>,
    side: DVector<f64>,
}

impl<'a> System<'a> {
    fn new(problem: &'a Problem<'a>, sizes: &[UVec2], anchor: Option<usize>) -> Self {
        let grids: Vec<FieldGrid> = sizes.iter().map(|size| grid(*size)).collect();
        let mut unknowns = 0;
        let mut first = Vec::new();
        let mut neighbours = Vec::new();
        for grid in &grids {
            let UVec2 { x: columns, y: rows } = grid.nodes;
            let node = |x: u32, y: u32| unknowns + (y * columns + x) as usize;
            for y in 0..rows {
                for x in 0..columns {
                    neighbours.extend((x + 1 < columns).then(|| [node(x, y), node(x + 1, y)]));
                    neighbours.extend((y + 1 < rows).then(|| [node(x, y), node(x, y + 1)]));
                }
            }
            first.push(unknowns);
            unknowns += grid.count() as usize;
        }
        let ratio = |sample: &super::Sample| {
            let taps = [0, 1].map(|side| {
                let picture = sample.pictures[side];
                let sign = if side == 0 { -1.0 } else { 1.0 };
                // Without influence on the samples, the nodes of the anchor remain 0.
                let sign = if anchor == Some(picture) { 0.0 } else { sign };
                taps(&grids[picture], sample.places[side].as_vec2())
                    .map(|(node, weight)| (first[picture] + node, sign * weight))
            });
            std::array::from_fn(|i| taps[i / 9][i % 9])
        };
        let ratios = problem.samples.iter().map(ratio).collect();
        Self { problem, grids, first, unknowns, ratios, neighbours }
    }

    /// Returns the equations of an iteration: Gauss-Newton steps of all residuals, weighted by a Cauchy loss.
    fn equations(&self, model: &Model<'_>, nodes: &DVector<f64>, scale: f64) -> Equations {
        let mut side = DVector::zeros(self.unknowns);
        let mut weights = Vec::with_capacity(self.ratios.len());
        for (sample, taps) in self.problem.samples.iter().zip(&self.ratios) {
            let ratio = of(taps, nodes);
            let sums = self.problem.sums(model, sample, ratio, scale);
            let weight: f64 = sums.iter().map(|of| of.ratio).sum();
            let residual: f64 = sums.iter().map(|of| of.ratio_residual).sum();
            let right = weight * ratio - residual;
            taps.iter().for_each(|&(node, tap)| side[node] += tap * right);
            weights.push(weight);
        }
        Equations { weights, side }
    }

    /// Returns the product of the matrix of the equations and of the priors with a vector.
    fn product(&self, equations: &Equations, x: &DVector<f64>) -> DVector<f64> {
        let mut product = x * SIZE.powi(-2);
        for &[a, b] in &self.neighbours {
            let pull = (x[a] - x[b]) * SLOPE.powi(-2);
            product[a] += pull;
            product[b] -= pull;
        }
        for (taps, weight) in self.ratios.iter().zip(&equations.weights) {
            let pull = weight * of(taps, x);
            taps.iter().for_each(|&(node, tap)| product[node] += tap * pull);
        }
        product
    }

    /// Solves the equations by conjugate gradients.
    fn solve(&self, equations: &Equations, start: DVector<f64>) -> DVector<f64> {
        let mut x = start;
        let mut rest = &equations.side - self.product(equations, &x);
        let mut direction = rest.clone();
        let mut length = rest.norm_squared();
        // The next iteration goes on from this solution.
        let small = 1e-6 * equations.side.norm_squared();
        for _ in 0..STEPS {
            if length <= small {
                break;
            }
            let product = self.product(equations, &direction);
            let step = length / direction.dot(&product);
            x.axpy(step, &direction, 1.0);
            rest.axpy(-step, &product, 1.0);
            let shorter = rest.norm_squared();
            direction = &rest + direction * (shorter / length);
            length = shorter;
        }
        x
    }

    /// Returns the mean loss of a sample; see [`Problem::loss`].
    fn loss(&self, model: &Model<'_>, nodes: &DVector<f64>) -> f64 {
        self.problem.mean_loss(model, FINE, |i| of(&self.ratios[i], nodes))
    }
}

/// Returns a linear function of the nodes.
fn of(taps: &[(usize, f64); 18], nodes: &DVector<f64>) -> f64 {
    taps.iter().map(|&(node, tap)| tap * nodes[node]).sum()
}
