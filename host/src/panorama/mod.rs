//! Stitches two or more pictures in host memory to a panorama. Matches their colours and searches for seams if
//! requested.
//!
//! Two pictures need one stitch. Each further picture needs one more stitch, whose left picture is the panorama of the
//! pictures before. The pixels of this intermediate panorama keep their positions. Its weight is computed from the sum
//! of its cameras' margins, where a margin is the distance of a pixel from the nearest edge of a camera's picture.
//! Therefore each camera has the same weight as if all pictures were blended at once. Each step uses the seam search
//! and the stitch for two pictures. Colour corrections are computed for all pictures before the first stitch, so they
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
//! Cost: each picture is copied to the device once, and takes a pass over the whole canvas. Levels in the overlaps are
//! rounded to 8 bits in each step. Live video of two cameras is in [`live`](crate::live).

mod balance;
mod coverage;
mod error;

use glam::{DMat3, DVec2, UVec2};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::warp::{Camera, Canvas};

pub use coverage::Coverage;
pub use error::PanoramaError;

use crate::device::{DeviceError, Image, Stream};
use crate::geometry::Geometry;
use crate::geometry::rig::MAX_CAMERAS;
use crate::io::picture::Picture;
use crate::ops::colour::{Colours, matched};
use crate::ops::seam::{Blend, SeamError, seamed};
use crate::ops::stitch::{Lookup, StitchOptions, stitch};
use crate::warp::{DeviceWarp, Plane, check_size, check_source};
use balance::balanced;
use coverage::Seen;

/// Options of a panorama.
#[derive(Clone, Copy, Debug, Default)]
pub struct PanoramaOptions {
    /// Flip, edge boost, gamma method, lookup and colours. The colours apply to two pictures if `match_colour` is
    /// false. For more than two pictures, they must be the identity.
    pub stitch: StitchOptions,
    /// Whether to match the colours of overlapping pictures.
    pub match_colour: bool,
    /// The kind of blending in the overlaps.
    pub blend: Blend,
    /// Whether to record the camera with the largest weight at each pixel in [`Panorama::owners`].
    pub owners: bool,
}

/// A panorama with the colour corrections that were applied, and with the results of colour matching and blending.
#[derive(Debug)]
pub struct Panorama {
    /// The panorama as a picture in host memory.
    pub picture: Picture,
    /// The colour correction of each picture.
    pub colours: Vec<Colour>,
    /// Indices of the pictures whose colours could not be matched, because their overlaps are too small, too dark or
    /// too bright.
    pub unmatched: Vec<usize>,
    /// The reason for each overlap in which feathered blending was used although a seam was requested.
    pub without_seam: Vec<SeamError>,
    /// The index of the camera with the largest weight at each pixel, row by row. The element is `u8::MAX` at pixels
    /// that no camera sees. The list is empty if [`PanoramaOptions::owners`] is false.
    pub owners: Vec<u8>,
}

/// Stitches two pictures with a warp, and waits for the panorama.
///
/// # Errors
/// Returns [`PanoramaError`] if the pictures, the warp and the options do not match, or the device fails.
#[track_caller]
pub fn stitch_warp(
    stream: &Stream,
    [left, right]: [&Picture; 2],
    warp: &DeviceWarp,
    options: &PanoramaOptions,
) -> Result<Panorama, PanoramaError> {
    let images = [left.upload(stream)?, right.upload(stream)?];
    let mut colours = options.stitch.colours;
    let mut unmatched = Vec::new();
    if options.match_colour {
        match matched(stream, &[(&images[0]).into(), (&images[1]).into()], warp)? {
            Some(found) => colours = found,
            None => unmatched = vec![0, 1],
        }
    }
    let mut making = Making::new(stream, warp.size(), options)?;
    let looks = [0, 1].map(|i| (&images[i], colours[i], Some(i)));
    making.add(stream, looks, warp, options.stitch)?;
    making.finish(stream, vec![colours[0], colours[1]], unmatched)
}

/// Stitches two or more pictures, one for each camera of the geometry, and waits for the panorama.
///
/// # Errors
/// Returns [`PanoramaError`] if the pictures, the geometry and the options do not match, or the device fails.
#[track_caller]
pub fn stitch_geometry(
    stream: &Stream,
    pictures: &[Picture],
    geometry: &Geometry,
    options: &PanoramaOptions,
) -> Result<(Panorama, Coverage), PanoramaError> {
    check(pictures, geometry, options)?;
    let canvas = geometry.canvas.size;
    let of = |camera: usize| (geometry.canvas, geometry.cameras[camera]);
    let mut seen = Seen::nothing(geometry);
    if let [left, right] = pictures {
        let mut warp = DeviceWarp::margins(stream, canvas, &[of(0), of(1)])?;
        seen.look(stream, &warp, 0)?;
        warp.feather(stream)?;
        return Ok((stitch_warp(stream, [left, right], &warp, options)?, seen.coverage()));
    }
    for camera in 0..pictures.len() {
        seen.look(stream, &DeviceWarp::margins(stream, canvas, &[of(camera)])?, camera)?;
    }
    let images: Vec<_> =
        pictures.iter().map(|picture| picture.upload(stream)).collect::<Result<_, _>>()?;
    let (colours, unmatched) = if options.match_colour {
        balanced(stream, &images, geometry, &seen)?
    } else {
        (vec![Colour::IDENTITY; images.len()], Vec::new())
    };
    let making = add_all(stream, &images, geometry, &seen.order(), &colours, options)?;
    Ok((making.finish(stream, colours, unmatched)?, seen.coverage()))
}

