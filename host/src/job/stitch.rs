//! Stitches pictures into a panorama. The geometry comes from a warp, a rig or a homography, or from a calibration of
//! the pictures.

use std::iter::repeat;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::check_output;
use super::options::{BlendOptions, LookOptions, MapOptions, MaskOptions, ShapeOptions};
use super::photos::{Calibrated, watch_conversions};
use super::text::File;
use super::{Event, JobError, Map, Recipe};
use crate::device::{Device, DeviceName, Stream};
use crate::geometry::calibrate::CalibrateOptions;
use crate::io::picture::{Picture, PictureFormat, Pixel, StoredPicture};
use crate::ops::blend::Blend;
use crate::ops::colour::Colour;
use crate::ops::photometry::{Photometry, PictureCorrection, Vignette};
use crate::ops::stitch::{Colours, Lookup, Vignettes};
use crate::panorama::{Coverage, Panorama, PanoramaOptions, stitch_geometry, stitch_warp};
use crate::warp::MAX_CAMERAS;

/// Stitches pictures into a panorama.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StitchJob {
    /// Pictures of the cameras, PNG or JPEG, at most 64.
    #[schemars(extend("value-name" = "PICTURE"))]
    pub pictures: Vec<File>,
    /// The warp, rig or homography; none to calibrate the pictures.
    pub map: MapOptions,
    /// Panorama file to write: .png, .jpg or .jpeg.
    #[schemars(extend("value-name" = "OUT"), title = "Output")]
    pub output: File,
    /// Bits per channel of the panorama. 8 rounds 16-bit pictures to 8 bits, with a warning. 16 requires a .png output.
    /// Default: 16 if a picture is a 16-bit PNG and the output is .png, otherwise 8.
    #[schemars(extend("enum" = [8, 16], "value-name" = "BITS"), title = "Output")]
    pub depth: Option<u8>,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    pub device: DeviceName,
    /// Corrects the colours of the pictures so that they match in the overlaps. This is the default unless a warp, a
    /// rig, a homography, a gain or a gamma is given.
    #[schemars(title = "Colours")]
    pub match_colour: bool,
    /// Does not match the colours of the pictures. This is the default with a warp, a rig, a homography, a gain or a
    /// gamma.
    #[schemars(title = "Colours")]
    pub no_colour: bool,
    /// Model and projection of a calibration.
    pub shape: ShapeOptions,
    /// Masks.
    pub mask: MaskOptions,
    /// Colours, orientation and lookup.
    pub look: LookOptions,
    /// Blending.
    pub blend: BlendOptions,
}

/// The panorama of a [`StitchJob`], and how it was made.
#[derive(Debug)]
pub struct StitchReport {
    /// The panorama, with 8 or 16 bits per channel.
    pub panorama: StoredPicture,
    /// The device that computed.
    pub device: Device,
    /// The calibration of the pictures, if there was no map.
    pub calibrated: Option<Calibrated>,
    /// The colour correction of each picture in the panorama.
    pub colours: Vec<Colour>,
    /// Whether the colours were matched.
    pub matched: bool,
    /// The exposures, the vignetting and the response that were corrected, if colours were matched.
    pub photometry: Option<Photometry>,
    /// The fractions of the panorama's pixels that each picture, any picture and all overlaps cover.
    pub coverage: Coverage,
}

/// Stitches the pictures in the files `paths`. The `pictures` and the `output` of `options` are not used.
///
/// ```no_run
/// use panoweave::job::StitchJob;
/// use panoweave::stitch_photos;
///
/// let stitched = stitch_photos(["left.jpg", "right.jpg"], &StitchJob::default())?;
/// stitched.panorama.save("panorama.png")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`JobError`] if the options contradict each other, if a picture cannot be read, if the pictures do not fit
/// together, or if the device fails.
pub fn stitch_photos<P: Into<File>>(
    paths: impl IntoIterator<Item = P>,
    options: &StitchJob,
) -> Result<StitchReport, JobError> {
    let pictures = paths.into_iter().map(Into::into).collect();
    let job = StitchJob { pictures, ..options.clone() };
    job.stitch(job.depth == Some(8), &mut |_| ())
}

/// The median difference between pictures in their overlaps, in levels, above which they probably do not show the same
/// scene. Parallax, moving objects and noise rarely let the median exceed half of it.
const MISMATCH: f32 = 20.0;

