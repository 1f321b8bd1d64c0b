//! Tests `panoweave video` on streams and numbered pictures, which do not need ffmpeg. The panoramas must be bit for
//! bit the same as those of `panoweave stitch`, or of the library function `stitch`.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use glam::UVec2;
use panoweave::device::Device;
use panoweave::frame::Rgba8;
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Warp};
use serde_json::{Value, json};

use super::signals::{end, start};
use super::{MAP, flat, gray, levels, luma, rgba, y4m};
use crate::{Folder, pattern};

/// Refinement replaces the warp once per second. A warning about its seams is logged only once. A warp without any
/// seam is refused.
#[test]
fn a_replaced_warp_repeats_no_warning() {
    let folder = Folder::new();
    let stream = flat("1:1", [10, 60, 110, 160]);
    ["a.y4m", "b.y4m", "c.y4m"].iter().for_each(|name| folder.write(name, &stream));
    let camera = |name: &str, focal: f64, yaw: f64| {
        format!(
            "[[camera]]\nname = \"{name}\"\nsize = [40, 30]\nlens = \"pinhole\"\nmatrix = {{ fx = {focal:?}, fy = {focal:?}, cx = 19.5, cy = 14.5 }}\nyaw = {yaw:?}\n"
        )
    };
    // The picture of the third camera is inside that of the first one, so no line separates them.
    let canvas =
        "[panorama]\nprojection = \"cylindrical\"\nwidth = 120\nheight = 40\nfov = 100.0\n";
    let [a, b, c] = [camera("a", 40.0, -20.0), camera("b", 40.0, 20.0), camera("c", 160.0, -30.0)];
    folder.write("three.toml", [canvas, &a, &b, &c].concat());
    folder.write("inside.toml", [canvas, &a, &c].concat());
    let line = "--device cpu --refine --blend multiband -o p.y4m";
    let done = folder.succeeds(&format!("video a.y4m b.y4m c.y4m --rig three.toml {line} --json"));
    assert_eq!(done.stderr.matches("WARN seam: camera 1 covers the whole").count(), 1, "{done:?}");
    assert_eq!(done.json()["warnings"].as_array().unwrap().len(), 1, "{done:?}");
    let line = format!("video a.y4m c.y4m --rig inside.toml {line}");
    folder.fails(
        &line,
        "the blend `multiband` needs a seam, but the warp allows none: seam: camera 1",
    );
}

