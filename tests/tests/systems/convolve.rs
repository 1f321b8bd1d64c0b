//! Tests of separable convolution. They compare the results with the formula in f64, the convolution in one launch with
//! the convolution in two launches, the GPU with the CPU bit by bit, and Gaussian taps with those of the KLT library.

use cuda_std::launch::Place;
use glam::{UVec2, uvec2};
use panoweave::device::{Device, Image, LaunchConfig, Stream};
use panoweave::ops::convolve::{
    ConvolveError, GradientFilter, Intermediate, SeparableFilter, Taps,
};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{padded, upload_plane};
use panoweave_tests::{data, panoweave_devices};
use proptest::prelude::*;
use shared_types::convolve::{CONSTANT_TAPS, ConstantTaps, MAX_WIDTH, TILE, fused_elements};

/// The input of a convolution: a picture, the horizontal and vertical taps of a filter, and the row padding of images.
struct Case {
    size: UVec2,
    picture: Vec<f32>,
    taps: [Taps; 2],
    /// The padding in bytes after each row of the input, the intermediate picture and the output.
    padding: [u64; 3],
}

fn random_taps(random: &mut Random, width: usize) -> Taps {
    Taps::new((0..width).map(|_| random.between(-1.0, 1.0)).collect::<Vec<_>>()).unwrap()
}

impl Case {
    fn new(random: &mut Random, size: UVec2, widths: [usize; 2]) -> Self {
        let area = size.element_product();
        Self {
            size,
            picture: (0..area).map(|_| random.between(-100.0, 300.0)).collect(),
            taps: widths.map(|width| random_taps(random, width)),
            padding: [0; 3].map(|_| 4 * random.below(20) as u64),
        }
    }

    /// Computes one pass, along rows or columns, by its formula. Returns the result, and the sums of the absolute
    /// values of its terms, which bound the rounding errors. A row or column has `extent` elements, which are `stride`
    /// elements apart in memory. `place` maps the index of an element to its position in its row or column.
    fn exact_pass(
        [values, sizes]: [&[f64]; 2],
        taps: &[f32],
        place: impl Fn(usize) -> usize,
        stride: usize,
        extent: usize,
    ) -> [Vec<f64>; 2] {
        let (k, r) = (taps.len(), taps.len() / 2);
        let sums = |at: usize| {
            let i = place(at);
            if i < r || i + r >= extent {
                return [0.0; 2];
            }
            (0..k).fold([0.0; 2], |[value, size], j| {
                let from = at + j * stride - r * stride;
                let tap = f64::from(taps[k - 1 - j]);
                [value + values[from] * tap, size + sizes[from] * tap.abs()]
            })
        };
        let (values, sizes) =
            (0..values.len()).map(sums).map(|[value, size]| (value, size)).unzip();
        [values, sizes]
    }

    /// Returns the exact result in f64, and the allowed rounding errors of a result in f32.
    fn exact(&self) -> (Vec<f64>, Vec<f64>) {
        let [width, height] = self.size.to_array().map(|side| side as usize);
        let picture: Vec<_> = self.picture.iter().copied().map(f64::from).collect();
        let sizes: Vec<_> = picture.iter().map(|value| value.abs()).collect();
        let [horizontal, vertical] = self.taps.each_ref().map(Taps::as_slice);
        let rows = Self::exact_pass([&picture, &sizes], horizontal, |at| at % width, 1, width);
        let [values, sizes] =
            Self::exact_pass([&rows[0], &rows[1]], vertical, |at| at / width, width, height);
        // Each tap, and a few other operations, may add a relative rounding error of 2⁻²⁴.
        let roundings = (horizontal.len() + vertical.len() + 2) as f64 * 2.0_f64.powi(-24);
        (values, sizes.iter().map(|size| size * roundings).collect())
    }

    fn upload(&self, stream: &Stream) -> (SeparableFilter, Image<f32>) {
        let filter = SeparableFilter::new(stream, &self.taps[0], &self.taps[1]).unwrap();
        (filter, upload_plane(stream, self.size, &self.picture, self.padding[0]))
    }

    /// Returns an image full of NaNs, so that pixels that a kernel does not write make the test fail.
    fn nowhere(&self, stream: &Stream, padding: u64) -> Image<f32> {
        let nothing = vec![f32::NAN; self.picture.len()];
        upload_plane(stream, self.size, &nothing, padding)
    }

