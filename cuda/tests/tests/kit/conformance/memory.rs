//! Tests of constant memory, and of loads and stores of elements of every size in global and shared memory.

use bytemuck::Pod;
use conformance::memory::*;
use conformance_devices::{all_give, on_each_device};
use cust::typed::{Image, LaunchConfig};
use glam::{Vec2, Vec3};

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Checks that constants are zero until they are set, and then contain the new values. Only this test may set `TAPS`
/// and `QUADS`, because all tests share the device and its constants.
#[test]
fn constants_are_zero_until_set_and_then_what_was_set() {
    let values: Vec<f32> = (0..64).map(|k| (k * k) as f32 - 1000.0).collect();
    let quads: Vec<Quad> = (0..4).map(|k| Quad([k as f32, 0.5, -1.0, 8.0])).collect();
    let input: Vec<f32> = noise(100).iter().map(|n| (n >> 25) as f32).collect();
    let filtered: Vec<f32> = (0..100)
        .map(|i| {
            let products = (0..64).filter(|k| i + k < 100).map(|k| {
                let tap = (k * k) as i64 - 1000;
                tap * input[i + k] as i64
            });
            products.sum::<i64>() as f32
        })
        .collect();
    on_each_device(|stream| {
        let device = stream.device();
        let taps = || {
            let mut out = zeros(stream, 64);
            let kernel = Taps { out: out.view_mut() };
            launch(stream, line(2, 32), &kernel);
            download(stream, &out)
        };
        assert_eq!(taps(), [0.0; 64], "on {device}");
        device.set_constant::<TAPS>(&values).unwrap();
        device.set_constant::<QUADS>(&quads).unwrap();
        assert_eq!(taps(), values, "on {device}");

        let mut out = zeros(stream, 4);
        let kernel = Quads { out: out.view_mut() };
        launch(stream, line(1, 4), &kernel);
        assert_eq!(download(stream, &out), quads, "on {device}");

        let input = upload(stream, &input);
        let mut out = zeros(stream, 100);
        let kernel = Filter { input: input.view(), out: out.view_mut() };
        launch(stream, line(4, 32), &kernel);
        assert_eq!(download(stream, &out), filtered, "on {device}");

        let too_many = device.set_constant::<TAPS>(&[0.0; 65]);
        assert!(too_many.is_err(), "on {device}");
    });
}

#[test]
fn a_slice_goes_on_from_any_element_and_fetches_what_there_is() {
    let values: Vec<u16> = noise(100).iter().map(|n| (n >> 16) as u16).collect();
    on_each_device(|stream| {
        let input = upload(stream, &values);
        let mut out = zeros(stream, 99);
        let kernel = Seconds { input: input.view(), out: out.view_mut() };
        launch(stream, line(4, 32), &kernel);
        assert_eq!(download(stream, &out), values[1..], "on {}", stream.device());
    });
}

/// Defines a test for elements of one type. One kernel copies them, one mirrors each row of an image, and one reverses
/// them through shared memory.
macro_rules! elements {
    ($name:ident, $type:ty, $copy:ident, $mirror:ident, $share:ident) => {
        #[test]
        fn $name() {
            let values: Vec<$type> = elements(35 * 9);
            // Compare bytes instead of values, because kernels must also copy NaNs bit by bit.
            all_give(&bytes(&values), |stream| {
                let input = upload(stream, &values);
                let mut out = zeros(stream, input.len());
                let kernel = $copy { input: input.view(), out: out.view_mut() };
                launch(stream, line(4, 96), &kernel);
                bytes(&download(stream, &out))
            });
            let mirrored: Vec<$type> =
                values.chunks(35).flat_map(|row| row.iter().rev().copied()).collect();
            all_give(&bytes(&mirrored), |stream| {
                let pitch = 37 * size_of::<$type>() as u64;
                let mut input = Image::with_pitch(stream.device(), 35, 9, pitch).unwrap();
                input.upload(stream, &values).unwrap();
                let mut out = Image::new(stream.device(), 35, 9).unwrap();
                let kernel = $mirror { input: input.view(), out: out.view_mut() };
                launch(stream, LaunchConfig::cover(35, 9, [16, 16]), &kernel);
                bytes(&out.download(stream).unwrap())
            });
            let reversed: Vec<$type> =
                values.chunks(105).flat_map(|block| block.iter().rev().copied()).collect();
            all_give(&bytes(&reversed), |stream| {
                let input = upload(stream, &values);
                let mut out = zeros(stream, input.len());
                let kernel = $share { input: input.view(), out: out.view_mut() };
                launch(stream, line(3, 105), &kernel);
                bytes(&download(stream, &out))
            });
        }
    };
}

