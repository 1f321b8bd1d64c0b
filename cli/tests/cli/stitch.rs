//! Tests `panoweave stitch` on 40×30 pictures. Compares the panorama's pixels with the pictures' pixels, and checks the
//! options, the printed output, warnings and signals.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;

use crate::{Done, Folder};

const BASE: &str = "stitch left.png right.png --device cpu";

/// The pictures of a rig are added to sums, and those of a warp are one stitch, so both round differently.
#[test]
fn a_rig_its_warp_file_and_its_planes_give_the_same_panorama() {
    let folder = Folder::new();
    folder.quiet(&format!("{BASE} --rig rig.toml -o direct.png"));
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    folder.export_planes("rig.safetensors");
    folder.quiet(&format!("{BASE} --warp rig.safetensors -o file.png"));
    folder.quiet(&format!("{BASE} --warp planes --size 64x32 -o planes.png"));
    assert!(folder.read("file.png") == folder.read("planes.png"));
    let (direct, file) = (folder.picture("direct.png"), folder.picture("file.png"));
    assert_eq!((direct.width(), direct.height()), (64, 32));
    assert_eq!((file.width(), file.height()), (64, 32));
    let channels = |pixel: &Rgba8| [pixel.r, pixel.g, pixel.b, pixel.a];
    let pairs = direct.pixels().iter().zip(file.pixels());
    let pairs = pairs.flat_map(|(a, b)| channels(a).into_iter().zip(channels(b)));
    let differences: Vec<u8> = pairs.map(|(a, b)| a.abs_diff(b)).collect();
    assert!(differences.iter().all(|levels| *levels <= 1));
    let count = differences.iter().filter(|levels| **levels > 0).count();
    assert!(count * 100 < differences.len(), "{count} levels differ");
}

#[test]
fn a_homography_leaves_the_left_picture_as_it_is() {
    let folder = Folder::new();
    folder.quiet(&format!("{BASE} --homography shift.txt -o pano.png"));
    let (panorama, left, right) =
        (folder.picture("pano.png"), folder.picture("left.png"), folder.picture("right.png"));
    assert_eq!((panorama.width(), panorama.height()), (65, 32));
    let at = |x: usize, y: usize| panorama.pixels()[y * 65 + x];
    for y in 0..30 {
        for x in 0..25 {
            assert_eq!(at(x, y), left.pixels()[y * 40 + x]);
            assert_eq!(at(64 - x, 31 - y), right.pixels()[(29 - y) * 40 + 39 - x]);
        }
    }
    // Neither picture covers the panorama's bottom left corner.
    assert_eq!(at(0, 31), Rgba8::BLACK);
}

/// A limit on the file size ends the command with an error, and leaves no temporary file.
#[test]
fn a_file_that_is_too_large_is_an_error() {
    let folder = Folder::new();
    let panoweave = env!("CARGO_BIN_EXE_panoweave");
    let script = format!("ulimit -f 1; exec {panoweave} {BASE} --rig rig.toml -o out.png");
    let mut shell = std::process::Command::new("sh");
    let done =
        Done::from(shell.current_dir(folder.path("")).args(["-c", &script]).output().unwrap());
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("out.png: cannot be written: File too large"), "{done:?}");
    let names = std::fs::read_dir(folder.path("")).unwrap();
    let names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{names:?}");
}

