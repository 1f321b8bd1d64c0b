//! Tests `panoweave info`, `--help` and `--version` without a CUDA driver. Also tests a stdout that cannot be written.

use std::io::Read;
use std::process::Stdio;

use crate::{Done, Folder};

#[test]
fn is_useful_without_a_gpu() {
    let folder = Folder::new();
    let short = folder.quiet("info");
    for part in [concat!("panoweave ", env!("CARGO_PKG_VERSION")), "driver   ", "device   cpu"] {
        assert!(short.contains(part), "{part:?} is missing from {short}");
    }
    assert!(!short.contains("stitch_planes_nv12"), "{short}");
    let text = folder.quiet("info --kernels");
    assert!(text.starts_with(&short) && text.contains("stitch_planes_nv12"), "{text}");
    let measured = text.contains(" registers, ");
    assert_ne!(measured, text.contains("registers unknown: no ptxas when built"), "{text}");
}

#[test]
fn json_has_every_kernel_of_every_architecture() {
    let json = Folder::new().words("info --json").json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["driver"]["error"].as_str().unwrap().contains("/nonexistent/libcuda.so.1"));
    assert_eq!(json["devices"].as_array().unwrap().len(), 0);
    let archs = json["archs"].as_array().unwrap();
    let kernels = json["kernels"].as_array().unwrap();
    assert_eq!(*archs, ["sm_80", "sm_90"]);
    // The compiler was asked for Orin's code, which all GPUs from `sm_80` on run.
    assert_eq!(kernels.iter().map(|built| &built["arch"]).collect::<Vec<_>>(), ["sm_87", "sm_90"]);
    for built in kernels {
        let kernels = built["kernels"].as_array().unwrap();
        assert!(kernels.iter().any(|kernel| kernel["name"] == "warp_camera"), "{built}");
        assert!(kernels.iter().all(|kernel| kernel["max_threads"].is_u64()), "{built}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = Folder::new();
    for arguments in [&["info"][..], &["info", "--json"], &["--help"], &["--version"]] {
        let mut command = folder.command();
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {stderr}");
        assert_eq!(stderr, "", "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Folder::new().command().arg("info").stdout(full).output().unwrap();
    let done = Done::from(output);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.starts_with("error: the result cannot be printed: "), "{done:?}");
}

#[test]
fn help_and_version_go_to_stdout() {
    let folder = Folder::new();
    assert_eq!(folder.quiet("--version"), concat!("panoweave ", env!("CARGO_PKG_VERSION"), "\n"));
    for line in
        ["stitch --help", "warp --help", "warp inspect --help", "features --help", "info --help"]
    {
        assert!(folder.quiet(line).contains("Example"), "{line}");
    }
    let (short, long) = (folder.quiet("video -h"), folder.quiet("video --help"));
    let headings = |help: &str| -> Vec<String> {
        let lines = help.lines().filter(|line| !line.starts_with(' ') && line.ends_with(':'));
        lines.map(str::to_owned).collect()
    };
    let expected = "Arguments: Options: Map: Limits: Calibration: Output: View: Inputs: Colours: Blending: Common options: Examples:";
    assert_eq!(headings(&short).join(" "), expected);
    assert_eq!(headings(&long).join(" "), expected);
    assert!(short.lines().count() < 110 && !short.contains("SIGTERM"), "{short}");
    assert!(long.contains("SIGTERM") && !long.contains("color"), "{long}");
    let help = folder.quiet("--help");
    assert!(help.contains("Exit codes:") && help.contains("\"exit_code\": 2"), "{help}");
}
