//! Local means of two pictures at points that both show.
//!
//! A mean over a small window depends little on noise and on misalignment by a pixel. Windows with outlines have less
//! weight, and windows that may be clipped or are nearly black do not count.

use glam::{DVec2, IVec2, UVec2, Vec2, Vec3};
use shared_types::Rgba8;

use super::Places;
use crate::geometry::{Vignetting, to_corner};
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
    /// The squared distances from the centres of the vignetting, as fractions of those of the farthest corners.
    pub(super) radii: [f64; 2],
    /// The logarithm of the ratio of the levels that the given vignetting keeps in the second picture to those in the
    /// first one.
    pub(super) given: f64,
    /// The weight, greater than 0 and at most 1.
    pub(super) weight: f64,
}

/// Returns the samples of all pairs of pictures, which have the `given` vignetting around these centres.
pub(super) fn compare<P: Pixel>(
    pictures: &[&Picture<P>],
    places: &[Places],
    given: &[Vignetting],
    centres: &[Vec2],
) -> Vec<Sample> {
    let windows = |i: usize| -> Vec<Option<Window>> {
        let window =
            |place: &Option<Vec2>| Window::at(pictures[i], (*place)?, &given[i], centres[i]);
        places[i].iter().map(window).collect()
    };
    let windows: Vec<_> = (0..pictures.len()).map(windows).collect();
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
                        given: b.falloff - a.falloff,
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
    /// The logarithm of the levels that the given vignetting keeps.
    falloff: f64,
    weight: f64,
}

impl Window {
    /// Returns the window around a position in a picture that has the `given` vignetting around a centre, or `None` if
    /// it does not count.
    fn at<P: Pixel>(
        picture: &Picture<P>,
        place: Vec2,
        given: &Vignetting,
        centre: Vec2,
    ) -> Option<Self> {
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
        (mean.min_element() >= LEAST).then(|| {
            let radius = radius(picture.size(), centre, place);
            Self {
                levels: mean.to_array().map(|level| f64::from(level) / 255.0),
                place: place.as_dvec2(),
                radius,
                falloff: given.falloff(radius),
                weight: f64::from((1.0 + variance / (TEXTURE * TEXTURE)).recip()),
            }
        })
    }
}

/// Returns the squared distance of a position from the centre of the vignetting, as a fraction of that of the farthest
/// corner. The centre is given as fractions of the size.
fn radius(size: UVec2, centre: Vec2, place: Vec2) -> f64 {
    let centre = centre * size.as_vec2() - 0.5;
    (place.as_dvec2() - centre.as_dvec2()).length_squared() / f64::from(to_corner(size, centre))
}

/// Returns a pixel with 8 bits per channel. The limits for levels are in 8 bits, and a mean needs no more.
fn pixel<P: Pixel>(picture: &Picture<P>, at: IVec2) -> Rgba8 {
    picture.pixels()[at.y as usize * picture.width() as usize + at.x as usize].into()
}