#[test]
fn prints_one_line() {
    let folder = Folder::new();
    let line = folder.quiet(&format!("{BASE} --homography shift.txt -o pano.png"));
    let (start, end) = line.split_once(" seen by several cameras, ").unwrap();
    insta::assert_snapshot!(start, @"pano.png: 65×32 pixels, 95.2 % filled, 20.2 %");
    assert!(end.ends_with(" ms on CPU\n"), "{line:?}");
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn json_has_everything() {
    let folder = Folder::new();
    let json = folder.quiet_json(&format!("{BASE} --json --homography shift.txt -o pano.png"));
    assert_eq!(json["output"], "pano.png");
    assert_eq!(json["size"], serde_json::json!([65, 32]));
    assert_eq!(json["device"], "CPU");
    for stage in ["load", "stitch", "save"] {
        assert!(json["times_ms"][stage].as_f64().is_some_and(|ms| ms > 0.0), "{stage}: {json}");
    }
    // The panorama has 65 × 32 pixels. Each camera covers 1200 of them, and both cameras overlap in 15 × 28 of them.
    let share = |count: f64| count / (65.0 * 32.0);
    for (name, count) in [
        ("/cameras/0/coverage", 1200.0),
        ("/cameras/1/coverage", 1200.0),
        ("/overlap", 420.0),
        ("/coverage", 1980.0),
    ] {
        let found = json.pointer(name).unwrap().as_f64().unwrap();
        assert!((found - share(count)).abs() < 1e-12, "{name}: {json}");
    }
}

#[test]
fn one_camera_makes_a_panorama() {
    let folder = Folder::new();
    folder.write("one.toml", crate::RIG.rsplit_once("[[camera]]").unwrap().0);
    let line = "--rig one.toml --match-colour -o one.png --device cpu --json";
    let done = folder.words(&format!("stitch left.png {line}"));
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let cameras = done.json()["cameras"].clone();
    assert_eq!(cameras.as_array().unwrap().len(), 1, "{cameras}");
    // With a second camera, the first tenth of the panorama shows only the first one.
    let line =
        line.replace("one.", "two.").replace("two.toml", "rig.toml").replace("--match-colour", "");
    folder.quiet(&format!("stitch left.png right.png {line}"));
    let (one, two) = (folder.picture("one.png"), folder.picture("two.png"));
    let rows = one.pixels().chunks(64).zip(two.pixels().chunks(64));
    assert!(rows.clone().any(|(one, _)| one[5] != Rgba8::BLACK));
    assert!(rows.into_iter().all(|(one, two)| one[..7] == two[..7]));
}

#[test]
fn options_reach_the_kernel() {
    let folder = Folder::new();
    let stitch = |options: &str| {
        // A seam would depend on the colours.
        folder.quiet(&format!("{BASE} --rig rig.toml -o out.png --blend feather {options}"));
        folder.picture("out.png").into_pixels()
    };
    let plain = stitch("");

    let mut turned = stitch("--flip");
    turned.reverse();
    assert_eq!(turned, plain);

    assert_eq!(stitch("--gain 1 --gain 1,1,1 --gamma 1 --gamma 1"), plain);
    let black = stitch("--gain 0 --gain 0,0,0");
    assert!(black.iter().all(|&pixel| pixel == Rgba8::BLACK));
    let red = stitch("--gain 1,0,0 --gain 1,0,0");
    assert!(red.iter().zip(&plain).all(|(red, plain)| *red == Rgba8::opaque(plain.r, 0, 0)));
    // A gain for the left camera must not change pixels that only the right camera covers.
    let left_dark = stitch("--gain 0 --gain 1");
    let middle = |row: usize, x: usize| row * 64 + x;
    assert_eq!(left_dark[middle(16, 8)], Rgba8::BLACK);
    assert_eq!(left_dark[middle(16, 55)], plain[middle(16, 55)]);

    let fast = stitch("--gamma 0.5 --gamma 0.5 --lookup mesh");
    let exact = stitch("--gamma 0.5 --gamma 0.5 --lookup planes");
    let mut brighter = 0;
    for ((fast, exact), plain) in fast.iter().zip(&exact).zip(&plain) {
        assert!(fast.g.abs_diff(exact.g) <= 1);
        brighter += usize::from(exact.g > plain.g);
    }
    assert!(brighter > 500, "{brighter}");

    let boosted = stitch("--edge-boost");
    assert!(boosted[middle(16, 1)].b > plain[middle(16, 1)].b);
    assert_eq!(boosted[middle(16, 32)], plain[middle(16, 32)]);
}

#[test]
fn a_seam_is_the_default() {
    let folder = Folder::new();
    let stitch = |options: &str| {
        folder.quiet(&format!("{BASE} --homography shift.txt -o out.png {options}"));
        folder.picture("out.png").into_pixels()
    };
    let feathered = stitch("--blend feather");
    let seamed = stitch("");
    assert_ne!(seamed, feathered);
    assert_eq!(stitch("--blend seam --feather 16"), seamed);
    // If the fade across the seam is one pixel wide, most pixels of the overlap equal those of one of the cameras.
    let narrow = stitch("--blend seam --feather 1");
    assert_ne!(narrow, seamed);
    let (left, right) = (folder.picture("left.png"), folder.picture("right.png"));
    let one = (2..30).flat_map(|y| (25..40).map(move |x| (x, y))).filter(|(x, y)| {
        let (x, y) = (*x as usize, *y as usize);
        let shown = narrow[y * 65 + x];
        shown == left.pixels()[y * 40 + x] || shown == right.pixels()[(y - 2) * 40 + x - 25]
    });
    let one = one.count();
    assert!(one > 28 * 15 * 2 / 3, "{one}");
    // Outside the overlap, a seam changes nothing.
    for (at, pixel) in feathered.iter().enumerate() {
        let (x, y) = (at % 65, at / 65);
        if !((25..40).contains(&x) && (2..30).contains(&y)) {
            assert_eq!(seamed[at], *pixel, "{x}, {y}");
        }
    }
}

#[test]
fn a_picture_inside_another_one_needs_no_warning() {
    let folder = Folder::new();
    folder.write("inside.txt", "0.5 0 10\n0 0.5 7\n0 0 1\n");
    let line = format!("{BASE} --homography inside.txt -o out.png");
    folder.quiet(&line);
    // The pictures differ everywhere, so the cheapest cut shows only the left one, which covers everything.
    let (panorama, left) = (folder.picture("out.png"), folder.picture("left.png"));
    assert_eq!(panorama.size(), left.size());
    for (made, left) in panorama.pixels().iter().zip(left.pixels()) {
        assert!(made.g.abs_diff(left.g) <= 1, "{made:?} {left:?}");
    }

    let usage = |options: &str, says: &str| {
        folder.fails(&format!("{line} {options}"), says);
    };
    usage("--blend feather --feather 9", "set `blend` to seam, too");
    usage("--blend seam --feather 0", "from 1 to 1000");
    usage("--blend seam --levels 3", "set `blend` to multiband, too");
    usage("--blend multiband --levels 7", "a whole number from 1 to 6");
    usage("--match-colour --gain 1.2", "cannot be used with");
}

/// Two pictures of equal content but different brightness: multiband blending makes the step smaller.
#[test]
fn multiband_blending_reduces_a_step() {
    let folder = Folder::new();
    for (name, level) in [("left.png", 90), ("right.png", 130)] {
        let pixels = vec![Rgba8::opaque(level, level, level); 120 * 60];
        Picture::from_pixels(120, 60, pixels).unwrap().save(folder.path(name)).unwrap();
    }
    folder.write("shift.txt", "1 0 60\n0 1 0\n0 0 1\n");
    let step = |options: &str| {
        folder.quiet(&format!("{BASE} --homography shift.txt -o out.png {options}"));
        let panorama = folder.picture("out.png");
        let row = &panorama.pixels()[30 * panorama.width() as usize..][..panorama.width() as usize];
        row.windows(2).map(|pair| pair[0].g.abs_diff(pair[1].g)).max().unwrap()
    };
    let (seam, multiband) =
        (step("--blend seam --feather 1"), step("--blend multiband --levels 3"));
    assert!(seam > 30 && multiband < seam / 2, "{seam}, {multiband}");
    assert_ne!(step("--blend multiband --levels 1"), multiband);
}

/// The second picture is displaced by 4 rows against the homography. A refined blend shows the texture once.
#[test]
fn a_refinement_moves_the_pictures_together() {
    let folder = Folder::new();
    for (name, x, y) in [("left.png", 0.0, 4.0), ("right.png", 80.0, 0.0)] {
        let pixel = |i: usize| {
            let (x, y) = ((i % 200) as f64 + x, (i / 200) as f64 + y);
            let waves = [(0.5, 0.2), (-0.2, 0.45), (0.31, -0.4), (0.1, 0.62)];
            let level =
                128.0 + 28.0 * waves.map(|(a, b)| (a * x + b * y).sin()).iter().sum::<f64>();
            Rgba8::opaque(level as u8, level as u8, level as u8)
        };
        let picture = Picture::from_pixels(200, 120, (0..200 * 120).map(pixel).collect()).unwrap();
        picture.save(folder.path(name)).unwrap();
    }
    folder.write("shift.txt", "1 0 80\n0 1 0\n0 0 1\n");
    let [before, after, limited] = ["", "--refine", "--refine=1"].map(|refine| {
        folder.quiet(&format!("{BASE} --homography shift.txt -o out.png --blend feather {refine}"));
        let panorama = folder.picture("out.png");
        let inner = (30..90).flat_map(|y| (110..170).map(move |x| y * 280 + x));
        inner.map(|at| (f64::from(panorama.pixels()[at].g) - 128.0).powi(2)).sum::<f64>()
    });
    assert!(after > 1.5 * before && limited < 1.3 * before, "{before}, {after}, {limited}");
}

#[test]
fn colours_are_matched() {
    let folder = Folder::new();
    let bright = folder.picture("left.png");
    let (width, height) = (bright.width(), bright.height());
    // Both pictures show parts of the same scene. The levels of the right picture are two thirds of the scene's levels.
    let at = |x: usize, y: usize| (60 + (x * 3 + y * 2) % 90) as u8;
    let picture = |shift: [usize; 2], of: fn(u8) -> u8| {
        let pixel = |i: usize| of(at(i % 40 + shift[0], i / 40 + shift[1]));
        let pixels = (0..1200).map(pixel).map(|level| Rgba8::opaque(level, level, level));
        panoweave::io::picture::Picture::from_pixels(width, height, pixels.collect()).unwrap()
    };
    picture([0, 0], |level| level).save(folder.path("left.png")).unwrap();
    picture([25, 2], |level| level - level / 3).save(folder.path("right.png")).unwrap();
    let step = |options: &str| {
        folder.quiet(&format!("{BASE} --homography shift.txt -o out.png {options}"));
        let found = folder.picture("out.png").into_pixels();
        // `ratio` returns the panorama's level divided by the scene's level, at a pixel that only one camera covers.
        let ratio = |x: usize, y: usize| f64::from(found[y * 65 + x].g) / f64::from(at(x, y));
        ratio(50, 20) / ratio(10, 20)
    };
    assert!((step("") - 2.0 / 3.0).abs() < 0.02);
    assert!((step("--match-colour") - 1.0).abs() < 0.03);
    // The anchor keeps its colours.
    for (anchor, alone, level) in
        [(1, [10, 20], at(10, 20)), (2, [50, 20], at(50, 20) - at(50, 20) / 3)]
    {
        step(&format!("--match-colour --anchor {anchor}"));
        let found = folder.picture("out.png").into_pixels()[alone[1] * 65 + alone[0]].g;
        assert!(found.abs_diff(level) <= 1, "{anchor}: {found}, {level}");
    }
    let done = folder.words(&format!("{BASE} --homography shift.txt -o out.png --anchor 1"));
    assert!(done.code == Some(2) && done.stderr.contains("remove `anchor`"), "{done:?}");
}

#[test]
fn writes_jpeg_and_replaces_files() {
    let folder = Folder::new();
    folder.write("pano.JPG", "old");
    folder.quiet(&format!("{BASE} --rig rig.toml -o pano.JPG"));
    assert_eq!(folder.picture("pano.JPG").width(), 64);
}

#[test]
fn automatic_without_a_gpu_says_so_once() {
    let folder = Folder::new();
    let line = "stitch left.png right.png --rig rig.toml -o pano.png";
    let done = folder.words(line);
    assert_eq!(done.code, Some(0));
    assert!(done.stderr.starts_with(" INFO no GPU, using the CPU; "), "{done:?}");
    assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    assert_eq!(folder.words(&format!("{line} -q")).stderr, "");
    let timed = folder.words(&format!("{line} -v")).stderr;
    assert!(timed.contains("stitch: ") && timed.contains(" ms"), "{timed}");
    let asked = folder.command().args(line.split(' ')).env("RUST_LOG", "panoweave=error").output();
    assert_eq!(asked.unwrap().stderr, b"");
}

#[cfg(unix)]
#[test]
fn names_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = |bytes: &'static [u8]| std::ffi::OsStr::from_bytes(bytes);
    std::fs::copy(folder.path("left.png"), folder.path(name(b"l\xff.png"))).unwrap();
    let mut command = folder.command();
    command.args("stitch --device cpu --json --rig rig.toml right.png -o".split(' '));
    let done =
        crate::Done::from(command.args([name(b"o\xfe.png"), name(b"l\xff.png")]).output().unwrap());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.json()["output"], "o\u{fffd}.png");
    assert!(folder.path(name(b"o\xfe.png")).exists());
    let done = crate::Done::from(
        folder
            .command()
            .args([name(b"warp"), name(b"inspect"), name(b"none\xff")])
            .output()
            .unwrap(),
    );
    assert_eq!(done.code, Some(2), "{done:?}");
}

