//! Tests of trajectories. They check the accepted text, the line numbers in errors, that a trajectory stays the same
//! when it is written and read back, and that resampled values equal those of an independent linear interpolation.

use std::path::Path;

use panoweave::device::Device;
use panoweave::frame::Rate;
use panoweave::io::text::TextError;
use panoweave::ops::resample::ResampleError;
use panoweave::ops::trajectory::{RowError, Trajectory, TrajectoryError, parse_times};
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

/// Parses the invalid text `text`. Returns the line number in the error, the error of this line, and the whole message.
fn fault(text: &str) -> (usize, RowError, String) {
    match parse(text) {
        Err(error @ TrajectoryError::Line { .. }) => {
            let message = error.to_string();
            let TrajectoryError::Line { file, line, fault } = error else { unreachable!() };
            assert_eq!(file, Path::new("path.csv"));
            assert!(message.starts_with(&format!("path.csv:{line}: ")), "{message}");
            (line, fault, message)
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let word = |column, word: &str| RowError::NotANumber { column, word: word.to_owned() };
    let name = |column, name: &str| RowError::Name { column, name: name.to_owned() };
    let cases = [
        ("t,x\n0,1\n1,\n", 3, word(2, "")),
        ("t,x\n0,1\n\n# and then\n1,a1\n", 5, word(2, "a1")),
        ("t,x\r\n0,1\r\none,2\r\n", 3, word(1, "one")),
        // If the first line contains a number, or a word that begins like a number, the line is not a header but data.
        ("0x,1\n", 1, word(1, "0x")),
        ("t,1\n", 1, word(1, "t")),
        ("1,5;2,5\n", 1, word(2, "5;2")),
        ("t,x\n0,1\n1,2,3\n", 3, RowError::Fields { found: 3, expected: 2 }),
        ("t,x\n0,1,\n", 2, RowError::Fields { found: 3, expected: 2 }),
        ("0 1 2\n1 2\n", 2, RowError::Fields { found: 2, expected: 3 }),
        ("t,x\nnan,1\n", 2, RowError::NotFinite { column: 1 }),
        ("t,x\n0,1\ninf,1\n", 3, RowError::NotFinite { column: 1 }),
        ("t,x,y\n0,1,1\n1,2,NaN\n", 3, RowError::NotFinite { column: 3 }),
        ("t,x\n0,1e999\n", 2, RowError::NotFinite { column: 2 }),
        ("t,x\n0,1\n3,1\n2.5,1\n", 4, RowError::Descending { time: 2.5, before: 3.0 }),
        ("5\n6\n", 1, RowError::NoValues),
        ("t\n6\n", 1, RowError::NoValues),
        ("t,x,x\n0,1,2\n", 1, name(3, "x")),
        ("x,x\n0,1\n", 1, name(2, "x")),
        ("# one\nt,x,\n0,1,2\n", 2, name(3, "")),
        ("t,a\"b\n0,1\n", 1, name(2, "a\"b")),
    ];
    for (text, line, expected) in cases {
        let (found_line, found, _) = fault(text);
        assert_eq!((found_line, &found), (line, &expected), "{text:?}");
    }
    let (_, _, message) = fault("t,x\n0,1\n3,1\n2.5,1\n");
    assert!(message.ends_with("time 2.5 is less than the previous time, 3; sort the rows by time"));
    let (_, found, _) = fault(&format!("t,x\n0,{}\n", "long".repeat(100)));
    assert_eq!(found, word(2, &"long".repeat(10)));
}

/// Nanoseconds since 1970, as in the EuRoC data sets, are 256 ns apart as f64.
#[test]
fn nanosecond_times_are_kept_or_rejected() {
    // The second time is not an f64 and is rounded by 80 ns.
    let read = parse("t,x\n1403636579763555584,1\n1403636579768555600,2\n").unwrap();
    let written = "t,x\n1403636579763555584,1\n1403636579768555520,2\n";
    assert_eq!(text(&read), written);
    assert_eq!(text(&parse(written).unwrap()), written);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let middle = read.resample(&stream, &[1_403_636_579_766_055_424.0]).unwrap();
        assert!((middle.values()[0] - 1.5).abs() < 1e-4, "{:?} on {device}", middle.values());
    }
    // These times differ by 24 ns.
    let (line, found, message) = fault("t,x\n1403636579763555584,1\n1403636579763555608,2\n");
    let (time, before) = ("1403636579763555608".to_owned(), "1403636579763555584".to_owned());
    assert_eq!((line, found), (3, RowError::Indistinct { time, before, step: 256.0 }));
    assert!(message.contains("numbers of this size are 256 apart"), "{message}");
    let error = parse_times("1403636579763555584\n1403636579763555608\n", "times").unwrap_err();
    let TrajectoryError::Line { line: 2, fault: RowError::Indistinct { .. }, .. } = error else {
        panic!("{error}")
    };
    let seconds = fault("t,x\n1403636579.7635555,1\n1403636579.7635556,1\n");
    assert!(matches!(seconds.1, RowError::Indistinct { .. }), "{seconds:?}");
    // Equal times are accepted in any notation.
    let same = ["1e3", "1000", "1000.0", "+1000", "0.1E4", "10000e-1", "01000.", "1000"];
    let rows: String = same.iter().map(|time| format!("{time},1\n")).collect();
    assert_eq!(parse(&rows).unwrap().times(), [1000.0; 8]);
    assert_eq!(parse_times(&rows, "times").unwrap(), [1000.0; 8]);
    assert_eq!(parse_times("0\n-0\n0.00\n0e9\n", "times").unwrap().len(), 4);
}

#[test]
fn without_rows_there_is_no_trajectory() {
    for text in ["", "\u{feff}", "\n \n", "# t x\n", "t,x\n", "t,x\n#0,1\n"] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, TrajectoryError::Empty { .. }), "{text:?}: {error}");
        assert!(error.to_string().starts_with("path.csv: the file has no rows"), "{error}");
    }
}

