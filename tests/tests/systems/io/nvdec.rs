//! Frames that NVDEC decodes, compared with those of ffmpeg's decoder. Both come from the same files, so all bytes must
//! be equal.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use panoweave::device::Device;
use panoweave::frame::{FrameFormat, Rate};
use panoweave::io::video::{
    Medium, NoNvdec, Stop, VideoDecoder, VideoError, VideoFrame, VideoInput, VideoSource,
};
use panoweave_tests::gpu;
use panoweave_tests::random::Random;
use panoweave_tests::skip::{Need, skip};
use tempfile::TempDir;

/// The maximum time in which a small damaged file must be decoded or rejected.
const NO_HANG: Duration = Duration::from_secs(60);

/// The folder of a test with the videos that ffmpeg makes in it.
struct Videos {
    ffmpeg: PathBuf,
    folder: TempDir,
}

impl Videos {
    /// Returns an empty folder. Returns `None` and reports a skip if ffmpeg is missing.
    fn new() -> Option<Self> {
        let named = std::env::var_os("PANOWEAVE_FFMPEG").filter(|name| !name.is_empty());
        let ffmpeg = named.map_or_else(|| PathBuf::from("ffmpeg"), PathBuf::from);
        if let Err(error) = Command::new(&ffmpeg).arg("-version").output() {
            skip(Need::Ffmpeg, format!("{}: {error}", ffmpeg.display()));
            return None;
        }
        Some(Self { ffmpeg, folder: tempfile::tempdir().unwrap() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs ffmpeg with the arguments in `line`, which are separated by spaces.
    fn run(&self, line: &str) {
        let mut command = Command::new(&self.ffmpeg);
        command.current_dir(self.folder.path()).args(["-v", "error", "-nostdin", "-y"]);
        let output = command.args(line.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn open(file: &Path, decoder: VideoDecoder, rate: Option<Rate>) -> Result<VideoSource, VideoError> {
    let input = VideoInput { rate, ten_bit: true, decoder, ..VideoInput::new(file, Medium::File) };
    VideoSource::open(&input, None, &Stop::default())
}

/// The format of a video, its frames in host memory, and the error that ended it, if any.
type Read = (FrameFormat, Vec<Vec<u8>>, Option<VideoError>);

/// Reads a video to its end.
fn read(file: &Path, decoder: VideoDecoder, rate: Option<Rate>) -> Result<Read, VideoError> {
    let mut source = open(file, decoder, rate)?;
    let on_device = source.decoder() == Some("nvdec");
    let mut frames = Vec::new();
    let error = loop {
        match source.next_frame(None) {
            Ok(Some(VideoFrame::Host(frame))) => {
                assert!(!on_device);
                let frame = frame.frame();
                frames.push(frame.planes().iter().flat_map(|plane| plane.bytes).copied().collect());
            }
            Ok(Some(VideoFrame::Device(frame))) => {
                assert!(on_device);
                let mut bytes = vec![0; source.format().bytes()];
                frame.download(&frame.device().stream().unwrap(), &mut bytes).unwrap();
                frames.push(bytes);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Ok((source.format(), frames, error))
}

/// Decodes a video with both decoders, and checks that the frames are equal. Returns their number.
fn check_equal(device: &Device, file: &Path, rate: Option<&str>) -> usize {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let rate = rate.map(|rate| rate.parse().unwrap());
    let (format, expected, error) = read(file, VideoDecoder::Ffmpeg, rate).unwrap();
    assert!(error.is_none(), "{name}: {error:?}");
    let (found_format, found, error) =
        read(file, VideoDecoder::Nvdec(device.clone()), rate).unwrap();
    assert!(error.is_none(), "{name}: {error:?}");
    assert_eq!(found_format, format, "{name}");
    let differing: Vec<_> =
        (0..expected.len().min(found.len())).filter(|n| expected[*n] != found[*n]).collect();
    eprintln!("{name}: {format}, {} and {} frames", expected.len(), found.len());
    assert!(differing.is_empty(), "{name}: frames {differing:?} of {} differ", expected.len());
    assert_eq!(found.len(), expected.len(), "{name}");
    found.len()
}

#[test]
fn frames_equal_those_of_ffmpeg() {
    let (Some(device), Some(videos)) = (gpu(), Videos::new()) else { return };
    let test = "-f lavfi -i testsrc2=s=640x360:r=30 -t 3";
    let noisy = "-vf noise=alls=20:allf=t";
    for (name, rate, line) in [
        ("b_frames.mp4", None, format!("{test} -c:v libx264 -bf 3 -pix_fmt yuv420p")),
        ("noise.mp4", None, format!("{test} {noisy} -c:v libx264 -pix_fmt yuv420p")),
        ("milliseconds.mkv", None, format!("{test} -r 30000/1001 -c:v libx264 -pix_fmt yuv420p")),
        ("slower.mp4", Some("25"), format!("{test} -c:v libx264 -pix_fmt yuv420p")),
        ("faster.mp4", Some("60000/1001"), format!("{test} -c:v libx264 -pix_fmt yuv420p")),
        ("full_range.mp4", None, format!("{test} -c:v libx264 -pix_fmt yuvj420p")),
        (
            "cropped.mp4",
            None,
            "-f lavfi -i testsrc2=s=646x362:r=30 -t 1 -c:v libx264 -pix_fmt yuv420p".to_owned(),
        ),
        (
            "variable.mp4",
            Some("30"),
            format!(
                "{test} -vf select='not(eq(mod(n\\,7)\\,3))*not(between(n\\,40\\,55))' -vsync vfr \
                 -c:v libx264 -pix_fmt yuv420p"
            ),
        ),
        (
            "interlaced.mp4",
            None,
            format!("{test} -c:v libx264 -flags +ildct+ilme -pix_fmt yuv420p"),
        ),
        ("open_gop.mp4", None, format!("{test} -c:v libx264 -x264-params open-gop=1:keyint=20")),
        ("hevc.mp4", None, format!("{test} -c:v libx265 -x265-params log-level=none")),
        (
            "hevc_10_bits.mkv",
            None,
            format!(
                "{test} {noisy} -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le \
                 -colorspace bt2020nc -color_trc smpte2084 -color_primaries bt2020"
            ),
        ),
    ] {
        videos.run(&format!("{line} {name}"));
        assert!(check_equal(&device, &videos.path(name), rate) > 20, "{name}");
    }
    // The timestamps of a transport stream do not start at 0.
    videos.run("-i b_frames.mp4 -c copy stream.ts");
    assert_eq!(check_start(&device, &videos.path("stream.ts")), 90);
}

/// Checks that NVDEC's frames equal the first ones of ffmpeg's decoder, and returns their number. After the end of a
/// transport stream, ffmpeg repeats the last frame.
fn check_start(device: &Device, file: &Path) -> usize {
    let name = file.display();
    let (_, frames, error) = read(file, VideoDecoder::Nvdec(device.clone()), None).unwrap();
    assert!(error.is_none(), "{name}: {error:?}");
    let (_, expected, _) = read(file, VideoDecoder::Ffmpeg, None).unwrap();
    assert!(expected.len() >= frames.len(), "{name}: {} {}", expected.len(), frames.len());
    let differing: Vec<_> = (0..frames.len()).filter(|n| frames[*n] != expected[*n]).collect();
    assert!(differing.is_empty(), "{name}: frames {differing:?} of {} differ", frames.len());
    frames.len()
}

#[test]
fn joined_streams_lose_no_frame() {
    let (Some(device), Some(videos)) = (gpu(), Videos::new()) else { return };
    let join = |parts: &[&str], name: &str| {
        let parts = parts.iter().map(|part| std::fs::read(videos.path(part)).unwrap());
        std::fs::write(videos.path(name), parts.collect::<Vec<_>>().concat()).unwrap();
    };
    let take = |size: &str, options: &str, name: &str| {
        videos.run(&format!(
            "-f lavfi -i testsrc2=s={size}:r=30 -t 2 -c:v libx264 -pix_fmt yuv420p {options} {name}"
        ));
    };
    take("320x180", "-bf 2 -refs 2", "a.ts");
    // The second part continues 28 s later, so the gap is filled. It continues more than an hour later, or begins at the
    // same time as the first part, so there is no gap.
    for (offset, frames) in [(30, 956..=961), (5000, 120..=120), (0, 120..=120)] {
        take("320x180", &format!("-bf 2 -refs 2 -output_ts_offset {offset}"), "b.ts");
        join(&["a.ts", "b.ts"], "joined.ts");
        let found = check_start(&device, &videos.path("joined.ts"));
        assert!(frames.contains(&found), "{offset}: {found}");
    }
    // The second part, about 1 s later, needs a decoder with more memory, or shows another part of its pictures.
    for (size, refs) in [("320x180", 8), ("320x184", 2)] {
        take(size, &format!("-bf 2 -refs {refs} -output_ts_offset 3"), "b.ts");
        join(&["a.ts", "b.ts"], "joined.ts");
        let file = videos.path("joined.ts");
        let (_, frames, error) = read(&file, VideoDecoder::Nvdec(device.clone()), None).unwrap();
        assert!(error.is_none(), "{size} {refs}: {error:?}");
        // The number of reference frames delays the second part by up to 2 frames.
        assert!((148..=150).contains(&frames.len()), "{size} {refs}: {}", frames.len());
        let (_, expected, _) = read(&file, VideoDecoder::Ffmpeg, None).unwrap();
        let same = if size == "320x180" { frames.len() } else { 60 };
        assert!(frames[..same] == expected[..same], "{size} {refs}");
    }
}

#[test]
fn videos_that_nvdec_does_not_decode_are_left_to_ffmpeg() {
    let Some(videos) = Videos::new() else { return };
    let test = "-f lavfi -i testsrc2=s=320x180:r=30";
    for (name, line) in [
        ("mpeg4.mp4", "-c:v mpeg4"),
        ("chroma.mp4", "-c:v libx264 -pix_fmt yuv444p"),
        ("raw.h264", "-c:v libx264 -pix_fmt yuv420p"),
        ("plain.mp4", "-c:v libx264 -pix_fmt yuv420p"),
    ] {
        videos.run(&format!("{test} -t 0.5 {line} {name}"));
    }
    videos.run("-i plain.mp4 -c copy -metadata:s:v rotate=90 rotated.mp4");
    videos.run("-i plain.mp4 -c copy plain.avi");
    videos.run(&format!("{test} -t 2 -c:v libx264 -g 30 -bf 2 -pix_fmt yuv420p long.mp4"));
    videos.run("-ss 0.5 -i long.mp4 -c copy cut.mp4");
    flip(&videos.path("rotated.mp4"), &videos.path("flipped.mp4"));
    // A transport stream without its first key frame.
    videos.run("-i long.mp4 -c copy late.ts");
    let late = std::fs::read(videos.path("late.ts")).unwrap();
    std::fs::write(videos.path("late.ts"), &late[late.len() / 4 / 188 * 188..]).unwrap();
    let reason = |name: &str, device: &Device| match open(
        &videos.path(name),
        VideoDecoder::Nvdec(device.clone()),
        None,
    ) {
        Err(VideoError::NoNvdec { reason, .. }) => *reason,
        Err(error) => panic!("{name}: {error}"),
        Ok(_) => panic!("{name} was opened"),
    };
    assert_eq!(reason("plain.mp4", &Device::cpu()), NoNvdec::NoGpu);
    let mut auto =
        open(&videos.path("plain.mp4"), VideoDecoder::Auto(Device::cpu()), None).unwrap();
    assert_eq!(auto.decoder(), Some("ffmpeg"));
    assert!(matches!(auto.next_frame(None), Ok(Some(VideoFrame::Host(_)))));

    let Some(device) = gpu() else { return };
    assert_eq!(reason("mpeg4.mp4", &device), NoNvdec::Codec("mpeg4".into()));
    assert_eq!(reason("chroma.mp4", &device), NoNvdec::Pixels("yuv444p".into()));
    assert_eq!(reason("raw.h264", &device), NoNvdec::NoTimestamps);
    assert_eq!(reason("plain.avi", &device), NoNvdec::NoTimestamps);
    assert_eq!(reason("rotated.mp4", &device), NoNvdec::Rotated);
    assert_eq!(reason("flipped.mp4", &device), NoNvdec::Rotated);
    assert_eq!(reason("cut.mp4", &device), NoNvdec::Edited);
    assert_eq!(reason("late.ts", &device), NoNvdec::NoKeyFrame);
    for (name, decoder) in [("mpeg4.mp4", "ffmpeg"), ("plain.mp4", "nvdec")] {
        let source = open(&videos.path(name), VideoDecoder::Auto(device.clone()), None).unwrap();
        assert_eq!(source.decoder(), Some(decoder), "{name}");
    }
}

/// Copies an MP4 file that is rotated by 90°, and makes its display matrix flip the frames instead.
fn flip(from: &Path, to: &Path) {
    let mut bytes = std::fs::read(from).unwrap();
    let number = |value: i32| value.to_be_bytes();
    let rotated = [number(0), number(-(1 << 16)), number(0), number(1 << 16), number(0)].concat();
    let flipped = [number(1 << 16), number(0), number(0), number(0), number(-(1 << 16))].concat();
    let at = bytes.windows(rotated.len()).position(|window| window == rotated);
    let at = at.expect("the display matrix of a rotation by 90°");
    bytes[at..at + flipped.len()].copy_from_slice(&flipped);
    std::fs::write(to, bytes).unwrap();
}

#[test]
fn a_change_of_size_keeps_the_size_of_the_first_frame() {
    let (Some(device), Some(videos)) = (gpu(), Videos::new()) else { return };
    for (name, size) in [("a.ts", "640x360"), ("b.ts", "1280x720"), ("c.ts", "320x180")] {
        videos.run(&format!(
            "-f lavfi -i testsrc2=s={size}:r=30 -t 1 -c:v libx264 -pix_fmt yuv420p -bf 2 {name}"
        ));
    }
    let parts = ["a.ts", "b.ts", "c.ts"].map(|name| std::fs::read(videos.path(name)).unwrap());
    std::fs::write(videos.path("joined.ts"), parts.concat()).unwrap();
    videos.run("-fflags +genpts -i joined.ts -c copy changing.mkv");
    let file = videos.path("changing.mkv");
    let (format, frames, error) = read(&file, VideoDecoder::Nvdec(device), None).unwrap();
    assert!(error.is_none(), "{error:?}");
    let (expected_format, expected, _) = read(&file, VideoDecoder::Ffmpeg, None).unwrap();
    assert_eq!((format, frames.len()), (expected_format, expected.len()));
    let difference =
        |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>();
    // The two scalers differ, but each frame is most similar to its own counterpart.
    for (n, found) in frames.iter().enumerate() {
        let near = n.saturating_sub(4)..(n + 5).min(expected.len());
        let nearest = near.min_by_key(|other| difference(found, &expected[*other]));
        assert_eq!(nearest, Some(n));
    }
}

#[test]
fn a_long_gap_is_an_error_after_the_frames_before_it() {
    let (Some(device), Some(videos)) = (gpu(), Videos::new()) else { return };
    videos.run(
        "-f lavfi -i testsrc2=s=320x180:r=30 -frames:v 60 -vf setpts='if(gte(N\\,30)\\,PTS+700/TB\\,PTS)' \
         -vsync passthrough -c:v libx264 -bf 2 -pix_fmt yuv420p gap.mkv",
    );
    let rate = "30".parse().ok();
    let (_, frames, error) =
        read(&videos.path("gap.mkv"), VideoDecoder::Nvdec(device), rate).unwrap();
    assert_eq!(frames.len(), 30);
    let jumped = |error: &VideoError| match error {
        VideoError::Jump { seconds, .. } => seconds.round() == 700.0,
        _ => false,
    };
    assert!(error.as_ref().is_some_and(jumped), "{error:?}");
}

#[test]
fn damaged_files_end_with_frames_or_a_message() {
    let (Some(device), Some(videos)) = (gpu(), Videos::new()) else { return };
    let test = "-f lavfi -i testsrc2=s=320x180:r=30 -t 1 -vf noise=alls=10:allf=t";
    videos.run(&format!("{test} -c:v libx264 -bf 3 -g 10 -pix_fmt yuv420p h264.mkv"));
    videos.run(&format!("{test} -c:v libx265 -x265-params log-level=none -g 10 hevc.mp4"));
    videos.run("-i h264.mkv -c copy h264.ts");
    let originals = ["h264.mkv", "hevc.mp4", "h264.ts"]
        .map(|name| (name, std::fs::read(videos.path(name)).unwrap()));
    let mut random = Random::new(24);
    let (mut frames, mut whole, mut rejected, mut failed) = (0, 0, 0, 0);
    for n in 0..200 {
        let (name, bytes) = &originals[n % originals.len()];
        let mut bytes = bytes.clone();
        match n % 4 {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => {
                let start = random.below(bytes.len());
                let end = (start + 1 + random.below(2000)).min(bytes.len());
                bytes.drain(start..end);
            }
            _ => {
                for _ in 0..=random.below(40) {
                    let at = random.below(bytes.len());
                    bytes[at] = random.below(256) as u8;
                }
            }
        }
        let file = videos.path(&format!("damaged_{name}"));
        std::fs::write(&file, bytes).unwrap();
        let begun = Instant::now();
        match read(&file, VideoDecoder::Auto(device.clone()), "30".parse().ok()) {
            Ok((_, found, None)) => {
                frames += found.len();
                whole += 1;
                assert!(!found.is_empty(), "{n}: no frames and no error");
            }
            Ok((_, found, Some(error))) => {
                frames += found.len();
                failed += 1;
                assert!(error.to_string().contains(&file.display().to_string()), "{n}: {error}");
            }
            Err(error) => {
                rejected += 1;
                assert!(error.to_string().contains(&file.display().to_string()), "{n}: {error}");
            }
        }
        assert!(begun.elapsed() < NO_HANG, "{n}: {:?}", begun.elapsed());
        device.health().unwrap();
    }
    eprintln!("{frames} frames; {whole} files decoded, {failed} failed, {rejected} rejected");
    // Most files can be decoded at least in part.
    assert!(whole > 100 && frames > 2000);
}
