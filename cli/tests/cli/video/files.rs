//! Tests `panoweave video` on files that ffmpeg reads and writes. Checks sizes, rates, sound and colour levels, and
//! compares a 1080p clip made from photos with `panoweave stitch`.

use std::os::unix::fs::PermissionsExt;

use panoweave::frame::{PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::io::picture::Picture;
use panoweave::io::video::{Medium, Stop, VideoInput, VideoSource};
use panoweave_tests::data;

use super::{Ffmpeg, MAP, seconds, y4m};
use crate::Folder;

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    let mean = a.iter().zip(b).map(square).sum::<f64>() / a.len() as f64;
    10.0 * (255.0 * 255.0 / mean).log10()
}

/// Returns the RGBA bytes of the top left `width`×`height` pixels of a picture.
fn part(picture: &Picture, width: u32, height: u32) -> Vec<u8> {
    let rows = picture.pixels().chunks(picture.width() as usize).take(height as usize);
    rows.flat_map(|row| bytemuck::cast_slice::<_, u8>(&row[..width as usize])).copied().collect()
}

#[test]
fn a_clip_of_1080p() {
    let (Some(ffmpeg), Some(table)) = (Ffmpeg::find(), data("stitch_ref/pairs.csv")) else {
        return;
    };
    let folder = Folder::new();
    let table = std::fs::read_to_string(table).unwrap();
    let row = table.lines().find(|line| line.starts_with("weir,weir_1.jpg,")).unwrap();
    let row: Vec<_> = row.split(',').collect();
    for (name, photo) in [("left", row[1]), ("right", row[2])] {
        let photo = data(format!("scenes/weir/{photo}")).unwrap();
        ffmpeg.run(
            &folder,
            &format!(
                "-loop 1 -framerate 30000/1001 -i {} -f lavfi -i sine -t 1.001 -vf \
                 scale=1920:1080:out_color_matrix=bt709:out_range=limited -pix_fmt yuv420p -c:v libx264 \
                 -preset ultrafast -crf 12 -colorspace bt709 -color_range tv -c:a aac {name}.mp4",
                photo.display()
            ),
        );
    }
    // The homography in the table is for the photos at full size, so scale it to the videos' 1920×1080 pixels.
    let photo = Picture::open(data("scenes/weir/weir_1.jpg").unwrap()).unwrap();
    let scale = [1920.0 / f64::from(photo.width()), 1080.0 / f64::from(photo.height()), 1.0];
    let numbers = row[9].split_whitespace().map(|word| word.parse::<f64>().unwrap()).enumerate();
    let scaled = numbers.map(|(i, h)| (h * scale[i / 3] / scale[i % 3]).to_string());
    folder.write("h.txt", scaled.collect::<Vec<_>>().join(" "));

    let map = "--homography h.txt --device cpu";
    let done = folder.words(&format!(
        "video left.mp4 right.mp4 {map} --no-colour --frames 6 --crf 12 --json -o pano.mp4"
    ));
    assert_eq!(done.code, Some(0), "{done:?}");
    let json = done.json();
    assert_eq!((&json["frames"]["written"], &json["rate"]), (&6.into(), &"30000/1001".into()));

    let probe = ffmpeg.probe(&folder, "pano.mp4");
    let (video, audio) = (probe.video(), probe.stream("audio").unwrap());
    assert_eq!(probe.frames(), 6);
    assert_eq!(video["r_frame_rate"], "30000/1001");
    assert!((seconds(video) - 0.2002).abs() < 1e-3, "{probe:?}");
    assert!((seconds(audio) - 0.2002).abs() < 0.05, "{probe:?}");
    let even = |side: &serde_json::Value| side.as_u64().unwrap() / 2 * 2;
    let size = [even(&json["size"][0]), even(&json["size"][1])];
    assert_eq!([&video["width"], &video["height"]], size.map(serde_json::Value::from).each_ref());
    assert_eq!((&video["pix_fmt"], &video["color_space"]), (&"yuv420p".into(), &"bt709".into()));

    for name in ["left", "right", "pano"] {
        ffmpeg.run(
            &folder,
            &format!(
                "-ss 0.1 -i {name}.mp4 -frames:v 1 -vf scale=in_color_matrix=bt709:in_range=limited \
                 -pix_fmt rgb24 {name}_frame.png"
            ),
        );
    }
    folder.quiet(&format!(
        "stitch left_frame.png right_frame.png {map} --blend feather -o expected.png"
    ));
    let (width, height) = (size[0] as u32, size[1] as u32);
    let expected = part(&folder.picture("expected.png"), width, height);
    let found = part(&folder.picture("pano_frame.png"), width, height);
    let psnr = psnr(&expected, &found);
    eprintln!("1080p: {:.2} fps, PSNR {psnr:.1} dB", json["fps"].as_f64().unwrap());
    assert!(psnr > 30.0, "{psnr}");
}

/// Reads all frames of a video file. Returns their pixel format and their bytes.
fn frames(folder: &Folder, file: &str) -> (PixelFormat, Vec<Vec<u8>>) {
    let path = folder.path(file);
    let medium = Medium::of_input(&path, None).unwrap();
    let input = VideoInput { ten_bit: true, ..VideoInput::new(path, medium) };
    let mut source = VideoSource::open(&input, None, &Stop::default()).unwrap();
    let frames = std::iter::from_fn(|| source.frame().unwrap()).collect();
    (source.format().pixels, frames)
}

