//! Tests of stitches of two cameras by planes, for every pixel format and every method to compute the gamma. They compare
//! the panoramas with the specification's formula in f64.

use glam::{UVec2, Vec3, uvec2};
use kernels_gpu::stitch::GammaTable as BuildTable;
use kernels_gpu::stitch::planes as kernels;
use panoweave::device::{Buffer, Device, Image, LaunchConfig, Stream};
use panoweave::frame::{
    DeviceFrame, FrameFormat, FrameView, FrameViewMut, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, Vignettes, stitch};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::oracle::{self, Grade};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{DevicePlanes, Pixels, Raster, chroma_size};
use panoweave_tests::{by_planes, panoweave_devices, supported};
use shared_types::colour::{TABLE_BLOCK, TABLE_LEN, TableEntry};
use shared_types::stitch::{BLOCK, Colour, StitchParams};
use shared_types::{Chroma, Rgba8};

/// Returns a coordinate at or near an edge of a picture that is `size` pixels wide or high, or an extreme `f32`.
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

/// The inputs of a random stitch: sizes, formats, pitches, planes and options.
#[derive(Clone)]
struct Case {
    size: UVec2,
    output: PixelFormat,
    sources: [Raster; 2],
    planes: [Vec<f32>; 6],
    params: StitchParams,
    padding: [u64; 5],
}

/// The method by which a kernel applies the gamma. The kernel with a table is for RGBA only.
#[derive(Clone, Copy, Debug)]
enum Gamma {
    Exact,
    Fast,
    Table,
}

const GAMMAS: [Gamma; 3] = [Gamma::Exact, Gamma::Fast, Gamma::Table];

/// Returns every combination of matrix and range.
fn encodings() -> [YuvEncoding; 4] {
    let of = |matrix, range| YuvEncoding { matrix, range };
    [
        of(YuvMatrix::Bt601, Range::Limited),
        of(YuvMatrix::Bt601, Range::Full),
        of(YuvMatrix::Bt709, Range::Limited),
        of(YuvMatrix::Bt709, Range::Full),
    ]
}

impl Case {
    /// Creates a random case. Four consecutive seeds cover the four pairs of formats.
    fn random(seed: u64, most: usize) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let mut size = || uvec2(1 + r.below(most) as u32, 1 + r.below(most) as u32);
        let (canvas, sources) = (size(), [size(), size()]);
        let mut format = |nv12: bool| match r.pick(&encodings()) {
            encoding if nv12 => PixelFormat::Nv12(encoding),
            _ => PixelFormat::Rgba8,
        };
        let (input, output) = (format(seed % 2 == 1), format(seed / 2 % 2 == 1));
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
            shoulder: r.pick(&[0.0, 1.0, 0.7]),
        };
        let (left, right) = (colour(), colour());
        let (flip, edge_boost) = (r.below(2) as u32, r.below(2) as u32);
        let [left_vignette, right_vignette] = sources.map(|size| r.vignette(size, 0.8));
        let params = StitchParams {
            left,
            right,
            left_vignette,
            right_vignette,
            flip,
            edge_boost,
            ..StitchParams::default()
        };
        let padding = std::array::from_fn(|_| 4 * r.below(40) as u64);
        let sources = sources.map(|size| Raster::noise(r, size, input));
        Self { size: canvas, output, sources, planes, params, padding }
    }

    /// Returns the case for kernels of type `gamma`: a table is for RGBA, and the library uses other kernels for a
    /// shoulder.
    fn of(mut self, gamma: Gamma) -> Self {
        if let Gamma::Table = gamma {
            (self.params.left.shoulder, self.params.right.shoulder) = (0.0, 0.0);
            self.output = PixelFormat::Rgba8;
            self.sources = self
                .sources
                .map(|source| Raster::noise(&mut Random::new(9), source.size, self.output));
        }
        self
    }

    /// Stitches on the stream's device, with the kernel for the case's formats and for `gamma`.
    fn run(&self, stream: &Stream, gamma: Gamma) -> Raster {
        let [left, right, planes_left, planes_right, panorama] = self.padding;
        let frames = [self.sources[0].upload(stream, left), self.sources[1].upload(stream, right)];
        let planes =
            DevicePlanes::upload(stream, self.size, &self.planes, [planes_left, planes_right]);
        // Fill the panorama with a pattern, so that pixels that the kernel does not write make the test fail.
        let mut count = 0_u8;
        let unwritten = Raster::from_bytes(self.size, self.output, || {
            count = count.wrapping_add(1);
            count
        });
        let mut out = unwritten.upload(stream, panorama);
        let views = (frames[0].view(), frames[1].view(), out.view_mut());
        launch(stream, self.size, views, &planes, self.params, gamma);
        Raster::download(stream, &out)
    }

    /// Stitches on the stream's device. Returns the largest difference from the specification's formula, and the
    /// allowed difference, both in levels.
    fn check(&self, stream: &Stream, gamma: Gamma) -> [f64; 2] {
        let found = self.run(stream, gamma);
        let (grade, most): (Grade, _) = match gamma {
            Gamma::Table => (oracle::grade_cut_off, self.table_error()),
            _ => (oracle::grade_pixel, 0.0),
        };
        let sources = self.sources.each_ref();
        let exact = oracle::stitch(self.size, sources, &self.planes, &self.params, grade);
        // The bound includes half a level for rounding and 0.01 levels for f32 arithmetic.
        [oracle::worst(&found, &exact), most + 0.51]
    }

    fn table_error(&self) -> f64 {
        let most = table_error(&self.params.left).max(table_error(&self.params.right));
        if self.params.edge_boost != 0 { 1.35 * most } else { most }
    }
}

