//! Local means of two pictures at points that both show.
//!
//! A mean over a small window depends little on noise and on misalignment by a pixel. Windows with outlines have less
//! weight, and windows that may be clipped or are nearly black do not count.

use glam::{DVec2, IVec2, UVec2, Vec2, Vec3};
use shared_types::Rgba8;

use super::Places;
use crate::geometry::Vignetting;
use crate::io::picture::{Picture, Pixel};

/// Distance in pixels from the middle of a window to its edge. A window has 5×5 pixels.
const REACH: i32 = 2;

/// The largest level that is certainly not clipped.
const MOST: u8 = 249;

/// The smallest mean level that counts.
const LEAST: f32 = 6.0;

/// The standard deviation in levels at which a window has half of the weight of a smooth one.
const TEXTURE: f32 = 8.0;

/// One point in two pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// The indices of the pictures.
    pub(super) pictures: [usize; 2],
    /// The mean levels of red, green and blue in both pictures, from 0 to 1.
    pub(super) levels: [[f64; 3]; 2],
    /// The positions in both pictures: the column and row in pixels.
    pub(super) places: [DVec2; 2],
    /// The squared distances from the centres of the pictures, as fractions of that of the corners.
    pub(super) radii: [f64; 2],
    /// The logarithm of the ratio of the levels that the given vignetting keeps in the second picture to those in the
    /// first one.
    pub(super) given: f64,
    /// The weight, greater than 0 and at most 1.
    pub(super) weight: f64,
}

/// Returns the samples of all pairs of pictures, which have the `given` vignetting.
pub(super) fn compare<P: Pixel>(
    pictures: &[&Picture<P>],
    places: &[Places],
    given: &[Vignetting],
) -> Vec<Sample> {
    let windows = |(picture, places): (&&Picture<P>, &Places)| -> Vec<Option<Window>> {
        places.iter().map(|place| Window::at(picture, (*place)?)).collect()
    };
    let windows: Vec<_> = pictures.iter().zip(places).map(windows).collect();
    let mut samples = Vec::new();
    for right in 1..windows.len() {
        for left in 0..right {
            for (a, b) in windows[left].iter().zip(&windows[right]) {
                if let (Some(a), Some(b)) = (a, b) {
                    samples.push(Sample {
                        pictures: [left, right],
                        levels: [a.levels, b.levels],
                        places: [a.place, b.place],
                        radii: [a.radius, b.radius],
                        given: given[right].falloff(b.radius) - given[left].falloff(a.radius),
                        weight: a.weight * b.weight,
                    });
                }
            }
        }
    }
    samples
}

/// The mean of a window.
struct Window {
    levels: [f64; 3],
    place: DVec2,
    radius: f64,
    weight: f64,
}

impl Window {
    /// Returns the window around a position, or `None` if it does not count.
    fn at<P: Pixel>(picture: &Picture<P>, place: Vec2) -> Option<Self> {
        let middle = place.round().as_ivec2();
        let (low, high) = (middle - REACH, middle + REACH);
        if low.min_element() < 0 || !high.cmplt(picture.size().as_ivec2()).all() {
            return None;
        }
        let (mut sum, mut squares) = (Vec3::ZERO, Vec3::ZERO);
        for y in low.y..=high.y {
            for x in low.x..=high.x {
                let Rgba8 { r, g, b, a } = pixel(picture, IVec2::new(x, y));
                if r.max(g).max(b) > MOST || a < u8::MAX {
                    return None;
                }
                let levels = Vec3::new(r.into(), g.into(), b.into());
                sum += levels;
                squares += levels * levels;
            }
        }
        let count = ((2 * REACH + 1) * (2 * REACH + 1)) as f32;
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max_element().max(0.0);
        (mean.min_element() >= LEAST).then(|| Self {
            levels: mean.to_array().map(|level| f64::from(level) / 255.0),
            place: place.as_dvec2(),
            radius: radius(picture.size(), place),
            weight: f64::from((1.0 + variance / (TEXTURE * TEXTURE)).recip()),
        })
    }
}

/// Returns the squared distance of a position from the centre of a picture, as a fraction of that of a corner.
fn radius(size: UVec2, place: Vec2) -> f64 {
    let centre = (size.as_dvec2() - 1.0) / 2.0;
    (place.as_dvec2() - centre).length_squared() / centre.length_squared()
}

/// Returns a pixel with 8 bits per channel. The limits for levels are in 8 bits, and a mean needs no more.
fn pixel<P: Pixel>(picture: &Picture<P>, at: IVec2) -> Rgba8 {
    picture.pixels()[at.y as usize * picture.width() as usize + at.x as usize].into()
}
