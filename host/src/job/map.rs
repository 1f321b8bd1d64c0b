//! The map of a job: planes of a warp file, or a rig or homography from which the device renders the warp.

use std::path::{Path, PathBuf};

use glam::UVec2;

use super::files::same;
use super::options::MapOptions;
use super::text::Size;
use super::{JobError, text::File};
use crate::device::Stream;
use crate::geometry::homography::Homography;
use crate::geometry::rig::{ProjectionName, Rig, RigCamera, RigCanvas};
use crate::geometry::{Geometry, MAX_CANVAS_AREA};
use crate::ops::photometry::Vignette;
use crate::ops::stitch::Vignettes;
use crate::warp::{DeviceWarp, Plane, Warp};

/// A rig or a homography from which a warp can be rendered.
#[derive(Debug)]
pub struct Recipe {
    /// The panorama and the cameras.
    pub geometry: Geometry,
    projection: ProjectionName,
    text: String,
    is_rig: bool,
    /// The vignette of each camera; none for a homography.
    pub vignettes: Vec<Vignette>,
}

impl Recipe {
    /// Reads a rig, and replaces its panorama by what `scaled` returns, if it is scaled. Otherwise, checks that it has at
    /// most `max_pixels`.
    ///
    /// # Errors
    /// Returns [`JobError`] if the rig is invalid, too large, or refers to a lens calibration file that is `output`.
    pub fn from_rig(
        file: &Path,
        scaled: impl FnOnce(&RigCanvas) -> Option<RigCanvas>,
        max_pixels: u64,
        output: &Path,
    ) -> Result<Self, JobError> {
        let mut rig = Rig::open(file)?;
        if rig.calibrations.iter().any(|calibration| same(output, calibration)) {
            return Err(JobError::output_is_input(output));
        }
        match scaled(&rig.panorama) {
            Some(panorama) => rig.panorama = panorama,
            None => {
                let size = UVec2::new(rig.panorama.width, rig.panorama.height);
                check_pixels(max_pixels, file, size)?;
            }
        }
        Self::new(&rig)
    }

    /// Creates the recipe from which a rig's warp is rendered.
    ///
    /// # Errors
    /// Returns [`JobError::Rig`] if a number of the rig is out of range.
    pub fn new(rig: &Rig) -> Result<Self, JobError> {
        Ok(Self {
            geometry: rig.geometry()?,
            projection: rig.panorama.projection,
            text: rig.to_toml()?,
            is_rig: true,
            vignettes: rig.cameras.iter().map(RigCamera::vignette).collect(),
        })
    }

    /// Reads a homography, which maps pixels of the second picture to pixels of the first picture. `sources` are the
    /// sizes of the two pictures.
    ///
    /// # Errors
    /// Returns [`JobError`] if the homography is invalid, or its panorama has more than `max_pixels`.
    pub fn from_homography(
        file: &Path,
        sources: [UVec2; 2],
        max_pixels: u64,
    ) -> Result<Self, JobError> {
        let homography = Homography::open(file)?;
        let geometry = homography.geometry(sources[0], sources[1])?;
        check_pixels(max_pixels, file, geometry.canvas.size)?;
        let (projection, text) = (ProjectionName::Planar, homography.to_text());
        Ok(Self { geometry, projection, text, is_rig: false, vignettes: Vec::new() })
    }

    /// Renders the warp on the device and downloads it, so that it can be written to a warp file. The file also stores
    /// the text of the rig or homography.
    pub fn render(self, stream: &Stream) -> Result<Warp, JobError> {
        let warp = DeviceWarp::render(stream, &self.geometry)?.download(stream)?;
        Ok(warp.made_from(Some(self.projection), Some(self.text)))
    }
}

/// Checks that the panorama that the file `map` describes has at most `limit` pixels.
fn check_pixels(limit: u64, map: &Path, size: UVec2) -> Result<(), JobError> {
    if u64::from(size.x) * u64::from(size.y) <= limit {
        return Ok(());
    }
    let reason = format!(
        "the panorama is {}×{} pixels, but `max-pixels` is {limit}; describe a smaller panorama, or raise `max-pixels` (up to {MAX_CANVAS_AREA})",
        size.x, size.y
    );
    Err(JobError::input(map, reason))
}

