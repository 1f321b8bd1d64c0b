//! Compares functions that compute whole launches on the CPU with the kernels in the simulator, in cases that other
//! tests do not reach.

use glam::{UVec2, Vec3};
use kernels_gpu::matching::Shrink;
use kernels_gpu::photometry::PhotometryCorrect;
use panoweave::device::{Buffer, Device, Image, LaunchConfig, Stream};
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, PixelFormat, Range, Rgba8, YuvEncoding, YuvMatrix,
};
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, stitch, stitch_pictures};
use panoweave::warp::DeviceWarp;
use rayon::prelude::*;
use shared_types::photometry::{BLOCK, Correction, FieldGrid, Response, Vignette};
use shared_types::stitch::Colour;

const SIZE: UVec2 = UVec2::new(64, 48);

/// Returns the bytes of a panorama of two equal frames, one beside the other.
fn panorama(device: &Device, pixels: PixelFormat, frame: &[u8], gamma: f32) -> Vec<u8> {
    let stream = device.stream().unwrap();
    let map = Homography::parse("1 0 40 0 1 0 0 0 1", "a shift").unwrap();
    let warp = DeviceWarp::render(&stream, &map.geometry(SIZE, SIZE).unwrap()).unwrap();
    let format = FrameFormat { size: SIZE, pixels };
    let upload = || {
        let mut on_device = DeviceFrame::new(device, format).unwrap();
        on_device.upload(&stream, &Frame::tight(format, frame).unwrap()).unwrap();
        on_device
    };
    let frames = [upload(), upload()];
    let out = FrameFormat { size: warp.size(), pixels };
    let mut all = Vec::new();
    for lookup in [Lookup::Mesh, Lookup::Planes] {
        let colour = Colour { gamma, ..Colour::IDENTITY };
        let colours = Colours::of([colour; 2]);
        let options = StitchOptions { lookup, colours, ..StitchOptions::default() };
        let mut made = DeviceFrame::new(device, out).unwrap();
        let views = frames.each_ref().map(DeviceFrame::view);
        stitch(&stream, &views, &warp, &options, &mut made).unwrap();
        let first = all.len();
        all.resize(first + out.bytes(), 0);
        made.download(&stream, &mut all[first..]).unwrap();
    }
    all
}

/// A batch of panoramas with one warp, stitched in parallel by rayon. Launches inside share caches of the warp, for
/// which they wait, so a thread that launches must not begin another panorama of the batch.
#[test]
fn rayon_stitches_a_batch_with_one_warp() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let stream = Device::cpu().stream().unwrap();
    let size = UVec2::new(400, 300);
    let map = Homography::parse("1 0 200 0 1 0 0 0 1", "a shift").unwrap();
    let warp = DeviceWarp::render(&stream, &map.geometry(size, size).unwrap()).unwrap();
    let picture = Picture::filled(size.x, size.y, Rgba8::opaque(9, 90, 200));
    for lookup in [Lookup::Mesh, Lookup::Planes, Lookup::Cubic] {
        let options = StitchOptions { lookup, ..StitchOptions::default() };
        let one = || stitch_pictures(&stream, &[&picture, &picture], &warp, &options).unwrap();
        let batch: Vec<_> = pool.install(|| (0..20).into_par_iter().map(|_| one()).collect());
        let alone = one();
        assert!(batch.iter().all(|panorama| panorama.pixels() == alone.pixels()), "{lookup:?}");
    }
}

/// With a small gamma, black stays black although the levels next to it become bright.
#[test]
fn black_stays_black() {
    let frame: Vec<u8> = (0..SIZE.element_product())
        .flat_map(|i| [if i % 3 == 0 { 0 } else { (i % 251) as u8 }, 0, 9, 255])
        .collect();
    for gamma in [0.01, 0.05, 0.5, 3.0, 90.0] {
        let [own, judge] = [Device::cpu(), Device::simulator()]
            .map(|device| panorama(&device, PixelFormat::Rgba8, &frame, gamma));
        let worst = own.iter().zip(&judge).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(worst <= Some(1), "gamma {gamma}: {worst:?} levels");
        assert!(own.chunks_exact(4).all(|pixel| pixel[1] == 0), "gamma {gamma}");
    }
}

/// The chroma of pure colours in full range is above 255 in units of 8 bits.
#[test]
fn ten_bits_keep_the_purest_chroma() {
    let encoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Full };
    let pixels = PixelFormat::P010(encoding);
    // The colours of pure red, and of pure blue.
    for [y, u, v] in [[218_u16, 395, 1023], [74, 1023, 465]] {
        let luma = std::iter::repeat_n(y, SIZE.element_product() as usize);
        let chroma = std::iter::repeat_n([u, v], SIZE.element_product() as usize / 4);
        let samples = luma.chain(chroma.flatten());
        let frame: Vec<u8> = samples.flat_map(|sample| (sample << 6).to_le_bytes()).collect();
        let made = [Device::cpu(), Device::simulator()].map(|device| {
            let bytes = panorama(&device, pixels, &frame, 1.0);
            let sample = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]) >> 6;
            bytes.chunks_exact(2).map(sample).collect::<Vec<_>>()
        });
        let worst = made[0].iter().zip(&made[1]).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(worst <= Some(1), "{worst:?} steps");
        assert!(made[0].contains(&1023));
    }
}

/// A launch computes the pixels that its threads have, and no others.
#[test]
fn a_launch_that_covers_a_part_computes_this_part() {
    let correct = |device: &Device| {
        let stream = device.stream().unwrap();
        let gray = vec![Rgba8::opaque(40, 40, 40); SIZE.element_product() as usize];
        let mut picture = Image::from_slice(&stream, SIZE.x, SIZE.y, &gray).unwrap();
        let lights: Vec<f32> = (0..256).map(|level| level as f32 / 255.0).collect();
        let lights = Buffer::from_slice(&stream, &lights).unwrap();
        let nodes = Buffer::from_slice(&stream, &[1.0_f32]).unwrap();
        let kernel = PhotometryCorrect {
            correction: Correction {
                gain: Vec3::splat(2.0),
                response: Response::default(),
                vignette: Vignette::NONE,
            },
            lights: lights.view(),
            grid: FieldGrid::default(),
            nodes: nodes.view(),
            picture: picture.view_mut(),
        };
        let config =
            LaunchConfig { grid: [1; 3], block: [BLOCK[0], BLOCK[1], 1], dynamic_shared: 0 };
        stream.launch(&config, &kernel).unwrap();
        let changed = picture.download(&stream).unwrap();
        changed.iter().filter(|pixel| pixel.r == 80).count()
    };
    let threads = (BLOCK[0] * BLOCK[1]) as usize;
    assert_eq!(correct(&Device::simulator()), threads);
    assert_eq!(correct(&Device::cpu()), threads);
}

#[test]
fn a_picture_without_columns_is_accepted() {
    let shrink = |stream: &Stream| {
        let input = Image::from_slice(stream, 8, 8, &[1.0_f32; 64]).unwrap();
        let mut image = Image::<f32>::new(stream.device(), 4, 5).unwrap();
        let out = image.view_mut().part(0, 0, 0, 5).unwrap();
        let config = LaunchConfig { grid: [1; 3], block: [32, 8, 1], dynamic_shared: 0 };
        stream.launch(&config, &Shrink { input: input.view(), out }).unwrap();
        image.download(stream).unwrap()
    };
    for device in [Device::cpu(), Device::simulator()] {
        assert_eq!(shrink(&device.stream().unwrap()), [0.0; 20], "{device}");
    }
}
