//! Tests `panoweave video`. This file contains the test videos that the modules share.
//!
//! | module | tests |
//! |---|---|
//! | `streams` | streams and numbered pictures, which need no ffmpeg |
//! | `files` | files that ffmpeg reads and writes |
//! | `failures` | errors |
//! | `signals` | Ctrl-C and other signals |
//! | `sound` | the sound of the output |
//! | `survival` | files that a kill or a full disk leaves |
//! | `sync` | recordings that did not start together |
//! | `confined` | what ffmpeg may do |
//! | `view` | virtual cameras |
//! | `library` | the library function `stitch_video` |

mod confined;
mod failures;
mod files;
mod journey;
mod library;
mod signals;
mod sound;
mod streams;
mod survival;
mod sync;
mod view;

use std::path::PathBuf;
use std::process::{Command, Output};

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave_tests::skip::{Need, skip};
use serde_json::Value;

use crate::Folder;

/// The options with which most tests run: the homography [`SHIFT`](crate::SHIFT) for 40×30 pictures, and the CPU.
const MAP: &str = "--homography shift.txt --device cpu";

/// Returns a Y4M file of gray frames in full range. Each element of `levels` contains the pixels of one frame.
pub(crate) fn y4m(width: u32, height: u32, rate: &str, levels: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes =
        format!("YUV4MPEG2 W{width} H{height} F{rate} Ip C420 XCOLORRANGE=FULL\n").into_bytes();
    for frame in levels {
        assert_eq!(frame.len(), (width * height) as usize);
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend_from_slice(frame);
        bytes.extend(vec![128; (width.div_ceil(2) * height.div_ceil(2) * 2) as usize]);
    }
    bytes
}

/// Returns a Y4M file with one frame of 40×30 pixels for each element of `levels`. All pixels of the frame have this
/// level.
pub(crate) fn flat(rate: &str, levels: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let frames: Vec<_> = levels.into_iter().map(|level| vec![level; 1200]).collect();
    y4m(40, 30, rate, &frames)
}

/// Returns the first line of a Y4M file, and the luma of every frame.
fn luma(bytes: &[u8]) -> (String, Vec<Vec<u8>>) {
    let end = bytes.iter().position(|b| *b == b'\n').unwrap();
    let line = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let side = |letter: char| -> usize {
        let word = line.split(' ').find(|word| word.starts_with(letter)).unwrap();
        word[1..].parse().unwrap()
    };
    let (w, h) = (side('W'), side('H'));
    let size = w * h + w.div_ceil(2) * h.div_ceil(2) * 2;
    let frames = bytes[end + 1..].chunks(size + 6).map(|frame| {
        assert_eq!(frame.len(), size + 6);
        frame.strip_prefix(b"FRAME\n").unwrap()[..w * h].to_vec()
    });
    (line.clone(), frames.collect())
}

/// Returns the pixels of a picture as RGBA bytes.
fn rgba(picture: &Picture) -> Vec<u8> {
    bytemuck::cast_slice(picture.pixels()).to_vec()
}

/// Returns a textured gray picture of 40×30 pixels, which depends on `seed`.
fn gray(seed: u32) -> Picture {
    let pixels = crate::pattern(seed).into_pixels();
    let gray = pixels.into_iter().map(|pixel| Rgba8::opaque(pixel.g, pixel.g, pixel.g)).collect();
    Picture::from_pixels(40, 30, gray).unwrap()
}

fn levels(picture: &Picture) -> Vec<u8> {
    picture.pixels().iter().map(|pixel| pixel.g).collect()
}

/// Returns the path of the program `name`, or of the program that the environment variable `variable` names. If `name`
/// is not installed, prints that the test is skipped and returns `None`. Panics if the program in `variable` does not
/// run.
fn program(name: &str, variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let program = named.clone().unwrap_or_else(|| name.into());
    let works = Command::new(&program).arg("-version").output().is_ok_and(|o| o.status.success());
    if works {
        return Some(program);
    }
    assert_eq!(named, None, "{variable} does not name a working {name}");
    let remedy = "install ffmpeg, or run `cargo xtask test`, which fetches it";
    skip(Need::Ffmpeg, format_args!("no {name}; {remedy}"));
    None
}

/// The ffmpeg programs, used to make test videos.
pub(crate) struct Ffmpeg {
    ffmpeg: PathBuf,
    ffprobe: PathBuf,
}

impl Ffmpeg {
    pub(crate) fn find() -> Option<Self> {
        let ffmpeg = program("ffmpeg", "PANOWEAVE_FFMPEG")?;
        Some(Self { ffmpeg, ffprobe: program("ffprobe", "PANOWEAVE_FFPROBE")? })
    }

    /// Runs ffmpeg in the folder with the arguments in `line`, which are separated by spaces. ffmpeg must succeed.
    pub(crate) fn run(&self, folder: &Folder, line: &str) {
        let output = self.output(folder, line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Writes a program that runs the shell commands `script` instead of ffmpeg if it has to encode. Returns its path.
    fn with_encoder(&self, folder: &Folder, script: &str) -> PathBuf {
        let program = self.ffmpeg.display();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *pipe:0*) {script} ;; esac\nexec {program} \"$@\"\n"
        );
        folder.write("encoder", script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path("encoder"), mode).unwrap();
        folder.path("encoder")
    }

    pub(crate) fn output(&self, folder: &Folder, line: &str) -> Output {
        let mut command = Command::new(&self.ffmpeg);
        command.current_dir(folder.path("")).args(["-v", "error", "-nostdin", "-y"]);
        command.args(line.split_whitespace()).output().unwrap()
    }

    /// Makes `left.mp4` and `right.mp4`: videos of 40×30 pixels with sound, which last `seconds` seconds.
    pub(crate) fn pair(&self, folder: &Folder, seconds: f64) {
        for name in ["left", "right"] {
            self.run(
                folder,
                &format!(
                    "-f lavfi -i testsrc2=s=40x30:r=30 -f lavfi -i anoisesrc=a=0.1:seed=1 -t {seconds} -c:v libx264 \
                     -pix_fmt yuv420p -c:a aac {name}.mp4"
                ),
            );
        }
    }

    /// Returns the properties of a media file, as ffprobe reports them. ffprobe decodes the whole file to count frames.
    fn probe(&self, folder: &Folder, file: &str) -> Probe {
        let mut command = Command::new(&self.ffprobe);
        command.current_dir(folder.path("")).args([
            "-v",
            "error",
            "-count_frames",
            "-show_streams",
            "-show_format",
            "-of",
            "json",
            file,
        ]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{file}");
        Probe(serde_json::from_slice(&output.stdout).unwrap())
    }
}

/// The JSON output of ffprobe.
#[derive(Debug)]
struct Probe(Value);

impl Probe {
    fn stream(&self, kind: &str) -> Option<&Value> {
        self.0["streams"].as_array().unwrap().iter().find(|stream| stream["codec_type"] == kind)
    }

    fn video(&self) -> &Value {
        self.stream("video").unwrap()
    }

    fn frames(&self) -> u64 {
        self.video()["nb_read_frames"].as_str().unwrap().parse().unwrap()
    }
}

/// Returns the duration of a stream in seconds.
fn seconds(stream: &Value) -> f64 {
    stream["duration"].as_str().unwrap().parse().unwrap()
}
