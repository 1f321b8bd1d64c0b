//! Tests of seams. They compare the search with brute force, compare costs and weights with formulas, and find seams in
//! generated and real scenes with near or moving objects. The tests run on the CPU, and on a GPU if there is one.

mod difference;
mod live;
mod scenes;
mod search;
mod several;
mod time;
mod topology;
mod weights;

use glam::{DMat3, DVec3, UVec2, uvec2};
use panoweave::device::{Device, Image, Stream};
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::by_planes;
use shared_types::Rgba8;
use shared_types::stitch::MIN_WEIGHT;

/// The colours of a scene: a function from positions, in pixels of the left picture, to red, green and blue levels.
type World<'a> = &'a dyn Fn(f64, f64) -> [f64; 3];

/// Two pictures, and the warp that their homography defines.
struct Scene {
    pictures: [Picture; 2],
    warp: DeviceWarp,
}

/// A homography from right to left pixels, row by row. The pictures are side by side, and 80 of 160 columns overlap.
const BESIDE: [f64; 9] = [1.0, 0.0, 80.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
const SIZE: UVec2 = uvec2(160, 120);

impl Scene {
    /// Draws the pictures of both cameras. `worlds` contains the scene of each camera, and `homography` maps right to
    /// left pixels.
    fn new(stream: &Stream, homography: [f64; 9], worlds: [World<'_>; 2]) -> Self {
        let pictures =
            [picture(DMat3::IDENTITY.to_cols_array(), worlds[0]), picture(homography, worlds[1])];
        let text = homography.map(|n| n.to_string()).join(" ");
        let geometry = Homography::parse(&text, "made up").unwrap().geometry(SIZE, SIZE).unwrap();
        Self { pictures, warp: DeviceWarp::render(stream, &geometry).unwrap() }
    }

    fn images(&self, stream: &Stream) -> [Image<Rgba8>; 2] {
        self.pictures.each_ref().map(|picture| upload(stream, picture))
    }
}

fn upload(stream: &Stream, picture: &Picture) -> Image<Rgba8> {
    Image::from_slice(stream, picture.width(), picture.height(), picture.pixels()).unwrap()
}

/// Draws the picture of a camera. `homography` is a matrix, row by row, that maps pixels of this camera to pixels of
/// the left camera.
fn picture(homography: [f64; 9], world: World<'_>) -> Picture {
    let to_left = DMat3::from_cols_array(&homography).transpose();
    let pixel = |at: u32| {
        let place = DVec3::new((at % SIZE.x).into(), (at / SIZE.x).into(), 1.0);
        let at = to_left * place;
        let [r, g, b] = world(at.x / at.z, at.y / at.z).map(|level| level.round() as u8);
        Rgba8::opaque(r, g, b)
    };
    let pixels = (0..SIZE.element_product()).map(pixel).collect();
    Picture::from_pixels(SIZE.x, SIZE.y, pixels).unwrap()
}

/// Returns the colour of a textured background without sharp edges at a position.
fn background(x: f64, y: f64) -> [f64; 3] {
    let wave = |a: f64, b: f64| 20.0 * (a * x + b * y).sin();
    [120.0 + wave(0.11, 0.03), 110.0 + wave(0.05, 0.13), 100.0 + wave(-0.07, 0.09)]
}

/// Returns a scene: the background with a red disc in front.
fn with_disc(centre: [f64; 2], radius: f64) -> impl Fn(f64, f64) -> [f64; 3] {
    move |x, y| {
        let inside = (x - centre[0]).hypot(y - centre[1]) <= radius;
        if inside { [230.0, 20.0, 20.0] } else { background(x, y) }
    }
}

/// Returns, for each pixel of a warp, whether each of the two cameras contributes. A camera contributes if its source
/// coordinates are inside its picture, and if its weight exceeds the minimum.
fn seen(warp: &Warp) -> Vec<[bool; 2]> {
    let counts = |camera: usize, at: usize| {
        let [u, v] = [0, 1].map(|i| warp.planes()[2 * camera + i][at]);
        let size = warp.sources()[camera].as_vec2();
        let inside = u >= 0.0 && u < size.x && v >= 0.0 && v < size.y;
        inside && warp.planes()[4 + camera][at] > MIN_WEIGHT
    };
    (0..warp.planes()[0].len()).map(|at| [counts(0, at), counts(1, at)]).collect()
}

/// Returns the panorama of only one camera (0 for left, 1 for right).
fn alone(device: &Device, pictures: &[Picture; 2], warp: &Warp, camera: usize) -> Vec<Rgba8> {
    let stream = device.stream().unwrap();
    let mut planes = warp.planes().to_vec();
    for (at, seen) in seen(warp).into_iter().enumerate() {
        planes[4][at] = f32::from(camera == 0 && seen[0]);
        planes[5][at] = f32::from(camera == 1 && seen[1]);
    }
    let warp = Warp::new(warp.size(), warp.sources(), planes).unwrap();
    stitched(&stream, pictures, &DeviceWarp::upload(&stream, &warp).unwrap())
}

fn stitched(stream: &Stream, [left, right]: &[Picture; 2], warp: &DeviceWarp) -> Vec<Rgba8> {
    let options = by_planes();
    let out =
        panoweave::ops::stitch::stitch_pictures(stream, &[left, right], warp, &options).unwrap();
    out.into_pixels()
}

/// Measures ghosting, in levels: the mean over the overlap of the difference between a panorama pixel and the more
/// similar one of the two cameras' pixels.
fn ghost(panorama: &[Rgba8], cameras: &[Vec<Rgba8>; 2], seen: &[[bool; 2]]) -> f64 {
    let distance = |a: Rgba8, b: Rgba8| {
        let parts = [(a.r, b.r), (a.g, b.g), (a.b, b.b)].map(|(a, b)| f64::from(a.abs_diff(b)));
        parts.iter().sum::<f64>() / 3.0
    };
    let both = seen.iter().enumerate().filter(|(_, seen)| **seen == [true; 2]).map(|(at, _)| at);
    let each: Vec<f64> = both
        .map(|at| {
            let to = |camera: &Vec<Rgba8>| distance(panorama[at], camera[at]);
            to(&cameras[0]).min(to(&cameras[1]))
        })
        .collect();
    each.iter().sum::<f64>() / each.len() as f64
}
