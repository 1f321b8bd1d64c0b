//! Runs a session, simulated cameras and a reader through all cycles, and takes a measurement at the end of each
//! cycle.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use panoweave::device::{Counters, Device, DeviceError, Stream};
use panoweave::geometry::rig::{Rig, RigError};
use panoweave::live::{LiveError, LiveOptions, Output, Session, StitchedFrames};
use panoweave::ops::stitch::{Lookup, StitchOptions};
use panoweave::warp::{DeviceWarp, MAX_CAMERAS, RenderError};

use crate::faults::{Active, Sequence};
use crate::leak::Leak;
use crate::phase::{Phase, Plan};
use crate::record::{Record, Row};
use crate::sample::{Sample, Sampler};
use crate::scene::{MadeUpCamera, PIXELS, home, shrunk};

/// The maximum time to wait, at the end of a cycle, until no pair of frames is in flight.
const SETTLE: Duration = Duration::from_secs(5);

/// The settings of a run.
pub(crate) struct Settings {
    pub(crate) device: Device,
    pub(crate) plan: Plan,
    pub(crate) fps: f64,
    /// The factor by which the rig, whose pictures have 3840×2160 pixels, is downscaled.
    pub(crate) shrink: u32,
    /// The seed of the random faults; `None` for no faults.
    pub(crate) seed: Option<u64>,
    pub(crate) leak: Option<Leak>,
}

/// An error that ends the run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SoakError {
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error("cannot measure memory: {0}")]
    Sample(#[from] std::io::Error),
    #[error("cannot measure GPU memory: {0}")]
    Driver(#[from] cust::error::CudaError),
}

/// Flags and counters shared by the main thread, the cameras and the reader.
#[derive(Default)]
pub(crate) struct Switches {
    off: [AtomicBool; MAX_CAMERAS],
    slow: AtomicBool,
    over: AtomicBool,
    pushed: AtomicU64,
    read: AtomicU64,
    /// The random faults that are active.
    pub(crate) faults: Active,
}

impl Switches {
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    pub(crate) fn is_on(&self, camera: usize) -> bool {
        !self.off[camera].load(Relaxed) && !self.faults.is_stopped(camera)
    }

    pub(crate) fn count_pushed(&self) {
        self.pushed.fetch_add(1, Relaxed);
    }

    fn set(&self, phase: Phase, cycle: usize) {
        for (camera, off) in self.off.iter().enumerate() {
            let stops = cycle % 2 != camera;
            off.store((stops && phase == Phase::OneCamera) || phase == Phase::Idle, Relaxed);
        }
        self.slow.store(phase == Phase::SlowReader, Relaxed);
        self.faults.set_quiet(phase == Phase::Idle);
    }
}

/// Runs all cycles. Calls `each` at the end of each cycle with its measurements.
pub(crate) fn run(settings: &Settings, each: impl FnMut(&Row)) -> Result<Record, SoakError> {
    let Settings { device, fps, .. } = settings;
    let mut sampler = Sampler::new(device)?;
    let before = Counters::now();
    let switches = Switches::default();
    let (rows, last, failure) = {
        let aside = device.stream()?;
        let warps = Warps { stream: &aside, rig: shrunk(home()?, settings.shrink) };
        let options = LiveOptions { input: PIXELS.into(), ..LiveOptions::default() };
        let session =
            Session::new(device, warps.render(0.0)?, &[Output::panorama(PIXELS)], options)?;
        let panoramas = session.panoramas();
        let start = Instant::now();
        let (rows, failure) = thread::scope(|scope| {
            let camera = |which| {
                let format = session.input_formats()[which];
                let (session, switches) = (&session, &switches);
                scope.spawn(move || {
                    MadeUpCamera::new(which, format, *fps).film(session, start, switches)
                })
            };
            let cameras: Vec<_> = (0..session.input_formats().len()).map(camera).collect();
            let reader = scope.spawn(|| read(settings, panoramas, &switches));
            let faults = settings.seed.map(|seed| {
                let (session, switches, rig) = (&session, &switches, warps.rig.clone());
                scope.spawn(move || {
                    let aside = settings.device.stream()?;
                    let warps = Warps { stream: &aside, rig };
                    let mut sequence = Sequence::new(seed, session.input_formats().len());
                    let is_over = || switches.is_over();
                    switches.faults.make(&mut sequence, settings.plan, session, &warps, is_over)
                })
            });
            let director = Director { settings, session: &session, switches: &switches, start };
            let rows = director.run(&warps, &mut sampler, each);
            switches.over.store(true, Relaxed);
            let mut failure = session.health().err().map(|e| e.to_string());
            for camera in cameras {
                let result = camera.join().expect("cameras do not panic");
                failure = failure.or(result.err().map(|e| e.to_string()));
            }
            if let Some(faults) = faults {
                let result = faults.join().expect("the thread of the faults does not panic");
                failure = failure.or(result.err().map(|e| e.to_string()));
            }
            session.close();
            let result = reader.join().expect("the reader does not panic");
            (rows, failure.or(result.err().map(|e| e.to_string())))
        });
        (rows?, row(&session, &switches, start, sampler.take()?), failure)
    };
    let faults = settings.seed.map_or(Vec::new(), |_| switches.faults.counts());
    Ok(Record { rows, last, objects: [before, Counters::now()], failure, faults })
}

/// Takes panoramas until the session is closed. Takes them slowly while `switches` asks for a slow reader, and leaks a
/// resource per panorama if the settings ask for a leak.
fn read(
    settings: &Settings,
    panoramas: StitchedFrames,
    switches: &Switches,
) -> Result<(), DeviceError> {
    for panorama in panoramas {
        let i = switches.read.fetch_add(1, Relaxed);
        if switches.slow.load(Relaxed) {
            thread::sleep(Duration::from_secs_f64(8.0 / settings.fps));
        }
        if let Some(leak) = settings.leak {
            leak.plant(&settings.device, i, panorama)?;
        }
    }
    Ok(())
}

/// Renders warps on a separate stream while the session runs, as a program does after a recalibration.
pub(crate) struct Warps<'a> {
    stream: &'a Stream,
    rig: Rig,
}

