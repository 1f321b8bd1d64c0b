//! The files of a new project, from the folder `template` of this package.
//!
//! The template is a real project called `my-program`. Three files have other names than in the project, because cargo
//! does not package a folder that contains a `Cargo.toml`, and git would apply a `.gitignore`.

use super::kit::Kit;
use super::name::Name;

/// The name in the template that the new name replaces, as a package and as a library.
const NAME: &str = "my-program";
const LIBRARY: &str = "my_program";

/// The file that a library does not have.
const MAIN: &str = "src/main.rs";

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
pub(super) fn files(name: &Name, kit: &Kit, is_library: bool) -> Vec<(&'static str, String)> {
    let wanted = FILES.iter().filter(|(path, _)| !(is_library && *path == MAIN));
    wanted
        .map(|(path, text)| {
            let text = text.replace(NAME, &name.to_string()).replace(LIBRARY, &name.library());
            let text = match *path {
                "Cargo.toml" | "kernels/Cargo.toml" => kit.apply(&text),
                "README.md" if is_library => without_program(&text),
                _ => text,
            };
            (*path, text)
        })
        .collect()
}

/// Removes the lines of the README about the program.
fn without_program(readme: &str) -> String {
    let is_about_it = |line: &str| line.contains("`cargo run`") || line.contains(MAIN);
    readme.split_inclusive('\n').filter(|line| !is_about_it(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn project(is_library: bool) -> Vec<(&'static str, String)> {
        let name = Name::of_folder(Path::new("wave-sim")).expect("a valid name");
        files(&name, &Kit::Published, is_library)
    }

    #[test]
    fn no_file_keeps_the_name_of_the_template() {
        let files = project(false);
        for (path, text) in &files {
            assert!(!text.contains(NAME) && !text.contains(LIBRARY), "{path}: {text}");
        }
        let (_, main) = files.iter().find(|(path, _)| *path == MAIN).expect("src/main.rs");
        assert!(main.contains("wave_sim::add"), "{main}");
    }

    #[test]
    fn a_library_has_no_main() {
        let files = project(true);
        assert!(files.iter().all(|(_, text)| !text.contains("cargo run") && !text.contains(MAIN)));
        let library: Vec<_> = files.into_iter().map(|(path, _)| path).collect();
        assert!(!library.contains(&MAIN) && library.contains(&"src/lib.rs"), "{library:?}");
        assert_eq!(library.len() + 1, project(false).len());
    }
}
