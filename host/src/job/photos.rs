//! Calibrates cameras from their pictures or videos.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moments::moments;
use super::options::{InputOptions, LensOptions, MaskOptions, ShapeOptions};
use super::text::{File, Sync};
use super::{Event, JobError};
use crate::device::{DeviceName, Stream};
use crate::frame::Rgba8;
use crate::geometry::calibrate::{
    CalibrateOptions, Calibration, KnownLens, PairFigures, Photo, PhotoPair, Refusal, calibrate,
};
use crate::geometry::intrinsics::Intrinsics;
use crate::geometry::rig::{LensName, MAX_RIG_CAMERAS, ModelName, Rig};
use crate::io::picture::{Picture, Pixel};
use crate::io::video::{Stop, VideoDecoder, VideoSource};
use crate::ops::matching::{joined, links, recalibrate};
use crate::panorama::vignetting;

/// Calibrates the cameras of overlapping pictures, or of videos.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CalibrateJob {
    /// Pictures of the cameras, PNG or JPEG, at most 64; or their videos, of which several moments are used.
    #[schemars(extend("value-name" = "FILE"))]
    pub pictures: Vec<File>,
    /// The formats and the starts of videos.
    pub input: InputOptions,
    /// Model and projection.
    pub shape: ShapeOptions,
    /// Masks.
    pub mask: MaskOptions,
    /// Known lenses.
    pub lenses: LensOptions,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    pub device: DeviceName,
}

/// Calibrates the cameras of the pictures in the files `paths`. The `pictures` of `options` are not used.
///
/// ```no_run
/// use panoweave::calibrate_photos;
/// use panoweave::job::CalibrateJob;
///
/// let found = calibrate_photos(["left.jpg", "right.jpg"], &CalibrateJob::default())?;
/// found.rig.save("rig.toml")?;
/// # Ok::<(), panoweave::job::JobError>(())
/// ```
///
/// # Errors
/// Returns [`JobError`] if a picture cannot be read, if the pictures do not fit together, or if the device fails.
pub fn calibrate_photos<P: Into<File>>(
    paths: impl IntoIterator<Item = P>,
    options: &CalibrateJob,
) -> Result<Calibrated, JobError> {
    let pictures = paths.into_iter().map(Into::into).collect();
    let job = CalibrateJob { pictures, ..options.clone() };
    let stream = job.device.open()?.stream()?;
    let moments = job.read(&Stop::default(), &mut |_| ())?;
    Ok(job.run(&stream, moments, &mut |_| ())?.0)
}

impl CalibrateJob {
    /// Reads the pictures and masks them. Returns those of each moment; several moments only of videos that are encoded
    /// files.
    ///
    /// # Errors
    /// Returns [`JobError`] if a file cannot be read, a mask does not fit its picture, or a stop was requested.
    pub fn read(
        &self,
        stop: &Stop,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Vec<Vec<Picture>>, JobError> {
        watch(Event::Stage("load", "reading"));
        let files = &self.pictures;
        let mut moments = if self.input.are_pictures(files)? {
            let pictures = files.iter().map(Picture::open).collect::<Result<Vec<_>, _>>()?;
            watch_conversions(files, &pictures, watch);
            vec![pictures]
        } else {
            self.input.check(files.len())?;
            let input = |file: &File| self.input.input(file, false, VideoDecoder::Ffmpeg, None);
            let inputs = files.iter().map(input).collect::<Result<Vec<_>, _>>()?;
            let mut sources = VideoSource::open_all(&inputs, stop)?;
            let synced = self.input.offsets(&sources, &Sync::Auto, stop)?;
            let offsets = synced.map_or_else(Vec::new, |synced| synced.offsets);
            moments(&inputs, &mut sources, &offsets, stop)?
        };
        moments.iter_mut().try_for_each(|pictures| self.mask.apply(pictures, files))?;
        Ok(moments)
    }

    /// Calibrates the cameras of the pictures that [`read`](Self::read) returns. Returns the calibrated pictures of the
    /// first moment, too. The rig contains their vignetting.
    ///
    /// # Errors
    /// Returns [`JobError`] if the pictures do not fit together, or if the device fails.
    pub fn run(
        &self,
        stream: &Stream,
        mut moments: Vec<Vec<Picture>>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Calibrated, Vec<Picture>), JobError> {
        let how = CalibrateOptions { model: self.shape.model, ..CalibrateOptions::default() };
        let all: Vec<_> = moments.iter().map(|pictures| &pictures[..]).collect();
        let known = self.lenses.known(&self.pictures, all.first().copied().unwrap_or_default())?;
        let mut found =
            Calibrated::new(stream, &self.pictures, &all, known, &how, &self.shape, watch)?;
        let pictures = found.select(moments.swap_remove(0));
        watch(Event::Stage("light", "comparing the exposures"));
        let vignetting = vignetting(&pictures, &found.rig.geometry()?)?;
        for (camera, vignetting) in found.rig.cameras.iter_mut().zip(vignetting) {
            camera.vignetting = vignetting;
        }
        Ok((found, pictures))
    }
}

/// Reports the properties of pictures that are lost on reading.
pub(super) fn watch_conversions<P: Pixel>(
    files: &[File],
    pictures: &[Picture<P>],
    watch: &mut dyn FnMut(Event<'_>),
) {
    for (file, picture) in files.iter().zip(pictures) {
        picture.conversions().for_each(|conversion| watch(Event::Converted(file, conversion)));
    }
}

/// Returns the element of a list with one for all pictures or one for each of `many`, for each picture; `None` if the
/// list is empty.
fn for_each<'a, T>(list: &'a [T], many: usize, name: &str) -> Result<Vec<Option<&'a T>>, JobError> {
    match list.len() {
        0 => Ok(vec![None; many]),
        1 => Ok(vec![list.first(); many]),
        found if found == many => Ok(list.iter().map(Some).collect()),
        _ => Err(JobError::Usage(format!("`{name}` must be given once, or once for each picture"))),
    }
}