/// Reads lossless videos with each colour range and matrix. The frames must have the stored levels, because neither
/// ffmpeg nor panoweave may convert them.
#[test]
fn levels_are_read_as_they_are_stored() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    for (pixels, matrix, range, expected) in [
        ("yuv420p", "bt709", "tv", (YuvMatrix::Bt709, Range::Limited)),
        ("yuv420p", "smpte170m", "tv", (YuvMatrix::Bt601, Range::Limited)),
        ("yuv420p", "bt709", "pc", (YuvMatrix::Bt709, Range::Full)),
        ("yuvj420p", "bt470bg", "pc", (YuvMatrix::Bt601, Range::Full)),
    ] {
        // Encode noise, which contains all levels, in a lossless file.
        let noise: Vec<u8> =
            (0..64 * 48 * 3 / 2 * 3).map(|i: u32| (i * i / 7 % 256) as u8).collect();
        folder.write("noise.yuv", &noise);
        ffmpeg.run(
            &folder,
            &format!(
                "-f rawvideo -pix_fmt {pixels} -s 64x48 -framerate 25 -color_range {range} -colorspace {matrix} -i noise.yuv \
                 -c:v libx264 -qp 0 -pix_fmt {pixels} -colorspace {matrix} -color_range {range} a.mkv"
            ),
        );
        let (found, frames) = frames(&folder, "a.mkv");
        let PixelFormat::Nv12(found) = found else { panic!("{found:?}") };
        assert_eq!((found.matrix, found.range), expected);
        assert_eq!(frames.len(), 3);
        for (frame, stored) in frames.iter().zip(noise.chunks(64 * 48 * 3 / 2)) {
            let (luma, chroma) = frame.split_at(64 * 48);
            assert!(luma == &stored[..64 * 48], "{pixels} {matrix} {range}");
            let (u, v) = stored[64 * 48..].split_at(32 * 24);
            let pairs: Vec<u8> = u.iter().zip(v).flat_map(|(u, v)| [*u, *v]).collect();
            assert!(chroma == pairs, "{pixels} {matrix} {range}");
        }
    }
}

/// A video with another matrix than the first one is converted without a bias.
#[test]
fn a_converted_matrix_keeps_the_mean() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let ([y, u, v], size) = ([100_u8, 90, 180], 64 * 48);
    folder.write("flat.yuv", [vec![y; size], vec![u; size / 4], vec![v; size / 4]].concat());
    ffmpeg.run(
        &folder,
        "-f rawvideo -pix_fmt yuv420p -s 64x48 -colorspace smpte170m -color_range tv -i flat.yuv \
         -c:v ffv1 -colorspace smpte170m -color_range tv a.mkv",
    );
    let path = folder.path("a.mkv");
    let input = VideoInput::new(path.clone(), Medium::of_input(&path, None).unwrap());
    let wanted = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };
    let stop = Stop::default();
    let mut source = VideoSource::open(&input, Some(PixelFormat::Nv12(wanted)), &stop).unwrap();
    let frame = source.frame().unwrap().unwrap();
    // BT.601 to R'G'B', and its luma by BT.709. The chroma has a scale of 224 levels, and the luma 219.
    let (u, v) = ((f64::from(u) - 128.0) / 224.0, (f64::from(v) - 128.0) / 224.0);
    let luma = (f64::from(y) - 16.0) / 219.0;
    let (r, b) = (luma + 1.402 * v, luma + 1.772 * u);
    let g = (luma - 0.299 * r - 0.114 * b) / 0.587;
    let expected = 16.0 + 219.0 * (0.2126 * r + 0.7152 * g + 0.0722 * b);
    let found = frame[..size].iter().map(|level| f64::from(*level)).sum::<f64>() / size as f64;
    assert!((found - expected).abs() < 0.7, "{found} instead of {expected}");
}

/// A video of 8 bits beside one of 10 bits has four times its levels.
#[test]
fn eight_bits_become_ten_without_a_tint() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let noise: Vec<u8> = (0..64 * 48 * 3 / 2).map(|i: u32| (i * i / 7 % 256) as u8).collect();
    folder.write("noise.yuv", &noise);
    let colours = "-colorspace bt709 -color_range tv";
    ffmpeg.run(
        &folder,
        &format!(
            "-f rawvideo -pix_fmt yuv420p -s 64x48 {colours} -i noise.yuv -c:v ffv1 {colours} a.mkv"
        ),
    );
    let path = folder.path("a.mkv");
    let input = VideoInput::new(path.clone(), Medium::of_input(&path, None).unwrap());
    let ten = PixelFormat::P010(YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited });
    let mut source = VideoSource::open(&input, Some(ten), &Stop::default()).unwrap();
    let frame = source.frame().unwrap().unwrap();
    // P010 stores 10 bits in the upper bits of 16.
    let found: Vec<_> =
        frame.chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]) >> 6).collect();
    let (luma, chroma) = noise.split_at(64 * 48);
    let (u, v) = chroma.split_at(32 * 24);
    let pairs = u.iter().zip(v).flat_map(|(u, v)| [*u, *v]);
    let expected: Vec<_> =
        luma.iter().copied().chain(pairs).map(|level| 4 * u16::from(level)).collect();
    assert!(found == expected);
}

