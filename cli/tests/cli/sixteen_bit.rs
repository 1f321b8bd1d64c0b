//! Tests `panoweave stitch` on PNG files with 16 bits per channel: exact levels, mixed depths, `--depth`, the printed
//! and machine-readable output, and files that ffmpeg writes and reads.

use image::{DynamicImage, ImageBuffer};
use panoweave::frame::Rgba8;
use panoweave::io::picture::{Picture, Rgba16, StoredPicture};
use serde_json::json;

use crate::video::Ffmpeg;
use crate::{Folder, pattern};

const BASE: &str = "stitch left.png right.png --device cpu -o out.png";

/// Returns a folder whose pictures have 16 bits per channel: the 8-bit levels plus 100 steps.
fn folder() -> Folder {
    let folder = Folder::new();
    for side in ["left.png", "right.png"] {
        let mut deep = folder.picture(side).to_depth::<Rgba16>();
        for pixel in deep.pixels_mut() {
            let add = |level: u16| level.saturating_add(100);
            *pixel = Rgba16::opaque(add(pixel.r), add(pixel.g), add(pixel.b));
        }
        deep.save(folder.path(side)).unwrap();
    }
    folder
}

/// Returns the picture in a file, which must have 16 bits per channel.
fn deep(folder: &Folder, name: &str) -> Picture<Rgba16> {
    match StoredPicture::open(folder.path(name)).unwrap() {
        StoredPicture::Rgba16(picture) => picture,
        StoredPicture::Rgba8(_) => panic!("{name} has 8 bits"),
    }
}

/// Asserts that a panorama with 16 bits is within half an 8-bit level, and the rounding of `offset` steps, of one with
/// 8.
fn assert_close(deep: &Picture<Rgba16>, eight: &Picture, offset: f64) {
    assert_eq!(deep.size(), eight.size());
    for (deep, eight) in deep.pixels().iter().zip(eight.pixels()) {
        if *eight == Rgba8::BLACK {
            continue;
        }
        for (deep, eight) in [deep.r, deep.g, deep.b].into_iter().zip([eight.r, eight.g, eight.b]) {
            let off = f64::from(deep) - 257.0 * f64::from(eight) - offset;
            assert!(off.abs() < 130.0 + offset, "{deep} and {eight}");
        }
    }
}

/// The `image` crate writes a ramp with all 65,536 levels. The program must write them again outside the overlap.
#[test]
fn a_ramp_passes_through_the_program() {
    let folder = Folder::new();
    let level = |x: u32, y: u32| (4 * x + y) as u16;
    let ramp = ImageBuffer::from_fn(16_384, 4, |x, y| {
        image::Rgb([level(x, y), 65_535 - level(x, y), level(x, y) / 2])
    });
    DynamicImage::ImageRgb16(ramp.clone()).save(folder.path("left.png")).unwrap();
    DynamicImage::ImageRgb16(ramp.clone()).save(folder.path("right.png")).unwrap();
    folder.write("shift.txt", "1 0 16376\n0 1 0\n0 0 1\n");
    for options in ["", "--blend feather --lookup planes", "--blend seam --feather 2"] {
        let line = format!("--json {BASE} --homography shift.txt {options}");
        let json = folder.quiet_json(&line);
        assert_eq!((&json["depth"], &json["conversions"]), (&json!(16), &json!([])));
        let panorama = image::open(folder.path("out.png")).unwrap();
        let DynamicImage::ImageRgba16(panorama) = panorama else { panic!("16 bits") };
        assert_eq!(panorama.dimensions(), (16_376 + 16_384, 4));
        for (x, y, pixel) in panorama.enumerate_pixels() {
            if (16_376..16_384).contains(&x) {
                continue;
            }
            let [r, g, b] = ramp.get_pixel(if x < 16_384 { x } else { x - 16_376 }, y).0;
            assert_eq!(pixel.0, [r, g, b, 65_535], "{options}: {x}, {y}");
        }
    }
}

