//! Panoramas of pictures in host memory: colours, seams and stitches, for two pictures or more.
//!
//! Two pictures are one stitch. More are a stitch for each picture more: the panorama so far is the left picture
//! of the next step. It looks at its own place, and a pixel of it counts as much as its cameras'
//! distances from their edges add up to, so each camera counts as it would if all were blended at once, and
//! seams and stitches are those of two pictures. Colours are settled before, once for all pictures, so that they
//! do not depend on the order.
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
//! Cost: each picture is copied to the device once, and for each a pass over the whole canvas is made. Where
//! pictures are blended levels are rounded, once a step. Live video is of two cameras, and in
//! [`live`](crate::live).

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

/// How pictures become a panorama.
#[derive(Clone, Copy, Debug, Default)]
pub struct PanoramaOptions {
    /// Flip, edge boost, how gamma is computed; and the colours of two pictures where they are not matched.
    pub stitch: StitchOptions,
    /// Matches the colours of pictures where they overlap.
    pub match_colour: bool,
    /// How overlaps are shown.
    pub blend: Blend,
    /// Notes which camera counts most at each pixel: [`Panorama::owners`].
    pub owners: bool,
}

/// A panorama, and what was done for it.
#[derive(Debug)]
pub struct Panorama {
    /// The panorama.
    pub picture: Picture,
    /// How each picture's colours were corrected.
    pub colours: Vec<Colour>,
    /// Pictures whose colours could not be matched: what they have in common with others is small or dark.
    pub unmatched: Vec<usize>,
    /// Why overlaps are blended by the warp's weights where a seam was asked for.
    pub without_seam: Vec<SeamError>,
    /// The camera that counts most at each pixel, row by row, `u8::MAX` where none does; empty if it was not
    /// asked for.
    pub owners: Vec<u8>,
}

/// What fractions of a panorama are seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// By any camera.
    pub any: f64,
    /// By each camera.
    pub cameras: Vec<f64>,
    /// By more than one.
    pub overlap: f64,
}

/// Pictures and geometry do not go together, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PanoramaError {
    /// A geometry of one camera, or of very many.
    #[error("panorama: the geometry has {0} cameras; it has 2 to {MAX_CAMERAS}")]
    Cameras(usize),
    /// Another number of pictures than cameras.
    #[error("panorama: {pictures} pictures for a geometry of {cameras} cameras")]
    Pictures {
        /// How many pictures there are.
        pictures: usize,
        /// How many cameras.
        cameras: usize,
    },
    /// A gain or gamma was given for more than two pictures.
    #[error("panorama: gains and gammas are given for two pictures; colours of more are matched")]
    Colours,
    /// A size that no panorama or picture has.
    #[error("panorama: {0}")]
    Size(#[from] PlaneError),
    /// Pictures, warp and options do not go together.
    #[error(transparent)]
    Stitch(StitchError),
    /// A seam was asked for wrongly.
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

/// Stitches two pictures with a warp, and waits for the panorama.
///
/// # Errors
/// [`PanoramaError`].
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

/// Stitches the pictures of the cameras of a geometry, two or more, and waits for the panorama.
///
/// # Errors
/// [`PanoramaError`].
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
        // Of an odd number the last one is looked at twice.
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
        // What is done to the whole panorama is done once.
        let last = i + 1 == order.len();
        let StitchOptions { flip, edge_boost, lookup, .. } = options.stitch;
        let options = StitchOptions {
            flip: flip && last,
            edge_boost: edge_boost && last,
            // No mesh pays for one stitch, and what is stitched again stays as exact as it can be.
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

/// A panorama on the device that pictures are added to.
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

    /// Stitches two pictures, each with its colour and its camera: `None` for the panorama so far.
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
                // Fewer than 64 cameras there are.
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

/// The view of a picture that is as large as the panorama and lies on it.
fn itself(size: UVec2) -> (Canvas, Camera) {
    (Canvas::of_pixels(DVec2::ZERO, size), Camera::from_matrix(DMat3::IDENTITY, size))
}

/// Which cameras see each pixel: bit i is camera i.
struct Seen {
    pixels: Vec<u64>,
    cameras: usize,
}

impl Seen {
    fn nothing(Geometry { canvas, cameras }: &Geometry) -> Self {
        let pixels = vec![0; canvas.size.x as usize * canvas.size.y as usize];
        Self { pixels, cameras: cameras.len() }
    }

    /// Notes what two cameras see: those of a warp whose weights are the margins still.
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

    /// Whether two cameras see a pixel together.
    fn overlap(&self, a: usize, b: usize) -> bool {
        let both = 1 << a | 1 << b;
        self.pixels.iter().any(|seen| seen & both == both)
    }

    /// From the first camera on, always the one that has most in common with those before it, so that seams
    /// have an overlap to come from.
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
            // Of those that have as much, the first.
            order.extend(rest.rev().max_by_key(|&camera| common[camera]));
        }
        order
    }
}

/// The colours of all pictures that make every overlap as equal as can be, and the pictures that nothing is
/// known of.
///
/// What each pair asks for is a ratio of gains and gammas; their logarithms are the differences that the
/// pictures' own should have. Those are found by least squares, each pair counting as the samples that
/// it has, and all of them together brighten nothing.
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
    // Without a sum of its own any constant would do.
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

/// Logarithms of gains and gamma.
fn logs(Colour { gain, gamma }: Colour) -> impl Iterator<Item = f64> {
    [gain.x, gain.y, gain.z, gamma].into_iter().map(|value| f64::from(value).ln())
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn neighbours_follow_each_other() {
        // 0 and 2 overlap, 2 and 1 by more, 3 and 1; 4 sees what no other does.
        let pixels = vec![0b00001, 0b00101, 0b00110, 0b00110, 0b01010, 0b10000, 0];
        let seen = Seen { pixels, cameras: 5 };
        assert_eq!(seen.order(), [0, 2, 1, 3, 4]);
        assert!(seen.overlap(1, 3) && !seen.overlap(0, 1));
    }
}
