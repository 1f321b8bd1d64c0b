//! Reports properties of the inputs that are lost on reading: a warning for each, and a list for `--json`.

use std::path::{Path, PathBuf};

use panoweave::io::Conversion;
use panoweave::io::picture::{Picture, Pixel};
use panoweave::io::video::VideoSource;
use serde_json::{Value, json};

/// The conversions of all inputs of a command.
#[derive(Default)]
pub(crate) struct Conversions(Vec<(PathBuf, Conversion)>);

impl Conversions {
    /// Adds the conversions of pictures, which were read from `files`, and logs a warning for each.
    pub(crate) fn add_pictures<'a, P: Pixel>(
        &mut self,
        files: &[&Path],
        pictures: impl IntoIterator<Item = &'a Picture<P>>,
    ) {
        for (file, picture) in files.iter().zip(pictures) {
            self.add(file, picture.conversions());
        }
    }

    /// Adds the conversions of a picture whose opacity the command ignores, and logs a warning for each.
    pub(crate) fn add_opaque(&mut self, file: &Path, picture: &Picture) {
        let alpha = (!picture.is_opaque()).then_some(Conversion::Alpha);
        self.add(file, picture.conversions().chain(alpha));
    }

    /// Adds the conversions of videos, and logs a warning for each.
    pub(crate) fn add_videos<'a>(&mut self, sources: impl IntoIterator<Item = &'a VideoSource>) {
        for source in sources {
            self.add(source.name(), source.conversions().iter().cloned());
        }
    }

    /// Adds the conversions of an input, and logs a warning for each.
    pub(crate) fn add(&mut self, file: &Path, conversions: impl Iterator<Item = Conversion>) {
        for conversion in conversions {
            tracing::warn!("{}: {conversion}", file.display());
            self.0.push((file.to_owned(), conversion));
        }
    }

    /// Returns the conversions as JSON.
    pub(crate) fn json(&self) -> Value {
        let one = |(file, conversion): &(PathBuf, Conversion)| {
            json!({
                "input": file.to_string_lossy(),
                "kind": conversion.kind(),
                "message": conversion.to_string(),
            })
        };
        self.0.iter().map(one).collect()
    }
}
