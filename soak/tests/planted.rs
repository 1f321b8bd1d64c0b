//! Runs short soaks (the memory test of the live session) on the CPU. Without a leak, the soak must pass. With a
//! deliberate leak, the soak must fail for the expected reason.

use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

/// A running soak process, and the folder to which it writes its JSON file.
struct Soak {
    child: Child,
    folder: TempDir,
}

/// Locked while soaks run. Soaks of several tests at once would have too little CPU time.
static RUNNING: Mutex<()> = Mutex::new(());

/// The arguments of a run with random faults.
const FAULTS: [&str; 5] = ["--seconds", "30", "--faults", "--seed", "3"];

fn start(leak: Option<&str>) -> Soak {
    start_with(&["--seconds", "12"], leak)
}

fn start_with(arguments: &[&str], leak: Option<&str>) -> Soak {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_soak"));
    command.args(arguments).args(["--fps", "20", "--device", "cpu", "--json"]);
    command.arg(folder.path().join("soak.json"));
    if let Some(leak) = leak {
        command.args(["--plant-leak", leak]);
    }
    Soak { child: command.stdout(Stdio::piped()).spawn().unwrap(), folder }
}

/// Waits for the soak to end. Returns whether it passed, and the faults that it found.
fn end(soak: Soak) -> (bool, Vec<String>) {
    let output = soak.child.wait_with_output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let json = std::fs::read_to_string(soak.folder.path().join("soak.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["record"]["rows"].as_array().map(Vec::len), Some(6));
    let faults = json["verdict"]["faults"].as_array().unwrap();
    let text = |fault: &Value| fault.as_str().unwrap().to_owned();
    let faults: Vec<_> = faults.iter().map(text).collect();
    // `cargo xtask sanitize` relies on this code.
    assert_eq!(output.status.code(), Some(if faults.is_empty() { 0 } else { 4 }), "{faults:?}");
    (output.status.success(), faults)
}

/// Runs one soak without a leak and one soak for each kind of leak. All soaks run at the same time, because each takes
/// 12 seconds but little CPU time.
#[test]
fn runs_with_a_leak_fail_and_one_without_passes() {
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let leaks = ["host", "device", "pinned", "event", "panorama"];
    let sound = start(None);
    let leaking: Vec<_> = leaks.into_iter().map(|leak| start(Some(leak))).collect();
    let (passed, faults) = end(sound);
    assert!(passed && faults.is_empty(), "{faults:?}");
    for (leak, soak) in leaks.into_iter().zip(leaking) {
        let (passed, faults) = end(soak);
        // On the CPU, pinned memory and events are heap memory, so these leaks must be reported as growth of the heap.
        let reason = match leak {
            "panorama" => "did not return",
            "device" => "bytes of device memory",
            _ => "memory grows: heap",
        };
        let found = faults.iter().any(|fault| fault.contains(reason));
        assert!(!passed && found, "{leak}: {faults:?}");
    }
}

/// Cameras stop, frames are late, timestamps jump, warps change and the process is suspended, but no frame is lost. A
/// leak is still found.
#[test]
fn random_faults_lose_no_frame_and_hide_no_leak() {
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let (sound, leaking) = (start_with(&FAULTS, None), start_with(&FAULTS, Some("device")));
    let (passed, faults) = end(sound);
    assert!(passed && faults.is_empty(), "{faults:?}");
    let (passed, faults) = end(leaking);
    assert!(!passed && faults.iter().any(|fault| fault.contains("device memory")), "{faults:?}");
}

#[test]
fn a_run_that_is_too_short_to_judge_fails() {
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let arguments = ["--seconds", "1", "--device", "cpu"];
    let output = Command::new(env!("CARGO_BIN_EXE_soak")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
}

#[test]
fn invalid_arguments_are_rejected() {
    for arguments in [
        &["--seconds", "-1"][..],
        &["--minutes", "inf"],
        &["--fps", "0", "--device", "cpu"],
        &["--seconds", "12", "--faults", "--device", "cpu"],
        &["--seed", "1", "--device", "cpu"],
        &["--device", "gpu"],
        &["--plant-leak", "water"],
    ] {
        let status = Command::new(env!("CARGO_BIN_EXE_soak")).args(arguments).output().unwrap();
        assert!(matches!(status.status.code(), Some(1 | 2)), "{arguments:?}: {status:?}");
    }
}
