//! Compares resampling with linear interpolation in f64, for every type, width and length, and with numpy's results.
//! Also tests the errors for invalid times, targets and sizes.

use glam::uvec2;
use half::{bf16, f16};
use kernels_gpu::resample::ResampleF32;
use panoweave::device::{Buffer, Device, Image, LaunchConfig, Stream};
use panoweave::ops::resample::{ResampleError, Resampler, Resampling, Sampled};
use panoweave::ops::trajectory::Trajectory;
use panoweave_tests::number::Number;
use panoweave_tests::random::Random;
use panoweave_tests::raster::upload_plane;
use panoweave_tests::{data, gpu, panoweave_devices};
use shared_types::resample::{BLOCK_THREADS, FINE};

/// The sizes and inputs of a resampling. Each batch has `count` times with `width` values each, and `targets_of` target
/// times at which values are interpolated.
struct Case {
    batches: usize,
    count: usize,
    targets_of: usize,
    width: usize,
    times: Vec<f64>,
    values: Vec<f64>,
    targets: Vec<f64>,
}

impl Case {
    fn random(seed: u64, most: usize) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let (batches, count) = (1 + r.below(5), 1 + r.below(most));
        let (targets_of, width) = (1 + r.below(200), r.pick(&[1, 3, 4, 8, 12, 16, 31, 32]));
        let (mut times, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..batches {
            let mut time = r.between(-5.0, 5.0);
            let first = time;
            for _ in 0..count {
                times.push(f64::from(time));
                // Make some adjacent times equal, and some nearly equal.
                time += r.pick(&[0.0, 1e-7, 0.01, 0.03, 0.5]);
            }
            for _ in 0..targets_of {
                let known = times[times.len() - 1 - r.below(count)];
                let any = f64::from(r.between(first - 1.0, time + 1.0));
                targets.push(r.pick(&[any, known]));
            }
        }
        let values =
            (0..batches * count * width).map(|_| f64::from(r.between(-3.0, 3.0))).collect();
        Self { batches, count, targets_of, width, times, values, targets }
    }

    /// Returns the times, values and targets, rounded to the type `V`.
    fn rounded<V: Sampled<Time: Number> + Number>(&self) -> (Vec<V::Time>, Vec<V>, Vec<V::Time>) {
        let times = |times: &[f64]| times.iter().map(|&t| V::Time::from_f64(t)).collect();
        let values = self.values.iter().map(|&v| V::from_f64(v)).collect();
        (times(&self.times), values, times(&self.targets))
    }

    fn run<V: Sampled<Time: Number> + Number>(
        &self,
        stream: &Stream,
        padding: u64,
    ) -> Result<Vec<V>, ResampleError> {
        let (times, values, targets) = self.rounded::<V>();
        let image = |width: usize, height: usize| uvec2(width as u32, height as u32);
        let times = upload_plane(stream, image(self.count, self.batches), &times, 8);
        let targets = upload_plane(stream, image(self.targets_of, self.batches), &targets, 16);
        let values =
            upload_plane(stream, image(self.width, self.batches * self.count), &values, padding);
        let rows = (self.batches * self.targets_of) as u32;
        let mut out = Image::new(stream.device(), self.width as u32, rows)?;
        let mut resampler = Resampler::new(stream)?;
        let resampling =
            Resampling { times: &times, values: &values, targets: &targets, out: &mut out };
        resampler.submit(stream, resampling)?;
        resampler.check(stream)?;
        Ok(out.download(stream)?)
    }

    /// Returns the exact result for inputs rounded to the type `V`. Finds the neighbours of a target by linear search,
    /// and interpolates in f64.
    fn exact<V: Sampled<Time: Number> + Number>(&self) -> Vec<f64> {
        let (times, values, targets) = self.rounded::<V>();
        let mut exact = Vec::new();
        for batch in 0..self.batches {
            let time = |i: usize| times[batch * self.count + i].to_f64();
            let value =
                |i: usize, d: usize| values[(batch * self.count + i) * self.width + d].to_f64();
            for target in &targets[batch * self.targets_of..][..self.targets_of] {
                let t = target.to_f64();
                for d in 0..self.width {
                    let next = (0..self.count).find(|&i| time(i) > t);
                    exact.push(match next {
                        Some(0) => value(0, d),
                        None => value(self.count - 1, d),
                        Some(i) if time(i) - time(i - 1) < 1e-6 => value(i - 1, d),
                        Some(i) => {
                            let share = (t - time(i - 1)) / (time(i) - time(i - 1));
                            value(i - 1, d) * (1.0 - share) + value(i, d) * share
                        }
                    });
                }
            }
        }
        exact
    }

