//! Tests of trajectories. They check the accepted text, the line numbers in errors, that a trajectory stays the same
//! when it is written and read back, and that resampled values equal those of an independent linear interpolation.

use panoweave::device::Device;
use panoweave::frame::Rate;
use panoweave::ops::trajectory::{Trajectory, TrajectoryError, parse_times};
use panoweave_tests::random::Random;
use panoweave_tests::{data, panoweave_devices};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn parse(text: &str) -> Result<Trajectory, TrajectoryError> {
    Trajectory::parse(text, "path.csv")
}

/// Returns the columns, times and values that `text` parses to.
fn parts(text: &str) -> (Vec<String>, Vec<f64>, Vec<f64>) {
    let read = parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    (read.columns().to_vec(), read.times().to_vec(), read.values().to_vec())
}

fn text(trajectory: &Trajectory) -> String {
    let mut text = Vec::new();
    trajectory.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn trajectory(times: &[f64], values: &[f64]) -> Trajectory {
    let columns = (0..values.len() / times.len()).map(|i| format!("v{i}")).collect();
    Trajectory::new(columns, times.to_vec(), values.to_vec()).unwrap()
}

/// Interpolates linearly like `numpy.interp`. Returns the first value before the first time, and the last value after
/// the last time. If several times are equal to `t`, uses the value of the last of these times.
fn interpolated(times: &[f64], values: &[f64], t: f64) -> f64 {
    let last = times.len() - 1;
    if t < times[0] {
        return values[0];
    }
    let i = (0..=last).rev().find(|&i| times[i] <= t).unwrap();
    if i == last {
        return values[last];
    }
    let share = (t - times[i]) / (times[i + 1] - times[i]);
    values[i] * (1.0 - share) + values[i + 1] * share
}

#[test]
fn csv_in_many_hands() {
    let expected =
        (vec!["x".to_owned(), "y".to_owned()], vec![0.0, 0.5], vec![1.0, -2.0, 3e3, 4.0]);
    for text in [
        "t,x,y\n0,1,-2\n0.5,3e3,4\n",
        "t,x,y\r\n0,1,-2\r\n0.5,3e3,4\r\n",
        "\u{feff}t,x,y\n0,1,-2\n0.5,3e3,4",
        "\n\n t , x , y \n\n0,1,-2\n  \n0.5 , 3e3 ,4.0\n\n",
        "# made by hand\nt,x,y\n0,1,-2 # the first\n#0.2,9,9\n0.5,3e3,4\n",
        "\"t\",\"x\",\"y\"\n\"0\",1,-2\n0.5,3e3,+4\n",
        ",x,y\n0,1,-2\n.5,3e3,4.\n",
        "t x y\n0 1 -2\n0.5\t3e3   4\n",
    ] {
        assert_eq!(parts(text), expected, "{text:?}");
    }
    let names = |text: &str| parts(text).0.join(" ");
    assert_eq!(names("0,1,-2\n0.5,3,4\n"), "c1 c2");
    assert_eq!(names("0 1 -2\n0.5 3 4\n"), "c1 c2");
    assert_eq!(names("0 1 2 3 4 5 6 7\n"), "tx ty tz qx qy qz qw");
    assert_eq!(names("0,1,2,3,4,5,6,7\n"), "c1 c2 c3 c4 c5 c6 c7");
    assert_eq!(names("time,pan angle,größe\n0,1,2\n"), "pan angle größe");
}

#[test]
fn columns_and_rows_are_found() {
    let read = parse("t,pan,tilt\n0,1,2\n1,3,4\n1,5,6\n").unwrap();
    assert_eq!([read.column("pan"), read.column("tilt")], [Some(0), Some(1)]);
    assert_eq!([read.column("t"), read.column("zoom")], [None, None]);
    assert_eq!([read.row(0), read.row(2)], [[1.0, 2.0], [5.0, 6.0]]);
    assert_eq!(read.times(), [0.0, 1.0, 1.0]);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, line, reason) in [
        ("t,x\n0,1\n1,\n", 3, "column 2: \"\" is not a number"),
        ("t,x\n0,1\n\n# and then\n1,a1\n", 5, "column 2: \"a1\" is not a number"),
        ("t,x\r\n0,1\r\none,2\r\n", 3, "column 1: \"one\" is not a number"),
        // If the first line contains a number, or a word that begins like a number, the line is not a header but data.
        ("0x,1\n", 1, "column 1: \"0x\" is not a number"),
        ("t,1\n", 1, "column 1: \"t\" is not a number"),
        ("1,5;2,5\n", 1, "column 2: \"5;2\" is not a number"),
        ("t,x\n0,1\n1,2,3\n", 3, "3 fields, but the first row has 2"),
        ("t,x\n0,1,\n", 2, "3 fields, but the first row has 2"),
        ("0 1 2\n1 2\n", 2, "2 fields, but the first row has 3"),
        ("t,x\nnan,1\n", 2, "column 1 is not a finite number"),
        ("t,x\n0,1\ninf,1\n", 3, "column 1 is not a finite number"),
        ("t,x,y\n0,1,1\n1,2,NaN\n", 3, "column 3 is not a finite number"),
        ("t,x\n0,1e999\n", 2, "column 2 is not a finite number"),
        ("t,x\n0,1\n3,1\n2.5,1\n", 4, "time 2.5 is less than the previous time, 3; sort"),
        ("5\n6\n", 1, "no values"),
        ("t\n6\n", 1, "no values"),
        ("t,x,x\n0,1,2\n", 1, "column 3 is named \"x\""),
        ("x,x\n0,1\n", 1, "column 2 is named \"x\""),
        ("# one\nt,x,\n0,1,2\n", 2, "column 3 is named \"\""),
        ("t,a\"b\n0,1\n", 1, "column 2 is named \"a\\\"b\""),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("path.csv:{line}: {reason}")), "{text:?}: {error}");
    }
    let error = parse(&format!("t,x\n0,{}\n", "long".repeat(100))).unwrap_err();
    let TrajectoryError::Line { word, .. } = error else { panic!("{error}") };
    assert_eq!(word, "long".repeat(10));
}

