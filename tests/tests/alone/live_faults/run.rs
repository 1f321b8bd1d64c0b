//! Functions for one run of a live session on the fake driver: start-up, frames, tear-down and checks of the results.

use std::panic;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use glam::UVec2;
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat};
use panoweave::live::{
    ColourOptions, ColourState, LiveCounters, LiveError, LiveOptions, Output, Session,
    StitchedFrame, Submitted,
};
use panoweave::ops::blend::Blend;
use panoweave::ops::seam::SeamOptions;
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::live::{FRAME, waiting};

/// The size of a camera's frame. Frames and panoramas are small, so that tests are fast. Their widths are chosen so
/// that device rows need padding.
const SOURCE: UVec2 = UVec2::new(9, 5);
/// The size of the panorama.
const CANVAS: UVec2 = UVec2::new(14, 5);

/// Number of pairs in a run.
pub(crate) const FRAMES: u32 = 120;

/// Returns options with which the session drops no frame, searches for a seam, and analyses the colours of every pair
/// unless the previous analysis is still running.
pub(crate) fn following() -> LiveOptions {
    let deadline = Duration::from_secs(60);
    let colour = ColourOptions { follow: true, every: 1, deadline, ..ColourOptions::default() };
    let blend = Blend::Seam(SeamOptions::default());
    LiveOptions { slots: 2, colour, blend, ..waiting() }
}

/// Opens the GPU, uploads the warp and creates the session, like a program before its first frame.
pub(crate) fn start(ordinal: u32, warp: &Warp, options: LiveOptions) -> Result<Session, LiveError> {
    let device = Device::cuda(ordinal)?;
    let warp = DeviceWarp::upload(&device.stream()?, warp)?;
    Session::new(&device, warp, &[Output::default()], options)
}

/// The results of [`film`].
pub(crate) struct Film {
    /// The numbers of the pairs whose panoramas the reader received, in this order.
    pub(crate) read: Vec<u32>,
    /// The number of pairs that the session accepted.
    pub(crate) taken: u32,
    /// The error of the first rejected pair, if any.
    pub(crate) refused: Option<LiveError>,
    pub(crate) counters: LiveCounters,
    pub(crate) colour: ColourState,
}

/// Returns the level of the left and of the right frame of pair `i`. All channels of a frame have the same level.
pub(crate) fn levels(i: u32) -> [u8; 2] {
    [20 + i as u8, 140 - i as u8]
}

/// Submits `frames` pairs and reads all panoramas. Closes the session at the end, unless the session rejected a pair:
/// the iterator of panoramas must then end without a call of `close`.
pub(crate) fn film(session: &Session, frames: u32) -> Film {
    let panoramas = session.panoramas();
    let (mut taken, mut refused) = (0, None);
    let read: Vec<_> = thread::scope(|scope| {
        let reader = scope.spawn(|| panoramas.map(|panorama| which(&panorama)).collect());
        for i in 0..frames {
            match submit(session, i, levels(i)) {
                Ok(submitted) => {
                    assert_eq!(submitted, Submitted::Set);
                    assert!(refused.is_none(), "frame {i} was taken after {refused:?}");
                    taken += 1;
                }
                Err(error) => {
                    assert!(session.health().is_err(), "{error}");
                    refused.get_or_insert(error);
                }
            }
        }
        if refused.is_none() {
            session.close();
        }
        reader.join().unwrap()
    });
    // Wait until the session's threads have counted the failed pairs as dropped.
    let late = Instant::now() + Duration::from_secs(10);
    let counters = loop {
        let counters = session.counters();
        if counters.sets == counters.panoramas + counters.dropped.sets() {
            break counters;
        }
        assert!(Instant::now() < late, "some pairs are unaccounted for: {counters:?}");
        thread::yield_now();
    };
    assert_eq!(counters.sets, u64::from(taken));
    assert_eq!(counters.panoramas, read.len() as u64, "{counters:?}");
    assert_eq!(counters.frames_in(), 2 * u64::from(taken), "{counters:?}");
    assert!(read.is_sorted(), "{read:?}");
    check_analysis(&session.colour());
    Film { read, taken, refused, counters, colour: session.colour() }
}

/// Checks that all pixels of a panorama come from the pair that has the panorama's timestamp. Returns the number of
/// this pair.
fn which(panorama: &StitchedFrame) -> u32 {
    let i = (panorama.timestamp().as_millis() / FRAME.as_millis()) as u32;
    let [left, right] = levels(i);
    for row in panorama.bytes().chunks(4 * CANVAS.x as usize) {
        let (l, r) = row.split_at(4 * (CANVAS.x as usize / 2));
        let whole = l.iter().all(|level| *level == left) && r.iter().all(|level| *level == right);
        assert!(whole, "panorama {i} should show {left} and {right}, not {} and {}", l[0], r[0]);
    }
    i
}

/// Checks that the sums of the newest colour analysis are those of the pair that has the same timestamp as the
/// analysis.
fn check_analysis(colour: &ColourState) {
    let Some(analysis) = &colour.analysis else { return };
    let i = (analysis.timestamp.as_millis() / FRAME.as_millis()) as u32;
    let sums = analysis.overlaps[0].sums;
    for (sums_of, level) in [sums.left, sums.right].into_iter().zip(levels(i)) {
        assert_eq!(sums_of[0] / sums.weight, f32::from(level), "the analysis of pair {i}");
    }
}

/// Returns the warp that all runs use. Its values do not matter, because the fake driver uses only its sizes.
pub(crate) fn small_warp() -> Warp {
    let plane = || vec![0.5; CANVAS.element_product() as usize];
    let planes = [plane(), plane(), plane(), plane(), plane(), plane()];
    Warp::new(CANVAS, [SOURCE; 2], planes).unwrap()
}

/// Submits pair `i`, whose left and right frame are filled with `levels`.
pub(crate) fn submit(session: &Session, i: u32, levels: [u8; 2]) -> Result<Submitted, LiveError> {
    let format = FrameFormat::rgba8(SOURCE.x, SOURCE.y);
    let bytes = levels.map(|level| vec![level; format.bytes()]);
    let [left, right] = [0, 1].map(|side| Frame::tight(format, &bytes[side]).unwrap());
    session.submit([left, right], FRAME * i)
}

/// The name of the current attempt, which the message contains if the attempt fails.
static LABEL: Mutex<String> = Mutex::new(String::new());
static TRIES: AtomicU64 = AtomicU64::new(0);

/// Sets the name of the attempt that begins now, and restarts its time limit.
pub(crate) fn trying(what: impl ToString) {
    *LABEL.lock().unwrap_or_else(PoisonError::into_inner) = what.to_string();
    TRIES.fetch_add(1, Relaxed);
}

/// Makes the process print the name of the current attempt and abort if a thread panics, or if an attempt takes longer
/// than 30 seconds.
pub(crate) fn watch() {
    const LIMIT: Duration = Duration::from_secs(30);
    let fail = |why: &dyn std::fmt::Display| {
        let label = LABEL.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!("{label}: {why}");
        process::abort();
    };
    panic::set_hook(Box::new(move |info| fail(info)));
    thread::spawn(move || {
        let (mut tried, mut since) = (0, Instant::now());
        loop {
            thread::sleep(Duration::from_millis(200));
            if tried != TRIES.load(Relaxed) {
                (tried, since) = (TRIES.load(Relaxed), Instant::now());
            }
            if since.elapsed() > LIMIT {
                fail(&"hangs");
            }
        }
    });
}
