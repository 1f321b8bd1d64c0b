//! Tests of stitches that add 1 to 16 cameras to sums: more than two cameras by planes, or frames of different formats.
//! They compare the panoramas with the specification's formula in f64, and with the kernels for two cameras.

use glam::{UVec2, Vec3, uvec2};
use panoweave::device::Stream;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, Vignettes, stitch};
use panoweave::warp::{DeviceWarp, MAX_CAMERAS, Plane, Warp};
use panoweave_tests::random::Random;
use panoweave_tests::raster::Raster;
use panoweave_tests::{by_planes, oracle, panoweave_devices, runs_kernels};
use shared_types::stitch::Colour;
use shared_types::warp::UNSEEN;

/// The inputs of a random stitch.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) output: FrameFormat,
    pub(super) sources: Vec<Raster>,
    pub(super) warp: Warp,
    pub(super) options: StitchOptions,
    padding: u64,
}

fn format(random: &mut Random) -> PixelFormat {
    let (matrix, range) = (
        random.pick(&[YuvMatrix::Bt601, YuvMatrix::Bt709]),
        random.pick(&[Range::Limited, Range::Full]),
    );
    let nv12 = PixelFormat::Nv12(YuvEncoding { matrix, range });
    random.pick(&[PixelFormat::Rgba8, nv12])
}

/// Returns the planes of a warp in which each camera sees a random box of the panorama, with some holes in it.
fn planes(random: &mut Random, size: UVec2, sources: &[Raster]) -> Vec<Vec<f32>> {
    let pixels = size.element_product() as usize;
    let mut planes = vec![vec![UNSEEN; pixels]; 3 * sources.len()];
    for (camera, source) in sources.iter().enumerate() {
        let mut side = |length: u32| {
            let [a, b] = [0, 1].map(|_| random.below(length as usize + 1) as u32);
            (a.min(b), a.max(b))
        };
        let (columns, rows) = (side(size.x), side(size.y));
        let [x, y, weight] = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
            .map(|plane| plane.index(sources.len()));
        let extent = source.size.as_vec2();
        #[expect(clippy::needless_range_loop, reason = "`at` is a pixel of three planes")]
        for at in 0..pixels {
            let (column, row) = (at as u32 % size.x, at as u32 / size.x);
            // Weights outside the box must not count, because the source coordinates are outside the picture.
            planes[weight][at] = match random.below(6) {
                0 => random.pick(&[0.0, 1.0, 0.001, 0.001_f32.next_up(), 0.5]),
                _ => random.between(0.0, 1.0),
            };
            if (columns.0..columns.1).contains(&column) && (rows.0..rows.1).contains(&row) {
                planes[x][at] = random.between(-0.05 * extent.x, 1.05 * extent.x);
                planes[y][at] = random.between(-0.05 * extent.y, 1.05 * extent.y);
            }
        }
    }
    planes
}

