use fastrand::Rng;
use glam::{DVec2, UVec2, Vec2, dvec2};
use kernels_gpu::colour::vignette::factor;
use kernels_gpu::photometry::level;

use super::super::GainField;
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
                    [level(left, scene, radii[0], tints), level(right, other, radii[1], tints)]
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
    object: DVec2::ZERO,
    noise: 2.0,
};

#[test]
fn finds_exposures_and_nothing_else() {
    let anchored = fit_unknown(&PLAIN.samples(), Some(1));
    assert_eq!(anchored.gains[1], Vec3::ONE);
    assert!((anchored.gains[0].y.ln() + 0.35).abs() < 2e-3, "{anchored:?}");
    let found = fit_unknown(&PLAIN.samples(), None);
    assert_eq!((found.response, found.vignetting[1]), (Response::default(), Vignetting::NONE));
    assert!(found.fields.iter().all(GainField::is_uniform), "{:?}", found.fields);
    for (gain, exposure) in found.gains.iter().zip(PLAIN.exposures) {
        assert!((gain.y.ln() + exposure as f32).abs() < 2e-3, "{found:?}");
    }
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

/// Vignetting, a response, and both together despite moving objects are found.
#[test]
fn finds_vignetting_and_response() {
    let s_shaped = |b| Response { a: 0.1, b };
    for (truth, most) in [
        (Truth { falloff: -0.25, ..PLAIN }, 0.7),
        (Truth { response: s_shaped(0.7), ..PLAIN }, 1.0),
        (Truth { response: s_shaped(0.3), ..PLAIN }, 1.0),
        (Truth { response: s_shaped(-0.4), ..PLAIN }, 1.0),
        (
            Truth { falloff: -0.2, response: Response { a: 0.0, b: 0.5 }, moving: 0.25, ..PLAIN },
            1.5,
        ),
    ] {
        let found = fit_unknown(&truth.samples(), None);
        let mismatch = truth.mismatch(&found);
        assert!(mismatch < most, "{mismatch} levels, {found:?}");
    }
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
fn an_object_that_one_picture_shows_is_not_haze() {
    let truth = Truth { object: dvec2(90.0, 110.0), ..PLAIN };
    let found = fit_unknown(&truth.samples(), None);
    for field in &found.fields {
        let [least, most] = field.limits();
        assert!(least > 0.97 && most < 1.03, "{field:?}");
    }
}
