//! Panoramas of two or more pictures in host memory: colours, seams and stitches.
//!
//! Two pictures take one stitch. Each further picture takes one more: the panorama so far is the left picture of the
//! next step. It lies at its own place, and a pixel's weight is the sum of its cameras' distances from their edges. So
//! each camera has the weight that it would have if all were blended at once, and seams and stitches are those of two
//! pictures. Colours are determined before, once for all pictures, so they do not depend on the order.
//!
//! ```no_run
//! # fn stitch(
//! #     stream: &panoweave::device::Stream,
//! #     pictures: &[panoweave::io::picture::Picture],
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use panoweave::panorama::{PanoramaOptions, stitch_geometry};
//! use panoweave::geometry::rig::Rig;
//!
//! let geometry = Rig::open("rig.toml")?.geometry()?;
//! let options = PanoramaOptions { match_colour: true, ..PanoramaOptions::default() };
//! let (panorama, coverage) = stitch_geometry(stream, pictures, &geometry, &options)?;
//! panorama.picture.save("panorama.png")?;
//! # Ok(()) }
//! ```
//!
//! Cost: each picture is copied to the device once, and takes a pass over the whole canvas. Blended levels are rounded
//! once per step. Live video of two cameras is in [`live`](crate::live).

use glam::{DMat3, DVec2, UVec2, Vec3};
use nalgebra::{DMatrix, DVector};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::warp::{Camera, Canvas};
use thiserror::Error;

use crate::device::{DeviceError, Image, Stream};
use crate::geometry::Geometry;
use crate::geometry::rig::MAX_CAMERAS;
use crate::io::picture::Picture;
use crate::ops::colour::{Colours, Overlap, estimate, matched};
use crate::ops::seam::{Blend, SeamError, seamed};
use crate::ops::stitch::{Lookup, StitchError, StitchOptions, stitch};
use crate::warp::{DeviceWarp, Plane, PlaneError, RenderError, check_sizes};

/// Options of a panorama.
#[derive(Clone, Copy, Debug, Default)]
pub struct PanoramaOptions {
    /// Flip, edge boost, the computation of gamma; and the colours of two pictures if they are not matched.
    pub stitch: StitchOptions,
    /// Matches the colours of overlapping pictures.
    pub match_colour: bool,
    /// Blending in the overlaps.
    pub blend: Blend,
    /// Records the camera with the largest weight at each pixel: [`Panorama::owners`].
    pub owners: bool,
}

/// A panorama and its corrections.
#[derive(Debug)]
pub struct Panorama {
    /// The panorama.
    pub picture: Picture,
    /// The colour correction of each picture.
    pub colours: Vec<Colour>,
    /// Pictures whose colours could not be matched, because their overlaps are small or dark.
    pub unmatched: Vec<usize>,
    /// The reasons for overlaps that are feathered although a seam was requested.
    pub without_seam: Vec<SeamError>,
    /// The camera with the largest weight at each pixel, row by row; `u8::MAX` where no camera looks. Empty if it was
    /// not requested.
    pub owners: Vec<u8>,
}

/// The fractions of a panorama that cameras see.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// Seen by any camera.
    pub any: f64,
    /// Seen by each camera.
    pub cameras: Vec<f64>,
    /// Seen by more than one camera.
    pub overlap: f64,
}

/// Pictures and geometry do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PanoramaError {
    /// The geometry has one camera, or too many.
    #[error("panorama: the geometry has {0} cameras; it has 2 to {MAX_CAMERAS}")]
    Cameras(usize),
    /// The number of pictures differs from the number of cameras.
    #[error("panorama: {pictures} pictures for a geometry of {cameras} cameras")]
    Pictures {
        /// The number of pictures.
        pictures: usize,
        /// The number of cameras.
        cameras: usize,
    },
    /// A gain or gamma is given for more than two pictures.
    #[error("panorama: gains and gammas are given for two pictures; colours of more are matched")]
    Colours,
    /// The size is invalid for a panorama or picture.
    #[error("panorama: {0}")]
    Size(#[from] PlaneError),
    /// Pictures, warp and options do not match.
    #[error(transparent)]
    Stitch(StitchError),
    /// The options of the seam are invalid.
    #[error(transparent)]
    Seam(SeamError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<StitchError> for PanoramaError {
    fn from(error: StitchError) -> Self {
        match error {
            StitchError::Device(error) => Self::Device(error),
            error => Self::Stitch(error),
        }
    }
}

impl From<RenderError> for PanoramaError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Cameras(found) => Self::Cameras(found),
            RenderError::Plane(error) => Self::Size(error),
            RenderError::Device(error) => Self::Device(error),
        }
    }
}

