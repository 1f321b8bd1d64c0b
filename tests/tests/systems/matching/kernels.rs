//! Compares the matching kernels with naive searches and formulas in f64, and the GPU with the CPU bit by bit.

use bytemuck::Pod;
use glam::{DVec2, Vec2, vec2};
use kernels_gpu::matching::{Describe, FindNearest, FindPeaks, Orient, Pack, Shrink};
use panoweave::device::{Buffer, Image, LaunchConfig, Stream};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::matching::{
    ALL_FIELDS, BINS, BLOCK, BLOCK_THREADS, CELL, Descriptor, EDGE, FIELDS, Field, KEPT, Nearest,
    ORIENTATION_RADIUS, Peak, Pose, SAMPLES, SPACING,
};

fn line(count: u32) -> LaunchConfig {
    LaunchConfig::cover(count, 1, [BLOCK_THREADS, 1])
}

#[test]
fn the_nearest_are_those_of_a_naive_search() {
    let mut random = Random::new(1);
    // Each word has one of three values, so that products are often equal and the order of ties is tested.
    let mut some = |count: usize| -> Vec<Descriptor> {
        (0..count)
            .map(|_| Descriptor([0; Descriptor::WORDS].map(|_| random.below(3) as u32 * 0x1_00_01)))
            .collect()
    };
    for (these, others) in [(some(300), some(170)), (some(1), some(2)), (some(33), some(5))] {
        let product = |a: &Descriptor, b: &Descriptor| -> u32 {
            let bytes = |d: &Descriptor| d.0.map(u32::to_le_bytes).concat();
            bytes(a).iter().zip(bytes(b)).map(|(a, b)| u32::from(*a) * u32::from(b)).sum()
        };
        let naive = |this: &Descriptor| {
            let mut all: Vec<_> =
                others.iter().map(|other| product(this, other)).zip(0..).collect();
            all.sort_by_key(|&(product, index)| (std::cmp::Reverse(product), index));
            let mut nearest = Nearest::default();
            let found = all.into_iter().filter(|(product, _)| *product > 0).take(KEPT);
            for (i, (product, index)) in found.enumerate() {
                (nearest.product[i], nearest.index[i]) = (product, index);
            }
            nearest
        };
        let expected: Vec<_> = these.iter().map(naive).collect();
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let [a, b] = [&these, &others].map(|d| Buffer::from_slice(&stream, d).unwrap());
            let mut out = Buffer::new(&device, a.len()).unwrap();
            let kernel = FindNearest { these: a.view(), others: b.view(), out: out.view_mut() };
            stream.launch(&line(a.len()), &kernel).unwrap();
            assert_eq!(out.download(&stream).unwrap(), expected, "{device}");
        }
    }
}

