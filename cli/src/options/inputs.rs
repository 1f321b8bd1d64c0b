//! Distinguishes pictures from videos by the file name.

use std::path::Path;

use panoweave::io::picture::Picture;
use panoweave::io::video::Medium;
use panoweave::job::InputOptions;

use crate::output::failure::Failure;

/// Returns true if all files are pictures, and false if all files are videos. A picture has a picture's extension, is not
/// a pattern of numbered pictures, and has no `--input-format`. Fails if there are both, or if all files are pictures but
/// an option for videos is given.
pub(crate) fn are_pictures(options: &InputOptions, files: &[&Path]) -> Result<bool, Failure> {
    let mut kinds = Vec::with_capacity(files.len());
    for file in files {
        let medium = Medium::of_input(file, options.input_format)?;
        kinds.push(medium == Medium::File && Picture::check_name(file).is_ok());
    }
    let of = |kind: bool| kinds.iter().position(|is| *is == kind).map(|i| files[i].display());
    match (of(true), of(false)) {
        (Some(picture), Some(video)) => Err(Failure::input(format!(
            "{picture} is a picture but {video} is a video; give only pictures or only videos"
        ))),
        (Some(_), None) if *options != InputOptions::default() => Err(Failure::usage(
            "options for videos, such as --input-format, --fps and --sync, do not apply to pictures; remove them",
        )),
        (picture, _) => Ok(picture.is_some()),
    }
}
