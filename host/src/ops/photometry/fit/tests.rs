use fastrand::Rng;
use glam::{DVec2, UVec2, Vec2, dvec2};
use kernels_gpu::colour::vignette::factor;
use kernels_gpu::photometry::level;

use super::super::GainField;
use super::super::gain_field::{grid, taps};
use super::*;

const SIZES: [UVec2; 3] = [UVec2::new(600, 450); 3];

/// The pictures of a scene that three lenses darken towards the corners and whose response is S-shaped.
struct Truth {
    exposures: [f64; 3],
    /// The logarithm of the encoded light that the corners keep.
    falloff: f64,
    response: Response,
    /// The part of the samples that show different things in both pictures.
    moving: f64,
    /// The largest logarithm of the light that haze adds to the second picture, at its left side.
    haze: f64,
    /// The half width and height, in pixels, of an object in the second picture that the first one does not show.
    object: DVec2,
    noise: f64,
}

/// Fits the model to samples of pictures whose vignetting is not known.
fn fit_unknown(samples: &[Sample], anchor: Option<usize>) -> Photometry {
    fit(&SIZES, samples, &[Vignetting::NONE; 3], anchor)
}

impl Truth {
    fn level(&self, picture: usize, scene: f64, q: f64) -> f64 {
        let light = scene * (self.exposures[picture] + self.falloff * q).exp();
        f64::from(level(&self.response, light as f32))
    }

    /// Returns the logarithm of the light that haze adds to a picture.
    fn haze(&self, picture: usize, place: DVec2) -> f64 {
        let from = place.distance(dvec2(80.0, 150.0)) / 180.0;
        if picture == 1 { self.haze * (-from * from).exp() } else { 0.0 }
    }

    fn samples(&self) -> Vec<Sample> {
        let mut rng = Rng::with_seed(7);
        let mut samples = Vec::new();
        for [left, right] in [[0, 1], [1, 2]] {
            while samples.len() < 1500 * right {
                let scene = 0.05 + 0.8 * rng.f64();
                // The left part of one picture is the right part of the other.
                let (x, y) = (0.2 + 0.7 * rng.f64(), 0.7 * rng.f64() - 0.35);
                let radii = [x * x + y * y, (1.1 - x).powi(2) + y * y].map(|q: f64| q.min(1.0));
                let places = [x, x - 1.1].map(|x| {
                    let place = dvec2(299.5, 224.5) + 374.1 * dvec2(x, y);
                    place.clamp(DVec2::ZERO, dvec2(599.0, 449.0))
                });
                let other = if rng.f64() < self.moving { 0.05 + 0.8 * rng.f64() } else { scene };
                let mut level = |picture: usize, scene: f64, q: f64, tints: [f64; 3]| {
                    tints.map(|tint| {
                        let noise = self.noise * (rng.f64() + rng.f64() + rng.f64() - 1.5) / 255.0;
                        self.level(picture, scene * tint, q) + noise
                    })
                };
                let tints = [0.9, 1.0, 1.1];
                let object = (places[1] - dvec2(120.0, 200.0)).abs().cmplt(self.object).all();
                let levels = if object && right == 1 {
                    [
                        level(left, scene, radii[0], tints),
                        level(right, 0.4, radii[1], [1.5, 0.4, 0.3]),
                    ]
                } else {
                    let light = |of: usize| self.haze([left, right][of], places[of]).exp();
                    [
                        level(left, scene * light(0), radii[0], tints),
                        level(right, other * light(1), radii[1], tints),
                    ]
                };
                if levels.iter().flatten().all(|level| (0.02..0.97).contains(level)) {
                    let pictures = [left, right];
                    samples.push(Sample {
                        pictures,
                        levels,
                        places,
                        radii,
                        given: 0.0,
                        weight: 1.0,
                    });
                }
            }
        }
        samples
    }

    /// Returns the samples if lenses with this vignetting are known.
    fn samples_given(&self, given: &Vignetting) -> Vec<Sample> {
        let mut samples = self.samples();
        for sample in &mut samples {
            let [left, right] = sample.radii.map(|q| given.falloff(q));
            sample.given = right - left;
        }
        samples
    }

