//! Stitches pictures in host memory to a panorama. Matches their colours and searches for seams if
//! requested.
//!
//! With a warp, all pictures are one stitch ([`stitch_warp`]). Up to 16 pictures of a geometry with multiband blending
//! are, too, and with a lookup that takes all cameras in one launch, such as
//! [`Mesh`](crate::ops::stitch::Lookup::Mesh). Other pictures of a geometry, for which
//! [`Auto`](crate::ops::stitch::Lookup::Auto) stands for planes, are added one by one to sums in f32, which are rounded
//! once at the end (`several`). With feathered blending, the weight
//! of a picture is its margin: the distance of a pixel from the nearest edge of the picture. With a seam, a cut assigns
//! one camera to each part of the panorama (`seams`). Colour corrections and the cut are computed for all pictures
//! first. Transparent pixels of the pictures are left out (see [`Picture::mask`]).
//!
//! ```no_run
//! # fn stitch(
//! #     stream: &panoweave::device::Stream,
//! #     pictures: &[panoweave::io::picture::Picture],
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use panoweave::geometry::rig::Rig;
//! use panoweave::ops::stitch::{StitchOptions, Vignettes};
//! use panoweave::panorama::{PanoramaOptions, stitch_geometry};
//!
//! let rig = Rig::open("rig.toml")?;
//! let stitch = StitchOptions { vignettes: Vignettes::of_rig(&rig), ..StitchOptions::default() };
//! let options = PanoramaOptions { stitch, match_colour: true, ..PanoramaOptions::default() };
//! let (panorama, coverage) = stitch_geometry(stream, pictures, &rig.geometry()?, &options)?;
//! panorama.picture.save("panorama.png")?;
//! # Ok(()) }
//! ```
//!
//! Pictures with 16 bits per channel (`Picture<Rgba16>`) give a panorama with 16 bits: they are sampled, corrected and
//! summed in f32, and rounded once more only by colour matching. The model of colour matching and the cut are computed
//! from their upper 8 bits. Multiband blending changes a panorama by values in half precision, whose error is at most
//! 0.2 of 255 levels; where it changes nothing, all levels are kept.
//!
//! Cost of pictures that are added one by one: the panorama is made in strips of columns, and for each strip only the
//! planes of the pictures in it are rendered. Device memory holds the pictures of a strip, and 28 bytes per pixel of
//! it. Host memory holds all pictures and the panorama. With a flip or an edge boost, the strip is the
//! whole panorama. Live video is in [`live`](crate::live).

mod coverage;
mod error;
mod seams;
mod several;
mod sources;
mod window;

use glam::UVec2;
use shared_types::Rgba8;
use shared_types::colour::OverlapBox;
use shared_types::stitch::{Colour, MAX_CAMERAS};

pub use coverage::Coverage;
pub use error::PanoramaError;

use crate::device::{Image, Stream};
use crate::frame::{FrameFormat, PixelFormat};
use crate::geometry::rig::MAX_RIG_CAMERAS;
use crate::geometry::{Geometry, Vignetting};
use crate::io::picture::{Mask, Picture, Pixel};
use crate::ops::blend::Blend;
use crate::ops::colour::Colours;
use crate::ops::photometry::Photometry;
use crate::ops::refine::{Comparison, GraySource, RefineOptions};
use crate::ops::stitch::{Covers, LookupCase, StitchError, StitchOptions, StitchSet, Vignettes};
use crate::warp::{DeviceWarp, Plane, check_size, check_source};
use coverage::{Counts, Seen};
use several::Several;
use sources::{Sources, place, places_of_geometry, places_of_warp};

