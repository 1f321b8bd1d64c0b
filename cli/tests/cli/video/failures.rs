//! Tests failures of `panoweave video`. In each case, the command must end with one message that names the file and the
//! cause.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::{Ffmpeg, MAP, flat};
use crate::{Done, Folder};

/// Runs a command that must fail with exit code 2, and returns its message.
fn refused(folder: &Folder, line: &str) -> String {
    failed(&folder.words(line), line)
}

fn failed(done: &Done, line: &str) -> String {
    assert_eq!(done.code, Some(2), "{line}: {done:?}");
    assert!(!done.stderr.contains("panicked"), "{line}: {done:?}");
    done.stderr.clone()
}

#[test]
fn options_that_do_not_go_together() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", 0..2));
    folder.write("a.rgba", [0; 4800]);
    folder.write("norate.y4m", flat("0:0", 0..2));
    std::fs::create_dir(folder.path("d")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path("f")).status().unwrap().success());
    std::os::unix::fs::symlink("f", folder.path("g.y4m")).unwrap();
    let cases = [
        ("- - -o p.y4m", "only one of the videos can be standard input"),
        ("f g.y4m --input-format y4m -o p.y4m", "two of the videos are the same pipe"),
        ("a.y4m a.y4m -o -  --json", "both write to standard output"),
        ("a.y4m a.y4m -o p.webm", "the name must end in .mp4"),
        ("a.y4m a.y4m -o p.png", "a pattern such as frame_%04d.png"),
        ("a.y4m a.y4m -o p.raw", "`output-format` of the output, for instance to nv12"),
        ("a.raw a.y4m -o p.y4m", "`input-format`"),
        ("a.y4m a.y4m -o a.y4m", "it is an input too"),
        ("a.y4m a.y4m -o shift.txt --output-format y4m", "it is an input too"),
        ("a.y4m a.y4m -o d --output-format y4m", "it is a folder"),
        ("a.y4m a.y4m -o p.mp4/", "p.mp4/: cannot be written: it is a folder"),
        ("a.y4m a.y4m -o p.mp4/.", "it is a folder"),
        ("a.y4m a.y4m -o none/p.mp4", "the folder none does not exist"),
        ("a.rgba a.rgba -o p.y4m", "set `input-size`"),
        ("a.rgba a.rgba --input-size 40x30 -o p.y4m", "set `fps`"),
        ("a.rgba a.rgba --input-size 40x99999 --fps 30 -o p.y4m", "1 to 32768 pixels"),
        ("norate.y4m norate.y4m -o p.y4m", "set `fps`"),
        ("l%d.png r%d.png -o p.y4m", "set `fps`"),
        ("l%d.png r%d.png --fps 30 -o p.y4m", "l%d.png: no frames"),
        ("a.y4m a.y4m --fps 0 -o p.y4m", "from 1/1000 to 1000 frames per second"),
        ("a.y4m a.y4m --fps 1/86400 -o p.mp4", "from 1/1000 to 1000 frames per second"),
        ("a.y4m a.y4m --crf 52 -o p.mp4", "a whole number from 0 to 51"),
        ("a.y4m a.y4m --encoder mpeg4 -o p.mp4", "[possible values: libx264, libx265, libsvtav1"),
        ("a.y4m a.y4m --encoder libx264 -o p.y4m", "`encoder` applies only to .mp4"),
        ("a.y4m a.y4m --encoder libsvtav1 -o p.mov", "p.mov: cannot encode with libsvtav1: AV1"),
        ("a.y4m a.y4m --encoder h264_nvenc --depth 10 -o p.mp4", "p.mp4: cannot store 10 bits"),
        ("a.y4m a.y4m --frames 0 -o p.y4m", "--frames"),
        ("none.y4m a.y4m -o p.y4m", "none.y4m: cannot be read: No such file"),
        ("none.mp4 a.y4m -o p.y4m", "none.mp4: cannot be read: No such file"),
        ("d a.y4m -o p.y4m", "d: not a regular file"),
        ("/dev/null a.y4m -o p.y4m", "/dev/null: not a regular file"),
    ];
    for (line, part) in cases {
        let said = refused(&folder, &format!("video {line} {MAP}"));
        assert!(said.contains(part), "{line}: {said}");
        assert!(!folder.path("p.y4m").exists(), "{line}");
    }
    assert!(folder.read("a.y4m").len() > 3000, "the input must stay unchanged");
}

