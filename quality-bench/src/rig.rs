//! Cameras: where they look, what they do to the light, and random rigs of a class.

use fastrand::Rng;
use glam::{DMat3, DVec2, DVec3};

use crate::classes::Class;

/// A camera that takes one picture.
#[derive(Clone, Debug)]
pub(crate) struct Camera {
    /// Turns directions of the camera (x to the right, y down, z forward) into those of the world.
    pub(crate) turn: DMat3,
    /// Its place in metres.
    pub(crate) position: DVec3,
    /// The time of the exposure.
    pub(crate) time: f64,
    /// Width and height in pixels.
    pub(crate) size: [usize; 2],
    /// Pixels per radian in the middle.
    pub(crate) focal: f64,
    /// Radial distortion: a point at the radius r (tangent of the angle) appears at `r (1 + k r²)`.
    pub(crate) distortion: f64,
    /// Factors of red, green and blue light.
    pub(crate) gain: DVec3,
    /// The part of the light that the corners lose.
    pub(crate) vignette: f64,
    /// The part of the light that haze adds at its middle.
    pub(crate) haze: f64,
    /// The middle of the haze in pixels.
    pub(crate) haze_at: DVec2,
    /// Strength of the S-shaped response from 0 to 1. The truth has the same.
    pub(crate) response: f64,
    /// Standard deviation of the noise at white, as a part of white.
    pub(crate) noise: f64,
    /// Standard deviation of the blur in pixels.
    pub(crate) blur: f64,
}

/// Returns the level (0 to 255) of a linear light: a gamma of 2.2, then an S-shaped curve of a strength from 0 to 1.
pub(crate) fn level(light: f64, response: f64) -> f32 {
    let v = light.clamp(0.0, 1.0).powf(1.0 / 2.2);
    let curve = v * v * (3.0 - 2.0 * v);
    (255.0 * (v + response * (curve - v))) as f32
}

impl Camera {
    /// Scales the number of pixels in each direction.
    pub(crate) fn resize(&mut self, factor: f64) {
        self.size = self.size.map(|size| (size as f64 * factor).round() as usize);
        self.focal *= factor;
        self.haze_at *= factor;
    }

    /// Returns the horizontal field of view in radians, without the distortion.
    pub(crate) fn view(&self) -> f64 {
        2.0 * (self.size[0] as f64 / 2.0 / self.focal).atan()
    }

    /// Returns the factor of the light that reaches a pixel: haze adds to it, vignetting takes from it.
    pub(crate) fn transmission(&self, pixel: DVec2) -> f64 {
        let centre = self.centre();
        let corner = centre.length_squared();
        let from = (pixel - self.haze_at).length_squared() / (0.4 * corner);
        let loss = self.vignette * (pixel - centre).length_squared() / corner;
        (1.0 + self.haze * (-from).exp()) * (1.0 - loss)
    }

    /// Returns the middle of the picture.
    pub(crate) fn centre(&self) -> DVec2 {
        (DVec2::new(self.size[0] as f64, self.size[1] as f64) - 1.0) / 2.0
    }

    /// Returns the direction in the world, a unit vector, that a pixel sees.
    pub(crate) fn direction(&self, pixel: DVec2) -> DVec3 {
        let distorted = (pixel - self.centre()) / self.focal;
        let radius = distorted.length();
        // Newton's method for r (1 + k r²) = radius.
        let mut r = radius;
        for _ in 0..8 {
            let (k, square) = (self.distortion, r * r);
            r -= (r * (1.0 + k * square) - radius) / (1.0 + 3.0 * k * square);
        }
        let q = if radius > 0.0 { distorted * (r / radius) } else { distorted };
        self.turn * q.extend(1.0).normalize()
    }

    /// Returns the pixel that sees a direction of the world, or `None` outside the picture.
    pub(crate) fn pixel(&self, direction: DVec3) -> Option<DVec2> {
        let d = self.turn.transpose() * direction;
        if d.z < 0.05 {
            return None;
        }
        let q = DVec2::new(d.x, d.y) / d.z;
        // Beyond this radius, a negative distortion would fold the picture.
        if self.distortion < 0.0 && q.length_squared() > -1.0 / (3.0 * self.distortion) {
            return None;
        }
        let q = q * (1.0 + self.distortion * q.length_squared());
        let pixel = q * self.focal + self.centre();
        let inside = (pixel - self.centre()).abs().cmple(self.centre() + 0.5).all();
        inside.then_some(pixel)
    }
}

