//! The files of a new project, from the folder `template` of this package.
//!
//! The template is a real project called `my-program`. Three files have other names than in the project, because cargo
//! does not package a folder that contains a `Cargo.toml`, and git would apply a `.gitignore`.

use super::kit::Kit;

/// The name in the template that the new name replaces, as a package and as a library.
const NAME: &str = "my-program";
const LIBRARY: &str = "my_program";

/// Returns a file of the template: its path in the project, and its text.
macro_rules! file {
    ($path:literal) => {
        file!($path, $path)
    };
    ($path:literal, $stored:literal) => {
        ($path, include_str!(concat!("../../../template/", $stored)))
    };
}

const FILES: [(&str, &str); 10] = [
    file!("Cargo.toml", "Cargo.toml.in"),
    file!("build.rs"),
    file!("src/lib.rs"),
    file!("src/main.rs"),
    file!("tests/add.rs"),
    file!("kernels/Cargo.toml", "kernels/Cargo.toml.in"),
    file!("kernels/src/lib.rs"),
    file!("kernels/tests/add.rs"),
    file!("README.md"),
    file!(".gitignore", "gitignore"),
];

/// Returns the path and the text of each file of the project `name`.
pub(super) fn files(name: &str, kit: &Kit) -> impl Iterator<Item = (&'static str, String)> {
    let library = name.replace('-', "_");
    FILES.iter().map(move |(path, text)| {
        let text = text.replace(NAME, name).replace(LIBRARY, &library);
        let is_manifest = path.ends_with("Cargo.toml");
        (*path, if is_manifest { kit.apply(&text) } else { text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_keeps_the_name_of_the_template() {
        for (path, text) in files("wave-sim", &Kit::Published) {
            assert!(!text.contains(NAME) && !text.contains(LIBRARY), "{path}: {text}");
            assert!(path != "src/main.rs" || text.contains("wave_sim::add"), "{text}");
        }
    }
}
