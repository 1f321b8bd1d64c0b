//! `cargo cuda new`: creates a project.

mod kit;
mod template;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::Error;
use crate::output::print;
use kit::Kit;

/// The longest accepted name, in characters. The registry accepts 64, and the name of the package of kernels is longer
/// by its suffix.
const MAX_LENGTH: usize = 64 - "-kernels".len();

/// Creates a project with a host package, a package of kernels, and tests of both.
///
/// `cargo run` and `cargo test` work in the new project without changes. They use the first GPU, or the CPU if there is
/// no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to create. The last part of the path is the name of the package.
    #[arg(value_name = "NAME")]
    path: PathBuf,
    /// Depends on the crates in this checkout of the kit by path, instead of on published versions. Required until the
    /// crates are published. The default is the environment variable CARGO_CUDA_KIT.
    #[arg(long, value_name = "PATH")]
    kit: Option<PathBuf>,
}

/// Creates the project and prints the next steps.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let name = name(&args.path)?;
    let kit = match args.kit.clone().or_else(kit_from_environment) {
        Some(folder) => Kit::Checkout(kit::find(&folder)?),
        None => Kit::Published,
    };
    if args.path.symlink_metadata().is_ok() {
        let path = args.path.display();
        return Err(Error::new(format!(
            "cannot create the project: `{path}` already exists; choose another name, or delete it"
        )));
    }
    for (file, text) in template::files(&name, &kit) {
        write(&args.path.join(file), &text)?;
    }
    let folder = args.path.display();
    if let Kit::Published = kit {
        eprintln!(
            "warning: the packages of the kit are not published yet; the project builds only with `--kit PATH`"
        );
    }
    print(&format!(
        "created the program `{name}` and its kernels in `{folder}`\n\
         next: `cd {folder}`, then `cargo run` or `cargo test`\n\
         new to GPUs? read {}\n",
        kit.guide()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of the package in `folder`: the last part of the path. Cargo itself rejects keywords.
fn name(folder: &Path) -> Result<String, Error> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if starts_well && name.chars().all(is_part) && name.len() <= MAX_LENGTH {
        return Ok(name.into_owned());
    }
    Err(Error::new(format!(
        "cannot use `{name}` as a package name: it must start with a letter, have at most {MAX_LENGTH} characters, and \
         contain only ASCII letters, digits, `-` and `_`; choose another name"
    )))
}

fn kit_from_environment() -> Option<PathBuf> {
    env::var_os(kit::VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    }
    fs::write(path, text).map_err(Error::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_packages() {
        let longest = "x".repeat(MAX_LENGTH);
        for good in ["vecadd", "my-program", "my_program2", "A", &longest] {
            assert_eq!(name(&Path::new("somewhere").join(good)).ok().as_deref(), Some(good));
        }
        let longer = longest.clone() + "x";
        for bad in ["..", "a b", "größe", "2d", "-x", &longer] {
            assert!(name(&Path::new("somewhere").join(bad)).is_err(), "{bad}");
        }
    }
}