impl From<SeamError> for PanoramaError {
    fn from(error: SeamError) -> Self {
        match error {
            SeamError::Device(error) => Self::Device(error),
            SeamError::Stitch(error) => error.into(),
            error => Self::Seam(error),
        }
    }
}

/// Stitches two pictures by a warp, and waits for the panorama.
///
/// # Errors
/// Returns [`PanoramaError`] if the inputs do not match or the device fails.
#[track_caller]
pub fn stitch_warp(
    stream: &Stream,
    [left, right]: [&Picture; 2],
    warp: &DeviceWarp,
    options: &PanoramaOptions,
) -> Result<Panorama, PanoramaError> {
    let images = [left.upload(stream)?, right.upload(stream)?];
    let mut colours = vec![options.stitch.left, options.stitch.right];
    let mut unmatched = Vec::new();
    if options.match_colour {
        match matched(stream, &images[0], &images[1], warp)? {
            Some(Colours { left, right }) => colours = vec![left, right],
            None => unmatched = vec![0, 1],
        }
    }
    let mut making = Making::new(stream, warp.size(), options)?;
    let looks = [0, 1].map(|i| (&images[i], colours[i], Some(i)));
    making.add(stream, looks, warp, options.stitch)?;
    making.finish(stream, colours, unmatched)
}

/// Stitches the pictures of a geometry's cameras, two or more, and waits for the panorama.
///
/// # Errors
/// Returns [`PanoramaError`] if the inputs do not match or the device fails.
#[track_caller]
pub fn stitch_geometry(
    stream: &Stream,
    pictures: &[Picture],
    geometry: &Geometry,
    options: &PanoramaOptions,
) -> Result<(Panorama, Coverage), PanoramaError> {
    let Geometry { canvas, cameras } = geometry;
    if !(2..=MAX_CAMERAS).contains(&cameras.len()) {
        return Err(PanoramaError::Cameras(cameras.len()));
    }
    if pictures.len() != cameras.len() {
        let (pictures, cameras) = (pictures.len(), cameras.len());
        return Err(PanoramaError::Pictures { pictures, cameras });
    }
    let StitchOptions { left, right, .. } = options.stitch;
    if cameras.len() > 2 && [left, right] != [Colour::IDENTITY; 2] {
        return Err(PanoramaError::Colours);
    }
    for (picture, camera) in pictures.iter().zip(cameras) {
        check_sizes(canvas.size, [camera.size; 2])?;
        let found = picture.size();
        if found != camera.size {
            let (side, expected) = ("camera's", camera.size);
            return Err(StitchError::SourceSize { side, found, expected }.into());
        }
    }
    let of = |camera: usize| (*canvas, cameras[camera]);
    let mut seen = Seen::nothing(geometry);
    if let [left, right] = pictures {
        let mut warp = DeviceWarp::margins(stream, canvas.size, [of(0), of(1)])?;
        seen.look(stream, &warp, [0, 1])?;
        warp.feather(stream)?;
        return Ok((stitch_warp(stream, [left, right], &warp, options)?, seen.coverage()));
    }
    for first in (0..cameras.len()).step_by(2) {
        // An odd last picture is paired with itself.
        let two = [first, (first + 1).min(cameras.len() - 1)];
        seen.look(stream, &DeviceWarp::margins(stream, canvas.size, two.map(of))?, two)?;
    }
    let coverage = seen.coverage();
    let images: Vec<_> =
        pictures.iter().map(|picture| picture.upload(stream)).collect::<Result<_, _>>()?;
    let (colours, unmatched) = if options.match_colour {
        balanced(stream, &images, geometry, &seen)?
    } else {
        (vec![Colour::IDENTITY; images.len()], Vec::new())
    };
    let mut making = Making::new(stream, canvas.size, options)?;
    let order = seen.order();
    let mut total: Option<Vec<f32>> = None;
    let mut so_far: Option<Image<Rgba8>> = None;
    for (i, &next) in order.iter().enumerate().skip(1) {
        let left = so_far.as_ref().map_or_else(|| of(order[0]), |_| itself(canvas.size));
        let mut warp = DeviceWarp::margins(stream, canvas.size, [left, of(next)])?;
        let [left_margin, right_margin] = warp.weights_mut();
        let mut sum = match total.take() {
            None => left_margin.download(stream)?,
            Some(total) => {
                left_margin.upload(stream, &total)?;
                total
            }
        };
        let more = right_margin.download(stream)?;
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        total = Some(sum);
        warp.feather(stream)?;
        let left = match &so_far {
            Some(panorama) => (panorama, Colour::IDENTITY, None),
            None => (&images[order[0]], colours[order[0]], Some(order[0])),
        };
        // Options for the whole panorama apply once, in the last step.
        let last = i + 1 == order.len();
        let StitchOptions { flip, edge_boost, lookup, .. } = options.stitch;
        let options = StitchOptions {
            flip: flip && last,
            edge_boost: edge_boost && last,
            // A mesh does not pay for one stitch, and intermediate results must stay exact.
            lookup: if lookup == Lookup::Mesh { Lookup::Planes } else { lookup },
            ..options.stitch
        };
        making.add(stream, [left, (&images[next], colours[next], Some(next))], &warp, options)?;
        if !last {
            let mut copy = Image::new(stream.device(), canvas.size.x, canvas.size.y)?;
            copy.copy_from(stream, &making.out)?;
            so_far = Some(copy);
        }
    }
    Ok((making.finish(stream, colours, unmatched)?, coverage))
}