/// Returns the maximum error of a colour read from a table, in levels, for gains up to about 3.
///
/// The curve is c(x) = 255·(gain·x/255)^gamma up to white, and constant above. A table contains c at whole levels.
/// Values in between are interpolated linearly. The error is largest where the curve bends:
/// - At white, which is at a fraction t of the way between two levels, the slope falls from gain·gamma to 0. The
///   error is slope·t·(1 − t).
/// - At black, a power is steep or flat. From 0 to 1, the error is c(1)·|xᵗ − x| for t = gamma. It is largest at x =
///   t^(1/(1 − t)).
///
/// Elsewhere, the error is an eighth of the second derivative, which is under 0.01.
fn table_error(colour: &Colour) -> f64 {
    let t = f64::from(colour.gamma);
    let channel = |gain: f32| {
        let gain = f64::from(gain);
        let bend = (255.0 / gain).fract();
        let white = if gain > 1.0 { t * gain * bend * (1.0 - bend) } else { 0.0 };
        let x = t.powf(1.0 / (1.0 - t));
        let first = 255.0 * (gain / 255.0).powf(t);
        let black = if t == 1.0 { 0.0 } else { first * (x.powf(t) - x).abs() };
        white.max(black)
    };
    colour.gain.to_array().map(channel).into_iter().fold(0.0, f64::max) + 0.01
}

