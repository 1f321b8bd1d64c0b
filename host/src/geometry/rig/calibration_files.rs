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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::geometry::rig::{Rig, RigError};

    #[test]
    fn a_rig_reads_only_allowed_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("rig");
        std::fs::create_dir(&folder).unwrap();
        let calibration = "K: [300, 0, 200, 0, 300, 150, 0, 0, 1]\n";
        std::fs::write(root.path().join("outside.yaml"), calibration).unwrap();
        std::fs::write(folder.join("inside.yaml"), calibration).unwrap();
        symlink("../outside.yaml", folder.join("link.yaml")).unwrap();
        let absolute = folder.join("inside.yaml").display().to_string();
        let parsed = |name: &str, allowed| {
            let camera = |name, yaw, file: &str| {
                format!(
                    "[[camera]]\nname = \"{name}\"\nsize = [400, 300]\nlens = \"pinhole\"\n\
                     opencv = \"{file}\"\nyaw = {yaw}.0\n"
                )
            };
            let canvas =
                "[panorama]\nprojection = \"planar\"\nwidth = 90\nheight = 30\nfov = 90.0\n";
            let text = [canvas, &camera("a", -20, name), &camera("b", 20, name)].concat();
            Rig::parse_with(&text, folder.join("r.toml"), allowed)
        };
        for (name, inside) in [
            ("inside.yaml", true),
            (&*absolute, true),
            ("../outside.yaml", false),
            ("link.yaml", false),
        ] {
            parsed(name, CalibrationFiles::Anywhere).unwrap();
            let found = parsed(name, CalibrationFiles::InFolder);
            assert_eq!(found.is_ok(), inside, "{name}");
            let refused = |error: &RigError| matches!(error, RigError::CalibrationPath { .. });
            assert!(found.err().as_ref().is_none_or(refused), "{name}");
            assert!(refused(&parsed(name, CalibrationFiles::Nowhere).unwrap_err()), "{name}");
        }
    }
}
