//! Tests of the live session in which the fake driver fails only some calls: the calls of the colour analysis, of the
//! seam search or of one pair, or all calls of one driver function.

use std::thread;

use panoweave::device::{Device, Image, Pinned};
use panoweave::live::{
    ColourOptions, ColourState, Dropped, LiveCounters, LiveOptions, Session, StitchedFrame,
    StitchedFrames,
};
use panoweave::ops::colour::{Colours, Overlap};
use panoweave::ops::seam::{Seam, SeamOptions};
use panoweave::ops::stitch::stitch;
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, STILL, frame, session, stamp, waiting};
use panoweave_tests::{by_planes, panoweave_devices};

use crate::live_faults::fake::{Fake, Fault, alone};
use crate::live_faults::run::{following, small_warp, start, submit, trying, watch};

/// The name of the kernel that the colour analysis launches.
const ANALYSIS: &str = "colour_sums";

/// A session on the fake driver. Tests submit one pair at a time and read its panorama.
struct Bench {
    fake: Fake,
    session: Session,
    panoramas: StitchedFrames,
    pairs: u32,
}

impl Bench {
    fn new(options: LiveOptions) -> Self {
        watch();
        trying("a partial failure");
        let fake = Fake::loaded();
        let session = start(0, &small_warp(), options).unwrap();
        let panoramas = session.panoramas();
        Self { fake, session, panoramas, pairs: 0 }
    }

    /// Submits the next pair and returns its panorama. All pixels of the left frame have the first of `levels`, and all
    /// pixels of the right frame the second.
    fn show(&mut self, levels: [u8; 2]) -> StitchedFrame {
        let at = self.pairs;
        self.pairs += 1;
        submit(&self.session, at, levels).unwrap();
        let panorama = self.panoramas.next().unwrap();
        assert_eq!(panorama.timestamp(), FRAME * at);
        assert_eq!(panorama.bytes()[0], levels[0]);
        panorama
    }

    /// Submits `pairs` pairs with a dark left and a bright right frame, and returns the colour correction of the last
    /// panorama.
    fn film(&mut self, pairs: u32) -> Colours {
        (0..pairs).map(|_| self.show([60, 120]).colours()).last().unwrap()
    }

    /// Makes the next `count` calls whose name contains `label` fail. If `count` is 0, all later matching calls fail.
    fn fail(&self, label: &'static str, count: i64) {
        self.fake.fail(Fault { label, from: 1, count, code: 1 });
    }

    fn colour(&self) -> ColourState {
        self.session.colour()
    }

    fn counters(&self) -> LiveCounters {
        self.session.counters()
    }

    /// Checks that no pair was lost, and that dropping the session frees all objects.
    fn end(mut self) {
        let counters = self.counters();
        assert_eq!(counters.panoramas, u64::from(self.pairs));
        assert_eq!(counters.dropped, Dropped::default());
        self.session.health().unwrap();
        self.session.close();
        assert!(self.panoramas.next().is_none());
        self.fake.heal();
        self.fake.hang("");
        let Self { fake, session, panoramas, .. } = self;
        drop((session, panoramas));
        let [now, _] = fake.live();
        assert_eq!((now.objects, now.contexts), Default::default());
    }
}

#[test]
fn three_failures_switch_the_correction_off_and_only_asking_switches_it_on() {
    alone(three_failures_switch_the_correction_off_and_only_asking_switches_it_on, || {
        for label in [ANALYSIS, "cuStreamQuery"] {
            let mut bench = Bench::new(following());
            assert_ne!(bench.film(20), Colours::IDENTITY);
            for round in 1..=2 {
                bench.fail(label, 0);
                for strikes in 1..=3 {
                    bench.film(1);
                    let ColourState { following, strikes: found, .. } = bench.colour();
                    assert_eq!((following, found), (strikes < 3, strikes), "{label}");
                }
                // After three failures, the colour correction switches itself off, so no further analysis is launched. From
                // the next frame on, the correction fades to the identity.
                assert_eq!(bench.fake.counts().failed, 3);
                let fading = bench.show([60, 120]).colours();
                assert!(fading != Colours::IDENTITY || round == 2);
                assert_eq!(bench.film(90), Colours::IDENTITY);
                assert_eq!(bench.colour().strikes, 3, "{label}");
                assert_eq!(bench.counters().strikes, 3 * round);
                bench.fake.heal();
                // The colour correction stays off until `follow_colour` is called.
                assert_eq!(bench.film(30), Colours::IDENTITY);
                assert!(!bench.colour().following);
                bench.session.follow_colour(true);
                if round == 2 {
                    let analyses = bench.counters().analyses;
                    assert_ne!(bench.film(20), Colours::IDENTITY);
                    let ColourState { following, strikes, .. } = bench.colour();
                    assert!(following && strikes == 0);
                    assert!(bench.counters().analyses >= analyses + 15);
                } else {
                    bench.film(1);
                }
            }
            bench.end();
        }
    });
}