#[test]
fn without_rows_there_is_no_trajectory() {
    for text in ["", "\u{feff}", "\n \n", "# t x\n", "t,x\n", "t,x\n#0,1\n"] {
        let error = parse(text).unwrap_err().to_string();
        assert_eq!(error, "path.csv: the file has no rows; at least one is needed", "{text:?}");
    }
}

#[test]
fn new_checks_what_it_is_given() {
    let new = |names: &[&str], times: &[f64], values: &[f64]| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Trajectory::new(names, times.to_vec(), values.to_vec())
    };
    assert_eq!(text(&new(&["x"], &[0.0, 1.0], &[3.0, 4.5]).unwrap()), "t,x\n0,3\n1,4.5\n");
    for (names, times, values, reason) in [
        (&["x"][..], &[][..], &[][..], "at least one time"),
        (&[], &[1.0], &[], "at least one time"),
        (&["x", "y"], &[0.0, 1.0], &[3.0; 3], "there are 3 values; there must be 4"),
        (&["x"], &[0.0, -1.0], &[3.0; 2], "time 1 (counted from 0) is less"),
        (&["x"], &[0.0, f64::NAN], &[0.0; 2], "not a finite number"),
        (&["x"], &[0.0; 2], &[0.0, f64::INFINITY], "not a finite number"),
    ] {
        let error = new(names, times, values).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    for name in
        ["", "t", " x", "a,b", "a\nb", "a\"", "#a", "1", "-", ".5x", "nan", "inf", "\u{feff}x"]
    {
        let error = new(&[name], &[1.0], &[1.0]).unwrap_err().to_string();
        assert!(error.contains("column 2 is named"), "{name:?}: {error}");
    }
}

#[test]
fn files_are_read_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let stream = Device::cpu().stream().unwrap();
    let path = trajectory(&[0.0, 1.0], &[2.0, 3.0]);
    path.save_resampled(&stream, path.times(), at("a.csv")).unwrap();
    assert_eq!(Trajectory::open(at("a.csv")).unwrap(), path);
    let error = path.save_resampled(&stream, &[0.5], at("none/a.csv")).unwrap_err();
    assert!(matches!(error, TrajectoryError::Unwritable { .. }), "{error}");
    std::fs::write(at("c.csv"), [b't', b',', 0xff]).unwrap();
    for name in ["b.csv", "c.csv"] {
        assert!(matches!(Trajectory::open(at(name)), Err(TrajectoryError::Text(_))), "{name}");
    }
    std::fs::File::create(at("d.csv")).unwrap().set_len((64 << 20) + 1).unwrap();
    let error = Trajectory::open(at("d.csv")).unwrap_err();
    assert!(error.to_string().contains("at most 67108864 are allowed"), "{error}");
    // Trajectory files may be larger than 1 MiB, unlike rig files.
    let long: String = (0..100_000).map(|i| format!("{i},{}\n", f64::from(i) / 7.0)).collect();
    assert!(long.len() > 1 << 20);
    std::fs::write(at("e.csv"), long).unwrap();
    assert_eq!(Trajectory::open(at("e.csv")).unwrap().times().len(), 100_000);
}