#[test]
fn raw_frames_are_stitched_like_pictures() {
    let folder = Folder::new();
    let (mut left, mut right, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..3 {
        let pair = [pattern(seed), pattern(seed + 50)];
        left.extend(rgba(&pair[0]));
        right.extend(rgba(&pair[1]));
        pair[0].save(folder.path("l.png")).unwrap();
        pair[1].save(folder.path("r.png")).unwrap();
        folder.quiet(&format!(
            "stitch l.png r.png {MAP} --blend feather --lookup mesh --flip --gain 1 --gain 1.5 -o p.png"
        ));
        expected.extend(rgba(&folder.picture("p.png")));
    }
    folder.write("l.rgba", left);
    folder.write("r.raw", right);
    let line = format!(
        "video l.rgba r.raw --input-format rgba --input-size 40x30 --fps 25 {MAP} --flip --gain 1 --gain 1.5 -o p.rgba"
    );
    let said = folder.quiet(&line);
    assert!(said.starts_with("p.rgba: 3 frames of 65×32 pixels, "), "{said}");
    assert_eq!(folder.read("p.rgba"), expected);
    folder.quiet(&format!("{line} --frames 2"));
    assert_eq!(folder.read("p.rgba"), expected[..expected.len() / 3 * 2]);
}

/// Stitches an NV12 video and an RGBA video of grey frames, which have the same levels in both formats. Only a seam
/// requires one pixel format.
#[test]
fn videos_of_two_pixel_formats_are_stitched() {
    let folder = Folder::new();
    let raw = |levels: [u8; 3]| -> Vec<u8> {
        levels.iter().flat_map(|&level| [level, level, level, 255].repeat(1200)).collect()
    };
    folder.write("l.y4m", flat("30:1", [50, 100, 150]));
    folder.write("l.rgba", raw([50, 100, 150]));
    folder.write("r.rgba", raw([200, 90, 30]));
    let line = |left: &str| {
        format!("video {left} r.rgba --input-size 40x30 --fps 30 {MAP} --no-colour -o p.rgba")
    };
    folder.quiet(&line("l.rgba"));
    let expected = folder.read("p.rgba");
    assert_eq!(expected.len(), 3 * 65 * 32 * 4);
    folder.quiet(&line("l.y4m"));
    assert_eq!(folder.read("p.rgba"), expected);

    folder.fails(&format!("{} --blend seam", line("l.y4m")), "a seam requires one pixel format");
}

#[test]
fn pictures_are_stitched_like_pictures() {
    let folder = Folder::new();
    for n in 8..11 {
        pattern(n).save(folder.path(format!("l{n:03}.png"))).unwrap();
        pattern(n + 70).save(folder.path(format!("r_{n}.png"))).unwrap();
    }
    folder.quiet(&format!("video l%03d.png r_%d.png --fps 1/2 {MAP} --no-colour -o p%02d.png"));
    for n in 8..11 {
        folder.quiet(&format!(
            "stitch l{n:03}.png r_{n}.png {MAP} --blend feather --lookup mesh -o p.png"
        ));
        assert_eq!(folder.picture(&format!("p{:02}.png", n - 7)), folder.picture("p.png"));
    }
    assert!(!folder.path("p04.png").exists());
}

#[test]
fn pictures_may_have_any_number() {
    let folder = Folder::new();
    for n in [u64::MAX - 1, u64::MAX] {
        pattern((n % 100) as u32).save(folder.path(format!("l{n}.png"))).unwrap();
    }
    let said = folder.quiet(&format!("video l%d.png l%d.png --fps 5 {MAP} -o p%d.png"));
    assert!(said.starts_with("p%d.png: 2 frames"), "{said}");
    for n in [5, 6] {
        pattern(n).save(folder.path(format!("r{n}.png"))).unwrap();
    }
    let done = folder.words(&format!("video l%d.png r%d.png --fps 5 {MAP} -o p%d.png"));
    let said = "that of r5.png is 5; the pictures are paired in the order of their numbers";
    assert!(done.code == Some(0) && done.stderr.contains(said), "{done:?}");
}

/// `/dev/stdout` must be written like `-`: once, from the beginning, and without the summary in between.
#[test]
fn stdout_by_another_name_is_stdout() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", [10, 20, 30]));
    let stdout = |path: &str| {
        let line = format!("video a.y4m a.y4m {MAP} --no-colour --output-format y4m -o {path}");
        let mut to_pipe = folder.command();
        let to_pipe = to_pipe.args(line.split(' ')).output().unwrap();
        let mut to_file = folder.command();
        let file = std::fs::File::create(folder.path("p.y4m")).unwrap();
        assert!(to_file.args(line.split(' ')).stdout(file).status().unwrap().success(), "{line}");
        assert!(to_pipe.status.success(), "{to_pipe:?}");
        assert!(to_pipe.stdout == folder.read("p.y4m"), "{line}");
        to_pipe.stdout
    };
    let expected = stdout("-");
    assert_eq!(luma(&expected).1.len(), 3);
    assert!(["/dev/stdout", "/dev/fd/1"].map(stdout).iter().all(|found| *found == expected));
}

/// A stream replaces no read-only file, even if the user may write it, as root may.
#[test]
fn a_read_only_stream_stays() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", [10]));
    folder.write("o.y4m", "old");
    let mut permissions = std::fs::metadata(folder.path("o.y4m")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path("o.y4m"), permissions).unwrap();
    let done = folder.words(&format!("video a.y4m a.y4m {MAP} -o o.y4m"));
    assert!(done.code == Some(2) && done.stderr.contains("read-only"), "{done:?}");
    assert_eq!(folder.read("o.y4m"), b"old");
}