    fn two_pass(&self, stream: &Stream) -> Vec<f32> {
        let (filter, input) = self.upload(stream);
        let mut between = self.nowhere(stream, self.padding[1]);
        let mut out = self.nowhere(stream, self.padding[2]);
        filter.two_pass(stream, input.view(), &mut between, out.view_mut()).unwrap();
        out.download(stream).unwrap()
    }

    fn fused(&self, stream: &Stream) -> Result<Vec<f32>, ConvolveError> {
        let (filter, input) = self.upload(stream);
        let mut out = self.nowhere(stream, self.padding[2]);
        filter.fused(stream, input.view(), out.view_mut())?;
        Ok(out.download(stream).unwrap())
    }

    /// Runs the convolution on every device, with one launch and with two launches. Compares each result with the
    /// formula, and bit by bit with the first result.
    fn check(&self) {
        let (exact, allowed) = self.exact();
        let widths = self.taps.each_ref().map(Taps::width);
        let mut first: Option<Vec<f32>> = None;
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let mut results = vec![("two passes", self.two_pass(&stream))];
            match self.fused(&stream) {
                Ok(result) => results.push(("one launch", result)),
                Err(ConvolveError::TooWideToFuse { width }) => {
                    assert!(width > CONSTANT_TAPS && widths.contains(&width), "{width} {widths:?}");
                }
                Err(error) => panic!("{error}"),
            }
            for (way, result) in results {
                for (at, &value) in result.iter().enumerate() {
                    let (x, y) = (at as u32 % self.size.x, at as u32 / self.size.x);
                    let far = (f64::from(value) - exact[at]).abs();
                    assert!(
                        far <= allowed[at],
                        "{way} on {device}: {value}, not {} at ({x}, {y}) of {} with {widths:?} taps",
                        exact[at],
                        self.size
                    );
                }
                let bits = |of: &[f32]| of.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                let first = first.get_or_insert_with(|| result.clone());
                assert!(
                    bits(first) == bits(&result),
                    "{way} on {device}: {} {widths:?}",
                    self.size
                );
            }
        }
    }
}

#[test]
fn random_sizes_and_widths_are_the_formula() {
    let mut random = Random::new(1);
    for _ in 0..60 {
        let size = uvec2(1 + random.below(150) as u32, 1 + random.below(150) as u32);
        let widths = [0; 2].map(|_| 2 * random.below(20) + 1);
        Case::new(&mut random, size, widths).check();
    }
}

#[test]
fn every_width_around_the_edge_of_constant_memory() {
    let mut random = Random::new(2);
    for widths in [[1, 1], [5, 5], [7, 7], [15, 15], [31, 31], [63, 63], [65, 65], [67, 3], [3, 67]]
    {
        Case::new(&mut random, uvec2(140, 135), widths).check();
        // The width is a multiple of the tile size, and the height is one pixel more than a tile.
        Case::new(&mut random, uvec2(2 * TILE, TILE + 1), widths).check();
    }
}

/// Checks that the results are correct for any alignment of the rows. If rows begin at multiples of 16 bytes, blocks
/// whose halo is inside the picture load four pixels at a time; otherwise, they load single pixels.
#[test]
fn blocks_inside_are_the_same_whatever_the_alignment() {
    let mut random = Random::new(7);
    for width in [1, 3, 5, 7, 15, 31, 33, 63, 65] {
        // With these widths, the last four-pixel load of a block ends at the right edge of the picture, one pixel
        // before the edge, or far from the edge.
        for columns in [3 * TILE, 3 * TILE + width as u32 / 2, 3 * TILE + width as u32 / 2 + 1, 215]
        {
            let mut case = Case::new(&mut random, uvec2(columns, 200), [width; 2]);
            let to_sixteen = u64::from(4 * columns).next_multiple_of(16) - u64::from(4 * columns);
            for padding in [to_sixteen, to_sixteen + 4] {
                case.padding[0] = padding;
                case.check();
            }
        }
    }
}

#[test]
fn a_window_larger_than_the_picture_gives_zeros() {
    let mut random = Random::new(3);
    for widths in [[7, 7], [31, 31], [63, 63], [65, 65], [301, 1], [1, 301], [301, 301]] {
        for size in [uvec2(1, 1), uvec2(1, 90), uvec2(90, 1), uvec2(6, 6), uvec2(30, 64)] {
            Case::new(&mut random, size, widths).check();
        }
    }
}

