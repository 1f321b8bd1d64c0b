//! Compares the kernels on the CPU with sums in `f64`, for sizes that fill tiles and sizes that do
//! not.

use cust::typed::{Device, DeviceError, Image, Stream};
use half::bf16;
use matmul::{TensorCores, product_bf16, product_f32};

/// The sizes of the products: rows, inner dimension, columns. The first three consist of whole
/// tiles of one of the kernels, or of both.
const SIZES: [[u32; 3]; 8] = [
    [128, 64, 256],
    [256, 320, 256],
    [128, 16, 128],
    [1, 1, 1],
    [127, 63, 255],
    [129, 65, 257],
    [17, 200, 33],
    [130, 7, 300],
];

/// Returns numbers between -1 and 1 that 8 bits of mantissa represent exactly.
fn numbers(count: u32, seed: u32) -> Vec<f32> {
    let number = |i: u32| {
        let x = (i ^ seed).wrapping_mul(0x9e37_79b9);
        ((x ^ x >> 15).wrapping_mul(0x85eb_ca6b) >> 25) as f32 / 64.0 - 1.0
    };
    (0..count).map(number).collect()
}

/// Returns the products of the rows of `a` and the columns of `b`, and the sums of the absolute
/// values.
fn expected(a: &[f32], b: &[f32], [rows, depth, columns]: [u32; 3]) -> Vec<[f64; 2]> {
    let (depth, columns) = (depth as usize, columns as usize);
    let element = |i: usize| {
        let (row, column) = (i / columns, i % columns);
        (0..depth).fold([0.0, 0.0], |[sum, size], k| {
            let product = f64::from(a[row * depth + k]) * f64::from(b[k * columns + column]);
            [sum + product, size + product.abs()]
        })
    };
    (0..rows as usize * columns).map(element).collect()
}

/// Multiplies matrices of each size with `run`. An element may differ from the sum in `f64` by
/// `relative` of its value and by the rounding of the sums in `f32`.
fn check(
    relative: f64,
    run: impl Fn(&Stream, [u32; 3], &[f32], &[f32]) -> Result<Vec<f32>, DeviceError>,
) -> Result<(), DeviceError> {
    let stream = Device::cpu().stream()?;
    for size @ [rows, depth, columns] in SIZES {
        let (a, b) = (numbers(rows * depth, 1), numbers(depth * columns, 2));
        let found = run(&stream, size, &a, &b)?;
        let expected = expected(&a, &b, size);
        assert_eq!(found.len(), expected.len());
        for (i, (&found, [sum, absolute])) in found.iter().zip(expected).enumerate() {
            let tolerance =
                relative * sum.abs() + f64::from(depth) * f64::from(f32::EPSILON) * absolute;
            let error = (f64::from(found) - sum).abs();
            assert!(error <= tolerance, "{size:?}: element {i} is {found}, expected {sum}");
        }
    }
    Ok(())
}

#[test]
fn single_precision() -> Result<(), DeviceError> {
    check(0.0, |stream, [rows, depth, columns], a, b| {
        let a = Image::from_slice(stream, depth, rows, a)?;
        let b = Image::from_slice(stream, columns, depth, b)?;
        let mut out = Image::new(stream.device(), columns, rows)?;
        product_f32(stream, &a, &b, &mut out)?;
        out.download(stream)
    })
}

/// Checks the product of matrices of `bf16` with the given instructions.
fn check_bf16(by: TensorCores) -> Result<(), DeviceError> {
    check(1.0 / 256.0, |stream, [rows, depth, columns], a, b| {
        let narrow = |numbers: &[f32]| -> Vec<bf16> {
            numbers.iter().map(|&number| bf16::from_f32(number)).collect()
        };
        let a = Image::from_slice(stream, depth, rows, &narrow(a))?;
        let b = Image::from_slice(stream, columns, depth, &narrow(b))?;
        let mut out = Image::new(stream.device(), columns, rows)?;
        product_bf16(stream, by, &a, &b, &mut out)?;
        let out = out.download(stream)?;
        Ok(out.into_iter().map(f32::from).collect())
    })
}

#[test]
fn products_of_warps() -> Result<(), DeviceError> {
    check_bf16(TensorCores::Warp)
}

#[test]
fn products_of_warpgroups() -> Result<(), DeviceError> {
    check_bf16(TensorCores::Warpgroup)
}

#[test]
#[should_panic(expected = "the sizes of the matrices do not match")]
fn sizes_that_do_not_match() {
    let device = Device::cpu();
    let [a, b] = [(3, 4), (4, 3)].map(|(x, y)| Image::new(&device, x, y).expect("memory"));
    let mut out = Image::new(&device, 3, 3).expect("memory");
    let _ = product_f32(&device.stream().expect("a stream"), &a, &b, &mut out);
}