    fn check<V: Sampled<Time: Number> + Number>(&self, device: &Device, allowed: f64) {
        let stream = device.stream().unwrap();
        for padding in [16, 2 * size_of::<V>() as u64] {
            let found: Vec<V> = self.run(&stream, padding).unwrap();
            for (i, (found, exact)) in found.iter().zip(self.exact::<V>()).enumerate() {
                let off = (found.to_f64() - exact).abs();
                assert!(off <= allowed, "{device}: number {i} is {found:?} and should be {exact}");
            }
        }
    }
}

#[test]
fn values_are_interpolated() {
    for device in panoweave_devices() {
        for seed in 0..30 {
            let case = Case::random(seed, 300);
            // The allowed error of each type is half a unit in the last place of values up to 3, plus the error that
            // the rounding of the interpolation fraction causes.
            case.check::<f64>(&device, 1e-14);
            case.check::<f32>(&device, 2e-5);
            case.check::<bf16>(&device, 0.008);
            case.check::<f16>(&device, 0.0011);
        }
    }
}

/// The difference of two times can be larger than the largest number.
#[test]
fn times_can_be_as_far_apart_as_numbers() {
    fn check<V: Sampled<Time: Number> + Number>(device: &Device, most: f64) {
        let (times, values) = (vec![-most, most], vec![0.0, 1.0]);
        let targets = vec![-most, -most / 2.0, 0.0, most / 4.0, most];
        let case = Case { batches: 1, count: 2, targets_of: 5, width: 1, times, values, targets };
        let found: Vec<V> = case.run(&device.stream().unwrap(), 0).unwrap();
        let found: Vec<f64> = found.iter().map(|value| value.to_f64()).collect();
        assert_eq!(found, [0.0, 0.25, 0.5, 0.625, 1.0], "{device}");
    }
    for device in panoweave_devices() {
        check::<f64>(&device, f64::MAX);
        check::<f32>(&device, f32::MAX.into());
        check::<bf16>(&device, f32::MAX.into());
    }
}

#[test]
fn more_times_than_shared_memory_holds() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let count = 30_000;
        let case = Case {
            batches: 2,
            count,
            targets_of: 70,
            width: 4,
            times: (0..2 * count).map(|i| (i % count) as f64).collect(),
            values: (0..2 * count * 4).map(|i| (i % 1000) as f64).collect(),
            targets: (0..140).map(|i| f64::from(i) * 213.77).collect(),
        };
        let found: Vec<f32> = case.run(&stream, 0).unwrap();
        for (found, exact) in found.iter().zip(case.exact::<f32>()) {
            assert!((f64::from(*found) - exact).abs() < 2.0, "{found} {exact}");
        }
        let found: Vec<f64> = case.run(&stream, 0).unwrap();
        for (found, exact) in found.iter().zip(case.exact::<f64>()) {
            assert!((found - exact).abs() < 1e-9, "{found} {exact}");
        }
    }
}

#[test]
fn the_gpu_agrees_to_the_bit() {
    let Some(gpu) = gpu() else { return };
    let streams = [gpu.stream().unwrap(), Device::simulator().stream().unwrap()];
    for seed in 0..30 {
        let case = Case::random(seed, 300);
        let bits = |stream: &Stream| {
            let bf16s: Vec<bf16> = case.run(stream, 16).unwrap();
            let f16s: Vec<f16> = case.run(stream, 16).unwrap();
            let f32s: Vec<f32> = case.run(stream, 16).unwrap();
            let f64s: Vec<f64> = case.run(stream, 16).unwrap();
            (bf16s, f16s, f32s, f64s)
        };
        assert!(bits(&streams[0]) == bits(&streams[1]), "{seed}");
    }
}