/// Checks that the pictures and the options match the cameras of the geometry.
fn check(
    pictures: &[Picture],
    Geometry { canvas, cameras }: &Geometry,
    options: &PanoramaOptions,
) -> Result<(), PanoramaError> {
    if !(2..=MAX_CAMERAS).contains(&cameras.len()) {
        return Err(PanoramaError::Cameras(cameras.len()));
    }
    if pictures.len() != cameras.len() {
        let (pictures, cameras) = (pictures.len(), cameras.len());
        return Err(PanoramaError::Pictures { pictures, cameras });
    }
    if cameras.len() > 2 && options.stitch.colours != Colours::IDENTITY {
        return Err(PanoramaError::Colours);
    }
    check_size(canvas.size)?;
    for (number, (picture, camera)) in (1..).zip(pictures.iter().zip(cameras)) {
        check_source(camera.size)?;
        let found = picture.size();
        if found != camera.size {
            let expected = camera.size;
            return Err(PanoramaError::PictureSize { number, found, expected });
        }
    }
    Ok(())
}

/// Stitches the first two pictures of `order`. Then stitches the resulting panorama with each further picture.
#[track_caller]
fn add_all(
    stream: &Stream,
    images: &[Image<Rgba8>],
    geometry: &Geometry,
    order: &[usize],
    colours: &[Colour],
    options: &PanoramaOptions,
) -> Result<Making, PanoramaError> {
    let canvas = geometry.canvas.size;
    let of = |camera: usize| (geometry.canvas, geometry.cameras[camera]);
    let mut making = Making::new(stream, canvas, options)?;
    let mut total: Option<Vec<f32>> = None;
    let mut so_far: Option<Image<Rgba8>> = None;
    for (i, &next) in order.iter().enumerate().skip(1) {
        let left = so_far.as_ref().map_or_else(|| of(order[0]), |_| itself(canvas));
        let mut warp = DeviceWarp::margins(stream, canvas, &[left, of(next)])?;
        total = Some(add_margins(stream, &mut warp, total)?);
        warp.feather(stream)?;
        let left = match &so_far {
            Some(panorama) => (panorama, Colour::IDENTITY, None),
            None => (&images[order[0]], colours[order[0]], Some(order[0])),
        };
        // Flip and edge boost concern the whole panorama, so apply them only in the last step.
        let last = i + 1 == order.len();
        let StitchOptions { flip, edge_boost, lookup, .. } = options.stitch;
        let options = StitchOptions {
            flip: flip && last,
            edge_boost: edge_boost && last,
            // Each mesh would be used for only one stitch, which does not save the time to compute it. `Planes` also
            // keeps intermediate results exact.
            lookup: if lookup == Lookup::Mesh { Lookup::Planes } else { lookup },
            ..options.stitch
        };
        making.add(stream, [left, (&images[next], colours[next], Some(next))], &warp, options)?;
        if !last {
            let mut copy = Image::new(stream.device(), canvas.x, canvas.y)?;
            copy.copy_from(stream, &making.out)?;
            so_far = Some(copy);
        }
    }
    Ok(making)
}

/// Replaces the margins of the warp's left camera by `total`, the sum of the margins of all cameras that were already
/// added. Keeps the margins if `total` is `None`, in the first step. Returns the sum of the margins of both cameras.
#[track_caller]
fn add_margins(
    stream: &Stream,
    warp: &mut DeviceWarp,
    total: Option<Vec<f32>>,
) -> Result<Vec<f32>, PanoramaError> {
    let [left, right] = warp.weights_mut() else { return Ok(Vec::new()) };
    let mut sum = match total {
        None => left.download(stream)?,
        Some(total) => {
            left.upload(stream, &total)?;
            total
        }
    };
    let more = right.download(stream)?;
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    Ok(sum)
}

/// A panorama in progress on the device, to which pictures are added step by step.
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

    /// Stitches two pictures, each with its colour correction and the index of its camera. The index is `None` if the
    /// picture is the panorama of the pictures before.
    #[track_caller]
    fn add(
        &mut self,
        stream: &Stream,
        [left, right]: [(&Image<Rgba8>, Colour, Option<usize>); 2],
        warp: &DeviceWarp,
        options: StitchOptions,
    ) -> Result<(), PanoramaError> {
        let colours = Colours::of([left.1, right.1]);
        let options = StitchOptions { colours, ..options };
        let found = match self.blend {
            Blend::Feather => None,
            Blend::Seam(seam) => {
                match seamed(stream, warp, &[left.0.into(), right.0.into()], colours, seam) {
                    Err(reason) if reason.is_of_warp() => {
                        self.without_seam.push(reason);
                        None
                    }
                    seamed => Some(seamed?),
                }
            }
        };
        let warp = found.as_ref().unwrap_or(warp);
        if !self.owners.is_empty() {
            let [l, r] = [0, 1].map(|camera| warp.plane(Plane::Weight(camera)).download(stream));
            for (owner, (l, r)) in self.owners.iter_mut().zip(l?.into_iter().zip(r?)) {
                let most = if r > l { right.2 } else { left.2.filter(|_| l > 0.0) };
                // The index fits into a `u8`, because there are at most 64 cameras.
                *owner = most.map_or(*owner, |camera| camera as u8);
            }
        }
        Ok(stitch(stream, &[left.0.into(), right.0.into()], warp, &options, &mut self.out)?)
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

/// Returns a canvas and a camera with which a stitch copies each pixel of a panorama to the same position.
fn itself(size: UVec2) -> (Canvas, Camera) {
    (Canvas::of_pixels(DVec2::ZERO, size), Camera::from_matrix(DMat3::IDENTITY, size))
}
