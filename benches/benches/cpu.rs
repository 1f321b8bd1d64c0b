//! Benchmarks what users without a GPU wait for: stitches, views, seams, multiband blending and SSIM on the CPU.
//! Stitches and SSIM are measured beside OpenCV on the same CPU.
//!
//! OpenCV stitches with `remap` and `blendLinear` (`benches/opencv/remap.py`), and computes SSIM with `GaussianBlur`
//! (`benches/opencv/ssim.py`). It runs in the Python interpreter that `PANOWEAVE_PYTHON` names, or in `python3`. If
//! OpenCV is missing, the bench prints a line and measures only this library. Before timing OpenCV, the bench checks
//! that its result is similar to ours, so that both do the same work.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use glam::UVec2;
use panoweave::device::{Device, Image, Stream};
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::geometry::Geometry;
use panoweave::ops::colour::Colours;
use panoweave::ops::multiband::{Multiband, MultibandOptions};
use panoweave::ops::seam::{Seam, SeamOptions};
use panoweave::ops::ssim::{Compared, Comparer};
use panoweave::ops::stitch::{Lookup, StitchOptions, stitch};
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::{DeviceWarp, Plane};
use panoweave_benches::opencv::OpenCv;
use panoweave_benches::{
    Group, SIZES, SOURCE, bench_by_clock, bench_peer_by_clock, home_geometry_for, noise,
};

/// The minimum PSNR in dB between OpenCV's panorama and ours. The panoramas differ because OpenCV rounds coordinates to
/// 1/32 pixel.
const LEAST_DB: f64 = 35.0;

/// The maximum difference between OpenCV's mean SSIM and ours.
const MOST_SSIM: f64 = 1e-4;

/// The lookups that are measured, with their labels.
const LOOKUPS: [(&str, Lookup); 2] =
    [("linear/mesh", Lookup::Mesh), ("linear/planes", Lookup::Planes)];

fn benches(criterion: &mut Criterion) {
    let device = Device::cpu();
    let stream = device.stream().expect("a stream");
    for source in [SIZES[0], SOURCE] {
        let geometry = home_geometry_for(source.y).expect("the home rig");
        let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
        let scene = Scene { stream: &stream, geometry: &geometry, warp: &warp, source };
        scene.rgba(criterion);
        scene.nv12(criterion);
        for pixels in [PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default())] {
            scene.view(criterion, pixels);
            scene.seam(criterion, pixels);
            scene.multiband(criterion, pixels);
        }
        ssim(criterion, &stream, source);
    }
}

/// Two cameras of one size and their warp.
struct Scene<'a> {
    stream: &'a Stream,
    geometry: &'a Geometry,
    warp: &'a DeviceWarp,
    source: UVec2,
}