/// Options of a panorama.
#[derive(Clone, Copy, Debug, Default)]
pub struct PanoramaOptions {
    /// Flip, edge boost, gamma method, lookup, colours, vignettes and covers. The colours apply if `match_colour` is
    /// false. For more than 16 pictures, colours, vignettes and covers must change nothing;
    /// [`PictureCorrection::of_vignette`](crate::ops::photometry::PictureCorrection::of_vignette) undoes a vignette in a
    /// picture.
    pub stitch: StitchOptions,
    /// Whether to match the colours of overlapping pictures. The estimate begins with the vignettes of `stitch`, and adds
    /// what the overlaps show.
    pub match_colour: bool,
    /// The picture that keeps its exposure and white balance, to which the others are matched. If `None`, all pictures
    /// share the changes. Vignetting is undone in all pictures.
    pub anchor: Option<usize>,
    /// The kind of blending in the overlaps.
    pub blend: Blend,
    /// How to move the pictures in their overlaps so that near objects fit together, or `None` to leave them as the
    /// geometry places them.
    pub refine: Option<RefineOptions>,
    /// Whether to record the camera with the largest weight at each pixel in [`Panorama::owners`].
    pub owners: bool,
}

/// A panorama with the colour corrections that were applied, and with the results of colour matching and blending.
#[derive(Debug)]
pub struct Panorama<P = Rgba8> {
    /// The panorama as a picture in host memory.
    pub picture: Picture<P>,
    /// The colour correction of each picture. If colours were matched, it consists of the gains of
    /// [`photometry`](Self::photometry).
    pub colours: Vec<Colour>,
    /// The exposures, the vignetting and the response that were corrected, if colours were matched.
    pub photometry: Option<Photometry>,
    /// Indices of the pictures whose colours could not be matched, because their overlaps are too small, too dark or
    /// too bright.
    pub unmatched: Vec<usize>,
    /// The index of the camera with the largest weight at each pixel, row by row. The element is `u8::MAX` at pixels
    /// that no camera sees. The list is empty if [`PanoramaOptions::owners`] is false.
    pub owners: Vec<u8>,
}

/// Stitches one picture per camera of a warp, and waits for the panorama.
///
/// # Errors
/// Returns [`PanoramaError`] if the pictures, the warp and the options do not match, or the device fails.
#[track_caller]
pub fn stitch_warp<P: Pixel>(
    stream: &Stream,
    pictures: &[&Picture<P>],
    warp: &DeviceWarp,
    options: &PanoramaOptions,
) -> Result<Panorama<P>, PanoramaError> {
    check_options::<P>(pictures.len(), options)?;
    let places = || places_of_warp(stream, warp);
    let sources = Sources::new(pictures.to_vec(), options, places)?;
    let masks: Vec<_> = pictures.iter().map(|picture| Mask::of(picture)).collect();
    // `stitch_sources` refuses other pictures.
    let fits = pictures.iter().map(|picture| picture.size()).eq(warp.sources().iter().copied());
    let refined = |refine| {
        let comparison = Comparison::new(warp.size(), warp.sources(), refine, warp.places(stream)?);
        let grays: Vec<_> = pictures.iter().copied().map(GraySource::of_picture).collect();
        warp.refined(stream, &comparison.measure(&grays), 0, (UVec2::ZERO, 1))
    };
    let refined = options.refine.filter(|_| fits).map(refined).transpose()?;
    let warp = refined.as_ref().unwrap_or(warp);
    let is_masked = fits && masks.iter().any(Option::is_some);
    let masked = is_masked.then(|| warp.masked(stream, &masks)).transpose()?;
    stitch_sources(stream, sources, &masks, masked.as_ref().unwrap_or(warp), options)
}

/// Stitches the pictures of a warp; see [`stitch_warp`]. There is one mask per picture. The weights of the warp are 0
/// at masked pixels.
#[track_caller]
fn stitch_sources<P: Pixel>(
    stream: &Stream,
    sources: Sources<'_, P>,
    masks: &[Option<Mask>],
    warp: &DeviceWarp,
    options: &PanoramaOptions,
) -> Result<Panorama<P>, PanoramaError> {
    let pictures = &sources.pictures;
    let images = (0..pictures.len()).map(|camera| sources.upload(stream, camera));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let mut blend = options.blend.mode();
    blend.prepare(stream, warp)?;
    let cut =
        blend.seam().map(|seam| seams::cut(stream, warp, &sources, masks, seam)).transpose()?;
    let weights = cut.as_ref().unwrap_or(warp);
    let size = warp.size();
    let mut owners = no_owners(size, options);
    own(stream, weights, &mut owners)?;
    let mut out = Image::new(stream.device(), size.x, size.y)?;
    let stitched = sources.options(options.stitch);
    let set = StitchSet::new(images.iter().map(P::view), weights, &stitched)?;
    blend.submit(stream, &set, &mut out)?;
    let picture = Picture::download(stream, &out)?;
    Ok(sources.panorama(picture, owners))
}