/// Launches the stitch kernel that supports the formats of the given frames.
fn launch(
    stream: &Stream,
    size: UVec2,
    (left, right, out): (FrameView<'_>, FrameView<'_>, FrameViewMut<'_>),
    planes: &DevicePlanes,
    params: StitchParams,
    gamma: Gamma,
) {
    let encoding = |format: FrameFormat| format.pixels.encoding().unwrap_or_default();
    let decode = encoding(left.format()).to_rgb();
    let encode = encoding(out.format()).from_rgb();
    let exact = matches!(gamma, Gamma::Exact).into();
    let params = StitchParams { decode, encode, exact, ..params };
    let cell = if let FrameViewMut::Nv12(..) = out { 2 } else { 1 };
    let config = LaunchConfig::cover(size.x.div_ceil(cell), size.y.div_ceil(cell), BLOCK);
    let [planes_left, planes_right] = planes.cameras();
    macro_rules! launch {
        ($kernel:ident, $left:ident, $right:ident, $out:ident $(, $table:ident)?) => {{
            let (left, right, out) = ($left, $right, $out);
            let kernel = kernels::$kernel {
                left,
                right,
                planes_left,
                planes_right,
                $(table: $table.view(),)?
                params,
                out,
            };
            stream.launch(&config, &kernel)
        }};
    }
    use {FrameView as In, FrameViewMut as Out};
    match (left, right, out) {
        (In::Rgba8(l), In::Rgba8(r), Out::Rgba8(o)) if matches!(gamma, Gamma::Table) => {
            let table = table(stream, params.left, params.right);
            launch!(StitchGammaTable, l, r, o, table)
        }
        (In::Rgba8(l), In::Rgba8(r), Out::Rgba8(o)) => launch!(StitchPlanesRgba8, l, r, o),
        (In::Nv12(l, _), In::Nv12(r, _), Out::Nv12(o, _)) => launch!(StitchPlanesNv12, l, r, o),
        (In::Nv12(l, _), In::Nv12(r, _), Out::Rgba8(o)) => launch!(StitchPlanesNv12Rgba8, l, r, o),
        (In::Rgba8(l), In::Rgba8(r), Out::Nv12(o, _)) => launch!(StitchPlanesRgba8Nv12, l, r, o),
        _ => unreachable!("both pictures have one format"),
    }
    .unwrap();
}

/// Builds a gamma table.
fn table(stream: &Stream, left: Colour, right: Colour) -> Buffer<TableEntry> {
    let mut table = Buffer::new(stream.device(), TABLE_LEN).unwrap();
    let build = BuildTable { left, right, table: table.view_mut() };
    stream.launch(&LaunchConfig::cover(TABLE_LEN, 1, [TABLE_BLOCK, 1]), &build).unwrap();
    table
}

/// Checks random cases on one device: one case for each of `seeds` and each method in [`GAMMAS`]. `most` is the maximum
/// width and height of a picture.
fn check_random_maps(stream: &Stream, seeds: std::ops::Range<u64>, most: usize) {
    for gamma in GAMMAS {
        let mut worst = 0.0_f64;
        for seed in seeds.clone() {
            let [found, allowed] = Case::random(seed, most).of(gamma).check(stream, gamma);
            let device = stream.device();
            assert!(found <= allowed, "{device}, {gamma:?}, seed {seed}: {found} levels");
            worst = worst.max(found);
        }
        println!("{} against f64, {gamma:?}: {worst:.4} levels", stream.device());
    }
}

#[test]
fn ten_thousand_random_maps_are_within_one_level_of_f64() {
    check_random_maps(&Device::simulator().stream().unwrap(), 0..10_000, 17);
}

#[test]
fn larger_random_maps_are_within_one_level_of_f64() {
    for device in panoweave_devices() {
        check_random_maps(&device.stream().unwrap(), 0..300, 65);
    }
}

#[test]
fn a_hundred_runs_are_identical() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 4..8 {
            for gamma in GAMMAS {
                let case = Case::random(seed, 100).of(gamma);
                let first = case.run(&stream, gamma);
                for _ in 1..100 {
                    assert!(case.run(&stream, gamma) == first, "{device}, seed {seed}, {gamma:?}");
                }
            }
        }
    }
}

/// Returns planes in which only the left camera contributes. The function `at` returns the camera's source position for
/// a panorama pixel `(x, y)`.
fn left_alone(size: UVec2, at: impl Fn(u32, u32) -> [f32; 2]) -> [Vec<f32>; 6] {
    let all = || (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y)));
    let plane = |axis: usize| all().map(|(x, y)| at(x, y)[axis]).collect::<Vec<_>>();
    let flat = |weight| vec![weight; size.element_product() as usize];
    [plane(0), plane(1), plane(0), plane(1), flat(1.0), flat(0.0)]
}