fn between(rng: &mut Rng, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * rng.f64()
}

/// Returns a random number from `-limit` to `limit`.
fn around(rng: &mut Rng, limit: f64) -> f64 {
    limit * (2.0 * rng.f64() - 1.0)
}

/// Returns the random rig of a class and a seed: 2 to 8 cameras, in the order of their yaw, row by row.
pub(crate) fn random(class: &Class, rng: &mut Rng) -> Vec<Camera> {
    let columns = rng.usize(class.cameras.0..=class.cameras.1);
    let overlap = between(rng, class.overlap);
    let mut view = between(rng, class.view).to_radians();
    if class.full_turn {
        view = std::f64::consts::TAU / columns as f64 / (1.0 - overlap);
    }
    let wide = rng.usize(500..=640) & !1;
    let tall = rng.bool() && !class.full_turn && class.rows == 1;
    let size = if tall { [wide * 4 / 5, wide] } else { [wide, wide * 3 / 4] };
    let focal = size[0] as f64 / 2.0 / (view / 2.0).tan();
    let height = 2.0 * (size[1] as f64 / 2.0 / focal).atan();
    let pitch = if class.rows == 1 { around(rng, 3f64.to_radians()) } else { 0.0 };
    let bend = between(rng, class.distortion);
    let mut cameras = Vec::new();
    for i in 0..columns * class.rows {
        let (column, row) = ((i % columns) as f64, (i / columns) as f64);
        let (mid_column, mid_row) = ((columns - 1) as f64 / 2.0, (class.rows - 1) as f64 / 2.0);
        let mut wobble = || around(rng, class.jitter.to_radians());
        let yaw = (column - mid_column) * view * (1.0 - overlap) + wobble();
        let up = pitch - (row - mid_row) * height * (1.0 - overlap) + wobble();
        let roll = around(rng, class.roll.to_radians());
        let turn =
            DMat3::from_rotation_y(yaw) * DMat3::from_rotation_x(up) * DMat3::from_rotation_z(roll);
        let place = DVec3::new(around(rng, 1.0), around(rng, 0.3), around(rng, 1.0));
        let tint = [around(rng, class.white), 0.0, around(rng, class.white)];
        let gain = around(rng, class.stops).exp2();
        cameras.push(Camera {
            turn,
            position: place * class.baseline,
            time: column + 0.5 * row,
            size,
            focal,
            distortion: bend * (2.0 * focal / size[0] as f64).powi(2),
            gain: DVec3::from_array(tint.map(|t| gain * t.exp())),
            vignette: between(rng, class.vignette),
            haze: 0.0,
            haze_at: DVec2::ZERO,
            response: class.response,
            noise: class.noise,
            blur: between(rng, class.blur),
        });
    }
    // A class without haze draws no numbers for it, so that its scenes stay the same.
    if class.haze > 0.0 {
        for camera in &mut cameras {
            camera.haze = class.haze * between(rng, (0.4, 1.0));
            let size = DVec2::new(size[0] as f64, size[1] as f64);
            camera.haze_at = size * DVec2::new(rng.f64(), rng.f64());
        }
    }
    cameras
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::CLASSES;

    #[test]
    fn a_pixel_and_its_direction_belong_together_with_any_lens() {
        for class in &CLASSES {
            for camera in random(class, &mut Rng::with_seed(4)) {
                for pixel in [[3.0, 5.0], [200.0, 180.5], [399.0, 370.0]].map(DVec2::from) {
                    let back = camera.pixel(camera.direction(pixel)).expect("inside");
                    assert!(back.distance(pixel) < 1e-6, "{}: {pixel} {back}", class.name);
                }
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_rig_again_and_another_seed_another_one() {
        let angles = |seed| random(&CLASSES[0], &mut Rng::with_seed(seed))[0].turn;
        assert_eq!(angles(1), angles(1));
        assert_ne!(angles(1), angles(2));
    }
}
