//! Computes one colour correction per picture, so that the colours match as well as possible in all overlaps. The input
//! is the estimate of `ops::colour` for each pair of pictures.

use glam::Vec3;
use nalgebra::{DMatrix, DVector};
use shared_types::stitch::Colour;

use super::coverage::Seen;
use super::error::PanoramaError;
use crate::device::Stream;
use crate::geometry::Geometry;
use crate::io::picture::Picture;
use crate::ops::colour::{Overlap, estimate};
use crate::warp::DeviceWarp;

/// Returns the colour correction of each picture, and the indices of the pictures that could not be matched.
///
/// For each overlapping pair, an estimate determines the ratio of the two gains of each channel, and the ratio of the
/// two gammas. The logarithm of a ratio is a difference of logarithms, so linear least squares gives the logarithms of
/// all corrections. The weight of a pair in the least squares is the sum of the weights of its overlapping pixels. The
/// mean logarithm is 0, so the pictures become neither brighter nor darker on average.
///
/// Holds all pictures in device memory until it returns.
pub(super) fn balanced(
    stream: &Stream,
    pictures: &[Picture],
    geometry: &Geometry,
    seen: &Seen,
) -> Result<(Vec<Colour>, Vec<usize>), PanoramaError> {
    let images: Vec<_> =
        pictures.iter().map(|picture| picture.upload(stream)).collect::<Result<_, _>>()?;
    let many = images.len();
    let mut matrix = DMatrix::<f64>::zeros(many, many);
    // The right-hand sides of the normal equations for red, green, blue and gamma.
    let mut sides = [0; 4].map(|_| DVector::<f64>::zeros(many));
    for right in 1..many {
        for left in (0..right).filter(|&left| seen.overlap(left, right)) {
            let cameras = vec![geometry.cameras[left], geometry.cameras[right]];
            let two = Geometry { cameras, ..*geometry };
            let warp = DeviceWarp::render(stream, &two)?;
            let Some(overlap) = Overlap::find(stream, &warp, [0, 1])? else { continue };
            let sums = overlap.sums(stream, &images[left], &images[right])?;
            let Some(asked) = estimate(&sums, &overlap.limits()) else { continue };
            let weight = f64::from(sums.weight);
            matrix[(left, left)] += weight;
            matrix[(right, right)] += weight;
            matrix[(left, right)] -= weight;
            matrix[(right, left)] -= weight;
            for (side, (l, r)) in sides.iter_mut().zip(logs(asked[0]).zip(logs(asked[1]))) {
                side[left] += weight * (l - r);
                side[right] -= weight * (l - r);
            }
        }
    }
    let unmatched: Vec<usize> = (0..many).filter(|&i| matrix[(i, i)] == 0.0).collect();
    // Make the matrix invertible by adding a small value to its diagonal. Otherwise, adding any constant to all
    // logarithms would be a solution, too.
    let ridge = 1e-9 * (0..many).map(|i| matrix[(i, i)]).fold(1.0, f64::max);
    (0..many).for_each(|i| matrix[(i, i)] += ridge);
    let Some(solved) = matrix.cholesky() else {
        return Ok((vec![Colour::IDENTITY; many], (0..many).collect()));
    };
    let [r, g, b, gamma] = sides.map(|side| solved.solve(&side));
    let colour = |i: usize| Colour {
        gain: Vec3::new(r[i].exp() as f32, g[i].exp() as f32, b[i].exp() as f32)
            .clamp(Vec3::splat(0.5), Vec3::splat(2.0)),
        gamma: gamma[i].exp().clamp(0.8, 1.2) as f32,
    };
    Ok(((0..many).map(colour).collect(), unmatched))
}

/// Yields the logarithms of the three gains and of the gamma.
fn logs(Colour { gain, gamma }: Colour) -> impl Iterator<Item = f64> {
    [gain.x, gain.y, gain.z, gamma].into_iter().map(|value| f64::from(value).ln())
}
