//! The backgrounds: a colour for each direction of the whole sphere, at infinite distance.
//!
//! Colours are linear; 1 is the white of a camera with the gain 1. No colour is black, so black marks the outside of a
//! panorama. Directions have x to the right, y down, and z forward.

use std::sync::Arc;

use glam::{DVec2, DVec3};

use super::noise::{hash, octaves, smooth};
use crate::grid::Picture;

/// A linear colour.
pub(crate) type Light = DVec3;

/// A background.
#[derive(Clone, Debug)]
pub(crate) enum Texture {
    /// Noise of all frequencies that a camera resolves.
    Noise,
    /// Buildings with windows in front of a sky, above a paved ground.
    City,
    /// Rows of small random glyphs on boards.
    Text,
    /// A smooth sky with a sun that is brighter than white, above hills.
    Sky,
    /// Leaves in light and shade.
    Foliage,
    /// A pattern that repeats over the whole sphere. Only its wear and a few of its elements tell places apart.
    Repeated(Pattern),
    /// A photograph, wrapped around the sphere: `scale` pixels per radian of azimuth and elevation.
    Photo(Arc<Picture>, f64),
}

/// A pattern that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Pales and two rails in front of a meadow.
    Fence,
    /// Rows of seats with numbers.
    Seats,
    /// A wall of equal windows.
    Facade,
    /// Bricks of a few shades.
    Bricks,
    /// A lawn with mown stripes.
    Grass,
    /// Heads above shirts.
    Crowd,
    /// Clouds without a horizon.
    Clouds,
}

impl Texture {
    /// Returns the light from `direction`, a unit vector.
    pub(crate) fn light(&self, direction: DVec3, seed: u64) -> Light {
        let angles = DVec2::new(direction.x.atan2(direction.z), -direction.y.asin());
        let light = match self {
            Self::Noise => noise(direction, seed),
            Self::City => city(direction, angles, seed),
            Self::Text => text(direction, angles, seed),
            Self::Sky => sky(direction, angles, seed),
            Self::Foliage => foliage(direction, seed),
            Self::Repeated(pattern) => repeated(*pattern, direction, angles, seed),
            Self::Photo(picture, scale) => photo(picture, *scale, angles),
        };
        light.max(DVec3::splat(0.006))
    }
}

/// Returns a colour that depends on two integers.
fn tint(x: i64, y: i64, seed: u64) -> DVec3 {
    DVec3::new(hash(x, y, 1, seed), hash(x, y, 2, seed), hash(x, y, 3, seed))
}

fn noise(d: DVec3, seed: u64) -> Light {
    let bright = octaves(d, 3.0, 8, 0.8, seed);
    let warm = octaves(d, 2.0, 4, 0.6, seed ^ 77);
    let level = 0.28 * (1.9 * bright).exp();
    DVec3::new(level * (1.0 + 0.5 * warm), level, level * (1.0 - 0.5 * warm))
}

/// A clear sky with thin clouds.
fn clear(d: DVec3, elevation: f64, seed: u64) -> Light {
    let up = elevation.max(0.0).sin().sqrt();
    let blue = DVec3::new(0.62, 0.72, 0.85).lerp(DVec3::new(0.16, 0.32, 0.66), up);
    let cloud =
        (octaves(d * DVec3::new(1.0, 3.0, 1.0), 3.0, 5, 0.5, seed ^ 5) * 2.0).clamp(0.0, 1.0);
    blue.lerp(DVec3::splat(0.85), 0.5 * cloud)
}

fn ground(d: DVec3, seed: u64) -> Light {
    // Coordinates on a plane below the camera. Far away, details are smaller than a pixel and fade.
    let flat = DVec3::new(d.x, 0.0, d.z) / d.y.max(0.05);
    let fade = (d.y * 4.0).min(1.0);
    let tile = |v: f64| (v * 2.5).rem_euclid(1.0) < 0.05;
    let joint = if tile(flat.x) || tile(flat.z) { 0.6 } else { 1.0 };
    let stone = hash((flat.x * 2.5).floor() as i64, (flat.z * 2.5).floor() as i64, 0, seed);
    let grain = octaves(d, 25.0, 4, 0.9, seed ^ 9);
    let level = 0.17 * (1.0 + fade * (0.5 * (stone - 0.5) + joint - 1.0) + 0.6 * grain);
    DVec3::new(1.05, 1.0, 0.92) * level
}