/// A panorama on the device to which pictures are added.
struct Making {
    out: Image<Rgba8>,
    blend: Blend,
    without_seam: Vec<SeamError>,
    owners: Vec<u8>,
}

impl Making {
    fn new(stream: &Stream, size: UVec2, options: &PanoramaOptions) -> Result<Self, DeviceError> {
        let out = Image::new(stream.device(), size.x, size.y)?;
        let pixels = if options.owners { size.x as usize * size.y as usize } else { 0 };
        Ok(Self {
            out,
            blend: options.blend,
            without_seam: Vec::new(),
            owners: vec![u8::MAX; pixels],
        })
    }

    /// Stitches two pictures, each with its colour and its camera; `None` stands for the panorama so far.
    #[track_caller]
    fn add(
        &mut self,
        stream: &Stream,
        [left, right]: [(&Image<Rgba8>, Colour, Option<usize>); 2],
        warp: &DeviceWarp,
        options: StitchOptions,
    ) -> Result<(), PanoramaError> {
        let options = StitchOptions { left: left.1, right: right.1, ..options };
        let colours = Colours { left: left.1, right: right.1 };
        let found = match self.blend {
            Blend::Feather => None,
            Blend::Seam(seam) => match seamed(stream, warp, left.0, right.0, colours, seam) {
                Err(reason) if reason.is_of_warp() => {
                    self.without_seam.push(reason);
                    None
                }
                seamed => Some(seamed?),
            },
        };
        let warp = found.as_ref().unwrap_or(warp);
        if !self.owners.is_empty() {
            let weights = [Plane::WeightLeft, Plane::WeightRight];
            let [l, r] = weights.map(|plane| warp.plane(plane).download(stream));
            for (owner, (l, r)) in self.owners.iter_mut().zip(l?.into_iter().zip(r?)) {
                let most = if r > l { right.2 } else { left.2.filter(|_| l > 0.0) };
                // There are fewer than 64 cameras.
                *owner = most.map_or(*owner, |camera| camera as u8);
            }
        }
        Ok(stitch(stream, left.0, right.0, warp, &options, &mut self.out)?)
    }

    #[track_caller]
    fn finish(
        self,
        stream: &Stream,
        colours: Vec<Colour>,
        unmatched: Vec<usize>,
    ) -> Result<Panorama, PanoramaError> {
        let Self { out, without_seam, owners, .. } = self;
        let mut picture = Picture::filled(out.width(), out.height(), Rgba8::BLACK);
        out.download_to(stream, picture.pixels_mut())?;
        Ok(Panorama { picture, colours, unmatched, without_seam, owners })
    }
}

/// Returns the geometry of a picture that covers the whole panorama.
fn itself(size: UVec2) -> (Canvas, Camera) {
    (Canvas::of_pixels(DVec2::ZERO, size), Camera::from_matrix(DMat3::IDENTITY, size))
}

/// The cameras that see each pixel: bit i is camera i.
struct Seen {
    pixels: Vec<u64>,
    cameras: usize,
}

impl Seen {
    fn nothing(Geometry { canvas, cameras }: &Geometry) -> Self {
        let pixels = vec![0; canvas.size.x as usize * canvas.size.y as usize];
        Self { pixels, cameras: cameras.len() }
    }

