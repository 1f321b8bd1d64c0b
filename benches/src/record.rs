//! Records measurements for `panoweave-bench-report`. The environment variable `PANOWEAVE_BENCH_RECORD` names the file
//! to which measurements are appended. If the variable is not set, they are discarded.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use panoweave::device::Device;
use panoweave_bench_report::Line;

use crate::machine;

const VARIABLE: &str = "PANOWEAVE_BENCH_RECORD";

/// The open record file. `None` until this process has a measurement to append.
static OPEN: Mutex<Option<File>> = Mutex::new(None);

/// Appends a measurement on `device` to the record. The first call in a process also writes a line before it, which
/// describes the machine with its current clocks.
///
/// # Panics
/// Panics if the file cannot be written.
pub(crate) fn append(device: &Device, line: Line) {
    let Some(name) = std::env::var_os(VARIABLE).map(PathBuf::from) else { return };
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let appended = match &mut *open {
        Some(file) => write(file, &line),
        none => OpenOptions::new().create(true).append(true).open(&name).and_then(|file| {
            let file = none.insert(file);
            let run = device.cuda_info().map_or_else(machine::processor, machine::gpu);
            write(file, &Line::Run(run))?;
            write(file, &line)
        }),
    };
    if let Err(e) = appended {
        panic!("cannot write to {}, which {VARIABLE} names: {e}", name.display());
    }
}

fn write(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}