/// A warp that is not on the device yet.
#[derive(Debug)]
pub enum Map {
    /// Planes that were read from a warp file and must be uploaded.
    Planes(Warp),
    /// A recipe from which the device renders the warp.
    Render(Recipe),
}

/// Checks that the pictures match the warp or rig in the file `map`. `wanted` has the picture sizes for which the warp
/// or rig was made, one per camera. The pictures in `files` have the sizes `found`.
pub fn check_pictures(
    map: &Path,
    wanted: &[UVec2],
    found: &[UVec2],
    files: &[&Path],
) -> Result<(), JobError> {
    if wanted.len() != found.len() {
        return Err(picture_count(map, found.len(), wanted.len()));
    }
    for (i, ((&expected, &found), file)) in wanted.iter().zip(found).zip(files).enumerate() {
        if found != expected {
            let which = format!("pictures of camera {}", i + 1);
            return Err(JobError::picture_size(file, found, map, &which, expected));
        }
    }
    Ok(())
}

/// Returns the error of `found` pictures for a `map` that is for `expected`.
fn picture_count(map: &Path, found: usize, expected: usize) -> JobError {
    let reason = format!(
        "it is for {expected} pictures, but {found} are given; give one input per camera, or a file for {found} pictures"
    );
    JobError::input(map, reason)
}

impl MapOptions {
    /// Returns the path of the warp, the rig or the homography, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        let path = self.warp.as_ref().or(self.rig.as_ref()).or(self.homography.as_ref());
        path.map(|path| &**path)
    }

    /// Returns the panorama of a rig at the output size, if there is one.
    pub(super) fn scaled(&self, panorama: &RigCanvas) -> Option<RigCanvas> {
        self.output_size.map(|Size(size)| panorama.fitted(size))
    }

    /// Returns the files from which the warp, the rig or the homography is read.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.warp {
            Some(folder) if folder.is_dir() => {
                Plane::all(2).map(|plane| plane.raw_file(folder)).collect()
            }
            _ => self.path().map(Path::to_owned).into_iter().collect(),
        }
    }

    /// Checks that at most one map is given, and the size only for a warp.
    pub fn check(&self) -> Result<(), JobError> {
        if [&self.warp, &self.rig, &self.homography].into_iter().flatten().count() > 1 {
            return Err(JobError::usage(
                "`warp`, `rig` and `homography` exclude each other; give one of them",
            ));
        }
        if self.output_size.is_some() && (self.warp.is_some() || self.homography.is_some()) {
            return Err(JobError::usage(
                "`output-size` scales the panorama of a rig; remove it, or give a rig instead of `warp` and `homography`",
            ));
        }
        if self.size.is_some() && self.warp.is_none() {
            return Err(JobError::usage(
                "`size` is the size of raw planes; give their folder as `warp`",
            ));
        }
        self.size.map_or(Ok(()), |size| size.check_area("size"))
    }

    /// Reads the warp, rig or homography, and checks that it is for pictures with the sizes `sources`. The pictures
    /// were read from `files`.
    ///
    /// # Errors
    /// Returns [`JobError`] if it cannot be read or does not fit, or if one of the `outputs` is a lens calibration file
    /// to which the rig refers.
    pub fn open(&self, sources: &[UVec2], files: &[&Path], output: &Path) -> Result<Map, JobError> {
        let map = self.read(sources, output)?;
        // Check the sizes before any computation. The stitch would also check them, but its error names no file.
        check_pictures(self.path().unwrap_or(Path::new("")), &map.sources(), sources, files)?;
        Ok(map)
    }

    /// Reads the warp or rig of a finished panorama, without knowing the sizes of the cameras' pictures.
    ///
    /// # Errors
    /// Returns [`JobError`] for a homography and for raw planes, because these do not store the picture sizes.
    pub fn open_alone(&self) -> Result<Map, JobError> {
        let raw = self.warp.as_ref().filter(|warp| warp.is_dir());
        if let Some(file) = self.homography.as_ref().or(raw) {
            let (what, whose) = match self.homography {
                Some(_) => ("a homography does", "its"),
                None => ("raw planes do", "their"),
            };
            return Err(JobError::Usage(format!(
                "{}: {what} not store the sizes of {whose} pictures; give the pictures or videos of the cameras",
                file.display()
            )));
        }
        // A rig and a warp file store the picture sizes, so `read` does not use these zeros.
        self.read(&[UVec2::ZERO; 2], Path::new(""))
    }

    fn read(&self, sources: &[UVec2], output: &Path) -> Result<Map, JobError> {
        self.check()?;
        if let Some(rig) = &self.rig {
            return Ok(Map::Render(Recipe::from_rig(
                rig,
                |own| self.scaled(own),
                self.max_pixels,
                output,
            )?));
        }
        let two = <[UVec2; 2]>::try_from(sources);
        if let Some(homography) = &self.homography {
            let two = two.map_err(|_| {
                let found = sources.len();
                JobError::input(homography, format!("a homography is for exactly two pictures or videos, but {found} are given; give two, or a rig"))
            })?;
            let recipe = Recipe::from_homography(homography, two, self.max_pixels)?;
            return Ok(Map::Render(recipe));
        }
        let Some(File(path)) = &self.warp else {
            return Err(JobError::usage("there is no map; give `warp`, `rig` or `homography`"));
        };
        Ok(Map::Planes(match (path.is_dir(), self.size) {
            (true, Some(Size(size))) => {
                let two = two.map_err(|_| picture_count(path, sources.len(), 2))?;
                Warp::import_raw(path, size, two)?
            }
            (false, None) => Warp::open(path)?,
            (is_raw, _) => {
                let (store, remedy) = if is_raw {
                    ("raw planes do not store their", "give")
                } else {
                    ("a warp file stores its own", "remove")
                };
                let path = path.display();
                return Err(JobError::Usage(format!("{path}: {store} size; {remedy} `size`")));
            }
        }))
    }
}

