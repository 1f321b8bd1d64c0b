//! Simulated cameras with known geometry and a simulated feature matcher, for tests of the calibration. The formulas
//! share no code with the library's geometry, so a test compares two independent implementations.

use glam::{DMat3, DVec2, DVec3, UVec2};
use panoweave::geometry::calibrate::{
    CalibrateOptions, Calibration, Correspondence, Photo, PhotoPair, Refusal, calibrate,
};

use crate::random::Random;

/// Calibrates two pictures.
///
/// # Errors
/// Returns the error of [`calibrate`].
pub fn pair(
    correspondences: &[Correspondence],
    pictures: [&Photo; 2],
    options: &CalibrateOptions,
) -> Result<Calibration, Refusal> {
    let pair = PhotoPair { left: 0, right: 1, correspondences: correspondences.to_vec() };
    calibrate(&pictures.map(Photo::clone), &[pair], options)
}

/// A pinhole camera with one radial distortion coefficient. Its principal point is the centre of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Pinhole {
    /// Width and height in pixels.
    pub size: UVec2,
    /// Focal length in pixels.
    pub focal: f64,
    /// The first radial distortion coefficient, as in OpenCV.
    pub k1: f64,
    /// Rotation from camera coordinates to world coordinates.
    pub to_world: DMat3,
}

impl Pinhole {
    fn centre(&self) -> DVec2 {
        (self.size.as_dvec2() - 1.0) / 2.0
    }

    /// Returns the direction of a pixel's ray in world coordinates, or `None` if no ray maps to the pixel. Solves
    /// `d = r(1 + k1·r²)` by bisection for the undistorted radius `r`, where `d` is the distorted radius.
    #[must_use]
    pub fn ray(&self, pixel: DVec2) -> Option<DVec3> {
        let at = (pixel - self.centre()) / self.focal;
        let distorted = at.length();
        // The upper bound of the bisection. With a negative `k1`, the polynomial increases only up to this radius.
        let mut high = if self.k1 < 0.0 { (-1.0 / (3.0 * self.k1)).sqrt() } else { 10.0 };
        let value = |r: f64| r * (1.0 + self.k1 * r * r);
        if value(high) < distorted {
            return None;
        }
        let mut low = 0.0;
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            if value(middle) < distorted { low = middle } else { high = middle }
        }
        let scale = if distorted > 0.0 { low / distorted } else { 1.0 };
        Some(self.to_world * (at * scale).extend(1.0))
    }

    /// Returns the pixel at which a ray in world coordinates meets the image plane. The pixel may be outside the
    /// picture. Returns `None` if the ray points backwards, or if it is outside the range of the lens model.
    #[must_use]
    pub fn pixel(&self, ray: DVec3) -> Option<DVec2> {
        let p = self.to_world.transpose() * ray;
        if p.z <= 1e-9 {
            return None;
        }
        let at = p.truncate() / p.z;
        let r2 = at.length_squared();
        if self.k1 < 0.0 && r2 > -1.0 / (3.0 * self.k1) {
            return None;
        }
        Some(at * (1.0 + self.k1 * r2) * self.focal + self.centre())
    }
}

/// Returns whether a position is between the centres of a picture's outermost pixels, inclusive.
#[must_use]
pub fn inside(pixel: DVec2, size: UVec2) -> bool {
    pixel.cmpge(DVec2::ZERO).all() && pixel.cmple(size.as_dvec2() - 1.0).all()
}

/// Returns the camera rotation `Ry(yaw) · Rx(pitch) · Rz(roll)`, with angles in degrees. A positive yaw turns the
/// camera right, a positive pitch up, and a positive roll clockwise.
#[must_use]
pub fn turn(yaw: f64, pitch: f64, roll: f64) -> DMat3 {
    let [(sy, cy), (sp, cp), (sr, cr)] =
        [yaw, pitch, roll].map(|degrees| degrees.to_radians().sin_cos());
    let y = DMat3::from_cols_array(&[cy, 0.0, -sy, 0.0, 1.0, 0.0, sy, 0.0, cy]);
    let x = DMat3::from_cols_array(&[1.0, 0.0, 0.0, 0.0, cp, sp, 0.0, -sp, cp]);
    let z = DMat3::from_cols_array(&[cr, sr, 0.0, -sr, cr, 0.0, 0.0, 0.0, 1.0]);
    y * x * z
}