/// Reads one video from standard input and one from a named pipe, and writes the panoramas to standard output. Their
/// luma must equal the luma that the library function `stitch` computes.
#[test]
fn y4m_goes_through_pipes() {
    let folder = Folder::new();
    let frames: Vec<_> = (0..4).map(|seed| [gray(seed), gray(seed + 50)]).collect();
    let [left, right] = [0, 1].map(|side| {
        let frames: Vec<_> = frames.iter().map(|pair| levels(&pair[side])).collect();
        y4m(40, 30, "30000:1001", &frames)
    });
    let fifo = folder.path("right");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut command = folder.command();
    command
        .args(format!("video - right --input-format y4m {MAP} --no-colour -o -").split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (panorama, said) = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(&left).unwrap());
        scope.spawn(|| std::fs::write(&fifo, right).unwrap());
        let mut panorama = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut panorama).unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (panorama, said)
    });
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(said.contains("\n INFO -: 4 frames of 65×32 pixels, "), "{said}");

    let (line, found) = luma(&panorama);
    insta::assert_snapshot!(line, @"YUV4MPEG2 W65 H32 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED");
    assert_eq!(found.len(), 4);
    folder.quiet(&format!("warp {MAP} --left left.png --right right.png -o h.safetensors"));
    let encoding = |range| PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt601, range });
    let stream = Device::cpu().stream().unwrap();
    let warp = Warp::open(folder.path("h.safetensors")).unwrap();
    let warp = DeviceWarp::upload(&stream, &warp).unwrap();
    let device_frame = |size, range| {
        let format = FrameFormat { size, pixels: encoding(range) };
        DeviceFrame::new(stream.device(), format).unwrap()
    };
    let mut panorama = device_frame(warp.size(), Range::Limited);
    for (pair, found) in frames.iter().zip(found) {
        let [left, right] = [0, 1].map(|side| {
            let mut bytes = levels(&pair[side]);
            bytes.extend([128; 600]);
            let mut frame = device_frame(UVec2::new(40, 30), Range::Full);
            frame.upload(&stream, &Frame::tight(frame.format(), &bytes).unwrap()).unwrap();
            frame
        });
        let options = StitchOptions::default();
        stitch(&stream, &[(&left).into(), (&right).into()], &warp, &options, &mut panorama)
            .unwrap();
        let mut expected = vec![0; panorama.format().bytes()];
        panorama.download(&stream, &mut expected).unwrap();
        assert!(found == expected[..65 * 32]);
    }
}

/// A program may open all of its pipes before it writes to the first one.
#[test]
fn one_program_may_write_two_pipes() {
    let folder = Folder::new();
    let names = ["l.y4m", "r.y4m"].map(|name| folder.path(name));
    assert!(Command::new("mkfifo").args(&names).status().unwrap().success());
    let child = start(&folder, &format!("video l.y4m r.y4m {MAP} -o p.y4m"));
    let frames = flat("30:1", [50, 60, 70]);
    // Opening a pipe waits for panoweave. If this test fails, the thread stays until the test program ends.
    std::thread::spawn(move || {
        let pipes = names.map(|name| std::fs::File::create(name).unwrap());
        pipes.into_iter().for_each(|mut pipe| pipe.write_all(&frames).unwrap());
    });
    let done = end(child);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.stdout.starts_with("p.y4m: 3 frames"), "{done:?}");
}