#[test]
fn peaks_are_the_largest_of_their_cells_that_top_their_neighbours() {
    let mut random = Random::new(2);
    for (width, height, border) in
        [(50_u32, 37_u32, 3_u32), (8, 8, 1), (9, 70, 0), (3, 3, 1), (1, 1, 8)]
    {
        let values: Vec<f32> = (0..width * height).map(|_| random.below(40) as f32).collect();
        let at = |x: u32, y: u32| values[(y * width + x) as usize];
        let cells = [width.div_ceil(CELL), height.div_ceil(CELL)];
        let least = border.max(1);
        let mut expected = vec![Peak::default(); (cells[0] * cells[1]) as usize];
        for y in least..height.saturating_sub(least) {
            for x in least..width.saturating_sub(least) {
                let neighbours = (0..9).filter(|&i| i != 4).map(|i| (x + i % 3 - 1, y + i / 3 - 1));
                let tops = neighbours.into_iter().all(|(nx, ny)| {
                    let before = (ny, nx) < (y, x);
                    at(x, y) > at(nx, ny) || before && at(x, y) == at(nx, ny)
                });
                let best = &mut expected[(y / CELL * cells[0] + x / CELL) as usize];
                if tops && at(x, y) > best.value {
                    let top = |low: f32, high: f32| {
                        let bend = f64::from(2.0 * at(x, y) - low - high);
                        if bend > 0.0 { 0.5 * f64::from(high - low) / bend } else { 0.0 }
                    };
                    let offset = [top(at(x - 1, y), at(x + 1, y)), top(at(x, y - 1), at(x, y + 1))];
                    let place = vec2(x as f32 + offset[0] as f32, y as f32 + offset[1] as f32);
                    *best = Peak { at: place, value: at(x, y) };
                }
            }
        }
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let image = Image::from_slice(&stream, width, height, &values).unwrap();
            // Leave the first three elements free for the peaks of another pyramid level.
            let (first, count) = (3, expected.len() as u32);
            let mut peaks = Buffer::new(&device, first + count).unwrap();
            let (values, out) = (image.view(), peaks.view_mut());
            let kernel = FindPeaks { values, border, first, peaks: out };
            stream.launch(&line(count), &kernel).unwrap();
            let peaks = peaks.download(&stream).unwrap();
            let (before, peaks) = peaks.split_at(first as usize);
            assert_eq!(before, [Peak::default(); 3]);
            for (found, expected) in peaks.iter().zip(&expected) {
                assert_eq!(found.value, expected.value, "{device}");
                assert!(found.at.distance(expected.at) < 1e-4, "{device}: {found:?} {expected:?}");
            }
        }
    }
}

/// Checks that launches of `find_peaks` with a two-dimensional grid or block are rejected. Threads in a second row
/// would process the same cells as the threads in the first row, which would be a race.
#[test]
fn peaks_are_found_along_one_axis() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let image = Image::from_slice(&stream, 16, 8, &[0.0_f32; 128]).unwrap();
        let mut peaks = Buffer::<Peak>::new(&device, 2).unwrap();
        for (grid, block) in [([1, 2, 1], [2, 1, 1]), ([1; 3], [2, 2, 1])] {
            let (values, peaks) = (image.view(), peaks.view_mut());
            let config = LaunchConfig { grid, block, dynamic_shared: 0 };
            let kernel = FindPeaks { values, border: 1, first: 0, peaks };
            let error = stream.launch(&config, &kernel).unwrap_err().to_string();
            assert!(error.contains("`find_peaks` works in 1 dimensions"), "{device}: {error}");
        }
    }
}

#[test]
fn shrinking_is_a_weighed_mean_and_adds_no_edge() {
    let mut random = Random::new(3);
    let sizes = [
        ([40_u32, 30_u32], [28_u32, 21_u32]),
        ([5, 7], [5, 7]),
        ([9, 1], [4, 1]),
        ([90, 61], [11, 8]),
    ];
    for (from, to) in sizes {
        let values: Vec<f32> = (0..from[0] * from[1]).map(|_| random.between(0.0, 255.0)).collect();
        // Returns the source pixels along an axis with their weights. Positions beyond an edge, up to eight times the
        // size of the picture, count as the pixel at the edge.
        let weights = |at: u32, axis: usize| {
            let step = f64::from(from[axis]) / f64::from(to[axis]);
            let middle = (f64::from(at) + 0.5) * step - 0.5;
            let beyond = 8 * from[axis] as i32;
            let all = (-beyond..2 * beyond).map(|i| {
                let d = (f64::from(i) - middle) / (1.5 * step.max(1.0));
                (i.clamp(0, from[axis] as i32 - 1) as u32, (1.0 - d * d).max(0.0).powi(2))
            });
            all.filter(|(_, weight)| *weight > 0.0).collect::<Vec<_>>()
        };
        let exact = |x: u32, y: u32| {
            let (mut sum, mut whole) = (0.0, 0.0);
            for (row, down) in weights(y, 1) {
                for (column, across) in weights(x, 0) {
                    sum += down * across * f64::from(values[(row * from[0] + column) as usize]);
                    whole += down * across;
                }
            }
            sum / whole
        };
        let launch = |values: &[f32]| {
            on_every_device(|stream| {
                let input = Image::from_slice(stream, from[0], from[1], values).unwrap();
                let mut out = Image::new(stream.device(), to[0], to[1]).unwrap();
                let config = LaunchConfig::cover(to[0], to[1], BLOCK);
                let kernel = Shrink { input: input.view(), out: out.view_mut() };
                stream.launch(&config, &kernel).unwrap();
                out.download(stream).unwrap()
            })
        };
        for (i, found) in launch(&values).iter().enumerate() {
            let exact = exact(i as u32 % to[0], i as u32 / to[0]);
            assert!((f64::from(*found) - exact).abs() < 2e-3, "{found} {exact}");
        }
        let level = launch(&vec![200.0; values.len()]);
        assert!(level.iter().all(|found| (found - 200.0).abs() < 1e-3), "{level:?}");
    }
}