/// A map from a pixel of the right picture to the pixel of the left picture that shows the same scene point.
pub type Map<'m> = &'m dyn Fn(DVec2) -> Option<DVec2>;

/// Returns the map from right to left pixels for two cameras at the same position.
pub fn between(left: Pinhole, right: Pinhole) -> impl Fn(DVec2) -> Option<DVec2> {
    move |pixel| left.pixel(right.ray(pixel)?)
}

/// Returns the map from right to left pixels given by the homography `matrix`.
pub fn flat(matrix: DMat3) -> impl Fn(DVec2) -> Option<DVec2> {
    move |pixel: DVec2| {
        let p = matrix * pixel.extend(1.0);
        (p.z > 0.0).then(|| p.truncate() / p.z)
    }
}

/// A simulated feature matcher, which returns correct and wrong correspondences between two pictures.
#[derive(Clone, Copy, Debug)]
pub struct Matcher {
    /// Number of correspondences that the matcher returns.
    pub many: usize,
    /// Fraction of the correspondences that are wrong.
    pub wrong: f64,
    /// Standard deviation of the noise in each coordinate, in pixels.
    pub noise: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Returns a uniform random number in [0, 1).
pub fn unit(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns two independent normal random numbers with mean 0 and standard deviation 1, by the Box–Muller transform.
fn normal(random: &mut Random) -> DVec2 {
    let (sin, cos) = (std::f64::consts::TAU * unit(random)).sin_cos();
    (-2.0 * (1.0 - unit(random)).ln()).sqrt() * DVec2::new(cos, sin)
}

fn anywhere(random: &mut Random, size: UVec2) -> DVec2 {
    DVec2::new(unit(random), unit(random)) * (size.as_dvec2() - 1.0)
}

impl Matcher {
    /// Returns [`many`](Self::many) correspondences between pictures of these sizes (left, right). Correct
    /// correspondences follow `map`, and their scores are from 0.3 to 1.3. Wrong correspondences join random pixels,
    /// and their scores are from 0 to 1.
    ///
    /// # Panics
    /// Panics if none of 10 000 random pixels of the right picture maps into the left picture.
    #[must_use]
    pub fn find(&self, sizes: [UVec2; 2], map: Map<'_>) -> Vec<Correspondence> {
        let mut random = Random::new(self.seed);
        let mut found = Vec::new();
        while found.len() < self.many {
            if unit(&mut random) < self.wrong {
                let [left, right] = sizes.map(|size| anywhere(&mut random, size));
                found.push(Correspondence { left, right, score: unit(&mut random) });
                continue;
            }
            let one = (0..10_000).find_map(|_| {
                let right = anywhere(&mut random, sizes[1]);
                let left = map(right).filter(|left| inside(*left, sizes[0]))?;
                let left = left + normal(&mut random) * self.noise;
                let right = right + normal(&mut random) * self.noise;
                (inside(left, sizes[0]) && inside(right, sizes[1])).then_some((left, right))
            });
            let (left, right) = one.expect("the pictures hardly overlap");
            found.push(Correspondence { left, right, score: 0.3 + unit(&mut random) });
        }
        found
    }
}

/// Compares two maps at the points of a 40 × 40 grid over the right picture, except at points that `truth` does not map
/// into the left picture. Returns the mean distance in pixels between the results of the two maps, and the number of
/// compared points.
#[must_use]
pub fn grid_distance(sizes: [UVec2; 2], truth: Map<'_>, found: Map<'_>) -> (f64, usize) {
    let (mut sum, mut many) = (0.0, 0);
    for i in 0..40 * 40 {
        let share = DVec2::new(f64::from(i % 40), f64::from(i / 40)) / 39.0;
        let right = share * (sizes[1].as_dvec2() - 1.0);
        let Some(left) = truth(right).filter(|left| inside(*left, sizes[0])) else { continue };
        let at = found(right).unwrap_or(DVec2::splat(1e6));
        sum += (at - left).length();
        many += 1;
    }
    (sum / many.max(1) as f64, many)
}

/// Parses the nine numbers of a 3 × 3 matrix, which are listed row by row.
///
/// # Panics
/// Panics if the text is no such list.
#[must_use]
pub fn matrix(text: &str) -> DMat3 {
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    DMat3::from_cols_array(&numbers.try_into().unwrap()).transpose()
}
