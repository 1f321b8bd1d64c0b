//! Tests of the kernels of the colour analysis. They compare the overlap with the result of a naive search, the colour
//! sums with sums in f64, the gamma table with its formula, and the GPU's results bit by bit with the CPU's.

use cuda_std::DeviceSliceMut;
use glam::{UVec2, Vec3, uvec2};
use kernels_gpu::stitch::GammaTable as BuildTable;
use panoweave::device::{Buffer, Device, Image, LaunchConfig, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::ops::colour::{Overlaps, Summing};
use panoweave::ops::stitch::{Colours, Lookup, StitchError, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster};
use panoweave_tests::{data, oracle, panoweave_devices};
use shared_types::Rgba8;
use shared_types::colour::{
    ColourSums, MIN_WEIGHT, OverlapBox, OverlapPixel, OverlapRule, TABLE_BLOCK, TABLE_LEN,
    TABLE_LEVELS, TableEntry, WEIGHT_ONE,
};
use shared_types::stitch::Colour;

/// The input of the colour analysis: two random pictures and the planes of a random warp.
struct Case {
    size: UVec2,
    sources: [Raster; 2],
    planes: [Vec<f32>; 6],
    /// Whether the warp has a third camera, which sees nothing.
    third: bool,
    padding: [u64; 2],
}

/// The rule for the overlap in a warp of two cameras.
const TWO: OverlapRule = OverlapRule { weight: MIN_WEIGHT, share: 0.0 };
/// The rule for the overlaps in a warp of more cameras.
const MORE: OverlapRule =
    OverlapRule { weight: shared_types::stitch::MIN_WEIGHT, share: MIN_WEIGHT };

/// The results of one device for a [`Case`].
#[derive(Debug, PartialEq)]
struct Found {
    place: OverlapBox,
    pixels: Vec<OverlapPixel>,
    /// The colour sums of every launch. Empty if there is no overlap.
    sums: Vec<ColourSums>,
}

/// Weights with which a pixel of a camera counts as part of the overlap: greater than 0.1.
const COUNTS: [f32; 3] = [1.0, 0.5, 0.1_f32.next_up()];
/// Weights with which a pixel of a camera does not count as part of the overlap.
const COUNTS_NOT: [f32; 4] = [0.0, 0.1, 0.05, 1e-4];

fn encodings() -> [YuvEncoding; 4] {
    [YuvMatrix::Bt601, YuvMatrix::Bt709]
        .map(|matrix| [Range::Limited, Range::Full].map(|range| YuvEncoding { matrix, range }))
        .as_flattened()
        .try_into()
        .unwrap()
}

/// Returns a picture of noise in which some pixels are saturated and some pixels are nearly black.
fn picture(random: &mut Random, size: UVec2, format: PixelFormat) -> Raster {
    let mut raster = Raster::noise(random, size, format);
    match &mut raster.pixels {
        Pixels::Rgba8(pixels) => {
            for pixel in pixels {
                match random.below(8) {
                    0 => *pixel = Rgba8::opaque(pixel.r / 16, pixel.g / 32, pixel.b / 4),
                    1 => pixel.g = random.pick(&[246, 247, 248, 255]),
                    _ => {}
                }
            }
        }
        Pixels::Nv12 { y, uv, .. } => {
            // Move most chroma values towards 128, so that the colours are within the RGB gamut.
            uv.iter_mut().filter(|_| random.below(4) > 0).for_each(|chroma| {
                (chroma.u, chroma.v) = (112 + chroma.u / 8, 112 + chroma.v / 8);
            });
            y.iter_mut().filter(|_| random.below(8) == 0).for_each(|y| *y /= 10);
        }
        Pixels::P010 { .. } => unreachable!("`ten_bit` tests P010"),
    }
    raster
}

impl Case {
    /// Returns a random case. The cameras overlap in up to three rectangles with holes. The overlap may be empty, a
    /// single pixel, several areas or the whole panorama.
    fn random(seed: u64, most: UVec2) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let side = |r: &mut Random, most: u32| match r.below(4) {
            0 => 1 + r.below(3.min(most as usize)) as u32,
            _ => 1 + r.below(most as usize) as u32,
        };
        let [size, left, right] = [0, 1, 2].map(|_| uvec2(side(r, most.x), side(r, most.y)));
        let any = |r: &mut Random| match r.below(5) {
            4 => PixelFormat::Rgba8,
            i if seed.is_multiple_of(2) => PixelFormat::Nv12(encodings()[i]),
            _ => PixelFormat::Rgba8,
        };
        let format = any(r);
        // A third of the cases have two formats.
        let formats = [format, if seed.is_multiple_of(3) { any(r) } else { format }];
        let sources = [0, 1].map(|i| picture(r, [left, right][i], formats[i]));
        let rectangles: Vec<_> = (0..r.pick(&[0, 1, 1, 2, 3]))
            .map(|_| {
                let [x, y] = size.to_array().map(|side| {
                    let first = r.below(side as usize);
                    let some = 1 + r.below(side as usize);
                    let len = r.pick(&[1, some, side as usize]);
                    first..(first + len).min(side as usize)
                });
                if r.below(4) == 0 { (0..size.x as usize, 0..size.y as usize) } else { (x, y) }
            })
            .collect();
        let area = size.element_product() as usize;
        let mut planes: [Vec<f32>; 6] = std::array::from_fn(|_| Vec::with_capacity(area));
        for at in 0..area {
            let (x, y) = (at % size.x as usize, at / size.x as usize);
            let inside = rectangles.iter().any(|(xs, ys)| xs.contains(&x) && ys.contains(&y));
            // At most one of the six planes gets a value that excludes this pixel from the overlap.
            let not = if inside { r.below(30) } else { r.below(6) };
            for plane in 0..4 {
                let extent = [left, right][plane / 2].to_array()[plane % 2] as f32;
                planes[plane].push(if not == plane {
                    r.pick(&[extent, -1e-6, -1e30, 1e10, 2.0 * extent])
                } else {
                    let anywhere = r.between(0.0, extent).min(extent.next_down());
                    r.pick(&[anywhere, anywhere, anywhere.floor() + 0.5, 0.0, -0.0])
                        .min(extent.next_down())
                });
            }
            for camera in 0..2 {
                let weights = if not == 4 + camera { &COUNTS_NOT[..] } else { &COUNTS };
                planes[4 + camera].push(r.pick(weights));
            }
        }
        let padding = std::array::from_fn(|_| 8 * r.below(20) as u64);
        Self { size, sources, planes, third: seed.is_multiple_of(5), padding }
    }

    /// Returns a random case in which the overlap is the whole panorama.
    fn whole(random: &mut Random, size: UVec2, format: PixelFormat) -> Self {
        let sources = [0, 1].map(|_| picture(random, uvec2(50, 40), format));
        let planes = std::array::from_fn(|plane| match plane {
            4.. => vec![1.0; size.element_product() as usize],
            _ => (0..size.element_product()).map(|_| random.between(0.0, 39.0)).collect(),
        });
        Self { size, sources, planes, third: false, padding: [0; 2] }
    }

    fn exact_overlap(&self) -> Vec<Option<[[usize; 2]; 2]>> {
        let sizes = self.sources.each_ref().map(|source| source.size);
        oracle::overlap(&self.planes, sizes, if self.third { MORE } else { TWO })
    }

    /// Finds the overlap once, and computes its colour sums `launches` times in the same memory.
    fn run(&self, stream: &Stream, launches: usize) -> Found {
        let mut planes = self.planes.to_vec();
        let mut sources: Vec<&Raster> = self.sources.iter().collect();
        let dark = Raster { size: UVec2::ONE, pixels: Pixels::Rgba8(vec![Rgba8::BLACK]) };
        if self.third {
            let none = vec![0.0; planes[0].len()];
            planes.splice(4..4, [none.clone(), none.clone()]);
            planes.push(none);
            sources.push(&dark);
        }
        let sizes: Vec<_> = sources.iter().map(|source| source.size).collect();
        let warp = Warp::new(self.size, sizes, planes).unwrap();
        let warp = DeviceWarp::upload(stream, &warp).unwrap();
        let overlaps = Overlaps::find(stream, &warp).unwrap();
        let [overlap] = overlaps.all() else {
            assert!(overlaps.all().is_empty());
            return Found { place: OverlapBox::EMPTY, pixels: Vec::new(), sums: Vec::new() };
        };
        let padding = self.padding.into_iter().chain([0]);
        let frames: Vec<_> =
            sources.iter().zip(padding).map(|(s, p)| s.upload(stream, p)).collect();
        let views: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
        let mut summing = Summing::new(stream.device()).unwrap();
        let mut sums = Vec::new();
        for _ in 1..launches {
            // SAFETY: all launches that use the memory of `summing` are on one stream.
            unsafe { overlaps.submit(stream, &views, &mut summing) }.unwrap();
            sums.push(summing.sums.download(stream).unwrap()[0]);
        }
        sums.extend(overlaps.sums(stream, &views).unwrap());
        Found { place: overlap.place(), pixels: overlap.pixels(stream).unwrap(), sums }
    }

    /// Compares a device's results with the expected results from `oracle`. Returns the largest error of a sum, divided
    /// by the allowed rounding error. This allowed error is 10⁻⁶ of the sum of absolute values, plus half a
    /// quantisation step of the weight for each pixel.
    fn check(&self, found: &Found) -> f64 {
        let overlap = self.exact_overlap();
        let width = self.size.x as usize;
        let Some(exact) = oracle::overlap_box(&overlap, width) else {
            assert!(found.place.is_empty(), "{:?} but there is no overlap", found.place);
            return 0.0;
        };
        let place = [found.place.min, found.place.max].map(|v| v.to_array().map(|n| n as usize));
        assert_eq!(place, exact, "the overlap's box");
        let [[x0, y0], [x1, y1]] = exact;
        let pixels = (y0..y1).flat_map(|y| (x0..x1).map(move |x| y * width + x)).map(|at| {
            let to_u16 = |at: [usize; 2]| at.map(|n| n as u16);
            overlap[at].map_or(OverlapPixel::NONE, |[left, right]| OverlapPixel {
                left: to_u16(left),
                right: to_u16(right),
            })
        });
        assert!(pixels.eq(found.pixels.iter().copied()), "the nearest pixels");
        let [exact, weighted, whole] =
            oracle::colour_sums(&overlap, width, self.sources.each_ref());
        let mut worst = 0.0_f64;
        for sums in &found.sums {
            let sums = [&sums.left[..], &sums.right, &[sums.weight]].concat();
            for (i, sum) in sums.into_iter().enumerate() {
                let error = (f64::from(sum) - exact[i]).abs();
                let allowed = 1e-6 * weighted[i] + 0.501 / f64::from(WEIGHT_ONE) * whole[i];
                worst = worst.max(if error == 0.0 { 0.0 } else { error / allowed });
            }
        }
        worst
    }
}