/// Stitches 1 to 64 pictures, one for each camera of the geometry, and waits for the panorama.
///
/// # Errors
/// Returns [`PanoramaError`] if the pictures, the geometry and the options do not match, or the device fails.
#[track_caller]
pub fn stitch_geometry<P: Pixel>(
    stream: &Stream,
    pictures: &[Picture<P>],
    geometry: &Geometry,
    options: &PanoramaOptions,
) -> Result<(Panorama<P>, Coverage), PanoramaError> {
    check(pictures, geometry, options)?;
    let canvas = geometry.canvas.size;
    let masks: Vec<Option<Mask>> = pictures.iter().map(Mask::of).collect();
    let places = || Ok(places_of_geometry(geometry));
    let sources = Sources::new(pictures.iter().collect(), options, places)?;
    let refinement = options.refine.map(|refine| {
        let place = |camera: usize, at: UVec2| place(geometry, camera, at);
        let sizes: Vec<_> = pictures.iter().map(Picture::size).collect();
        let grays: Vec<_> = pictures.iter().map(GraySource::of_picture).collect();
        Comparison::new(canvas, &sizes, refine, place).measure(&grays)
    });
    if needs_warp(options) {
        let views: Vec<_> =
            geometry.cameras.iter().map(|camera| (geometry.canvas, *camera)).collect();
        let mut warp = DeviceWarp::margins(stream, canvas, &views)?;
        if let Some(refinement) = &refinement {
            warp = warp.refined(stream, refinement, 0, (UVec2::ZERO, 1))?;
        }
        seams::mask(stream, &mut warp, &masks)?;
        let whole = OverlapBox { min: UVec2::ZERO, max: canvas };
        let (mut counts, mut seen) =
            (Counts::new(pictures.len()), Seen::nothing(canvas.x, canvas.y));
        for camera in 0..pictures.len() {
            let margins = warp.plane(Plane::Weight(camera)).download(stream)?;
            seen.record(whole, &margins, camera, &mut counts);
        }
        seen.count(&mut counts);
        warp.feather(stream)?;
        return Ok((stitch_sources(stream, sources, &masks, &warp, options)?, counts.coverage()));
    }
    let refinement = refinement.as_ref();
    let several = Several { sources: &sources, geometry, refinement, masks: &masks, options };
    let (picture, owners, coverage) = several.stitch(stream)?;
    Ok((sources.panorama(picture, owners), coverage))
}

/// Estimates the vignetting of pictures, one for each camera of the geometry. Uses only the CPU.
///
/// A stitch that matches colours also estimates a response ([`Panorama::photometry`]), with which vignetting has other
/// values. This estimate is for stitches that undo vignetting but no response, such as those of live video.
///
/// # Errors
/// Returns [`PanoramaError`] if the pictures do not match the geometry.
pub fn vignetting<P: Pixel>(
    pictures: &[Picture<P>],
    geometry: &Geometry,
) -> Result<Vec<Vignetting>, PanoramaError> {
    check(pictures, geometry, &PanoramaOptions::default())?;
    let pictures: Vec<_> = pictures.iter().collect();
    Ok(Photometry::vignetting(&pictures, &places_of_geometry(geometry)))
}

