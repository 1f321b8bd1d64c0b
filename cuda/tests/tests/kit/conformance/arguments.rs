//! Checks that kernel arguments of every type reach the kernel unchanged.

use conformance::arguments::*;
use conformance_devices::{all_give, on_each_device};
use glam::{DMat3, DVec2, DVec3, IVec2, UVec2, Vec2, Vec3};

use crate::conformance::{download, launch, line, zeros};

#[test]
fn a_struct_by_value() {
    let value =
        Mixed { wide: -1.25e300, vector: [1.5, -2.5, 3.5e-30], short: 0xfedc, bytes: [0x12, 0xef] };
    all_give(&vec![value], |stream| {
        let mut out = zeros(stream, 1);
        let out_view = out.view_mut();
        let kernel = ByValue { value, out: out_view };
        launch(stream, line(2, 32), &kernel);
        download(stream, &out)
    });
}

#[test]
fn an_aligned_struct_between_single_bytes() {
    let value = Aligned { words: [1, 0xffff_ffff, 3, 4, 5, 0x8000_0000, 7, 8] };
    let bytes = Aligned { words: [0xab, 0xcd, 0, 0, 0, 0, 0, 0] };
    all_give(&vec![value, bytes], |stream| {
        let mut out = zeros(stream, 2);
        let kernel = ByValueAligned { before: 0xab, value, after: 0xcd, out: out.view_mut() };
        launch(stream, line(1, 1), &kernel);
        download(stream, &out)
    });
}

#[test]
fn every_scalar() {
    let expected = vec![
        0xfe,
        0xfedc,
        0xfedc_ba98,
        0xfedc_ba98_7654_3210,
        0xffff_ffff_ffff_ff80,
        0xffff_ffff_ffff_8000,
        0xffff_ffff_8000_0000,
        0x8000_0000_0000_0001,
        0x3fc0_0000,
        0xc004_0000_0000_0000,
    ];
    all_give(&expected, |stream| {
        let mut out = zeros(stream, 10);
        let kernel = Scalars {
            a: 0xfe,
            b: 0xfedc,
            c: 0xfedc_ba98,
            d: 0xfedc_ba98_7654_3210,
            e: -128,
            f: i16::MIN,
            g: i32::MIN,
            h: i64::MIN + 1,
            i: 1.5,
            j: -2.5,
            out: out.view_mut(),
        };
        launch(stream, line(1, 1), &kernel);
        download(stream, &out)
    });
}

#[test]
fn every_vector() {
    let expected: Vec<f64> = (1..=20).map(|i| if i == 8 { -8.0 } else { f64::from(i) }).collect();
    all_give(&expected, |stream| {
        let mut out = zeros(stream, 20);
        let kernel = Vectors {
            a: Vec2::new(1.0, 2.0),
            b: Vec3::new(3.0, 4.0, 5.0),
            c: UVec2::new(6, 7),
            d: IVec2::new(-8, 9),
            e: DVec2::new(10.0, 11.0),
            f: DMat3::from_cols(
                DVec3::new(12.0, 13.0, 14.0),
                DVec3::new(15.0, 16.0, 17.0),
                DVec3::new(18.0, 19.0, 20.0),
            ),
            out: out.view_mut(),
        };
        launch(stream, line(1, 1), &kernel);
        download(stream, &out)
    });
}

#[test]
fn no_arguments() {
    on_each_device(|stream| {
        launch(stream, line(3, 1024), &Nothing {});
        stream.synchronize().unwrap();
    });
}

#[test]
fn an_unsafe_kernel() {
    all_give(&vec![43; 96], |stream| {
        let mut out = zeros(stream, 96);
        let kernel = FillUnchecked { value: 42, out: out.view_mut() };
        // SAFETY: the grid has as many threads as the buffer has elements.
        unsafe { stream.launch_unchecked(&line(3, 32), &kernel) }.unwrap();
        download(stream, &out)
    });
}