#[test]
fn overlap_and_sums_are_those_of_a_naive_search_in_f64() {
    let most = [uvec2(65, 63), uvec2(300, 200)];
    let cases = || (0..400).map(|seed| Case::random(seed, most[usize::from(seed % 20 == 0)]));
    let mut first: Option<Vec<Found>> = None;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let found: Vec<_> = cases().map(|case| case.run(&stream, 2)).collect();
        let errors = cases().zip(&found).map(|(case, found)| case.check(found));
        let worst = errors.fold(0.0, f64::max);
        println!("{device} against f64: {worst:.2} of what rounding allows");
        assert!(worst <= 1.0, "{device}: {worst}");
        let with = found.iter().filter(|found| !found.sums.is_empty()).count();
        assert!((200..400).contains(&with), "{with} of 400 maps have an overlap");
        // The sums contain neither NaN nor −0, so `==` is a bit-by-bit comparison.
        match &first {
            None => first = Some(found),
            Some(cpu) => assert!(*cpu == found, "{device} and the CPU differ"),
        }
    }
}

#[test]
fn grids_of_every_shape_are_summed_up_whole() {
    // A block covers 32×64 pixels. These grids have more blocks than a block has threads: blocks in one row, blocks in
    // one column, and blocks in several rows and columns.
    let many = [uvec2(32 * 257, 1), uvec2(1, 64 * 257), uvec2(32 * 16 + 1, 64 * 16 + 1)];
    let few = [uvec2(32, 64), uvec2(33, 64), uvec2(32, 65), uvec2(31, 63)];
    for (seed, size) in (0..).zip(many.into_iter().chain(few)) {
        let case = Case::whole(&mut Random::new(seed), size, PixelFormat::Rgba8);
        let runs = panoweave_devices().into_iter().map(|device| {
            let found = case.run(&device.stream().unwrap(), 1);
            let worst = case.check(&found);
            assert!(worst <= 1.0, "{device}, {size}: {worst}");
            found
        });
        let found: Vec<_> = runs.collect();
        assert!(found.iter().all(|other| *other == found[0]), "{size}: devices differ");
    }
}