#[test]
fn three_failures_leave_the_seam_where_it_is_until_somebody_asks() {
    alone(three_failures_leave_the_seam_where_it_is_until_somebody_asks, || {
        const SEARCH: &str = "seam_path";
        let colour = ColourOptions { follow: false, deadline: FRAME * 2, ..following().colour };
        let mut bench = Bench::new(LiveOptions { colour, ..following() });
        // The seam search stops after it has missed three deadlines. Its result arrives later and must not be used.
        bench.fake.hang(SEARCH);
        bench.film(6);
        assert!(bench.colour().seeking);
        bench.film(1);
        assert!(!bench.colour().seeking, "{:?}", bench.colour());
        bench.fake.hang("");
        bench.film(30);
        assert_eq!((bench.colour().strikes, bench.counters().seam_moves), (3, 0));
        // A call of `follow_colour`, even with `false`, restarts the seam search.
        bench.session.follow_colour(false);
        bench.film(30);
        let ColourState { following, seeking, strikes, .. } = bench.colour();
        assert_eq!((following, seeking, strikes), (false, true, 0));
        assert_eq!(bench.counters().seam_moves, 1);

        bench.fail(SEARCH, 0);
        for strikes in 1..=3 {
            bench.film(1);
            let ColourState { following, seeking, strikes: found, .. } = bench.colour();
            assert_eq!((following, seeking, found), (false, strikes < 3, strikes));
        }
        bench.film(30);
        assert_eq!(bench.fake.counts().failed, 3);
        // After three failures, the kernel `seam_weights` is no longer launched. The colours stay unchanged, because the
        // colour correction is off.
        bench.fail("seam_weights", 0);
        assert_eq!(bench.film(30), Colours::IDENTITY);
        assert_eq!(bench.fake.counts().failed, 0);
        let LiveCounters { seam_moves, strikes, analyses, retries, .. } = bench.counters();
        assert_eq!((seam_moves, strikes, analyses, retries), (1, 6, 0, 0));
        bench.fake.heal();
        bench.session.follow_colour(true);
        assert_ne!(bench.film(20), Colours::IDENTITY);
        assert!(bench.colour().following && bench.colour().seeking);
        bench.end();
    });
}

#[test]
fn a_success_forgets_two_failures() {
    alone(a_success_forgets_two_failures, || {
        let mut bench = Bench::new(following());
        for round in 1..=20 {
            bench.fail(ANALYSIS, 2);
            bench.film(2);
            assert_eq!(bench.colour().strikes, 2);
            bench.film(2);
            assert_eq!(bench.colour().strikes, 0);
            assert!(bench.colour().following);
            assert_eq!(bench.counters().strikes, 2 * round);
        }
        assert_ne!(bench.film(10), Colours::IDENTITY);
        bench.end();
    });
}

