//! Tests the way from recordings to a video without any other file: synchronisation, calibration, and the check of a rig.

use panoweave::frame::Rgba8;
use panoweave::geometry::rig::Rig;
use panoweave::io::picture::Picture;

use super::Ffmpeg;
use crate::Folder;
use crate::calibrate::{SHIFT, SIZE, part, scene};

/// Makes recordings of a scene by three cameras side by side, `0.mp4` to `2.mp4`, with sound. `1.mp4` starts 0.5 s
/// later than `0.mp4`, and `2.mp4` 0.25 s earlier. A large object moves through all pictures, at another place in each
/// of them.
fn recordings(ffmpeg: &Ffmpeg) -> Folder {
    let folder = Folder::new();
    let scene = scene(3);
    for (i, start) in [0.5, 1.0, 0.25].into_iter().enumerate() {
        part(&scene, i as u32 * SHIFT).save(folder.path("view.png")).unwrap();
        let mut object = Picture::filled(60, 60, Rgba8::BLACK);
        for (n, pixel) in object.pixels_mut().iter_mut().enumerate() {
            let level = if (n / 7 + n / 420) % 2 == 0 { 20 } else { 220 };
            *pixel = Rgba8::opaque(level, 255 - level, 60);
        }
        object.save(folder.path("object.png")).unwrap();
        ffmpeg.run(
            &folder,
            &format!(
                "-loop 1 -framerate 25 -t 6 -i view.png -loop 1 -framerate 25 -t 6 -i object.png \
                 -f lavfi -i anoisesrc=r=48000:a=0.3:seed=5:d=9 \
                 -filter_complex [0][1]overlay=x=40*t+30*{i}:y=20*t,format=yuv420p[v];[2]atrim=start={start},asetpts=PTS-STARTPTS[a] \
                 -map [v] -map [a] -t 6 -c:v libx264 -crf 12 -c:a aac {i}.mp4"
            ),
        );
    }
    folder
}

#[test]
fn recordings_become_a_video_with_one_command() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = recordings(&ffmpeg);
    for (files, count, width) in
        [("0.mp4 1.mp4", 2, SIZE[0] + SHIFT), ("0.mp4 1.mp4 2.mp4", 3, SIZE[0] + 2 * SHIFT)]
    {
        let line = format!("video {files} -o match.mp4 --frames 5 --device cpu --json");
        let done = folder.succeeds(&line);
        let json = done.json();
        assert!(
            (json["cameras"][1]["sync"]["offset"].as_f64().unwrap() - 0.5).abs() < 1e-3,
            "{json}"
        );
        assert!(done.stderr.contains("match.rig.toml: "), "{done:?}");
        assert!(done.start.contains(" to match.mp4 ("), "{done:?}");
        assert!(done.start.ends_with(" 25 fps), 5 frames (1 s) on CPU\n"), "{done:?}");
        let rig = Rig::open(folder.path("match.rig.toml")).unwrap();
        assert_eq!(rig.cameras.len(), count);
        assert!(rig.panorama.width.abs_diff(width) <= 6, "{} {width}", rig.panorama.width);
        assert!(rig.quality.as_ref().is_some_and(|quality| quality.rms_px < 1.0), "{rig:?}");
    }
    let scaled = "video 0.mp4 1.mp4 -o small.mp4 --output-size 261x400 --sync together";
    folder.succeeds(&format!("{scaled} --no-crop --frames 2 --device cpu"));
    let small = Rig::open(folder.path("small.rig.toml")).unwrap().panorama;
    assert_eq!(small.width, 260);
    assert!(small.height.abs_diff(SIZE[1] / 2) <= 2, "{small:?}");
    // The rig fits its own videos, and `calibrate` makes a similar one.
    folder.quiet("-q calibrate 0.mp4 1.mp4 2.mp4 --check match.rig.toml --device cpu");
    folder.quiet("-q calibrate 0.mp4 1.mp4 2.mp4 -o again.toml --device cpu");
    let widths = ["match.rig.toml", "again.toml"]
        .map(|file| Rig::open(folder.path(file)).unwrap().panorama.width);
    // Only `video` crops the black borders.
    assert!(widths[0].abs_diff(widths[1]) <= 4, "{widths:?}");
    let swapped = "video 1.mp4 0.mp4 2.mp4 --rig match.rig.toml -o p.mp4 --frames 2 --device cpu";
    let done = folder.succeeds(swapped);
    assert!(done.stderr.contains("give them as 0.mp4 1.mp4 2.mp4"), "{done:?}");
    let done = folder.succeeds(&format!("{swapped} --no-check"));
    assert!(!done.stderr.contains("give them as"), "{done:?}");
    // Raw frames can be read only once. Their first frames are enough.
    for i in 0..2 {
        ffmpeg.run(&folder, &format!("-i {i}.mp4 -t 0.2 {i}.y4m"));
    }
    folder.succeeds("video 0.y4m 1.y4m -o raw.y4m --device cpu");
    assert!(folder.path("raw.rig.toml").exists());
}

#[test]
fn the_panorama_of_a_moment_is_that_of_the_video() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = recordings(&ffmpeg);
    folder.quiet("-q calibrate 0.mp4 1.mp4 2.mp4 -o match.rig.toml --device cpu");
    let line = "video 0.mp4 1.mp4 2.mp4 --rig match.rig.toml --no-color --device cpu";
    folder.succeeds(&format!("{line} --frames 62 -o all_%d.png"));
    let done = folder.succeeds(&format!("{line} --at 0:02.4 -o moment.png"));
    assert!(done.stdout.contains("pixels, at 2.4 s, on CPU"), "{done:?}");
    let picture = |n: u32| folder.picture(&format!("all_{n}.png"));
    let moment = folder.picture("moment.png");
    assert!(moment == picture(61) && moment != picture(60) && moment != picture(62));
    folder.fails(&format!("{line} --at 1:00 -o m.png"), "the video would end at 5.");
    folder.fails(&format!("{line} --at 1 -o m.mp4"), "must end in .png");
    folder.fails(&format!("{line} -o m.png"), "set `at`");
    folder.fails("video 0.y4m 1.y4m --at 0 -o m.png", "`at` requires encoded files");
}

#[test]
fn recordings_without_a_common_view_are_refused() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = recordings(&ffmpeg);
    let line = "video 0.mp4 2.mp4 -o match.mp4 --device cpu";
    // The cameras 0 and 2 are neighbours of 1 and hardly overlap.
    folder.fails(line, "0.mp4 and 2.mp4: ");
    assert!(!folder.path("match.mp4").exists() && !folder.path("match.rig.toml").exists());
    folder.fails("calibrate 0.mp4 view.png -o r.toml --device cpu", "only pictures or only videos");
    let line = "video 0.mp4 1.mp4 --rig r.toml --crop -o p.mp4";
    folder.fails(line, "are for a calibration of the videos");
}