impl Map {
    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        match self {
            Self::Planes(warp) => warp.size(),
            Self::Render(recipe) => recipe.geometry.canvas.size,
        }
    }

    /// Returns the picture sizes that the warp expects.
    #[must_use]
    pub fn sources(&self) -> Vec<UVec2> {
        match self {
            Self::Planes(warp) => warp.sources().to_vec(),
            Self::Render(recipe) => recipe.geometry.cameras.iter().map(|it| it.size).collect(),
        }
    }

    /// Returns the geometry of the rig, or `None` if the warp does not come from a rig: the geometry of a homography
    /// has no world directions.
    #[must_use]
    pub fn rig(&self) -> Option<&Geometry> {
        match self {
            Self::Render(recipe) if recipe.is_rig => Some(&recipe.geometry),
            _ => None,
        }
    }

    /// Returns the rig from which the warp is or was made, if there was one.
    #[must_use]
    pub fn as_rig(&self) -> Option<Rig> {
        let text = match self {
            Self::Planes(warp) => warp.rig(),
            Self::Render(recipe) => recipe.is_rig.then_some(&*recipe.text),
        };
        Rig::parse(text?, "warp").ok()
    }

    /// Returns the vignettes of the first 16 cameras. A warp file contains the rig from which it was made, if there was
    /// one.
    #[must_use]
    pub fn vignettes(&self) -> Vignettes {
        match self {
            Self::Render(recipe) => Vignettes::of(&recipe.vignettes),
            Self::Planes(_) => self.as_rig().as_ref().map(Vignettes::of_rig).unwrap_or_default(),
        }
    }

    /// Uploads the warp's planes to the device, or renders them there, and waits until the warp is complete.
    pub fn prepare(&self, stream: &Stream) -> Result<DeviceWarp, JobError> {
        let warp = match self {
            Self::Planes(warp) => DeviceWarp::upload(stream, warp)?,
            Self::Render(recipe) => DeviceWarp::render(stream, &recipe.geometry)?,
        };
        stream.synchronize()?;
        Ok(warp)
    }
}
