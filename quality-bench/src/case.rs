//! One case of the bench: a scene and a rig, from a class and a seed; its pictures and its truth.

use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use glam::{DMat3, DVec2, DVec3};

use crate::Result;
use crate::classes::{Background, Class};
use crate::grid::{self, Grid, Mask, Picture, Rgb};
use crate::projection::{Projection, Surface};
use crate::rig::{self, Camera, level};
use crate::scene::{Board, Scene, Texture};

/// A scene and the cameras that look at it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) class: &'static str,
    pub(crate) seed: u64,
    pub(crate) scene: Scene,
    pub(crate) cameras: Vec<Camera>,
}

/// The truth of a case: the scene as an ideal camera sees it, on a canvas with the cameras' resolution.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    /// The mapping of directions to pixels of the canvas.
    pub(crate) projection: Projection,
    /// The picture: each pixel as the first camera that sees it would show it.
    pub(crate) picture: Picture,
    /// Number of cameras that see each pixel.
    pub(crate) seen: Grid<u8>,
    /// The pixels at which objects hide different things from different cameras.
    pub(crate) ambiguous: Mask,
    /// The picture as each camera sees it, if the case has objects in front of the background. A camera's picture is
    /// black where it sees nothing.
    pub(crate) views: Vec<Picture>,
}

/// The photographs of the outside data that can be backgrounds, relative to the data's folder. They have at least 1300
/// columns.
pub(crate) const PHOTOS: [&str; 5] = [
    "homography/magsac/Brussels/BrusselsA.jpg",
    "scenes/s/s2.jpg",
    "scenes/weir/weir_2.jpg",
    "homography/magsac/WhiteBoard/WhiteBoardA.jpg",
    "scenes/weir/weir_1.jpg",
];

