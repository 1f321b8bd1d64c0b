//! Tests `panoweave compare`. The expected values for pictures are from scikit-image. The expected values for videos
//! are from comparing their frames as pictures, and from ffmpeg's PSNR. Also tests inputs that must be rejected.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave_tests::data;
use panoweave_tests::random::Random;
use serde_json::{Value, json};

use crate::Folder;
use crate::video::{Ffmpeg, flat, y4m};

/// Returns the PSNR of two pictures in dB: 10 · log10(255² / mean squared difference of the levels).
fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    10.0 * (255.0 * 255.0 / (a.iter().zip(b).map(square).sum::<f64>() / a.len() as f64)).log10()
}

/// Applies the distortion `name` from the table to the reference picture. Returns `None` for distortions that this
/// function does not implement.
fn distorted(name: &str, reference: &Picture) -> Option<Picture> {
    let each = |of: fn(f64) -> f64| {
        let level = |level: u8| of(level.into()).round_ties_even() as u8;
        let pixel = |p: &Rgba8| Rgba8::opaque(level(p.r), level(p.g), level(p.b));
        reference.pixels().iter().map(pixel).collect()
    };
    let (width, height) = (reference.width(), reference.height());
    let pixels = match name {
        "gain0.8" => each(|v| v * 0.8),
        "gamma1.25" => each(|v| 255.0 * (v / 255.0).powf(1.0 / 1.25)),
        "shift1px" => {
            let rows = reference.pixels().chunks(width as usize);
            rows.flat_map(|row| row[row.len() - 1..].iter().chain(&row[..row.len() - 1]))
                .copied()
                .collect()
        }
        _ => return None,
    };
    Picture::from_pixels(width, height, pixels)
}

#[test]
fn numbers_are_those_of_scikit_image() {
    let Some(truth) = data("ssim/river1/truth.csv") else { return };
    let folder = Folder::new();
    let reference = Picture::open(truth.with_file_name("ref.png")).unwrap();
    reference.save(folder.path("ref.png")).unwrap();
    let mut compared = 0;
    for line in std::fs::read_to_string(&truth).unwrap().lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        let file = truth.with_file_name(format!("{}.png", words[1]));
        let picture = match words[1] {
            "identical" => reference.clone(),
            name => match distorted(name, &reference) {
                Some(picture) => picture,
                None if file.exists() => Picture::open(file).unwrap(),
                // Skip this distortion: it needs an encoder, and the test data does not contain the encoded picture.
                None => continue,
            },
        };
        picture.save(folder.path("dist.png")).unwrap();
        let json = folder.quiet_json("compare ref.png dist.png --device cpu --json");
        let ssim = json["ssim_gray"].as_f64().unwrap();
        assert!((ssim - words[2].parse::<f64>().unwrap()).abs() <= 5e-5, "{line}: {ssim}");
        for (name, which, text) in [("psnr_gray", "gray", words[7]), ("psnr_rgb", "rgb", words[8])]
        {
            let infinite = text == "inf";
            assert_eq!(json["identical"][which], infinite, "{line}");
            match json[name].as_f64() {
                Some(found) => {
                    let by = (found - text.parse::<f64>().unwrap()).abs();
                    assert!(by <= 5e-6, "{line}: {name} is {found}");
                }
                None => assert!(infinite && json[name].is_null(), "{line}: {json}"),
            }
        }
        compared += 1;
    }
    assert!(compared >= 9, "{compared}");
}