/// Returns a case in which both cameras have the same picture.
fn case(picture: &Raster, size: UVec2, planes: [Vec<f32>; 6], output: PixelFormat) -> Case {
    let sources = [picture.clone(), picture.clone()];
    Case { size, output, sources, planes, params: StitchParams::default(), padding: [0; 5] }
}

#[test]
fn a_table_errs_where_the_curve_bends_and_no_more() {
    let mut random = Random::new(5);
    let named =
        [(1.0, 1.0), (2.0, 1.0), (2.0, 1.2), (2.0, 0.8), (0.5, 0.8), (2.0, 2.2), (1.0, 0.45)];
    let some = (0..40).map(|_| (random.between(0.5, 3.0), random.between(0.4, 2.5)));
    let cases: Vec<_> = named.into_iter().chain(some).collect();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for &(gain, gamma) in &cases {
            let colour = Colour { gain: Vec3::splat(gain), gamma, ..Colour::IDENTITY };
            let entries = table(&stream, colour, colour).download(&stream).unwrap();
            let mut worst = 0.0_f64;
            for at in 0..=255 * 256 {
                let level = f64::from(at) / 256.0;
                let [here, step] = entries[level as usize].to_array().map(f64::from);
                let read = 255.0 * (here + level.fract() * step);
                worst = worst.max((read - oracle::grade(&colour, 0, level)).abs());
            }
            let most = table_error(&colour);
            println!("{device}, gain {gain}, gamma {gamma}: off by {worst:.3}, bound {most:.3}");
            assert!(worst <= most, "{device}, gain {gain}, gamma {gamma}: {worst}");
            // Check that the bound is tight: it may be only about 10 % larger than the largest error.
            assert!(worst >= 0.9 * most - 0.02, "{device}, gain {gain}, gamma {gamma}: {worst}");
            // For the gains and gammas that colour analysis can return, the documented bound is 0.61 levels.
            let usual = gain <= 2.0 && (0.8..=1.2).contains(&gamma);
            assert!(!usual || worst <= 0.61, "{device}, gain {gain}, gamma {gamma}: {worst}");
        }
    }
}

#[test]
fn nv12_through_an_identity_is_unchanged() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (seed, size) in (0..).zip([uvec2(40, 30), uvec2(37, 29), uvec2(1, 1), uvec2(2, 1)]) {
            let mut random = Random::new(seed);
            for encoding in encodings() {
                // Use colours within the gamut. Chroma changes linearly over the picture, so interpolation is exact.
                let y = (0..size.element_product()).map(|_| 90 + random.below(70) as u8).collect();
                let UVec2 { x: columns, y: rows } = chroma_size(size);
                let cells = (0..rows).flat_map(|j| (0..columns).map(move |i| (i as u8, j as u8)));
                let uv = cells.map(|(i, j)| Chroma { u: 118 + i, v: 136 - j }).collect();
                let picture = Raster { size, pixels: Pixels::Nv12 { y, uv, encoding } };
                let planes = left_alone(size, |x, y| [x as f32, y as f32]);
                let case = case(&picture, size, planes, PixelFormat::Nv12(encoding));
                assert!(
                    case.run(&stream, Gamma::Exact) == picture,
                    "{device}, {size}, {encoding:?}"
                );
            }
        }
    }
}