fn city(d: DVec3, angles: DVec2, seed: u64) -> Light {
    if angles.y < -0.16 {
        return ground(d, seed);
    }
    // Three rows of buildings, the nearest first.
    for row in 0..3i64 {
        let count = [34.0, 46.0, 58.0][row as usize];
        let across = (angles.x / std::f64::consts::TAU + 0.5) * count + 0.37 * row as f64;
        let house = across.floor().rem_euclid(count) as i64;
        let height = 0.02 + 0.12 * row as f64 + 0.28 * hash(house, row, 0, seed);
        if angles.y < height {
            let inside = DVec2::new(across - across.floor(), height - angles.y);
            return facade(d, inside, house * 3 + row, count, seed) * (1.0 + 0.15 * row as f64);
        }
    }
    clear(d, angles.y, seed)
}

/// The front of a building. `inside.x` is from 0 to 1 across it, and `inside.y` is the angle below its roof.
fn facade(d: DVec3, inside: DVec2, house: i64, count: f64, seed: u64) -> Light {
    let wall = DVec3::splat(0.12) + 0.5 * tint(house, 7, seed) * DVec3::new(1.0, 0.9, 0.8);
    let dirt = 1.0 + 0.35 * octaves(d, 12.0, 6, 0.85, seed ^ 21);
    let pitch = 0.025 + 0.02 * hash(house, 8, 0, seed);
    let columns = (std::f64::consts::TAU / count / pitch).floor().max(1.0);
    let cell = DVec2::new(inside.x * columns, (inside.y - 0.015) / (1.25 * pitch));
    let (column, floor) = (cell.x.floor() as i64, cell.y.floor() as i64);
    let part = cell - cell.floor();
    let (left, top) = (0.2 + 0.1 * hash(house, 9, 0, seed), 0.25);
    if inside.y < 0.006 || inside.x < 0.012 {
        return wall * 0.45;
    }
    let window =
        floor >= 0 && part.x > left && part.x < 1.0 - left && part.y > top && part.y < 0.85;
    if !window {
        return wall * dirt;
    }
    if (part.x - 0.5).abs() < 0.03 || (part.y - 0.5).abs() < 0.03 {
        return DVec3::splat(0.7) * dirt;
    }
    let glass = hash(house * 100 + column, floor, 3, seed);
    let shine = 1.0 + 0.5 * octaves(d, 30.0, 3, 0.7, seed ^ 31);
    DVec3::new(0.05, 0.08, 0.12).lerp(DVec3::new(0.7, 0.6, 0.35), glass * glass * glass) * shine
}

fn text(d: DVec3, angles: DVec2, seed: u64) -> Light {
    // Boards of about 20°, each with its own colours and size of glyphs.
    let board = (angles / 0.35).floor();
    let (bx, by) = (board.x as i64, board.y as i64);
    let inside = angles / 0.35 - board;
    let paper = DVec3::splat(0.35) + 0.5 * tint(bx, by, seed);
    let ink = 0.15 * tint(bx, by, seed ^ 3);
    let grain = 1.0 + 0.25 * octaves(d, 8.0, 6, 0.8, seed ^ 11);
    let margin = inside.x.min(inside.y).min(1.0 - inside.x).min(1.0 - inside.y);
    if margin < 0.06 {
        return (if margin < 0.02 { ink } else { paper }) * grain;
    }
    // A glyph is a field of 5×7 dots with a gap of one column and three rows.
    let dot = 0.0028 + 0.0025 * hash(bx, by, 4, seed);
    let (x, y) = ((angles.x / dot).floor() as i64, (-angles.y / dot).floor() as i64);
    let (gx, gy) = (x.rem_euclid(6), y.rem_euclid(10));
    let glyph = (x.div_euclid(6), y.div_euclid(10));
    let space = hash(glyph.0, glyph.1, 5, seed) < 0.18;
    let on = gx < 5 && gy < 7 && !space && hash(x, y, 6, seed) < 0.45;
    (if on { ink } else { paper }) * grain
}