#[test]
fn the_widest_filter_of_all() {
    let mut random = Random::new(4);
    Case::new(&mut random, uvec2(5, 3), [MAX_WIDTH as usize, MAX_WIDTH as usize]).check();
    // With these wide filters, shared memory has room for only a few rows or only a few columns of a tile.
    Case::new(&mut random, uvec2(1500, 9), [1201, 3]).check();
    Case::new(&mut random, uvec2(9, 1500), [3, 1201]).check();
}

#[test]
fn what_is_not_finite_spreads_as_far_as_the_window() {
    let mut random = Random::new(5);
    let mut case = Case::new(&mut random, uvec2(50, 40), [7, 5]);
    case.picture[20 * 50 + 25] = f32::INFINITY;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (two, one) = (case.two_pass(&stream), case.fused(&stream).unwrap());
        for at in 0..two.len() {
            let (x, y) = (at % 50, at / 50);
            let seen = x.abs_diff(25) <= 3 && y.abs_diff(20) <= 2;
            assert_eq!(two[at].is_finite(), !seen, "({x}, {y}) on {device}");
            assert_eq!(one[at].is_finite(), !seen, "({x}, {y}) on {device}");
        }
    }
}

#[test]
fn an_impulse_shows_the_taps_in_their_order() {
    let mut random = Random::new(6);
    let mut case = Case::new(&mut random, uvec2(9, 9), [3, 3]);
    case.taps = [[1.0, 2.0, 4.0], [16.0, 8.0, 32.0]].map(|taps| Taps::new(taps).unwrap());
    case.picture.fill(0.0);
    case.picture[4 * 9 + 4] = 1.0;
    let stream = Device::simulator().stream().unwrap();
    let out = case.fused(&stream).unwrap();
    // The convolution of an impulse gives the taps in their original order. A correlation would reverse them.
    let around = |dx: usize, dy: usize| out[(3 + dy) * 9 + 3 + dx];
    for (dy, vertical) in [16.0, 8.0, 32.0].into_iter().enumerate() {
        for (dx, horizontal) in [1.0, 2.0, 4.0].into_iter().enumerate() {
            assert_eq!(around(dx, dy), horizontal * vertical);
        }
    }
}

#[test]
fn filters_of_several_streams_do_not_meet() {
    let mut random = Random::new(7);
    let size = uvec2(300, 200);
    for device in panoweave_devices() {
        let streams = [0; 4].map(|_| device.stream().unwrap());
        let cases = [0; 4].map(|_| Case::new(&mut random, size, [31, 31]));
        let alone: Vec<_> = cases.iter().map(|case| case.fused(&streams[0]).unwrap()).collect();
        let mut work: Vec<_> = cases
            .iter()
            .zip(&streams)
            .map(|(case, stream)| (case.upload(stream), padded(&device, size, 0)))
            .collect();
        for _ in 0..5 {
            for (((filter, input), out), stream) in work.iter_mut().zip(&streams) {
                filter.fused(stream, input.view(), out.view_mut()).unwrap();
            }
        }
        for (((_, out), stream), alone) in work.iter().zip(&streams).zip(&alone) {
            assert!(out.download(stream).unwrap() == *alone, "on {device}");
        }
    }
}

#[test]
fn both_gradients_at_once_are_those_of_two_filters() {
    let mut random = Random::new(8);
    for sigma in [0.3, 0.7, 1.0, 1.1, 2.5, 12.0, 25.0] {
        for size in [uvec2(200, 130), uvec2(5, 70), uvec2(64, 64)] {
            let case = Case::new(&mut random, size, [1, 1]);
            let mut first: Option<[Vec<f32>; 2]> = None;
            for device in panoweave_devices() {
                let stream = device.stream().unwrap();
                let (_, input) = case.upload(&stream);
                let both = GradientFilter::new(&stream, sigma).unwrap();
                let [mut x, mut y] = [0; 2].map(|_| case.nowhere(&stream, 0));
                let mut between = Intermediate::default();
                let (to_x, to_y) = (x.view_mut(), y.view_mut());
                both.convolve(&stream, input.view(), &mut between, to_x, to_y).unwrap();
                let both_at_once = [&x, &y].map(|image| image.download(&stream).unwrap());
                let alone = both.filters().map(|filter| {
                    let (mut between, mut out) =
                        (case.nowhere(&stream, 4), case.nowhere(&stream, 8));
                    let input = input.view();
                    filter.two_pass(&stream, input, &mut between, out.view_mut()).unwrap();
                    out.download(&stream).unwrap()
                });
                assert!(both_at_once == alone, "sigma {sigma}, {size} on {device}");
                assert!(*first.get_or_insert(alone) == both_at_once, "{sigma}, {size} on {device}");
            }
        }
    }
}

