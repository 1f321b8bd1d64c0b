//! Tests the exit codes for GPUs that are missing, that fail, or that are lost. A fake driver library returns the
//! errors.

use std::path::PathBuf;
use std::process::Command;

use crate::{Done, Folder};

const LINE: &str = "stitch left.png right.png --rig rig.toml -o pano.png --device cuda:0";

/// Builds a driver library whose `cuInit` returns `code`.
fn fake_driver(folder: &Folder, code: u32) -> PathBuf {
    folder.write("fake.c", format!("int cuInit(unsigned flags) {{ return {code}; }}\n"));
    let library = folder.path(format!("fake{code}.so"));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(folder.path("fake.c"));
    assert!(cc.status().unwrap().success());
    library
}

fn with_driver(folder: &Folder, code: u32, line: &str) -> Done {
    let driver = fake_driver(folder, code);
    let mut command = folder.command();
    command.env("CUDA_DRIVER_LIBRARY", driver).args(line.split(' '));
    Done::from(command.output().unwrap())
}

#[test]
fn no_driver_is_3() {
    let folder = Folder::new();
    let done = folder.words(LINE);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert_eq!(done.stdout, "");
    assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    assert!(done.stderr.starts_with("error: no usable device: "), "{done:?}");
    assert!(!folder.path("pano.png").exists());
    let json = folder.words(&format!("{LINE} --json")).json();
    assert_eq!(
        (&json["error"]["kind"], &json["error"]["exit_code"]),
        (&"no_device".into(), &3.into())
    );
    assert_eq!(folder.words("warp --rig rig.toml -o x --device cuda:1").code, Some(3));
}

#[test]
fn a_driver_without_a_device_is_3() {
    let done = with_driver(&Folder::new(), 100, LINE);
    assert_eq!(done.code, Some(3), "{done:?}");
}

#[test]
fn a_device_that_fails_is_1() {
    // Code 2 is CUDA_ERROR_OUT_OF_MEMORY.
    let done = with_driver(&Folder::new(), 2, &format!("{LINE} --json"));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(done.json()["error"]["kind"], "device");
}

#[test]
fn a_code_that_is_newer_keeps_its_number() {
    // Code 803 is CUDA_ERROR_SYSTEM_DRIVER_MISMATCH. Code 12345 is not a CUDA error.
    for code in [803, 12345] {
        let done = with_driver(&Folder::new(), code, LINE);
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.stderr.contains(&format!("({code})")), "{done:?}");
    }
}

#[test]
fn a_lost_device_is_4() {
    // Code 719 is CUDA_ERROR_LAUNCH_FAILED, after which the device is lost.
    let done = with_driver(&Folder::new(), 719, &format!("{LINE} --json"));
    assert_eq!(done.code, Some(4), "{done:?}");
    let json = done.json();
    assert_eq!(
        (&json["error"]["kind"], &json["error"]["exit_code"]),
        (&"device_lost".into(), &4.into())
    );
}

#[test]
fn info_tells_of_a_driver_that_fails() {
    let folder = Folder::new();
    let done = with_driver(&folder, 999, "info");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("functions missing\n"), "{done:?}");
    assert!(done.stdout.contains("\ndevices  "), "{done:?}");
    let json = with_driver(&folder, 999, "info --json").json();
    assert!(json["driver"]["missing_symbols"].as_u64().unwrap() > 10, "{json}");
    assert!(json["devices_error"].as_str().unwrap().contains("999"), "{json}");
}
