//! A thousand changes between NULL and PLAYING leave nothing behind. The test has a process of its own, because it
//! counts the process's threads, files and memory.

use gst::prelude::*;

const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 64
height = 32
fov = 100.0

[[camera]]
name = "left"
size = [40, 32]
lens = "pinhole"
matrix = { fx = 35.0, fy = 35.0, cx = 19.5, cy = 15.5 }
yaw = -25.0

[[camera]]
name = "right"
size = [40, 32]
lens = "pinhole"
matrix = { fx = 35.0, fy = 35.0, cx = 19.5, cy = 15.5 }
yaw = 25.0
"#;

/// The resources of this process.
#[derive(Debug)]
struct Usage {
    threads: usize,
    files: usize,
    kib: u64,
}

impl Usage {
    fn now() -> Self {
        let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib = line.trim().trim_end_matches(" kB").parse().unwrap();
        Self { threads: count("/proc/self/task"), files: count("/proc/self/fd"), kib }
    }
}

#[test]
fn a_thousand_changes_of_state_leave_nothing_behind() {
    gst::init().unwrap();
    gstpanoweave::plugin_register_static().unwrap();
    let rig = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(rig.path(), RIG).unwrap();
    let description = format!(
        "panoweavestitch name=s device=cpu rig={} ! fakesink sync=false \
         videotestsrc ! s. videotestsrc pattern=ball ! s.",
        rig.path().display()
    );
    let pipeline = gst::parse::launch(&description).unwrap();
    let change = |state: gst::State| {
        pipeline.set_state(state).unwrap();
        let (changed, current, _) = pipeline.state(gst::ClockTime::from_seconds(20));
        changed.unwrap();
        assert_eq!(current, state);
    };
    let round = || {
        // PLAYING requires a panorama, so the session runs each time.
        change(gst::State::Playing);
        change(gst::State::Null);
    };
    (0..100).for_each(|_| round());
    let before = Usage::now();
    (0..900).for_each(|_| round());
    let after = Usage::now();
    println!("{before:?} {after:?}");
    // GStreamer keeps idle threads. Each session has two, so 900 sessions would leave 1,800.
    assert!(after.threads <= before.threads + 4, "{before:?} {after:?}");
    assert!(after.files <= before.files, "{before:?} {after:?}");
    // 900 sessions with buffers of 64×32 pixels would need 100 MB.
    assert!(after.kib <= before.kib + 8 * 1024, "{before:?} {after:?}");
}