/// Runs `run` on all devices, checks that the results are bit-identical, and returns the result.
fn on_every_device<T: Pod + PartialEq>(run: impl Fn(&Stream) -> Vec<T>) -> Vec<T> {
    let mut first: Option<Vec<T>> = None;
    for device in panoweave_devices() {
        let found = run(&device.stream().unwrap());
        match &first {
            None => first = Some(found),
            Some(cpu) => assert!(*cpu == found, "{device} and the CPU differ"),
        }
    }
    first.unwrap()
}

/// Random gradients of a picture. A ninth of the values are 0.
struct Gradients {
    size: [u32; 2],
    along: [Vec<f32>; 2],
}

impl Gradients {
    fn new(size: [u32; 2], seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut one = || if random.below(9) == 0 { 0.0 } else { random.between(-40.0, 40.0) };
        let along = [0, 1].map(|_| (0..size[0] * size[1]).map(|_| one()).collect());
        Self { size, along }
    }

    fn images(&self, stream: &Stream) -> [Image<f32>; 2] {
        let [width, height] = self.size;
        self.along.each_ref().map(|v| Image::from_slice(stream, width, height, v).unwrap())
    }

    fn at(&self, x: i64, y: i64) -> DVec2 {
        let i = (y * i64::from(self.size[0]) + x) as usize;
        DVec2::new(self.along[0][i].into(), self.along[1][i].into())
    }

    /// Returns the bilinearly interpolated gradient at a position.
    fn between(&self, at: DVec2) -> DVec2 {
        let (low, part) = (at.floor(), at - at.floor());
        let mut sum = DVec2::ZERO;
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let share = |d: i64, part: f64| if d == 0 { 1.0 - part } else { part };
            let weight = share(dx, part.x) * share(dy, part.y);
            if weight > 0.0 {
                sum += weight * self.at(low.x as i64 + dx, low.y as i64 + dy);
            }
        }
        sum
    }

    /// Returns whether the kernels use the gradient at a position. They use only gradients that are at least `EDGE`
    /// pixels from the edges of the picture.
    fn counts(&self, at: DVec2) -> bool {
        let edge = f64::from(EDGE);
        let last = DVec2::new(self.size[0].into(), self.size[1].into()) - 1.0;
        at.cmpge(DVec2::splat(edge)).all() && at.cmple(last - edge).all()
    }
}

/// Returns the contribution of a gradient to the direction `angle`: the gradient's length times cos³ of the angle
/// between both, or 0 if the cosine is negative.
fn in_lobe(gradient: DVec2, angle: f64) -> f64 {
    if gradient == DVec2::ZERO {
        return 0.0;
    }
    gradient.length() * (gradient.to_angle() - angle).cos().max(0.0).powi(3)
}

fn close(found: f32, exact: f64, largest: f64) -> bool {
    (f64::from(found) - exact).abs() <= 1e-4 * largest
}

