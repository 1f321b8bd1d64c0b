//! Tests `--sync` of `panoweave video` and `panoweave compare`. The gray level of each frame tells its time.

use panoweave::io::video::{Medium, Stop, VideoInput, VideoSource};
use panoweave::video::sound::find_offsets;
use serde_json::{Value, json};

use super::{Ffmpeg, MAP, flat, luma};
use crate::{Done, Folder};

/// Returns the levels of frames that begin `first` frames after the start of a scene whose level grows by 4 per frame.
fn scene(first: u8, count: u8) -> Vec<u8> {
    (first..first + count).map(|n| 20 + 4 * n).collect()
}

/// Returns the levels of each panorama where only the left camera contributes, and where only the right one does.
fn sides(folder: &Folder, file: &str) -> Vec<[u8; 2]> {
    let (line, frames) = luma(&folder.read(file));
    assert!(line.contains(" W65 H32 "), "{line}");
    frames.iter().map(|frame| [frame[10 * 65 + 5], frame[10 * 65 + 60]]).collect()
}

fn assert_same_times(sides: &[[u8; 2]]) {
    let same = |[left, right]: &[u8; 2]| left.abs_diff(*right) <= 1;
    assert!(sides.iter().all(same), "{sides:?}");
}

#[test]
fn given_offsets_select_the_frames() {
    let folder = Folder::new();
    folder.write("l.y4m", flat("25:1", scene(0, 30)));
    folder.write("late.y4m", flat("25:1", scene(5, 30)));
    // At 50 frames per second, each level lasts for two frames.
    folder.write("fast.y4m", flat("50:1", scene(5, 20).into_iter().flat_map(|level| [level; 2])));
    for (left, right, sync, count) in [
        ("l", "late", "0.2", 25),
        // The first panorama is at a whole frame of the first video.
        ("l", "late", "0.19", 25),
        ("late", "l", "-0.2", 25),
        ("l", "fast", "0.2", 20),
        // 10 ms avoid ties: both frames of a level are nearest to the same frame.
        ("fast", "l", "-0.19", 40),
    ] {
        let line = format!("video {left}.y4m {right}.y4m --sync {sync} {MAP} --no-colour");
        // A warning may say which recording ended first.
        folder.succeeds(&format!("{line} -o p.y4m"));
        let sides = sides(&folder, "p.y4m");
        assert_eq!(sides.len(), count, "{left} {right} {sync}");
        assert_same_times(&sides);
        // The level of the first panorama is that of the scene's frame 5, in limited or full range.
        assert!(sides[0][0].abs_diff(40) <= 10, "{:?}", sides[0]);
    }
    let json =
        folder.words(&format!("video l.y4m late.y4m --sync 0.2 {MAP} --json -o p.y4m")).json();
    assert_eq!(json["cameras"][0]["sync"]["offset"], 0.0);
    assert_eq!(json["cameras"][1]["sync"]["offset"], 0.2);
    assert!(json["cameras"][1]["sync"]["confidence"].is_null());
}

/// The last frame of a slow video is shown until the next one would begin. So videos that record for two seconds give a
/// panorama of two seconds.
#[test]
fn videos_of_one_length_end_together() {
    let folder = Folder::new();
    folder.write("l.y4m", flat("30:1", scene(0, 58).into_iter().chain([250; 2])));
    for fps in [15, 10, 5, 1] {
        folder.write("slow.y4m", flat(&format!("{fps}:1"), scene(0, 2 * fps)));
        let done = folder.words(&format!("video l.y4m slow.y4m {MAP} --no-colour --json -o p.y4m"));
        assert_eq!((done.code, &done.stderr[..]), (Some(0), ""), "{done:?}");
        let json = done.json();
        assert_eq!((&json["frames"]["written"], &json["ended_first"]), (&json!(60), &Value::Null));
        let count = |key: &str| {
            json["cameras"].as_array().map(|all| all.iter().map(|of| of[key].clone()).collect())
        };
        assert_eq!(count("repeated"), Some(json!([0, 60 - 2 * fps])), "{fps}: {json}");
        assert_eq!(count("unpaired"), Some(json!([0, 0])), "{fps}: {json}");
        // A limit is not the end of a video.
        folder.write("longer.y4m", flat("30:1", [50; 90]));
        for frames in [57, 60] {
            let line =
                format!("video longer.y4m slow.y4m {MAP} --no-colour --frames {frames} -o p.y4m");
            let done = folder.words(&line);
            assert!(done.code == Some(0) && !done.stderr.contains("WARN"), "{done:?}");
        }
    }
}