/// Published colour bars, a line for each: the encoding, the amplitude of the colours (1 or 0.75), and the levels Y, Cb
/// and Cr of white, yellow, cyan, green, magenta, red, blue and black. In full range, the extreme chroma values would be
/// 0.5 and 255.5, which are stored as 1 and 255.
const BARS: &str = "\
hd 1 235 128 128 219 16 138 188 154 16 173 42 26 78 214 230 63 102 240 32 240 118 16 128 128
hd 0.75 180 128 128 168 44 136 145 147 44 133 63 52 63 193 204 51 109 212 28 212 120 16 128 128
sd 1 235 128 128 210 16 146 170 166 16 145 54 34 106 202 222 81 90 240 41 240 110 16 128 128
sd 0.75 180 128 128 162 44 142 131 156 44 112 72 58 84 184 198 65 100 212 35 212 114 16 128 128
jpeg 1 255 128 128 226 1 149 179 171 1 150 44 21 105 212 235 76 85 255 29 255 107 0 128 128";

/// Returns the encoding, the amplitude and the levels of a line of [`BARS`].
fn bars(line: &str) -> (YuvEncoding, f32, Vec<[u8; 3]>) {
    let words: Vec<_> = line.split(' ').collect();
    let [sd, jpeg, hd, _] = encodings();
    let encoding = match words[0] {
        "hd" => hd,
        "sd" => sd,
        _ => jpeg,
    };
    let levels: Vec<u8> = words[2..].iter().map(|level| level.parse().unwrap()).collect();
    (encoding, words[1].parse().unwrap(), levels.as_chunks().0.to_vec())
}

#[test]
fn colour_bars_have_their_published_levels() {
    // A bar is one chroma sample wide, which is two pixels, and all source positions are in the middle of a bar.
    let size = uvec2(16, 2);
    let planes = || left_alone(size, |x, _| [(x / 2 * 2) as f32 + 0.5, 0.5]);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (encoding, share, bars) in BARS.lines().map(bars) {
            let bar = |i: usize| i % 16 / 2;
            // The three bits of a bar state whether red, green and blue are on. The bars are white, yellow, cyan,
            // green, magenta, red, blue and black.
            let colours = [0b111, 0b110, 0b011, 0b010, 0b101, 0b100, 0b001, 0b000];
            let coloured = |level: u8| {
                let channel = |i, bit| if colours[bar(i)] & bit != 0 { level } else { 0 };
                let pixel = |i| Rgba8::opaque(channel(i, 4), channel(i, 2), channel(i, 1));
                Raster { size, pixels: Pixels::Rgba8((0..32).map(pixel).collect()) }
            };
            let y = (0..32).map(|i| bars[bar(i)][0]).collect();
            let uv = bars.iter().map(|&[_, u, v]| Chroma { u, v }).collect();
            let levels = Raster { size, pixels: Pixels::Nv12 { y, uv, encoding } };

            // 75 % of 255 is not a whole number, so use pictures with full levels and a gain of 0.75.
            let mut case = case(&coloured(255), size, planes(), PixelFormat::Nv12(encoding));
            case.params.left.gain = Vec3::splat(share);
            assert_eq!(case.run(&stream, Gamma::Exact), levels, "{device}, {encoding:?}");
            let case = self::case(&levels, size, planes(), PixelFormat::Rgba8);
            let (found, colours) =
                (case.run(&stream, Gamma::Exact), coloured((share * 255.0) as u8));
            // The published levels are rounded. An error of half a level in each of Y, Cb and Cr changes blue by up to
            // two levels.
            let (Pixels::Rgba8(found), Pixels::Rgba8(colours)) = (&found.pixels, &colours.pixels)
            else {
                unreachable!("both are RGBA")
            };
            let (largest, _) = oracle::compare(found, colours);
            assert!(largest <= 2, "{device}, {encoding:?}: {largest} levels");
        }
    }
}