/// Gray frames keep their levels and get no colour. Frames of JPEG and raw frames have the full range.
#[test]
fn gray_levels_are_read_as_they_are_stored() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let noise: Vec<u8> = (0..64 * 48).map(|i: u32| (16 + i * i / 7 % 220) as u8).collect();
    folder.write("noise.raw", &noise);
    for (options, expected) in [
        ("-c:v ffv1 a.mkv", Range::Full),
        ("-c:v rawvideo a.avi", Range::Full),
        ("-c:v ffv1 -color_range tv a.mkv", Range::Limited),
    ] {
        let input = if options.contains("tv") { "-color_range tv" } else { "" };
        ffmpeg.run(
            &folder,
            &format!(
                "-f rawvideo -pix_fmt gray -s 64x48 -framerate 25 {input} -i noise.raw {options}"
            ),
        );
        let file = options.rsplit(' ').next().unwrap();
        let (found, frames) = frames(&folder, file);
        let PixelFormat::Nv12(found) = found else { panic!("{found:?}") };
        assert_eq!(found.range, expected, "{options}");
        let (luma, chroma) = frames[0].split_at(64 * 48);
        assert!(luma == noise, "{options}");
        assert!(chroma.iter().all(|level| *level == 128), "{options}");
    }
}

/// Raw frames in a container, such as those of a webcam, keep their luma and chroma. Each packet format has the same
/// samples in another order.
#[test]
fn raw_frames_in_a_container_are_read_as_they_are_stored() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let planes: Vec<u8> = (0..64 * 48 * 3 / 2).map(|i: u32| (16 + i * i / 7 % 220) as u8).collect();
    let (luma, chroma) = planes.split_at(64 * 48);
    let (u, v) = chroma.split_at(32 * 24);
    let pairs =
        |a: &[u8], b: &[u8]| a.iter().zip(b).flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>();
    let nv12 = [luma, &pairs(u, v)].concat();
    let nv21 = [luma, &pairs(v, u)].concat();
    for (pixels, bytes, containers) in [
        ("yuv420p", planes.clone(), &["mkv", "avi", "nut"][..]),
        ("nv12", nv12.clone(), &["mkv", "avi", "nut"]),
        ("nv21", nv21, &["avi", "nut"]),
    ] {
        folder.write("frame.raw", &bytes);
        for container in containers {
            let line = format!(
                "-f rawvideo -pix_fmt {pixels} -s 64x48 -framerate 25 -i frame.raw -c:v rawvideo a.{container}"
            );
            ffmpeg.run(&folder, &line);
            let (_, frames) = frames(&folder, &format!("a.{container}"));
            assert!(frames[0] == nv12, "{pixels} in {container}");
        }
    }
}

/// Reads a 10-bit 4:2:2 video with HDR tags and alpha. Each loss is a warning, once per video, and an element of the
/// JSON.
#[test]
fn losses_on_reading_are_reported() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.2);
    ffmpeg.run(
        &folder,
        "-i left.mp4 -c:v ffv1 -pix_fmt yuva422p10le -color_primaries bt2020 -color_trc smpte2084 \
         -colorspace bt2020nc deep.mkv",
    );
    // The first video has 8 bits, so the second one is rounded to 8 bits.
    let line = "--json video left.mp4 deep.mkv --rig rig.toml --device cpu -o p.nv12";
    let done = folder.words(line);
    insta::assert_snapshot!(done.stderr, @r"
     WARN deep.mkv: BT.2020 primaries and the PQ transfer function: treated as BT.709 without tone mapping, so colours and brightness change
     WARN deep.mkv: 10-bit samples are rounded to 8 bits
     WARN deep.mkv: chroma is reduced to 4:2:0 from yuva422p10le
     WARN deep.mkv: the opacity of the pixels is ignored
    ");
    let json = done.json();
    let kinds: Vec<_> =
        json["conversions"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["tags", "depth", "chroma", "alpha"]);
    assert!(json["conversions"].as_array().unwrap().iter().all(|one| one["input"] == "deep.mkv"));
    assert_eq!(json["warnings"], serde_json::json!([]), "conversions are not repeated");
    let line = "--json compare left.mp4 left.mp4 --device cpu";
    assert_eq!(folder.words(line).json()["conversions"], serde_json::json!([]));
}

/// The JSON has the warnings of the log, also if `-qq` hides them.
#[test]
fn videos_with_different_tags_are_reported() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    for (name, transfer) in [("left", "smpte2084"), ("right", "arib-std-b67")] {
        ffmpeg.run(
            &folder,
            &format!(
                "-f lavfi -i testsrc2=s=40x30:r=30 -frames:v 2 -c:v ffv1 -pix_fmt yuv420p10le \
                 -color_primaries bt2020 -color_trc {transfer} -colorspace bt2020nc {name}.mkv"
            ),
        );
    }
    let line = format!("video left.mkv right.mkv {MAP} --no-colour -o p.y4m --json");
    let done = folder.words(&line);
    insta::assert_snapshot!(done.stderr, @r"
     WARN right.mkv has BT.2020 primaries and the HLG transfer function, but left.mkv has BT.2020 primaries and the PQ transfer function; their levels are mixed without conversion
     WARN p.y4m does not store the tags of the levels, BT.2020 primaries and the PQ transfer function
    ");
    let warnings = done.json()["warnings"].clone();
    let logged: String = warnings
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!(" WARN {}\n", it.as_str().unwrap()))
        .collect();
    assert_eq!(logged, done.stderr);
    let quiet = folder.words(&format!("{line} -qq"));
    assert_eq!((quiet.stderr.as_str(), &quiet.json()["warnings"]), ("", &warnings));
}