impl Case {
    /// Returns the case of a class and a seed, or `None` if its photograph is missing. `size` scales the cameras'
    /// pictures. `data` is the folder of the outside data.
    pub(crate) fn new(class: &Class, seed: u64, size: f64, data: &Path) -> Result<Option<Self>> {
        let name = class.name.bytes().fold(7, |h: u64, b| h.wrapping_mul(131) ^ u64::from(b));
        let mut rng = Rng::with_seed(name ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut cameras = rig::random(class, &mut rng);
        cameras.iter_mut().for_each(|camera| camera.resize(size));
        let texture = match class.backgrounds[seed as usize % class.backgrounds.len()] {
            Background::Noise => Texture::Noise,
            Background::City => Texture::City,
            Background::Text => Texture::Text,
            Background::Sky => Texture::Sky,
            Background::Foliage => Texture::Foliage,
            Background::Repeated(pattern) => Texture::Repeated(pattern),
            Background::Photo => {
                let file = data.join(PHOTOS[seed as usize % PHOTOS.len()]);
                if !file.exists() {
                    return Ok(None);
                }
                let (photo, _) = grid::open(&file)?;
                let scale = scale(&cameras, &photo);
                Texture::Photo(Arc::new(photo), scale)
            }
        };
        let width = cameras.iter().map(|c| c.turn.z_axis.x.atan2(c.turn.z_axis.z).abs());
        let reach = width.fold(0.0, f64::max);
        let mut boards = Vec::new();
        for i in 0..class.near + class.moving {
            let moves = i >= class.near;
            let mut around = |limit: f64| limit * (2.0 * rng.f64() - 1.0);
            let angles = DVec2::new(around(reach), around(0.12) - 0.05);
            let half = DVec2::new(0.045 + around(0.015), 0.10 + around(0.04));
            let speed = if moves { DVec2::new(around(0.05), around(0.01)) } else { DVec2::ZERO };
            let distance = if moves { 1e6 } else { 3.5 + around(1.5) };
            boards.push(Board { angles, distance, half, speed, seed: rng.u64(..) });
        }
        boards.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        let scene = Scene { texture, seed: rng.u64(..), boards };
        Ok(Some(Self { class: class.name, seed, scene, cameras }))
    }

    /// Renders the picture of a camera.
    pub(crate) fn photograph(&self, index: usize) -> Picture {
        let camera = &self.cameras[index];
        let [width, height] = camera.size;
        let light = Grid::from_fn(width, height, |x, y| {
            let pixel = DVec2::new(x as f64, y as f64);
            let see =
                |p| Some(self.scene.light(camera.position, camera.direction(p), camera.time).0);
            let light = supersampled(pixel, see) * camera.gain * camera.transmission(pixel);
            light.as_vec3().to_array()
        });
        let mut channels = [0, 1, 2].map(|c| light.channel(c));
        if camera.blur > 0.0 {
            channels = channels.map(|channel| channel.blurred(camera.blur));
        }
        let mut rng = Rng::with_seed(self.seed ^ ((index as u64) << 32) ^ 0x5eed);
        let mut noisy = |light: f32| {
            // The sum of 12 uniform numbers has the variance 1. Shot noise grows with the root of the light.
            let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
            let sigma = camera.noise * f64::from(light.max(0.002)).sqrt();
            f64::from(light) + sigma * normal
        };
        let mut picture = Picture { width, height, data: Vec::with_capacity(width * height) };
        for i in 0..width * height {
            let light = [0, 1, 2].map(|c| channels[c].data[i]);
            picture.data.push(light.map(|l| level(noisy(l), camera.response)));
        }
        picture
    }

    /// Renders the truth.
    pub(crate) fn truth(&self) -> Truth {
        let (projection, width, height) = self.canvas();
        let first = |x, y| {
            let direction = projection.direction(DVec2::new(x as f64, y as f64));
            self.cameras.iter().position(|camera| camera.pixel(direction).is_some())
        };
        let seen = Grid::from_fn(width, height, |x, y| {
            let direction = projection.direction(DVec2::new(x as f64, y as f64));
            self.cameras.iter().filter(|camera| camera.pixel(direction).is_some()).count() as u8
        });
        let from = |camera: &Camera, x, y| -> Rgb {
            let see = |p| {
                let direction = projection.direction(p);
                Some(self.scene.light(camera.position, direction, camera.time).0)
            };
            let light = supersampled(DVec2::new(x as f64, y as f64), see);
            light.to_array().map(|light| level(light, camera.response))
        };
        let picture = Grid::from_fn(width, height, |x, y| {
            first(x, y).map_or([0.0; 3], |camera| from(&self.cameras[camera], x, y))
        });
        if self.scene.boards.is_empty() {
            let ambiguous = Grid { width, height, data: vec![false; width * height] };
            return Truth { projection, picture, seen, ambiguous, views: Vec::new() };
        }
        let object = |camera: &Camera, direction| {
            camera.pixel(direction).is_some()
                && self.scene.light(camera.position, direction, camera.time).1
        };
        let ambiguous = Grid::from_fn(width, height, |x, y| {
            let direction = projection.direction(DVec2::new(x as f64, y as f64));
            self.cameras.iter().any(|camera| object(camera, direction))
        });
        let ambiguous = ambiguous.dilated(2);
        let view = |camera: &Camera| {
            Grid::from_fn(width, height, |x, y| {
                let direction = projection.direction(DVec2::new(x as f64, y as f64));
                match camera.pixel(direction) {
                    None => [0.0; 3],
                    Some(_) if ambiguous.data[y * width + x] => from(camera, x, y),
                    Some(_) => picture.data[y * width + x],
                }
            })
        };
        let views = self.cameras.iter().map(view).collect();
        Truth { projection, picture, seen, ambiguous, views }
    }

    /// Returns the canvas of the truth: a sphere with the cameras' pixels per radian, and its width and height.
    fn canvas(&self) -> (Projection, usize, usize) {
        let focal = self.cameras[0].focal;
        let whole = Projection {
            surface: Surface::Sphere,
            focal,
            centre: DVec2::ZERO,
            turn: DMat3::IDENTITY,
        };
        let (mut low, mut high) = (DVec2::MAX, DVec2::MIN);
        for camera in &self.cameras {
            let [width, height] = camera.size.map(|size| size as f64 - 1.0);
            for i in 0..=32 {
                let t = f64::from(i) / 32.0;
                let border = [(t, 0.0), (t, 1.0), (0.0, t), (1.0, t)];
                for (x, y) in border {
                    let direction = camera.direction(DVec2::new(x * width, y * height));
                    let pixel = whole.pixel(direction).unwrap_or_default();
                    (low, high) = (low.min(pixel), high.max(pixel));
                }
            }
        }
        let most = (std::f64::consts::TAU * focal).floor();
        let size = (high - low).ceil() + 1.0;
        let centre = DVec2::new(if size.x > 0.9 * most { most / 2.0 } else { -low.x }, -low.y);
        let width = if size.x > 0.9 * most { most } else { size.x };
        (Projection { centre, ..whole }, width as usize, size.y as usize)
    }
}

/// Averages the light over a pixel: over 4 points, or over 16 if those differ.
fn supersampled(pixel: DVec2, see: impl Fn(DVec2) -> Option<DVec3>) -> DVec3 {
    let over = |n: usize| {
        let (mut sum, mut low, mut high) = (DVec3::ZERO, DVec3::MAX, DVec3::MIN);
        for i in 0..n * n {
            let at = DVec2::new((i % n) as f64 + 0.5, (i / n) as f64 + 0.5) / n as f64 - 0.5;
            let light = see(pixel + at).unwrap_or_default();
            (sum, low, high) = (sum + light, low.min(light), high.max(light));
        }
        (sum / (n * n) as f64, (high - low).max_element())
    };
    let (mean, spread) = over(2);
    if spread > 0.08 * (mean.max_element() + 0.02) { over(4).0 } else { mean }
}

/// Returns the scale, in pixels per radian, at which a photograph in front of the cameras covers what all of them see.
fn scale(cameras: &[Camera], photo: &grid::Picture) -> f64 {
    let (mut low, mut high) = (DVec2::MAX, DVec2::MIN);
    for camera in cameras {
        let [width, height] = camera.size.map(|size| size as f64 - 1.0);
        for (x, y) in [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 1.0), (1.0, 1.0)] {
            let d = camera.direction(DVec2::new(x * width, y * height));
            let angles = DVec2::new(d.x.atan2(d.z), -d.y.asin());
            (low, high) = (low.min(angles), high.max(angles));
        }
    }
    let reach = 1.02 * 2.0 * low.abs().max(high.abs());
    (photo.width as f64 / reach.x).min(photo.height as f64 / reach.y)
}