/// Tests output names that refer to an input file by another name: a link, standard input or output, or a numbered
/// picture. The command must reject such an output and leave the input unchanged.
#[test]
fn inputs_are_never_written() {
    let folder = Folder::new();
    let stream = flat("30:1", 0..9);
    folder.write("a.y4m", &stream);
    folder.write("b.y4m", &stream);
    std::fs::hard_link(folder.path("a.y4m"), folder.path("hard.y4m")).unwrap();
    std::fs::create_dir(folder.path("d")).unwrap();
    for n in [8, 9, 10] {
        crate::pattern(n).save(folder.path(format!("l{n}.png"))).unwrap();
        crate::pattern(n).save(folder.path(format!("r{n}.png"))).unwrap();
    }
    std::fs::hard_link(folder.path("r10.png"), folder.path("d/3.png")).unwrap();
    folder.write("h7.png", folder.read("shift.txt"));
    let inputs = ["a.y4m", "b.y4m", "l9.png", "r10.png", "h7.png"].map(|name| folder.read(name));
    let pictures = "l%d.png r%d.png --fps 1 --device cpu --homography";
    for line in [
        format!("a.y4m b.y4m {MAP} -o hard.y4m"),
        format!("- b.y4m {MAP} -o a.y4m"),
        format!("/dev/stdin b.y4m --input-format y4m {MAP} -o a.y4m"),
        format!("b.y4m a.y4m {MAP} -o -"),
        format!("{pictures} shift.txt -o ./l%d.png"),
        format!("{pictures} shift.txt -o l%01d.png"),
        format!("{pictures} shift.txt -o d/%d.png"),
        format!("{pictures} h7.png -o h%d.png"),
    ] {
        let mut command = folder.command();
        command.arg("video").args(line.split(' '));
        command.stdin(std::fs::File::open(folder.path("a.y4m")).unwrap());
        if line.ends_with(" -") {
            let append = std::fs::OpenOptions::new().append(true).open(folder.path("a.y4m"));
            command.stdout(append.unwrap());
        }
        let said = failed(&Done::from(command.output().unwrap()), &line);
        assert!(said.contains("it is an input too"), "{line}: {said}");
    }
    for (name, content) in ["a.y4m", "b.y4m", "l9.png", "r10.png", "h7.png"].iter().zip(inputs) {
        assert!(folder.read(name) == content, "{name}");
    }
}

