//! Tests of the graph solver with planted gains.

use panoweave_tests::random::Random;

use super::*;
use crate::ops::colour::{Colours, estimate};

const LIMITS: fn() -> EstimateLimits = EstimateLimits::default;

/// Returns the sums of an overlap in which camera `i` shows `scene` multiplied by `exposures[i]`.
fn sums(scene: [f64; 3], exposures: [[f64; 3]; 2], weight: f32) -> ColourSums {
    let camera = |exposure: [f64; 3]| {
        let [r, g, b] = std::array::from_fn(|c| (scene[c] * exposure[c]) as f32 * weight);
        [r, g, b, 0.0]
    };
    let [left, right] = exposures.map(camera);
    ColourSums { left, right, weight }
}

/// A planted graph: the exposure of each camera and the edges between them.
struct Planted {
    exposures: Vec<[f64; 3]>,
    edges: Vec<Edge>,
    random: Random,
}

impl Planted {
    /// Creates cameras with exposures from 1/`spread` to `spread`, without edges.
    fn new(seed: u64, cameras: usize, spread: f32) -> Self {
        let mut random = Random::new(seed);
        let log = spread.ln();
        let mut exposure = || f64::from(random.between(-log, log)).exp();
        let exposures = (0..cameras).map(|_| [0; 3].map(|_| exposure())).collect();
        Self { exposures, edges: Vec::new(), random }
    }

    /// Adds the edge between two cameras, in which the exposure of the second camera is multiplied by `wrong`.
    fn link(&mut self, cameras: [usize; 2], wrong: f64) {
        let r = &mut self.random;
        let scene = [0; 3].map(|_| f64::from(r.between(30.0, 90.0)));
        let mut exposures = cameras.map(|camera| self.exposures[camera]);
        exposures[1] = exposures[1].map(|exposure| exposure * wrong);
        let sums = sums(scene, exposures, r.between(1e4, 3e5));
        self.edges.push(Edge::new(cameras, &sums, &LIMITS()).unwrap());
    }

    fn ring(seed: u64, cameras: usize, spread: f32) -> Self {
        let mut planted = Self::new(seed, cameras, spread);
        (0..cameras).for_each(|camera| planted.link([camera, (camera + 1) % cameras], 1.0));
        planted
    }

    /// A random connected graph: a tree and some more edges.
    fn random(seed: u64, cameras: usize, spread: f32) -> Self {
        let mut planted = Self::new(seed, cameras, spread);
        for camera in 1..cameras {
            let other = planted.random.below(camera);
            planted.link([other, camera], 1.0);
        }
        for _ in 0..planted.random.below(2 * cameras) {
            let [a, b] = [0; 2].map(|_| planted.random.below(cameras));
            let known = planted.edges.iter().any(|e| e.cameras == [a, b] || e.cameras == [b, a]);
            if a != b && !known {
                planted.link([a, b], 1.0);
            }
        }
        planted
    }

    fn solve(&self) -> Solution {
        solve(self.exposures.len(), &self.edges, &LIMITS(), None, &[])
    }

    /// Returns the largest error of a gain as a logarithm. The exact gains are the reciprocals of the exposures, apart
    /// from a factor for each channel.
    fn error(&self, colours: &[Colour]) -> f64 {
        let mut worst = 0.0_f64;
        for c in 0..3 {
            let logs: Vec<f64> = colours
                .iter()
                .zip(&self.exposures)
                .map(|(colour, exposure)| (f64::from(colour.gain[c]) * exposure[c]).ln())
                .collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            worst = logs.iter().map(|log| (log - mean).abs()).fold(worst, f64::max);
        }
        worst
    }
}

fn mean_log(colours: &[Colour], channel: usize) -> f64 {
    let logs = colours.iter().map(|colour| f64::from(colour.gain[channel]).ln());
    logs.sum::<f64>() / colours.len() as f64
}

/// The solver finds planted gains exactly, in rings and in random graphs of 2 to 16 cameras.
#[test]
fn planted_gains_are_found() {
    for seed in 0..300 {
        let cameras = 2 + seed as usize % 15;
        // The gains of a group stay within [0.5, 2].
        for planted in [Planted::random(seed, cameras, 1.4), Planted::ring(seed, cameras, 1.4)] {
            let Solution { colours, unmatched } = planted.solve();
            assert!(unmatched.is_empty());
            let error = planted.error(&colours);
            assert!(error < 1e-6, "{cameras} cameras: {error}");
            assert!((0..3).all(|c| mean_log(&colours, c).abs() < 1e-6));
            assert!(colours.iter().all(|colour| colour.gamma == 1.0));
        }
    }
}

