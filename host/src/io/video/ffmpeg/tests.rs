//! Tests that sound and frames stay synchronous: in each file, a flash and a beep happen at the same time.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use panoweave_tests::skip::{Need, skip};

use super::{Decoder, FFMPEG, Probe, parse, probe};
use crate::frame::{FrameFormat, PixelFormat};
use crate::io::video::read_frame::ReadFrame;
use crate::io::video::{Stop, VideoLimits};

/// The frames per second of the files.
const RATE: u32 = 25;

/// The samples per second at which the sound is read.
const SAMPLES: u32 = 8000;

/// The size of a transport packet in bytes.
const PACKET: usize = 188;

/// A file to be made: its extension, ffmpeg's options for the sound input and for the output, and the part of its
/// packets that is removed from the start.
struct Case {
    extension: &'static str,
    sound: &'static str,
    options: &'static str,
    removed: f64,
}

const H264: &str = "-c:v libx264 -preset veryfast -g 60 -bf 2 -sc_threshold 0 -c:a aac";
const REFRESH: &str =
    "-c:v libx264 -preset veryfast -x264-params intra-refresh=1:keyint=25:bframes=0 -c:a aac";
const HEVC: &str =
    "-c:v libx265 -preset ultrafast -x265-params keyint=60:scenecut=0:log-level=none -c:a aac";
const MPEG2: &str = "-c:v mpeg2video -g 60 -bf 2 -sc_threshold 1000000000 -c:a mp2";
const FLV: &str = "-c:v libx264 -preset veryfast -g 60 -c:a aac";
const LATE: &str = "-itsoffset 0.5";
const EARLY: &str = "-itsoffset -0.5";

const fn case(
    extension: &'static str,
    sound: &'static str,
    options: &'static str,
    removed: f64,
) -> Case {
    Case { extension, sound, options, removed }
}

const CASES: [Case; 14] = [
    case("mp4", "", H264, 0.0),
    case("mp4", LATE, H264, 0.0),
    case("mkv", LATE, H264, 0.0),
    case("mkv", EARLY, H264, 0.0),
    case("flv", LATE, FLV, 0.0),
    case("ts", "", H264, 0.0),
    case("ts", LATE, H264, 0.0),
    case("ts", EARLY, MPEG2, 0.0),
    case("ts", "", H264, 0.13),
    case("ts", LATE, H264, 0.31),
    case("ts", "", REFRESH, 0.23),
    case("ts", "", HEVC, 0.13),
    case("ts", LATE, HEVC, 0.31),
    case("ts", EARLY, MPEG2, 0.13),
];

/// Returns the times of the flashes in seconds from the first frame.
fn flashes(file: &Path, probe: &Probe, stop: &Stop) -> Vec<f64> {
    let rate = RATE.to_string().parse().unwrap();
    let size = probe.size;
    let format = FrameFormat::nv12(size.x, size.y, probe.encoding());
    assert!(matches!(format.pixels, PixelFormat::Nv12(_)));
    let mut decoder = Decoder::start(file, probe, rate, format, 0.0, stop).unwrap();
    let luma = (size.x * size.y) as usize;
    let mut frame = vec![0; luma * 3 / 2];
    let mut bright = Vec::new();
    while decoder.read_frame(&mut frame).unwrap() {
        let sum: u64 = frame[..luma].iter().map(|value| u64::from(*value)).sum();
        bright.push(sum / luma as u64 > 120);
    }
    let begins = |i: &usize| bright[*i] && !bright[*i - 1];
    (1..bright.len()).filter(begins).map(|i| i as f64 / f64::from(RATE)).collect()
}

/// Returns the times at which the sound begins after a silence, in seconds from the first sample.
fn beeps(samples: &[f32]) -> Vec<f64> {
    let loud = |window: &[f32]| window.iter().any(|sample| sample.abs() > 0.2);
    let step = SAMPLES as usize / 200;
    let levels: Vec<bool> = samples.chunks(step).map(loud).collect();
    let quiet = 40;
    let begins = |i: &usize| levels[*i] && !levels[*i - quiet..*i].contains(&true);
    (quiet..levels.len()).filter(begins).map(|i| (i * step) as f64 / f64::from(SAMPLES)).collect()
}

/// Runs ffmpeg in a folder with the words of `line`. Returns false, and logs the reason, if there is no ffmpeg.
fn run(folder: &Path, line: &str) -> bool {
    let mut command = FFMPEG.command();
    command.current_dir(folder).args("-v error -y -threads 1".split(' '));
    match command.args(line.split_whitespace()).stdin(Stdio::null()).status() {
        Ok(status) => assert!(status.success(), "{line}"),
        Err(error) => {
            skip(Need::Ffmpeg, error);
            return false;
        }
    }
    true
}