proptest! {
    // The fixed seed makes every run test the same cases.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(20_261_121),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn text_reads_back_the_same(
        width in 1_usize..5,
        mut times in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL, 1..20),
        pool in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 100),
    ) {
        times.sort_by(f64::total_cmp);
        let before = trajectory(&times, &pool[..times.len() * width]);
        let after = parse(&text(&before)).unwrap();
        prop_assert_eq!(before.columns(), after.columns());
        let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(before.times()), bits(after.times()));
        prop_assert_eq!(bits(before.values()), bits(after.values()));
    }
}

#[test]
fn values_are_interpolated_as_by_hand() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..20 {
            let r = &mut Random::new(seed);
            let (count, width) = (1 + r.below(80), 1 + r.below(9));
            let mut time = f64::from(r.between(-1e3, 1e3)) + r.pick(&[0.0, 1.3e9]);
            let mut times = Vec::new();
            for _ in 0..count {
                times.push(time);
                // Steps other than 0 are much larger than 2.4e-7 s, the resolution of a Unix time in f64.
                time += r.pick(&[0.0, 0.001, 0.1, 7.0]);
            }
            let values: Vec<_> =
                (0..count * width).map(|_| f64::from(r.between(-9.0, 9.0))).collect();
            let target = |_| {
                let known = times[r.below(count)];
                let between = times[0] + (time - times[0]) * f64::from(r.between(-0.2, 1.2));
                r.pick(&[known, between])
            };
            let targets: Vec<f64> = (0..130).map(target).collect();
            let path = trajectory(&times, &values);
            let found = path.resample(&stream, &targets).unwrap();
            assert_eq!(found.times(), targets);
            assert_eq!(found.columns(), path.columns());
            let outside = targets.iter().filter(|&&t| t < times[0] || t > times[count - 1]);
            assert_eq!(path.clamped(&targets), outside.count());
            for d in 0..width {
                let column: Vec<_> = values.iter().skip(d).step_by(width).copied().collect();
                for (i, &target) in targets.iter().enumerate() {
                    let exact = interpolated(&times, &column, target);
                    let off = (found.row(i)[d] - exact).abs();
                    assert!(off < 1e-13, "{device}, {seed}: {off} off {exact} at {target}");
                }
            }
        }
    }
}

#[test]
fn one_time_is_everywhere_and_equal_times_jump() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let at =
            |path: &Trajectory, t: &[f64]| path.resample(&stream, t).unwrap().values().to_vec();
        let one = trajectory(&[5.0], &[7.0, 8.0]);
        assert_eq!(at(&one, &[-1e9, 5.0, 1e9]), [7.0, 8.0, 7.0, 8.0, 7.0, 8.0]);
        assert_eq!(one.clamped(&[-1e9, 5.0, 1e9]), 2);
        let jump = trajectory(&[0.0, 1.0, 1.0, 2.0], &[0.0, 10.0, 20.0, 30.0]);
        assert_eq!(at(&jump, &[0.5, 1.0, 1.5, 0.75]), [5.0, 20.0, 25.0, 7.5]);
    }
}

