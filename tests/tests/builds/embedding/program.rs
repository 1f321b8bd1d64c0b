//! A program that depends on `panoweave` from outside the workspace. It stitches two crops of a scene and checks that
//! the panorama equals the scene.

use std::error::Error;

use panoweave::device::Device;
use panoweave::glam::UVec2;
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::frame::Rgba8;
use panoweave::ops::stitch::{StitchOptions, stitch_pictures};
use panoweave::warp::DeviceWarp;

const SIZE: UVec2 = UVec2::new(16, 8);

/// The column of the left picture at which the right picture begins.
const SHIFT: u32 = 8;

/// Returns `width` columns of the scene, starting at column `from`.
fn crop(from: u32, width: u32) -> Option<Picture> {
    let pixel = |x: u32, y: u32| Rgba8::opaque((10 * x) as u8, (30 * y) as u8, (x * y) as u8);
    let rows = 0..SIZE.y;
    let pixels = rows.flat_map(|y| (from..from + width).map(move |x| pixel(x, y))).collect();
    Picture::from_pixels(width, SIZE.y, pixels)
}

fn stitch(device: &Device) -> Result<Picture, Box<dyn Error>> {
    let stream = device.stream()?;
    let shift = Homography::parse(&format!("1 0 {SHIFT}  0 1 0  0 0 1"), "shift")?;
    let warp = DeviceWarp::render(&stream, &shift.geometry(SIZE, SIZE)?)?;
    let left = crop(0, SIZE.x).ok_or("the left picture")?;
    let right = crop(SHIFT, SIZE.x).ok_or("the right picture")?;
    Ok(stitch_pictures(&stream, &[&left, &right], &warp, &StitchOptions::default())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let scene = crop(0, SHIFT + SIZE.x);
    let check = |device: &Device| match stitch(device)? {
        panorama if Some(&panorama) == scene.as_ref() => Ok(println!("{device}: the scene")),
        other => Err(Box::<dyn Error>::from(format!("{device}: another picture: {other:?}"))),
    };
    check(&Device::cpu())?;
    match Device::cuda(0) {
        Ok(gpu) => check(&gpu),
        Err(error) if error.is_no_device() => Ok(println!("no GPU: {error}")),
        Err(error) => Err(error.into()),
    }
}
