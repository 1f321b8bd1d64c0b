//! The calibration files that a rig may name. A rig can name any file, so a program that accepts rigs from strangers
//! restricts them.

use std::path::Path;

/// The calibration files that the field `opencv` of a rig may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CalibrationFiles {
    /// Any file that the process can read.
    #[default]
    Anywhere,
    /// Files in the folder of the rig file and in its subfolders. Symbolic links are followed first.
    InFolder,
    /// No files: each camera must have a matrix.
    Nowhere,
}

impl CalibrationFiles {
    /// Returns whether the rig in the file `rig` may name the file `path`.
    pub(super) fn contain(self, path: &Path, rig: &Path) -> bool {
        let folder = crate::io::folder_of(rig);
        match self {
            Self::Anywhere => true,
            Self::InFolder => path
                .canonicalize()
                .and_then(|path| Ok(path.starts_with(folder.canonicalize()?)))
                .unwrap_or(false),
            Self::Nowhere => false,
        }
    }

    /// Returns the allowed files in words.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Anywhere => "a file",
            Self::InFolder => "an existing file in the folder of the rig",
            Self::Nowhere => "absent, because this program reads no calibration files; give matrix",
        }
    }
}