#[test]
fn targets_are_in_any_order_but_sources_are_not() {
    let stream = Device::cpu().stream().unwrap();
    let path = trajectory(&[0.0, 10.0], &[0.0, 100.0]);
    let back = path.resample(&stream, &[9.0, 1.0, 5.0]).unwrap();
    assert_eq!((back.times(), back.values()), (&[9.0, 1.0, 5.0][..], &[90.0, 10.0, 50.0][..]));
    for (path, targets, reason) in [
        (&back, &[2.0][..], "source time 1"),
        (&path, &[1.0, f64::NAN], "target time 1"),
        (&path, &[], "the list of times is empty"),
    ] {
        let error = path.resample(&stream, targets).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

fn frame_times(first: f64, last: f64, rate: &str) -> Result<Vec<f64>, TrajectoryError> {
    trajectory(&[first, last], &[0.0, 0.0]).frame_times(rate.parse::<Rate>().unwrap())
}

#[test]
fn frames_are_at_multiples_of_the_rate() {
    let times = |first, last, rate| frame_times(first, last, rate).unwrap();
    assert_eq!(times(2.0, 3.0, "4"), [2.0, 2.25, 2.5, 2.75, 3.0]);
    assert_eq!(times(2.0, 2.9, "4"), [2.0, 2.25, 2.5, 2.75]);
    assert_eq!(times(2.0, 2.0, "25"), [2.0]);
    // In f64, 0.1 + 2/10 is slightly more than 0.3. The last frame, at 0.3, must be included nevertheless.
    assert_eq!(times(0.1, 0.3, "10"), [0.1, 0.2, 0.3]);
    let hours = times(0.0, 36_036.0, "30000/1001");
    assert_eq!(hours.len(), 36 * 30_000 + 1);
    for n in [0, 1, 30_000, 30_001, 36 * 30_000] {
        // The time is correctly rounded, because it is the quotient of two whole numbers.
        assert_eq!(hours[n], (n * 1001) as f64 / 30_000.0);
    }
    // For any start time, the last frame must be at the end of the trajectory, and not later.
    for (first, rate, count) in
        [(1305031098.6659, "60", 301), (1e6 + 0.3, "30", 151), (0.7, "24", 121)]
    {
        let times = times(first, first + 5.0, rate);
        assert_eq!(times.len(), count, "{first}");
        assert!(times[count - 1] <= first + 5.0 && times.is_sorted());
    }
}

#[test]
fn times_in_nanoseconds_are_no_video() {
    for (first, last) in [(0.0, 1e9), (1.4e18, 1.4e18 + 3e10), (-1e308, 1e308)] {
        let error = frame_times(first, last, "30").unwrap_err();
        assert!(error.to_string().ends_with("check that the times are in seconds"), "{error}");
    }
    assert_eq!(frame_times(0.0, 16_777_215.0, "1").unwrap().len(), 1 << 24);
    assert!(frame_times(0.0, 16_777_216.0, "1").is_err());
}

#[test]
fn times_alone_are_the_first_column() {
    let times = |text: &str| parse_times(text, "times.csv");
    assert_eq!(times("3\n1\n2\n").unwrap(), [3.0, 1.0, 2.0]);
    assert_eq!(times("\u{feff}t\r\n3\r\n1\r\n").unwrap(), [3.0, 1.0]);
    assert_eq!(times("t,x\n3,a\n1\n").unwrap(), [3.0, 1.0]);
    assert_eq!(times("# of\n1305031102.1604 rgb/1305031102.png\n").unwrap(), [1305031102.1604]);
    for (text, message) in [
        ("", "times.csv: the file has no rows; at least one is needed"),
        ("t\n", "times.csv: the file has no rows; at least one is needed"),
        (
            "1\nx\n",
            "times.csv:2: column 1: \"x\" is not a number; write numbers like 12, -1.5 or 2e-3",
        ),
        (
            "1\n\ninf\n",
            "times.csv:3: column 1 is not a finite number; correct it, or leave the row out",
        ),
    ] {
        assert_eq!(times(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_recorded_path_is_as_numpy_has_it() {
    let Some(source) = data("traj/freiburg1_xyz-groundtruth.txt") else { return };
    let Some(golden) = data("traj/fr1_xyz_golden.csv") else { return };
    let (source, golden) = (Trajectory::open(source).unwrap(), Trajectory::open(golden).unwrap());
    assert_eq!(source.columns(), ["tx", "ty", "tz", "qx", "qy", "qz", "qw"]);
    assert_eq!((source.times().len(), source.times()[0]), (3000, 1305031098.6659));
    assert_eq!(golden.columns(), ["x", "y", "z", "inside"]);
    for device in panoweave_devices() {
        let found = source.resample(&device.stream().unwrap(), golden.times()).unwrap();
        for i in 0..golden.times().len() {
            for (found, exact) in found.row(i)[..3].iter().zip(golden.row(i)) {
                assert!((found - exact).abs() < 1e-9, "{device}: {found} should be {exact}");
            }
        }
    }
}

#[test]
fn values_that_lie_too_far_apart_are_refused() {
    let far =
        Trajectory::new(vec!["x".to_owned()], vec![0.0, 1.0], vec![1.7e308, -1.7e308]).unwrap();
    for device in panoweave_devices() {
        let error = far.resample(&device.stream().unwrap(), &[0.5]).unwrap_err();
        assert!(error.to_string().contains("the values of column x around 0.5 s"), "{error}");
    }
}