/// Blends, lookups, colours and orientations give the 8-bit panorama with more levels.
#[test]
fn options_reach_the_kernels() {
    let folder = folder();
    let stitch = |options: &str| folder.quiet(&format!("{BASE} --rig rig.toml {options}"));
    for options in [
        "--blend feather",
        "--blend feather --flip --edge-boost --lookup planes",
        "--blend feather --gain 0.8 --gain 1 --gamma 1 --gamma 1.2 --lookup planes",
        "--blend feather --crop",
    ] {
        stitch(options);
        let found = deep(&folder, "out.png");
        let levels = found.pixels().iter().filter(|pixel| pixel.g % 257 != 0).count();
        assert!(levels > found.pixels().len() / 2, "{options}: {levels}");
        let done = folder.words(&format!("{BASE} --rig rig.toml --depth 8 {options}"));
        assert_eq!(done.code, Some(0));
        // The 8-bit pictures are darker by up to 100 steps, which a boost multiplies by 1.35 and a gamma by 2.
        assert_close(&found, &folder.picture("out.png"), 100.0);
    }
    for options in ["--blend multiband", "--match-colour", "--blend seam --match-colour --flip"] {
        stitch(options);
        let found = deep(&folder, "out.png");
        let levels = found.pixels().iter().filter(|pixel| pixel.g % 257 != 0).count();
        assert!(levels > found.pixels().len() / 2, "{options}: {levels}");
    }
}

#[test]
fn depths_can_be_mixed() {
    let folder = folder();
    // Only one picture has 16 bits.
    pattern(91).save(folder.path("right.png")).unwrap();
    let shift = "--homography shift.txt --blend feather";
    folder.quiet(&format!("{BASE} {shift}"));
    let found = deep(&folder, "out.png");
    let (left, right) = (deep(&folder, "left.png"), pattern(91).to_depth::<Rgba16>());
    for y in 0..30 {
        for x in 0..25 {
            assert_eq!(found.pixels()[y * 65 + x], left.pixels()[y * 40 + x]);
            let mirrored = found.pixels()[(31 - y) * 65 + 64 - x];
            assert_eq!(mirrored, right.pixels()[(29 - y) * 40 + 39 - x]);
        }
    }
    // Three pictures are added in the same way.
    folder.write("three.toml", three());
    let line = "stitch left.png right.png left.png --rig three.toml --device cpu -o three.png";
    folder.quiet(line);
    assert!(deep(&folder, "three.png").pixels().iter().any(|pixel| pixel.g % 257 == 100));
}

/// Returns a rig with three cameras.
fn three() -> String {
    let third = crate::RIG.rsplit_once("[[camera]]").unwrap().1.replace("right", "third");
    let third = third.replace("yaw = 20.0", "yaw = 0.0");
    format!("{}\n[[camera]]{third}", crate::RIG)
}

#[test]
fn masks_apply_to_sixteen_bits() {
    let folder = folder();
    let mut mask = Picture::filled(40, 30, Rgba8::opaque(255, 255, 255));
    mask.pixels_mut().iter_mut().step_by(40).for_each(|pixel| *pixel = Rgba8::BLACK);
    mask.save(folder.path("mask.png")).unwrap();
    folder.quiet(&format!("{BASE} --homography shift.txt --mask mask.png"));
    let found = deep(&folder, "out.png");
    assert!((0..30).all(|y| found.pixels()[y * 65] == Rgba16::BLACK));
    assert!((0..30).all(|y| found.pixels()[y * 65 + 2] != Rgba16::BLACK));
}