#[test]
fn the_map_is_gray_and_smaller() {
    let folder = Folder::new();
    let grey = |level| Picture::filled(40, 30, Rgba8::opaque(level, level, level));
    grey(100).save(folder.path("a.png")).unwrap();
    // Only the ten leftmost columns differ.
    let mut b = grey(100);
    for row in b.pixels_mut().chunks_mut(40) {
        row[..10].fill(Rgba8::opaque(200, 200, 200));
    }
    b.save(folder.path("b.png")).unwrap();
    folder.quiet("compare a.png b.png --device cpu --map map.png");
    let bytes = folder.read("map.png");
    // The IHDR chunk of the PNG must state 30×20 pixels, a bit depth of 8, and colour type 0, which is gray.
    assert_eq!(&bytes[16..26], &[0, 0, 0, 30, 0, 0, 0, 20, 8, 0]);
    let map = folder.picture("map.png");
    // `flat` is the SSIM of two flat areas with the levels 100 and 200, from the formula of SSIM. The window of column
    // 0 of the map covers columns 0 to 10 of the pictures. All of them except column 10 differ, so the SSIM of column 0
    // is close to `flat`.
    let flat = (2.0 * 100.0 * 200.0 + 6.5025) / (100.0 * 100.0 + 200.0 * 200.0 + 6.5025);
    let levels = |row: usize| &map.pixels()[row * 30..][..30];
    for row in 0..20 {
        assert!(levels(row)[10..].iter().all(|p| p.r == 255), "{:?}", levels(row));
        assert!(levels(row)[..8].iter().all(|p| p.r < 255 && p.r == p.g && p.g == p.b));
        assert_eq!(levels(row)[..], levels(0)[..]);
    }
    assert!(f64::from(levels(0)[0].r) < 255.0 * flat + 1.0);
}

#[test]
fn prints_a_table() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.quiet("compare left.png left.png --device cpu"), @r"
    ssim_gray  1.000000
    psnr_gray  identical
    psnr_rgb   identical
    ");
    // These two pictures have the same luma but different colours, so only the PSNR of RGB is finite.
    Picture::filled(11, 11, Rgba8::opaque(100, 0, 0)).save(folder.path("red.png")).unwrap();
    Picture::filled(11, 11, Rgba8::opaque(30, 30, 30)).save(folder.path("grey.png")).unwrap();
    insta::assert_snapshot!(folder.quiet("compare red.png grey.png --device cpu"), @r"
    ssim_gray  1.000000
    psnr_gray  identical
    psnr_rgb   14.641268 dB
    ");
    let json = folder.words("compare red.png grey.png --device cpu --json").json();
    assert_eq!(json["identical"], json!({ "gray": true, "rgb": false }));
    assert_eq!((&json["psnr_gray"], &json["size"]), (&Value::Null, &json!([11, 11])));
}

#[test]
fn gates_have_an_exit_code() {
    let folder = Folder::new();
    let ssim = folder.words("compare left.png right.png --device cpu --json").json();
    let ssim = ssim["ssim_gray"].as_f64().unwrap();
    for (gate, code) in [
        (format!("{}", ssim - 1e-6), 0),
        (format!("{}", ssim + 1e-6), 5),
        (format!("ssim={}", ssim + 1e-6), 5),
        ("0".to_owned(), 0),
    ] {
        let line = format!("compare left.png right.png --device cpu --fail-below {gate}");
        let done = folder.words(&line);
        assert_eq!((done.code, done.stderr.as_str()), (Some(code), ""), "{line}");
        assert_eq!(done.stdout.contains("failed: ssim is 0."), code == 5, "{done:?}");
        let json = folder.words(&format!("{line} --json")).json();
        assert_eq!(json["failed"].as_array().unwrap().len(), usize::from(code == 5), "{json}");
        assert!(json["error"].is_null());
    }
}

/// Returns the levels of two gray videos with `frames` frames of 40×30 pixels. The first video is noise. The second one
/// has the same frames with additional noise.
fn noisy(frames: u64) -> [Vec<Vec<u8>>; 2] {
    let mut random = Random::new(3);
    let mut frame = |noise: i64, of: Option<&Vec<u8>>| -> Vec<u8> {
        (0..1200)
            .map(|i| match of {
                None => random.below(200) as u8 + 20,
                Some(of) => {
                    let by = random.below(2 * noise as usize + 1) as i64 - noise;
                    (i64::from(of[i]) + by) as u8
                }
            })
            .collect()
    };
    let a: Vec<_> = (0..frames).map(|_| frame(0, None)).collect();
    // The added noise is strongest in the third frame. The fourth frame is unchanged.
    let noise = |i: usize| [2, 4, 16, 0, 3][i % 5];
    let b = a.iter().enumerate().map(|(i, a)| frame(noise(i), Some(a))).collect();
    [a, b]
}