/// A program may write its pipes one after the other, and begin with that of the second camera.
#[test]
fn one_program_may_write_two_pipes_in_any_order() {
    let frames = flat("30:1", [50, 60, 70]);
    for line in [&format!("video l.y4m r.y4m {MAP} -o p.y4m"), "compare l.y4m r.y4m --device cpu"] {
        let folder = Folder::new();
        let names = ["r.y4m", "l.y4m"].map(|name| folder.path(name));
        assert!(Command::new("mkfifo").args(&names).status().unwrap().success());
        let child = start(&folder, line);
        let frames = frames.clone();
        // Each pipe takes its frames only if panoweave reads it. If this test fails, the thread stays.
        std::thread::spawn(move || names.map(|name| std::fs::write(name, &frames).unwrap()));
        let done = end(child);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{line}: {done:?}");
    }
}

/// The error of one input does not wait for another input, which no program writes.
#[test]
fn an_error_does_not_wait_for_a_pipe() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("l.y4m")).status().unwrap().success());
    folder.write("r.y4m", "no header");
    let done = end(start(&folder, &format!("video l.y4m r.y4m {MAP} -o p.y4m")));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("r.y4m: invalid or unsupported Y4M"), "{done:?}");
}

/// Tests which left frame is stitched with which right frame. Each frame of a video has a different level, so the
/// levels of a panorama identify both of its frames.
#[test]
fn the_left_camera_leads() {
    let folder = Folder::new();
    let pairs = |left: (&str, u8), right: (&str, u8), options: &str| {
        folder.write("l.y4m", flat(left.0, (0..left.1).map(|n| n * 10)));
        folder.write("r.y4m", flat(right.0, (0..right.1).map(|n| n * 10)));
        let line = format!("video l.y4m r.y4m {MAP} --no-colour {options} --json -o p.rgba");
        let json = folder.words(&line).json();
        let bytes = folder.read("p.rgba");
        // Only the left camera covers column 5, and only the right camera covers column 60.
        let level = |frame: &[u8], x: usize| frame[(15 * 65 + x) * 4] / 10;
        let pairs: Vec<_> =
            bytes.chunks(65 * 32 * 4).map(|frame| (level(frame, 5), level(frame, 60))).collect();
        (pairs, json)
    };
    let (found, json) = pairs(("30:1", 6), ("15:1", 3), "");
    assert_eq!(found, [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2)]);
    assert_eq!(json["frames"], json!({ "written": 6, "filled": 0 }));
    let unchanged = json!({ "gain": [1.0, 1.0, 1.0], "gamma": 1.0 });
    for (camera, [frames, repeated]) in [[6, 0], [3, 3]].into_iter().enumerate() {
        let of = &json["cameras"][camera];
        assert_eq!([&of["frames"], &of["expected"]], [frames, frames], "{json}");
        assert_eq!([&of["repeated"], &of["unpaired"]], [repeated, 0], "{json}");
        assert_eq!(of["colour"], unchanged);
    }
    assert_eq!((&json["rate"], &json["size"]), (&"30".into(), &json!([65, 32])));
    assert_eq!((&json["stopped"], &json["ended_first"]), (&false.into(), &Value::Null));
    for share in ["p50", "p99"] {
        assert!(json["latency_ms"][share].as_f64().is_some_and(|ms| ms > 0.0), "{json}");
    }

    let (found, json) = pairs(("25:1", 3), ("50:1", 9), "");
    assert_eq!(found, [(0, 0), (1, 2), (2, 4)]);
    assert_eq!(json["cameras"][1]["unpaired"], 2);

    // Another output rate must skip or repeat frames, but must not change the playback speed.
    let (found, json) = pairs(("30:1", 6), ("15:1", 3), "--fps 15");
    assert_eq!(found, [(0, 0), (2, 1), (4, 2)]);
    assert_eq!((&json["rate"], &json["cameras"][0]["unpaired"]), (&"15".into(), &3.into()));
    let (found, json) = pairs(("30:1", 3), ("30:1", 3), "--fps 60");
    assert_eq!(found, [(0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (2, 2)]);
    assert_eq!(json["cameras"][0]["repeated"], 3);
}

