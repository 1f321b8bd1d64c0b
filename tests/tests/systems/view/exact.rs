//! The expected pixels of a view in f64, from an independent implementation of the documented conventions and camera
//! models.

use glam::{DMat3, DVec2, DVec3, UVec2};
use panoweave::geometry::rig::{CameraPose as Mounted, LensName, Rig, RigCamera};
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::ViewPose;
use panoweave_tests::made_up::turn;
use panoweave_tests::oracle::{bilinear, grade_pixel, vignette};
use panoweave_tests::raster::Raster;
use shared_types::warp::{Canvas, Projection};

/// The distance in pixels from an edge within which rounding to f32 may move a position across the edge.
const NEAR: f64 = 1e-3;

/// The expected colour of a pixel, and whether an f32 result must match it.
pub(crate) type Pixel = (Option<[f64; 3]>, bool);

/// The expected pixels of a view, row by row. `sure` is true for the pixels that an f32 result must match.
pub(crate) struct Exact {
    pub(crate) colours: Vec<Option<[f64; 3]>>,
    pub(crate) sure: Vec<bool>,
}

/// The map from a view's pixels to rays in the panorama's coordinates.
pub(crate) struct Rays {
    turn: DMat3,
    focal: f64,
    middle: DVec2,
}

impl Rays {
    pub(crate) fn new(view: &ViewPose, flip: bool, size: UVec2) -> Self {
        let over = if flip { DVec3::new(-1.0, -1.0, 1.0) } else { DVec3::ONE };
        Self {
            turn: DMat3::from_diagonal(over) * turn(view.pan, view.tilt, view.roll),
            focal: f64::from(size.x) / 2.0 / (view.fov.to_radians() / 2.0).tan(),
            middle: (size.as_dvec2() - 1.0) / 2.0,
        }
    }

    pub(crate) fn at(&self, pixel: UVec2) -> DVec3 {
        self.turn * ((pixel.as_dvec2() - self.middle) / self.focal).extend(1.0)
    }
}

impl Exact {
    /// Computes the pixels of a view. `colour` returns the expected colour of a ray in the panorama's coordinates.
    pub(crate) fn new(
        view: &ViewPose,
        flip: bool,
        size: UVec2,
        mut colour: impl FnMut(DVec3) -> Pixel,
    ) -> Self {
        let rays = Rays::new(view, flip, size);
        let pixels = (0..size.element_product())
            .map(|at| colour(rays.at(UVec2::new(at % size.x, at / size.x))));
        let (colours, sure) = pixels.unzip();
        Self { colours, sure }
    }

    /// Returns the number of pixels that at least one camera covers.
    pub(crate) fn seen(&self) -> usize {
        self.colours.iter().flatten().count()
    }
}

/// Projects a world ray into a camera. Returns the pixel, or `None` if the lens does not cover the ray. Also returns
/// whether a computation in f32 must agree: false if the ray is so close to the lens limit that rounding decides.
fn pixel(camera: &RigCamera, limit: f64, ray: DVec3) -> (Option<DVec2>, bool) {
    let mount = match &camera.view {
        Mounted::Mount(mount) => mount,
        Mounted::Homography(matrix) => {
            let p = *matrix * ray;
            return ((p.z > 0.0).then(|| p.truncate() / p.z), true);
        }
    };
    let p = turn(mount.yaw, mount.pitch, mount.roll).transpose() * ray;
    let k = |i: usize| mount.distortion.get(i).copied().unwrap_or(0.0);
    let (radius, bent) = match mount.lens {
        LensName::Pinhole if p.z <= 0.0 => return (None, true),
        LensName::Pinhole => {
            let DVec2 { x, y } = p.truncate() / p.z;
            let r2 = x * x + y * y;
            let radial = 1.0 + k(0) * r2 + k(1) * r2.powi(2) + k(4) * r2.powi(3);
            let bent = DVec2::new(
                x * radial + 2.0 * k(2) * x * y + k(3) * (r2 + 2.0 * x * x),
                y * radial + k(2) * (r2 + 2.0 * y * y) + 2.0 * k(3) * x * y,
            );
            (r2.sqrt(), bent)
        }
        LensName::Fisheye => {
            let r = p.truncate().length();
            let t = r.atan2(p.z);
            let bent =
                t + k(0) * t.powi(3) + k(1) * t.powi(5) + k(2) * t.powi(7) + k(3) * t.powi(9);
            (t, if r > 0.0 { p.truncate() / r * bent } else { DVec2::ZERO })
        }
        lens => unreachable!("other tests are for {lens:?}"),
    };
    let matrix = &mount.matrix;
    let at = bent * DVec2::new(matrix.fx, matrix.fy) + DVec2::new(matrix.cx, matrix.cy);
    ((radius <= limit).then_some(at), (radius / limit - 1.0).abs() > 1e-5)
}

