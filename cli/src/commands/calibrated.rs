//! Calibrates cameras from their pictures, for `panoweave calibrate`, and for `panoweave stitch` if the user gives no
//! warp, rig or homography.

use std::path::{Path, PathBuf};

use panoweave::device::Stream;
use panoweave::geometry::calibrate::{
    self, CalibrateOptions, Calibration, KnownLens, PhotoPair, Refusal, RigOptions, calibrate,
};
use panoweave::geometry::intrinsics::Intrinsics;
use panoweave::geometry::rig::{LensName, MAX_RIG_CAMERAS, ModelName, Rig};
use panoweave::io::picture::Picture;
use panoweave::job::JobError;
use panoweave::ops::matching::{links, recalibrate};
use serde_json::{Value, json};

use crate::output::failure::Failure;
use crate::output::stages::Stages;

/// The input pictures of `calibrate` and `stitch`.
#[derive(Debug, clap::Args)]
pub(crate) struct Pictures {
    /// Pictures of the cameras, PNG or JPEG, at most 64.
    #[arg(required = true, num_args = 1.., value_name = "PICTURE")]
    pictures: Vec<PathBuf>,
}

impl Pictures {
    /// Returns the files of all pictures, in the order of the command line.
    pub(crate) fn files(&self) -> Vec<&Path> {
        self.pictures.iter().map(PathBuf::as_path).collect()
    }
}

/// The options that describe known lenses.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Lenses {
    /// OpenCV YAML file with the camera matrix and the distortion of a lens. Give --lens once for all pictures, or once
    /// for each picture in order. From a file with numbered entries, such as M1 and M2, each picture takes those with
    /// its own number. Default: lenses are treated as pinholes, and their focal length is estimated.
    #[arg(long = "lens", value_name = "FILE.yaml")]
    files: Vec<PathBuf>,
    /// Treats the lenses of --lens as fisheyes (OpenCV's equidistant model with four coefficients). Default: pinholes.
    #[arg(long, requires = "files")]
    fisheye: bool,
}

impl Lenses {
    /// Returns the files of the lenses.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// Reads the lens file of each picture. Without `--lens`, each element is `None`. Fails if a lens file is for
    /// pictures of another size.
    fn known(
        &self,
        files: &[&Path],
        pictures: &[Picture],
    ) -> Result<Vec<Option<KnownLens>>, Failure> {
        if self.files.is_empty() {
            return Ok(vec![None; files.len()]);
        }
        if self.files.len() != 1 && self.files.len() != files.len() {
            return Err(Failure::usage("--lens must be given once, or once for each picture"));
        }
        let lens = if self.fisheye { LensName::Fisheye } else { LensName::Pinhole };
        let known = |((number, file), picture): ((u32, &&Path), &Picture)| {
            let source = self.files.get(number as usize - 1).unwrap_or(&self.files[0]);
            let intrinsics = Intrinsics::open(source, number)?;
            let found = picture.size();
            if let Some(expected) = intrinsics.size.filter(|size| *size != found) {
                return Err(
                    JobError::picture_size(file, found, source, "pictures", expected).into()
                );
            }
            let (matrix, distortion) = (intrinsics.matrix(), intrinsics.distortion);
            Ok(Some(KnownLens { lens, matrix, distortion }))
        };
        (1..).zip(files).zip(pictures).map(known).collect()
    }
}

/// Reads the pictures in `files`.
pub(crate) fn open(files: &[&Path]) -> Result<Vec<Picture>, Failure> {
    files.iter().map(|file| Ok(Picture::open(file)?)).collect()
}

/// The result of a calibration: the rig, the correspondences from which it was computed, and quality measurements.
pub(crate) struct Calibrated {
    pub(crate) rig: Rig,
    pub(crate) calibration: Calibration,
    /// The pairs of calibrated pictures. Their indices count the calibrated pictures only.
    links: Vec<PhotoPair>,
    warnings: Vec<String>,
}

/// A pair of overlapping pictures with its correspondences.
pub(crate) struct Link<'a> {
    pub(crate) pair: &'a PhotoPair,
    /// The indices in `pair.correspondences` of the correspondences that agree with the calibration.
    pub(crate) inliers: &'a [usize],
}

/// Matches every picture with every other one, and returns the correspondences of each pair.
pub(crate) fn matched(
    stages: &mut Stages,
    stream: &Stream,
    pictures: &[Picture],
) -> Result<Vec<PhotoPair>, Failure> {
    stages.run("match", "matching", || Ok(links(stream, pictures)?))
}

