//! Tests of the solver with planted gains.

use panoweave_tests::random::Random;

use super::*;

/// Returns the sums of an overlap in which camera `i` shows `scene` multiplied by `exposures[i]`.
fn sums(scene: [f64; 3], exposures: [[f64; 3]; 2], weight: f32) -> ColourSums {
    let camera = |exposure: [f64; 3]| {
        let [r, g, b] = std::array::from_fn(|c| (scene[c] * exposure[c]) as f32 * weight);
        [r, g, b, 0.0]
    };
    let [left, right] = exposures.map(camera);
    ColourSums { left, right, weight }
}

/// Returns the colours of two cameras whose pictures have these means.
fn two(left: [f64; 3], right: [f64; 3]) -> Vec<Colour> {
    let edge = Edge::new([0, 1], &sums([1.0; 3], [left, right], 2e4), LEAST_WEIGHT).unwrap();
    solve(2, &[edge], None, &[])
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
        self.edges.push(Edge::new(cameras, &sums, LEAST_WEIGHT).unwrap());
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

    fn solve(&self) -> Vec<Colour> {
        solve(self.exposures.len(), &self.edges, None, &[])
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

/// The solver finds planted gains exactly, in rings and in random graphs of 2 to 16 cameras, with and without an anchor.
/// A consistent change is not mistaken for an outlier, whatever colours are expected.
#[test]
fn planted_gains_are_found() {
    for seed in 0..300 {
        let cameras = 2 + seed as usize % 15;
        // The gains of a group stay within [0.5, 2].
        for planted in [Planted::random(seed, cameras, 1.4), Planted::ring(seed, cameras, 1.4)] {
            let colours = planted.solve();
            assert!((0..3).all(|c| mean_log(&colours, c).abs() < 1e-6));
            assert!(colours.iter().all(|colour| colour.gamma == 1.0));
            let wrong = Colour { gain: Vec3::new(0.5, 1.0, 2.0), ..Colour::IDENTITY };
            let expecting = solve(cameras, &planted.edges, None, &vec![wrong; cameras]);
            for colours in [colours, expecting] {
                let error = planted.error(&colours);
                assert!(error < 1e-6, "{cameras} cameras: {error}");
            }
        }
        let planted = Planted::random(seed, cameras, 1.3);
        let anchor = seed as usize % cameras;
        let colours = solve(cameras, &planted.edges, Some(anchor), &[]);
        assert_eq!(colours[anchor], Colour::IDENTITY);
        assert!(planted.error(&colours) < 1e-6);
    }
}

/// The gains of two cameras are symmetric. Where they reach their limits, the gammas map both means to the same level.
#[test]
fn two_cameras_have_the_colours_of_the_formula() {
    let half = 0.5_f32.sqrt();
    let found = two([100.0, 50.0, 80.0], [50.0, 100.0, 20.0]);
    for (found, gain) in found.iter().zip([[half, 2.0 * half, 0.5], [2.0 * half, half, 2.0]]) {
        assert!((found.gain - Vec3::from(gain)).abs().max_element() < 1e-6, "{found:?}");
        assert_eq!(found.gamma, 1.0);
    }
    assert_eq!(two([93.7; 3], [93.7; 3]), [Colour::IDENTITY; 2]);
    // In the notation of the module, the gains map 20 and 120 to 40 and 60, A = 1.852, B = 1.447 and T = 1.637. For 14
    // and 116, A / B is 1.49, so T moves to the nearest value that both gammas can reach. For 9 and 200, there is none.
    for (means, gammas) in [
        ([20.0, 120.0], [0.8838, 1.1315]),
        ([14.0, 116.0], [0.8044, 1.2]),
        ([9.0, 200.0], [0.8, 1.2]),
    ] {
        let found = two([means[0]; 3], [means[1]; 3]);
        for (found, (gain, gamma)) in found.iter().zip([2.0, 0.5].into_iter().zip(gammas)) {
            assert_eq!(found.gain, Vec3::splat(gain));
            assert!((found.gamma - gamma).abs() < 1e-3, "{means:?}: {found:?}");
        }
    }
}

#[test]
fn small_weights_and_invalid_means_give_no_edge() {
    let good = sums([1.0; 3], [[50.0; 3], [60.0; 3]], 2e4);
    let edge = |sums: &ColourSums, least| Edge::new([0, 1], sums, least);
    assert!(edge(&good, LEAST_WEIGHT).is_some());
    for weight in [0.0, 9_999.0, -20_000.0, f32::NAN, f32::INFINITY] {
        assert_eq!(edge(&ColourSums { weight, ..good }, LEAST_WEIGHT), None, "{weight}");
    }
    assert_eq!(edge(&ColourSums::default(), 0.0), None);
    for mean in [0.0, -1.0, 255.1, f32::NAN, f32::INFINITY] {
        for channel in 0..3 {
            let mut sums = good;
            sums.right[channel] = mean * sums.weight;
            assert_eq!(edge(&sums, LEAST_WEIGHT), None, "{mean}");
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
        planted.edges.iter_mut().for_each(|edge| edge.influence = 1.0);
        let colours = planted.solve();
        for edge in &planted.edges {
            let [a, b] = edge.cameras.map(|camera| f64::from(colours[camera].gain.x));
            let left = (a * edge.means[0][0] / (b * edge.means[1][0])).ln();
            let share = (left + sum / cameras as f64).abs();
            worst = worst.max(share);
        }
    }
    assert!(worst < 1e-6, "{worst}");
}

/// Returns the largest logarithmic step that the solution leaves at the edges from index 1 on. The edge with index 0 is
/// the wrong one.
fn largest_step(edges: &[Edge], colours: &[Colour]) -> f64 {
    let step = |edge: &Edge, c: usize| {
        let [a, b] = [0, 1].map(|i| f64::from(colours[edge.cameras[i]].gain[c]) * edge.means[i][c]);
        (a / b).ln().abs()
    };
    edges[1..].iter().flat_map(|edge| (0..3).map(move |c| step(edge, c))).fold(0.0, f64::max)
}

/// Returns a ring whose edge with index 0 is wrong by `factor`, and whose edges have up to 1 % of noise.
fn torn_ring(seed: u64, factor: f64) -> Planted {
    let cameras = 3 + seed as usize % 14;
    let mut planted = Planted::new(seed, cameras, 1.4);
    let first = planted.random.below(cameras);
    for i in 0..cameras {
        let noise = f64::from(planted.random.between(-0.01, 0.01)).exp();
        let ends = [first + i, first + i + 1].map(|camera| camera % cameras);
        planted.link(ends, if i == 0 { factor * noise } else { noise });
    }
    planted
}

/// An edge with a wrong ratio barely changes the solution if the edges of several loops contradict it.
#[test]
fn a_wrong_edge_is_outvoted() {
    for seed in 0..300 {
        let cameras = 5 + seed as usize % 12;
        for factor in [0.5, 1.3, 2.0] {
            let mut planted = Planted::new(seed, cameras, 1.4);
            // Each camera overlaps its neighbours and the cameras next to them.
            for camera in 0..cameras {
                let wrong = if camera == 0 { factor } else { 1.0 };
                planted.link([camera, (camera + 1) % cameras], wrong);
                planted.link([camera, (camera + 2) % cameras], 1.0);
            }
            let colours = planted.solve();
            let step = largest_step(&planted.edges, &colours);
            assert!(step < 0.02, "{cameras} cameras, ×{factor}: {step}");
        }
    }
}

/// In a single loop, the sums do not tell which edge is wrong. A ratio of 2 is recognised because it asks for gains far
/// from 1; plain least squares would leave a step of 2^(1/cameras). If the previous colours are known, the wrong edge
/// leaves no step above 5 %, even if all cameras have become brighter by different small factors since then.
#[test]
fn a_loop_is_cut_at_the_wrong_edge() {
    for seed in 0..300 {
        for factor in [0.5, 0.8, 1.15, 1.3, 2.0] {
            let mut planted = torn_ring(seed, factor);
            let cameras = planted.exposures.len();
            if [0.5, 2.0].contains(&factor) {
                let step = largest_step(&planted.edges, &planted.solve());
                assert!(step < 0.02, "{cameras} cameras, ×{factor}: {step}");
            }
            let random = &mut planted.random;
            let expected = planted.exposures.iter().map(|exposure| {
                let gain = exposure.map(|e| random.between(1.0, 1.05) / e as f32);
                Colour { gain: Vec3::from_array(gain), ..Colour::IDENTITY }
            });
            let expected: Vec<_> = expected.collect();
            let step =
                largest_step(&planted.edges, &solve(cameras, &planted.edges, None, &expected));
            assert!(step < 0.05, "{cameras} cameras, ×{factor}: {step}");
        }
    }
}

/// Groups that no edge connects are solved as if each were alone. A camera without edges keeps its colours.
#[test]
fn groups_do_not_influence_each_other() {
    for seed in 0..100 {
        let [a, b] = [1, 2].map(|i| Planted::random(2 * seed + i, 3 + seed as usize % 5, 1.4));
        let cameras = a.exposures.len();
        // Camera 0 is alone. Even cameras belong to `a`, odd ones to `b`.
        let edges = |planted: &Planted, first: usize| {
            let moved =
                |edge: &Edge| Edge { cameras: edge.cameras.map(|i| 2 * i + first), ..*edge };
            planted.edges.iter().map(moved).collect::<Vec<_>>()
        };
        let both = [edges(&a, 2), edges(&b, 1)].concat();
        let colours = solve(2 * cameras + 1, &both, None, &[]);
        assert_eq!(colours[0], Colour::IDENTITY);
        for (planted, first) in [(&a, 2), (&b, 1)] {
            let own: Vec<_> = (0..cameras).map(|i| colours[2 * i + first]).collect();
            assert_eq!(own, planted.solve());
        }
    }
}

/// All colours stay within the limits. If the exposures of a group fit into the limits, no step remains, although the
/// mean gain is not 1.
#[test]
fn limits_hold_and_are_used() {
    let mut shifted = 0;
    for seed in 0..300 {
        let cameras = 3 + seed as usize % 14;
        for spread in [1.95_f32, 2.6] {
            let planted = Planted::ring(seed, cameras, spread);
            let colours = planted.solve();
            for Colour { gain, gamma, .. } in &colours {
                assert!(gain.to_array().iter().all(|gain| (0.5..=2.0).contains(gain)));
                assert!((0.8..=1.2).contains(gamma));
            }
            if spread < 2.0 {
                assert!(planted.error(&colours) < 1e-6);
                shifted += usize::from((0..3).any(|c| mean_log(&colours, c).abs() > 0.01));
            }
        }
    }
    assert!(shifted > 20, "{shifted} groups needed a common factor");
}

/// Where the limits leave a difference, the gammas bring the mean luma of all overlaps closer together.
#[test]
fn gammas_reduce_what_limited_gains_leave() {
    for seed in 0..300 {
        let cameras = 3 + seed as usize % 6;
        let mut planted = Planted::new(seed, cameras, 1.0);
        planted.exposures[0] = [[0.15; 3], [0.2; 3], [6.0; 3]][seed as usize % 3];
        let scene = [25.0; 3];
        for camera in 0..cameras {
            let ends = [camera, (camera + 1) % cameras];
            let sums = sums(scene, ends.map(|camera| planted.exposures[camera]), 2e4);
            planted.edges.push(Edge::new(ends, &sums, LEAST_WEIGHT).unwrap());
        }
        let colours = planted.solve();
        let differences = |power: bool| {
            let level = |edge: &Edge, side: usize| {
                let Colour { gain, gamma, .. } = colours[edge.cameras[side]];
                let gained = f64::from(gain.x) * edge.means[side][0] / 255.0;
                255.0 * gained.powf(if power { gamma.into() } else { 1.0 })
            };
            let squares = planted.edges.iter().map(|e| (level(e, 0) - level(e, 1)).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let (gains, both) = (differences(false), differences(true));
        assert!(gains > 3.0 && both < 0.8 * gains, "{gains} to {both}");
    }
}

/// Invalid edges have no influence, and extreme ratios give colours within the limits.
#[test]
fn any_edges_give_colours_within_limits() {
    let mut random = Random::new(9);
    for _ in 0..500 {
        let cameras = random.below(17);
        let edges: Vec<_> = (0..random.below(40))
            .filter_map(|_| {
                let means = [0; 2].map(|_| [0; 3].map(|_| f64::from(random.between(-20.0, 255.0))));
                let sums =
                    sums([1.0; 3], means, random.pick(&[0.0, 1.0, 1e4, 1e30, f32::INFINITY]));
                Edge::new([0; 2].map(|_| random.below(18)), &sums, LEAST_WEIGHT)
            })
            .collect();
        let found = solve(cameras, &edges, Some(random.below(18)), &[]);
        assert_eq!(found.len(), cameras);
        for Colour { gain, gamma, .. } in found {
            assert!(gain.to_array().iter().all(|gain| (0.5..=2.0).contains(gain)));
            assert!((0.8..=1.2).contains(&gamma));
        }
    }
}