#[test]
fn launches_that_do_not_fit_write_nothing() {
    use kernels_gpu::convolve::{ConvolveFused, ConvolveRows};
    let stream = Device::simulator().stream().unwrap();
    let input = Image::from_slice(&stream, 40, 40, &[1.0_f32; 1600]).unwrap();
    let mut out = Image::<f32>::new(stream.device(), 40, 40).unwrap();
    let mut smaller = Image::<f32>::new(stream.device(), 39, 40).unwrap();
    let taps = ConstantTaps { taps: [1.0; CONSTANT_TAPS as usize], width: 3 };
    let plain =
        LaunchConfig { grid: [1; 3], block: [32, 8, 1], dynamic_shared: 4 * fused_elements(3, 3) };
    let configs = [
        plain.with_dynamic_shared(plain.dynamic_shared - 4),
        LaunchConfig { block: [256, 1, 1], ..plain },
        LaunchConfig { block: [32, 4, 1], ..plain },
    ];
    macro_rules! fused {
        ($out:ident) => {
            ConvolveFused {
                input: input.view(),
                horizontal: taps,
                vertical: taps,
                out: $out.view_mut(),
            }
        };
    }
    for config in &configs {
        stream.launch(config, &fused!(out)).unwrap();
        assert!(out.download(&stream).unwrap().iter().all(|&value| value == 0.0), "{config:?}");
    }
    stream.launch(&plain, &fused!(smaller)).unwrap();
    assert!(smaller.download(&stream).unwrap().iter().all(|&value| value == 0.0));
    for lines in [0, 65, u32::MAX] {
        let kernel = ConvolveRows { input: input.view(), taps, lines, out: out.view_mut() };
        stream.launch(&plain, &kernel).unwrap();
        assert!(out.download(&stream).unwrap().iter().all(|&value| value == 0.0), "{lines} lines");
    }
    // A launch with the correct configuration writes the result.
    stream.launch(&plain, &fused!(out)).unwrap();
    assert_eq!(out.download(&stream).unwrap()[20 * 40 + 20], 9.0);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |taps: &[f32]| Taps::new(taps).unwrap_err().to_string();
    assert!(refused(&[]).contains("the number of taps is 0;"));
    assert!(refused(&[1.0; 2]).contains("the number of taps is 2;"));
    assert!(refused(&vec![0.0; MAX_WIDTH as usize + 2]).contains("the number of taps is 16385;"));
    assert!(refused(&[1.0, f32::NAN, 0.0]).contains("tap 1 is NaN"));
    for sigma in [0.0, -1.0, 0.09, 1001.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(Taps::gaussian(sigma), Err(ConvolveError::Sigma { .. })));
        assert!(matches!(Taps::gaussian_derivative(sigma), Err(ConvolveError::Sigma { .. })));
    }
    let stream = Device::simulator().stream().unwrap();
    assert_eq!(stream.device().place(), Place::Cpu);
    let taps = Taps::gaussian(1.0).unwrap();
    let filter = SeparableFilter::new(&stream, &taps, &taps).unwrap();
    let image = |width| Image::<f32>::new(stream.device(), width, 20).unwrap();
    let (input, mut out, mut between) = (image(20), image(21), image(20));
    let error = filter.fused(&stream, input.view(), out.view_mut()).unwrap_err();
    assert_eq!(error.to_string(), "convolving: the output is 21×20 pixels, but the input is 20×20");
    let error = filter.two_pass(&stream, out.view(), &mut between, image(21).view_mut());
    assert!(error.unwrap_err().to_string().contains("intermediate picture is 20×20"));
}