impl Scene<'_> {
    fn group<'c>(
        &self,
        criterion: &'c mut Criterion,
        kind: &str,
        pixels: PixelFormat,
    ) -> (Group<'c>, [FrameFormat; 2]) {
        let [input, output] =
            [self.source, self.warp.size()].map(|size| FrameFormat { size, pixels });
        let bytes = (2 * input.bytes() + output.bytes()) as u64;
        let size = output.size.to_array();
        let mut group = Group::new(criterion, self.stream.device(), "stitch", kind, size, bytes);
        group.samples(10);
        (group, [input, output])
    }

    /// Measures the lookups, and returns the panorama of the last one.
    fn lookups(
        &self,
        group: &mut Group<'_>,
        [input, output]: [FrameFormat; 2],
        pictures: &[Vec<u8>; 2],
    ) -> Vec<u8> {
        let (stream, device) = (self.stream, self.stream.device());
        let [left, right] = pictures.each_ref().map(|tight| self.frame(input, tight));
        let mut out = DeviceFrame::new(device, output).expect("an output");
        for (label, lookup) in LOOKUPS {
            let options = StitchOptions { lookup, ..StitchOptions::default() };
            let mut once = || {
                stitch(stream, &[(&left).into(), (&right).into()], self.warp, &options, &mut out)
                    .expect("a stitch");
                stream.synchronize().expect("the stitch");
            };
            // Do not measure the first use of a warp, which builds data such as the mesh.
            once();
            bench_by_clock(group, label, |many| {
                let start = Instant::now();
                (0..many).for_each(|_| once());
                start.elapsed()
            });
        }
        let mut panorama = vec![0; output.bytes()];
        out.download(stream, &mut panorama).expect("the panorama");
        panorama
    }

    fn rgba(&self, criterion: &mut Criterion) {
        let (mut group, formats) = self.group(criterion, "rgba", PixelFormat::Rgba8);
        let pictures = [0, 1].map(|seed| noise(formats[0], seed));
        let ours = self.lookups(&mut group, formats, &pictures);
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["left.rgba", "right.rgba"].map(|name| folder.path().join(name));
        for (file, tight) in files.iter().zip(&pictures) {
            std::fs::write(file, tight).expect("a picture");
        }
        let planes = self.warp.download(self.stream).expect("the planes");
        for plane in Plane::all(2) {
            let bytes: &[u8] = bytemuck::cast_slice(planes.plane(plane));
            std::fs::write(plane.raw_file(folder.path()), bytes).expect("a plane");
        }
        let (panorama, source) = (self.warp.size(), self.source);
        let sizes = [panorama.x, panorama.y, source.x, source.y].map(|side| side.to_string());
        let arguments: Vec<_> =
            [folder.path().into()].into_iter().chain(sizes.map(Into::into)).collect();
        // The script is embedded in the executable, so that the bench runs from the bundle without this file.
        if let Some(mut peer) = OpenCv::start(include_str!("../opencv/remap.py"), &arguments) {
            assert_eq!(peer.ask("save"), "saved", "OpenCV's panorama");
            let theirs = std::fs::read(folder.path().join("panorama.rgba"));
            let db = psnr(&ours, &theirs.expect("OpenCV's panorama"));
            println!("OpenCV's panorama agrees with ours to {db:.1} dB");
            assert!(db >= LEAST_DB, "OpenCV does not do the same work");
            let label = format!("linear/{}", peer.name());
            bench_peer_by_clock(&mut group, &label, |many| peer.run(many));
        }
        group.finish();
    }

    /// Returns a frame of each camera.
    fn frames(&self, pixels: PixelFormat) -> [DeviceFrame; 2] {
        let format = FrameFormat { size: self.source, pixels };
        [0, 1].map(|seed| self.frame(format, &noise(format, seed)))
    }

    /// Returns a frame with these bytes.
    fn frame(&self, format: FrameFormat, tight: &[u8]) -> DeviceFrame {
        let mut frame = DeviceFrame::new(self.stream.device(), format).expect("a frame");
        let tight = Frame::tight(format, tight).expect("bytes of a frame");
        frame.upload(self.stream, &tight).expect("an upload");
        frame
    }

    /// Measures `once`, of which each call moves `bytes`.
    fn measure(
        &self,
        criterion: &mut Criterion,
        (name, pixels): (&str, PixelFormat),
        (size, bytes): (UVec2, u64),
        mut once: impl FnMut(),
    ) {
        let kind = if pixels == PixelFormat::Rgba8 { "rgba" } else { "nv12" };
        let device = self.stream.device();
        let mut group = Group::new(criterion, device, name, kind, size.to_array(), bytes);
        group.samples(10);
        bench_by_clock(&mut group, "rust", |many| {
            let start = Instant::now();
            (0..many).for_each(|_| {
                once();
                self.stream.synchronize().expect("the work");
            });
            start.elapsed()
        });
        group.finish();
    }

    /// Measures a view of 1920×1080 pixels across the overlap.
    fn view(&self, criterion: &mut Criterion, pixels: PixelFormat) {
        let (stream, frames) = (self.stream, self.frames(pixels));
        let viewer = Viewer::new(self.geometry, false).expect("two cameras");
        let format = FrameFormat { size: UVec2::new(1920, 1080), pixels };
        let mut out = DeviceFrame::new(stream.device(), format).expect("a view");
        let pose = ViewPose { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 40.0 };
        let options = StitchOptions::default();
        let bytes = format.bytes() as u64;
        self.measure(criterion, ("view", pixels), (format.size, bytes), || {
            let frames = frames.each_ref().map(DeviceFrame::view);
            viewer.submit(stream, &frames, None, &pose, &options, &mut out).expect("a view");
        });
    }

    /// Measures the search for a seam on a pair of frames.
    fn seam(&self, criterion: &mut Criterion, pixels: PixelFormat) {
        let (stream, frames) = (self.stream, self.frames(pixels));
        let mut seam =
            Seam::new(stream, self.warp, [0, 1], SeamOptions::default()).expect("a seam");
        let [left, right] = frames.each_ref().map(DeviceFrame::view);
        let size = seam.grid().max - seam.grid().min;
        self.measure(criterion, ("seam", pixels), (size, seam.bytes(pixels)), || {
            // SAFETY: all work that uses `seam`, the warp and the frames is submitted to this stream.
            unsafe { seam.submit(stream, self.warp, left, right, Colours::IDENTITY) }
                .expect("a look");
        });
    }

    /// Measures the blending of a panorama that is already stitched.
    fn multiband(&self, criterion: &mut Criterion, pixels: PixelFormat) {
        let (stream, frames) = (self.stream, self.frames(pixels));
        let format = FrameFormat { size: self.warp.size(), pixels };
        let mut out = DeviceFrame::new(stream.device(), format).expect("a panorama");
        let MultibandOptions { levels, .. } = MultibandOptions::default();
        let mut multiband =
            Multiband::new(stream, self.warp, levels).expect("the memory").expect("an overlap");
        let options = StitchOptions::default();
        self.measure(
            criterion,
            ("multiband", pixels),
            (format.size, format.bytes() as u64),
            || {
                let frames = frames.each_ref().map(DeviceFrame::view);
                multiband.submit(stream, &frames, self.warp, &options, &mut out).expect("a blend");
            },
        );
    }

    /// OpenCV has no stitch of NV12, so this is compared with RGBA.
    fn nv12(&self, criterion: &mut Criterion) {
        let pixels = PixelFormat::Nv12(YuvEncoding::default());
        let (mut group, formats) = self.group(criterion, "nv12", pixels);
        let pictures = [0, 1].map(|seed| noise(formats[0], seed));
        self.lookups(&mut group, formats, &pictures);
        group.finish();
    }
}