/// Decodes, stitches and encodes a ramp of all 1,024 levels of 10 bits. Each level must survive in a lossless file, in
/// Y4M and in raw frames.
#[test]
fn a_ramp_of_ten_bits_survives() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    // The left camera sees columns 0 to 639, and the right one columns 384 to 1023.
    for (name, first) in [("left", 0_u16), ("right", 384)] {
        let row: Vec<u8> = (first..first + 640).flat_map(u16::to_le_bytes).collect();
        let mut frame = row.repeat(16);
        frame.resize(frame.len() * 3 / 2, 0);
        // Neutral chroma is 512.
        frame[640 * 16 * 2..].chunks_exact_mut(2).for_each(|it| it.copy_from_slice(&[0, 2]));
        folder.write("ramp.yuv", frame.repeat(3));
        ffmpeg.run(
            &folder,
            &format!(
                "-f rawvideo -pix_fmt yuv420p10le -s 640x16 -framerate 25 -color_range pc -i ramp.yuv -c:v ffv1 \
                 -color_range pc -colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 {name}.mkv"
            ),
        );
    }
    folder.write("shift.txt", "1 0 384\n0 1 0\n0 0 1\n");
    let line = "video left.mkv right.mkv --homography shift.txt --device cpu --no-colour --crf 0";
    let ramp: Vec<u16> = (0..1024).collect();
    for (output, warns) in [("p.mkv", false), ("p.mp4", false), ("p.y4m", true), ("p.p010", true)] {
        let done = folder.succeeds(&format!("{line} -o {output}"));
        let warning =
            "does not store the tags of the levels, BT.2020 primaries and the PQ transfer function";
        assert_eq!(done.stderr.contains(warning), warns, "{output}: {}", done.stderr);
        let frames = if output == "p.p010" {
            folder.read(output).chunks(1024 * 16 * 3).map(<[u8]>::to_vec).collect()
        } else {
            let (pixels, frames) = frames(&folder, output);
            let PixelFormat::P010(encoding) = pixels else { panic!("{output}: {pixels}") };
            assert_eq!(encoding.range, Range::Full, "{output}");
            frames
        };
        assert_eq!(frames.len(), 3, "{output}");
        for frame in frames {
            let samples: Vec<_> =
                frame.chunks_exact(2).map(|it| u16::from_le_bytes([it[0], it[1]]) >> 6).collect();
            let (luma, chroma) = samples.split_at(1024 * 16);
            assert!(luma.chunks(1024).all(|row| row == ramp), "{output}: {:?}", &luma[..1024]);
            assert!(chroma.iter().all(|sample| *sample == 512), "{output}");
        }
    }
    for file in ["p.mkv", "p.mp4"] {
        let probe = ffmpeg.probe(&folder, file);
        let video = probe.video();
        let text = |name: &str| video[name].as_str().unwrap_or_default().to_owned();
        let found = ["codec_name", "pix_fmt", "color_range", "color_space"].map(text);
        assert_eq!(found, ["hevc", "yuv420p10le", "pc", "bt2020nc"], "{file}");
        assert_eq!(["color_primaries", "color_transfer"].map(text), ["bt2020", "smpte2084"]);
        assert_eq!(text("profile"), "Main 10", "{file}");
    }
    // A lossy file is Main 10, with fewer bits than a lossless one.
    folder.quiet(
        "video left.mkv right.mkv --homography shift.txt --device cpu --no-colour -q -o lossy.mp4",
    );
    let probe = ffmpeg.probe(&folder, "lossy.mp4");
    assert_eq!(
        (&probe.video()["profile"], &probe.video()["codec_tag_string"]),
        (&"Main 10".into(), &"hvc1".into())
    );

    let done = folder.words(&format!("{line} --depth 8 -o shallow.mkv"));
    assert!(done.stderr.contains("left.mkv: 10-bit samples are rounded to 8 bits"), "{done:?}");
    assert_eq!(ffmpeg.probe(&folder, "shallow.mkv").video()["codec_name"], "h264");
    let done = folder.words("compare p.mkv p.mp4 --device cpu --json");
    assert_eq!(done.json()["identical"]["gray"], true, "{done:?}");
    assert_eq!(done.json()["conversions"], serde_json::json!([]));

    insta::assert_snapshot!(
        folder.words(&format!("{line} --depth 10 -o p.rgba")).stderr,
        @"error: p.rgba: cannot store 10 bits; write .mp4, .m4v, .mov or .mkv (not with an encoder of H.264), .y4m or .p010, or write 8 bits"
    );
    ffmpeg.pair(&folder, 0.2);
    insta::assert_snapshot!(
        folder.words("video left.mp4 right.mp4 --rig rig.toml --device cpu --depth 10 -o q.mkv").stderr,
        @"error: `depth` 10 requires a first video with more than 8 bits per sample; remove it"
    );
    // Streams are not converted, so frames of different depths are not combined.
    folder.succeeds(&format!("{line} --depth 8 -o shallow.y4m"));
    let done = folder
        .words("video p.y4m shallow.y4m --homography shift.txt --device cpu --no-colour -o q.mkv");
    assert_eq!(done.code, Some(2), "{done:?}");
    insta::assert_snapshot!(done.stderr, @"error: shallow.y4m: the frames have 8 bits per sample, but those of p.y4m have 10; Y4M and raw videos are not converted, so convert one of them with ffmpeg");
}