fn sky(d: DVec3, angles: DVec2, seed: u64) -> Light {
    let ridge = DVec3::new(d.x, 0.0, d.z).normalize_or_zero();
    let horizon = -0.05 + 0.12 * octaves(ridge, 2.0, 6, 0.5, seed);
    if angles.y < horizon {
        let near = octaves(d, 6.0, 7, 0.85, seed ^ 41);
        let depth = ((horizon - angles.y) / 0.3).min(1.0);
        let haze = DVec3::new(0.35, 0.4, 0.5);
        let green = DVec3::new(0.16, 0.2, 0.09) * (1.0 + 1.4 * near).max(0.1);
        return haze.lerp(green, 0.45 + 0.55 * depth);
    }
    let side = (hash(0, 0, 9, seed) - 0.5) * 0.8;
    let sun = DVec3::new(side.sin(), -0.35, side.cos()).normalize();
    let away = sun.dot(d).clamp(-1.0, 1.0).acos();
    let glow = 6.0 * (-(away / 0.03).powi(2)).exp() + 0.9 * (-away / 0.18).exp();
    clear(d, angles.y, seed) + glow * DVec3::new(1.0, 0.95, 0.85)
}

fn foliage(d: DVec3, seed: u64) -> Light {
    let ridged = |lowest: f64, s: u64| 1.0 - 2.0 * octaves(d, lowest, 3, 0.8, seed ^ s).abs();
    let leaf = ridged(40.0, 51).max(0.0) * ridged(95.0, 52).max(0.2);
    let shade = 0.5 + 0.5 * octaves(d, 4.0, 4, 0.6, seed ^ 53);
    let hue = smooth(d * 9.0, seed ^ 54);
    let green = DVec3::new(0.30 + 0.15 * hue, 0.42, 0.12 - 0.05 * hue);
    green * (0.08 + 1.3 * leaf * shade) + DVec3::splat(0.25 * leaf.powi(6))
}

/// Returns the column and row of the cell of a lattice, and the position in it from 0 to 1. Odd rows are moved by
/// `shift` of a cell.
fn cell(angles: DVec2, size: DVec2, shift: f64) -> (i64, i64, DVec2) {
    let row = (-angles.y / size.y).floor();
    let at = DVec2::new(angles.x / size.x + shift * row.rem_euclid(2.0), -angles.y / size.y);
    (at.x.floor() as i64, row as i64, at - at.floor())
}