    /// Records the areas of two cameras from a warp whose weights are still the margins.
    fn look(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
    ) -> Result<(), DeviceError> {
        for (camera, plane) in cameras.into_iter().zip([Plane::WeightLeft, Plane::WeightRight]) {
            let margins = warp.plane(plane).download(stream)?;
            for (seen, margin) in self.pixels.iter_mut().zip(margins) {
                *seen |= u64::from(margin > 0.0) << camera;
            }
        }
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        let share = |of: &dyn Fn(u64) -> bool| {
            self.pixels.iter().filter(|&&seen| of(seen)).count() as f64 / self.pixels.len() as f64
        };
        Coverage {
            any: share(&|seen| seen != 0),
            cameras: (0..self.cameras).map(|i| share(&|seen| seen >> i & 1 == 1)).collect(),
            overlap: share(&|seen| seen.count_ones() > 1),
        }
    }

    /// Returns whether two cameras see a common pixel.
    fn overlap(&self, a: usize, b: usize) -> bool {
        let both = 1 << a | 1 << b;
        self.pixels.iter().any(|seen| seen & both == both)
    }

    /// Returns an order from the first camera on that always continues with the largest overlap with those before, so
    /// that seams have an overlap to start from.
    fn order(&self) -> Vec<usize> {
        let mut order = vec![0];
        while order.len() < self.cameras {
            let before = order.iter().fold(0_u64, |bits, camera| bits | 1 << camera);
            let mut common = vec![0_u64; self.cameras];
            for seen in self.pixels.iter().filter(|&&seen| seen & before != 0) {
                let mut more = seen & !before;
                while more != 0 {
                    common[more.trailing_zeros() as usize] += 1;
                    more &= more - 1;
                }
            }
            let rest = (0..self.cameras).filter(|camera| before >> camera & 1 == 0);
            // Of equal overlaps, the first.
            order.extend(rest.rev().max_by_key(|&camera| common[camera]));
        }
        order
    }
}

/// Returns the colours of all pictures that equalise the overlaps best, and the pictures without information.
///
/// Each pair gives a ratio of gains and gammas, whose logarithms are differences between the pictures' own logarithms.
/// Least squares finds these, with each pair weighted by its samples, such that the mean correction is neutral.
fn balanced(
    stream: &Stream,
    images: &[Image<Rgba8>],
    geometry: &Geometry,
    seen: &Seen,
) -> Result<(Vec<Colour>, Vec<usize>), PanoramaError> {
    let many = images.len();
    let mut matrix = DMatrix::<f64>::zeros(many, many);
    // Red, green, blue, gamma.
    let mut sides = [0; 4].map(|_| DVector::<f64>::zeros(many));
    for right in 1..many {
        for left in (0..right).filter(|&left| seen.overlap(left, right)) {
            let cameras = vec![geometry.cameras[left], geometry.cameras[right]];
            let two = Geometry { cameras, ..*geometry };
            let warp = DeviceWarp::render(stream, &two)?;
            let Some(overlap) = Overlap::find(stream, &warp)? else { continue };
            let sums = overlap.sums(stream, &images[left], &images[right])?;
            let Some(asked) = estimate(&sums, &overlap.limits()) else { continue };
            let weight = f64::from(sums.weight);
            matrix[(left, left)] += weight;
            matrix[(right, right)] += weight;
            matrix[(left, right)] -= weight;
            matrix[(right, left)] -= weight;
            for (side, (l, r)) in sides.iter_mut().zip(logs(asked.left).zip(logs(asked.right))) {
                side[left] += weight * (l - r);
                side[right] -= weight * (l - r);
            }
        }
    }
    let unmatched: Vec<usize> = (0..many).filter(|&i| matrix[(i, i)] == 0.0).collect();
    // Without this row, any constant could be added.
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

/// Yields the logarithms of gains and gamma.
fn logs(Colour { gain, gamma }: Colour) -> impl Iterator<Item = f64> {
    [gain.x, gain.y, gain.z, gamma].into_iter().map(|value| f64::from(value).ln())
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn neighbours_follow_each_other() {
        // 0 and 2 overlap, 2 and 1 overlap more, so do 3 and 1; 4 is alone.
        let pixels = vec![0b00001, 0b00101, 0b00110, 0b00110, 0b01010, 0b10000, 0];
        let seen = Seen { pixels, cameras: 5 };
        assert_eq!(seen.order(), [0, 2, 1, 3, 4]);
        assert!(seen.overlap(1, 3) && !seen.overlap(0, 1));
    }
}
