//! Draws the numbers of the cameras with a bitmap font of ten digits, so that no font file is needed.

use std::f64::consts::TAU;

use glam::{DVec2, IVec2, UVec2};
use shared_types::Rgba8;

use super::Contribution;
use crate::io::picture::Picture;

/// The digits 0 to 9, each with seven rows of five pixels. The leftmost pixel of a row is bit 4.
const DIGITS: [[u8; 7]; 10] = [
    [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
    [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
    [0b01110, 0b10001, 0b00001, 0b00110, 0b00001, 0b10001, 0b01110],
    [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
    [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
    [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
    [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
    [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
];

/// The width and height of a digit in font pixels.
const DIGIT: UVec2 = UVec2::new(5, 7);

/// The space around a digit and between two digits, in font pixels. One half of it around the number is a frame.
const SPACE: u32 = 2;

const INK: Rgba8 = Rgba8::opaque(255, 255, 255);
const PAPER: Rgba8 = Rgba8::opaque(20, 20, 20);

/// Returns the preview pixel at the centre of a camera's area: the mean of the pixels to which the camera contributes,
/// or the one nearest to it. On a full circle, the mean column is the mean direction. Returns `None` if the camera
/// contributes to no pixel.
pub(super) fn centre(
    input: &[Option<Contribution>],
    width: u32,
    full_circle: bool,
) -> Option<UVec2> {
    let seen = |at: &usize| input[*at].is_some();
    let position =
        |at: usize| DVec2::new((at % width as usize) as f64, (at / width as usize) as f64);
    let turn = TAU / f64::from(width);
    let (mut sum, mut direction, mut count) = (DVec2::ZERO, DVec2::ZERO, 0.0);
    for at in (0..input.len()).filter(seen).map(position) {
        sum += at;
        direction += DVec2::from_angle(at.x * turn);
        count += 1.0;
    }
    let mut mean = sum / count;
    // A camera that sees the full circle has no direction.
    if full_circle && direction.length() > 1e-6 * count {
        mean.x = direction.to_angle().rem_euclid(TAU) / turn;
    }
    let off = |at: &DVec2| {
        let x = (at.x - mean.x).abs();
        DVec2::new(if full_circle { x.min(f64::from(width) - x) } else { x }, at.y - mean.y)
    };
    let nearest = (0..input.len())
        .filter(seen)
        .map(position)
        .min_by(|a, b| off(a).length_squared().total_cmp(&off(b).length_squared()));
    nearest.map(|at| at.as_uvec2())
}

/// The numbers on a preview. A number that would cover another one is moved down.
pub(super) struct Labels {
    /// The size of the preview in pixels.
    size: UVec2,
    /// The number of preview pixels per font pixel along either axis.
    scale: u32,
    labels: Vec<Label>,
}

struct Label {
    number: usize,
    colour: Rgba8,
    /// The top left pixel, and the size in pixels.
    at: IVec2,
    size: IVec2,
}

impl Labels {
    pub(super) fn new(size: UVec2) -> Self {
        Self { size, scale: (size.max_element() / 400).max(1), labels: Vec::new() }
    }

    /// Adds the number of a camera, centred on a pixel of the preview. Has no effect if the number does not fit into
    /// half the width and half the height of the preview.
    pub(super) fn add(&mut self, number: usize, centre: UVec2, colour: Rgba8) {
        let digits = number.to_string().len() as u32;
        let size = UVec2::new(digits * (DIGIT.x + SPACE) + SPACE, DIGIT.y + 2 * SPACE) * self.scale;
        if (size * 2).cmpgt(self.size).any() {
            return;
        }
        let (size, most) = (size.as_ivec2(), (self.size - size).as_ivec2());
        let mut at = (centre.as_ivec2() - size / 2).clamp(IVec2::ZERO, most);
        let covers = |label: &Label, at: IVec2| {
            at.cmplt(label.at + label.size).all() && label.at.cmplt(at + size).all()
        };
        while let Some(other) = self.labels.iter().find(|label| covers(label, at)) {
            at.y = other.at.y + other.size.y;
            if at.y > most.y {
                at.y = most.y;
                break;
            }
        }
        self.labels.push(Label { number, colour, at, size });
    }

    pub(super) fn draw(&self, picture: &mut Picture) {
        let scale = self.scale as i32;
        let frame = (SPACE / 2) as i32 * scale;
        for Label { number, colour, at, size } in &self.labels {
            fill(picture, *at, *size, *colour);
            fill(picture, *at + frame, *size - 2 * frame, PAPER);
            for (i, digit) in number.to_string().bytes().enumerate() {
                let left = SPACE as usize + i * (DIGIT.x + SPACE) as usize;
                let rows = DIGITS[usize::from(digit - b'0')];
                for (y, row) in rows.into_iter().enumerate() {
                    for x in
                        (0..DIGIT.x as usize).filter(|x| row >> (DIGIT.x as usize - 1 - x) & 1 == 1)
                    {
                        let pixel = UVec2::new((left + x) as u32, SPACE + y as u32).as_ivec2();
                        fill(picture, *at + pixel * scale, IVec2::splat(scale), INK);
                    }
                }
            }
        }
    }
}

/// Fills a rectangle that lies in the picture.
fn fill(picture: &mut Picture, at: IVec2, size: IVec2, colour: Rgba8) {
    let width = picture.width() as usize;
    for y in at.y..at.y + size.y {
        let first = y as usize * width + at.x as usize;
        picture.pixels_mut()[first..first + size.x as usize].fill(colour);
    }
}