#[test]
fn a_hundred_runs_are_identical() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        // Use several blocks, 5 on the CPU and 660 on a GPU. They run in undefined order, which must not change the
        // sums.
        let size = if device.cuda_info().is_some() { uvec2(700, 1900) } else { uvec2(5 * 32, 64) };
        let mut random = Random::new(7);
        for format in [PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default())] {
            let found = Case::whole(&mut random, size, format).run(&stream, 100);
            assert_eq!(found.sums.len(), 100);
            assert!(found.sums.iter().all(|sums| *sums == found.sums[0]), "{device}, {format:?}");
        }
    }
}

/// Returns a warp in which panorama pixel `(x, y)` is pixel `(x, y)` of both cameras, each with a weight of 0.5.
fn looking_straight(size: UVec2) -> Warp {
    let at = |axis: usize| {
        let place = |y, x| [x as f32, y as f32][axis];
        (0..size.y).flat_map(|y| (0..size.x).map(move |x| place(y, x))).collect::<Vec<f32>>()
    };
    let weight = vec![0.5; size.element_product() as usize];
    let planes = [at(0), at(1), at(0), at(1), weight.clone(), weight];
    Warp::new(size, [size; 2], planes).unwrap()
}

#[test]
fn levels_count_up_to_247_and_from_luma_8_on() {
    let grey = |level| Rgba8::opaque(level, level, level);
    // Each case is a colour and whether the kernel must count it. Colours with a luma below 8 do not count: the luma of
    // (0, 11, 2) is 8.0116, and the luma of (0, 11, 1) is 7.9394.
    let cases = [
        (grey(100), true),
        (grey(247), true),
        (grey(248), false),
        (grey(8), true),
        (grey(7), false),
        (Rgba8::opaque(0, 11, 2), true),
        (Rgba8::opaque(0, 11, 1), false),
        (Rgba8::opaque(248, 9, 9), false),
        (Rgba8::opaque(9, 248, 9), false),
        (Rgba8::opaque(9, 9, 248), false),
        (Rgba8::opaque(0, 0, 247), true),
        (Rgba8::opaque(37, 0, 0), false),
    ];
    let at = UVec2::ONE;
    let frame = |pixel| Raster { size: at, pixels: Pixels::Rgba8(vec![pixel]) };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &looking_straight(at)).unwrap();
        let overlaps = Overlaps::find(&stream, &warp).unwrap();
        for (pixel, counts) in cases {
            for pixels in [[pixel, grey(100)], [grey(100), pixel]] {
                let frames = pixels.map(|pixel| frame(pixel).upload(&stream, 0));
                let views = frames.each_ref().map(DeviceFrame::view);
                let sums = overlaps.sums(&stream, &views).unwrap()[0];
                assert_eq!(sums.weight, f32::from(u8::from(counts)), "{device}, {pixels:?}");
                let [l, r] = pixels.map(|p| if counts { [p.r, p.g, p.b] } else { [0; 3] });
                assert_eq!(sums.left[..3], l.map(f32::from));
                assert_eq!(sums.right[..3], r.map(f32::from));
            }
        }
    }
}