#[test]
fn orientations_are_sums_over_a_disc() {
    let gradients = Gradients::new([45, 37], 4);
    // Some points are on a pixel, some between pixels, and some so near to an edge that the disc around the point
    // extends beyond the picture.
    let points =
        [vec2(22.0, 18.0), vec2(20.3, 17.8), vec2(8.0, 8.4), vec2(44.0, 0.0), vec2(36.6, 30.2)];
    let directions: Vec<Vec2> = (0..BINS)
        .map(|bin| Vec2::from_angle(bin as f32 * std::f32::consts::TAU / BINS as f32))
        .collect();
    let (first, count) = (1, 3);
    let found = on_every_device(|stream| {
        let images = gradients.images(stream);
        let [along_x, along_y] = images.each_ref().map(Image::view);
        let buffers = [&points[..], &directions].map(|v| Buffer::from_slice(stream, v).unwrap());
        let [points, directions] = buffers.each_ref().map(Buffer::view);
        let mut out = Buffer::new(stream.device(), 5 * BINS).unwrap();
        let kernel =
            Orient { along_x, along_y, points, first, count, directions, out: out.view_mut() };
        stream.launch(&line(count * BINS), &kernel).unwrap();
        out.download(stream).unwrap()
    });
    let radius = i64::from(ORIENTATION_RADIUS);
    for (p, point) in points.iter().enumerate() {
        let exact = |bin: u32| {
            let angle = std::f64::consts::TAU * f64::from(bin) / f64::from(BINS);
            let mut sum = 0.0;
            for dy in -radius..=radius {
                for dx in -radius..=radius {
                    let (x, y) = (point.x.round() as i64 + dx, point.y.round() as i64 + dy);
                    let d2 = (dx * dx + dy * dy) as f64 / (radius * radius) as f64;
                    if d2 < 1.0 && gradients.counts(DVec2::new(x as f64, y as f64)) {
                        sum += (1.0 - d2).powi(2) * in_lobe(gradients.at(x, y), angle);
                    }
                }
            }
            sum
        };
        let exact: Vec<f64> = (0..BINS).map(exact).collect();
        let largest = exact.iter().copied().fold(0.0, f64::max);
        let asked = (first..first + count).contains(&(p as u32));
        for (bin, exact) in exact.iter().enumerate() {
            let found = found[p * BINS as usize + bin];
            let fits = if asked { close(found, *exact, largest) } else { found == 0.0 };
            assert!(fits, "point {p}, bin {bin}: {found} {exact}");
        }
        assert!(!asked || largest > 1.0, "{largest}");
    }
}