/// A JPEG output or `--depth 8` reduces the pictures, which is reported. `--depth 16` widens 8-bit pictures.
#[test]
fn reductions_are_reported() {
    let folder = folder();
    for line in [
        format!("{BASE} --rig rig.toml --depth 8"),
        "stitch left.png right.png --device cpu -o out.jpg --rig rig.toml".to_owned(),
    ] {
        let done = folder.words(&format!("--json {line}"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(done.stderr, @r"
             WARN left.png: 16-bit samples are rounded to 8 bits
             WARN right.png: 16-bit samples are rounded to 8 bits
            ");
        }
        let json = done.json();
        assert_eq!(json["depth"], 8);
        assert_eq!(json["conversions"][1]["input"], "right.png");
        assert_eq!(json["conversions"][1]["kind"], "depth");
    }
    assert_eq!(StoredPicture::open(folder.path("out.png")).unwrap().bits(), 8);

    let eight = Folder::new();
    let line = format!("--json {BASE} --rig rig.toml --blend feather");
    assert_eq!(eight.words(&line).json()["depth"], 8);
    let panorama = eight.picture("out.png");
    assert_eq!(eight.words(&format!("{line} --depth 16")).json()["depth"], 16);
    assert_close(&deep(&eight, "out.png"), &panorama, 0.0);
}

/// A PNG chunk that states BT.2020 primaries and PQ.
const PQ: &[u8] = b"\0\0\0\x04cICP\x09\x10\0\x01\x4d\x23\x23\xfe";

/// A colour space is lost at every depth and by every command, which is reported.
#[test]
fn a_lost_colour_space_is_reported() {
    let folder = folder();
    let mut file = folder.read("left.png");
    // The signature has 8 bytes, and the first chunk has 25.
    file.splice(33..33, PQ.iter().copied());
    folder.write("left.png", file);
    let said = "left.png: BT.2020 primaries and the PQ transfer function: treated as sRGB";
    for (line, kinds) in [
        (format!("{BASE} --rig rig.toml"), &["colour_space"][..]),
        (format!("{BASE} --rig rig.toml --depth 8"), &["colour_space", "depth", "depth"]),
        ("compare left.png left.png --device cpu".to_owned(), &["colour_space", "depth"].repeat(2)),
    ] {
        let done = folder.words(&format!("--json {line}"));
        assert!(done.code == Some(0) && done.stderr.contains(said), "{line}: {done:?}");
        let json = done.json();
        let found: Vec<_> =
            json["conversions"].as_array().unwrap().iter().map(|it| it["kind"].clone()).collect();
        assert_eq!(found, kinds, "{line}");
    }
}

/// Pictures with 16 bits are calibrated by their upper 8 bits, and stitched with all of them.
#[test]
fn pictures_without_a_rig_are_calibrated() {
    let folder = crate::calibrate::folder();
    let line = format!("--json {BASE} --model homography");
    let eight = folder.words(&line).json();
    for side in ["left.png", "right.png"] {
        folder.picture(side).to_depth::<Rgba16>().save(folder.path(side)).unwrap();
    }
    let json = folder.quiet_json(&line);
    assert_eq!((&eight["depth"], &json["depth"]), (&json!(8), &json!(16)));
    for key in ["calibration", "size", "response", "cameras"] {
        assert_eq!(json[key], eight[key], "{key}");
    }
    deep(&folder, "out.png");
}

#[test]
fn refusals() {
    let folder = folder();
    let done = folder.words("stitch left.png right.png -o out.jpg --rig rig.toml --depth 16");
    assert_eq!(done.code, Some(2));
    insta::assert_snapshot!(done.stderr, @"error: `depth` 16 requires a .png output, because JPEG has 8 bits; remove it, or change the output");
    folder.fails(&format!("{BASE} --rig rig.toml --depth 10"), "[possible values: 8, 16]");
    // Other commands reduce the pictures, and report it.
    let done = folder.words("features left.png --device cpu");
    assert!(done.stderr.contains("WARN left.png: 16-bit samples are rounded to 8 bits"));
}

/// ffmpeg writes the pictures and reads the panorama.
#[test]
fn files_of_ffmpeg_keep_their_levels() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let picture = |seed: u32| -> Vec<u16> {
        (0..40 * 30 * 3).map(|i: u32| (i * 7919 + seed * 104_729) as u16).collect()
    };
    let (left, right) = (picture(1), picture(2));
    for (name, samples) in [("left", &left), ("right", &right)] {
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        folder.write(&format!("{name}.raw"), bytes);
        ffmpeg.run(
            &folder,
            &format!("-f rawvideo -pix_fmt rgb48le -s 40x30 -i {name}.raw -frames:v 1 {name}.png"),
        );
    }
    folder.quiet(&format!("{BASE} --homography shift.txt"));
    ffmpeg.run(&folder, "-i out.png -f rawvideo -pix_fmt rgba64le out.raw");
    let bytes = folder.read("out.raw");
    assert_eq!(bytes.len(), 65 * 32 * 8);
    let sample = |at: usize| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
    let pixel = |x: usize, y: usize| [0, 1, 2, 3].map(|c| sample((y * 65 + x) * 4 + c));
    let source = |of: &[u16], x: usize, y: usize| [0, 1, 2].map(|c| of[(y * 40 + x) * 3 + c]);
    for y in 0..30 {
        for x in 0..25 {
            assert_eq!(pixel(x, y)[..3], source(&left, x, y));
            assert_eq!(pixel(64 - x, 31 - y)[..3], source(&right, 39 - x, 29 - y));
            assert_eq!(pixel(x, y)[3], 65_535);
        }
    }
}