/// Checks that an output file with lossless H.264 (`--crf 0`) contains the same frames as raw output.
#[test]
fn levels_are_written_as_they_are_made() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.2);
    let line = "video left.mp4 right.mp4 --rig rig.toml --device cpu --no-colour --crf 0";
    folder.quiet(&format!("{line} -q -o p.mkv"));
    folder.quiet(&format!("{line} -o p.nv12"));
    let (pixels, frames) = frames(&folder, "p.mkv");
    assert_eq!(pixels, PixelFormat::Nv12(YuvEncoding::default()));
    assert_eq!(frames.len(), 6);
    assert!(frames.concat() == folder.read("p.nv12"));
}

#[test]
fn each_encoder_writes_its_codec() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    folder.write("a.y4m", y4m(96, 64, "30:1", &vec![vec![90; 96 * 64]; 5]));
    for (encoder, codec, tag) in
        [("libx264", "h264", "avc1"), ("libx265", "hevc", "hvc1"), ("libsvtav1", "av1", "av01")]
    {
        folder.quiet(&format!("video a.y4m a.y4m {MAP} --encoder {encoder} -q -o p.mp4"));
        let probe = ffmpeg.probe(&folder, "p.mp4");
        let found = ["codec_name", "codec_tag_string", "pix_fmt"].map(|name| &probe.video()[name]);
        assert_eq!(found, [codec, tag, "yuv420p"], "{encoder}");
        assert_eq!(probe.frames(), 5, "{encoder}");
    }
}

#[test]
fn a_link_stays_one_and_permissions_are_kept() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 0.2);
    std::fs::create_dir(folder.path("d")).unwrap();
    folder.write("d/old.mp4", "old");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("d/old.mp4"), mode).unwrap();
    std::os::unix::fs::symlink("d/old.mp4", folder.path("p.mp4")).unwrap();
    folder.quiet(&format!("video left.mp4 right.mp4 {MAP} -q -o p.mp4"));
    assert!(std::fs::symlink_metadata(folder.path("p.mp4")).unwrap().is_symlink());
    assert_eq!(ffmpeg.probe(&folder, "d/old.mp4").frames(), 6);
    let mode = std::fs::metadata(folder.path("d/old.mp4")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn turned_and_varying_videos() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 1.0);
    // ffmpeg 6 and later support `-display_rotation`. Earlier versions need the metadata `rotate`.
    let turn = "-display_rotation 90 -i left.mp4 -c copy turned.mp4";
    if !ffmpeg.output(&folder, turn).status.success() {
        ffmpeg.run(&folder, "-i left.mp4 -c copy -metadata:s:v rotate=90 turned.mp4");
    }
    let (_, turned) = frames(&folder, "turned.mp4");
    assert_eq!((turned.len(), turned[0].len()), (30, 40 * 30 * 3 / 2));
    let error = folder.words("video turned.mp4 left.mp4 --rig rig.toml --device cpu -o p.mp4");
    assert!(error.stderr.contains("turned.mp4: 30×40 pixels, but rig.toml"), "{error:?}");

    // Drop frames 3 to 12: a gap of a third of a second.
    ffmpeg.run(
        &folder,
        "-i left.mp4 -an -vf select='not(between(n,3,12))' -fps_mode passthrough -c:v libx264 holes.mkv",
    );
    let (_, whole) = frames(&folder, "holes.mkv");
    let (_, even) = frames(&folder, "left.mp4");
    let seconds = |frames: usize, rate: f64| frames as f64 / rate;
    // ffmpeg may report the nominal frame rate of 30, or an average of 20 or 20.7. At one of these rates, the frames
    // must last 1 s.
    let lasts =
        [seconds(whole.len(), 30.0), seconds(whole.len(), 20.0), seconds(whole.len(), 20.7)];
    assert!(lasts.iter().any(|lasts| (lasts - 1.0).abs() < 0.1), "{} frames", whole.len());
    assert_eq!(even.len(), 30);
}

/// Reads a file whose frame size and pixel format change twice, but not its shape. All frames must be read with the
/// size of the first frame, and no frame may be lost.
#[test]
fn videos_that_change_midway() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let mut joined = Vec::new();
    for (size, format) in [
        ("40x30", "-pix_fmt yuv420p"),
        // 1.36 instead of 1.33.
        ("60x44", "-pix_fmt yuv444p"),
        // Pixels that are twice as wide as high.
        ("40x60", "-pix_fmt yuv420p -vf setsar=2"),
    ] {
        let input = format!("-f lavfi -i mandelbrot=s={size}:r=30 -t 1");
        ffmpeg.run(&folder, &format!("{input} -c:v libx264 {format} a.ts"));
        joined.extend(folder.read("a.ts"));
    }
    folder.write("joined.ts", joined);
    let (_, frames) = frames(&folder, "joined.ts");
    assert!((88..=92).contains(&frames.len()), "{}", frames.len());
    assert!(frames.iter().all(|frame| frame.len() == 40 * 30 * 3 / 2));
    // Consecutive frames must differ, except for a few repeated frames where the timestamps of the three parts overlap.
    let different = frames.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(different > 75, "{different}");
}