#[test]
fn a_printed_job_makes_the_same_panorama() {
    let folder = Folder::new();
    let line = format!("{BASE} --homography shift.txt --gain 1,1.1,0.9 --gain 1 --crop -o out.png");
    let job = folder.quiet(&format!("{line} --print-job"));
    folder.quiet(&line);
    let expected = folder.read("out.png");
    folder.write("job.toml", job.replace("out.png", "again.png"));
    folder.quiet("run job.toml");
    assert_eq!(folder.read("again.png"), expected);
}

#[test]
fn a_signal_leaves_nothing_half_written() {
    let folder = Folder::new();
    let side = 3000;
    let mut random = panoweave_tests::random::Random::new(5);
    let pixels =
        (0..64).map(|_| Rgba8::opaque(random.below(256) as u8, random.below(256) as u8, 7));
    let tile: Vec<Rgba8> = pixels.collect();
    let pixels = (0..side * side).map(|i| tile[(i % 61) as usize]).collect();
    let picture = panoweave::io::picture::Picture::from_pixels(side, side, pixels).unwrap();
    picture.save(folder.path("large.png")).unwrap();
    folder.write("one.txt", "1 0 1  0 1 1  0 0 1\n");
    let temporary = || {
        let names = std::fs::read_dir(folder.path("")).unwrap();
        names.filter(|n| n.as_ref().unwrap().file_name().as_encoded_bytes()[0] == b'.').count()
    };
    let line = "stitch large.png large.png --homography one.txt --device cpu --json -o p.png";
    let mut stopped = 0;
    for _ in 0..5 {
        let mut command = folder.command();
        command.args(line.split(' ')).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        while temporary() == 0 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut kill = std::process::Command::new("kill");
        let _ = kill.args(["-s", "TERM", &child.id().to_string()]).status();
        let done = crate::Done::from(child.wait_with_output().unwrap());
        assert_eq!(temporary(), 0, "{done:?}");
        // Exit code 130 means that the signal stopped the command. Otherwise, the command finished before the signal.
        if done.code == Some(130) {
            assert_eq!(done.json()["error"]["kind"], "interrupted", "{done:?}");
            assert!(!folder.path("p.png").exists());
            stopped += 1;
            break;
        }
        let _ = std::fs::remove_file(folder.path("p.png"));
    }
    assert!(stopped > 0, "the signal came too late each time");
}