/// A rig of three cameras side by side.
const THREE: &str = r#"
[panorama]
projection = "cylindrical"
width = 96
height = 32
fov = 150.0
"#;

#[test]
fn three_cameras_begin_when_the_last_one_begins() {
    let folder = Folder::new();
    let camera = |yaw: i32| {
        format!(
            "[[camera]]\nname = \"at {yaw}\"\nsize = [40, 30]\nlens = \"pinhole\"\nyaw = {yaw}.0\n\
             matrix = {{ fx = 30.0, fy = 30.0, cx = 19.5, cy = 14.5 }}\n"
        )
    };
    folder.write("three.toml", format!("{THREE}{}", [-50, 0, 50].map(camera).concat()));
    for (file, first) in [("a", 3), ("late", 8), ("early", 0)] {
        folder.write(&format!("{file}.y4m"), flat("25:1", scene(first, 30)));
    }
    let line =
        "video a.y4m late.y4m early.y4m --sync 0.2,-0.12 --rig three.toml --device cpu --no-colour";
    folder.succeeds(&format!("{line} -o p.y4m"));
    let (header, frames) = luma(&folder.read("p.y4m"));
    assert!(header.contains(" W96 H32 "), "{header}");
    // The third video has shown 8 of its 30 frames when the second one begins.
    assert_eq!(frames.len(), 22);
    for frame in frames {
        let [a, b, c] = [16, 48, 80].map(|column| frame[16 * 96 + column]);
        assert!(a.abs_diff(b) <= 1 && b.abs_diff(c) <= 1, "{a} {b} {c}");
    }
}

#[test]
fn compare_follows_a_given_offset() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("25:1", scene(0, 30)));
    folder.write("b.y4m", flat("25:1", scene(5, 30)));
    let compare = |options: &str| {
        let done = folder.succeeds(&format!("compare a.y4m b.y4m --json --device cpu {options}"));
        let json = done.json();
        (json["frames"].as_u64().unwrap(), json["identical"]["gray"].as_bool().unwrap())
    };
    assert_eq!(compare("--sync 0.2"), (25, true));
    assert_eq!(compare("--sync -0.2"), (25, false));
    assert_eq!(compare(""), (30, false));
}

fn refused(folder: &Folder, line: &str, texts: &[&str]) {
    let done: Done = folder.words(line);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(texts.iter().all(|text| done.stderr.contains(text)), "{texts:?} {done:?}");
    assert!(!folder.path("p.mkv").exists());
}

#[test]
fn unusable_offsets_are_refused() {
    let folder = Folder::new();
    folder.write("l.y4m", flat("25:1", scene(0, 3)));
    let line = |sync: &str| format!("video l.y4m l.y4m --sync {sync} {MAP} -o p.mkv");
    refused(&folder, &line("0,0.2"), &["2 offsets", "but 1 are needed"]);
    refused(&folder, &line("soon"), &["audio", "seconds"]);
    refused(&folder, &line("audio"), &["l.y4m: no sound track", "`sync`, for example 0.25"]);
    refused(&folder, &line("0.2"), &["l.y4m: ends after 3 frames", "`sync`"]);
    refused(&folder, "compare l.y4m l.y4m --device cpu --sync -1", &["l.y4m: ends after 3 frames"]);
    refused(&folder, "compare left.png right.png --sync 1", &["options for videos"]);
}

