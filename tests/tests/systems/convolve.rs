//! Tests of separable convolution. They compare the results with the formula in f64, one launch with two, the GPU with
//! the CPU bit by bit, and Gaussian taps with those of the KLT library.

use glam::{UVec2, uvec2};
use panoweave::device::{Device, Image, LaunchConfig, Stream};
use panoweave::ops::convolve::{GradientFilter, SeparableFilter, Taps};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{padded, upload_plane};
use panoweave_tests::{data, panoweave_devices};
use shared_types::convolve::{CONSTANT_TAPS, ConstantTaps, MAX_WIDTH, TILE, fused_elements};

/// The input of a convolution: a picture, the horizontal and vertical taps of a filter, and the row padding of images.
struct Case {
    size: UVec2,
    picture: Vec<f32>,
    taps: [Taps; 2],
    /// The padding in bytes after each row of the input and the output.
    padding: [u64; 2],
}

fn bits(of: &[f32]) -> Vec<u32> {
    of.iter().map(|v| v.to_bits()).collect()
}

impl Case {
    fn new(random: &mut Random, size: UVec2, widths: [usize; 2]) -> Self {
        let mut numbers = |count: usize, low, high| -> Vec<f32> {
            (0..count).map(|_| random.between(low, high)).collect()
        };
        let picture = numbers(size.element_product() as usize, -100.0, 300.0);
        let taps = widths.map(|width| Taps::new(numbers(width, -1.0, 1.0)).unwrap());
        let padding = [0; 2].map(|_| 4 * random.below(20) as u64);
        Self { size, picture, taps, padding }
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

    /// Returns the result. The output starts as NaNs, so that pixels that a kernel does not write make the test fail.
    fn convolve(&self, stream: &Stream) -> Vec<f32> {
        let (mut filter, input) = self.upload(stream);
        let nothing = vec![f32::NAN; self.picture.len()];
        let mut out = upload_plane(stream, self.size, &nothing, self.padding[1]);
        filter.convolve(stream, input.view(), out.view_mut()).unwrap();
        out.download(stream).unwrap()
    }

    /// Compares the result of each device with the formula, and bit by bit with the first result.
    fn check(&self) {
        let (exact, allowed) = self.exact();
        let widths = self.taps.each_ref().map(Taps::width);
        let mut first: Option<Vec<f32>> = None;
        for device in panoweave_devices() {
            let result = self.convolve(&device.stream().unwrap());
            for (at, &value) in result.iter().enumerate() {
                let far = (f64::from(value) - exact[at]).abs();
                assert!(
                    far <= allowed[at],
                    "{device}: {value}, not {}, at {at} of {} with {widths:?} taps",
                    exact[at],
                    self.size
                );
            }
            let first = first.get_or_insert_with(|| result.clone());
            assert!(bits(first) == bits(&result), "{device}: {} {widths:?}", self.size);
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

/// The widths around the edge of constant memory; windows larger than the picture; and filters so wide that shared
/// memory has room for only a few rows or columns of a tile. Some sizes are a multiple of the tile, or one pixel more.
#[test]
fn special_sizes_and_widths_are_the_formula() {
    let mut random = Random::new(2);
    for widths in [[1, 1], [5, 5], [7, 7], [15, 15], [31, 31], [63, 63], [65, 65], [67, 3], [3, 67]]
    {
        for size in [uvec2(140, 135), uvec2(2 * TILE, TILE + 1), uvec2(1, 90), uvec2(90, 1)] {
            Case::new(&mut random, size, widths).check();
        }
    }
    for widths in [[301, 1], [1, 301], [301, 301], [63, 63]] {
        for size in [uvec2(1, 1), uvec2(6, 6), uvec2(30, 64)] {
            Case::new(&mut random, size, widths).check();
        }
    }
    Case::new(&mut random, uvec2(5, 3), [MAX_WIDTH as usize; 2]).check();
    Case::new(&mut random, uvec2(1500, 9), [1201, 3]).check();
    Case::new(&mut random, uvec2(9, 1500), [3, 1201]).check();
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

/// Zeros around a filter make it too wide for one launch, but do not change its results: both ways add the products in
/// the same order.
#[test]
fn one_launch_and_two_have_the_same_bits() {
    let mut random = Random::new(3);
    for width in [5, 7, 31, 33] {
        let case = Case::new(&mut random, uvec2(200, 170), [width; 2]);
        let wide = |taps: &Taps| {
            let zeros = vec![0.0; 40];
            Taps::new([&zeros, taps.as_slice(), &zeros].concat()).unwrap()
        };
        let taps = case.taps.each_ref().map(wide);
        let two = Case { taps, picture: case.picture.clone(), ..case };
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let (one, two) = (case.convolve(&stream), two.convolve(&stream));
            let margin = 40 + width / 2;
            for y in margin..170 - margin {
                let row = y * 200 + margin..(y + 1) * 200 - margin;
                assert!(bits(&one[row.clone()]) == bits(&two[row]), "{device}, {width}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_spreads_as_far_as_the_window() {
    let mut random = Random::new(5);
    for widths in [[7, 5], [67, 5]] {
        let mut case = Case::new(&mut random, uvec2(150, 40), widths);
        case.picture[20 * 150 + 75] = f32::INFINITY;
        for device in panoweave_devices() {
            for (at, value) in case.convolve(&device.stream().unwrap()).iter().enumerate() {
                let (x, y) = (at % 150, at / 150);
                let inside = x.min(149 - x) >= widths[0] / 2 && y.min(39 - y) >= widths[1] / 2;
                let seen = x.abs_diff(75) <= widths[0] / 2 && y.abs_diff(20) <= widths[1] / 2;
                assert_eq!(value.is_finite(), !(seen && inside), "({x}, {y}) on {device}");
            }
        }
    }
}

#[test]
fn an_impulse_shows_the_taps_in_their_order() {
    let mut case = Case::new(&mut Random::new(6), uvec2(9, 9), [3, 3]);
    case.taps = [[1.0, 2.0, 4.0], [16.0, 8.0, 32.0]].map(|taps| Taps::new(taps).unwrap());
    case.picture.fill(0.0);
    case.picture[4 * 9 + 4] = 1.0;
    let out = case.convolve(&Device::simulator().stream().unwrap());
    // The convolution of an impulse gives the taps in their original order. A correlation would reverse them.
    for (dy, vertical) in [16.0, 8.0, 32.0].into_iter().enumerate() {
        for (dx, horizontal) in [1.0, 2.0, 4.0].into_iter().enumerate() {
            assert_eq!(out[(3 + dy) * 9 + 3 + dx], horizontal * vertical);
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
        let alone: Vec<_> = cases.iter().map(|case| case.convolve(&streams[0])).collect();
        let mut work: Vec<_> = cases
            .iter()
            .zip(&streams)
            .map(|(case, stream)| (case.upload(stream), padded(&device, size, 0)))
            .collect();
        for _ in 0..5 {
            for (((filter, input), out), stream) in work.iter_mut().zip(&streams) {
                filter.convolve(stream, input.view(), out.view_mut()).unwrap();
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
        let [smooth, derive] = [Taps::gaussian(sigma), Taps::gaussian_derivative(sigma)];
        let [smooth, derive] = [smooth, derive].map(Result::unwrap);
        for size in [uvec2(200, 130), uvec2(5, 70), uvec2(64, 64)] {
            let mut case = Case::new(&mut random, size, [1, 1]);
            for device in panoweave_devices() {
                let stream = device.stream().unwrap();
                let (_, input) = case.upload(&stream);
                let mut both = GradientFilter::new(&stream, sigma).unwrap();
                let [mut x, mut y] = [0; 2].map(|_| padded(&device, size, 8));
                both.convolve(&stream, input.view(), x.view_mut(), y.view_mut()).unwrap();
                for (taps, found) in [([&derive, &smooth], x), ([&smooth, &derive], y)] {
                    case.taps = taps.map(Taps::clone);
                    let (found, alone) = (found.download(&stream).unwrap(), case.convolve(&stream));
                    assert!(found == alone, "sigma {sigma}, {size} on {device}");
                }
            }
        }
    }
}

#[test]
fn launches_that_do_not_fit_write_nothing() {
    use kernels_gpu::convolve::ConvolveFused;
    let stream = Device::simulator().stream().unwrap();
    let input = Image::from_slice(&stream, 40, 40, &[1.0_f32; 1600]).unwrap();
    let mut taps = ConstantTaps { taps: [0.0; CONSTANT_TAPS as usize], width: 3 };
    taps.taps.fill(1.0);
    let plain =
        LaunchConfig { grid: [1; 3], block: [32, 8, 1], dynamic_shared: 4 * fused_elements(3, 3) };
    for (config, width, expected) in [
        (plain.with_dynamic_shared(plain.dynamic_shared - 4), 40, 0.0),
        (LaunchConfig { block: [256, 1, 1], ..plain }, 40, 0.0),
        (LaunchConfig { block: [32, 4, 1], ..plain }, 40, 0.0),
        (plain, 39, 0.0),
        // A launch with the correct configuration writes the result.
        (plain, 40, 9.0),
    ] {
        let mut out = Image::<f32>::new(stream.device(), width, 40).unwrap();
        let (input, out_view) = (input.view(), out.view_mut());
        let kernel = ConvolveFused { input, horizontal: taps, vertical: taps, out: out_view };
        stream.launch(&config, &kernel).unwrap();
        assert_eq!(out.download(&stream).unwrap()[20 * width as usize + 20], expected);
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |taps: &[f32]| Taps::new(taps).unwrap_err().to_string();
    assert!(refused(&[]).contains("the number of taps is 0;"));
    assert!(refused(&[1.0; 2]).contains("the number of taps is 2;"));
    assert!(refused(&vec![0.0; MAX_WIDTH as usize + 2]).contains("the number of taps is 16385;"));
    assert!(refused(&[1.0, f32::NAN, 0.0]).contains("tap 1 is NaN"));
    for sigma in [0.0, -1.0, 0.09, 1001.0, f32::NAN, f32::INFINITY] {
        for taps in [Taps::gaussian(sigma), Taps::gaussian_derivative(sigma)] {
            assert!(taps.unwrap_err().to_string().contains("it must be 0.1 to 1000"), "{sigma}");
        }
    }
    let stream = Device::simulator().stream().unwrap();
    let taps = Taps::gaussian(1.0).unwrap();
    let mut filter = SeparableFilter::new(&stream, &taps, &taps).unwrap();
    let image = |width| Image::<f32>::new(stream.device(), width, 20).unwrap();
    let error = filter.convolve(&stream, image(20).view(), image(21).view_mut()).unwrap_err();
    assert_eq!(error.to_string(), "convolving: the output is 21×20 pixels, but the input is 20×20");
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
