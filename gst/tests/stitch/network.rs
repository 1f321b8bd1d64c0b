//! Cameras that send RTP over the loopback interface, in real time.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gst::prelude::*;

use crate::support::{PICTURE, RATE, Scene};

/// The longest wait for something that takes about a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the number of a free port.
fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("an address").port()
}

/// A pipeline that stops when the test ends.
struct Running(gst::Pipeline);

impl Running {
    fn start(description: &str) -> Self {
        let pipeline =
            gst::parse::launch(description).unwrap_or_else(|e| panic!("{description}: {e}"));
        let pipeline = pipeline.downcast::<gst::Pipeline>().expect("a pipeline");
        pipeline.set_state(gst::State::Playing).expect("the pipeline starts");
        Self(pipeline)
    }

    /// Waits for the message that a camera has this state.
    fn wait_for(&self, camera: u32, state: &str) {
        let end = Instant::now() + PATIENCE;
        let bus = self.0.bus().expect("a bus");
        let types = [gst::MessageType::Element, gst::MessageType::Error];
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let left = gst::ClockTime::from_nseconds(left.as_nanos() as u64);
            let Some(message) = bus.timed_pop_filtered(left, &types) else { break };
            if let gst::MessageView::Error(error) = message.view() {
                panic!("{error:?}");
            }
            let found = message.structure().is_some_and(|it| {
                it.name() == "panoweave-camera"
                    && it.get("camera") == Ok(camera)
                    && it.get("state") == Ok(state)
            });
            if found {
                return;
            }
        }
        panic!("camera {camera} is not {state}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.set_state(gst::State::Null);
    }
}

/// Starts a camera that sends RTP to a port.
fn camera(port: u16) -> Running {
    let (width, height) = PICTURE;
    Running::start(&format!(
        "videotestsrc is-live=true ! \
         video/x-raw,format=I420,width={width},height={height},framerate={RATE}/1 ! \
         x264enc tune=zerolatency key-int-max=5 ! rtph264pay config-interval=-1 ! \
         udpsink host=127.0.0.1 port={port}"
    ))
}

/// Waits for `more` panoramas.
fn wait_for_panoramas(count: &AtomicUsize, more: usize) {
    let (start, end) = (count.load(Ordering::Relaxed), Instant::now() + PATIENCE);
    while count.load(Ordering::Relaxed) < start + more {
        assert!(Instant::now() < end, "{} panoramas", count.load(Ordering::Relaxed) - start);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_camera_of_a_network_leaves_and_returns() {
    let scene = Scene::new(2);
    let (rig, ports) = (scene.rig(), [free_port(), free_port()]);
    let input = |camera: usize| {
        format!(
            "udpsrc address=127.0.0.1 port={} \
             caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=H264 ! \
             rtph264depay ! h264parse ! avdec_h264 ! videoconvert ! \
             queue ! s.sink_{camera} ",
            ports[camera]
        )
    };
    let running = Running::start(&format!(
        "panoweavestitch name=s device=cpu rig={rig} ! queue ! fakesink name=out sync=true {}{}",
        input(0),
        input(1)
    ));
    let cameras = ports.map(camera);
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let out = running.0.by_name("out").unwrap().static_pad("sink").unwrap();
    out.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        gst::PadProbeReturn::Ok
    });
    wait_for_panoramas(&count, 50);
    // Cameras may be late at the start.
    running.0.bus().unwrap().set_flushing(true);
    running.0.bus().unwrap().set_flushing(false);
    let [_left, right] = cameras;
    drop(right);
    running.wait_for(1, "gone");
    wait_for_panoramas(&count, 25);
    let _right = camera(ports[1]);
    running.wait_for(1, "live");
    wait_for_panoramas(&count, 25);
}