/// Makes three recordings of one scene, which are heard by different microphones: `first.mp4`, `late.mp4`, which starts
/// 1.28 s later, and `early.mkv`, which starts 0.8 s earlier.
fn recordings(ffmpeg: &Ffmpeg, folder: &Folder) {
    ffmpeg.run(
        folder,
        "-f lavfi -i color=c=black:s=40x30:r=25,format=yuv420p,geq=lum='mod(N,100)*2+20':cb=128:cr=128 \
         -f lavfi -i anoisesrc=r=48000:a=0.3:seed=5 -t 12 -c:v libx264 -qp 0 -c:a pcm_s16le scene.mkv",
    );
    for (file, start, sound) in [
        ("first.mp4", 0.8, "volume=0.5"),
        ("late.mp4", 2.08, "lowpass=2500,volume=0.1"),
        ("early.mkv", 0.0, "highpass=500,aresample=44100"),
    ] {
        let line = format!(
            "-ss {start} -i scene.mkv -t 8 -af {sound} -c:v libx264 -crf 1 -c:a aac {file}"
        );
        ffmpeg.run(folder, &line);
    }
}

#[test]
fn offsets_are_found_in_the_sound() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    recordings(&ffmpeg, &folder);
    for (other, offset, count) in [("late.mp4", 1.28, 168), ("early.mkv", -0.8, 180)] {
        let line = format!("video first.mp4 {other} --sync audio {MAP} --no-colour");
        let done = folder.succeeds(&format!("{line} --json -o p.y4m"));
        let sync = &done.json()["cameras"][1]["sync"];
        let error = sync["offset"].as_f64().unwrap() - offset;
        assert!(error.abs() < 1e-3, "{other}: {error}");
        assert!(sync["confidence"].as_f64().unwrap() > 1.25, "{sync}");
        assert!(done.stderr.contains(&format!("{other} starts ")), "{done:?}");
        let sides = sides(&folder, "p.y4m");
        assert_eq!(sides.len(), count, "{other}");
        assert_same_times(&sides);
    }
}

/// The sound of the output must be that of the first video from the first panorama on.
#[test]
fn the_sound_of_the_output_stays_in_sync() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    recordings(&ffmpeg, &folder);
    // The sound is copied to MP4, and encoded again if the container does not support its codec.
    ffmpeg.run(&folder, "-i first.mp4 -c:v copy -c:a wmav2 first.mkv");
    for (first, output) in [("first.mp4", "p.mp4"), ("first.mkv", "p2.mp4")] {
        folder.words(&format!("video {first} late.mp4 --sync 1.28 {MAP} -o {output}"));
        let sources = [output, first].map(|file| {
            let path = folder.path(file);
            let medium = Medium::of_input(&path, None).unwrap();
            let input = VideoInput::new(path, medium);
            VideoSource::open(&input, None, &Stop::default()).unwrap()
        });
        let found = find_offsets(&sources, 10.0, &Stop::default()).unwrap().unwrap();
        let error = found[0].offset.seconds + 1.28;
        assert!(error.abs() < 5e-3, "{output}: {error}");
        let probe = ffmpeg.probe(&folder, output);
        assert_eq!(probe.frames(), 168, "{output}");
    }
}

#[test]
fn sound_that_does_not_match_is_refused() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let video = "-f lavfi -i testsrc2=s=40x30:r=25 -t 6 -c:v libx264 -pix_fmt yuv420p";
    for (sound, file) in [
        ("-f lavfi -i anoisesrc=a=0.3:seed=1 -c:a aac", "one.mp4"),
        ("-f lavfi -i anoisesrc=a=0.3:seed=2 -c:a aac", "two.mp4"),
        ("-f lavfi -i anullsrc -c:a aac", "silent.mp4"),
        ("-f lavfi -i sine -c:a aac", "tone.mp4"),
    ] {
        ffmpeg.run(&folder, &format!("{sound} {video} {file}"));
    }
    ffmpeg.run(&folder, &format!("{video} mute.mp4"));
    for (first, other, text) in [
        ("one", "two", "no 3 s of sound in common"),
        ("one", "silent", "silent or shorter"),
        ("one", "mute", "mute.mp4: no sound track"),
        ("tone", "tone", ""),
    ] {
        let line = format!("video {first}.mp4 {other}.mp4 --sync audio {MAP} -o p.mkv");
        refused(&folder, &line, &[&format!("{other}.mp4: "), text, "`sync`, for example 0.25"]);
    }
}