impl Case {
    /// Creates a random case with `cameras` cameras of different sizes and formats.
    pub(super) fn random(seed: u64, cameras: usize) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let size = uvec2(1 + r.below(70) as u32, 1 + r.below(40) as u32);
        let source = |_| {
            let size = uvec2(1 + r.below(30) as u32, 1 + r.below(30) as u32);
            let pixels = format(r);
            Raster::noise(r, size, pixels)
        };
        let sources: Vec<_> = (0..cameras).map(source).collect();
        let planes = planes(r, size, &sources);
        let sizes: Vec<_> = sources.iter().map(|source| source.size).collect();
        let mut colour = |_| Colour {
            gain: Vec3::new(r.between(0.0, 2.5), r.between(0.3, 1.7), r.pick(&[0.0, 1.0, 2.0])),
            gamma: r.pick(&[1.0, 0.8, 1.2, 0.45, 2.2]),
            shoulder: r.pick(&[0.0, 1.0, 0.7]),
        };
        let colours: Vec<_> = (0..cameras).map(&mut colour).collect();
        let vignettes: Vec<_> = sources.iter().map(|source| r.vignette(source.size, 0.8)).collect();
        let options = StitchOptions {
            colours: Colours::of(colours),
            vignettes: Vignettes::of(vignettes),
            flip: r.below(2) == 1,
            edge_boost: r.below(2) == 1,
            lookup: r.pick(&[Lookup::Auto, Lookup::Planes, Lookup::Cubic]),
            ..StitchOptions::default()
        };
        let output = FrameFormat { size, pixels: format(r) };
        let warp = Warp::new(size, sizes, planes).unwrap();
        Self { output, sources, warp, options, padding: 4 * r.below(40) as u64 }
    }

    /// Returns the case with frames of one format, chosen by `seed`.
    fn uniform(mut self, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let pixels = format(&mut random);
        for source in &mut self.sources {
            *source = Raster::noise(&mut random, source.size, pixels);
        }
        self
    }

    fn upload(&self, stream: &Stream) -> (Vec<DeviceFrame>, DeviceWarp, DeviceFrame) {
        let frames =
            self.sources.iter().map(|source| source.upload(stream, self.padding)).collect();
        // Fill the panorama with a pattern, so that pixels that the kernel does not write make the test fail.
        let unwritten = Raster::from_bytes(self.output.size, self.output.pixels, || 0x5a);
        let warp = DeviceWarp::upload(stream, &self.warp).unwrap();
        (frames, warp, unwritten.upload(stream, self.padding))
    }

    fn run(&self, stream: &Stream) -> Raster {
        let (frames, warp, mut out) = self.upload(stream);
        let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
        stitch(stream, &frames, &warp, &self.options, &mut out).unwrap();
        Raster::download(stream, &out)
    }

    /// Returns the R'G'B' levels of each panorama pixel by the formula of the specification, like [`oracle::stitch`].
    fn exact(&self) -> Vec<Option<[f64; 3]>> {
        self.exact_of(|camera, u, v| match self.options.lookup {
            Lookup::Cubic => oracle::cubic(&self.sources[camera], u, v),
            _ => oracle::bilinear(&self.sources[camera], u, v),
        })
    }

    /// Returns the same levels for other pictures of the same sizes. `sample` returns the levels of a camera's picture
    /// at a column and a row.
    pub(super) fn exact_of(
        &self,
        sample: impl Fn(usize, f64, f64) -> [f64; 3],
    ) -> Vec<Option<[f64; 3]>> {
        let [width, height] = self.output.size.to_array().map(|side| side as usize);
        let mut out = vec![None; width * height];
        for at in 0..width * height {
            let (mut sum, mut weights) = ([0.0; 3], 0.0);
            for (camera, source) in self.sources.iter().enumerate() {
                let value = |plane| f64::from(self.warp.plane(plane)[at]);
                let (u, v) = (value(Plane::X(camera)), value(Plane::Y(camera)));
                let weight = value(Plane::Weight(camera));
                let [w, h] = source.size.to_array().map(f64::from);
                let inside = u >= 0.0 && u < w && v >= 0.0 && v < h;
                if inside && weight > f64::from(0.001_f32) {
                    let levels = sample(camera, u, v);
                    let colour = &self.options.colours[camera];
                    let factor = oracle::vignette(&self.options.vignettes[camera], u, v);
                    let graded = oracle::grade_pixel(colour, levels, factor);
                    sum.iter_mut().zip(graded).for_each(|(sum, level)| *sum += weight * level);
                    weights += weight;
                }
            }
            let half = width as f64 / 2.0;
            let d = ((at % width) as f64 - half).abs() / half;
            let boosted = self.options.edge_boost && d > 0.8;
            let boost = if boosted { (1.0 + (d - 0.8) * 1.75).min(1.35) } else { 1.0 };
            let to = if self.options.flip { width * height - 1 - at } else { at };
            if weights > 0.0 {
                out[to] = Some(sum.map(|sum| (sum / weights * boost).clamp(0.0, 255.0)));
            }
        }
        out
    }
}

/// The seeds and numbers of cameras of the random cases: every number of cameras, `each` times.
pub(super) fn cases(each: u64) -> impl Iterator<Item = (u64, usize)> {
    (1..=MAX_CAMERAS).flat_map(move |cameras| (0..each).map(move |seed| (seed, cameras)))
}

#[test]
fn random_cameras_are_within_one_level_of_f64() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut worst = 0.0_f64;
        for (seed, cameras) in cases(20) {
            let mut case = Case::random(seed, cameras);
            if cameras == 2 {
                // Two frames of one format use other kernels and lookups, which other tests check.
                if case.options.lookup != Lookup::Cubic {
                    case.options.lookup = Lookup::Planes;
                }
                if case.options.lookup != Lookup::Cubic
                    && case.sources[0].format().pixels == case.sources[1].format().pixels
                {
                    continue;
                }
            }
            let off = oracle::worst(&case.run(&stream), &case.exact());
            // The bound includes half a level for rounding and 0.01 levels for f32 arithmetic.
            assert!(off < 0.51, "{device}, seed {seed}, {cameras} cameras: {off} levels");
            worst = worst.max(off);
        }
        println!("{device} against f64: {worst:.4} levels");
    }
}