#[test]
fn streams_that_break_off() {
    let folder = Folder::new();
    let whole = flat("30:1", [10, 20, 30]);
    folder.write("a.y4m", &whole);
    folder.write("short.y4m", &whole[..whole.len() - 1]);
    folder.write("text.y4m", &whole[..whole.len() - 1804]);
    folder.write("empty.y4m", "");
    folder.write("none.y4m", "YUV4MPEG2 W40 H30 F30:1 XCOLORRANGE=FULL\n");
    folder.write("wide.y4m", "YUV4MPEG2 W99999 H30 F30:1\n");
    folder.write("long.y4m", vec![b'Y'; 1 << 20]);
    let mut garbage = whole.clone();
    garbage.extend_from_slice(b"GARBAGE\n");
    folder.write("garbage.y4m", garbage);
    let said = |left: &str| {
        let _ = std::fs::remove_file(folder.path("p.rgba"));
        refused(&folder, &format!("video {left}.y4m a.y4m {MAP} -o p.rgba"))
    };
    insta::assert_snapshot!(said("short"), @"error: short.y4m: truncated: frame 2 has only 1799 of 1800 bytes; check the size and the pixel format, or create the video again; p.rgba was written, but ends after panorama 2");
    assert_eq!(
        folder.read("p.rgba").len(),
        2 * 65 * 32 * 4,
        "the frames before the failure are kept"
    );
    insta::assert_snapshot!(said("text"), @"error: text.y4m: invalid or unsupported Y4M: a header line is truncated or longer than 1024 bytes; p.rgba was written, but ends after panorama 2");
    assert_eq!(folder.read("p.rgba").len(), 2 * 65 * 32 * 4);
    insta::assert_snapshot!(said("garbage"), @"error: garbage.y4m: invalid or unsupported Y4M: there is no FRAME line before frame 3; p.rgba was written, but ends after panorama 3");
    insta::assert_snapshot!(said("empty"), @"error: empty.y4m: no frames; use a video or picture sequence with at least one frame");
    insta::assert_snapshot!(said("none"), @"error: none.y4m: no frames; use a video or picture sequence with at least one frame");
    insta::assert_snapshot!(said("wide"), @"error: wide.y4m: the frames are 99999×30 pixels; each side must be 1 to 16384 pixels");
    insta::assert_snapshot!(said("long"), @"error: long.y4m: invalid or unsupported Y4M: a header line is truncated or longer than 1024 bytes");
    // A rig for larger pictures must be rejected: the videos have 4×3 pixels, but the rig expects 40×30 pixels.
    folder.write("small.y4m", "YUV4MPEG2 W4 H3 F30:1\n");
    let line = "video small.y4m small.y4m --rig rig.toml --device cpu -o p.rgba";
    insta::assert_snapshot!(refused(&folder, line), @"error: small.y4m: 4×3 pixels, but rig.toml is for pictures of camera 1 of 40×30 pixels; give files of matching sizes");
}

#[test]
fn picture_sequences_with_gaps_and_strangers() {
    let folder = Folder::new();
    for n in [1, 2, 4] {
        crate::pattern(n).save(folder.path(format!("l{n}.png"))).unwrap();
        crate::pattern(n).save(folder.path(format!("r{n}.png"))).unwrap();
    }
    let line = format!("video l%d.png r%d.png --fps 30 {MAP} -o p%d.png");
    insta::assert_snapshot!(refused(&folder, &line), @"error: l3.png: this picture is missing, but the sequence continues up to l4.png; add the picture, or number the others without a gap");
    std::fs::copy(folder.path("l1.png"), folder.path("l3.png")).unwrap();
    folder.write("r3.png", "no picture");
    insta::assert_snapshot!(refused(&folder, &line), @"error: r3.png: not a picture; use a PNG or JPEG file; p%d.png was written, but ends after panorama 2");
    assert!(folder.path("p2.png").exists() && !folder.path("p3.png").exists());
    folder.quiet(&format!("stitch l1.png r1.png {MAP} -o r3.png"));
    insta::assert_snapshot!(refused(&folder, &line), @"error: r3.png: the picture is 65×32 pixels, but the first picture of the sequence is 40×30; use pictures of one size; p%d.png was written, but ends after panorama 2");
}

#[test]
fn no_ffmpeg_is_said_in_one_line() {
    let folder = Folder::new();
    folder.write("l.mp4", "");
    folder.write("a.y4m", flat("30:1", 0..2));
    let run = |line: &str| {
        let mut command = folder.command();
        command.args(format!("video {line} {MAP}").split(' '));
        command.env("PANOWEAVE_FFMPEG", "no-ffmpeg").env("PANOWEAVE_FFPROBE", "no-ffprobe");
        failed(&Done::from(command.output().unwrap()), line)
    };
    insta::assert_snapshot!(run("l.mp4 a.y4m -o p.y4m"), @"error: l.mp4: cannot find the program no-ffprobe; install it (apt install ffmpeg), or set PANOWEAVE_FFPROBE to its path; Y4M, raw frames and picture sequences work without it");
    insta::assert_snapshot!(run("a.y4m a.y4m -o p.mp4"), @"error: p.mp4: cannot find the program no-ffmpeg; install it (apt install ffmpeg), or set PANOWEAVE_FFMPEG to its path; Y4M, raw frames and picture sequences work without it");
    assert_eq!(leftovers(&folder), [""; 0]);
}

