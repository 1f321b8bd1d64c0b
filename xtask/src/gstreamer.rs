//! Provides GStreamer for the plugin in `gst/`: libraries and headers to build it, tools and plugins to test it.
//!
//! If the system lacks them, this module downloads Debian's packages into the target folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::cargo::{cargo, target};
use crate::debian::{self, Packages};

/// The packages of the plugin.
pub(crate) const PLUGIN: [&str; 2] = ["gst-plugin-panoweave", "gst-plugin-panoweave-fuzz"];

const PACKAGES: [&str; 9] = [
    "gstreamer1.0-libav",
    "gstreamer1.0-plugins-bad",
    "gstreamer1.0-plugins-base",
    "gstreamer1.0-plugins-good",
    "gstreamer1.0-plugins-ugly",
    "gstreamer1.0-tools",
    "libgstreamer-plugins-base1.0-dev",
    "libgstreamer1.0-dev",
    "pkgconf",
];

/// The modules of pkg-config that the plugin and its tests need.
const MODULES: [&str; 2] = ["gstreamer-check-1.0", "gstreamer-video-1.0"];

/// An element of each package with elements that the tests use.
const ELEMENTS: [&str; 6] =
    ["avdec_h264", "fakesink", "h264parse", "mp4mux", "videotestsrc", "x264enc"];

type Variables = Vec<(&'static str, OsString)>;

/// Returns the environment variables with which GStreamer is found. The list is empty if the system has everything.
pub(crate) fn provide() -> Result<Variables> {
    if works(&Vec::new()) {
        return Ok(Vec::new());
    }
    let folder = target().join("gstreamer");
    if let Ok(packages) = Packages::open(folder.join("root")) {
        let variables = variables(&packages, &folder);
        if works(&variables) {
            return Ok(variables);
        }
    }
    println!("downloading GStreamer into {}", folder.display());
    let packages = debian::fetch(&folder, &PACKAGES)?;
    packages.prepare_for_builds()?;
    let variables = variables(&packages, &folder);
    if works(&variables) {
        return Ok(variables);
    }
    Err("the downloaded GStreamer does not work; install its packages, see doc/gstreamer.md".into())
}

/// `cargo xtask gst ARGUMENTS`: runs cargo with an environment in which GStreamer is found.
pub(crate) fn command(arguments: &[&str]) -> Result {
    let status = cargo(arguments).envs(provide()?).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo {}: {status}", arguments.join(" ")).into())
    }
}

fn works(variables: &Variables) -> bool {
    let succeeds = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).envs(variables.iter().cloned());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    succeeds("pkg-config", &[&["--exists"], &MODULES[..]].concat())
        && succeeds("gst-launch-1.0", &["--version"])
        && ELEMENTS.iter().all(|element| succeeds("gst-inspect-1.0", &["--exists", element]))
}

/// Returns the environment variables with which the unpacked packages are found.
fn variables(packages: &Packages, folder: &Path) -> Variables {
    let mut plugins: Vec<_> = packages
        .libraries
        .iter()
        .filter(|folder| folder.ends_with("gstreamer-1.0"))
        .cloned()
        .collect();
    // The system may have a part of the plugins, in the same folder.
    let installed: Vec<_> = plugins
        .iter()
        .filter_map(|folder| Some(Path::new("/").join(folder.strip_prefix(&packages.root).ok()?)))
        .collect();
    // The system's library knows the path of its own scanner.
    let scanner = plugins
        .iter()
        .filter_map(|folder| {
            Some(folder.parent()?.join("gstreamer1.0/gstreamer-1.0/gst-plugin-scanner"))
        })
        .find(|scanner| scanner.exists());
    plugins.extend(installed);
    let with_old = |mut folders: Vec<PathBuf>, name: &str| {
        folders.extend(std::env::split_paths(&std::env::var_os(name).unwrap_or_default()));
        folders
    };
    let lists = [
        ("GST_PLUGIN_SYSTEM_PATH", plugins),
        ("LD_LIBRARY_PATH", with_old(packages.libraries.clone(), "LD_LIBRARY_PATH")),
        ("PATH", with_old(vec![packages.root.join("usr/bin")], "PATH")),
        ("PKG_CONFIG_PATH", with_old(packages.pkg_config(), "PKG_CONFIG_PATH")),
    ];
    let joined =
        |(name, folders)| Some((name, std::env::join_paths::<Vec<PathBuf>, _>(folders).ok()?));
    let mut variables: Variables = lists.into_iter().filter_map(joined).collect();
    variables.push(("GST_REGISTRY", folder.join("registry.bin").into_os_string()));
    variables.extend(scanner.map(|scanner| ("GST_PLUGIN_SCANNER", scanner.into_os_string())));
    variables
}