#[test]
fn missing_planes_count_as_weight_zero() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let picture = Image::from_slice(&stream, 2, 2, &[Rgba8::opaque(9, 9, 9); 4]).unwrap();
        let small = [0; 6].map(|_| vec![1.0]);
        let small = DevicePlanes::upload(&stream, UVec2::ONE, &small, [0; 2]);
        let [planes_left, planes_right] = small.cameras();
        let mut out = Image::new(&device, 3, 2).unwrap();
        let kernel = kernels_gpu::stitch::planes::StitchPlanesRgba8 {
            left: picture.view(),
            right: picture.view(),
            planes_left,
            planes_right,
            params: StitchParams::default(),
            out: out.view_mut(),
        };
        stream.launch(&LaunchConfig::cover(3, 2, BLOCK), &kernel).unwrap();
        let pixels = out.download(&stream).unwrap();
        assert_eq!(pixels[0], Rgba8::opaque(9, 9, 9));
        assert_eq!(pixels[1..], [Rgba8::BLACK; 5]);
    }
}

#[test]
fn nothing_is_written_where_chroma_is_missing() {
    let (size, encoding) = (uvec2(7, 5), YuvEncoding::default());
    let whole = chroma_size(size);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let planes = left_alone(size, |x, y| [x as f32, y as f32]);
        let planes = DevicePlanes::upload(&stream, size, &planes, [0; 2]);
        let frame = |chroma: UVec2| DeviceFrame::Nv12 {
            y: Image::new(&device, size.x, size.y).unwrap(),
            uv: Image::new(&device, chroma.x, chroma.y).unwrap(),
            encoding,
        };
        let wrong = [
            whole - uvec2(1, 0),
            whole - uvec2(0, 1),
            whole + uvec2(1, 0),
            whole + uvec2(0, 1),
            UVec2::ONE,
            size,
        ];
        for gamma in [Gamma::Exact, Gamma::Fast] {
            for bad in wrong {
                for [left, right, out] in
                    [[bad, whole, whole], [whole, bad, whole], [whole, whole, bad]]
                {
                    let (left, right, mut out) = (frame(left), frame(right), frame(out));
                    let views = (left.view(), right.view(), out.view_mut());
                    let params = StitchParams::default();
                    launch(&stream, size, views, &planes, params, gamma);
                    let DeviceFrame::Nv12 { y, uv, .. } = out else { unreachable!("it is NV12") };
                    // The kernel must not write the panorama. If it had written black, the levels would be 16 and 128.
                    assert!(y.download(&stream).unwrap().iter().all(|&y| y == 0), "{gamma:?}");
                    let untouched = Chroma { u: 0, v: 0 };
                    assert!(uv.download(&stream).unwrap().iter().all(|&uv| uv == untouched));
                }
            }
        }
        // With invalid frames, the kernel must not write an RGBA panorama, either.
        let (good, bad) = (frame(whole), frame(size));
        for [left, right] in [[&good, &bad], [&bad, &good]] {
            let mut out = DeviceFrame::Rgba8(Image::new(&device, size.x, size.y).unwrap());
            let views = (left.view(), right.view(), out.view_mut());
            let params = StitchParams::default();
            launch(&stream, size, views, &planes, params, Gamma::Fast);
            let DeviceFrame::Rgba8(image) = out else { unreachable!("it is RGBA") };
            assert!(image.download(&stream).unwrap().iter().all(|pixel| pixel.a == 0));
        }
    }
}

