//! Runs the command lines of `README.md` and `doc/cli.md` as written, in a folder with small files of the names that
//! the pages use: pictures, videos and rigs of four cameras that turn about a point.
//!
//! Blocks with commands that install or build something (cargo) are left out.

use std::path::PathBuf;
use std::process::Command;

use glam::{DVec2, UVec2};
use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave_tests::made_up::{Pinhole, turn};
use panoweave_tests::random::Random;

use crate::Folder;
use crate::video::Ffmpeg;

const SIZE: [u32; 2] = [320, 240];
const FOCAL: f64 = 300.0;
/// The angle between neighbours in degrees.
const STEP: f64 = 25.0;

/// Returns the shell blocks of a page that run the program and build nothing.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("\n```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.filter(|block| block.contains("panoweave ") && !block.contains("cargo "))
}

/// Returns the pictures of `cameras` cameras in a row. Each shows rectangles on a cylinder around the cameras.
fn pictures(cameras: u32) -> Vec<Picture> {
    let mut random = Random::new(5);
    let mut number = |below: usize| random.below(below) as f64;
    let boxes: Vec<_> = (0..900)
        .map(|_| {
            ([number(1600) - 400.0, number(500) - 250.0], [number(30), number(30)], number(1 << 24))
        })
        .collect();
    let level = |ray: glam::DVec3| {
        let at =
            [ray.x.atan2(ray.z).to_degrees() * 5.0 + 400.0, ray.y / ray.x.hypot(ray.z) * 300.0];
        let inside = |(first, size, _): &&([f64; 2], [f64; 2], f64)| {
            (0..2).all(|i| (0.0..4.0 + size[i]).contains(&(at[i] - first[i])))
        };
        let [r, g, b, _] =
            boxes.iter().rev().find(inside).map_or(0x60_60_60, |one| one.2 as u32).to_le_bytes();
        Rgba8::opaque(r, g, b)
    };
    let picture = |camera| {
        let to_world = turn(STEP * f64::from(camera), 0.0, 0.0);
        let camera = Pinhole { size: UVec2::from(SIZE), focal: FOCAL, k1: 0.0, to_world };
        let pixel = |at: u32| {
            let [x, y] = [at % SIZE[0], at / SIZE[0]].map(f64::from);
            level(camera.ray(DVec2::new(x, y)).expect("a pinhole"))
        };
        Picture::from_pixels(SIZE[0], SIZE[1], (0..SIZE[0] * SIZE[1]).map(pixel).collect()).unwrap()
    };
    (0..cameras).map(picture).collect()
}

/// Returns a rig file of the first `cameras` cameras.
fn rig(cameras: u32) -> String {
    let [width, height] = SIZE;
    let middle = f64::from(cameras - 1) / 2.0;
    let mut text = format!(
        "[panorama]\nprojection = \"cylindrical\"\nwidth = {}\nheight = {height}\nfov = {}\n",
        width + 130 * (cameras - 1),
        56.0 + STEP * f64::from(cameras - 1),
    );
    for camera in 0..cameras {
        let yaw = STEP * (f64::from(camera) - middle);
        text += &format!(
            "\n[[camera]]\nname = \"camera {camera}\"\nsize = [{width}, {height}]\nlens = \"pinhole\"\n\
             matrix = {{ fx = {FOCAL:?}, fy = {FOCAL:?}, cx = 159.5, cy = 119.5 }}\nyaw = {yaw:?}\n"
        );
    }
    text
}

/// Writes the files that the pages name.
fn files(folder: &Folder, ffmpeg: &Ffmpeg) {
    let pictures = pictures(4);
    for at in ["rigs", "target/demo", "luts"] {
        std::fs::create_dir_all(folder.path(at)).unwrap();
    }
    for (names, picture) in [["a", "left"], ["b", "right"], ["c", "photo"], ["d", "target/demo/d"]]
        .iter()
        .zip(&pictures)
    {
        for name in names {
            picture.save(folder.path(format!("{name}.png"))).unwrap();
            picture.save(folder.path(format!("{name}.jpg"))).unwrap();
            let input = format!("-loop 1 -framerate 10 -i {name}.png");
            let sound = "-f lavfi -i anoisesrc=seed=1 -t 4 -pix_fmt yuv420p";
            ffmpeg.run(folder, &format!("{input} {sound} {name}.mp4"));
        }
    }
    for side in ["left", "right"] {
        std::fs::copy(
            folder.path(format!("{side}.png")),
            folder.path(format!("target/demo/{side}.png")),
        )
        .unwrap();
    }
    Picture::filled(SIZE[0], SIZE[1], Rgba8::opaque(255, 255, 255))
        .save(folder.path("rim.png"))
        .unwrap();
    for (name, cameras) in [
        ("rig.toml", 2),
        ("target/demo/rig.toml", 2),
        ("rigs/home.toml", 2),
        ("three.toml", 3),
        ("rigs/row.toml", 4),
    ] {
        folder.write(name, rig(cameras));
    }
    folder.write("rigs/ring.toml", include_str!("../../../rigs/ring.toml"));
    folder.write("H.txt", "1 0 140\n0 1 0\n0 0 1\n");
    folder.write("track.csv", "t,pan,tilt,fov\n0,-5,0,30\n2,5,0,30\n");
    folder.write("groundtruth.txt", "0 0 0 0 0 0 0 1\n1 1 2 3 0 0 0 1\n");
    folder.write("path.csv", "t,x\n0,1\n1,2\n");
    folder.write("stamps.csv", "0.25\n0.5\n");
    for (side, shift) in [("left", 0.0), ("right", 620.0)] {
        let plane = |value: &dyn Fn(f32, f32) -> f32| -> Vec<u8> {
            let at = |i: u32| value((i % 1900) as f32, (i / 1900) as f32).to_le_bytes();
            (0..1900 * 633).flat_map(at).collect()
        };
        folder.write(&format!("luts/lut_{side}_x.bin"), plane(&|x, _| x - shift));
        folder.write(&format!("luts/lut_{side}_y.bin"), plane(&|_, y| y));
        let inside = move |x: f32| x >= shift && x < shift + 1280.0;
        folder.write(
            &format!("luts/weight_{side}.bin"),
            plane(&|x, _| if inside(x) { 0.5 } else { 0.0 }),
        );
    }
}

#[test]
fn the_command_lines_of_the_pages_run() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    files(&folder, &ffmpeg);
    let program = PathBuf::from(env!("CARGO_BIN_EXE_panoweave"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut lines = 0;
    for page in [include_str!("../../../README.md"), include_str!("../../../doc/cli.md")] {
        for block in blocks(page) {
            // What `compare` compares: an earlier result.
            for [truth, made] in [["truth.png", "panorama.png"], ["truth.mp4", "panorama.mp4"]] {
                let _ = std::fs::copy(folder.path(made), folder.path(truth));
            }
            let mut shell = Command::new("sh");
            shell.args(["-ec", block]).current_dir(folder.path("")).env("PATH", &path);
            shell
                .env("HOME", folder.path(""))
                .env("CUDA_DRIVER_LIBRARY", "/nonexistent/libcuda.so.1");
            let output = shell.output().unwrap();
            assert!(
                output.status.success(),
                "{block}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
            lines += block.lines().filter(|line| line.starts_with("panoweave ")).count();
        }
    }
    assert!(lines > 35, "only {lines} command lines");
}
