//! Tests commands with little memory: at each limit of the address space, a command must succeed, print a typed error,
//! or be ended by a signal. It must not panic, for example because the system refuses a thread, and the old output must
//! stay.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::{Done, Folder};

#[test]
fn no_limit_of_the_address_space_makes_a_command_panic() {
    let folder = Folder::new();
    let (mut refused, mut succeeded) = (0, 0);
    // Below 32 MiB, the program cannot be loaded. In the range of the refused threads, the steps are small.
    for limit in (32 << 10..64 << 10).step_by(384).chain([1 << 20]) {
        folder.write("out.png", "old");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {limit}; exec \"$0\" \"$@\"")]);
        let program = folder.command();
        command.arg(program.get_program()).current_dir(folder.path("."));
        command.env("CUDA_DRIVER_LIBRARY", "/nonexistent/libcuda.so.1");
        // Rust's standard library waits for ever if there is no memory for the backtrace that it prints.
        command.env_remove("RUST_BACKTRACE");
        command.args("compare left.png right.png --map out.png --device cpu --json".split(' '));
        let output = command.output().unwrap();
        let signal = output.status.signal();
        let done = Done::from(output);
        let is_new = folder.read("out.png") != b"old";
        match done.code {
            Some(0) => succeeded += u32::from(is_new),
            // The dynamic linker or the shell.
            Some(126 | 127) => assert!(!is_new, "{limit} KiB: {done:?}"),
            Some(code) => {
                assert_eq!(done.json()["error"]["exit_code"], code, "{limit} KiB: {done:?}");
                assert!(!is_new, "{limit} KiB: {done:?}");
                refused += 1;
            }
            None => assert!(signal.is_some() && !is_new, "{limit} KiB: {done:?}"),
        }
    }
    assert!(refused > 0 && succeeded > 0, "{refused} errors, {succeeded} outputs");
}