#[test]
fn fields_are_shares_of_samples_around_a_pose() {
    let gradients = Gradients::new([64, 56], 5);
    let pose = |x: f32, y: f32, degrees: f32| Pose {
        at: vec2(x, y),
        along: Vec2::from_angle(degrees.to_radians()),
    };
    // The descriptor fields of the last two poses extend beyond the picture.
    let poses = [
        pose(30.0, 28.0, 0.0),
        pose(32.3, 27.6, 33.0),
        pose(11.0, 12.2, 200.0),
        pose(63.0, 55.0, 90.0),
    ];
    let found = on_every_device(|stream| {
        let images = gradients.images(stream);
        let [along_x, along_y] = images.each_ref().map(Image::view);
        let buffer = Buffer::from_slice(stream, &poses).unwrap();
        let mut fields: Buffer<Field> = Buffer::new(stream.device(), 4 * ALL_FIELDS).unwrap();
        // Use two launches, as for two levels of a picture pyramid.
        for (first, count) in [(0, 1), (1, 3)] {
            let (poses, out) = (buffer.view(), fields.view_mut());
            let kernel = Describe { along_x, along_y, poses, first, count, out };
            stream.launch(&line(count * ALL_FIELDS), &kernel).unwrap();
        }
        fields.download(stream).unwrap()
    });
    let (samples, half) = (f64::from(SAMPLES), f64::from(FIELDS * SAMPLES) / 2.0);
    for (p, pose) in poses.iter().enumerate() {
        let along = pose.along.as_dvec2();
        let mut exact = vec![[0.0; 8]; ALL_FIELDS as usize];
        // Each sample contributes to all fields around it. Therefore, samples up to half a field outside the outermost
        // fields also contribute.
        let reach = (half + samples / 2.0) as i32;
        for (j, i) in (-reach..reach).flat_map(|j| (-reach..reach).map(move |i| (j, i))) {
            let (u, v) = (f64::from(i) + 0.5, f64::from(j) + 0.5);
            let at = pose.at.as_dvec2() + f64::from(SPACING) * along.rotate(DVec2::new(u, v));
            if !gradients.counts(at) {
                continue;
            }
            let turned = DVec2::new(along.x, -along.y).rotate(gradients.between(at));
            // The weight decreases with the distance from the centre. It is 0 in the corners of the square that the
            // fields form.
            let fade = (1.0 - (u * u + v * v) / (2.0 * half * half)).max(0.0).powi(2);
            for (field, sums) in exact.iter_mut().enumerate() {
                let middle = |n: usize| (n as f64 + 0.5) * samples - half;
                let share = |at: f64, n: usize| (1.0 - (at - middle(n)).abs() / samples).max(0.0);
                let weight = fade * share(u, field % 4) * share(v, field / 4);
                for (direction, sum) in sums.iter_mut().enumerate() {
                    *sum +=
                        weight * in_lobe(turned, std::f64::consts::FRAC_PI_4 * direction as f64);
                }
            }
        }
        let largest = exact.iter().flatten().copied().fold(0.0, f64::max);
        assert!(largest > 10.0, "{largest}");
        for (field, exact) in exact.iter().enumerate() {
            let found = found[p * ALL_FIELDS as usize + field];
            for (found, exact) in found.iter().zip(exact) {
                // The tolerance is relative to the largest value of the pose. A kernel that computes in f32 may include
                // or exclude a sample at the border of the area whose gradients count.
                assert!(close(*found, *exact, largest), "pose {p}, field {field}: {found} {exact}");
            }
        }
    }
}

#[test]
fn descriptors_are_square_roots_of_shares() {
    let mut random = Random::new(6);
    let poses = 3;
    let mut fields: Vec<Field> =
        (0..poses * ALL_FIELDS).map(|_| [0; 8].map(|_| random.between(0.0, 9.0))).collect();
    // One value of the first pose is so large that the kernel must limit it. The last pose has no gradients at all.
    fields[5][2] = 500.0;
    fields[2 * ALL_FIELDS as usize..].fill([0.0; 8]);
    let found = on_every_device(|stream| {
        let fields = Buffer::from_slice(stream, &fields).unwrap();
        let mut out: Buffer<Descriptor> = Buffer::new(stream.device(), poses).unwrap();
        let kernel = Pack { fields: fields.view(), out: out.view_mut() };
        stream.launch(&line(poses), &kernel).unwrap();
        out.download(stream).unwrap()
    });
    for (found, fields) in found.iter().zip(fields.chunks_exact(ALL_FIELDS as usize)) {
        let all: Vec<f64> = fields.concat().into_iter().map(f64::from).collect();
        let length = all.iter().map(|v| v * v).sum::<f64>().sqrt();
        let cut: Vec<f64> = all.iter().map(|v| v.min(0.2 * length)).collect();
        let sum: f64 = cut.iter().sum();
        let bytes = found.0.map(u32::to_le_bytes).concat();
        for (byte, v) in bytes.iter().zip(&cut) {
            let exact = if sum > 0.0 { (512.0 * (v / sum).sqrt()).min(255.0) } else { 0.0 };
            assert!((f64::from(*byte) - exact).abs() < 0.51, "{byte} {exact}");
        }
    }
}