#[test]
fn a_video_that_ends_before_the_other_is_said_to() {
    let folder = Folder::new();
    folder.write("long.y4m", flat("30:1", [50; 30]));
    folder.write("short.y4m", flat("30:1", [50; 3]));
    folder.write("less.y4m", flat("30:1", [50; 28]));
    let run = |left: &str, right: &str| {
        let line = format!("video {left}.y4m {right}.y4m {MAP} --json -o p.rgba");
        let done = folder.succeeds(&line);
        let json = done.json();
        (done.stderr, json["ended_first"].clone(), json["frames"]["written"].clone())
    };
    let (said, first, written) = run("long", "short");
    insta::assert_snapshot!(said, @" WARN short.y4m ended after 3 frames; the rest of long.y4m is not stitched");
    assert_eq!((first, written), (2.into(), 3.into()));
    let (said, first, written) = run("short", "long");
    insta::assert_snapshot!(said, @" WARN short.y4m ended after 3 frames; the rest of long.y4m is not stitched");
    assert_eq!((first, written), (1.into(), 3.into()));
    // A small difference in length must not cause a warning, because cameras do not stop at exactly the same time.
    assert_eq!(run("long", "less"), (String::new(), Value::Null, 28.into()));
    assert_eq!(run("less", "long"), (String::new(), Value::Null, 28.into()));
}

/// Checks that an existing output file stays unchanged until the first new frame is written.
#[test]
fn an_old_output_stays_until_there_is_a_frame() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", [50, 60]));
    folder.write("none.y4m", "YUV4MPEG2 W40 H30 F30:1 XCOLORRANGE=FULL\n");
    folder.write("p.y4m", "old");
    for inputs in ["none.y4m a.y4m", "a.y4m none.y4m"] {
        let done = folder.words(&format!("video {inputs} {MAP} -o p.y4m"));
        assert!(done.stderr.contains("none.y4m: no frames"), "{done:?}");
        assert_eq!((done.code, folder.read("p.y4m")), (Some(2), b"old".to_vec()));
    }
    // If the new video has fewer numbered pictures than an old one, some old pictures remain, which look like part of
    // the new video. The program must log a warning.
    folder.quiet(&format!("video a.y4m a.y4m {MAP} -o p%d.png"));
    let done = folder.words(&format!("video a.y4m a.y4m {MAP} --frames 1 -o p%d.png"));
    insta::assert_snapshot!(done.stderr, @" WARN p2.png is from an earlier video; this video is shorter");
}