/// Tests a video whose frames change from landscape to portrait. The command must fail instead of squeezing them, and
/// write the panoramas before the change.
#[test]
fn a_video_that_changes_its_shape_is_refused() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 2.0);
    let mut joined = Vec::new();
    for size in ["40x30", "30x40"] {
        let input = format!("-f lavfi -i testsrc2=s={size}:r=30 -t 1");
        ffmpeg.run(&folder, &format!("{input} -c:v libx264 -pix_fmt yuv420p a.ts"));
        joined.extend(folder.read("a.ts"));
    }
    folder.write("joined.ts", joined);
    let done = folder.words(&format!("video left.mp4 joined.ts {MAP} -o p.mp4"));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("joined.ts: the shape of the frames changes after"), "{done:?}");
    let frames = ffmpeg.probe(&folder, "p.mp4").frames();
    assert!((28..=30).contains(&frames), "{frames}: {done:?}");
}

/// ffmpeg reports damaged frames. The warning must not be lost if the program stops before the end of the video.
#[test]
fn damage_is_reported_if_another_video_ends_first() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.run(
        &folder,
        "-f lavfi -i testsrc2=s=320x240:r=30 -t 20 -c:v libx264 -g 15 -pix_fmt yuv420p long.mkv",
    );
    ffmpeg.run(&folder, "-i long.mkv -t 2 -c copy short.mkv");
    let mut bad = folder.read("long.mkv");
    bad[20_000..30_000].fill(0x5a);
    folder.write("bad.mkv", bad);
    let said = "bad.mkv: ffmpeg reported errors while decoding: ";
    for line in ["short.mkv bad.mkv", "bad.mkv long.mkv --frames 40"] {
        let done = folder.succeeds(&format!("video {line} {MAP} -o p.y4m"));
        assert_eq!(done.stderr.matches(said).count(), 1, "{line}: {done:?}");
    }
}

/// Tests timestamps that jump by a day, as if the camera's clock had been set during the recording. The command must
/// fail instead of filling the gap with repeated frames.
#[test]
fn timestamps_that_jump() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 1.0);
    ffmpeg.run(
        &folder,
        "-i left.mp4 -an -vf setpts=PTS+gt(N\\,12)*86400/TB -fps_mode passthrough -c:v libx264 jump.mkv",
    );
    // `--frames` limits the size of the output, so that the disk does not fill up if this test fails.
    let done = folder.words(&format!("video jump.mkv jump.mkv {MAP} --frames 20000 -o p.mp4"));
    assert_eq!(done.code, Some(2), "{done:?}");
    let said = "jump.mkv: the timestamps jump by 86400 s between two frames";
    assert!(done.stderr.contains(said), "{done:?}");
    // The output file must contain the frames before the jump.
    assert!(ffmpeg.probe(&folder, "p.mp4").frames() > 12);
}

/// The clock of a camera begins at 0 again in the middle of a transport stream, and a second one has a gap of 15 s.
#[test]
fn transport_streams_that_were_joined() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let make = |offset: &str, name: &str| {
        let input = "-f lavfi -i testsrc2=s=40x30:r=25 -t 2";
        let line = format!("{input} -c:v libx264 -bf 0 -output_ts_offset {offset} {name}");
        ffmpeg.run(&folder, &line);
        folder.read(name)
    };
    let [late, early, gap] =
        [("1000", "a.ts"), ("0", "b.ts"), ("17", "c.ts")].map(|(offset, name)| make(offset, name));
    folder.write("back.ts", [late, early.clone()].concat());
    folder.write("gap.ts", [early, gap].concat());
    // Each part has 50 frames.
    for (file, expected) in [("back.ts", 99..=101), ("gap.ts", 474..=476)] {
        folder.words(&format!("video {file} {file} {MAP} -o p.mp4"));
        let frames = ffmpeg.probe(&folder, "p.mp4").frames();
        assert!(expected.contains(&frames), "{file}: {frames} frames");
    }
}

#[test]
fn rates_of_files_may_differ() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg
        .run(&folder, "-f lavfi -i testsrc2=s=40x30:r=25 -t 1 -c:v libx264 -pix_fmt yuv420p l.mp4");
    ffmpeg
        .run(&folder, "-f lavfi -i testsrc2=s=40x30:r=50 -t 1 -c:v libx264 -pix_fmt yuv444p r.mkv");
    let json = folder.words(&format!("video l.mp4 r.mkv {MAP} --json -o p.mov")).json();
    let counts = |camera: &serde_json::Value| {
        ["frames", "expected", "unpaired", "repeated"].map(|key| camera[key].as_u64().unwrap())
    };
    assert_eq!(
        json["cameras"].as_array().unwrap().iter().map(counts).collect::<Vec<_>>(),
        [[25, 25, 0, 0], [49, 50, 24, 0]]
    );
    assert_eq!(json["frames"], serde_json::json!({ "written": 25, "filled": 0 }));
    let probe = ffmpeg.probe(&folder, "p.mov");
    assert_eq!((probe.frames(), &probe.video()["r_frame_rate"]), (25, &"25/1".into()));
    assert!(probe.stream("audio").is_none());
    // Another output rate must not change the duration of 1 s: there are 10 frames at 10 frames per second.
    let json = folder.words(&format!("video l.mp4 r.mkv {MAP} --fps 10 --json -o p.mkv")).json();
    assert_eq!((&json["frames"]["written"], &json["rate"]), (&10.into(), &"10".into()));
}

