//! The option `--mask`: the parts of the pictures to ignore.

use std::path::{Path, PathBuf};

use panoweave::frame::Rgba8;
use panoweave::io::picture::{Picture, Pixel};

use crate::output::failure::Failure;

/// The option `--mask`.
#[derive(Debug, clap::Args)]
pub(crate) struct Masks {
    /// Picture of the size of the camera's pictures, PNG or JPEG: white where the camera's picture is used, black where
    /// it is ignored, for instance the rim of a fisheye or the body of a car. Give --mask once for all pictures, or
    /// once for each picture in order. Transparent pixels of a picture are always ignored.
    #[arg(long, value_name = "FILE")]
    mask: Vec<PathBuf>,
}

impl Masks {
    /// Returns the files of the masks.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.mask.iter().map(PathBuf::as_path)
    }

    /// Reads the masks, and masks the pictures, which were read from `files`.
    pub(crate) fn apply<P: Pixel>(
        &self,
        pictures: &mut [Picture<P>],
        files: &[&Path],
    ) -> Result<(), Failure> {
        if !self.mask.is_empty() && self.mask.len() != 1 && self.mask.len() != files.len() {
            return Err(Failure::usage("--mask must be given once, or once for each picture"));
        }
        let masks = self.mask.iter().map(Picture::open).collect::<Result<Vec<_>, _>>()?;
        for (i, (picture, file)) in pictures.iter_mut().zip(files).enumerate() {
            let Some(at) = (!masks.is_empty()).then(|| i.min(masks.len() - 1)) else { continue };
            if !picture.mask(&masks[at]) {
                let (found, expected) = (masks[at].size(), picture.size());
                return Err(Failure::input(format!(
                    "{}: the mask is {}×{} pixels, but the picture {} is {}×{} pixels; give a mask of the size of the picture",
                    self.mask[at].display(),
                    found.x,
                    found.y,
                    file.display(),
                    expected.x,
                    expected.y
                )));
            }
            let is_hidden = |&pixel: &P| Into::<Rgba8>::into(pixel).a == 0;
            if picture.pixels().iter().all(is_hidden) {
                return Err(Failure::input(format!(
                    "{}: the mask leaves no visible pixel of the picture {}; a mask is white where its picture is used",
                    self.mask[at].display(),
                    file.display()
                )));
            }
        }
        Ok(())
    }
}