/// Checks that a video without frames does not allocate gigabytes of frame buffers: the address space is limited to
/// 3 GB.
#[test]
fn an_empty_video_of_large_frames_takes_no_memory() {
    let folder = Folder::new();
    folder.write("none.rgba", "");
    let program = env!("CARGO_BIN_EXE_panoweave");
    let script = format!("ulimit -v 3000000; exec {program} \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).current_dir(folder.path(""));
    let line = format!(
        "video none.rgba none.rgba --input-size 8000x8000 --max-pixels 67108864 --fps 30 {MAP} -o p.rgba"
    );
    let done = crate::Done::from(command.args(line.split(' ')).output().unwrap());
    insta::assert_snapshot!(done.stderr, @"error: none.rgba: no frames; use a video or picture sequence with at least one frame");
    assert_eq!(done.code, Some(2));
}

/// Writes a panorama of 20040 columns. A panorama may be wider than a camera frame: it may have up to 32768 columns,
/// and a camera frame up to 16384.
#[test]
fn panoramas_may_be_wide() {
    let folder = Folder::new();
    folder.write("far.txt", "1 0 20000 0 1 0 0 0 1");
    folder.write("a.y4m", flat("30:1", [50, 60]));
    let said = folder.quiet("video a.y4m a.y4m --homography far.txt --device cpu -o p.nv12");
    assert!(said.starts_with("p.nv12: 2 frames of 20040×30 pixels"), "{said}");
    assert_eq!(folder.read("p.nv12").len(), 2 * 20040 * 45);
}

#[test]
fn frames_may_have_odd_sides_and_no_chroma() {
    let folder = Folder::new();
    folder.write("h.txt", "1 0 3 0 1 0 0 0 1");
    let mut mono = b"YUV4MPEG2 W5 H3 F25:1 Cmono\n".to_vec();
    mono.extend_from_slice(b"FRAME Ip\n");
    mono.extend([235; 15]);
    folder.write("m.y4m", mono);
    folder.quiet("video m.y4m m.y4m --homography h.txt --device cpu --no-colour -o p.rgba");
    let white: Vec<u8> = folder.read("p.rgba");
    assert_eq!(white.len(), 8 * 3 * 4);
    assert_eq!(white[..4], bytemuck::bytes_of(&Rgba8::opaque(255, 255, 255))[..]);
    folder.quiet("video m.y4m m.y4m --homography h.txt --device cpu -o p.nv12");
    assert_eq!(folder.read("p.nv12").len(), 8 * 3 + 4 * 2 * 2);
}

#[test]
fn colours_follow_the_light_unless_told_not_to() {
    let folder = Folder::new();
    folder.write("l.y4m", flat("30:1", [120; 60]));
    folder.write("r.y4m", flat("30:1", [100; 60]));
    let gains = |options: &str| {
        let line = format!("video l.y4m r.y4m {MAP} {options} --json -o p.rgba");
        let json = folder.words(&line).json();
        assert_eq!(json["frames"]["written"], 60, "{json}");
        [0, 1].map(|camera| json["cameras"][camera]["colour"]["gain"][1].as_f64().unwrap())
    };
    let [left, right] = gains("");
    assert!(right > left * 1.05, "{left} {right}");
    // The colours of the first panorama must already match, because the first pair of frames determines the correction.
    let first = folder.read("p.rgba");
    let last = first.chunks_exact(first.len() / 60).next_back().unwrap().to_vec();
    let off = first.iter().zip(&last).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(off <= Some(1), "{off:?} levels from the first frame to the last");
    assert_eq!(gains("--no-colour"), [1.0, 1.0]);
    assert_eq!(gains("--gain 0.5 --gain 1"), [0.5, 1.0]);
}

#[test]
fn a_printed_job_makes_the_same_video() {
    let folder = Folder::new();
    for (name, level) in [("left.y4m", 90), ("right.y4m", 140)] {
        folder.write(name, flat("25:1", [level, level + 20, level - 20]));
    }
    let line = format!(
        "video left.y4m right.y4m {MAP} --gain 0.5 --gain 1,0.9,1.1 --blend seam --feather 8 \
         --sync -0.04 --fps 50 --frames 4 --refine -o p.y4m"
    );
    let job = folder.quiet(&format!("{line} --print-job"));
    insta::assert_snapshot!(job, @r#"
    [video]
    device = "cpu"
    frames = 4
    videos = ["left.y4m", "right.y4m"]

    [video.blend]
    blend = "seam"
    feather = 8.0
    refine = 24.0

    [video.input]
    fps = "50"
    sync = "-0.04"

    [video.look]
    gain = ["0.5", "1,0.9,1.1"]

    [video.map]
    homography = "shift.txt"

    [[video.outputs]]
    output = "p.y4m"
    "#);
    assert!(!folder.path("p.y4m").exists());
    folder.quiet(&line);
    let expected = std::fs::read(folder.path("p.y4m")).unwrap();
    std::fs::remove_file(folder.path("p.y4m")).unwrap();
    folder.write("job.toml", &job);
    folder.quiet("run job.toml");
    assert_eq!(std::fs::read(folder.path("p.y4m")).unwrap(), expected);
    folder.write("job.toml", job + "feather = 8\n");
    let done = folder.words("run job.toml");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("job.toml:23:1: unknown field `feather`"), "{done:?}");
    assert!(done.stderr.contains("23 | feather = 8"), "{done:?}");
}