/// Checks that the sums have the bytes of the kernels for two cameras. A third camera with weight 0 makes the library
/// use the sums. Either both gammas are 1 or none is, because the kernels for two cameras compute the power of both.
#[test]
fn sums_equal_the_stitch_of_two_cameras() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..100 {
            let mut case = Case::random(seed, 3).uniform(seed);
            let linear = seed % 3 == 0;
            for camera in 0..3 {
                let gamma = &mut case.options.colours[camera].gamma;
                *gamma = if linear { 1.0 } else { 0.7 * gamma.max(0.9) };
            }
            case.options.lookup = Lookup::Planes;
            let plane = |plane: Plane| case.warp.plane(plane).to_vec();
            let two = Plane::all(2).map(plane).collect::<Vec<_>>();
            let mut three = case.warp.planes().to_vec();
            three[Plane::Weight(2).index(3)].fill(0.0);
            let sizes = case.warp.sources().to_vec();
            let (two, three) = (
                Case {
                    warp: Warp::new(case.output.size, &sizes[..2], two).unwrap(),
                    sources: case.sources[..2].to_vec(),
                    ..case.clone()
                },
                Case { warp: Warp::new(case.output.size, sizes, three).unwrap(), ..case },
            );
            let (two, three) = (two.run(&stream), three.run(&stream));
            if runs_kernels(&device) {
                assert!(two == three, "{device}, seed {seed}");
            } else {
                assert!(two.largest_difference(&three) <= 1, "{device}, seed {seed}");
            }
        }
    }
}

/// Checks the inputs for which `auto` selects the sums with fast powers, because a mesh does not support them.
#[test]
fn what_a_mesh_cannot_stitch_is_summed() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..12 {
            let mut case = Case::random(seed, 3).uniform(seed);
            case.options.lookup = Lookup::Auto;
            let UVec2 { x, y } = case.output.size;
            if seed % 2 == 0 {
                // A mesh has no shoulder.
                let gain = Vec3::splat(1.2);
                case.options.colours[1] = Colour { gain, gamma: 0.8, shoulder: 1.0 };
            } else if x.is_multiple_of(2) && y.is_multiple_of(2) {
                continue;
            } else {
                // The panorama is NV12, flipped, and has odd sides.
                case.options.flip = true;
                case.output.pixels = PixelFormat::Nv12(YuvEncoding::default());
            }
            let off = oracle::worst(&case.run(&stream), &case.exact());
            assert!(off < 0.53, "{device}, seed {seed}: {off}");
        }
    }
}

/// Checks that stitches on two streams, which share the sums of one warp, do not disturb each other.
#[test]
fn two_streams_share_a_warp() {
    for device in panoweave_devices() {
        let streams = [device.stream().unwrap(), device.stream().unwrap()];
        let cases = [1, 2].map(|seed| {
            let case = Case::random(77, 9);
            let sources = case.sources.iter().map(|source| {
                Raster::noise(&mut Random::new(seed), source.size, source.format().pixels)
            });
            Case { sources: sources.collect(), ..case }
        });
        let expected = cases.each_ref().map(|case| case.run(&streams[0]));
        let (_, warp, _) = cases[0].upload(&streams[0]);
        let mut sets: Vec<_> =
            cases.iter().zip(&streams).map(|(case, stream)| case.upload(stream)).collect();
        for _ in 0..20 {
            for ((frames, _, out), stream) in sets.iter_mut().zip(&streams) {
                let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
                stitch(stream, &frames, &warp, &cases[0].options, &mut *out).unwrap();
            }
            for (((_, _, out), stream), expected) in sets.iter().zip(&streams).zip(&expected) {
                assert!(Raster::download(stream, out) == *expected, "{device}");
            }
        }
    }
}

#[test]
fn pixels_without_a_camera_are_black() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (seed, flip) in [(4, false), (5, true)] {
            let mut case = Case::random(seed, 4);
            case.options = StitchOptions { flip, ..by_planes() };
            let planes = case.warp.planes().iter().map(|plane| vec![UNSEEN.abs(); plane.len()]);
            let mut planes: Vec<_> = planes.collect();
            (0..8).for_each(|i| planes[i].fill(UNSEEN));
            case.warp = Warp::new(case.output.size, case.warp.sources().to_vec(), planes).unwrap();
            let none = vec![None; case.output.size.element_product() as usize];
            // `worst` asserts that these pixels are exactly black.
            assert!(oracle::worst(&case.run(&stream), &none) == 0.0, "{device}");
        }
    }
}