#[test]
fn a_program_that_is_no_ffmpeg_is_told() {
    let folder = Folder::new();
    // The panoramas are larger than a pipe's buffer, so writing them to `true`, which reads nothing, fails.
    folder.write("a.y4m", flat("30:1", 0..200));
    let mut command = folder.command();
    command.args(format!("video a.y4m a.y4m {MAP} -o p.mp4").split(' '));
    command.env("PANOWEAVE_FFMPEG", "true");
    let said = failed(&Done::from(command.output().unwrap()), "true");
    insta::assert_snapshot!(said, @"error: p.mp4: the program true does not work; install ffmpeg (apt install ffmpeg), or set PANOWEAVE_FFMPEG to the path of a working program");
    assert_eq!(leftovers(&folder), [""; 0]);
}

/// A program that is broken must not be mistaken for a broken video.
#[test]
fn broken_programs_are_blamed() {
    let folder = Folder::new();
    folder.write("l.mp4", "");
    folder.write("a.y4m", flat("30:1", 0..2));
    folder.write("unlinked", "#!/bin/sh\necho 'libavdevice.so.59: cannot open' >&2\nexit 127\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("unlinked"), mode).unwrap();
    let run = |program: &str| {
        let mut command = folder.command();
        command.args(format!("video l.mp4 a.y4m {MAP} -o p.y4m").split(' '));
        command.env("PANOWEAVE_FFPROBE", program);
        failed(&Done::from(command.output().unwrap()), program)
    };
    for program in ["true", "false"] {
        let said = run(program);
        let start = format!("error: l.mp4: the program {program} does not work; install ffmpeg");
        assert!(said.starts_with(&start), "{said}");
    }
    insta::assert_snapshot!(run("./unlinked"), @"error: l.mp4: the program ./unlinked does not work; it said: libavdevice.so.59: cannot open; install ffmpeg (apt install ffmpeg), or set PANOWEAVE_FFPROBE to the path of a working program");
    insta::assert_snapshot!(run("./shift.txt"), @"error: l.mp4: the program ./shift.txt cannot be started: Permission denied (os error 13); check the program, or set PANOWEAVE_FFPROBE to the path of another one");
}

#[test]
fn a_description_that_is_too_long_names_the_cause() {
    let folder = Folder::new();
    folder.write("l.mp4", "");
    folder.write("a.y4m", flat("30:1", 0..2));
    folder.write("long", "#!/bin/sh\nexec yes '{\"streams\": []}'\n");
    std::fs::set_permissions(folder.path("long"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = folder.command();
    command.args(format!("video l.mp4 a.y4m {MAP} -o p.y4m").split(' '));
    command.env("PANOWEAVE_FFPROBE", "./long");
    let said = failed(&Done::from(command.output().unwrap()), "long");
    let start =
        "error: l.mp4: cannot be read: ffprobe's description of the file has more than 4 MiB;";
    assert!(said.starts_with(start), "{said}");
}

/// The rate of the output, not the video, is the reason why no frame is left.
#[test]
fn videos_without_a_frame_name_the_cause() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.run(&folder, "-f lavfi -i testsrc2=s=40x30:r=30 -frames:v 1 -c:v libx264 left.mp4");
    std::fs::copy(folder.path("left.mp4"), folder.path("right.mp4")).unwrap();
    let line = format!("video left.mp4 right.mp4 {MAP} -o p.mp4");
    // A video with a single frame is long enough for any rate.
    folder.quiet(&format!("{line} --no-colour --fps 10 -q"));
    // ffmpeg itself does not work.
    let mut command = folder.command();
    command.args(line.split(' ')).env("PANOWEAVE_FFMPEG", "true");
    let said = failed(&Done::from(command.output().unwrap()), "true");
    insta::assert_snapshot!(said, @"error: left.mp4: the program true does not work; install ffmpeg (apt install ffmpeg), or set PANOWEAVE_FFMPEG to the path of a working program");
    // The file ends before the first frame.
    ffmpeg.run(&folder, "-f lavfi -i testsrc2=s=40x30:r=30 -t 1 -c:v libx264 whole.mkv");
    folder.write("cut.mkv", &folder.read("whole.mkv")[..1500]);
    let said = refused(&folder, &format!("video cut.mkv whole.mkv {MAP} -o p.mp4"));
    assert!(
        said.starts_with("error: cut.mkv: ffmpeg failed while decoding, exit status: 1"),
        "{said}"
    );
    assert!(
        said.contains("if the file is incomplete or damaged, copy or create it again"),
        "{said}"
    );
}

/// Depths that cannot be combined are reported before anything is stitched or written.
#[test]
fn depths_that_do_not_go_together() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", 0..2));
    folder.write("a.p010", [0; 2 * 3600]);
    let frame = [&b"FRAME\n"[..], &[0; 3600]].concat();
    folder.write("deep.y4m", [b"YUV4MPEG2 W40 H30 F30:1 C420p10\n", &frame[..]].concat());
    let raw = "--input-size 40x30 --fps 30";
    let said = |line: &str| {
        let said = refused(&folder, &format!("video {line} {MAP} --no-colour"));
        assert!(!["p.y4m", "p.nv12", "p.p010"].iter().any(|name| folder.path(name).exists()));
        said
    };
    insta::assert_snapshot!(said(&format!("a.y4m a.p010 {raw} -o p.y4m")), @"error: a.p010: the frames have 10 bits per sample, but those of a.y4m have 8; Y4M and raw videos are not converted, so convert one of them with ffmpeg");
    insta::assert_snapshot!(said("deep.y4m a.y4m -o p.y4m"), @"error: a.y4m: the frames have 8 bits per sample, but those of deep.y4m have 10; Y4M and raw videos are not converted, so convert one of them with ffmpeg");
    insta::assert_snapshot!(said("a.y4m a.y4m -o p.p010"), @"error: p.p010: the output has 10 bits per sample, but the frames of a.y4m have 8; write 8 bits (.mp4, .m4v, .mov, .mkv, .y4m, .nv12, .rgba or pictures), or convert the inputs to 10 bits with ffmpeg");
    insta::assert_snapshot!(said("a.y4m a.y4m -o p.p010 --depth 8"), @"error: `depth` 8 does not go with raw P010, which has 10 bits; remove it, or write .nv12 or .y4m");
    insta::assert_snapshot!(said(&format!("a.p010 a.p010 {raw} -o p.nv12")), @"error: p.nv12: the output has 8 bits per sample, but the frames of a.p010 have 10; write 10 bits (.mp4, .m4v, .mov, .mkv, .y4m or .p010, without `depth` 8 or an `encoder` of H.264), or convert the inputs to 8 bits with ffmpeg");
    let deep = said("deep.y4m deep.y4m --depth 8 -o p.y4m");
    assert!(
        deep.contains(
            "p.y4m: the output has 8 bits per sample, but the frames of deep.y4m have 10"
        ),
        "{deep}"
    );
    folder.quiet(&format!("video deep.y4m a.p010 {raw} {MAP} --no-colour -o p.p010"));
}

/// Returns the names of the temporary files in the folder, which the command should have removed.
fn leftovers(folder: &Folder) -> Vec<String> {
    let names = std::fs::read_dir(folder.path("")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".panoweave-") || name.contains(".part")).collect()
}