#[test]
fn frames_that_do_not_go_together_are_refused() {
    let stream = Device::simulator().stream().unwrap();
    let size = uvec2(5, 3);
    let warp = DeviceWarp::upload(&stream, &looking_straight(size)).unwrap();
    let overlaps = Overlaps::find(&stream, &warp).unwrap();
    let sums = |left: &DeviceFrame, right: &DeviceFrame| {
        overlaps.sums(&stream, &[left.view(), right.view()])
    };
    let frame = |size: UVec2, pixels| {
        DeviceFrame::new(stream.device(), FrameFormat { size, pixels }).unwrap()
    };
    let a = PixelFormat::Nv12(encodings()[0]);
    let rgba = PixelFormat::Rgba8;
    let says = |found: Result<Vec<ColourSums>, StitchError>, text| {
        crate::malformed::assert_says(found.unwrap_err(), text);
    };
    says(sums(&frame(size, a), &frame(uvec2(5, 4), a)), "the picture of camera 2 is");
    says(sums(&frame(uvec2(4, 3), rgba), &frame(size, rgba)), "the picture of camera 1 is");
    let halved = DeviceFrame::Nv12 {
        y: Image::new(stream.device(), 5, 3).unwrap(),
        uv: Image::new(stream.device(), 2, 2).unwrap(),
        encoding: encodings()[0],
    };
    says(sums(&frame(size, a), &halved), "the chroma plane of the frame of camera 2");
}

