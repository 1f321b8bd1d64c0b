//! Options that select the warp: a warp file, a rig or a homography.

use std::path::{Path, PathBuf};

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::geometry::Geometry;
use panoweave::geometry::rig::Rig;
use panoweave::ops::stitch::Vignettes;
use panoweave::warp::{DeviceWarp, Plane, Warp};

use crate::options::max_pixels::MaxPixels;
use crate::options::recipe::Recipe;
use crate::options::values::canvas_size;
use crate::output::failure::Failure;

/// The options that name a warp, or the rig or homography to compute it from.
#[derive(Debug, clap::Args)]
pub(crate) struct WarpSource {
    #[command(flatten)]
    source: WarpFiles,
    /// Size of the panorama in pixels. Required if --warp is a folder of raw planes, which do not store their size. Not
    /// allowed for a warp file.
    #[arg(long, value_name = "WxH", value_parser = canvas_size, conflicts_with_all = ["rig", "homography"])]
    size: Option<UVec2>,
    #[command(flatten)]
    limit: MaxPixels,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct WarpFiles {
    /// Warp file, which contains the source coordinates and weights of every panorama pixel. `panoweave warp` writes
    /// such files. PATH can also be a folder with six raw planes; then --size is required.
    #[arg(long, value_name = "PATH")]
    warp: Option<PathBuf>,
    /// Rig file (TOML) that describes the size and projection of the panorama, and the lens and direction of each
    /// camera. `panoweave calibrate` writes such files.
    #[arg(long, value_name = "FILE")]
    rig: Option<PathBuf>,
    /// Text file with a homography: nine numbers, row by row, of the 3×3 matrix that maps pixels of the second
    /// picture to pixels of the first picture.
    #[arg(long, value_name = "FILE")]
    homography: Option<PathBuf>,
}

/// Checks that the pictures match the warp or rig in the file `map`. `wanted` has the picture sizes for which the warp
/// or rig was made, one per camera. The pictures in `files` have the sizes `found`.
pub(crate) fn check_pictures(
    map: &Path,
    wanted: &[UVec2],
    found: &[UVec2],
    files: &[&Path],
) -> Result<(), Failure> {
    if wanted.len() != found.len() {
        return Err(Failure::picture_count(map, found.len(), wanted.len()));
    }
    for (i, ((&expected, &found), file)) in wanted.iter().zip(found).zip(files).enumerate() {
        if found != expected {
            let which = format!("pictures of camera {}", i + 1);
            return Err(Failure::picture_size(file, found, map, &which, expected));
        }
    }
    Ok(())
}

/// Returns the failure of a `map` that does not store the sizes of its pictures.
fn needs_cameras(map: &Path, reason: &str) -> Failure {
    Failure::usage(format!(
        "{}: {reason}; give the cameras' pictures or videos with --cameras FIRST SECOND",
        map.display()
    ))
}

/// A warp that is not on the device yet: planes that were read from a warp file and must be uploaded, or a recipe from
/// which the device renders the warp.
pub(crate) enum Plan {
    Planes(Warp),
    Render(Recipe),
}

impl WarpSource {
    /// Fails if `--size` is given. Commands call this function if `--warp` is not given, because `--size` is only for
    /// the raw planes of `--warp`.
    pub(crate) fn check_absent(&self) -> Result<(), Failure> {
        match self.size {
            Some(_) => Err(Failure::usage(
                "--size is the size of raw planes; give their folder with --warp",
            )),
            None => Ok(()),
        }
    }

    /// Returns the path of the warp, the rig or the homography, or `None` if the user gave none of them.
    pub(crate) fn path(&self) -> Option<&Path> {
        let WarpFiles { warp, rig, homography } = &self.source;
        warp.as_deref().or(rig.as_deref()).or(homography.as_deref())
    }