#[test]
fn files_that_are_no_videos() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.5);
    ffmpeg.run(&folder, "-f lavfi -i sine -t 0.2 sound.mp4");
    folder.write("text.mp4", "no video\n".repeat(100));
    let whole = folder.read("left.mp4");
    folder.write("half.mp4", &whole[..whole.len() / 2]);
    let said = |left: &str| refused(&folder, &format!("video {left} right.mp4 {MAP} -o p.mp4"));
    insta::assert_snapshot!(said("sound.mp4"), @"error: sound.mp4: the file has no video stream; use a file that contains video");
    for name in ["text.mp4", "half.mp4"] {
        let said = said(name);
        let start = format!("error: {name}: not a video that ffmpeg can read; it said: ");
        assert!(said.starts_with(&start) && said.lines().count() == 1, "{said}");
    }
    assert!(!folder.path("p.mp4").exists());
    assert_eq!(leftovers(&folder), [""; 0]);
}

/// Runs `panoweave video`. Kills the ffmpeg process whose arguments contain `what`, 0.3 s after the first bytes of the
/// output video have been written.
fn killed(folder: &Folder, ffmpeg: &Ffmpeg, what: &str) -> Done {
    let kill = "(for i in $(seq 200); do [ -s p.part.mp4 ] && break; sleep 0.1; done
        sleep 0.3; kill -9 $$) <&- >&- 2>&- &";
    instead(folder, ffmpeg, what, kill, "-o p.mp4")
}

