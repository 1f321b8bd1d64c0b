//! Pipelines in a process of their own: `gst-launch-1.0`, `gst-inspect-1.0`, the leaks tracer.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::{PICTURE, Scene};

/// Returns the folder with the plugin: the one above the folder of the test program.
fn plugins() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().unwrap();
    let plugin = |folder: &std::path::Path| folder.join("libgstpanoweave.so").exists();
    let folders = [folder, folder.parent().unwrap()];
    folders.into_iter().find(|folder| plugin(folder)).expect("libgstpanoweave.so").to_owned()
}

fn run(program: &str, arguments: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.env("GST_PLUGIN_PATH", plugins()).envs(variables.iter().copied());
    // A word may not contain blanks.
    command.args(arguments.split_whitespace());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn succeed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out + &err
}

/// The environment of a run that reports objects that were not freed.
const LEAKS: [(&str, &str); 3] =
    [("GST_TRACERS", "leaks"), ("GST_DEBUG", "GST_TRACER:7"), ("GST_DEBUG_NO_COLOR", "1")];

/// Runs a pipeline under the leaks tracer.
fn launch(pipeline: &str) -> String {
    let text = succeed(&run("gst-launch-1.0", pipeline, &LEAKS));
    assert!(text.contains("object-alive.class"), "the leaks tracer is not active: {text}");
    let leaks: Vec<_> =
        text.lines().filter(|line| line.contains(":: object-alive, type-name")).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    text
}

#[test]
fn test_sources_are_stitched_without_leaks() {
    let scene = Scene::new(2);
    let rig = scene.rig();
    let text = launch(&format!(
        "-v panoweavestitch name=s device=cpu rig={rig} ! fakesink \
         videotestsrc num-buffers=10 ! s. videotestsrc num-buffers=10 pattern=ball ! s."
    ));
    assert!(text.contains("width=(int)160, height=(int)64"), "{text}");
}

#[test]
fn a_file_of_h264_is_written_and_read_again() {
    let scene = Scene::new(2);
    let (rig, (width, height)) = (scene.rig(), PICTURE);
    let file = |name: &str| crate::support::text(&scene.path(name));
    for (name, pattern) in [("left.mp4", "ball"), ("right.mp4", "smpte")] {
        launch(&format!(
            "videotestsrc num-buffers=20 pattern={pattern} ! \
             video/x-raw,format=I420,width={width},height={height},framerate=25/1 ! \
             x264enc bframes=2 ! h264parse ! mp4mux ! filesink location={}",
            file(name)
        ));
    }
    launch(&format!(
        "panoweavestitch name=s device=cpu rig={rig} ! videoconvert ! x264enc ! mp4mux ! \
         filesink location={} \
         filesrc location={} ! qtdemux ! h264parse ! avdec_h264 ! videoconvert ! s. \
         filesrc location={} ! qtdemux ! h264parse ! avdec_h264 ! videoconvert ! s.",
        file("panorama.mp4"),
        file("left.mp4"),
        file("right.mp4")
    ));
    // Counts the panoramas.
    let text = launch(&format!(
        "filesrc location={} ! qtdemux ! h264parse ! avdec_h264 ! \
         identity silent=false ! fakesink -v",
        file("panorama.mp4")
    ));
    assert_eq!(text.matches("last-message = chain").count(), 20, "{text}");
}

#[test]
fn the_description_of_the_element_is_as_documented() {
    let text = succeed(&run("gst-inspect-1.0", "--no-colors panoweavestitch", &[]));
    // The properties of the base classes depend on the version of GStreamer, and the path on the machine.
    let ours: Vec<_> = include_str!("inspect.txt").lines().collect();
    let missing: Vec<_> = ours
        .iter()
        .filter(|line| !text.lines().any(|other| other.trim_end() == line.trim_end()))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}\n{text}");
}
