//! What a stitch must give, from the specification in f64 and nothing of the project's own code.

use shared_types::Rgba8;
use shared_types::stitch::{Colour, StitchParams};

/// A picture in host memory: size and tight rows.
pub struct Source<'a> {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Pixels, row by row.
    pub pixels: &'a [Rgba8],
}

/// Stitches by the formula of the specification and returns levels before rounding, `None` where no
/// camera counts. `planes` are left x, y, right x, y, weights left, right.
#[must_use]
pub fn stitch(
    width: usize,
    height: usize,
    sources: [Source<'_>; 2],
    planes: &[Vec<f32>; 6],
    params: &StitchParams,
) -> Vec<Option<[f64; 3]>> {
    let mut out = vec![None; width * height];
    for y in 0..height {
        for x in 0..width {
            let at = y * width + x;
            let mut sum = [0.0; 3];
            let mut weights = 0.0;
            for (camera, colour) in [params.left, params.right].iter().enumerate() {
                let source = &sources[camera];
                let weight = f64::from(planes[4 + camera][at]);
                let u = f64::from(planes[2 * camera][at]);
                let v = f64::from(planes[2 * camera + 1][at]);
                let inside =
                    u >= 0.0 && u < source.width as f64 && v >= 0.0 && v < source.height as f64;
                if weight > f64::from(0.001_f32) && inside {
                    let sample = bilinear(source, u, v);
                    for c in 0..3 {
                        sum[c] += weight * apply(colour, c, sample[c]);
                    }
                    weights += weight;
                }
            }
            let boost = if params.edge_boost != 0 {
                let half = width as f64 / 2.0;
                let d = (x as f64 - half).abs() / half;
                if d > 0.8 { (1.0 + (d - 0.8) * 1.75).min(1.35) } else { 1.0 }
            } else {
                1.0
            };
            let to = if params.flip != 0 { width * height - 1 - at } else { at };
            if weights > 0.0 {
                out[to] = Some(sum.map(|s| (s / weights * boost).clamp(0.0, 255.0)));
            }
        }
    }
    out
}

fn bilinear(source: &Source<'_>, u: f64, v: f64) -> [f64; 3] {
    let (x0, y0) = (u.floor() as usize, v.floor() as usize);
    let (a, b) = (u - u.floor(), v - v.floor());
    let level = |x: usize, y: usize| {
        let p = source.pixels[y.min(source.height - 1) * source.width + x.min(source.width - 1)];
        [p.r, p.g, p.b].map(f64::from)
    };
    let corners = [
        (level(x0, y0), (1.0 - a) * (1.0 - b)),
        (level(x0 + 1, y0), a * (1.0 - b)),
        (level(x0, y0 + 1), (1.0 - a) * b),
        (level(x0 + 1, y0 + 1), a * b),
    ];
    let mut sum = [0.0; 3];
    for (level, weight) in corners {
        for c in 0..3 {
            sum[c] += weight * level[c];
        }
    }
    sum
}

/// What a colour makes of a level, by its formula.
#[must_use]
pub fn apply(colour: &Colour, channel: usize, level: f64) -> f64 {
    let gain = f64::from(colour.gain.to_array()[channel]);
    255.0 * (gain * level / 255.0).clamp(0.0, 1.0).powf(f64::from(colour.gamma))
}

/// The largest distance between a picture's levels and exact ones; black must be exactly black.
///
/// # Panics
/// If a pixel is not opaque, or not black where no camera counts.
#[must_use]
pub fn worst(found: &[Rgba8], exact: &[Option<[f64; 3]>]) -> f64 {
    assert_eq!(found.len(), exact.len());
    let mut worst = 0.0_f64;
    for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
        assert_eq!(found.a, 255, "pixel {i} is not opaque");
        match exact {
            None => assert_eq!(*found, Rgba8::BLACK, "pixel {i} is seen by no camera"),
            Some(exact) => {
                for (found, exact) in [found.r, found.g, found.b].iter().zip(exact) {
                    worst = worst.max((f64::from(*found) - exact).abs());
                }
            }
        }
    }
    worst
}

/// Largest difference in levels, and PSNR in dB over red, green and blue.
#[must_use]
pub fn compare(a: &[Rgba8], b: &[Rgba8]) -> (u8, f64) {
    assert_eq!(a.len(), b.len());
    let mut largest = 0;
    let mut squares = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in [(a.r, b.r), (a.g, b.g), (a.b, b.b)] {
            largest = largest.max(a.abs_diff(b));
            squares += f64::from(a.abs_diff(b)).powi(2);
        }
    }
    let mse = squares / (3 * a.len()) as f64;
    (largest, if mse == 0.0 { f64::INFINITY } else { 10.0 * (255.0 * 255.0 / mse).log10() })
}