/// Launches the kernel that fills the gamma table `table` for the colour corrections of both cameras.
fn build_table(stream: &Stream, [left, right]: [Colour; 2], table: DeviceSliceMut<'_, TableEntry>) {
    let config = LaunchConfig {
        grid: [TABLE_LEN.div_ceil(TABLE_BLOCK), 1, 1],
        block: [TABLE_BLOCK, 1, 1],
        dynamic_shared: 0,
    };
    stream.launch(&config, &BuildTable { left, right, table }).unwrap();
}

#[test]
fn table_holds_the_formula_at_every_level() {
    let mut random = Random::new(3);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for _ in 0..20 {
            let colours = [0, 1].map(|_| Colour {
                gain: Vec3::from_array([0; 3].map(|_| random.between(0.0, 3.0))),
                gamma: random.pick(&[1.0, 0.8, 1.2, 0.45, 2.2]),
                ..Colour::IDENTITY
            });
            // The kernel must fill a longer table up to `TABLE_LEN`, and a shorter table to its end.
            for len in [TABLE_LEN, TABLE_LEN + 7, TABLE_LEN - 7, 1] {
                let untouched = TableEntry::splat(-1.0);
                let elements = vec![untouched; len as usize];
                let mut table = Buffer::from_slice(&stream, &elements).unwrap();
                build_table(&stream, colours, table.view_mut());
                let entries = table.download(&stream).unwrap();
                for (i, entry) in (0..).zip(&entries) {
                    if i >= TABLE_LEN {
                        assert_eq!(*entry, untouched);
                        continue;
                    }
                    let colour = colours[usize::from(i >= TABLE_LEN / 2)];
                    let (channel, level) = (i / TABLE_LEVELS % 3, i % TABLE_LEVELS);
                    let exact = |level: u32| {
                        oracle::grade(&colour, channel as usize, f64::from(level)) / 255.0
                    };
                    let next = exact((level + 1).min(TABLE_LEVELS - 1));
                    let [here, step] = entry.to_array().map(f64::from);
                    assert!((here - exact(level)).abs() < 1e-6, "{device}: {i}");
                    assert!((here + step - next).abs() < 1e-6, "{device}: {i}");
                }
            }
        }
    }
}