/// ffmpeg initialises its filters again if the number of channels changes, and counts from the first track that it
/// reads. The sound of the first track must begin at the same sample in all of these files.
#[test]
fn other_channels_and_tracks_do_not_move_the_sound() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let video = "-f lavfi -i testsrc2=s=64x48:r=25:d=6 -c:v libx264 -g 25 -bf 0 -pix_fmt yuv420p";
    let beep = |seconds: u32, channels: &str| {
        format!(
            "-f lavfi -i aevalsrc=0.9*sin(2*PI*1000*t)*lt(mod(t\\,1)\\,0.04):d={seconds}:s=48000 -ac {channels}"
        )
    };
    let made = run(folder, &format!("{video} v.ts"))
        && run(folder, &format!("{} -c:a ac3 one.ac3", beep(3, "6")))
        && run(folder, &format!("{} -c:a ac3 two.ac3", beep(3, "2")));
    if !made {
        return;
    }
    let join = ["one.ac3", "two.ac3"].map(|name| std::fs::read(folder.join(name)).unwrap());
    std::fs::write(folder.join("both.ac3"), join.concat()).unwrap();
    run(folder, "-i v.ts -i two.ac3 -c copy plain.ts");
    run(folder, "-i v.ts -i both.ac3 -c copy changing.ts");
    run(
        folder,
        "-i v.ts -i two.ac3 -itsoffset -2 -i one.ac3 -map 0 -map 1 -map 2 -c copy early.ts",
    );
    let stop = Stop::default();
    let found = ["plain.ts", "changing.ts", "early.ts"].map(|name| {
        let probe = probe(&folder.join(name), &VideoLimits::default(), &stop).unwrap();
        let sound = probe.sound.unwrap();
        let samples = sound.samples(SAMPLES, Duration::from_secs(20), &stop).unwrap().unwrap();
        beeps(&samples)
    });
    for (beeps, name) in found.iter().zip(["plain", "changing", "early"]) {
        assert!(beeps.len() >= 2, "{name}: {beeps:?}");
        let second = |beeps: &[f64]| beeps[0].rem_euclid(1.0);
        let apart = (second(beeps) - second(&found[0])).abs();
        assert!(apart < 0.03, "{name}: {beeps:?} {:?}", found[0]);
        assert!((beeps[0] - found[0][0]).abs() < 0.03, "{name}: {beeps:?} {:?}", found[0]);
    }
    // The sound continues after the change.
    assert!(found[1].len() > found[0].len(), "{found:?}");
}

/// A track without packets, of which the file knows no channels, must not count.
#[test]
fn tracks_without_sound_do_not_count() {
    let audio =
        |index: u32, rest: &str| format!(r#"{{"index": {index}, "codec_type": "audio"{rest}}}"#);
    let text = format!(
        r#"{{"streams": [{}, {}, {}, {{"index": 9, "codec_type": "video", "width": 8, "height": 8}}]}}"#,
        audio(1, r#", "codec_name": "aac", "channels": 0"#),
        audio(2, r#", "channels": 4"#),
        audio(5, r#", "codec_name": "aac", "channels": 2"#),
    );
    let limits = VideoLimits::default();
    let sound = parse(text.as_bytes(), Path::new("a.ts"), &limits).unwrap().sound.unwrap();
    assert_eq!((sound.video, sound.tracks), (9, vec![5]));
}

#[test]
fn sound_and_frames_stay_synchronous() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    for (i, case) in CASES.iter().enumerate() {
        let Case { extension, sound, options, removed } = case;
        let path = folder.path().join(format!("{i}.{extension}"));
        let what = format!("{extension} {sound} {options} {removed}");
        // A delay of the track moves the beep relative to the start of the track, not relative to the flash.
        let delay: f64 = sound.split(' ').next_back().and_then(|s| s.parse().ok()).unwrap_or(0.0);
        let beep = format!(
            "-f lavfi -i aevalsrc='0.9*sin(2*PI*1000*t)*lt(mod(t+{delay}+4\\,1)\\,0.04)':d=8:s=48000"
        );
        let flash = "-f lavfi -i color=black:s=160x120:r=25:d=8,drawbox=c=white:t=fill:enable='lt(mod(t\\,1)\\,0.039)',noise=alls=6:allf=t";
        let line = format!("-v error -threads 1 {flash} {sound} {beep} -pix_fmt yuv420p {options}");
        let mut command = FFMPEG.command();
        let arguments = line.split_whitespace().map(|argument| argument.replace('\'', ""));
        command.args(arguments).arg(&path).stdin(Stdio::null());
        match command.status() {
            Ok(status) => assert!(status.success(), "{what}"),
            Err(error) => return skip(Need::Ffmpeg, error),
        }
        if *removed > 0.0 {
            let bytes = std::fs::read(&path).unwrap();
            let packets = bytes.len() / PACKET;
            let first = (packets as f64 * removed) as usize * PACKET;
            std::fs::write(&path, &bytes[first..]).unwrap();
        }
        let probe = probe(&path, &VideoLimits::default(), &stop).unwrap();
        let sound = probe.sound.clone().unwrap();
        let flashes = flashes(&path, &probe, &stop);
        let samples = sound.samples(SAMPLES, Duration::from_secs(20), &stop).unwrap().unwrap();
        let beeps = beeps(&samples);
        assert!(flashes.len() >= 2, "{what}: {flashes:?}");
        for flash in &flashes {
            let near = beeps.iter().any(|beep| (beep - flash).abs() < 0.03);
            // The sound may begin or end within the video.
            let sounds = beeps.first().is_some_and(|first| *flash > first - 0.1)
                && beeps.last().is_some_and(|last| *flash < last + 0.1);
            assert!(near || !sounds, "{what}: {flashes:?} {beeps:?}");
        }
        assert!(beeps.len() >= 2, "{what}: {beeps:?}");
    }
}
