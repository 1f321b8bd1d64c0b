//! Tests the command-line program: its printed output, written files and exit codes.
//!
//! Commands run in a temporary folder and get relative file names, so their messages do not depend on the machine. The
//! environment names a driver library that does not exist, so the results are the same with and without a GPU.

mod calibrate;
mod compare;
mod completions;
mod devices;
mod features;
mod gains;
mod info;
mod little_memory;
mod malformed;
mod man;
mod pages;
mod quality;
mod rig;
mod scenes;
mod sixteen_bit;
mod stitch;
mod trajectory;
mod video;
mod warp;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave::warp::{Plane, Warp};
use serde_json::Value;
use tempfile::TempDir;

/// A rig file with two overlapping cameras of 40×30 pixels and a panorama of 64×32 pixels.
const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 64
height = 32
fov = 100.0

[[camera]]
name = "left"
size = [40, 30]
lens = "pinhole"
matrix = { fx = 30.0, fy = 30.0, cx = 19.5, cy = 14.5 }
yaw = -20.0

[[camera]]
name = "right"
size = [40, 30]
lens = "pinhole"
matrix = { fx = 30.0, fy = 30.0, cx = 19.5, cy = 14.5 }
yaw = 20.0
"#;

/// A homography from pixels of the right picture to pixels of the left picture: it adds 25 columns and 2 rows.
const SHIFT: &str = "1 0 25\n0 1 2\n0 0 1\n";

/// A temporary folder with `left.png`, `right.png`, `rig.toml` ([`RIG`]) and `shift.txt` ([`SHIFT`]).
struct Folder(TempDir);

/// Yields the rows of a table without the spaces around them.
fn rows(table: &str) -> impl Iterator<Item = &str> {
    table.trim().lines().map(str::trim)
}

/// The exit code and the output of a command.
#[derive(Debug)]
struct Done {
    code: Option<i32>,
    stdout: String,
    /// The log without the line that states what a run of `video` does.
    stderr: String,
    /// This line, or an empty text.
    start: String,
}

impl Folder {
    fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        pattern(7).save(folder.path("left.png")).unwrap();
        pattern(91).save(folder.path("right.png")).unwrap();
        folder.write("rig.toml", RIG);
        folder.write("shift.txt", SHIFT);
        folder
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// Writes the planes of a warp file to the folder `planes`, as six raw files.
    fn export_planes(&self, warp: &str) {
        let warp = Warp::open(self.path(warp)).unwrap();
        std::fs::create_dir_all(self.path("planes")).unwrap();
        for plane in Plane::all(2) {
            let bytes = warp.plane(plane).iter().flat_map(|number| number.to_le_bytes());
            std::fs::write(plane.raw_file(&self.path("planes")), bytes.collect::<Vec<_>>())
                .unwrap();
        }
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn picture(&self, name: &str) -> Picture {
        Picture::open(self.path(name)).unwrap()
    }

    /// Returns a command that runs the program in the folder.
    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_panoweave"));
        command
            .current_dir(self.0.path())
            .env("CUDA_DRIVER_LIBRARY", "/nonexistent/libcuda.so.1")
            .env_remove("RUST_LOG");
        command
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Done {
        Done::from(self.command().args(arguments).output().unwrap())
    }

    /// Runs the program with the arguments in `line`, which are separated by spaces.
    fn words(&self, line: &str) -> Done {
        self.run(line.split_whitespace())
    }

    /// Runs a command, which must exit with code 0.
    fn succeeds(&self, line: &str) -> Done {
        let done = self.words(line);
        assert_eq!(done.code, Some(0), "{line}: {done:?}");
        done
    }

    /// Runs a command, which must exit with code 2 and print `text` to stderr.
    fn fails(&self, line: &str, text: &str) {
        let done = self.words(line);
        assert!(done.code == Some(2) && done.stderr.contains(text), "{line}: {done:?}");
        assert!(!done.stderr.contains("panicked"), "{line}: {done:?}");
    }

    /// Checks the rows of a table, `words | kind | part`: `command` with these words for `@` must fail with exit code 2
    /// and an error of this kind that contains this part, and must not write the file `absent`.
    fn refuses(&self, command: &str, absent: &str, table: &str) {
        for row in rows(table) {
            let [words, kind, part] = row.splitn(3, " | ").collect::<Vec<_>>()[..] else {
                panic!("{row}");
            };
            let line = command.replace('@', words);
            let done = self.words(&format!("--json {line}"));
            assert_eq!(done.code, Some(2), "{line}: {done:?}");
            assert!(!done.stderr.contains("panicked"), "{line}: {done:?}");
            let error = &done.json()["error"];
            let message = error["message"].as_str().unwrap();
            assert!(error["kind"] == kind && message.contains(part), "{line}: {error}");
            assert!(!self.path(absent).is_file(), "{line}");
        }
    }

    /// Runs a command, which must succeed and print nothing to stderr. Returns its stdout.
    fn quiet(&self, line: &str) -> String {
        let done = self.succeeds(line);
        assert_eq!(done.stderr, "", "{line}");
        done.stdout
    }

    /// Runs a command like [`quiet`](Self::quiet), and parses its stdout as JSON.
    fn quiet_json(&self, line: &str) -> Value {
        serde_json::from_str(&self.quiet(line)).unwrap()
    }
}

impl Done {
    /// Parses stdout as JSON.
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let is_start = |line: &&str| line.starts_with(" INFO stitching ");
        let all = text(output.stderr);
        let (start, stderr) = all.split_inclusive('\n').partition(is_start);
        Self { code: output.status.code(), stdout: text(output.stdout), stderr, start }
    }
}

/// Returns a textured picture of 40×30 pixels, which depends on `seed`.
fn pattern(seed: u32) -> Picture {
    let pixel = |at: u32| {
        let (x, y) = (at % 40, at / 40);
        let level = |n: u32| (n % 256) as u8;
        Rgba8::opaque(level(x * 5 + seed), level(y * 7 + seed * 3), level(x * y + 40))
    };
    Picture::from_pixels(40, 30, (0..1200).map(pixel).collect()).unwrap()
}