/// Checks that the pictures and the options match the cameras of the geometry.
fn check<P: Pixel>(
    pictures: &[Picture<P>],
    Geometry { canvas, cameras }: &Geometry,
    options: &PanoramaOptions,
) -> Result<(), PanoramaError> {
    if !(1..=MAX_RIG_CAMERAS).contains(&cameras.len()) {
        return Err(PanoramaError::Invalid(format!(
            "the geometry has {} cameras; it must have 1 to {MAX_RIG_CAMERAS}",
            cameras.len()
        )));
    }
    if pictures.len() != cameras.len() {
        return Err(PanoramaError::Invalid(format!(
            "{} pictures for a geometry of {} cameras; the number of pictures must equal the number of cameras",
            pictures.len(),
            cameras.len()
        )));
    }
    options.blend.check(cameras.len(), false)?;
    let StitchOptions { colours, vignettes, covers, .. } = options.stitch;
    let given = [
        (colours != Colours::IDENTITY, "gains and gammas", "use colour matching"),
        (
            vignettes != Vignettes::NONE,
            "vignettes",
            "undo them in the pictures first, with PictureCorrection::of_vignette",
        ),
        (covers != Covers::NONE, "covers", "remove them"),
    ];
    if cameras.len() > MAX_CAMERAS
        && let Some((_, what, remedy)) = given.iter().find(|(is_given, ..)| *is_given)
    {
        return Err(PanoramaError::Invalid(format!(
            "{what} can be given for at most {MAX_CAMERAS} pictures; for more pictures, {remedy}"
        )));
    }
    check_options::<P>(pictures.len(), options)?;
    check_size(canvas.size)?;
    for (number, (picture, camera)) in (1..).zip(pictures.iter().zip(cameras)) {
        check_source(camera.size)?;
        let found = picture.size();
        if found != camera.size {
            return Err(PanoramaError::Invalid(format!(
                "picture {number} is {}×{} pixels, but the geometry states {}×{} for its camera; use the pictures for \
                 which the geometry was made",
                found.x, found.y, camera.size.x, camera.size.y
            )));
        }
    }
    Ok(())
}

/// Returns whether the options require a stitch of all cameras of a warp at once.
fn needs_warp(options: &PanoramaOptions) -> bool {
    options.blend.mode().needs_panorama() || !options.stitch.lookup.adds_cameras()
}

/// Checks the options, before any work is done.
fn check_options<P: Pixel>(
    pictures: usize,
    options: &PanoramaOptions,
) -> Result<(), PanoramaError> {
    options.stitch.check(pictures)?;
    let inputs = vec![PixelFormat::Rgba8; pictures];
    let (output, is_deep) = (FrameFormat::rgba8(1, 1), P::BITS > 8);
    let case = LookupCase { inputs: &inputs, output, is_deep, unaligned: None };
    options.stitch.select(&case).map_err(StitchError::from)?;
    options.blend.mode().seam().map_or(Ok(()), |seam| seam.check())?;
    let refine = options.refine.map_or(Ok(()), |refine| refine.check());
    refine.map_err(|error| PanoramaError::Invalid(error.to_string()))?;
    match options.anchor {
        Some(anchor) if anchor >= pictures => Err(PanoramaError::Invalid(format!(
            "the anchor is picture {}, but there are {pictures}; choose one of them, or none",
            anchor + 1
        ))),
        _ => Ok(()),
    }
}

/// Returns the owners of a panorama without cameras, or an empty list if owners were not requested.
fn no_owners(size: UVec2, options: &PanoramaOptions) -> Vec<u8> {
    let pixels = if options.owners { size.x as usize * size.y as usize } else { 0 };
    vec![u8::MAX; pixels]
}

/// Sets the owner of each pixel to the camera of the warp with the largest weight. Does nothing if owners were not
/// requested.
#[track_caller]
fn own(stream: &Stream, warp: &DeviceWarp, owners: &mut [u8]) -> Result<(), PanoramaError> {
    if owners.is_empty() {
        return Ok(());
    }
    let mut most = vec![0.0; owners.len()];
    for camera in 0..warp.sources().len() {
        let weights = warp.plane(Plane::Weight(camera)).download(stream)?;
        claim(owners, &mut most, &weights, camera);
    }
    Ok(())
}

/// Sets the owner of each pixel at which a weight of `camera` exceeds `most`, and raises `most` to the weight.
fn claim(owners: &mut [u8], most: &mut [f32], weights: &[f32], camera: usize) {
    for ((owner, most), &weight) in owners.iter_mut().zip(most).zip(weights) {
        if weight > *most {
            *most = weight;
            // The index fits into a `u8`, because there are at most 64 cameras.
            *owner = camera as u8;
        }
    }
}