    /// Returns the root mean square difference between corrected levels of one scene in different pictures, in levels.
    fn mismatch(&self, found: &Photometry) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for scene in [0.1, 0.3, 0.5, 0.7] {
            let mut levels = Vec::new();
            for (picture, size) in SIZES.into_iter().enumerate() {
                for q in [0.0, 0.3, 0.6, 0.9] {
                    let stored = self.level(picture, scene, q);
                    let place = Vec2::new(299.5, 224.5) + Vec2::new(q.sqrt() as f32 * 374.1, 0.0);
                    let light = response::light(&found.response, stored) as f32;
                    let gain = found.gains[picture].y
                        * factor(&found.vignetting[picture].vignette(size), place);
                    levels.push(255.0 * f64::from(level(&found.response, light * gain)));
                }
            }
            let mean = levels.iter().sum::<f64>() / levels.len() as f64;
            sum += levels.iter().map(|level| (level - mean).powi(2)).sum::<f64>();
            count += levels.len() as f64;
        }
        (sum / count).sqrt()
    }
}

const PLAIN: Truth = Truth {
    exposures: [0.2, -0.15, -0.05],
    falloff: 0.0,
    response: Response { a: 0.0, b: 0.0 },
    moving: 0.0,
    haze: 0.0,
    object: DVec2::ZERO,
    noise: 2.0,
};

#[test]
fn finds_exposures_and_nothing_else() {
    let found = fit_unknown(&PLAIN.samples(), None);
    assert_eq!((found.response, found.vignetting[1]), (Response::default(), Vignetting::NONE));
    assert!(found.fields.iter().all(GainField::is_uniform), "{:?}", found.fields);
    for (gain, exposure) in found.gains.iter().zip(PLAIN.exposures) {
        assert!((gain.y.ln() + exposure as f32).abs() < 2e-3, "{found:?}");
    }
}

#[test]
fn an_anchor_keeps_its_exposure() {
    let found = fit_unknown(&PLAIN.samples(), Some(1));
    assert_eq!(found.gains[1], Vec3::ONE);
    assert!((found.gains[0].y.ln() + 0.35).abs() < 2e-3, "{found:?}");
}

/// The estimate alone refuses a lens that keeps a fifth of the light in the corners.
#[test]
fn a_given_vignetting_is_kept() {
    let truth = Truth { falloff: 0.2_f64.ln() / 2.2, ..PLAIN };
    let lens = Vignetting::of_levels(|q| truth.falloff * q);
    assert!(truth.mismatch(&fit_unknown(&truth.samples(), None)) > 5.0);
    let found = fit(&SIZES, &truth.samples_given(&lens), &[lens; 3], None);
    let mismatch = truth.mismatch(&found);
    assert!(mismatch < 0.7, "{mismatch} levels, {found:?}");
}

/// The overlaps show that the pictures have less or more vignetting than the given one, or none.
#[test]
fn a_given_vignetting_is_corrected() {
    for falloff in [0.0, -0.15, -0.4] {
        let truth = Truth { falloff, ..PLAIN };
        let lens = Vignetting::of_levels(|q| -0.25 * q);
        let found = fit(&SIZES, &truth.samples_given(&lens), &[lens; 3], None);
        let mismatch = truth.mismatch(&found);
        assert!(mismatch < 0.9, "{falloff}: {mismatch} levels, {found:?}");
    }
}

#[test]
fn finds_vignetting() {
    let truth = Truth { falloff: -0.25, ..PLAIN };
    let found = fit_unknown(&truth.samples(), None);
    let mismatch = truth.mismatch(&found);
    assert!(mismatch < 0.7, "{mismatch} levels, {found:?}");
}

#[test]
fn finds_a_response() {
    for b in [0.7, 0.3, -0.4] {
        let truth = Truth { response: Response { a: 0.1, b }, ..PLAIN };
        let found = fit_unknown(&truth.samples(), None);
        let mismatch = truth.mismatch(&found);
        assert!(mismatch < 1.0, "{b}: {mismatch} levels, {found:?}");
    }
}

#[test]
fn finds_vignetting_and_response_together_despite_moving_objects() {
    let truth =
        Truth { falloff: -0.2, response: Response { a: 0.0, b: 0.5 }, moving: 0.25, ..PLAIN };
    let found = fit_unknown(&truth.samples(), None);
    let mismatch = truth.mismatch(&found);
    assert!(mismatch < 1.5, "{mismatch} levels, {found:?}");
}

#[test]
fn moving_objects_do_not_change_exposures() {
    let truth = Truth { moving: 0.4, ..PLAIN };
    let found = fit_unknown(&truth.samples(), None);
    for (gain, exposure) in found.gains.iter().zip(PLAIN.exposures) {
        assert!((gain.y.ln() + exposure as f32).abs() < 1e-2, "{found:?}");
    }
}

