//! Benchmarks the calibration of two simulated cameras, 30° apart and with lens distortion. 30 to 90 % of the point
//! matches are wrong. The time includes the selection of the camera model and the computation of the quality values.
//! Calibration runs on one CPU core, so its times do not appear in the report of GPU measurements.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use glam::{DMat3, UVec2};
use panoweave::geometry::calibrate::{CalibrateOptions, ModelChoice, Photo};
use panoweave_tests::made_up::{Matcher, Pinhole, between, pair, turn};

fn bench(criterion: &mut Criterion) {
    let size = UVec2::new(3840, 2160);
    let left = Pinhole { size, focal: 3000.0, k1: -0.05, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(30.0, 2.0, 1.0), ..left };
    let truth = between(left, right);
    let picture = Photo::new("either", size);
    let mut group = criterion.benchmark_group("calibrate");
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (many, wrong) in [(200, 0.3), (200, 0.6), (2000, 0.3), (2000, 0.6), (2000, 0.9)] {
        let found = Matcher { many, wrong, noise: 1.0, seed: 1 }.find([size; 2], &truth);
        for model in [ModelChoice::Auto, ModelChoice::Homography] {
            let options = CalibrateOptions { model, ..CalibrateOptions::default() };
            let name = format!("{many} matches, {:.0} % wrong", 100.0 * wrong);
            group.bench_function(BenchmarkId::new(format!("{model:?}"), name), |bencher| {
                bencher.iter(|| pair(&found, [&picture; 2], &options).expect("a calibration"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
