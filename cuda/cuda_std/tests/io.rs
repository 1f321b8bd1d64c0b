//! On the CPU, `print!` and `println!` in kernels write exactly the expected text to standard
//! output.

mod common;

use std::process::Command;

use common::{run, slice, slice_mut};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;

#[kernel(dims(1))]
fn print_lines(names: Slice<u32>, printed: SliceMut<u32>) {
    let at = thread::unique_1d();
    let name = names.get(at).unwrap_or(0);
    println!("thread {name} of {}: {:?}", names.len(), [0.5, -1.0]);
    print!("{name:03}");
    println!();
    printed.set(at, 1);
}

/// Launches the kernel that prints. The test `text_goes_to_stdout` runs this test in a separate
/// process and reads its output.
#[test]
#[ignore = "prints; run by `text_goes_to_stdout`"]
fn child() {
    let mut printed = [0; 2];
    let config = LaunchConfig { grid: [1, 1, 1], block: [2, 1, 1], dynamic_shared: 0 };
    run(config, PrintLines { names: slice(&[5, 6]), printed: slice_mut(&mut printed) }).unwrap();
    assert_eq!(printed, [1, 1]);
}

#[test]
fn text_goes_to_stdout() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = "thread 5 of 2: [0.5, -1.0]\n005\nthread 6 of 2: [0.5, -1.0]\n006\n";
    assert!(output.status.success() && text.contains(expected), "{text}");
}
