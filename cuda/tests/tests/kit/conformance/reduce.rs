//! Tests of reductions over warps and blocks. All floats are whole numbers, so their sum does not depend on the order
//! of the additions.

use conformance::reduce::*;
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Returns, for each lane, the sum, minimum and maximum of the values in the lane's warp.
fn expected<T: Copy>(values: &[T], add: fn(T, T) -> T, less: fn(T, T) -> bool) -> Vec<[T; 3]> {
    let warp = |warp: &[T]| {
        let mut all = [warp[0]; 3];
        for &value in &warp[1..] {
            all[0] = add(all[0], value);
            all[1] = if less(value, all[1]) { value } else { all[1] };
            all[2] = if less(all[2], value) { value } else { all[2] };
        }
        [all; 32]
    };
    values.chunks(32).flat_map(warp).collect()
}

macro_rules! check {
    ($kernel:ident, $type:ty, $convert:expr) => {{
        let values: Vec<$type> = noise(192).into_iter().map($convert).collect();
        all_give(&expected(&values, |a, b| a + b, |a, b| a < b), |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, 192);
            let kernel = $kernel { input: input.view(), out: out.view_mut() };
            launch(stream, line(2, 96), &kernel);
            download(stream, &out)
        });
    }};
}

#[test]
fn reductions_of_integers() {
    check!(ReduceWarpU32, u32, |n| n >> 6);
    check!(ReduceWarpI32, i32, |n| (n >> 7) as i32 - (1 << 24));
    check!(ReduceWarpU64, u64, |n| u64::from(n) << 20 | 1);
}

#[test]
fn reductions_of_floats() {
    check!(ReduceWarpF32, f32, |n| (n >> 14) as f32 - 100_000.0);
    check!(ReduceWarpF64, f64, |n| f64::from(n) - 2e9);
}

#[test]
fn words_are_added_up_in_one_instruction() {
    // Word 5 is `u32::MAX`, so both the sum over its warp and the sum of its byte products overflow 32 bits.
    let [mut a, mut b, mut c] = [0, 1, 2].map(|i| noise(3 * 192)[i * 192..][..192].to_vec());
    (a[5], b[5], c[5]) = (u32::MAX, u32::MAX, u32::MAX);
    let bytes = |word: u32| (0..4).map(move |i| u64::from(word >> (8 * i) & 0xff));
    let wrapped = |sum: u64| (sum % (1 << 32)) as u32;
    let expected: Vec<_> = (0..192)
        .map(|i| {
            let warp = a[i / 32 * 32..][..32].iter().map(|&v| u64::from(v)).sum();
            let dot: u64 = bytes(a[i]).zip(bytes(b[i])).map(|(a, b)| a * b).sum();
            [wrapped(warp), wrapped(dot + u64::from(c[i]))]
        })
        .collect();
    all_give(&expected, |stream| {
        let [a, b, c] = [&a, &b, &c].map(|words| upload(stream, words));
        let mut out = zeros(stream, 192);
        let kernel = ReduceWords { a: a.view(), b: b.view(), c: c.view(), out: out.view_mut() };
        launch(stream, line(2, 96), &kernel);
        download(stream, &out)
    });
}

#[test]
fn a_block_adds_up() {
    for (blocks, block) in [(1, 32), (3, 96), (2, 1024)] {
        let values: Vec<f32> = noise(blocks * block).iter().map(|n| (n >> 20) as f32).collect();
        let expected: Vec<f32> = values
            .chunks(block as usize)
            .map(|block| block.iter().map(|&v| v as u32).sum::<u32>() as f32)
            .collect();
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, blocks);
            let kernel = ReduceBlock { input: input.view(), out: out.view_mut() };
            launch(stream, line(blocks, block), &kernel);
            download(stream, &out)
        });
    }
}