/// Returns whether a position is inside a picture. Also returns whether a computation in f32 must agree: false if the
/// position is so close to an edge that rounding decides.
fn inside(at: DVec2, size: DVec2) -> (bool, bool) {
    let inside = at.cmpge(DVec2::ZERO).all() && at.cmplt(size).all();
    let edges = [at.x, at.y, size.x - at.x, size.y - at.y];
    (inside, edges.iter().all(|edge| edge.abs() > NEAR))
}

/// The cameras of a rig and their pictures.
pub(crate) struct ExactCameras<'a> {
    rig: &'a Rig,
    /// Rotation from panorama coordinates to world coordinates.
    to_world: DMat3,
    /// The radii up to which the lens polynomials of the cameras increase. Only these values come from the library.
    limits: Vec<f64>,
    pictures: Vec<&'a Raster>,
    options: &'a StitchOptions,
    /// The share up to which a camera counts as not contributing.
    pub(crate) least: f64,
}

impl<'a> ExactCameras<'a> {
    pub(crate) fn new(
        rig: &'a Rig,
        pictures: impl AsRef<[&'a Raster]>,
        options: &'a StitchOptions,
    ) -> Self {
        let geometry = rig.geometry().unwrap();
        let limits = geometry.cameras.iter().map(|camera| camera.limit).collect();
        let to_world = turn(rig.panorama.yaw, rig.panorama.pitch, 0.0);
        let pictures = pictures.as_ref().to_vec();
        // The kernels for two cameras ignore a camera like a stitch, the others count every camera.
        let least = if pictures.len() == 2 { 0.001 } else { 0.0 };
        Self { rig, to_world, limits, pictures, options, least }
    }

    /// Returns the blended colour of a ray. `weigh` computes the weights of the cameras from the ray, and from the
    /// distances of its pixels to the edges of the pictures, as fractions of the pictures' shorter sides.
    pub(crate) fn show(&self, ray: DVec3, weigh: impl Fn(DVec3, &[f64]) -> Vec<f64>) -> Pixel {
        let mut all_sure = true;
        let places = self.rig.cameras.iter().zip(&self.limits).zip(&self.pictures);
        let places: Vec<_> = places
            .map(|((camera, limit), picture)| {
                let (place, sure) = pixel(camera, *limit, self.to_world * ray);
                let size = picture.size.as_dvec2();
                let (is_inside, inside_sure) = place.map_or((false, true), |at| inside(at, size));
                all_sure &= sure && inside_sure;
                let at = place.filter(|_| is_inside)?;
                let edge = (at + 1.0).min(size - at).min_element();
                Some((at, edge / size.min_element()))
            })
            .collect();
        let margins: Vec<_> =
            places.iter().map(|place| place.map_or(0.0, |(_, margin)| margin)).collect();
        let weights = weigh(ray, &margins);
        let whole: f64 = weights.iter().sum();
        let (mut sum, mut counted) = ([0.0; 3], 0.0);
        for (i, place) in places.iter().enumerate() {
            let Some((at, _)) = place else { continue };
            let share = weights[i] / whole;
            all_sure &= self.least == 0.0 || (share - self.least).abs() > 1e-5;
            if share > self.least {
                let levels = bilinear(self.pictures[i], at.x, at.y);
                let colour = &self.options.colours[i];
                let factor = vignette(&self.options.vignettes[i], at.x, at.y);
                let graded = grade_pixel(colour, levels, factor);
                (0..3).for_each(|c| sum[c] += share * graded[c]);
                counted += share;
            }
        }
        ((counted > 0.0).then(|| sum.map(|s| s / counted)), all_sure)
    }
}

/// Returns the canvas pixel of a ray, or `None` if the canvas does not cover the ray. Also returns whether a
/// computation in f32 must agree: false if the ray is so close to the canvas's edge that rounding decides.
pub(crate) fn on_canvas(canvas: &Canvas, ray: DVec3) -> (Option<DVec2>, bool) {
    let DVec3 { x, y, z } = ray;
    let p = match canvas.projection {
        Projection::PLANAR if z <= 0.0 => return (None, true),
        Projection::PLANAR => DVec2::new(x, y) / z,
        Projection::CYLINDRICAL => DVec2::new(x.atan2(z), y / x.hypot(z)),
        _ => DVec2::new(x.atan2(z), y.atan2(x.hypot(z))),
    };
    let at = p * canvas.scale + canvas.centre;
    let size = canvas.size.as_dvec2();
    // The canvas extends half a pixel beyond the centres of its outermost pixels.
    let (is_inside, sure) = inside(at + 0.5, size);
    (is_inside.then(|| at.clamp(DVec2::ZERO, size - 1.0)), sure)
}