#[test]
fn new_checks_what_it_is_given() {
    let new = |names: &[&str], times: &[f64], values: &[f64]| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Trajectory::new(names, times.to_vec(), values.to_vec())
    };
    assert_eq!(text(&new(&["x"], &[0.0, 1.0], &[3.0, 4.5]).unwrap()), "t,x\n0,3\n1,4.5\n");
    assert!(matches!(new(&["x"], &[], &[]), Err(TrajectoryError::NoTimes)));
    let error = new(&[], &[1.0], &[]).unwrap_err();
    assert!(matches!(error, TrajectoryError::Columns(RowError::NoValues)), "{error}");
    for name in
        ["", "t", " x", "a,b", "a\nb", "a\"", "#a", "1", "-", ".5x", "nan", "inf", "\u{feff}x"]
    {
        let error = new(&[name], &[1.0], &[1.0]).unwrap_err();
        let TrajectoryError::Columns(RowError::Name { column: 2, .. }) = error else {
            panic!("{name:?}: {error}")
        };
    }
    let error = new(&["x", "y"], &[0.0, 1.0], &[3.0; 3]).unwrap_err();
    assert!(matches!(error, TrajectoryError::Size { found: 3, expected: 4 }), "{error}");
    let error = new(&["x"], &[0.0, -1.0], &[3.0; 2]).unwrap_err();
    let descending = RowError::Descending { time: -1.0, before: 0.0 };
    assert!(
        matches!(&error, TrajectoryError::Row { row: 1, fault } if *fault == descending),
        "{error}"
    );
    for (times, values, column) in
        [([0.0, f64::NAN], [0.0; 2], 1), ([0.0; 2], [0.0, f64::INFINITY], 2)]
    {
        let error = new(&["x"], &times, &values).unwrap_err();
        let expected = RowError::NotFinite { column };
        assert!(
            matches!(&error, TrajectoryError::Row { row: 1, fault } if *fault == expected),
            "{error}"
        );
    }
}

#[test]
fn files_are_read_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = trajectory(&[0.0, 1.0], &[2.0, 3.0]);
    path.save(at("a.csv")).unwrap();
    assert_eq!(Trajectory::open(at("a.csv")).unwrap(), path);
    let error = path.save(at("none/a.csv")).unwrap_err();
    assert!(matches!(error, TrajectoryError::Unwritable { .. }), "{error}");
    let error = Trajectory::open(at("b.csv")).unwrap_err();
    assert!(matches!(error, TrajectoryError::Text(TextError::Unreadable { .. })), "{error}");
    std::fs::write(at("c.csv"), [b't', b',', 0xff]).unwrap();
    let error = Trajectory::open(at("c.csv")).unwrap_err();
    assert!(
        matches!(error, TrajectoryError::Text(TextError::NotText { offset: 2, .. })),
        "{error}"
    );
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

    #[test]
    fn any_text_is_read_or_refused(text in "[t,x0-9 .e\\-\n\r#\"]{0,60}") {
        if let Ok(read) = parse(&text) {
            prop_assert_eq!(read.values().len(), read.times().len() * read.columns().len());
            prop_assert!(read.times().is_sorted());
            prop_assert_eq!(parse(&self::text(&read)).unwrap(), read);
        }
        let _ = parse_times(&text, "times.csv");
    }
}

#[test]
fn times_keep_what_text_says() {
    let read = parse("time,x\n1305031098.6659,1.3563\n1305031128.722975969,1\n").unwrap();
    assert_eq!(text(&read), "time,x\n1305031098.6659,1.3563\n1305031128.722976,1\n");
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
    let error = back.resample(&stream, &[2.0]).unwrap_err();
    let TrajectoryError::Resample(ResampleError::Source { index: 1, .. }) = error else {
        panic!("{error}")
    };
    let error = path.resample(&stream, &[1.0, f64::NAN]).unwrap_err();
    let TrajectoryError::Resample(ResampleError::Target { index: 1, .. }) = error else {
        panic!("{error}")
    };
    let error = path.resample(&stream, &[]).unwrap_err();
    assert!(matches!(error, TrajectoryError::NoTimes), "{error}");
}

fn frame_times(first: f64, last: f64, rate: &str) -> Result<Vec<f64>, TrajectoryError> {
    let times =
        trajectory(&[first, last], &[0.0, 0.0]).frame_times(rate.parse::<Rate>().unwrap())?;
    assert_eq!(times.len(), times.clone().count());
    Ok(times.collect())
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
        assert!(matches!(error, TrajectoryError::TooLong { .. }), "{error}");
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
