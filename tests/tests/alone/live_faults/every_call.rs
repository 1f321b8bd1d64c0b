//! Checks that the live session handles the failure of every driver call. A run with a fake driver is repeated for
//! each driver call, in three variants:
//!
//! - Only this call fails.
//! - This call and all later calls fail.
//! - This call fails with an error after which the process cannot use its GPU any more.

use std::env;

use panoweave::device::{Counters, Device, ErrorKind};
use panoweave::live::{ColourState, Dropped, LiveError, Session};
use panoweave::warp::Warp;

use crate::live_faults::fake::{Counts, Fake, Fault, LEFT, Live, alone, part};
use crate::live_faults::run::{FRAMES, Film, film, following, small_warp, start, trying, watch};

/// CUDA errors after which the process can continue: an invalid value, out of memory, an invalid context and an
/// unknown error.
const RECOVERABLE: [u32; 4] = [1, 2, 201, 999];

/// CUDA errors of a GPU that was taken away or whose driver restarts: an unavailable device, a system that is not
/// ready, and a lost connection to the server that shares the GPU. They last, but CUDA does not call them fatal: the
/// device works again when it is back.
const TAKEN: [u32; 3] = [46, 802, 805];

/// CUDA errors after which the process must be restarted: an illegal address, a failed launch, an ECC error, a
/// misaligned address, a stack error, a timeout, an illegal instruction, a driver that shuts down and a destroyed
/// context.
const FATAL: [u32; 9] = [700, 719, 214, 716, 714, 702, 715, 4, 709];

/// The number of GPUs of the fake driver on which a process can test fatal errors. Each such test makes its GPU
/// unusable. The run without faults uses one more GPU.
const GPUS: usize = 63;

/// In the middle of a run, only one of `STRIDE` driver calls is made to fail, because testing every call would take too
/// long.
const STRIDE: i64 = 9;

/// Returns the numbers of the driver calls to test. These are all calls during start-up, in the first 6 frames, in the
/// last 3 frames and during tear-down, and every [`STRIDE`]th call of the other frames. If the environment variable
/// `PANOWEAVE_EVERY_CALL` is 1, returns the numbers of all calls.
fn calls_to_fail(clean: &Clean) -> Vec<i64> {
    let all = env::var("PANOWEAVE_EVERY_CALL").is_ok_and(|value| value == "1");
    let frame = (clean.closed - clean.started) / i64::from(FRAMES);
    let (first, last) = (clean.started + 6 * frame, clean.closed - 3 * frame);
    let stride = |n: i64| n < first || n > last || n % STRIDE == 0;
    // Retries and thread timing can change the number of calls. Therefore, also test the next 20 call numbers after the
    // last call of the run without faults.
    (1..=clean.calls + 20).filter(|n| all || stride(*n)).collect()
}

/// The measurements of a run without faults.
struct Clean {
    /// The number of driver calls before the first frame was submitted.
    started: i64,

    /// The number of driver calls until the last panorama was read.
    closed: i64,
    /// The total number of driver calls, including those that drop the session.
    calls: i64,
    /// The maximum number of live objects of each kind during the run.
    most: Live,
}

/// The fake driver of this process, and the measurements of a run without faults on this driver.
struct Bench {
    fake: Fake,
    warp: Warp,
    clean: Clean,
}

impl Bench {
    fn new() -> Self {
        watch();
        let fake = Fake::loaded();
        let warp = small_warp();
        trying("a clean run");
        fake.reset();
        let session = start(GPUS as u32, &warp, following()).unwrap();
        let started = fake.counts().calls;
        let film = film(&session, FRAMES);
        all_came(&film, &session);
        assert!(film.counters.analyses > 100, "{:?}", film.counters);
        assert_eq!(film.counters.seam_moves, 1, "{:?}", film.counters);
        let closed = fake.counts().calls;
        drop(session);
        let [now, most] = fake.live();
        assert_eq!((now.objects, now.contexts), (Counters::default(), 0));
        assert_eq!(Counters::now(), now.objects);
        let Counts { calls, damage, .. } = fake.counts();
        assert_eq!(damage, 0);
        Self { fake, warp, clean: Clean { started, closed, calls, most } }
    }

    /// Runs a session on a driver with the given fault. If the session could be created, `judge` checks the session
    /// and the results of the run. Otherwise, `judge` checks the error.
    fn run(
        &self,
        ordinal: u32,
        fault: Fault,
        judge: impl FnOnce(Result<(&Session, &Film), &LiveError>),
    ) {
        trying(format!("{fault:?} on GPU {ordinal}"));
        self.fake.reset();
        self.fake.fail(fault);
        match start(ordinal, &self.warp, following()) {
            Ok(session) => {
                let film = film(&session, FRAMES);
                judge(Ok((&session, &film)));
            }
            Err(error) => judge(Err(&error)),
        }
        let [_, most] = self.fake.live();
        assert!(most.is_within(&self.clean.most), "{most:?} instead of {:?}", self.clean.most);
        assert_eq!(self.fake.counts().damage, 0, "freed memory was used or freed again");
    }

    /// Returns the numbers of the driver calls that this process tests, at most `most`. Prints the number of calls that
    /// later processes must test.
    fn share(&self, most: usize) -> Vec<i64> {
        let calls = calls_to_fail(&self.clean);
        let rest = &calls[calls.len().min(most * part())..];
        println!("{LEFT}{}", rest.len().saturating_sub(most));
        rest[..rest.len().min(most)].to_vec()
    }
}

