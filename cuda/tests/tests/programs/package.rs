//! Packs the kit's packages as `cargo publish` would, and checks that the packages contain all necessary files and
//! metadata, and nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use kit_tests::project;

/// Returns the folder and the name of each published package of the kit.
fn published() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(project::root()).expect("the kit's folder") {
        let folder = entry.expect("an entry").path();
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        if manifest.lines().any(|line| line.starts_with("publish")) {
            continue;
        }
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
        let folder = folder.file_name().expect("a name").to_string_lossy().into_owned();
        all.push((folder, name.expect("a name").trim_matches('"').to_owned()));
    }
    all.sort();
    all
}

/// Returns the concatenated text of all files in a packed crate whose paths match the wildcard `pattern`.
fn unpacked(packed: &Path, pattern: &str) -> String {
    let mut tar = Command::new("tar");
    tar.arg("-xzOf").arg(packed).args(["--wildcards", pattern]);
    String::from_utf8(project::run(tar).stdout).expect("packages contain only text")
}

#[test]
fn every_package_of_the_kit_can_be_published() {
    let published = published();
    let libraries: Vec<&str> = published.iter().map(|(folder, _)| &**folder).collect();
    let kit = [
        "cargo-cuda",
        "cuda_builder",
        "cuda_cpu",
        "cuda_std",
        "cuda_std_macros",
        "cust",
        "cust_core",
        "cust_derive",
        "cust_raw",
    ];
    assert_eq!(libraries, kit);

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    let folder = target.to_string_lossy().into_owned();
    let mut arguments = vec!["package", "--no-verify", "--allow-dirty", "--offline"];
    arguments.extend(["--target-dir", &folder]);
    arguments.extend(published.iter().flat_map(|(_, name)| ["--package", name]));
    project::run(project::cargo(project::root(), &arguments));

    for (library, name) in published {
        let packed = target.join(format!("package/{name}-0.1.0.crate"));
        let files = project::run({
            let mut tar = Command::new("tar");
            tar.arg("-tzf").arg(&packed);
            tar
        });
        let files = String::from_utf8_lossy(&files.stdout).into_owned();
        let prefix = format!("{name}-0.1.0/");
        let files: Vec<&str> =
            files.lines().map(|file| file.strip_prefix(&prefix).unwrap_or(file)).collect();
        let root = if library == "cargo-cuda" { "src/main.rs" } else { "src/lib.rs" };
        for needed in ["README.md", "LICENSE-APACHE", "LICENSE-MIT", root, "Cargo.toml"] {
            assert!(files.contains(&needed), "{library} lacks {needed}: {files:?}");
        }
        for file in &files {
            let is_template = library == "cargo-cuda" && file.starts_with("template/");
            let expected = file.starts_with("src/") || is_template || !file.contains('/');
            assert!(expected, "{library} does not need {file}");
        }
        let manifest = unpacked(&packed, "*/Cargo.toml");
        assert!(manifest.contains(&format!("name = \"{library}\"")), "{library}: {manifest}");
        let dependency_paths = manifest.lines().filter(|line| line.starts_with("path = "));
        for line in dependency_paths {
            assert_eq!(line, format!("path = \"{root}\""), "{library} depends on a folder");
        }
        assert!(!unpacked(&packed, "*/src/*").contains("panoweave"), "the kit stands alone");
    }
}