#[test]
fn gaussians_are_those_of_the_library() {
    let Some(file) = data("klt/golden/img0_kernels.txt") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let numbers = |line: &str| -> Vec<f32> {
        let (_, list) = line.split_once(" : ").unwrap();
        list.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (mut sigma, mut checked) = (0.0, 0);
    for line in text.lines() {
        if let Some((_, value)) = line.split_once(" sigma=") {
            // The file contains sigma with nine digits, which are enough to identify an f32 exactly.
            sigma =
                value.parse().unwrap_or_else(|_| line.rsplit('=').next().unwrap().parse().unwrap());
        } else if let Some((_, value)) = line.split_once("sigma=") {
            sigma = value.parse().unwrap();
        } else if line.starts_with("gaussderiv") {
            assert_eq!(Taps::gaussian_derivative(sigma).unwrap().as_slice(), numbers(line));
            checked += 1;
        } else if line.starts_with("gauss") {
            assert_eq!(Taps::gaussian(sigma).unwrap().as_slice(), numbers(line));
            checked += 1;
        }
    }
    assert_eq!(checked, 4);
}

#[test]
fn gaussians_end_where_the_tail_falls_under_one_percent() {
    for sigma in [0.1_f32, 0.3, 0.5, 0.7, 1.0, 1.7, 3.0, 3.6, 10.0, 33.3, 200.0, 1000.0] {
        let s = f64::from(sigma);
        let gauss = |i: i64| (-(i as f64).powi(2) / (2.0 * s * s)).exp();
        let taps = Taps::gaussian(sigma).unwrap();
        let radius = i64::from(taps.width() / 2);
        assert!(gauss(radius) > 0.00999 && gauss(radius + 1) < 0.01001, "{sigma}: {radius}");
        let sum: f64 = taps.as_slice().iter().copied().map(f64::from).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sigma}: {sum}");

        let taps = Taps::gaussian_derivative(sigma).unwrap();
        let radius = i64::from(taps.width() / 2);
        let share = |i: i64| i as f64 * gauss(i) / (s * (-0.5_f64).exp());
        assert!(radius == 1 || share(radius) > 0.00999, "{sigma}: {radius}");
        assert!(share(radius + 1) < 0.01001, "{sigma}: {radius}");
        // The derivative filter must return 1 on the ramp in[i] = i, whose slope is 1. For k taps and r = k / 2, the
        // result at 0 is Σ in[j − r] · taps[k − 1 − j].
        let slope: f64 = taps
            .as_slice()
            .iter()
            .rev()
            .zip(-radius..)
            .map(|(&t, i)| f64::from(t) * i as f64)
            .sum();
        assert!((slope - 1.0).abs() < 1e-5, "{sigma}: {slope}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Checks that moving the picture moves the result by the same distance, wherever the edges of blocks are.
    #[test]
    fn a_moved_picture_gives_a_moved_result(seed: u64, dx in 0_u32..70, dy in 0_u32..70, r in 0_usize..8) {
        let mut random = Random::new(seed);
        let case = Case::new(&mut random, uvec2(60, 50), [2 * r + 1, 5]);
        let size = case.size + uvec2(dx, dy);
        let mut picture = vec![0.0; size.element_product() as usize];
        for y in 0..50 {
            for x in 0..60 {
                picture[((y + dy) * size.x + x + dx) as usize] = case.picture[(y * 60 + x) as usize];
            }
        }
        let moved = Case { size, picture, taps: case.taps.clone(), padding: [0; 3] };
        let stream = Device::simulator().stream().unwrap();
        let (here, there) = (case.fused(&stream).unwrap(), moved.fused(&stream).unwrap());
        for y in 2..48_usize {
            for x in r..60 - r {
                let there = there[(y + dy as usize) * size.x as usize + x + dx as usize];
                prop_assert_eq!(here[y * 60 + x].to_bits(), there.to_bits());
            }
        }
    }

    /// Checks that doubling all values of the picture exactly doubles the result. A factor of two does not change how
    /// values are rounded.
    #[test]
    fn a_picture_twice_as_bright_gives_twice_the_result(seed: u64, r in 0_usize..31) {
        let mut random = Random::new(seed);
        let mut case = Case::new(&mut random, uvec2(70, 66), [2 * r + 1, 2 * (r / 2) + 1]);
        let stream = Device::simulator().stream().unwrap();
        let once = case.fused(&stream).unwrap();
        case.picture.iter_mut().for_each(|value| *value *= 2.0);
        let twice = case.fused(&stream).unwrap();
        prop_assert!(once.iter().zip(&twice).all(|(a, b)| 2.0 * a == *b));
    }
}
