//! The `planes` stitch against the specification's formula in f64, and the GPU against the CPU.

use glam::{UVec2, Vec3};
use panoweave::device::{Device, Image, LaunchConfig, Stream};
use panoweave::picture::Picture;
use panoweave::rig::Rig;
use panoweave::stitch::{Power, StitchOptions, stitch_pictures};
use panoweave::warp::DeviceWarp;
use panoweave_tests::oracle::{self, Source};
use panoweave_tests::random::Random;
use panoweave_tests::{gpu, panoweave_devices};
use shared_types::Rgba8;
use shared_types::stitch::{BLOCK, Colour, StitchParams};

/// Coordinates that something could go wrong with, for a picture `size` wide or high.
fn extreme(random: &mut Random, size: f32) -> f32 {
    let near = random.pick(&[0.0, size, size - 1.0, size * 0.5]);
    random.pick(&[
        near,
        near.next_down(),
        near.next_up(),
        -0.0,
        -f32::MIN_POSITIVE,
        f32::from_bits(1),
        1e30,
        -1e30,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        4_294_967_296.0,
        -2_147_483_904.0,
    ])
}

/// A stitch made at random: sizes, pitches, planes, options.
struct Case {
    size: UVec2,
    sources: [UVec2; 2],
    pictures: [Vec<Rgba8>; 2],
    planes: [Vec<f32>; 6],
    params: StitchParams,
    padding: [u64; 9],
}

impl Case {
    fn random(seed: u64, most: usize) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let mut size = || UVec2::new(1 + r.below(most) as u32, 1 + r.below(most) as u32);
        let (canvas, sources) = (size(), [size(), size()]);
        let pixels = sources.map(|s| {
            (0..s.element_product())
                .map(|_| {
                    let [red, green, blue, alpha, ..] = r.bits().to_le_bytes();
                    Rgba8 { r: red, g: green, b: blue, a: alpha }
                })
                .collect()
        });
        let elements = canvas.element_product() as usize;
        let planes = std::array::from_fn(|plane| {
            let source = sources[plane % 4 / 2].as_vec2();
            let extent = if plane % 2 == 0 { source.x } else { source.y };
            (0..elements)
                .map(|_| match (plane, r.below(8)) {
                    (4.., 0..4) => r.between(0.0, 1.0),
                    (4.., _) => r.pick(&[0.0, 1.0, 0.001, 0.001_f32.next_up(), 0.5, f32::NAN]),
                    (_, 0) => extreme(r, extent),
                    _ => r.between(-0.3 * extent, 1.3 * extent),
                })
                .collect()
        });
        let mut colour = || Colour {
            gain: Vec3::new(r.between(0.0, 2.5), r.between(0.3, 1.7), r.pick(&[0.0, 1.0, 2.0])),
            gamma: r.pick(&[1.0, 0.8, 1.2, 0.45, 2.2]),
        };
        let (left, right) = (colour(), colour());
        let (flip, edge_boost) = (r.below(2) as u32, r.below(2) as u32);
        let params = StitchParams { left, right, flip, edge_boost, ..StitchParams::default() };
        let padding = std::array::from_fn(|_| 4 * r.below(40) as u64);
        Self { size: canvas, sources, pictures: pixels, planes, params, padding }
    }

    fn exact(&self) -> Vec<Option<[f64; 3]>> {
        let [left, right] = [0, 1].map(|i| Source {
            width: self.sources[i].x as usize,
            height: self.sources[i].y as usize,
            pixels: &self.pictures[i],
        });
        oracle::stitch(
            self.size.x as usize,
            self.size.y as usize,
            [left, right],
            &self.planes,
            &self.params,
        )
    }

    /// An image whose rows are padded with `padding` bytes.
    fn image<T: bytemuck::Pod>(&self, stream: &Stream, size: UVec2, which: usize) -> Image<T> {
        let pitch = u64::from(size.x) * size_of::<T>() as u64 + self.padding[which];
        Image::with_pitch(stream.device(), size.x, size.y, pitch).unwrap()
    }

    /// Runs `kernel` on the stream's device.
    fn run(&self, stream: &Stream, power: PowerKernel) -> Vec<Rgba8> {
        let mut pictures = [0, 1].map(|i| self.image(stream, self.sources[i], i));
        for (image, pixels) in pictures.iter_mut().zip(&self.pictures) {
            image.upload(stream, pixels).unwrap();
        }
        let mut planes: [Image<f32>; 6] =
            std::array::from_fn(|i| self.image(stream, self.size, 2 + i));
        for (image, values) in planes.iter_mut().zip(&self.planes) {
            image.upload(stream, values).unwrap();
        }
        let mut out = self.image(stream, self.size, 8);
        // What the kernel does not write must show.
        let pixels = self.size.element_product() as usize;
        out.upload(stream, &vec![Rgba8 { r: 1, g: 2, b: 3, a: 4 }; pixels]).unwrap();
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        macro_rules! launch {
            ($kernel:ident) => {
                stream.launch(
                    &config,
                    &kernels_gpu::stitch::$kernel {
                        left: pictures[0].view(),
                        right: pictures[1].view(),
                        lut_left_x: planes[0].view(),
                        lut_left_y: planes[1].view(),
                        lut_right_x: planes[2].view(),
                        lut_right_y: planes[3].view(),
                        weight_left: planes[4].view(),
                        weight_right: planes[5].view(),
                        params: self.params,
                        out: out.view_mut(),
                    },
                )
            };
        }
        match power {
            PowerKernel::Linear => launch!(StitchPlanesLinear),
            PowerKernel::Exact => launch!(StitchPlanesExact),
            PowerKernel::Fast => launch!(StitchPlanesFast),
        }
        .unwrap();
        out.download(stream).unwrap()
    }
}