/// Returns the CUDA error code that caused `error`, if there is one.
fn code_of(error: &LiveError) -> Option<u32> {
    let LiveError::Device(mut error) = error.clone() else { return None };
    while let ErrorKind::Lost(earlier) = error.kind {
        error = *earlier;
    }
    match error.kind {
        ErrorKind::Cuda { code, .. } => Some(code),
        _ => None,
    }
}

fn all_came(film: &Film, session: &Session) {
    assert!(film.read.iter().copied().eq(0..FRAMES), "{:?}, {:?}", film.read, film.counters);
    assert_eq!(film.taken, FRAMES);
    assert_eq!(film.counters.dropped, Dropped::default());
    assert!(session.health().is_ok());
    let ColourState { following, strikes, .. } = film.colour;
    assert!(following && strikes <= 1, "{:?}", film.colour);
}

#[test]
fn no_single_failure_costs_a_frame() {
    alone(no_single_failure_costs_a_frame, || {
        let bench = Bench::new();
        for n in bench.share(usize::MAX) {
            let code = RECOVERABLE[n as usize % RECOVERABLE.len()];
            let fault = Fault { label: "", from: n, count: 1, code };
            let mut refused = false;
            bench.run(0, fault, |result| match result {
                Ok((session, film)) => {
                    all_came(film, session);
                    assert!(film.counters.strikes <= 1 && film.counters.retries <= 1);
                }
                Err(error) => {
                    assert_eq!(code_of(error), Some(code), "{error}");
                    refused = true;
                }
            });
            nothing_lives(&bench.fake);
            if refused {
                let session = start(0, &bench.warp, following()).unwrap();
                assert_eq!(film(&session, 3).read, [0, 1, 2]);
                drop(session);
                nothing_lives(&bench.fake);
            }
        }
    });
}

/// Checks that all objects were freed and that this thread has no current context.
fn nothing_lives(fake: &Fake) {
    let [now, _] = fake.live();
    assert_eq!((now.objects, Counters::now()), (Counters::default(), Counters::default()));
    assert_eq!(now.contexts, 0);
    assert!(!fake.has_context());
}

#[test]
fn a_driver_that_fails_for_ever_ends_the_session_in_order() {
    alone(a_driver_that_fails_for_ever_ends_the_session_in_order, || {
        let bench = Bench::new();
        let codes = [&RECOVERABLE[..], &TAKEN].concat();
        for n in bench.share(usize::MAX) {
            let code = codes[n as usize % codes.len()];
            let before = Counters::now();
            bench.run(0, Fault { label: "", from: n, count: 0, code }, |result| match result {
                Ok((session, film)) => ended_or_all_came(session, film, code),
                Err(error) => assert_eq!(code_of(error), Some(code), "{error}"),
            });
            what_is_left_is_counted(&bench.fake, before);
        }
    });
}

/// Checks a session after a run with a fault. Either the session must have failed, report the error and return no
/// further panoramas, or it must have completed all work before the fault.
fn ended_or_all_came(session: &Session, film: &Film, code: u32) {
    let Err(error) = session.health() else { return all_came(film, session) };
    assert_eq!(code_of(&error), Some(code), "{error}");
    let Dropped { failed, lost, .. } = film.counters.dropped;
    assert_eq!(film.counters.dropped, Dropped { failed, lost, ..Dropped::default() });
    // The reader received the panoramas of the first pairs, in order and without a gap.
    assert!(film.read.iter().copied().eq(0..film.read.len() as u32), "{:?}", film.read);
    assert!(session.panoramas().next().is_none());
}

/// Checks that the objects counted by [`Counters`] since `before` are exactly those that the driver still holds.
fn what_is_left_is_counted(fake: &Fake, before: Counters) {
    let [now, _] = fake.live();
    let after = Counters::now();
    let left = Counters {
        device_bytes: after.device_bytes - before.device_bytes,
        pinned_bytes: after.pinned_bytes - before.pinned_bytes,
        streams: after.streams - before.streams,
        events: after.events - before.events,
        modules: after.modules - before.modules,
        textures: after.textures - before.textures,
        arrays: after.arrays - before.arrays,
    };
    assert_eq!(left, now.objects);
}

#[test]
fn a_lost_gpu_reports_no_success() {
    alone(a_lost_gpu_reports_no_success, || {
        let bench = Bench::new();
        for (ordinal, n) in bench.share(GPUS).into_iter().enumerate() {
            let code = FATAL[n as usize % FATAL.len()];
            // After a fatal error, a CUDA driver also fails every later call. For even `n`, the fake driver fails only one
            // call, because the session must notice the loss even if no later call fails.
            let count = i64::from(n % 2 == 0);
            let before = Counters::now();
            let ordinal = ordinal as u32;
            let fault = Fault { label: "", from: n, count, code };
            let mut lost = false;
            bench.run(ordinal, fault, |result| match result {
                Ok((session, film)) => {
                    ended_or_all_came(session, film, code);
                    let healthy = session.device().is_healthy();
                    assert_eq!(session.health().is_ok(), healthy);
                    assert!(film.refused.is_none() || !healthy);
                    lost = !healthy;
                }
                Err(error) => {
                    assert!(
                        matches!(error, LiveError::Device(error) if error.is_fatal()),
                        "{error}"
                    );
                    assert_eq!(code_of(error), Some(code), "{error}");
                    lost = true;
                }
            });
            what_is_left_is_counted(&bench.fake, before);
            bench.fake.heal();
            if lost {
                let again = Device::cuda(ordinal).unwrap_err();
                assert!(matches!(again.kind, ErrorKind::Lost(_)), "{again}");
            }
        }
    });
}