/// Measures SSIM of two pictures of 8-bit luma.
fn ssim(criterion: &mut Criterion, stream: &Stream, size: UVec2) {
    let device = stream.device();
    let bytes = 2 * u64::from(size.x) * u64::from(size.y);
    let mut group = Group::new(criterion, device, "ssim", "luma8", size.to_array(), bytes);
    group.samples(10);
    let format = FrameFormat { size, pixels: PixelFormat::Nv12(YuvEncoding::default()) };
    let pictures = [2, 3].map(|seed| {
        let mut luma = noise(format, seed);
        luma.truncate(size.element_product() as usize);
        luma
    });
    let [a, b] = pictures
        .each_ref()
        .map(|luma| Image::from_slice(stream, size.x, size.y, luma).expect("a picture"));
    let mut comparer = Comparer::new(stream, size).expect("a comparer");
    let mut once = || {
        comparer.submit(stream, Compared::Luma8(a.view(), b.view()), None).expect("a comparison");
        comparer.result(stream).expect("a result").ssim
    };
    let ours = once();
    bench_by_clock(&mut group, "fused", |many| {
        let start = Instant::now();
        (0..many).for_each(|_| {
            black_box(once());
        });
        start.elapsed()
    });
    let folder = tempfile::tempdir().expect("a folder");
    for (name, luma) in ["a.gray", "b.gray"].into_iter().zip(&pictures) {
        std::fs::write(folder.path().join(name), luma).expect("a picture");
    }
    let sizes = size.to_array().map(|side| side.to_string());
    let arguments: Vec<_> =
        [folder.path().into()].into_iter().chain(sizes.map(Into::into)).collect();
    if let Some(mut peer) = OpenCv::start(include_str!("../opencv/ssim.py"), &arguments) {
        let theirs: f64 = peer.ask("value").parse().expect("OpenCV's SSIM");
        println!("OpenCV's SSIM is {theirs:.6}, and ours is {ours:.6}");
        assert!((ours - theirs).abs() <= MOST_SSIM, "OpenCV does not do the same work");
        bench_peer_by_clock(&mut group, &peer.name(), |many| peer.run(many));
    }
    group.finish();
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

criterion_group!(all, benches);
criterion_main!(all);