#[test]
fn black_parts_of_a_mask_are_ignored() {
    let folder = Folder::new();
    let (white, black) = (Rgba8::opaque(255, 255, 255), Rgba8::opaque(0, 0, 0));
    let mask = |name: &str, [width, height]: [u32; 2], masked: fn(u32) -> bool| {
        let pixels = (0..width * height).map(|i| if masked(i % width) { black } else { white });
        let mask = panoweave::io::picture::Picture::from_pixels(width, height, pixels.collect());
        mask.unwrap().save(folder.path(name)).unwrap();
    };
    mask("none.png", [40, 30], |_| false);
    mask("right edge.png", [40, 30], |x| x >= 32);
    mask("small.png", [20, 30], |_| false);
    let line = format!("{BASE} --homography shift.txt -o out.png");
    let stitch = |options: &[&str]| {
        let mut command = folder.command();
        command.args(line.split(' ')).args(options);
        let done = crate::Done::from(command.output().unwrap());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        folder.picture("out.png").into_pixels()
    };
    let plain = stitch(&[]);
    assert_eq!(stitch(&["--mask", "none.png"]), plain);
    let right = folder.picture("right.png");
    for blend in ["seam", "feather"] {
        let masked = ["--blend", blend, "--mask", "right edge.png", "--mask", "none.png"];
        let masked = stitch(&masked);
        // The left picture is masked from column 32. The right one begins at column 25 and row 2.
        assert_eq!(masked[35], Rgba8::BLACK, "{blend}");
        assert_ne!(plain[35], Rgba8::BLACK);
        for y in 2..30 {
            for x in 32..40 {
                assert_eq!(masked[y * 65 + x], right.pixels()[(y - 2) * 40 + x - 25], "{blend}");
            }
        }
    }
    let done = folder.words(&format!("{line} --mask small.png"));
    assert_eq!(done.code, Some(2), "{done:?}");
    insta::assert_snapshot!(done.stderr, @"error: small.png: the mask is 20×30 pixels, but the picture left.png is 40×30 pixels; give a mask of the size of the picture");
    let done = folder.words("stitch left.png right.png left.png --homography shift.txt -o out.png");
    insta::assert_snapshot!(done.stderr, @"error: shift.txt: a homography is for exactly two pictures or videos, but 3 are given; give two, or a rig");
    let done = folder.words(&format!("{line} --mask none.png --mask none.png --mask none.png"));
    assert!(done.stderr.contains("once for each picture"), "{done:?}");
    mask("all.png", [40, 30], |_| true);
    for masks in ["--mask all.png", "--mask none.png --mask all.png"] {
        let done = folder.words(&format!("{line} {masks}"));
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(
            done.stderr.contains("all.png: the mask leaves no visible pixel of the picture"),
            "{done:?}"
        );
    }
    // The overlap begins at column 25 of the left picture.
    mask("apart.png", [40, 30], |x| x >= 20);
    let done = folder.words(&format!("{line} --mask apart.png --mask none.png --json"));
    let said = "check that the masks are white";
    assert!(done.stderr.contains(said), "{done:?}");
    assert!(done.json()["warnings"][0].as_str().unwrap().contains(said), "{done:?}");
}