#[test]
fn elements_side_by_side_are_one_access() {
    let values: Vec<u8> = elements(35 * 9);
    // The kernel copies groups of four elements. It skips the last three elements of each row, because they do not form
    // a complete group.
    let expected: Vec<u8> = (0..35 * 9).map(|i| if i % 35 < 32 { values[i] } else { 0 }).collect();
    for (pitch, expected) in [(40, expected), (37, vec![0; 35 * 9])] {
        all_give(&expected, |stream| {
            let mut input = Image::with_pitch(stream.device(), 35, 9, pitch).unwrap();
            input.upload(stream, &values).unwrap();
            let mut out = Image::new(stream.device(), 35, 9).unwrap();
            out.upload(stream, &[0; 35 * 9]).unwrap();
            let kernel = CopyFours { input: input.view(), out: out.view_mut() };
            launch(stream, LaunchConfig::cover(9, 9, [16, 16]), &kernel);
            out.download(stream).unwrap()
        });
    }
}

#[test]
fn a_group_in_a_slice_is_one_access() {
    let values: Vec<f32> = (0..403_u16).map(f32::from).collect();
    // The kernel skips the last three elements, because they do not form a complete group.
    let mut expected = values.clone();
    expected[..400].chunks_mut(4).for_each(<[f32]>::reverse);
    expected[400..].fill(0.0);
    all_give(&bytes(&expected), |stream| {
        let input = upload(stream, &values);
        let mut out = zeros(stream, 403);
        let kernel = ReverseFours { input: input.view(), out: out.view_mut() };
        launch(stream, line(4, 32), &kernel);
        bytes(&download(stream, &out))
    });
}

#[test]
fn a_column_is_read_downwards() {
    let values: Vec<u16> = elements(35 * 9);
    let expected: Vec<u16> =
        (0..35 * 9).map(|i| if i % 35 <= i / 35 { values[i] } else { 0 }).collect();
    all_give(&bytes(&expected), |stream| {
        let mut input = Image::with_pitch(stream.device(), 35, 9, 78).unwrap();
        input.upload(stream, &values).unwrap();
        let mut out = Image::new(stream.device(), 35, 9).unwrap();
        out.upload(stream, &[0; 35 * 9]).unwrap();
        let kernel = CopyColumns { input: input.view(), out: out.view_mut() };
        launch(stream, line(2, 32), &kernel);
        bytes(&out.download(stream).unwrap())
    });
}

/// Returns elements with arbitrary bits.
fn elements<T: Pod>(len: usize) -> Vec<T> {
    let words = noise((len * size_of::<T>()).div_ceil(4) as u32);
    bytemuck::pod_collect_to_vec(&bytemuck::cast_slice::<u32, u8>(&words)[..len * size_of::<T>()])
}

fn bytes<T: Pod>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}

elements!(elements_of_1_byte, u8, CopyU8, MirrorU8, ShareU8);
elements!(elements_of_2_bytes, u16, CopyU16, MirrorU16, ShareU16);
elements!(elements_of_4_bytes, u32, CopyU32, MirrorU32, ShareU32);
elements!(elements_of_8_bytes, u64, CopyU64, MirrorU64, ShareU64);
elements!(elements_of_16_bytes, Quad, CopyQuad, MirrorQuad, ShareQuad);
elements!(elements_of_12_bytes, Odd, CopyOdd, MirrorOdd, ShareOdd);
elements!(elements_of_a_pixel, Pixel, CopyPixel, MirrorPixel, SharePixel);
elements!(elements_of_vec2, Vec2, CopyVec2, MirrorVec2, ShareVec2);
elements!(elements_of_vec3, Vec3, CopyVec3, MirrorVec3, ShareVec3);