/// The general solution for two cameras agrees with the closed form of `estimate`, also beyond the limits. The closed
/// form is used for groups of two cameras, bit by bit.
#[test]
fn two_cameras_have_the_colours_of_the_closed_form() {
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let means = [0; 2].map(|_| [0; 3].map(|_| f64::from(random.between(2.0, 247.0))));
        let sums = sums([1.0; 3], means, 20_000.0);
        let edge = |cameras| Edge::new(cameras, &sums, &LIMITS()).unwrap();
        let closed = estimate(&sums, &LIMITS()).unwrap();
        let pair = solve(4, &[edge([2, 1])], &LIMITS(), None, &[]);
        assert_eq!(pair.unmatched, [0, 3]);
        assert_eq!(Colours { left: pair.colours[2], right: pair.colours[1] }, closed);
        let general = groups(2, &[edge([0, 1])])[0].solve(&LIMITS(), None, &[]);
        for (general, closed) in general.iter().zip([closed.left, closed.right]) {
            assert!((general.gain - closed.gain).abs().max_element() < 1e-6);
            assert!((general.gamma - closed.gamma).abs() < 1e-6, "{general:?} {closed:?}");
        }
    }
}

/// With up to 2 % of noise on each edge, a ring closes: no neighbours differ by more than their share of the noise.
#[test]
fn rings_close_with_noise() {
    let mut worst = 0.0_f64;
    for seed in 0..200 {
        let cameras = 3 + seed as usize % 14;
        let mut planted = Planted::new(seed, cameras, 1.4);
        let mut sum = 0.0;
        for camera in 0..cameras {
            let noise = f64::from(planted.random.between(-0.02, 0.02));
            sum += noise;
            planted.link([camera, (camera + 1) % cameras], noise.exp());
        }
        // All edges have the same weight, so each takes an equal share of the sum of the noise.
        planted.edges.iter_mut().for_each(|edge| edge.weight = 2e5);
        let colours = planted.solve().colours;
        for edge in &planted.edges {
            let [a, b] = edge.cameras.map(|camera| f64::from(colours[camera].gain.x));
            let left = (a * edge.means[0][0] / (b * edge.means[1][0])).ln();
            let share = (left + sum / cameras as f64).abs();
            worst = worst.max(share);
        }
    }
    assert!(worst < 1e-6, "{worst}");
}

/// An edge with a wrong ratio barely changes the solution, in graphs where other edges contradict it.
#[test]
fn a_wrong_edge_is_outvoted() {
    let (mut worst, mut without) = (0.0_f64, 0.0_f64);
    for seed in 0..300 {
        let cameras = 4 + seed as usize % 13;
        let mut planted = Planted::new(seed, cameras, 1.4);
        // Two rows of cameras, as on a rig with two heights, so that each edge is in at least two loops.
        let wrong = planted.random.below(cameras);
        for camera in 0..cameras {
            let factor = if camera == wrong { [0.5, 1.3, 2.0][seed as usize % 3] } else { 1.0 };
            planted.link([camera, (camera + 1) % cameras], factor);
            if cameras > 4 || camera < 2 {
                planted.link([camera, (camera + 2) % cameras], 1.0);
            }
        }
        let error = planted.error(&planted.solve().colours);
        worst = worst.max(error);
        let links: Vec<_> = planted
            .edges
            .iter()
            .map(|e| Link {
                ends: e.cameras,
                difference: [(e.means[1][0] / e.means[0][0]).ln()],
                weight: e.weight,
            })
            .collect();
        let plain = least_squares(cameras, &links);
        let off = plain
            .iter()
            .zip(&planted.exposures)
            .map(|(l, e)| l[0] + e[0].ln() - plain[0][0] - planted.exposures[0][0].ln());
        without = without.max(off.fold(0.0, |a, o| a.max(o.abs())));
    }
    println!("largest error {worst:.5}, plain least squares {without:.5}");
    assert!(worst < 0.01, "{worst}");
}

/// In a single loop, the expected colours decide which edge is wrong.
#[test]
fn expected_colours_decide_in_a_single_loop() {
    let mut worst = [0.0_f64; 2];
    for seed in 0..300 {
        let cameras = 3 + seed as usize % 14;
        let mut planted = Planted::new(seed, cameras, 1.1);
        let wrong = planted.random.below(cameras);
        for camera in 0..cameras {
            let factor = if camera == wrong { [0.5, 1.3, 2.0][seed as usize % 3] } else { 1.0 };
            planted.link([camera, (camera + 1) % cameras], factor);
        }
        let exact: Vec<_> = planted
            .exposures
            .iter()
            .map(|e| Colour { gain: Vec3::from_array(e.map(|e| (1.0 / e) as f32)), gamma: 1.0 })
            .collect();
        for (worst, expected) in worst.iter_mut().zip([&[][..], &exact]) {
            let found = solve(cameras, &planted.edges, &LIMITS(), None, expected);
            let error = planted.error(&found.colours);
            if error > 0.05 {
                println!(
                    "{cameras} cameras, {seed}: {error:.3} weights {:?}, wrong {wrong}",
                    planted.edges.iter().map(|e| e.weight as u32).collect::<Vec<_>>()
                );
            }
            *worst = worst.max(error);
        }
    }
    println!("largest error {worst:?}");
}