/// Every lookup of two frames is within its error of the formula, if it supports the case.
#[test]
fn every_lookup_is_near_the_formula() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..32 {
            let mut case = Case::random(seed, 30);
            // A `Warp` accepts only finite coordinates, and weights from 0 to 1. The texture unit of a GPU takes subnormal
            // numbers as 0.
            for (i, plane) in case.planes.iter_mut().enumerate() {
                let place = |v: f32| v.is_finite() && !v.is_subnormal();
                let fits = |v: f32| if i < 4 { place(v) } else { (0.0..=1.0).contains(&v) };
                plane.iter_mut().filter(|v| !fits(**v)).for_each(|v| *v = 0.0);
            }
            let sources = case.sources.each_ref().map(|source| source.size);
            let warp = Warp::new(case.size, sources, case.planes.clone()).unwrap();
            let warp = DeviceWarp::upload(&stream, &warp).unwrap();
            for lookup in [
                Lookup::Planes,
                Lookup::TexturedPlanes,
                Lookup::HardwareBilinear,
                Lookup::GammaTable,
            ] {
                let StitchParams { left, right, left_vignette, right_vignette, .. } = case.params;
                let options = StitchOptions {
                    colours: Colours::of([left, right]),
                    vignettes: Vignettes::of([left_vignette, right_vignette]),
                    flip: case.params.flip != 0,
                    edge_boost: case.params.edge_boost != 0,
                    lookup,
                    ..StitchOptions::default()
                };
                let [l, r] = case.sources.each_ref().map(|source| source.upload(&stream, 8));
                let format = FrameFormat { size: case.size, pixels: case.output };
                let mut out = DeviceFrame::new(&device, format).unwrap();
                let frames = [(&l).into(), (&r).into()];
                if supported(stitch(&stream, &frames, &warp, &options, &mut out)).is_none() {
                    continue;
                }
                let found = Raster::download(&stream, &out);
                let (grade, most): (Grade, _) = match lookup {
                    Lookup::GammaTable => (oracle::grade_cut_off, case.table_error()),
                    // The filter weights have 8 bits. A gain and a power of 0.45 multiply the error.
                    Lookup::HardwareBilinear => continue,
                    _ => (oracle::grade_pixel, 0.0),
                };
                let sources = case.sources.each_ref();
                let exact = oracle::stitch(case.size, sources, &case.planes, &case.params, grade);
                println!("{device}, seed {seed}, {lookup:?}");
                let worst = oracle::worst(&found, &exact);
                assert!(worst <= most + 0.51, "{worst}");
            }
        }
    }
}

#[test]
fn frames_that_do_not_go_together_are_refused() {
    let stream = Device::simulator().stream().unwrap();
    let size = uvec2(6, 4);
    let planes = left_alone(size, |x, y| [x as f32, y as f32]);
    let warp = Warp::new(size, [size; 2], planes).unwrap();
    let warp = DeviceWarp::upload(&stream, &warp).unwrap();
    let frame =
        |size, pixels| DeviceFrame::new(stream.device(), FrameFormat { size, pixels }).unwrap();
    let try_to = |left: &DeviceFrame, right: &DeviceFrame, mut out: DeviceFrame| {
        stitch(&stream, &[left.into(), right.into()], &warp, &by_planes(), &mut out).unwrap_err()
    };
    let (a, rgba) = (PixelFormat::Nv12(encodings()[0]), PixelFormat::Rgba8);
    // Test three wrong chroma planes: one as large as the luma plane, one with a column too few, and one with a row too
    // many.
    let good = frame(size, a);
    for chroma in [size, uvec2(2, 2), uvec2(3, 3)] {
        let bad = || DeviceFrame::Nv12 {
            y: Image::new(stream.device(), size.x, size.y).unwrap(),
            uv: Image::new(stream.device(), chroma.x, chroma.y).unwrap(),
            encoding: encodings()[0],
        };
        for (expected, error) in [
            ("the frame of camera 1", try_to(&bad(), &good, frame(size, a))),
            ("the frame of camera 2", try_to(&good, &bad(), frame(size, rgba))),
            ("the output", try_to(&good, &good, bad())),
        ] {
            assert!(
                error.to_string().contains(&format!("the chroma plane of {expected} must")),
                "{error}"
            );
        }
    }
    let small = frame(uvec2(6, 3), a);
    for (expected, error) in
        [(1, try_to(&small, &good, frame(size, a))), (2, try_to(&good, &small, frame(size, a)))]
    {
        assert!(
            error.to_string().contains(&format!("the picture of camera {expected} is")),
            "{error}"
        );
    }
    let error = try_to(&good, &good, frame(uvec2(5, 4), rgba));
    assert!(error.to_string().contains("the output is 5×4 pixels"), "{error}");
}
