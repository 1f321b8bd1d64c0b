//! Videos that are truncated, corrupt, of varying rate or with B-frames: the pipeline ends with a message and never
//! hangs.

use gst::prelude::*;

use crate::support::{PICTURE, Scene, text};

/// Runs a pipeline to its end. Returns the number of panoramas and the text of the error, if there was one.
fn run(description: &str) -> (usize, Option<String>) {
    let pipeline = gst::parse::launch(description).unwrap();
    let sink = pipeline.downcast_ref::<gst::Bin>().unwrap().by_name("sink").unwrap();
    let bus = pipeline.bus().unwrap();
    pipeline.set_state(gst::State::Playing).ok();
    let limit = gst::ClockTime::from_seconds(60);
    let ends = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = bus.timed_pop_filtered(limit, &ends);
    let message = message.unwrap_or_else(|| panic!("the pipeline hangs: {description}"));
    let error = match message.view() {
        gst::MessageView::Error(error) => Some(error.error().to_string()),
        _ => None,
    };
    let stats: gst::Structure = sink.property("stats");
    pipeline.set_state(gst::State::Null).unwrap();
    (stats.get::<u64>("rendered").unwrap() as usize, error)
}

/// Returns an H.264 stream of 20 frames with B-frames.
fn stream(scene: &Scene, pattern: &str) -> Vec<u8> {
    let (width, height) = PICTURE;
    let file = scene.path("stream.h264");
    let (_, error) = run(&format!(
        "videotestsrc num-buffers=20 pattern={pattern} ! \
         video/x-raw,format=I420,width={width},height={height},framerate=25/1 ! \
         x264enc bframes=2 key-int-max=10 ! video/x-h264,stream-format=byte-stream ! \
         tee name=t ! queue ! filesink location={} t. ! queue ! fakesink name=sink",
        text(&file)
    ));
    assert_eq!(error, None);
    std::fs::read(file).unwrap()
}

/// Stitches two streams. Parsers and decoders may report errors, and so may the element.
fn stitch(scene: &Scene, streams: [&[u8]; 2]) -> (usize, Option<String>) {
    let files = [0, 1].map(|i| text(&scene.path(&format!("{i}.h264"))));
    for (file, stream) in files.iter().zip(streams) {
        std::fs::write(file, stream).unwrap();
    }
    run(&format!(
        "panoweavestitch name=s device=cpu rig={} ! fakesink name=sink sync=false \
         filesrc location={} ! h264parse ! avdec_h264 ! videoconvert ! queue ! s. \
         filesrc location={} ! h264parse ! avdec_h264 ! videoconvert ! queue ! s.",
        scene.rig(),
        files[0],
        files[1]
    ))
}

#[test]
fn two_hundred_mutated_streams_end_with_panoramas_or_a_message() {
    let scene = Scene::new(2);
    let (good, other) = (stream(&scene, "ball"), stream(&scene, "smpte"));
    assert_eq!(stitch(&scene, [&good, &other]), (20, None));
    // A linear congruential generator; the constants are Knuth's.
    let mut state = 1u64;
    let mut random = move |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let (mut complete, mut failed) = (0, 0);
    for number in 0..200 {
        let mut bad = other.clone();
        match number % 4 {
            0 => bad.truncate(random(bad.len())),
            1 => (0..1 + random(20)).for_each(|_| {
                let at = random(bad.len());
                bad[at] ^= 1 << random(8);
            }),
            2 => {
                let (from, to) = (random(bad.len()), random(bad.len()));
                bad.drain(from.min(to)..from.max(to));
            }
            _ => {
                let at = random(bad.len());
                let noise: Vec<u8> = (0..random(300)).map(|_| random(256) as u8).collect();
                bad.splice(at..at, noise);
            }
        }
        let (panoramas, error) = stitch(&scene, [&good, &bad]);
        assert!(panoramas <= 21, "{number}: {panoramas}");
        assert!(panoramas > 0 || error.is_some(), "{number}: neither a panorama nor a message");
        complete += usize::from(panoramas >= 19);
        failed += usize::from(error.is_some());
    }
    // Some mutations are harmless, and some leave nothing to decode.
    assert!(complete > 20 && failed > 0, "{complete} complete, {failed} failed");
}

#[test]
fn a_video_of_varying_rate_keeps_its_times() {
    let scene = Scene::new(2);
    let (width, height) = PICTURE;
    let caps = format!("video/x-raw,format=NV12,width={width},height={height}");
    // The second camera drops about half of its frames.
    let (panoramas, error) = run(&format!(
        "panoweavestitch name=s device=cpu rig={} ! fakesink name=sink sync=false \
         videotestsrc num-buffers=30 ! {caps},framerate=25/1 ! s. \
         videotestsrc num-buffers=30 ! {caps},framerate=25/1 ! identity drop-probability=0.5 ! \
         capssetter caps=\"{caps},framerate=0/1\" join=false replace=true ! s.",
        scene.rig()
    ));
    assert_eq!(error, None);
    // The dropped frames at the end shorten the panorama.
    assert!((20..=30).contains(&panoramas), "{panoramas}");
}
