//! The source of the kit's crates: published versions, or a checkout.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// The environment variable that names a checkout of the kit.
pub(super) const VARIABLE: &str = "CARGO_CUDA_KIT";

/// The start of a dependency's value on a published crate of the kit. The library's name precedes it.
const PUBLISHED: &str = " = { package = \"stable-";

/// The first page of the guide, in the folder of the kit's crates.
const GUIDE: &str = "doc/guide/README.md";

/// The source of the kit's crates.
pub(super) enum Kit {
    /// A registry.
    Published,
    /// The folder that contains the kit's crates.
    Checkout(PathBuf),
}

impl Kit {
    /// Returns the manifest with each dependency on the kit changed to this source.
    pub(super) fn apply(&self, manifest: &str) -> String {
        let Self::Checkout(folder) = self else { return manifest.to_owned() };
        let line = |line: &str| match line.split_once(PUBLISHED) {
            Some((library, rest)) => {
                let package = rest.split('"').next().unwrap_or_default();
                let path = quoted(&folder.join(library));
                format!("{library}{PUBLISHED}{package}\", path = {path} }}\n")
            }
            None => format!("{line}\n"),
        };
        manifest.lines().map(line).collect()
    }

    /// Returns where to find the guide for beginners.
    pub(super) fn guide(&self) -> String {
        match self {
            Self::Published => format!("`cuda/{GUIDE}` in the repository of the kit"),
            Self::Checkout(folder) => folder.join(GUIDE).display().to_string(),
        }
    }
}

/// Returns the folder with the kit's crates in a checkout: `path` itself, or its folder `cuda`.
pub(super) fn find(path: &Path) -> Result<PathBuf, Error> {
    let is_kit = |folder: &PathBuf| {
        ["cust", "cuda_std", "cuda_builder"]
            .iter()
            .all(|library| folder.join(library).join("Cargo.toml").is_file())
    };
    let folder = [path.to_owned(), path.join("cuda")]
        .into_iter()
        .find(is_kit)
        .ok_or_else(|| {
            let path = path.display();
            Error::new(format!(
                "cannot find the kit in `{path}`: neither this folder nor its folder `cuda` has `cust/Cargo.toml`, \
                 `cuda_std/Cargo.toml` and `cuda_builder/Cargo.toml`; correct --kit or CARGO_CUDA_KIT"
            ))
        })?;
    folder.canonicalize().map_err(Error::io("find", &folder))
}

/// Returns the path as a basic string of TOML.
fn quoted(path: &Path) -> String {
    let escape = |character: char| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", path.display().to_string().chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[dependencies]\ncust = { package = \"stable-cust\", version = \"0.1\" }\n";

    #[test]
    fn a_checkout_replaces_the_version_by_a_path() {
        let kit = Kit::Checkout(PathBuf::from("/a \"b\"/cuda"));
        let expected = "[dependencies]\n\
            cust = { package = \"stable-cust\", path = \"/a \\\"b\\\"/cuda/cust\" }\n";
        assert_eq!(kit.apply(MANIFEST), expected);
        assert_eq!(Kit::Published.apply(MANIFEST), MANIFEST);
    }

    #[test]
    fn a_folder_without_the_crates_is_not_a_kit() {
        let error = find(Path::new(env!("CARGO_MANIFEST_DIR"))).expect_err("no kit").to_string();
        assert!(error.contains("cust/Cargo.toml"), "{error}");
        let kit = find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("a kit");
        assert!(kit.join("cargo-cuda").is_dir());
        assert!(Path::new(&Kit::Checkout(kit).guide()).is_file());
    }
}