#[test]
fn a_panorama_of_transparent_pictures_is_said_to_be_black() {
    let folder = Folder::new();
    let clear = Picture::filled(40, 30, Rgba8 { r: 9, g: 9, b: 9, a: 0 });
    clear.save(folder.path("clear.png")).unwrap();
    let done = folder.succeeds("stitch clear.png clear.png --rig rig.toml --device cpu -o p.png");
    insta::assert_snapshot!(done.stderr, @" WARN the panorama is black, because no picture covers it; check that the pictures are not transparent, and that masks are white where their pictures are used");
}

/// Pixels that a mask hides do not influence the panorama, however it is blended.
#[test]
fn hidden_pixels_have_no_influence() {
    let folder = Folder::new();
    let mut mask = Picture::filled(40, 30, Rgba8::opaque(255, 255, 255));
    mask.pixels_mut().iter_mut().skip(30).step_by(40).for_each(|pixel| *pixel = Rgba8::BLACK);
    mask.save(folder.path("mask.png")).unwrap();
    let left = folder.picture("left.png");
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    for map in ["--rig rig.toml", "--warp rig.safetensors"] {
        for blend in ["feather", "seam", "multiband"] {
            let [black, white] = [0, 255].map(|level| {
                let mut left = left.clone();
                for pixel in left.pixels_mut().iter_mut().skip(30).step_by(40) {
                    *pixel = Rgba8::opaque(level, level, level);
                }
                left.save(folder.path("left.png")).unwrap();
                let masks = "--mask mask.png --mask mask.png";
                folder.quiet(&format!("{BASE} {map} --blend {blend} {masks} -o out.png"));
                folder.picture("out.png").into_pixels()
            });
            assert!(black == white, "{map}, {blend}");
        }
    }
}

#[test]
fn a_given_rig_and_a_homography_can_be_cropped() {
    let folder = Folder::new();
    for map in ["--homography shift.txt", "--rig rig.toml"] {
        folder.quiet(&format!("{BASE} {map} --crop -o crop.png"));
        folder.quiet(&format!("{BASE} {map} -o whole.png"));
        let (crop, whole) = (folder.picture("crop.png"), folder.picture("whole.png"));
        assert!(crop.width() <= whole.width() && crop.height() <= whole.height(), "{map}");
        assert!(map.contains("rig") || crop.height() < whole.height(), "{map}");
        assert!(crop.pixels().iter().all(|pixel| *pixel != Rgba8::BLACK), "{map}");
    }
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    for (options, said) in [
        ("--warp rig.safetensors --crop", "`crop` cannot change the panorama of a warp file"),
        ("--rig rig.toml --model rotation", "are for a calibration of the pictures"),
    ] {
        folder.fails(&format!("{BASE} {options} -o crop.png"), said);
    }
}