fn repeated(pattern: Pattern, d: DVec3, angles: DVec2, seed: u64) -> Light {
    let wear = 1.0 + 0.25 * octaves(d, 9.0, 7, 0.85, seed ^ 61);
    let chosen = |x, y, z| hash(x, y, z, seed);
    match pattern {
        Pattern::Fence => {
            let (pale, _, at) = cell(angles, DVec2::new(0.055, 9.0), 0.0);
            let top = 0.22 - 0.6 * (at.x - 0.45).powi(2);
            let rail = (angles.y - 0.1).abs().min((angles.y + 0.2).abs()) < 0.015;
            if (0.08..0.82).contains(&at.x) && (-0.32..top).contains(&angles.y) {
                let knot = octaves(d * DVec3::new(1.0, 0.2, 1.0), 60.0, 4, 0.8, seed ^ 62);
                return DVec3::new(0.5, 0.4, 0.28)
                    * wear
                    * (0.9 + 0.2 * chosen(pale, 0, 1))
                    * (1.0 + 0.3 * knot);
            }
            if rail {
                return DVec3::new(0.3, 0.24, 0.17) * wear;
            }
            DVec3::new(0.12, 0.2, 0.07) * (0.5 + 0.5 * wear)
        }
        Pattern::Seats => {
            let (seat, row, at) = cell(angles, DVec2::new(0.05, 0.065), 0.5);
            let back = ((at - DVec2::new(0.5, 0.45)) / DVec2::new(0.4, 0.36)).powf(6.0);
            if back.element_sum() > 1.0 {
                return DVec3::splat(if at.y > 0.9 { 0.35 } else { 0.16 }) * wear;
            }
            let number = (at - DVec2::new(0.5, 0.25)).abs();
            if number.x < 0.16 && number.y < 0.06 {
                let ink =
                    chosen(seat * 9 + (at.x * 16.0) as i64, row * 9 + (at.y * 25.0) as i64, 2);
                return DVec3::splat(if ink < 0.4 { 0.1 } else { 0.8 });
            }
            let other = chosen(seat, row, 3) < 0.06;
            let colour = if other { tint(seat, row, seed) } else { DVec3::new(0.05, 0.12, 0.4) };
            colour * wear * (1.2 - 0.5 * at.y)
        }
        Pattern::Facade => {
            let (column, floor, at) = cell(angles, DVec2::new(0.085, 0.11), 0.0);
            let from = (at - 0.5).abs() - DVec2::new(0.28, 0.34);
            if from.max_element() > 0.0 {
                let sill = from.x < 0.06 && (0.86..0.92).contains(&at.y);
                return DVec3::new(0.46, 0.42, 0.36) * wear * if sill { 1.5 } else { 1.0 };
            }
            if from.max_element() > -0.04 || (at.x - 0.5).abs() < 0.03 || (at.y - 0.4).abs() < 0.02
            {
                return DVec3::splat(0.65) * wear;
            }
            let blind = (chosen(column, floor, 4) * 4.0).floor() / 4.0;
            if at.y < 0.16 + 0.7 * blind * blind {
                DVec3::splat(0.5)
            } else {
                DVec3::new(0.05, 0.07, 0.1)
            }
        }
        Pattern::Bricks => {
            let (brick, row, at) = cell(angles, DVec2::new(0.07, 0.026), 0.5);
            if at.x < 0.07 || at.y < 0.16 {
                return DVec3::splat(0.4) * wear;
            }
            DVec3::new(0.36, 0.14, 0.09) * wear * (0.75 + 0.5 * chosen(brick, row, 5).powi(2))
        }
        Pattern::Grass => {
            let blade = octaves(d * DVec3::new(1.0, 0.3, 1.0), 70.0, 4, 0.9, seed ^ 63);
            let stripe = if (angles.x / 0.24).rem_euclid(2.0) < 1.0 { 1.0 } else { 0.8 };
            DVec3::new(0.13, 0.3, 0.06) * stripe * (1.0 + 0.6 * blade) * (0.6 + 0.4 * wear)
        }
        Pattern::Crowd => {
            let (seat, row, at) = cell(angles, DVec2::new(0.042, 0.05), 0.5);
            let off = DVec2::new(chosen(seat, row, 6), chosen(seat, row, 7)) * 0.2 - 0.1;
            let head = (at - DVec2::new(0.5, 0.3) - off) / DVec2::new(0.2, 0.24);
            if head.length() < 1.0 {
                let hair = head.y < -0.2 + 0.3 * chosen(seat, row, 8);
                let skin = DVec3::new(0.55, 0.38, 0.28) * (0.5 + 0.7 * chosen(seat, row, 9));
                return if hair { 0.25 * tint(seat, row, seed ^ 8) } else { skin } * wear;
            }
            let fan = chosen(seat, row, 10) < 0.6;
            let shirt = if fan { DVec3::new(0.5, 0.06, 0.07) } else { tint(seat, row, seed) };
            shirt * wear * if at.y < 0.4 { 0.3 } else { 1.0 }
        }
        Pattern::Clouds => {
            let cloud = octaves(d * DVec3::new(1.0, 2.2, 1.0), 4.0, 7, 0.62, seed ^ 64);
            let blue = DVec3::new(0.2, 0.36, 0.68);
            blue.lerp(DVec3::splat(0.8), (0.4 + 1.6 * cloud).clamp(0.0, 1.0))
        }
    }
}

fn photo(picture: &Picture, scale: f64, angles: DVec2) -> Light {
    let size = DVec2::new(picture.width as f64, picture.height as f64);
    let p = DVec2::new(angles.x, -angles.y) * scale + (size - 1.0) / 2.0;
    let colour = picture.sample(p.clamp(DVec2::ZERO, size - 1.0));
    DVec3::from_array(colour.map(|v| f64::from(v.clamp(0.0, 255.0) / 255.0).powf(2.2)))
}