impl StitchJob {
    /// Runs the job: writes the panorama. Calls `watch` with the progress.
    ///
    /// # Errors
    /// Returns [`JobError`] as [`stitch_photos`] does, or if the output cannot be written.
    pub fn run(&self, watch: &mut dyn FnMut(Event<'_>)) -> Result<StitchReport, JobError> {
        if self.output.as_os_str().is_empty() {
            return Err(JobError::usage("there is no output; give `output`"));
        }
        let map = self.map.files();
        let inputs = self.pictures.iter().chain(&self.mask.mask).map(|file| &**file);
        let inputs: Vec<&Path> = inputs.chain(map.iter().map(PathBuf::as_path)).collect();
        check_output(&self.output, &inputs)?;
        let is_jpeg = PictureFormat::of_file(&self.output)? == PictureFormat::Jpeg;
        if is_jpeg && self.depth == Some(16) {
            return Err(JobError::usage(
                "`depth` 16 requires a .png output, because JPEG has 8 bits; remove it, or change the output",
            ));
        }
        let report = self.stitch(is_jpeg || self.depth == Some(8), watch)?;
        watch(Event::Stage("save", "writing"));
        report.panorama.save(&self.output)?;
        self.warn(&report);
        Ok(report)
    }

    /// Stitches the panorama, with 16 bits per channel if it is not `shallow` and a picture has them or they are wanted.
    fn stitch(
        &self,
        shallow: bool,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<StitchReport, JobError> {
        let options = self.options()?;
        watch(Event::Stage("load", "reading"));
        let stored = self.pictures.iter().map(StoredPicture::open);
        let stored = stored.collect::<Result<Vec<_>, _>>()?;
        let is_deep = self.depth == Some(16) || stored.iter().any(|picture| picture.bits() > 8);
        if is_deep && !shallow {
            let pictures = stored.into_iter().map(StoredPicture::into_rgba16).collect();
            self.stitch_pictures(pictures, options, watch)
        } else {
            let pictures = stored.into_iter().map(StoredPicture::into_rgba8).collect();
            self.stitch_pictures(pictures, options, watch)
        }
    }

    fn stitch_pictures<P: Pixel>(
        &self,
        mut pictures: Vec<Picture<P>>,
        mut options: PanoramaOptions,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<StitchReport, JobError>
    where
        StoredPicture: From<Picture<P>>,
    {
        self.mask.apply(&mut pictures, &self.pictures)?;
        let sizes: Vec<_> = pictures.iter().map(Picture::size).collect();
        let files: Vec<&Path> = self.pictures.iter().map(|file| &**file).collect();
        let map = match self.map.path() {
            Some(_) => Some(self.cropped(self.map.open(&sizes, &files, &self.output)?)?),
            None => None,
        };
        watch_conversions(&self.pictures, &pictures, watch);
        let device = self.device.open()?;
        let stream = device.stream()?;
        let (map, calibrated) = match map {
            Some(map) => (map, None),
            None => {
                let mut found = self.calibrated(&stream, &pictures, &mut options, watch)?;
                found.rig.panorama =
                    self.map.scaled(&found.rig.panorama).unwrap_or(found.rig.panorama);
                pictures = found.select(pictures);
                (Map::Render(Recipe::new(&found.rig)?), Some(found))
            }
        };
        options.stitch.vignettes = map.vignettes();
        let (panorama, coverage) = stitched(&options, &stream, &pictures, map, watch)?;
        let Panorama { picture, colours, photometry, unmatched, .. } = panorama;
        if colours.len() > 1 && !unmatched.is_empty() {
            tracing::warn!(
                "the colours of some pictures are unchanged: their overlap is too small or too dark to match them",
            );
        }
        let (panorama, matched) = (picture.into(), options.match_colour);
        Ok(StitchReport { panorama, device, calibrated, colours, matched, photometry, coverage })
    }

    /// Calibrates the pictures, and limits the options to those that are not left out.
    fn calibrated<P: Pixel>(
        &self,
        stream: &Stream,
        pictures: &[Picture<P>],
        options: &mut PanoramaOptions,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Calibrated, JobError> {
        let how = CalibrateOptions {
            model: self.shape.model,
            // Two exposures of one view make a panorama. The same picture twice is a mistake.
            same_view: pictures.windows(2).all(|two| two[0].pixels() != two[1].pixels()),
        };
        let (rgba, lenses) = (Picture::all_rgba8(pictures), vec![None; pictures.len()]);
        let found =
            Calibrated::new(stream, &self.pictures, &[&rgba], lenses, &how, &self.shape, watch)?;
        watch(Event::Calibrated(&found, None));
        let indices = &found.calibration.indices;
        let colours = indices.iter().filter(|&&i| i < MAX_CAMERAS);
        let colours = colours.map(|&i| options.stitch.colours[i]);
        options.stitch.colours = Colours::of(colours.collect::<Vec<_>>());
        if let Some(anchor) = options.anchor {
            let kept = indices.iter().position(|&i| i == anchor);
            options.anchor = Some(kept.ok_or_else(|| {
                JobError::usage("`anchor` names a picture that was left out; choose another one")
            })?);
        }
        Ok(found)
    }

    /// Crops the panorama of a rig or of a homography if this is wanted.
    fn cropped(&self, mut map: Map) -> Result<Map, JobError> {
        match &mut map {
            _ if !self.shape.crop => {}
            Map::Planes(_) => {
                return Err(JobError::usage(
                    "`crop` cannot change the panorama of a warp file; give the rig or the homography instead",
                ));
            }
            Map::Render(recipe) => {
                recipe.geometry = recipe.geometry.cropped().ok_or_else(|| {
                    JobError::usage(
                        "`crop`: the pictures cover no rectangle of the panorama completely; remove it",
                    )
                })?;
            }
        }
        Ok(map)
    }

    /// Checks all that does not depend on the contents of the inputs. Returns the options of the panorama.
    fn options(&self) -> Result<PanoramaOptions, JobError> {
        let (calibrates, pictures) = (self.map.path().is_none(), self.pictures.len());
        self.map.check()?;
        let leaves_colours = self.look.leaves_colours();
        if self.match_colour && (self.no_colour || !leaves_colours) {
            return Err(JobError::usage(
                "`match-colour` cannot be used with `no-colour`, `gain` or `gamma`; remove one of them",
            ));
        }
        self.look.check(pictures)?;
        let of_map = ShapeOptions { crop: self.shape.crop, ..ShapeOptions::default() };
        if !calibrates && self.shape != of_map {
            return Err(JobError::usage(
                "`model`, `projection`, `roll` and `pitch` are for a calibration of the pictures; remove them, or remove `warp`, `rig` and `homography`",
            ));
        }
        let match_colour = self.match_colour || (calibrates && !self.no_colour && leaves_colours);
        Ok(PanoramaOptions {
            stitch: self.look.stitch(Lookup::Cubic),
            match_colour,
            anchor: self.look.anchor(match_colour)?,
            blend: self.blend.blend(Blend::AUTO)?,
            refine: self.blend.refine(),
            owners: false,
        })
    }

    /// Logs warnings about a panorama that is probably not what the user wants.
    fn warn(&self, StitchReport { colours, photometry, coverage, .. }: &StitchReport) {
        let order = "check that their order is that of the cameras, which `panoweave rig` shows";
        let remedy = match () {
            () if !self.mask.mask.is_empty() => {
                "check that the masks are white where their pictures are used, and that the order of the pictures is that of the cameras"
            }
            () if self.map.homography.is_some() => {
                "check that they are not swapped, and that the homography maps pixels of the second picture to pixels of the first one"
            }
            () => order,
        };
        if coverage.any == 0.0 {
            tracing::warn!(
                "the panorama is black, because no picture covers it; check that the pictures are not transparent, and that \
                 masks are white where their pictures are used",
            );
        } else if colours.len() > 1 && coverage.overlap == 0.0 {
            tracing::warn!("no two pictures overlap in this panorama; {remedy}");
        }
        let mismatch = photometry.as_ref().map_or(0.0, |found| found.mismatch);
        if self.map.path().is_some() && mismatch > MISMATCH {
            tracing::warn!(
                "the pictures differ by {mismatch:.0} of 255 levels (median) in their overlaps; {order}"
            );
        }
    }
}

/// Stitches the pictures. Returns the panorama, and the fractions of its pixels that each camera, any camera and all
/// overlaps cover.
fn stitched<P: Pixel>(
    options: &PanoramaOptions,
    stream: &Stream,
    pictures: &[Picture<P>],
    map: Map,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<(Panorama<P>, Coverage), JobError> {
    let recipe = match map {
        Map::Planes(warp) => {
            let stats = warp.stats();
            let coverage = Coverage {
                any: stats.coverage,
                cameras: stats.cameras.iter().map(|camera| camera.coverage).collect(),
                overlap: stats.overlap,
            };
            watch(Event::Stage("warp", "preparing the warp"));
            let warp = Map::Planes(warp).prepare(stream)?;
            watch(Event::Stage("stitch", "stitching"));
            let pictures: Vec<_> = pictures.iter().collect();
            return Ok((stitch_warp(stream, &pictures, &warp, options)?, coverage));
        }
        Map::Render(recipe) => recipe,
    };
    watch(Event::Stage("stitch", "stitching"));
    if pictures.len() <= MAX_CAMERAS {
        return Ok(stitch_geometry(stream, pictures, &recipe.geometry, options)?);
    }
    // The options have the vignettes of 16 cameras, so those of more are undone before the stitch.
    let vignettes = recipe.vignettes.iter().copied().chain(repeat(Vignette::NONE));
    let corrected = pictures.iter().zip(vignettes).map(|(picture, vignette)| {
        PictureCorrection::of_vignette(vignette).corrected(stream, picture)
    });
    let pictures = corrected.collect::<Result<Vec<_>, _>>()?;
    let mut options = *options;
    options.stitch.vignettes = Vignettes::NONE;
    Ok(stitch_geometry(stream, &pictures, &recipe.geometry, &options)?)
}
