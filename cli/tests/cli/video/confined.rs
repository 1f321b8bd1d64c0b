//! Tests what ffmpeg may do when panoweave runs it: it reads only the file that it is given, and it does not outlive
//! panoweave.

use std::process::Child;

use super::signals::{end, signal, start_with, until};
use super::{Ffmpeg, MAP};
use crate::Folder;

/// Each of these texts makes ffmpeg show the local video `secret.mp4` if it may open the file in any format.
#[test]
fn a_text_that_names_another_video_is_refused() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.run(&folder, "-f lavfi -i testsrc2=s=40x30:r=30 -t 0.2 -pix_fmt yuv420p secret.mp4");
    let secret = folder.path("secret.mp4").display().to_string();
    let texts = [
        ("list", format!("file '{secret}'\nfile '{secret}'\n")),
        // Without an end marker, ffmpeg would wait for further parts.
        ("hls", format!("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{secret}\n")),
        ("concat", format!("ffconcat version 1.0\nfile {secret}\n")),
        (
            "dash",
            "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"></MPD>".to_owned(),
        ),
        (
            "imf",
            format!("<?xml version=\"1.0\"?>\n<CompositionPlaylist>{secret}</CompositionPlaylist>"),
        ),
        ("pls", format!("[playlist]\nFile1={secret}\n")),
        ("asx", format!("<asx version=\"3.0\"><entry><ref href=\"{secret}\"/></entry></asx>")),
    ];
    for (name, text) in texts {
        folder.write("trap.mp4", text);
        let line = format!("video trap.mp4 secret.mp4 {MAP} -o p.mp4");
        folder.fails(&line, "trap.mp4: not a video but a list of files");
        folder.fails(&line, "join the files with ffmpeg -f concat -i LIST -c copy JOINED.mkv");
        assert!(!folder.path("p.mp4").exists());
        // The same text is refused where only the sound or the quality of a video is of interest.
        assert_ne!(folder.words("compare trap.mp4 secret.mp4").code, Some(0), "{name}");
    }
}

/// The limit on the duration also holds for a file that does not state its duration.
#[test]
fn a_video_of_unknown_duration_has_a_limit() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.run(&folder, "-f lavfi -i testsrc2=s=40x30:r=30 -t 3 -pix_fmt yuv420p a.h264");
    let line = |limit: u32| {
        format!("video a.h264 a.h264 {MAP} --fps 30 -o p.y4m --max-input-seconds {limit}")
    };
    folder.fails(&line(2), "at most 2 s are allowed");
    folder.succeeds(&line(3));
}

/// Frames that are larger than the size that the file states must not exceed the limit either.
#[test]
fn frames_that_become_too_large_are_refused() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let mut joined = Vec::new();
    for size in ["40x30", "400x300"] {
        let input = format!("-f lavfi -i testsrc2=s={size}:r=30 -t 1");
        ffmpeg.run(&folder, &format!("{input} -c:v libx264 -pix_fmt yuv420p a.ts"));
        joined.extend(folder.read("a.ts"));
    }
    folder.write("joined.ts", joined);
    ffmpeg.run(&folder, "-i joined.ts -map 0:v -frames:v 5 -c copy small.mp4");
    let line = |left: &str, limit: u32| {
        format!("video {left} small.mp4 {MAP} -o p.mp4 --frames 40 --max-input-pixels {limit}")
    };
    let said = |left: &str, limit: u32| {
        let done = folder.words(&line(left, limit));
        assert_eq!(done.code, Some(2), "{done:?}");
        done.stderr
    };
    let large = said("joined.ts", 100_000);
    // A decoder may round the sides up.
    assert!(large.contains("joined.ts: a frame has about 4"), "{large}");
    assert!(large.contains("at most 100000 are allowed; raise"), "{large}");
    assert!(large.contains("`max-input-pixels`"), "{large}");
    // The stated size has its own check, which is exact.
    let stated = said("small.mp4", 1199);
    assert!(
        stated.contains("small.mp4: the frames are 40×30 pixels, but at most 1199"),
        "{stated}"
    );
    for (left, limit) in [("small.mp4", 1200), ("joined.ts", 200_000)] {
        folder.succeeds(&line(left, limit));
    }
}

/// Returns whether the process whose number is in the file `pid` runs.
fn runs(folder: &Folder) -> bool {
    let pid = String::from_utf8(folder.read("pid")).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // A process that nobody has reaped is a zombie.
    !state.is_empty() && !state.contains(") Z ")
}

fn is_noted(folder: &Folder) -> bool {
    std::fs::read_to_string(folder.path("pid")).is_ok_and(|text| text.ends_with('\n'))
}

/// Starts a job whose encoder is `script`, and waits until the script has written the number of a process.
fn started(folder: &Folder, ffmpeg: &Ffmpeg, script: &str) -> Child {
    ffmpeg.pair(folder, 60.0);
    let encoder = ffmpeg.with_encoder(folder, script);
    let line = format!("video left.mp4 right.mp4 {MAP} -o p.mp4");
    let child = start_with(folder, &line, &[("PANOWEAVE_FFMPEG", encoder.as_os_str())]);
    until(|| is_noted(folder));
    assert!(runs(folder));
    child
}

#[test]
fn ffmpeg_ends_with_a_killed_panoweave() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let child = started(&folder, &ffmpeg, "echo $$ > pid");
    signal(&child, "KILL");
    assert_eq!(end(child).code, None);
    until(|| !runs(&folder));
}

#[test]
fn programs_that_a_wrapper_starts_end_too() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let child = started(&folder, &ffmpeg, "sleep 60 & echo $! > pid; wait");
    signal(&child, "INT");
    signal(&child, "TERM");
    assert_ne!(end(child).code, Some(0));
    until(|| !runs(&folder));
}