impl MaskOptions {
    /// Reads the masks, and masks the pictures, which were read from `files`.
    pub(super) fn apply<P: Pixel>(
        &self,
        pictures: &mut [Picture<P>],
        files: &[File],
    ) -> Result<(), JobError> {
        let masks = self.mask.iter().map(|file| Ok((file, Picture::open(file)?)));
        let masks = masks.collect::<Result<Vec<_>, JobError>>()?;
        let masks = for_each(&masks, files.len(), "mask")?;
        for ((picture, file), mask) in pictures.iter_mut().zip(files).zip(masks) {
            let Some((name, mask)) = mask else { continue };
            if !picture.mask(mask) {
                let (found, expected) = (mask.size(), picture.size());
                let reason = format!(
                    "the mask is {}×{} pixels, but the picture {} is {}×{} pixels; give a mask of the size of the picture",
                    found.x,
                    found.y,
                    file.display(),
                    expected.x,
                    expected.y
                );
                return Err(JobError::input(name, reason));
            }
            let is_hidden = |&pixel: &P| Into::<Rgba8>::into(pixel).a == 0;
            if picture.pixels().iter().all(is_hidden) {
                let reason = format!(
                    "the mask leaves no visible pixel of the picture {}; a mask is white where its picture is used",
                    file.display()
                );
                return Err(JobError::input(name, reason));
            }
        }
        Ok(())
    }
}

impl LensOptions {
    /// Reads the lens of each picture, if it is known. Fails if a lens is for pictures of another size.
    fn known(
        &self,
        files: &[File],
        pictures: &[Picture],
    ) -> Result<Vec<Option<KnownLens>>, JobError> {
        if self.fisheye && self.lens.is_empty() {
            return Err(JobError::usage("`fisheye` requires `lens`; give a lens, or remove it"));
        }
        let lens = if self.fisheye { LensName::Fisheye } else { LensName::Pinhole };
        let sources = for_each(&self.lens, files.len(), "lens")?;
        let known =
            |((number, source), (file, picture)): ((u32, Option<&File>), (&File, &Picture))| {
                let Some(source) = source else { return Ok(None) };
                let intrinsics = Intrinsics::open(source, number)?;
                let found = picture.size();
                if let Some(expected) = intrinsics.size.filter(|size| *size != found) {
                    return Err(JobError::picture_size(file, found, source, "pictures", expected));
                }
                let (matrix, distortion) = (intrinsics.matrix(), intrinsics.distortion);
                Ok(Some(KnownLens { lens, matrix, distortion }))
            };
        (1..).zip(sources).zip(files.iter().zip(pictures)).map(known).collect()
    }
}

/// The result of a calibration: the rig, the correspondences from which it was computed, and quality measurements.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The rig of the calibrated pictures. Cameras are named after the files.
    pub rig: Rig,
    /// The calibration, with the pictures that were left out.
    pub calibration: Calibration,
    /// The pairs of calibrated pictures. Their indices count the calibrated pictures only.
    links: Vec<PhotoPair>,
    /// The pictures that were left out, and what else a user should check.
    pub warnings: Vec<String>,
}