#[test]
fn table_is_rebuilt_when_colours_change() {
    let grey = |gain| [Colour { gain: Vec3::splat(gain), gamma: 1.0, ..Colour::IDENTITY }; 2];
    let size = uvec2(4, 4);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &looking_straight(size)).unwrap();
        let hundred = vec![Rgba8::opaque(100, 100, 100); 16];
        let picture = Image::from_slice(&stream, 4, 4, &hundred).unwrap();
        let stitched = |[left, right]: [Colour; 2]| {
            let mut out = Image::new(&device, 4, 4).unwrap();
            let options = StitchOptions {
                colours: Colours::of([left, right]),
                lookup: Lookup::GammaTable,
                ..StitchOptions::default()
            };
            let frames = [(&picture).into(), (&picture).into()];
            stitch(&stream, &frames, &warp, &options, &mut out).unwrap();
            out.download(&stream).unwrap()[5].r
        };
        assert_eq!(stitched(grey(0.5)), 50);
        let [darker, half] = [grey(0.3)[0], grey(0.5)[0]];
        assert_eq!(stitched([darker, half]), 40, "{device}: not rebuilt for the left");
        assert_eq!(stitched([half, half]), 50, "{device}: not rebuilt");
        assert_eq!(stitched([half, darker]), 40, "{device}: not rebuilt for the right");
        let bent = Colour { gamma: 1.5, ..half };
        assert!(stitched([half, bent]) < 40, "{device}: not rebuilt for a gamma");
        assert_eq!(stitched(grey(0.5)), 50, "{device}: not rebuilt to what it was");
    }
}

#[test]
fn photos_differ_by_the_gains_that_others_found() {
    let pairs = [
        ("weir", "weir_1.jpg"),
        ("weir", "weir_2.jpg"),
        ("arches_b", "JDW_9518.jpg"),
        ("river", "river1.jpg"),
        ("boof_mountain_rotate", "mountain_rotate_01.jpg"),
    ];
    let Some(table) = data("stitch_ref/pairs.csv") else { return };
    let table = std::fs::read_to_string(table).unwrap();
    for (scene, left) in pairs {
        let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == scene && row[1] == left).unwrap();
        let files = [row[1], row[2]].map(|name| data(format!("scenes/{scene}/{name}")));
        let [Some(left), Some(right)] = files else { return };
        let pictures = [left, right].map(|file| {
            let picture = Picture::open(file).unwrap();
            let size = uvec2(picture.width(), picture.height());
            Raster { size, pixels: Pixels::Rgba8(picture.pixels().to_vec()) }
        });
        let [a, b] = pictures.each_ref().map(|picture| picture.size);
        let geometry = Homography::parse(row[9], "pairs.csv").unwrap().geometry(a, b).unwrap();
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            let overlaps = Overlaps::find(&stream, &warp).unwrap();
            let frames = pictures.each_ref().map(|picture| picture.upload(&stream, 0));
            let views = frames.each_ref().map(DeviceFrame::view);
            let sums = overlaps.sums(&stream, &views).unwrap()[0];

            let (width, warp) = (warp.size().x as usize, warp.download(&stream).unwrap());
            let places = oracle::overlap(warp.planes(), [a, b], TWO);
            let [exact, ..] = oracle::colour_sums(&places, width, pictures.each_ref());
            for c in 0..3 {
                let [l, r] = [sums.left[c], sums.right[c]].map(f64::from);
                assert!((l / exact[c] - 1.0).abs() < 1e-5 && (r / exact[4 + c] - 1.0).abs() < 1e-5);
                // The reference value is the median of the ratios of single pixels. The ratio of means, `found`, gives
                // bright pixels more weight, and cameras compress bright levels more. Therefore, `found` is up to 13 %
                // lower in the scene whose exposures differ most.
                let (found, others) = (r / l, row[6 + c].parse::<f64>().unwrap());
                println!("{device}, {scene}: right is {found:.3} of left, others {others:.3}");
                assert!((found / others - 1.0).abs() < 0.15, "{scene}: {found} is not {others}");
            }
        }
    }
}