/// Cameras lose frames, and their timestamps jitter. Each frame must be shown at its own time beside the frames of the
/// first video.
#[test]
fn rates_that_vary() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    // The level of frame n is 3n + 20.
    let make = |filter: &str, file: &str| {
        let level = "geq=lum=3*N+20:cb=128:cr=128";
        let rest = "-fps_mode vfr -c:v libx264 -qp 0 -video_track_timescale 90000";
        let input = format!("color=black:s=64x48:r=30,{level},format=yuv420p{filter}");
        ffmpeg.run(&folder, &format!("-f lavfi -i {input} -t 2 {rest} {file}"));
    };
    make("", "whole.mp4");
    make(",select=not(eq(mod(n\\,20)\\,7))", "lost.mp4");
    make(",select=lt(mod(n\\,30)\\,15)", "pauses.mp4");
    make(",setpts=(N/30+mod(N\\,3)*0.007)/TB", "jitter.mp4");
    let inputs = ["whole", "lost", "pauses", "jitter"].map(|name| {
        let path = folder.path(format!("{name}.mp4"));
        VideoInput::new(path.clone(), Medium::of_input(&path, None).unwrap())
    });
    let mut sources = VideoSource::open_all(&inputs, &Stop::default()).unwrap();
    let [whole, lost, pauses, jitter] = [0, 1, 2, 3].map(|i| {
        assert_eq!(sources[i].rate().to_string(), "30", "{:?}", inputs[i].path);
        let frames = std::iter::from_fn(|| sources[i].frame().unwrap());
        frames.map(|frame| (i32::from(frame[0]) - 20) / 3).collect::<Vec<_>>()
    });
    assert_eq!(whole, (0..60).collect::<Vec<_>>());
    let last = |n: i32, is_lost: fn(i32) -> bool| (0..=n).rev().find(|n| !is_lost(*n)).unwrap();
    assert!(whole.iter().zip(&lost).all(|(n, found)| last(*n, |n| n % 20 == 7) == *found));
    assert!(whole.iter().zip(&pauses).all(|(n, found)| last(*n, |n| n % 30 >= 15) == *found));
    assert!(whole.iter().zip(&jitter).all(|(n, found)| n == found), "{jitter:?}");
    // A slow first video is paired with the nearest frames of a fast one whose times jitter, as with a constant rate.
    ffmpeg.run(&folder, "-i whole.mp4 -vf fps=2 -c:v libx264 -qp 0 slow.mp4");
    let slow = VideoInput { path: folder.path("slow.mp4"), ..inputs[0].clone() };
    for (i, fps) in [(0, None), (3, None), (3, Some("10"))] {
        let rate = fps.map(|rate: &str| rate.parse().unwrap());
        let pair = [slow.clone(), inputs[i].clone()].map(|input| VideoInput { rate, ..input });
        let sources = VideoSource::open_all(&pair, &Stop::default()).unwrap();
        assert_eq!(sources[1].rate().to_string(), "30", "{:?}", inputs[i].path);
    }
    // The first video may lose frames, too.
    let line = format!("video pauses.mp4 whole.mp4 {MAP} --no-colour --json -o p.mkv");
    let json = folder.words(&line).json();
    assert_eq!((&json["rate"], &json["frames"]["written"]), (&"30".into(), &45.into()));
}

/// At another rate than that of the file, each panorama and each comparison uses the frame that is nearest in time.
#[test]
fn other_rates_use_the_nearest_frames() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let make = |rate: u32, number: &str| {
        let level = format!("geq=lum=3*({number})+20:cb=128:cr=128");
        let input = format!("color=black:s=64x48:r={rate},{level},format=yuv420p");
        ffmpeg.run(&folder, &format!("-f lavfi -i {input} -t 2 -c:v libx264 -qp 0 {rate}.mp4"));
    };
    make(30, "N");
    // The nearest frames of the video above. The last of 140 frames would need its frame 60, and has the last one instead.
    make(25, "floor(N*30/25+0.5)");
    make(70, "floor(N*30/70+0.5)-floor(N/139)");
    for (rate, count) in [(25, 50), (70, 140)] {
        let line = format!("compare 30.mp4 {rate}.mp4 --fps {rate} --device cpu --json");
        let json = folder.words(&line).json();
        assert_eq!((&json["identical"]["gray"], &json["frames"]), (&true.into(), &count.into()));
        let panoramas = [30, rate].map(|own| {
            let line = format!(
                "video {own}.mp4 {own}.mp4 {MAP} --no-colour --fps {rate} --frames {count} -o p.y4m"
            );
            folder.succeeds(&line);
            folder.read("p.y4m")
        });
        assert!(panoramas[0] == panoramas[1], "{rate}");
    }
}

