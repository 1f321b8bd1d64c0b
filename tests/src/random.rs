//! Random numbers, rigs and warps for tests. The same seed gives the same values in every run and on every machine.

use glam::{UVec2, Vec3, uvec2};
use panoweave::geometry::rig::Rig;
use panoweave::warp::Warp;
use shared_types::photometry::Vignette;

/// The random number generator SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Equal seeds give equal sequences of numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a random integer from 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Returns a random number from `low` to `high`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.bits() >> 40) as f32 / (1 << 24) as f32)
    }

    /// Returns the vignette of a picture of `size` pixels that loses up to `most` of the light in the corners, or no
    /// vignette.
    pub fn vignette(&mut self, size: UVec2, most: f32) -> Vignette {
        if self.below(4) == 0 {
            return Vignette::NONE;
        }
        let terms = Vec3::from_array([(); 3].map(|()| -self.between(0.0, most / 3.0)));
        let centre = size.as_vec2() * self.between(0.4, 0.6);
        let farthest = centre.max(size.as_vec2() - centre);
        Vignette { terms, per_corner: farthest.length_squared().recip(), centre }
    }

    /// Returns a random element of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Returns a random rig of two cameras. `seed % 3` selects the projection: planar, cylindrical or equirectangular.
/// Lenses and poses are random, so the cameras are not always side by side.
///
/// # Panics
/// Never panics, because the generated text is always a valid rig.
#[must_use]
pub fn random_rig(seed: u64) -> Rig {
    let mut random = Random::new(seed);
    let r = &mut random;
    let projection = ["planar", "cylindrical", "equirectangular"][seed as usize % 3];
    let fov = if projection == "planar" { r.between(40.0, 140.0) } else { r.between(60.0, 300.0) };
    let mut text = format!(
        "[panorama]\nprojection = \"{projection}\"\nwidth = {}\nheight = {}\nfov = {fov}\nyaw = {}\npitch = {}\n",
        60 + r.below(100),
        1 + r.below(30),
        r.between(-30.0, 30.0),
        r.between(-20.0, 20.0),
    );
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let (w, h) = (20 + r.below(300), 20 + r.below(200));
        let fisheye = r.below(2) == 0;
        let distortion: Vec<f32> =
            (0..if fisheye { 4 } else { 5 }).map(|_| r.between(-0.05, 0.05)).collect();
        text += &format!(
            "[[camera]]\nname = \"{name}\"\nsize = [{w}, {h}]\nlens = \"{}\"\nmatrix = {{ fx = {}, fy = {}, cx = {}, cy = {} }}\ndistortion = {distortion:?}\nyaw = {}\npitch = {}\nroll = {}\n",
            if fisheye { "fisheye" } else { "pinhole" },
            w as f32 * r.between(0.3, 1.5),
            w as f32 * r.between(0.3, 1.5),
            w as f32 * r.between(0.4, 0.6),
            h as f32 * r.between(0.4, 0.6),
            side * r.between(5.0, 60.0),
            r.between(-25.0, 25.0),
            r.between(-180.0, 180.0),
        );
    }
    Rig::parse(&text, "a random rig").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns a warp with random source positions, and with weights from 0 to 0.01. The source positions of neighbouring
/// pixels are independent, so a mesh of a few patches cannot represent the warp.
///
/// # Panics
/// Panics if the width or height of `size` is 0.
#[must_use]
pub fn random_warp(random: &mut Random, size: UVec2) -> Warp {
    let mut plane = |low, high| {
        (0..size.element_product()).map(|_| random.between(low, high)).collect::<Vec<_>>()
    };
    let planes = [
        plane(-40.0, 140.0),
        plane(-40.0, 140.0),
        plane(-40.0, 140.0),
        plane(-40.0, 140.0),
        plane(0.0, 0.01),
        plane(0.0, 0.01),
    ];
    Warp::new(size, [uvec2(100, 90), uvec2(80, 110)], planes).expect("a warp")
}