    /// Returns the files from which the warp, the rig or the homography is read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match &self.source.warp {
            Some(folder) if folder.is_dir() => {
                Plane::all(2).map(|plane| plane.raw_file(folder)).collect()
            }
            _ => self.path().map(Path::to_owned).into_iter().collect(),
        }
    }

    /// Returns whether the user gave a homography.
    pub(crate) fn is_homography(&self) -> bool {
        self.source.homography.is_some()
    }

    /// Reads the warp, rig or homography, and checks that it is for pictures with the sizes `sources`. The pictures
    /// were read from `files`. Fails if `output` is a lens calibration file to which the rig refers.
    pub(crate) fn open(
        &self,
        sources: &[UVec2],
        files: &[&Path],
        output: &Path,
    ) -> Result<Plan, Failure> {
        let plan = self.read(sources, output)?;
        // Check the sizes before any computation. The stitch would also check them, but its error names no file.
        check_pictures(self.path().unwrap_or(Path::new("")), &plan.sources(), sources, files)?;
        Ok(plan)
    }

    /// Reads the warp or rig of a finished panorama, without knowing the sizes of the cameras' pictures. Fails for a
    /// homography and for raw planes, because these do not store the picture sizes.
    pub(crate) fn open_alone(&self) -> Result<Plan, Failure> {
        let WarpFiles { warp, homography, .. } = &self.source;
        if let Some(homography) = homography {
            return Err(needs_cameras(
                homography,
                "a homography does not store the sizes of its pictures",
            ));
        }
        if let Some(folder) = warp.as_ref().filter(|warp| warp.is_dir()) {
            return Err(needs_cameras(
                folder,
                "raw planes do not store the sizes of their pictures",
            ));
        }
        // A rig and a warp file store the picture sizes, so `read` does not use these zeros.
        self.read(&[UVec2::ZERO; 2], Path::new(""))
    }

    fn read(&self, sources: &[UVec2], output: &Path) -> Result<Plan, Failure> {
        let WarpFiles { warp, rig, homography } = &self.source;
        if let Some(rig) = rig {
            return Ok(Plan::Render(Recipe::from_rig(rig, None, self.limit, output)?));
        }
        let two = <[UVec2; 2]>::try_from(sources);
        if let Some(homography) = homography {
            let two = two.map_err(|_| {
                Failure::input(format!(
                    "{}: a homography is for exactly two pictures or videos, but {} are given; give two, or a rig with --rig",
                    homography.display(),
                    sources.len()
                ))
            })?;
            return Ok(Plan::Render(Recipe::from_homography(homography, two, self.limit)?));
        }
        let Some(path) = warp else {
            return Err(Failure::usage("there is no warp; give --warp, --rig or --homography"));
        };
        let warp = match (path.is_dir(), self.size) {
            (true, Some(size)) => {
                let two = two.map_err(|_| Failure::picture_count(path, sources.len(), 2))?;
                Warp::import_raw(path, size, two)?
            }
            (true, None) => return Err(Failure::raw_size(path)),
            (false, Some(_)) => {
                return Err(Failure::usage(format!(
                    "{}: a warp file stores its own size; remove --size",
                    path.display()
                )));
            }
            (false, None) => Warp::open(path)?,
        };
        Ok(Plan::Planes(warp))
    }
}

impl Plan {
    /// Returns the picture sizes that the warp expects.
    fn sources(&self) -> Vec<UVec2> {
        match self {
            Self::Planes(warp) => warp.sources().to_vec(),
            Self::Render(recipe) => recipe.sources(),
        }
    }

    /// Returns the geometry of the rig, or `None` if the warp does not come from a rig.
    pub(crate) fn rig(&self) -> Option<&Geometry> {
        match self {
            Self::Render(recipe) if recipe.is_rig() => Some(recipe.geometry()),
            _ => None,
        }
    }

    /// Returns the vignette of each camera. A warp file contains the rig from which it was made, if there was one.
    pub(crate) fn vignettes(&self) -> Vignettes {
        match self {
            Self::Render(recipe) => recipe.vignettes(),
            Self::Planes(warp) => {
                let rig = warp.rig().and_then(|text| Rig::parse(text, "warp").ok());
                rig.as_ref().map(Vignettes::of_rig).unwrap_or_default()
            }
        }
    }

    /// Uploads the warp's planes to the device, or renders them there, and waits until the warp is complete.
    pub(crate) fn prepare(self, stream: &Stream) -> Result<DeviceWarp, Failure> {
        let warp = match self {
            Self::Planes(warp) => DeviceWarp::upload(stream, &warp)?,
            Self::Render(recipe) => DeviceWarp::render(stream, recipe.geometry())?,
        };
        stream.synchronize()?;
        Ok(warp)
    }
}