/// ffmpeg counts the frames of a copied AVI twice, and rounds the average rate of ASF.
#[test]
fn rates_that_ffmpeg_guesses_are_not_used() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    for (rate, copy) in [("25", "copy.avi"), ("60000/1001", "copy.asf")] {
        let input = format!("testsrc2=s=64x48:r={rate}");
        ffmpeg.run(&folder, &format!("-f lavfi -i {input} -t 2 -c:v libx264 -bf 0 a.mp4"));
        ffmpeg.run(&folder, &format!("-i a.mp4 -c copy {copy}"));
        let json = folder.words(&format!("compare {copy} a.mp4 --device cpu --json")).json();
        assert_eq!(json["identical"]["gray"], true, "{copy}: {json}");
        assert_eq!(json["warnings"], serde_json::json!([]), "{copy}");
    }
}

/// ffmpeg gives frames without a timestamp the times of later frames.
#[test]
fn frames_without_timestamps_come_first() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let input = "color=black:s=64x48:r=25,geq=lum=3*N+20:cb=128:cr=128,format=yuv420p";
    ffmpeg.run(&folder, &format!("-f lavfi -i {input} -t 2 -c:v libx264 -bf 3 a.mp4"));
    for early in ["0.04", "0.4", "1"] {
        // Matroska cannot store times before 0.
        let line =
            format!("-itsoffset -{early} -i a.mp4 -c copy -avoid_negative_ts disabled {early}.mkv");
        ffmpeg.run(&folder, &line);
        let (_, frames) = frames(&folder, &format!("{early}.mkv"));
        let found: Vec<_> = frames.iter().map(|frame| (i32::from(frame[0]) - 19) / 3).collect();
        assert_eq!(found, (0..50).collect::<Vec<_>>(), "{early}");
    }
}

#[test]
fn a_damaged_video_that_ends_early_is_said_to() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 4.0);
    ffmpeg.run(&folder, "-i left.mp4 -c copy whole.mkv");
    let whole = folder.read("whole.mkv");
    folder.write("half.mkv", &whole[..whole.len() / 2]);
    let line = |left: &str| format!("video {left}.mkv {left}.mkv {MAP} --json -q -o p.mkv");
    let done = folder.succeeds(&line("half"));
    let (read, json) = (done.json()["cameras"][0]["frames"].clone(), done.json());
    assert!(read.as_u64().unwrap() < 100, "{json}");
    let said = format!("WARN half.mkv ended after {read} frames, but its stated length is about");
    assert!(done.stderr.contains(&said), "{done:?}");
    let done = folder.words(&line("whole"));
    assert_eq!((&done.json()["cameras"][0]["frames"], &*done.stderr), (&120.into(), ""));
}

/// Checks raw frames of each format beside ffmpeg: panoramas of frames in the format, and panoramas in the format, are
/// those of NV12, which ffmpeg converts to and from the format. Its chroma filters differ from averages and copies.
#[test]
fn raw_frames_of_every_format_are_those_of_ffmpeg() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let raw = |format, size| format!("-f rawvideo -pix_fmt {format} -s {size} -r 5");
    let nv12 = raw("nv12", "40x30");
    let colours = "nb_colors=2:c0=0x204080:c1=0xe0a040:x0=0:y0=0:x1=39:y1=29";
    ffmpeg.run(
        &folder,
        &format!("-f lavfi -i gradients=s=40x30:r=5:{colours} -frames:v 3 {nv12} a.nv12"),
    );
    ffmpeg.run(&folder, &format!("{nv12} -i a.nv12 -vf hflip {nv12} b.nv12"));
    let panorama = |name: &str| {
        let output = format!("p.{name}");
        let line = format!("video a.{name} b.{name} --input-size 40x30 --fps 5 {MAP} -o {output}");
        folder.quiet(&line);
        folder.read(&output)
    };
    panorama("nv12");
    for (name, theirs) in [("i420", "yuv420p"), ("yuy2", "yuyv422"), ("uyvy", "uyvy422")] {
        for camera in ["a", "b"] {
            let to = raw(theirs, "40x30");
            ffmpeg.run(&folder, &format!("{nv12} -i {camera}.nv12 {to} {camera}.{name}"));
        }
        let found = panorama(name);
        let [from, to] = ["nv12", theirs].map(|format| raw(format, "65x32"));
        ffmpeg.run(&folder, &format!("{from} -i p.nv12 {to} e.{name}"));
        let expected = folder.read(&format!("e.{name}"));
        assert_eq!(found.len(), expected.len(), "{name}");
        let apart = found.iter().zip(&expected).map(|(a, b)| f64::from(a.abs_diff(*b)));
        let mean = apart.sum::<f64>() / found.len() as f64;
        println!("{name}: {mean}");
        assert!(mean < 0.5, "{name}: {mean} levels");
    }
    // Gray frames are NV12 frames without colour, and their panoramas the luma of those.
    for camera in ["a", "b"] {
        let frames = folder.read(&format!("{camera}.nv12"));
        let luma = || frames.chunks(1800).map(|frame| &frame[..1200]);
        folder.write(&format!("{camera}.gray8"), luma().collect::<Vec<_>>().concat());
        let neutral: Vec<_> = luma().flat_map(|luma| [luma, &[128; 600]]).collect();
        folder.write(&format!("{camera}.nv12"), neutral.concat());
    }
    let size = 65 * 32;
    let expected = panorama("nv12");
    let expected: Vec<_> =
        expected.chunks(size + 33 * 16 * 2).map(|frame| &frame[..size]).collect();
    assert!(panorama("gray8") == expected.concat());
}