#[test]
fn a_result_that_never_comes_is_a_strike_at_each_deadline() {
    alone(a_result_that_never_comes_is_a_strike_at_each_deadline, || {
        // The deadlines pass in the time of the timestamps.
        let colour = ColourOptions { deadline: FRAME * 10, ..following().colour };
        // Test two cases. In the first, all colour analyses hang. In the second, the download of one analysis fails, and
        // all later analyses hang.
        for fails_too in [false, true] {
            let mut bench = Bench::new(LiveOptions { colour, ..following() });
            bench.film(20);
            for round in 1..=2 {
                let sets = bench.counters().sets;
                if fails_too && round == 1 {
                    // The fourth copy of each pair downloads the colour sums. The analysis kernel is launched before this
                    // copy.
                    let label = "cuMemcpy2DAsync";
                    bench.fake.fail(Fault { label, from: 4, count: 1, code: 1 });
                    bench.film(1);
                    assert_eq!(bench.colour().strikes, 1);
                }
                bench.fake.hang(ANALYSIS);
                while bench.colour().following {
                    assert!(bench.counters().sets < sets + 100, "{:?}", bench.colour());
                    bench.film(1);
                }
                assert!(bench.counters().sets >= sets + 20);
                assert_eq!((bench.colour().strikes, bench.counters().strikes), (3, 3 * round));
                assert_eq!(bench.film(150), Colours::IDENTITY);
                // The analyses that still hang must not count as further failures (`strikes`).
                assert_eq!((bench.colour().strikes, bench.counters().strikes), (3, 3 * round));
                bench.session.follow_colour(true);
                bench.film(1);
                assert!(bench.colour().following);
            }
            bench.fake.hang("");
            assert_ne!(bench.film(10), Colours::IDENTITY);
            assert_eq!(bench.colour().strikes, 0);
            // Dropping the session must not wait for the analysis that hangs.
            bench.fake.hang(ANALYSIS);
            bench.film(3);
            bench.end();
        }
    });
}

#[test]
fn the_dark_is_no_failure() {
    alone(the_dark_is_no_failure, || {
        let mut bench = Bench::new(following());
        for _ in 0..1000 {
            assert_eq!(bench.show([0, 0]).colours(), Colours::IDENTITY);
        }
        let counters = bench.counters();
        assert!(counters.dark >= 990 && counters.dark == counters.analyses, "{counters:?}");
        assert!(bench.colour().following && bench.colour().strikes == 0);
        assert_ne!(bench.film(90), Colours::IDENTITY);
        bench.end();
    });
}

#[test]
fn the_dark_is_no_failure_on_any_device() {
    for device in panoweave_devices() {
        let colour = ColourOptions { follow: true, every: 1, ..STILL };
        let session = session(&device, LiveOptions { colour, ..waiting() });
        let mut panoramas = session.panoramas();
        let mut show = |i: u32, levels: [u8; 2]| {
            let [left, right] = levels.map(stamp);
            session.submit([frame(&left), frame(&right)], FRAME * i).unwrap();
            panoramas.next().unwrap().colours()
        };
        for i in 0..1000 {
            assert_eq!(show(i, [0, 0]), Colours::IDENTITY);
        }
        let counters = session.counters();
        assert!(counters.dark >= 100 && counters.dark == counters.analyses, "{counters:?}");
        assert_eq!((counters.strikes, counters.panoramas), (0, 1000));
        assert!(session.colour().following);
        let lit = (1000..1090).map(|i| show(i, [60, 120])).last().unwrap();
        assert!(lit[0].gain.x > 1.3 && lit[1].gain.x < 0.8, "{device}: {lit:?}");
    }
}

#[test]
fn a_pair_is_given_up_after_three_attempts_and_the_next_one_comes() {
    alone(a_pair_is_given_up_after_three_attempts_and_the_next_one_comes, || {
        let mut bench = Bench::new(following());
        bench.film(10);
        for round in 1..=50 {
            bench.fail("stitch_mesh", 3);
            submit(&bench.session, 1000, [1, 2]).unwrap();
            bench.film(1);
            let LiveCounters { dropped, retries, .. } = bench.counters();
            assert_eq!(dropped, Dropped { failed: round, ..Dropped::default() });
            assert_eq!(retries, 2 * round);
        }
        bench.session.health().unwrap();
        let [now, most] = bench.fake.live();
        assert_eq!(now.objects.pinned_bytes, most.objects.pinned_bytes);
    });
}

#[test]
fn a_panorama_comes_though_its_event_cannot_be_waited_for() {
    alone(a_panorama_comes_though_its_event_cannot_be_waited_for, || {
        let mut bench = Bench::new(following());
        bench.fail("cuEventSynchronize", 0);
        assert_ne!(bench.film(50), Colours::IDENTITY);
        assert_eq!(bench.fake.counts().failed, 150);
        bench.end();
    });
}

