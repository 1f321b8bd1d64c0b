//! Benchmarks the stitch on the CPU, for comparison with GPU times. The bench measures this library's CPU backend,
//! which runs the GPU kernels for tests, and OpenCV's `remap` and `blendLinear` (`benches/opencv/remap.py`), which are
//! optimised for CPUs.
//!
//! OpenCV runs in the Python interpreter that `PANOWEAVE_PYTHON` names, or in `python3`. If OpenCV is missing, the
//! bench prints a line and measures only this library. Before timing OpenCV, the bench checks that OpenCV's panorama is
//! similar to ours, so that both do the same work.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use glam::UVec2;
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, PixelFormat};
use panoweave::ops::stitch::{Lookup, StitchOptions, stitch};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{
    Group, SIZES, SOURCE, bench_by_clock, bench_peer_by_clock, home_geometry_for, noise,
};

/// The minimum PSNR in dB between OpenCV's panorama and ours. The panoramas differ because OpenCV rounds coordinates to
/// 1/32 pixel.
const LEAST_DB: f64 = 35.0;

fn benches(criterion: &mut Criterion) {
    let device = Device::cpu();
    let stream = device.stream().expect("a stream");
    for source in [SIZES[0], SOURCE] {
        let geometry = home_geometry_for(source.y).expect("the home rig");
        let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
        let format = |size| FrameFormat { size, pixels: PixelFormat::Rgba8 };
        let (input, output) = (format(source), format(warp.size()));
        let bytes = (2 * input.bytes() + output.bytes()) as u64;
        let size = warp.size().to_array();
        let mut group = Group::new(criterion, &device, "stitch", "rgba", size, bytes);
        group.samples(10);
        let pictures = [0, 1].map(|seed| noise(input, seed));
        let [left, right] = pictures.each_ref().map(|tight| {
            let mut frame = DeviceFrame::new(&device, input).expect("a frame");
            let tight = Frame::tight(input, tight).expect("bytes of a frame");
            frame.upload(&stream, &tight).expect("an upload");
            frame
        });
        let mut out = DeviceFrame::new(&device, output).expect("an output");
        for (label, lookup) in [("linear/mesh", Lookup::Mesh), ("linear/planes", Lookup::Planes)] {
            let options = StitchOptions { lookup, ..StitchOptions::default() };
            let mut once = || {
                stitch(&stream, &[(&left).into(), (&right).into()], &warp, &options, &mut out)
                    .expect("a stitch");
                stream.synchronize().expect("the stitch");
            };
            // Do not measure the first use of a warp, which builds data such as the mesh.
            once();
            bench_by_clock(&mut group, label, |many| {
                let start = Instant::now();
                (0..many).for_each(|_| once());
                start.elapsed()
            });
        }
        let mut ours = vec![0; output.bytes()];
        out.download(&stream, &mut ours).expect("the panorama");
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["left.rgba", "right.rgba"].map(|name| folder.path().join(name));
        for (file, tight) in files.iter().zip(&pictures) {
            std::fs::write(file, tight).expect("a picture");
        }
        let planes = warp.download(&stream).expect("the planes");
        planes.export_raw(folder.path()).expect("the planes");
        if let Some(mut peer) = OpenCv::start(folder.path(), warp.size(), source) {
            let db = psnr(&ours, &peer.panorama(folder.path()));
            println!("OpenCV's panorama agrees with ours to {db:.1} dB");
            assert!(db >= LEAST_DB, "OpenCV does not do the same work");
            bench_peer_by_clock(&mut group, &peer.name(), |many| peer.run(many));
        }
        group.finish();
    }
}

/// Returns the PSNR in dB of red, green and blue. Alpha is 255 in both panoramas.
fn psnr(ours: &[u8], theirs: &[u8]) -> f64 {
    assert_eq!(ours.len(), theirs.len(), "panoramas of one size");
    let colours = ours.chunks_exact(4).zip(theirs.chunks_exact(4));
    let squares: u64 = colours
        .flat_map(|(a, b)| a[..3].iter().zip(&b[..3]))
        .map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2))
        .sum();
    let mean = squares as f64 / (ours.len() / 4 * 3) as f64;
    10.0 * (255.0 * 255.0 / mean).log10()
}

/// A Python process that stitches with OpenCV.
struct OpenCv {
    python: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// OpenCV's version and number of threads, separated by a space.
    what: String,
}

impl OpenCv {
    /// Starts a Python process with OpenCV. If OpenCV is missing, prints a line and returns `None`.
    fn start(folder: &Path, panorama: UVec2, source: UVec2) -> Option<Self> {
        let python = std::env::var_os("PANOWEAVE_PYTHON").unwrap_or_else(|| "python3".into());
        // The script is embedded in the executable, so that the bench runs from the bundle without this file.
        let script = include_str!("../opencv/remap.py");
        let sizes = [panorama.x, panorama.y, source.x, source.y].map(|side| side.to_string());
        let mut command = Command::new(&python);
        command.args(["-c", script]).arg(folder).args(sizes);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = command.spawn().and_then(|mut python| {
            let missing = || std::io::Error::other("no pipe");
            let questions = python.stdin.take().ok_or_else(missing)?;
            let answers = BufReader::new(python.stdout.take().ok_or_else(missing)?);
            Ok(Self { python, questions, answers, what: String::new() })
        });
        let mut peer = match started {
            Ok(peer) => peer,
            Err(e) => {
                println!("no OpenCV to compare with: {}: {e}", python.display());
                return None;
            }
        };
        let answer = peer.answer();
        let Some(what) = answer.strip_prefix("ready ") else {
            println!("no OpenCV to compare with: {} has no cv2 or no numpy", python.display());
            return None;
        };
        peer.what = what.to_owned();
        Some(peer)
    }

    fn name(&self) -> String {
        let (version, threads) = self.what.split_once(' ').unwrap_or((&self.what, "?"));
        format!("linear/opencv {version}, {threads} threads")
    }

    /// Stitches `many` panoramas with OpenCV and returns the total time.
    fn run(&mut self, many: u64) -> Duration {
        let seconds = self.ask(&format!("run {many}"));
        Duration::from_secs_f64(seconds.parse().expect("OpenCV's time"))
    }

    fn panorama(&mut self, folder: &Path) -> Vec<u8> {
        assert_eq!(self.ask("save"), "saved", "OpenCV's panorama");
        std::fs::read(folder.join("panorama.rgba")).expect("OpenCV's panorama")
    }

    fn ask(&mut self, question: &str) -> String {
        writeln!(self.questions, "{question}").expect("OpenCV is there");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer of OpenCV's");
        line.trim().to_owned()
    }
}

impl Drop for OpenCv {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