#[test]
fn few_samples_leave_a_picture_unmatched() {
    let mut samples = PLAIN.samples();
    samples.retain(|sample| sample.pictures == [0, 1]);
    samples.push(Sample { pictures: [1, 2], ..samples[0] });
    let found = fit_unknown(&samples, None);
    assert_eq!((&found.unmatched[..], found.gains[2]), (&[2][..], Vec3::ONE));
}

#[test]
fn vignetting_and_response_need_no_fields() {
    let truth = Truth { falloff: -0.2, response: Response { a: 0.0, b: 0.5 }, ..PLAIN };
    let found = fit_unknown(&truth.samples(), None);
    assert!(found.fields.iter().all(GainField::is_uniform), "{:?}", found.fields);
}

/// Returns the root mean square of the logarithms of the ratios of both pictures' corrected green light over all
/// samples, without and with the gain fields.
fn ratios(truth: &Truth, found: &Photometry) -> [f64; 2] {
    let samples = truth.samples();
    [false, true].map(|fields| {
        let light = |sample: &Sample, side: usize| {
            let (picture, at) = (sample.pictures[side], sample.places[side]);
            let vignette = found.vignetting[picture].vignette(SIZES[picture]);
            let field = if fields { found.fields[picture].factor(at.as_vec2()) } else { 1.0 };
            let factor = found.gains[picture].y * factor(&vignette, at.as_vec2()) * field;
            truth.exposures[picture] + truth.haze(picture, at) + f64::from(factor).ln()
        };
        let squares = samples.iter().map(|of| (light(of, 1) - light(of, 0)).powi(2));
        (squares.sum::<f64>() / samples.len() as f64).sqrt()
    })
}

#[test]
fn fields_correct_haze() {
    let truth = Truth { haze: 0.2, moving: 0.2, ..PLAIN };
    for anchor in [None, Some(0), Some(1)] {
        let found = fit_unknown(&truth.samples(), anchor);
        let [before, after] = ratios(&truth, &found);
        assert!(before > 0.02 && after < 0.25 * before, "{anchor:?}: {before}, {after}");
        if let Some(anchor) = anchor {
            assert!(found.fields[anchor].is_uniform());
        }
        // The left side of the first picture overlaps no other picture, so its field decays there.
        let size = |x: f32, y: f32| found.fields[0].factor(Vec2::new(x, y)).ln().abs();
        let near = (0..12).flat_map(|i| (0..12).map(move |j| (i as f32, j as f32)));
        let near = near.map(|(i, j)| size(380.0 + 18.0 * i, 40.0 + 32.0 * j)).fold(0.0, f32::max);
        let far = size(10.0, 150.0);
        assert!(far <= 0.7 * near, "{anchor:?}: {far}, {near}");
    }
}

#[test]
fn an_object_that_one_picture_shows_is_not_haze() {
    let truth = Truth { object: dvec2(90.0, 110.0), ..PLAIN };
    let found = fit_unknown(&truth.samples(), None);
    for field in &found.fields {
        let [least, most] = field.limits();
        assert!(least > 0.97 && most < 1.03, "{field:?}");
    }
}

#[test]
fn taps_agree_with_the_kernel() {
    let mut rng = Rng::with_seed(3);
    for size in [UVec2::new(600, 450), UVec2::new(1, 1), UVec2::new(37, 4000), UVec2::new(3, 2)] {
        let grid = grid(size);
        let nodes: Vec<f32> = (0..grid.count()).map(|_| rng.f32()).collect();
        let field = GainField::new(grid, nodes.clone());
        for _ in 0..200 {
            let place = Vec2::new(rng.f32(), rng.f32()) * (size - 1).as_vec2();
            let taps = taps(&grid, place.as_dvec2());
            let exact: f64 = taps.iter().map(|&(node, tap)| f64::from(nodes[node]) * tap).sum();
            let sum: f64 = taps.iter().map(|(_, tap)| tap).sum();
            assert!((sum - 1.0).abs() < 1e-12 && taps.iter().all(|(_, tap)| *tap >= 0.0));
            let found = f64::from(field.factor(place));
            assert!((found - exact).abs() < 1e-5, "{size}, {place}: {found}, {exact}");
        }
    }
}
