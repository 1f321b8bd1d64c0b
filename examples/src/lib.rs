//! Code that the examples share: simulated cameras that turn in a generated landscape, and the command line.
//!
//! The cameras have different exposures, and the exposures of all but the first camera drift, so that the colour
//! correction has a difference to correct. A real program would use the driver of its cameras and a calibrated rig file
//! instead.

use std::env;
use std::error::Error;
use std::f64::consts::{PI, TAU};
use std::thread;
use std::time::{Duration, Instant};

use panoweave::device::{Device, DeviceName};
use panoweave::frame::Rgba8;
use panoweave::geometry::Camera as Optics;
use panoweave::geometry::Geometry;
use panoweave::geometry::rig::{Rig, RigError};
use panoweave::glam::{UVec2, Vec3};
use panoweave::io::picture::Picture;
use panoweave::live::Session;

/// A rig of two 480×270 cameras whose viewing directions are 50° apart.
pub const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 720
height = 240
fov = 115.0

[[camera]]
name = "left"
size = [480, 270]
lens = "pinhole"
matrix = { fx = 376.0, fy = 376.0, cx = 239.5, cy = 134.5 }
yaw = -25.0

[[camera]]
name = "right"
size = [480, 270]
lens = "pinhole"
matrix = { fx = 376.0, fy = 376.0, cx = 239.5, cy = 134.5 }
yaw = 25.0
"#;

/// The time between two frames of a camera: 30 frames per second.
pub const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// Size of the landscape in pixels. The columns cover 360°, and the rows 90°.
const AROUND: UVec2 = UVec2::new(3072, 768);

/// The time in which the rig turns by 360°.
const TURN: Duration = Duration::from_secs(30);

/// Closes a session when it is dropped, also after a panic, so that no thread waits for the session for ever.
pub struct CloseOnDrop<'a>(pub &'a Session);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Returns the geometry of [`RIG`].
///
/// # Errors
/// Never returns [`RigError`] in practice, because [`RIG`] is a valid rig.
pub fn geometry() -> Result<Geometry, RigError> {
    Rig::parse(RIG, "the examples' rig")?.geometry()
}

/// Returns the geometry of a row of `cameras` cameras, each turned by 50° from the one before. Two make the panorama of
/// [`RIG`]; each further camera makes it wider.
///
/// # Errors
/// Returns [`RigError`] if there are fewer than two cameras, or so many that they see more than 360°.
pub fn row(cameras: usize) -> Result<Geometry, RigError> {
    let mut rig = Rig::parse(RIG, "the examples' rig")?;
    let middle = 0.5 * (cameras as f64 - 1.0);
    let turned = |i: usize| {
        let mut camera = rig.cameras[0].clone();
        camera.name = format!("{}", i + 1);
        if let Some(mount) = camera.mount_mut() {
            mount.yaw = 50.0 * (i as f64 - middle);
        }
        camera
    };
    let turned = (0..cameras).map(turned).collect();
    rig.cameras = turned;
    let fov = rig.panorama.fov + 50.0 * (cameras as f64 - 2.0);
    rig.panorama.width = (f64::from(rig.panorama.width) * fov / rig.panorama.fov).round() as u32;
    rig.panorama.fov = fov;
    rig.geometry()
}

/// A simulated camera, which renders its pictures from the landscape.
pub struct MadeUpCamera {
    size: UVec2,
    /// The column and row of the landscape that each camera pixel shows at time 0. The pixels are in row-major order.
    sees: Vec<UVec2>,
    landscape: Vec<Rgba8>,
    /// The mean exposure, by which levels are multiplied, and the amplitude of its drift.
    exposure: [f32; 2],
}

impl MadeUpCamera {
    /// Creates the left and the right camera of [`RIG`].
    ///
    /// # Errors
    /// Returns the errors of [`geometry`].
    pub fn pair() -> Result<[Self; 2], RigError> {
        let cameras = geometry()?.cameras;
        Ok([0, 1].map(|i| Self::new(&cameras[i], i)))
    }

    /// Creates the cameras of a geometry.
    #[must_use]
    pub fn all(geometry: &Geometry) -> Vec<Self> {
        geometry.cameras.iter().enumerate().map(|(i, optics)| Self::new(optics, i)).collect()
    }

    fn new(optics: &Optics, index: usize) -> Self {
        let size = optics.size;
        let sees = |i| place(optics, UVec2::new(i % size.x, i / size.x));
        let sees = (0..size.element_product()).map(sees).collect();
        let exposure = [[1.0, 0.0], [0.8, 0.08], [0.9, -0.08]][index.min(2)];
        Self { size, sees, landscape: landscape(), exposure }
    }

