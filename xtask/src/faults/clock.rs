//! Moves the wall clock: a preloaded library adds up to a day to the time, or subtracts it, at each query. The
//! monotonic clock stays.
//!
//! All commands must write the same bytes, and the live stitcher must pass its soak, because both measure time with the
//! monotonic clock.

use std::process::Command;

use super::Run;
use super::bed::{JOBS, State, finish, said};
use crate::Result;
use crate::cargo::{self, cargo, target};

const NAME: &str = "clock";

/// The library. It replaces the functions that return the wall clock.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned state = 1;

static long jump(void) {
    unsigned next = state * 1664525u + 1013904223u;
    state = next;
    return (long)(next >> 8) % 172800 - 86400;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += jump();
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"#;

pub(super) fn run(run: &mut Run) -> Result {
    let folder = target().join("faults").canonicalize()?;
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    std::fs::write(&source, SHIM)?;
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    cargo::run(compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source))?;
    // The library must work, or the check below proves nothing.
    let date = || cargo::output(Command::new("date").arg("+%F%T").env("LD_PRELOAD", &library));
    let dates = [date()?, cargo::output(Command::new("date").arg("+%F%T"))?];
    if dates[0] == dates[1] {
        return Err("the library does not move the clock".into());
    }
    for job in JOBS {
        let reference = run.bed.reference(job)?;
        for _ in 0..run.trials.div_ceil(8) {
            run.bed.reset(job)?;
            let output = finish(run.bed.command(job).env("LD_PRELOAD", &library).spawn()?)?;
            match run.bed.state(job, &reference) {
                Ok((State::New, 0)) if output.status.success() => {
                    run.count(NAME, job.name, "runs with the new output");
                }
                found => run.fail(
                    NAME,
                    job.name,
                    format!("{found:?}, {}, {}", output.status, said(&output)),
                ),
            }
        }
    }
    let soak = match run.soak.clone() {
        Some(soak) => soak.canonicalize()?,
        None => {
            cargo::run(&mut cargo(&["build", "--release", "--package", "panoweave-soak"]))?;
            target().join("release/soak").canonicalize()?
        }
    };
    let mut soak = Command::new(soak);
    soak.args(["--seconds", "12", "--fps", "20", "--device", "cpu"]).env("LD_PRELOAD", &library);
    match cargo::output(&mut soak) {
        Ok(_) => run.count(NAME, "live", "soaks of 12 seconds passed"),
        Err(error) => run.fail(NAME, "live", error.to_string()),
    }
    Ok(())
}