impl Calibrated {
    /// Matches the pictures, which were read from `files`, and calibrates their cameras.
    pub(crate) fn new(
        stages: &mut Stages,
        stream: &Stream,
        files: &[&Path],
        pictures: &[Picture],
        lenses: &Lenses,
        options: &CalibrateOptions,
        rig: &RigOptions,
    ) -> Result<Self, Failure> {
        let lenses = lenses.known(files, pictures)?;
        let has_lenses = lenses.iter().any(Option::is_some);
        if pictures.len() > MAX_RIG_CAMERAS {
            // Fail here, before the pictures are matched, because matching many pictures takes a long time.
            let found = pictures.len();
            return Err(Failure::refused(files, Refusal::Pictures { found }));
        }
        let links = matched(stages, stream, pictures)?;
        let mut named = named(files, pictures);
        named.iter_mut().zip(lenses).for_each(|(picture, lens)| picture.lens = lens);
        let refused = |refusal| Failure::refused(files, refusal);
        stages.run("fit", "calibrating", || {
            let found = calibrate(&named, &links, options).map_err(refused)?;
            let (found, links) = recalibrate(pictures, &named, links, found, options);
            let rig = found.rig(rig).map_err(refused)?;
            let mut warnings = warnings(&found, files);
            warnings.extend(unused(&rig, has_lenses));
            let new = |old: usize| found.indices.iter().position(|&i| i == old);
            let kept = |pair: PhotoPair| {
                let (left, right) = (new(pair.left)?, new(pair.right)?);
                Some(PhotoPair { left, right, ..pair })
            };
            let links = links.into_iter().filter_map(kept).collect();
            Ok(Self { rig, calibration: found, links, warnings })
        })
    }

    /// Returns those of all pictures that were calibrated.
    pub(crate) fn select<P>(&self, pictures: Vec<Picture<P>>) -> Vec<Picture<P>> {
        let mut all: Vec<Option<Picture<P>>> = pictures.into_iter().map(Some).collect();
        self.calibration.indices.iter().filter_map(|&i| all[i].take()).collect()
    }

    /// Logs the pictures that were left out, and what else a user should check.
    pub(crate) fn warn(&self) {
        self.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    }

    /// Returns the overlapping pairs of pictures, each with the correspondences that agree with the calibration.
    pub(crate) fn overlapping(&self) -> Vec<Link<'_>> {
        let link = |figures: &'_ calibrate::PairFigures| {
            let own = |pair: &&PhotoPair| [pair.left, pair.right] == [figures.left, figures.right];
            self.links.iter().find(own)
        };
        let with = |figures| Some((link(figures)?, figures));
        let found = self.calibration.pairs.iter().filter_map(with);
        found.map(|(pair, figures)| Link { pair, inliers: &figures.inliers }).collect()
    }

    /// Formats the quality of the calibration as one line: the model, the number of matches that agree with it, the
    /// errors in pixels and the overlap.
    pub(crate) fn summary(&self) -> String {
        let Some(q) = &self.rig.quality else { return String::new() };
        format!(
            "{}, {} of {} matches agree, RMS error {:.2} px, expected error at the seam {:.1} px, overlap {:.0} %",
            q.model.as_str(),
            q.inliers,
            q.matches,
            q.rms_px,
            q.seam_error_px,
            100.0 * q.overlap,
        )
    }

    /// Returns the model, and for each overlapping pair the homography, the number of matches, the errors and the
    /// overlap as a JSON object. `files` are those of all cameras, which the pairs number from 1.
    pub(crate) fn json(&self, files: &[&Path]) -> Value {
        let Calibration { indices, views, pairs, left_out, .. } = &self.calibration;
        let reason = |i| left_out.iter().find(|one| one.index == i).map(|one| &one.reason);
        let homography = |left, right| views.homography(left, right).transpose().to_cols_array();
        json!({
            "model": views.name().as_str(),
            "cameras": files.iter().enumerate().map(|(i, file)| json!({
                "file": file.to_string_lossy(),
                "left_out": reason(i),
            })).collect::<Vec<_>>(),
            "pairs": pairs.iter().map(|pair| json!({
                "cameras": [indices[pair.left] + 1, indices[pair.right] + 1],
                "homography": homography(pair.left, pair.right),
                "matches": pair.matches,
                "inliers": pair.inliers.len(),
                "rms_px": pair.rms_px,
                "overlap": pair.overlap[0],
                "coverage": pair.coverage,
                "seam_error_px": pair.seam_error_px,
            })).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

/// Returns a warning for each picture that was left out, each pair that was ignored, and the pair with the largest
/// misalignment if it may be visible.
fn warnings(found: &Calibration, files: &[&Path]) -> Vec<String> {
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
             mostly because of parallax; try another --model, or retake the pictures from one position"
        )
    });
    left_out.chain(found.false_pairs.iter().map(ToString::to_string)).chain(worst).collect()
}

/// Returns the warning if the pictures have known lenses, but the rig has homographies, which have no lenses.
fn unused(rig: &Rig, has_lenses: bool) -> Option<String> {
    let model = rig.quality.as_ref().map(|quality| quality.model);
    (has_lenses && model == Some(ModelName::Homography)).then(|| {
        "the lenses of --lens are not used, because the pictures are related by a homography, which ignores \
         distortion; if all pictures were taken from one position, use --model rotation"
            .to_owned()
    })
}

/// Returns the name and size of each picture. Pictures are named after their files, or `camera N` if the file name is
/// empty or already used.
fn named(files: &[&Path], pictures: &[Picture]) -> Vec<calibrate::Photo> {
    let stem = |file: &&Path| file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = files.iter().map(|file| stem(file).unwrap_or_default()).collect();
    for i in 0..names.len() {
        if names[i].is_empty() || names[..i].contains(&names[i]) {
            let free = (i + 1..).map(|number| format!("camera {number}"));
            names[i] = free.into_iter().find(|name| !names.contains(name)).unwrap_or_default();
        }
    }
    let sizes = pictures.iter().map(Picture::size);
    names.into_iter().zip(sizes).map(|(name, size)| calibrate::Photo::new(name, size)).collect()
}
