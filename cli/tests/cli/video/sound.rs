//! Tests the sound of the output of `panoweave video`.

use super::{Ffmpeg, MAP, seconds};
use crate::Folder;

#[test]
fn sound_is_copied_or_encoded_again() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.run(
        &folder,
        "-f lavfi -i testsrc2=s=40x30:r=30 -f lavfi -i sine -t 0.5 -c:v libx264 -pix_fmt yuv420p -c:a wmav2 l.mkv",
    );
    // If the sound is shorter than the video, the output must still contain the whole video.
    ffmpeg.run(
        &folder,
        "-f lavfi -i testsrc2=s=40x30:r=30 -t 0.5 -c:v libx264 -pix_fmt yuv420p r.mp4",
    );
    ffmpeg.run(&folder, "-i r.mp4 -f lavfi -t 0.1 -i sine -c:v copy -c:a aac short.mp4");
    for (left, output, codec, note) in [
        ("l.mkv", "p.mp4", "aac", true),
        ("l.mkv", "p.mkv", "wmav2", false),
        ("short.mp4", "p.m4v", "aac", false),
    ] {
        let done = folder.succeeds(&format!("video {left} r.mp4 {MAP} -o {output}"));
        assert_eq!(done.stderr.contains("encoding it as AAC"), note, "{done:?}");
        let probe = ffmpeg.probe(&folder, output);
        assert_eq!(probe.frames(), 15, "{output}");
        assert_eq!(probe.stream("audio").unwrap()["codec_name"], codec, "{output}");
    }
    let done = folder.words(&format!("video r.mp4 l.mkv {MAP} -q -o p.mp4"));
    assert_eq!(done.stderr, "");
    assert!(
        ffmpeg.probe(&folder, "p.mp4").stream("audio").is_none(),
        "sound comes from the left video or not at all"
    );
}

/// The chapters of the input last longer than a part of it, so the output must not state them.
#[test]
fn chapters_do_not_change_the_duration() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 3.0);
    let chapters = [(0, 1000), (1000, 3000)]
        .map(|(from, to)| format!("[CHAPTER]\nTIMEBASE=1/1000\nSTART={from}\nEND={to}\n"));
    folder.write("chapters.txt", format!(";FFMETADATA1\n{}", chapters.concat()));
    ffmpeg.run(&folder, "-i left.mp4 -i chapters.txt -map_chapters 1 -c copy l.mp4");
    for output in ["p.mp4", "p.mkv"] {
        // ffmpeg reports that it has not found the track of the chapters.
        folder.succeeds(&format!("video l.mp4 right.mp4 {MAP} --frames 10 -o {output}"));
        let probe = ffmpeg.probe(&folder, output);
        assert_eq!((probe.frames(), probe.stream("audio").is_some()), (10, true), "{output}");
        let lasts = seconds(&probe.0["format"]);
        assert!((lasts - 1.0 / 3.0).abs() < 0.1, "{output} lasts {lasts} s");
    }
}