impl Warps<'_> {
    /// Renders the rig's warp with `turned` degrees added to the yaw of the right camera.
    pub(crate) fn render(&self, turned: f64) -> Result<DeviceWarp, SoakError> {
        let mut rig = self.rig.clone();
        if let Some(right) = rig.cameras[1].mount_mut() {
            right.yaw += turned;
        }
        Ok(DeviceWarp::render(self.stream, &rig.geometry()?)?)
    }
}

/// Runs all cycles: switches the cameras and the reader, and changes the settings of the session, in each phase.
struct Director<'a> {
    settings: &'a Settings,
    session: &'a Session,
    switches: &'a Switches,
    start: Instant,
}

impl Director<'_> {
    fn run(
        &self,
        warps: &Warps<'_>,
        sampler: &mut Sampler,
        mut each: impl FnMut(&Row),
    ) -> Result<Vec<Row>, SoakError> {
        let plan = self.settings.plan;
        let mut rows = Vec::with_capacity(plan.cycles.min(10_000));
        for cycle in 0..plan.cycles {
            let mut begin = 0.0;
            for (phase, end) in Phase::ALL {
                self.switches.set(phase, cycle);
                let at = |part: f64| plan.cycle.mul_f64(cycle as f64 + part);
                if phase == Phase::Reconfigured {
                    self.reconfigure(warps, cycle)?;
                    self.wait(at((begin + end) / 2.0));
                    // From here to the end of the cycle, no fault happens. The last warp that a fault replaced is freed
                    // only after some more panoramas.
                    self.switches.faults.set_quiet(true);
                    drop(self.switches.faults.idle());
                    self.restore(warps)?;
                }
                self.wait(at(end));
                begin = end;
            }
            let idle = self.switches.faults.idle();
            self.settle();
            rows.push(self.row(sampler.take()?));
            drop(idle);
            each(&rows[cycle]);
            // A failed session makes no more panoramas, so end the run.
            if self.session.health().is_err() {
                break;
            }
        }
        Ok(rows)
    }

    /// Waits until the time `until` has passed since the start of the run.
    fn wait(&self, until: Duration) {
        thread::sleep(until.saturating_sub(self.start.elapsed()));
    }

    /// Waits until the counters account for all frames, which means that no pair is in flight. Gives up after `SETTLE`.
    fn settle(&self) {
        let most = Instant::now() + SETTLE;
        while !self.row(Sample::default()).balance().1 && Instant::now() < most {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn row(&self, sample: Sample) -> Row {
        row(self.session, self.switches, self.start, sample)
    }

    fn reconfigure(&self, warps: &Warps<'_>, cycle: usize) -> Result<(), SoakError> {
        self.session.swap(warps.render(0.2)?)?;
        let lookup = if cycle.is_multiple_of(3) { Lookup::Planes } else { Lookup::Auto };
        let flip = cycle.is_multiple_of(2);
        let options = StitchOptions { lookup, flip, edge_boost: true, ..Default::default() };
        self.session.set_options(options)?;
        self.session.follow_colour(false);
        Ok(())
    }

    /// Restores the initial warp, options and colour correction, so that the measurements of all cycles are comparable.
    fn restore(&self, warps: &Warps<'_>) -> Result<(), SoakError> {
        self.session.swap(warps.render(0.0)?)?;
        self.session.set_options(StitchOptions::default())?;
        self.session.follow_colour(true);
        Ok(())
    }
}

fn row(session: &Session, switches: &Switches, start: Instant, sample: Sample) -> Row {
    Row {
        at: start.elapsed().as_secs_f64(),
        sample,
        counters: session.counters(),
        pushed: switches.pushed.load(Relaxed),
        read: switches.read.load(Relaxed),
        following: session.colour().following,
    }
}