#[test]
fn a_gpu_that_somebody_else_loses_ends_the_session() {
    alone(a_gpu_that_somebody_else_loses_ends_the_session, || {
        let mut bench = Bench::new(following());
        bench.film(10);
        let stream = bench.session.device().stream().unwrap();
        bench.fake.fail(Fault { label: "cuStreamSynchronize", from: 1, count: 1, code: 700 });
        thread::scope(|scope| {
            // The fatal error may occur before `next` is called, or while `next` waits. In both cases, `next` must return
            // `None`.
            let reader = scope.spawn(|| bench.panoramas.next().is_none());
            stream.synchronize().unwrap_err();
            let error = bench.session.health().unwrap_err();
            assert!(error.to_string().contains("(700)"), "{error}");
            assert!(reader.join().unwrap());
        });
        assert!(submit(&bench.session, 10, [1, 2]).is_err());
        assert_eq!(bench.counters().dropped, Dropped::default());
    });
}

#[test]
fn kernels_are_looked_up_once() {
    alone(kernels_are_looked_up_once, || {
        let mut bench = Bench::new(following());
        bench.film(10);
        bench.fail("cuModuleGetFunction", 0);
        assert_ne!(bench.film(50), Colours::IDENTITY);
        let LiveCounters { retries, strikes, .. } = bench.counters();
        assert_eq!((bench.fake.counts().failed, retries, strikes), (0, 0, 0));
        bench.end();
    });
}

#[test]
fn whoever_uses_a_warp_waits_until_it_is_there() {
    alone(whoever_uses_a_warp_waits_until_it_is_there, || {
        watch();
        let fake = Fake::loaded();
        let device = Device::cuda(0).unwrap();
        let (made_on, stream) = (device.stream().unwrap(), device.stream().unwrap());
        // Once an operation knows that the upload of a warp is complete, later operations no longer query the event of the
        // upload. Therefore, each operation gets a new warp.
        let new = || DeviceWarp::upload(&made_on, &small_warp()).unwrap();
        let warp = new();
        let [left, right] = [0, 1].map(|camera| {
            let size = warp.sources()[camera];
            Image::new(&device, size.x, size.y).unwrap()
        });
        let mut out = Image::new(&device, warp.size().x, warp.size().y).unwrap();
        let seam = Seam::new(&made_on, &warp, [0, 1], SeamOptions::default()).unwrap();
        let mut uses = |n, warp: &DeviceWarp, copy: &mut DeviceWarp| match n {
            0 => warp.download(&stream).is_ok(),
            1 => Overlap::find(&stream, warp, [0, 1]).is_ok(),
            2 => warp.resized(&stream, warp.size()).is_ok(),
            3 => Seam::new(&stream, warp, [0, 1], SeamOptions::default()).is_ok(),
            4 => Seam::copy(&stream, warp).is_ok(),
            5 => seam.weigh(&stream, warp, 1.0, copy).is_ok(),
            _ => stitch(&stream, &[(&left).into(), (&right).into()], warp, &by_planes(), &mut out)
                .is_ok(),
        };
        for n in 0..7 {
            let of = |warp: &DeviceWarp| Seam::copy(&made_on, warp).unwrap();
            let warp = new();
            assert!(uses(n, &warp, &mut of(&warp)), "use {n}");
            // The operation fails because its query of the upload's event fails. This proves that the operation queries
            // the event.
            let warp = new();
            let mut copy = of(&new());
            fake.fail(Fault { label: "cuEventQuery", from: 1, count: 1, code: 1 });
            assert!(!uses(n, &warp, &mut copy), "use {n} does not wait");
            fake.heal();
        }
    });
}

#[test]
fn a_copy_that_succeeds_is_done() {
    alone(a_copy_that_succeeds_is_done, || {
        watch();
        let fake = Fake::loaded();
        let device = Device::cuda(0).unwrap();
        let stream = device.stream().unwrap();
        let mut image = Image::<u8>::new(&device, 300, 3).unwrap();
        let mut host = Pinned::<u8>::new(&device, 900).unwrap();
        let mut succeeded = 0;
        for (n, count) in (1..=16).flat_map(|n| [(n, 1), (n, 0)]) {
            trying(format!("copies from call {n} on, {count}"));
            host.fill(7);
            fake.fail(Fault { label: "", from: n, count, code: 999 });
            let uploaded = image.upload(&stream, &host);
            fake.heal();
            // `upload` must have copied the host memory before it returns, so this change must not reach the image.
            host.fill(9);
            stream.synchronize().unwrap();
            if uploaded.is_ok() {
                succeeded += 1;
                assert_eq!(image.download(&stream).unwrap(), [7; 900]);
            }
        }
        assert!((8..32).contains(&succeeded), "{succeeded}");
    });
}