/// Runs `panoweave video` with a shell script as its ffmpeg. If the arguments of the script contain `what`, the script
/// runs the shell commands `instead`. If these do not exit, the script then runs the real ffmpeg.
fn instead(folder: &Folder, ffmpeg: &Ffmpeg, what: &str, instead: &str, line: &str) -> Done {
    let real = ffmpeg.ffmpeg.display();
    let script =
        format!("#!/bin/sh\ncase \"$*\" in *{what}*) {instead}\n;; esac\nexec {real} \"$@\"\n");
    folder.write("other", script);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("other"), mode).unwrap();
    let mut command = folder.command();
    command.args(format!("video left.mp4 right.mp4 {MAP} {line}").split(' '));
    command.env("PANOWEAVE_FFMPEG", folder.path("other"));
    Done::from(command.output().unwrap())
}

#[test]
fn an_encoder_that_does_not_work_is_an_error() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.2);
    let line = "--encoder h264_v4l2m2m -o p.mp4";
    let lacks = "echo \"[fatal] Unknown encoder 'h264_v4l2m2m'\" >&2; exit 1";
    let said = failed(&instead(&folder, &ffmpeg, "pipe:0", lacks, line), line);
    insta::assert_snapshot!(said, @"error: p.mp4: cannot encode with h264_v4l2m2m: Unknown encoder 'h264_v4l2m2m'; install an ffmpeg that has this encoder and the hardware or driver that it needs, select another `encoder`, or write a .y4m file");
    // No computer of the project has the device of this encoder.
    let said = refused(&folder, &format!("video left.mp4 right.mp4 {MAP} {line}"));
    assert!(said.starts_with("error: p.mp4: cannot encode with h264_v4l2m2m: "), "{said}");
    assert_eq!(leftovers(&folder), [""; 0]);
}

/// Simulates a disk that has no room for the copy of the part file, which then becomes the output.
#[test]
fn a_video_that_cannot_be_copied_stays_in_fragments() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 2.0);
    for output in ["p.mp4", "p.mkv"] {
        folder.quiet(&format!("video left.mp4 right.mp4 {MAP} -q -o {output}"));
        let blocks = (folder.read(output).len() - 1) / 512;
        for copy in [&format!("ulimit -f {blocks}; trap '' XFSZ"), "exit 0"] {
            let done = instead(&folder, &ffmpeg, "-c\\ copy\\ -t", copy, &format!("-o {output}"));
            assert_eq!(done.code, Some(0), "{done:?}");
            assert!(done.stderr.contains(" WARN the video stays in fragments"), "{done:?}");
            let probe = ffmpeg.probe(&folder, output);
            assert_eq!((probe.frames(), probe.stream("audio").is_some()), (60, true), "{output}");
        }
    }
    assert_eq!(leftovers(&folder), [""; 0]);
}