#[test]
fn videos_are_compared_frame_by_frame() {
    let folder = Folder::new();
    let [a, b] = noisy(5);
    folder.write("a.y4m", y4m(40, 30, "25:1", &a));
    folder.write("b.y4m", y4m(40, 30, "25:1", &b));
    let line = "compare a.y4m b.y4m --device cpu --csv f.csv --plot p.svg";
    let json = folder.quiet_json(&format!("{line} --json"));
    assert_eq!((&json["kind"], &json["frames"]), (&json!("videos"), &json!(5)));
    assert!(json["ended_first"].is_null() && json["psnr_rgb"].is_null(), "{json}");
    assert_eq!(json["psnr_gray"]["least"]["frame"], 2);
    assert_eq!(json["ssim_gray"]["least"]["frame"], 2);

    let csv = String::from_utf8(folder.read("f.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["frame", "time", "ssim_gray", "psnr_gray"]);
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    let mut squares = 0.0;
    for n in 0..5 {
        assert_eq!((number(n + 1, 0), number(n + 1, 1)), (n as f64, n as f64 / 25.0));
        let exact = psnr(&a[n], &b[n]);
        squares += 10.0_f64.powf(-exact / 10.0) / 5.0;
        assert!(number(n + 1, 3) == exact || (number(n + 1, 3) - exact).abs() < 1e-6, "{csv}");
        // The SSIM of this frame must equal the SSIM of two pictures with the same levels.
        for (name, levels) in [("a.png", &a[n]), ("b.png", &b[n])] {
            let pixels = levels.iter().map(|&level| Rgba8::opaque(level, level, level)).collect();
            Picture::from_pixels(40, 30, pixels).unwrap().save(folder.path(name)).unwrap();
        }
        let pictures = folder.words("compare a.png b.png --device cpu --json").json();
        let ssim = pictures["ssim_gray"].as_f64().unwrap();
        assert!((number(n + 1, 2) - ssim).abs() < 1e-8, "{n}: {ssim}, {csv}");
    }
    assert!(rows[4][3] == "inf" && number(4, 2) == 1.0, "{csv}");
    let mean = json["psnr_gray"]["mean"].as_f64().unwrap();
    assert!((mean + 10.0 * squares.log10()).abs() < 1e-9, "{mean}");
    let ssim = (1..6).map(|row| number(row, 2)).sum::<f64>() / 5.0;
    assert!((json["ssim_gray"]["mean"].as_f64().unwrap() - ssim).abs() < 1e-8, "{json}");

    let svg = String::from_utf8(folder.read("p.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for part in
        ["b.y4m against a.y4m", "SSIM, gray", "PSNR, gray, in dB", "time in s", "in frame 2"]
    {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    let table = folder.quiet("compare a.y4m b.y4m --device cpu");
    assert!(table.starts_with("frames     5\nssim_gray  mean 0."), "{table}");
    assert!(table.contains("in frame 2\npsnr_gray  mean "), "{table}");

    // `--fail-below` must compare the limit with the SSIM of the worst frame, not with the mean.
    let worst = number(3, 2);
    for (least, code) in [(worst - 1e-6, 0), (worst + 1e-6, 5)] {
        let done = folder.words(&format!("compare a.y4m b.y4m --device cpu --fail-below {least}"));
        assert_eq!(done.code, Some(code), "{done:?}");
    }
}

#[test]
fn the_same_video_is_identical() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", 0..9));
    let done = folder.succeeds("compare a.y4m a.y4m --device cpu --json --plot p.svg --csv f.csv");
    let json = done.json();
    assert_eq!(json["identical"], json!({ "gray": true, "rgb": null }));
    assert_eq!(
        json["psnr_gray"],
        json!({ "mean": null, "least": { "value": null, "frame": null } })
    );
    assert!(String::from_utf8(folder.read("p.svg")).unwrap().contains(">identical<"));
}

#[test]
fn the_shorter_video_ends_it() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", 0..9));
    folder.write("b.y4m", flat("30:1", 0..7));
    for (line, ended, says) in [
        ("a.y4m b.y4m", "distorted", "b.y4m ended after 7 frames, before a.y4m"),
        ("b.y4m a.y4m", "reference", "b.y4m ended after 7 frames, before a.y4m"),
    ] {
        let done = folder.succeeds(&format!("compare {line} --device cpu --json"));
        let json = done.json();
        assert_eq!((&json["frames"], &json["ended_first"]), (&json!(7), &json!(ended)));
        assert!(done.stderr.contains(says), "{done:?}");
    }
}

#[test]
fn numbered_pictures_and_raw_frames_have_colours() {
    let folder = Folder::new();
    let mut raw = Vec::new();
    for n in 0..3 {
        crate::pattern(n).save(folder.path(format!("a{n}.png"))).unwrap();
        raw.extend(bytemuck::cast_slice::<_, u8>(crate::pattern(n + 1).pixels()).to_vec());
    }
    folder.write("b.rgba", raw);
    let line = "compare a%d.png b.rgba --input-size 40x30 --fps 10 --device cpu --csv f.csv --json";
    let json = folder.quiet_json(line);
    assert!(json["psnr_rgb"]["mean"].as_f64().is_some_and(|psnr| psnr > 5.0), "{json}");
    let csv = String::from_utf8(folder.read("f.csv")).unwrap();
    assert!(csv.starts_with("frame,time,ssim_gray,psnr_gray,psnr_rgb\n0,0.000000,"), "{csv}");
    crate::pattern(1).save(folder.path("p.png")).unwrap();
    let pictures = folder.words("compare a0.png p.png --device cpu --json").json();
    let first: Vec<f64> =
        csv.lines().nth(1).unwrap().split(',').map(|word| word.parse().unwrap()).collect();
    for (i, name) in [(2, "ssim_gray"), (3, "psnr_gray"), (4, "psnr_rgb")] {
        assert!((first[i] - pictures[name].as_f64().unwrap()).abs() < 1e-6, "{name}: {csv}");
    }
}

#[test]
fn files_of_ffmpeg_are_compared() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.run(
        &folder,
        "-f lavfi -i testsrc2=s=64x48:r=30 -t 0.5 -pix_fmt yuv420p -c:v libx264 -qp 0 a.mp4",
    );
    ffmpeg.run(&folder, "-i a.mp4 -c:v libx264 -crf 40 b.mp4");
    let line = "compare a.mp4 b.mp4 --device cpu --json";
    let json = folder.words(line).json();
    let found = json["psnr_gray"]["mean"].as_f64().unwrap();
    // The result must equal the PSNR of luma that ffmpeg computes.
    let said = ffmpeg.output(&folder, "-v info -i b.mp4 -i a.mp4 -lavfi psnr -f null -");
    let said = String::from_utf8(said.stderr).unwrap();
    let exact = said.split("PSNR y:").nth(1).unwrap().split(' ').next().unwrap();
    assert!((found - exact.parse::<f64>().unwrap()).abs() < 1e-5, "{found} is {exact}");
    assert_eq!(json["frames"], 15);
    // Compare the video with numbered pictures of its own frames. For this comparison, ffmpeg converts the video to
    // RGBA, the format of the pictures.
    ffmpeg.run(&folder, "-i a.mp4 f%03d.png");
    let json = folder.words("compare a.mp4 f%03d.png --fps 30 --device cpu --json").json();
    assert!(json["psnr_rgb"]["mean"].as_f64().is_none_or(|psnr| psnr > 40.0), "{json}");
}

#[test]
fn what_cannot_be_compared() {
    let folder = Folder::new();
    Picture::filled(1, 1, Rgba8::BLACK).save(folder.path("one.png")).unwrap();
    Picture::filled(11, 11, Rgba8::BLACK).save(folder.path("eleven.png")).unwrap();
    folder.write("a.y4m", flat("30:1", 0..2));
    folder.write("small.y4m", y4m(20, 10, "30:1", &[vec![0; 200]]));
    folder.write("wide.y4m", y4m(42, 30, "30:1", &[vec![0; 1260]]));
    folder.write("none.y4m", "YUV4MPEG2 W40 H30 F30:1 Ip C420 XCOLORRANGE=FULL\n");
    folder.write("a.rgba", [0; 4800]);
    folder.write("p.svg", "");
    std::os::unix::fs::symlink("p.svg", folder.path("link.csv")).unwrap();
    folder.write("a.webp", b"RIFF\x10\0\0\0WEBPVP8 ");
    folder.picture("left.png").save(folder.path("a.jpg")).unwrap();
    std::fs::rename(folder.path("a.jpg"), folder.path("a.mpo")).unwrap();
    for pair in ["eleven.png eleven.png", "a.mpo left.png"] {
        folder.succeeds(&format!("compare {pair} --device cpu"));
    }
    folder.refuses("compare @ --device cpu", "",r"
        one.png one.png | input | one.png and one.png: ssim: the pictures are 1×1 pixels; they must be at least 11×11
        left.png eleven.png | input | the second picture is 11×11 pixels; it must be 40×30
        a.webp left.png | input | a.webp: the format WEBP is not supported; convert the picture
        left.png missing.png | input | missing.png: cannot be read
        rig.toml missing.mp4 | input | rig.toml: 
        left.png a.y4m | input | left.png: it is a picture, but a.y4m is a video
        a.y4m left.png | input | left.png: it is a picture, but a.y4m is a video
        a.y4m wide.y4m | input | 40×30 pixels in the first video but 42×30
        small.y4m small.y4m | input | the pictures are 20×10 pixels
        a.y4m none.y4m | input | none.y4m: no frames
        a.y4m missing.y4m | input | missing.y4m: cannot be read
        a.y4m a.rgba --input-size 40x30 --fps 3 | input | ; convert one of them
        a.y4m a%d.png | input | set `fps`
        - - | usage | only one of the videos
        - /dev/stdin --input-format y4m | usage | two of the videos are the same pipe
        left.png right.png --csv f.csv | usage | --csv and --plot require videos
        left.png right.png --plot f.svg | usage | --csv and --plot require videos
        a.y4m a.y4m --map m.png | usage | --map requires pictures
        left.png right.png --fail-below 2 | usage | a score from 0 to 1
        left.png right.png --fail-below nan | usage | a score from 0 to 1
        left.png right.png --fail-below seam=0.4 | usage | there is no score seam
        left.png right.png --map right.png | output | it is an input too
        left.png right.png --map m.jpg | output | must end in .png
        left.png right.png --map no/m.png | output | does not exist
        a.y4m a.y4m --csv a.y4m | output | it is an input too
        a.y4m a.y4m --plot p.png | output | must end in .svg
        a.y4m a.y4m --plot p.svg --csv p.svg | output | two outputs
        a.y4m a.y4m --plot p.svg --csv link.csv | output | two outputs
    ");
    assert_eq!(folder.words("compare left.png left.png --device cuda:0").code, Some(3));
}

/// Checks that a header alone does not make `compare` allocate frames: the address space is limited to 1.2 GB, and four
/// frames of this size have 1.6 GB.
#[test]
fn a_header_without_frames_takes_no_memory() {
    let folder = Folder::new();
    folder.write("none.y4m", "YUV4MPEG2 W16384 H16384 F30:1 C420jpeg\n");
    let program = env!("CARGO_BIN_EXE_panoweave");
    let script = format!(
        "ulimit -v 1200000; exec {program} compare none.y4m none.y4m --device cpu --max-input-pixels 300000000"
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(folder.path(""));
    let done = crate::Done::from(command.output().unwrap());
    insta::assert_snapshot!(done.stderr, @"error: none.y4m: no frames; use a video or picture sequence with at least one frame");
    assert_eq!(done.code, Some(2));
}

#[test]
fn an_input_video_has_limits() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", [50, 60]));
    for (limit, part) in [
        ("--max-input-pixels 1199", "40×30 pixels, but at most 1199 pixels are allowed; raise"),
        ("--max-input-pixels 1200", ""),
    ] {
        let done = folder.words(&format!("compare a.y4m a.y4m --device cpu {limit}"));
        assert_eq!(done.code == Some(2), !part.is_empty(), "{done:?}");
        assert!(done.stderr.contains(part), "{done:?}");
    }
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    ffmpeg.pair(&folder, 2.0);
    for (limit, part) in [
        ("--max-input-streams 0", "streams, but at most 0 are allowed; raise"),
        ("--max-input-seconds 1", "s, but at most 1 s are allowed; raise"),
        ("--max-input-pixels 10", "raise `max-input-pixels`"),
    ] {
        let done = folder.words(&format!("compare left.mp4 left.mp4 --device cpu {limit}"));
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("left.mp4: ") && done.stderr.contains(part), "{done:?}");
    }
}