#[test]
fn faults_are_found_on_the_device() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let good = || Case::random(77, 200);
        let (count, targets) = (good().count, good().targets_of);
        assert!(good().batches > 1 && count > 10);
        let fails = |spoil: &dyn Fn(&mut Case)| {
            let mut case = good();
            spoil(&mut case);
            case.run::<f32>(&stream, 16).unwrap_err()
        };
        let nan = f64::NAN;
        let (first, second) = ("source time ", " of batch 1 ");
        for (spoil, reason) in [
            (vec![(count + 5, nan)], format!("{first}5{second}")),
            (vec![(count + 5, -1e9)], format!("{first}5{second}")),
            (vec![(count - 1, f64::INFINITY)], format!("{first}{} of batch 0 ", count - 1)),
            (vec![(0, f64::NEG_INFINITY)], format!("{first}0 of batch 0 ")),
            // If several inputs are invalid, the first is reported.
            (vec![(count + 3, nan), (7, nan)], format!("{first}7 of batch 0 ")),
        ] {
            let error = fails(&|case| {
                spoil.iter().for_each(|(at, time)| case.times[*at] = *time);
                case.targets[0] = if spoil.len() > 1 { nan } else { case.targets[0] };
            });
            assert!(error.to_string().contains(&reason), "{error}");
        }
        let error = fails(&|case| case.targets[targets + 1] = nan).to_string();
        assert!(error.contains("target time 1 of batch 1 "), "{error}");
    }
}

#[test]
fn sizes_must_go_together() {
    let stream = Device::simulator().stream().unwrap();
    let image = |width, height| Image::<f32>::new(stream.device(), width, height).unwrap();
    let mut resampler = Resampler::new(&stream).unwrap();
    for (values, targets, out, said) in [
        (image(4, 21), image(5, 2), image(4, 10), "image `values` has 21 rows; it must have 20"),
        (image(4, 20), image(5, 3), image(4, 10), "image `targets` has 3 rows; it must have 2"),
        (image(4, 20), image(5, 2), image(4, 11), "image `out` has 11 rows; it must have 10"),
        (image(4, 20), image(5, 2), image(3, 10), "image `out` has 3 columns; it must have 4"),
    ] {
        let (times, mut out) = (image(10, 2), out);
        let resampling =
            Resampling { times: &times, values: &values, targets: &targets, out: &mut out };
        let error = resampler.submit(&stream, resampling).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn launches_that_do_not_fit_write_nothing() {
    let stream = Device::simulator().stream().unwrap();
    let ones = |width, height| {
        let ones = vec![1.0_f32; (width * height) as usize];
        Image::from_slice(&stream, width, height, &ones).unwrap()
    };
    let mut fault = Buffer::from_slice(&stream, &[FINE]).unwrap();
    let blocks = |count| LaunchConfig::cover(count * BLOCK_THREADS, 1, [BLOCK_THREADS, 1]);
    // Two batches, each with ten times and five targets.
    for (why, config, batches) in [
        ("a block for two batches", blocks(1), 2),
        ("threads of half a block", LaunchConfig::cover(256, 1, [128, 1]), 2),
        ("values of more batches", blocks(2), 1),
        // A launch with the correct configuration writes the result.
        ("", blocks(2), 2),
    ] {
        let (times, targets, values) = (ones(10, batches), ones(5, batches), ones(4, 20));
        let mut out = Image::<f32>::new(stream.device(), 4, 10).unwrap();
        let kernel = ResampleF32 {
            times: times.view(),
            values: values.view(),
            targets: targets.view(),
            out: out.view_mut(),
            fault: fault.view_mut(),
        };
        stream.launch(&config, &kernel).unwrap();
        let expected = if why.is_empty() { 1.0 } else { 0.0 };
        assert_eq!(out.download(&stream).unwrap(), [expected; 40], "{why}");
        assert_eq!(fault.download(&stream).unwrap(), [FINE], "{why}");
    }
}

/// Numpy's results for a recorded path, in single precision with times relative to the first one. The test of
/// trajectories compares them in double precision.
#[test]
fn a_recorded_path_is_as_numpy_has_it() {
    let Some(file) = data("traj/freiburg1_xyz-groundtruth.txt") else { return };
    let Some(golden) = data("traj/fr1_xyz_golden.csv") else { return };
    let [source, golden] = [file, golden].map(|file| Trajectory::open(file).unwrap());
    let origin = source.times()[0];
    let near = |times: &[f64]| times.iter().map(|time| time - origin).collect();
    let case = Case {
        batches: 1,
        count: source.times().len(),
        targets_of: golden.times().len(),
        width: 3,
        values: (0..source.times().len()).flat_map(|i| source.row(i)[..3].to_vec()).collect(),
        times: near(source.times()),
        targets: near(golden.times()),
    };
    for device in panoweave_devices() {
        let found: Vec<f32> = case.run(&device.stream().unwrap(), 0).unwrap();
        for (i, found) in found.iter().enumerate() {
            let off = (f64::from(*found) - golden.row(i / 3)[i % 3]).abs();
            assert!(off < 2e-6, "{device}: {off}");
        }
    }
}