#[derive(Clone, Copy, Debug)]
enum PowerKernel {
    Linear,
    Exact,
    Fast,
}

const POWERS: [PowerKernel; 3] = [PowerKernel::Linear, PowerKernel::Exact, PowerKernel::Fast];

#[test]
fn ten_thousand_random_maps_are_within_one_level_of_f64() {
    let stream = Device::cpu().stream().unwrap();
    let mut worst = 0.0_f64;
    for seed in 0..10_000 {
        let mut case = Case::random(seed, 17);
        for power in [PowerKernel::Exact, PowerKernel::Fast] {
            worst = worst.max(oracle::worst(&case.run(&stream, power), &case.exact()));
        }
        (case.params.left.gamma, case.params.right.gamma) = (1.0, 1.0);
        worst = worst.max(oracle::worst(&case.run(&stream, PowerKernel::Linear), &case.exact()));
    }
    println!("CPU against f64: {worst:.4} levels");
    // Half a level is the rounding; the arithmetic adds little.
    assert!(worst <= 0.51, "{worst} levels");
}

#[test]
fn gpu_and_cpu_agree_on_random_maps() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut worst = 0.0_f64;
        for seed in 0..300 {
            let mut case = Case::random(seed, 65);
            for power in POWERS {
                if let PowerKernel::Linear = power {
                    (case.params.left.gamma, case.params.right.gamma) = (1.0, 1.0);
                }
                worst = worst.max(oracle::worst(&case.run(&stream, power), &case.exact()));
                case = Case::random(seed, 65);
            }
        }
        println!("{device} against f64: {worst:.4} levels");
        assert!(worst <= 0.51, "{device}: {worst} levels");
    }
}

#[test]
fn a_hundred_runs_are_identical() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let case = Case::random(7, 200);
        for power in POWERS {
            let first = case.run(&stream, power);
            for _ in 1..100 {
                assert!(case.run(&stream, power) == first, "{device}, {power:?}");
            }
        }
    }
}

#[test]
fn panoramas_of_gpu_and_cpu_agree_at_home_size() {
    let Some(gpu) = gpu() else { return };
    let geometry = Rig::parse(include_str!("../../rigs/home.toml"), "rigs/home.toml")
        .unwrap()
        .geometry()
        .unwrap();
    let mut random = Random::new(1);
    let pictures = [0, 1].map(|i| {
        let size = geometry.cameras[i].size;
        let mut picture = Picture::filled(size.x, size.y, Rgba8::BLACK);
        for (at, pixel) in picture.pixels_mut().iter_mut().enumerate() {
            let (x, y) = (at as u32 % size.x, at as u32 / size.x);
            let noise = random.bits() as u8 & 31;
            *pixel = Rgba8::opaque((x >> 4) as u8 ^ noise, (y >> 3) as u8, (x + y) as u8 ^ noise);
        }
        picture
    });
    let colour = |gain, gamma| Colour { gain: Vec3::splat(gain), gamma };
    for power in [Power::Exact, Power::Fast] {
        let (left, right) = (colour(1.2, 0.85), colour(0.8, 1.15));
        let options = StitchOptions { left, right, power, ..StitchOptions::default() };
        let [a, b] = [&Device::cpu(), &gpu].map(|device| {
            let stream = device.stream().unwrap();
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            stitch_pictures(&stream, &pictures[0], &pictures[1], &warp, &options).unwrap()
        });
        let (largest, psnr) = oracle::compare(a.pixels(), b.pixels());
        println!("{gpu} against the CPU, {power:?}: at most {largest} level, PSNR {psnr:.1} dB");
        assert!(largest <= 1 && psnr >= 60.0, "{power:?}: {largest} levels, {psnr} dB");
    }
}

#[test]
fn missing_planes_count_as_weight_zero() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let picture = Image::from_slice(&stream, 2, 2, &[Rgba8::opaque(9, 9, 9); 4]).unwrap();
        let small = Image::from_slice(&stream, 1, 1, &[1.0_f32]).unwrap();
        let mut out = Image::new(&device, 3, 2).unwrap();
        let kernel = kernels_gpu::stitch::StitchPlanesLinear {
            left: picture.view(),
            right: picture.view(),
            lut_left_x: small.view(),
            lut_left_y: small.view(),
            lut_right_x: small.view(),
            lut_right_y: small.view(),
            weight_left: small.view(),
            weight_right: small.view(),
            params: StitchParams::default(),
            out: out.view_mut(),
        };
        stream.launch(&LaunchConfig::cover(3, 2, BLOCK), &kernel).unwrap();
        let pixels = out.download(&stream).unwrap();
        assert_eq!(pixels[0], Rgba8::opaque(9, 9, 9));
        assert_eq!(pixels[1..], [Rgba8::BLACK; 5]);
    }
}