    /// Returns the camera's picture at `time` after the start.
    #[must_use]
    pub fn picture(&self, time: Duration) -> Picture {
        let mut picture = Picture::filled(self.size.x, self.size.y, Rgba8::BLACK);
        let turned = (time.as_secs_f64() / TURN.as_secs_f64()).fract() * f64::from(AROUND.x);
        let [exposure, drift] = self.exposure;
        let exposure = exposure + drift * (time.as_secs_f32() * 0.7).sin();
        let expose = |level: u8| (f32::from(level) * exposure).round() as u8;
        for (pixel, at) in picture.pixels_mut().iter_mut().zip(&self.sees) {
            let column = (at.x + turned as u32) % AROUND.x;
            let Rgba8 { r, g, b, .. } = self.landscape[(at.y * AROUND.x + column) as usize];
            *pixel = Rgba8::opaque(expose(r), expose(g), expose(b));
        }
        picture
    }

    /// Calls `take` with a picture and its time since `start`, 30 times per second, until `take` returns false. Like a
    /// real camera, it skips pictures whose time has already passed.
    pub fn film(&self, start: Instant, mut take: impl FnMut(Duration, &Picture) -> bool) {
        let mut time = Duration::ZERO;
        while take(time, &self.picture(time)) {
            let passed = start.elapsed();
            time += FRAME;
            while time < passed {
                time += FRAME;
            }
            thread::sleep(time - passed);
        }
    }
}

/// Returns the landscape column and row that a pixel of the camera shows. Inverts the camera's projection and rotation.
fn place(optics: &Optics, pixel: UVec2) -> UVec2 {
    let straight = (pixel.as_dvec2() - optics.centre) / optics.focal;
    let ray = optics.from_ray.transpose() * straight.extend(1.0);
    let azimuth = ray.x.atan2(ray.z).rem_euclid(TAU) / TAU;
    let down = ray.y.atan2(ray.x.hypot(ray.z)) / (PI / 2.0) + 0.5;
    let [column, row] = [azimuth * f64::from(AROUND.x), down * f64::from(AROUND.y)];
    UVec2::new(column as u32 % AROUND.x, (row.max(0.0) as u32).min(AROUND.y - 1))
}

/// Draws two ridges and a field under an evening sky, with a post every 15°.
fn landscape() -> Vec<Rgba8> {
    let pixel = |i: u32| {
        let [x, y] = [i % AROUND.x, i / AROUND.x].map(|n| f64::from(n) + 0.5);
        let azimuth = x / f64::from(AROUND.x) * TAU;
        let up = 0.5 - y / f64::from(AROUND.y);
        let wave = |times: f64, height: f64| height * (times * azimuth + 9.0 * height).sin();
        let far = 0.06 + wave(5.0, 0.03) + wave(17.0, 0.012);
        let near = wave(3.0, 0.025) + wave(29.0, 0.006);
        let post = (azimuth * 12.0 / PI).fract() < 0.04 && (-0.12..0.05).contains(&up);
        let colour = if post {
            Vec3::new(36.0, 32.0, 30.0)
        } else if up < near {
            let furrow = ((up * 160.0).sin() * (azimuth * 60.0).sin()) as f32;
            Vec3::new(88.0, 112.0, 52.0) + furrow * 18.0
        } else if up < far {
            Vec3::new(96.0, 98.0, 124.0)
        } else {
            Vec3::new(236.0, 168.0, 112.0).lerp(Vec3::new(70.0, 110.0, 180.0), 3.0 * up as f32)
        };
        let level = colour.clamp(Vec3::ZERO, Vec3::splat(255.0));
        Rgba8::opaque(level.x as u8, level.y as u8, level.z as u8)
    };
    (0..AROUND.element_product()).map(pixel).collect()
}

/// The command line of an example: `[COUNT] [FILE] [DEVICE]`. The defaults are 150, `panorama.png` and `auto` (the
/// first GPU, or the CPU if no GPU is usable).
pub struct Arguments {
    /// Number of panoramas or pairs of frames after which the example ends.
    pub count: usize,
    /// Path of the picture file to which the last panorama is written.
    pub file: String,
    /// The device that stitches.
    pub device: Device,
}

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    /// Returns an error if COUNT is not a number, or DEVICE is not the name of a device that can be opened.
    pub fn read() -> Result<Self, Box<dyn Error>> {
        let mut arguments = env::args().skip(1);
        let count = arguments.next().map_or(Ok(150), |count| count.parse());
        let count = count
            .map_err(|_| "COUNT must be a number; the arguments are [COUNT] [FILE] [DEVICE]")?;
        let file = arguments.next().unwrap_or_else(|| "panorama.png".to_owned());
        let device: DeviceName = arguments.next().as_deref().unwrap_or("auto").parse()?;
        Ok(Self { count, file, device: device.open()? })
    }
}