impl Calibrated {
    /// Matches the pictures of each of `moments`, which were read from `files`, and calibrates their cameras. `lenses`
    /// has an element per picture.
    pub(super) fn new(
        stream: &Stream,
        files: &[File],
        moments: &[&[Picture]],
        lenses: Vec<Option<KnownLens>>,
        how: &CalibrateOptions,
        shape: &ShapeOptions,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self, JobError> {
        let has_lenses = lenses.iter().any(Option::is_some);
        let pictures = moments.first().copied().unwrap_or_default();
        if pictures.len() > MAX_RIG_CAMERAS {
            // Fail here, before the pictures are matched, because matching many pictures takes a long time.
            let found = pictures.len();
            return Err(JobError::refused(files, Refusal::Pictures { found }));
        }
        watch(Event::Stage("match", "matching"));
        let links = moments.iter().map(|pictures| links(stream, pictures));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let mut named = named(files, pictures);
        named.iter_mut().zip(lenses).for_each(|(picture, lens)| picture.lens = lens);
        let refused = |refusal| JobError::refused(files, refusal);
        watch(Event::Stage("fit", "calibrating"));
        let found = calibrate(&named, &joined(&links), how).map_err(refused)?;
        let (found, links) = recalibrate(moments, &named, &links, found, how);
        let rig = found.rig(&shape.rig()).map_err(refused)?;
        let mut warnings = warnings(&found, files);
        let model = rig.quality.as_ref().map(|quality| quality.model);
        if has_lenses && model == Some(ModelName::Homography) {
            warnings.push(
                "the lenses are not used, because the pictures are related by a homography, which ignores distortion; \
                 if all pictures were taken from one position, set `model` to rotation"
                    .to_owned(),
            );
        }
        let new = |old: usize| found.indices.iter().position(|&i| i == old);
        let kept = |pair: PhotoPair| {
            let (left, right) = (new(pair.left)?, new(pair.right)?);
            Some(PhotoPair { left, right, ..pair })
        };
        let links = links.into_iter().filter_map(kept).collect();
        Ok(Self { rig, calibration: found, links, warnings })
    }

    /// Returns those of all pictures that were calibrated.
    pub(super) fn select<P>(&self, pictures: Vec<Picture<P>>) -> Vec<Picture<P>> {
        let mut all: Vec<Option<Picture<P>>> = pictures.into_iter().map(Some).collect();
        self.calibration.indices.iter().filter_map(|&i| all[i].take()).collect()
    }

    /// Returns the overlapping pairs of pictures, each with the indices of the correspondences that agree with the
    /// calibration.
    #[must_use]
    pub fn overlapping(&self) -> Vec<(&PhotoPair, &[usize])> {
        let link = |figures: &PairFigures| {
            let own = |pair: &&PhotoPair| [pair.left, pair.right] == [figures.left, figures.right];
            self.links.iter().find(own)
        };
        let pairs = self.calibration.pairs.iter();
        pairs.filter_map(|figures| Some((link(figures)?, &figures.inliers[..]))).collect()
    }
}

/// Returns a warning for each picture that was left out, each pair that was ignored, and the pair with the largest
/// misalignment if it may be visible.
fn warnings(found: &Calibration, files: &[File]) -> Vec<String> {
    let left_out = found
        .left_out
        .iter()
        .map(|one| format!("{} is left out: {}", files[one.index].display(), one.reason));
    let worst = found.pairs.iter().filter(|pair| pair.misaligned);
    let worst = worst.max_by(|a, b| a.seam_error_px.total_cmp(&b.seam_error_px)).map(|pair| {
        let [left, right] = [pair.left, pair.right].map(|i| found.pictures[i].name.as_str());
        let pixels = pair.seam_error_px;
        format!(
            "outlines may be broken at the seam between {left} and {right}: the expected misalignment is {pixels:.1} px, \
             mostly because of parallax; set another `model`, or retake the pictures from one position"
        )
    });
    left_out.chain(found.false_pairs.iter().map(ToString::to_string)).chain(worst).collect()
}

/// Returns the name and size of each picture. Pictures are named after their files, or `camera N` if the file name is
/// empty or already used.
fn named(files: &[File], pictures: &[Picture]) -> Vec<Photo> {
    let stem = |file: &File| file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = files.iter().map(|file| stem(file).unwrap_or_default()).collect();
    for i in 0..names.len() {
        if names[i].is_empty() || names[..i].contains(&names[i]) {
            let free = (i + 1..).map(|number| format!("camera {number}"));
            names[i] = free.into_iter().find(|name| !names.contains(name)).unwrap_or_default();
        }
    }
    let sizes = pictures.iter().map(Picture::size);
    names.into_iter().zip(sizes).map(|(name, size)| Photo::new(name, size)).collect()
}
