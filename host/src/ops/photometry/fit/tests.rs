use fastrand::Rng;
use glam::{UVec2, Vec2};
use kernels_gpu::colour::vignette::factor;

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
    noise: f64,
}

impl Truth {
    fn level(&self, picture: usize, scene: f64, q: f64) -> f64 {
        let light = scene * (self.exposures[picture] + self.falloff * q).exp();
        f64::from(level(&self.response, light as f32))
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
                let other = if rng.f64() < self.moving { 0.05 + 0.8 * rng.f64() } else { scene };
                let mut level = |picture: usize, scene: f64, q: f64| {
                    [0.9, 1.0, 1.1].map(|tint| {
                        let noise = self.noise * (rng.f64() + rng.f64() + rng.f64() - 1.5) / 255.0;
                        self.level(picture, scene * tint, q) + noise
                    })
                };
                let levels = [level(left, scene, radii[0]), level(right, other, radii[1])];
                if levels.iter().flatten().all(|level| (0.02..0.97).contains(level)) {
                    samples.push(Sample { pictures: [left, right], levels, radii, weight: 1.0 });
                }
            }
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
    noise: 2.0,
};

#[test]
fn finds_exposures_and_nothing_else() {
    let found = fit(&SIZES, &PLAIN.samples(), None);
    assert_eq!((found.response, found.vignetting[1]), (Response::default(), Vignetting::NONE));
    for (gain, exposure) in found.gains.iter().zip(PLAIN.exposures) {
        assert!((gain.y.ln() + exposure as f32).abs() < 2e-3, "{found:?}");
    }
}

#[test]
fn an_anchor_keeps_its_exposure() {
    let found = fit(&SIZES, &PLAIN.samples(), Some(1));
    assert_eq!(found.gains[1], Vec3::ONE);
    assert!((found.gains[0].y.ln() + 0.35).abs() < 2e-3, "{found:?}");
}

#[test]
fn finds_vignetting() {
    let truth = Truth { falloff: -0.25, ..PLAIN };
    let found = fit(&SIZES, &truth.samples(), None);
    let mismatch = truth.mismatch(&found);
    assert!(mismatch < 0.7, "{mismatch} levels, {found:?}");
}

#[test]
fn finds_a_response() {
    for b in [0.7, 0.3, -0.4] {
        let truth = Truth { response: Response { a: 0.1, b }, ..PLAIN };
        let found = fit(&SIZES, &truth.samples(), None);
        let mismatch = truth.mismatch(&found);
        assert!(mismatch < 1.0, "{b}: {mismatch} levels, {found:?}");
    }
}

#[test]
fn finds_vignetting_and_response_together_despite_moving_objects() {
    let truth =
        Truth { falloff: -0.2, response: Response { a: 0.0, b: 0.5 }, moving: 0.25, ..PLAIN };
    let found = fit(&SIZES, &truth.samples(), None);
    let mismatch = truth.mismatch(&found);
    assert!(mismatch < 1.5, "{mismatch} levels, {found:?}");
}

#[test]
fn moving_objects_do_not_change_exposures() {
    let truth = Truth { moving: 0.4, ..PLAIN };
    let found = fit(&SIZES, &truth.samples(), None);
    for (gain, exposure) in found.gains.iter().zip(PLAIN.exposures) {
        assert!((gain.y.ln() + exposure as f32).abs() < 1e-2, "{found:?}");
    }
}

#[test]
fn few_samples_leave_a_picture_unmatched() {
    let mut samples = PLAIN.samples();
    samples.retain(|sample| sample.pictures == [0, 1]);
    samples.push(Sample { pictures: [1, 2], ..samples[0] });
    let found = fit(&SIZES, &samples, None);
    assert_eq!((&found.unmatched[..], found.gains[2]), (&[2][..], Vec3::ONE));
}