#[test]
fn success_without_a_file_is_an_error() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.5);
    folder.write("p.mp4", "old");
    for idle in [
        "cat >/dev/null; exit 0",
        "cat >/dev/null; echo 'Error writing trailer of p: No space left on device' >&2; exit 0",
    ] {
        let said = failed(&instead(&folder, &ffmpeg, "pipe:0", idle, "-o p.mp4"), idle);
        assert!(said.contains("error: p.mp4: "), "{said}");
        assert_eq!(folder.read("p.mp4"), b"old");
    }
    // If ffmpeg fails only when it reads the sound, the command must write the video without sound.
    for idle in ["exit 0", "echo 'Error writing trailer of p: No space left on device' >&2; exit 0"]
    {
        let done = instead(&folder, &ffmpeg, "left.mp4*nut", idle, "-o p.mp4");
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(
            done.stderr.contains("WARN the video is written without sound: p.mp4: "),
            "{done:?}"
        );
        let probe = ffmpeg.probe(&folder, "p.mp4");
        assert_eq!((probe.frames(), probe.stream("audio").is_none()), (15, true));
    }
    assert_eq!(leftovers(&folder), [""; 0]);
}

#[test]
fn a_decoder_that_does_not_end_is_said_to_have_been_stopped() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.5);
    let hang = "head -c 3600 /dev/zero; exec >&-; sleep 60";
    let said = failed(
        &instead(&folder, &ffmpeg, "left.mp4*pipe:1", hang, "--sync together -o p.y4m"),
        hang,
    );
    insta::assert_snapshot!(said, @"error: left.mp4: ffmpeg did not end within 10 s while decoding and was killed; p.y4m was written, but ends after panorama 2");
}

#[test]
fn a_killed_ffmpeg_is_an_error() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    // Videos of 120 s are so long that the ffmpeg process still runs when the test kills it.
    ffmpeg.pair(&folder, 120.0);
    let start = Instant::now();
    let done = killed(&folder, &ffmpeg, "left.mp4*pipe:1");
    let said = failed(&done, "decoder");
    assert!(said.contains("left.mp4: ffmpeg failed while decoding, signal: 9 (SIGKILL)"), "{said}");
    // The output file must contain the frames before the failure, and must be playable.
    assert!(ffmpeg.probe(&folder, "p.mp4").frames() > 0);

    folder.write("p.mp4", "old");
    let done = killed(&folder, &ffmpeg, "pipe:0");
    let said = failed(&done, "encoder");
    assert!(said.contains("p.mp4: ffmpeg failed while encoding, signal: 9 (SIGKILL)"), "{said}");
    assert_eq!(folder.read("p.mp4"), b"old");
    let frames = ffmpeg.probe(&folder, "p.part.mp4").frames();
    assert!(said.contains(&format!(" WARN p.part.mp4 has the first {frames} frames (")), "{said}");
    assert_eq!(leftovers(&folder), ["p.part.mp4"]);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn nvdec_needs_a_gpu() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.2);
    let line = format!("video left.mp4 right.mp4 {MAP} --decoder nvdec -o p.mp4");
    let said = refused(&folder, &line);
    assert!(said.contains("left.mp4: NVDEC does not decode this video"), "{said}");
    assert!(said.contains("the device is the CPU; select a GPU as `device`"), "{said}");
    assert!(!folder.path("p.mp4").exists());
    let done = folder.succeeds(&line.replace("nvdec", "auto --json"));
    let json: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!([0, 1].map(|camera| &json["cameras"][camera]["decoder"]), ["ffmpeg", "ffmpeg"]);
}
