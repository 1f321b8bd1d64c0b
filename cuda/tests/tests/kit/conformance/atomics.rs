//! Tests of atomic operations. The host computes the expected results. They do not depend on the order in which threads
//! run.

use conformance::atomics::*;
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// The number of blocks, and the number of threads per block, which is not a multiple of the warp size.
const BLOCKS: u32 = 37;
const BLOCK: u32 = 100;

macro_rules! accumulate {
    ($kernel:ident, $type:ty, $values:expr, $start:expr, $expected:expr) => {{
        let values: Vec<$type> = $values;
        let start: [$type; 3] = $start;
        all_give(&$expected(&values), |stream| {
            let input = upload(stream, &values);
            let mut out = upload(stream, &start);
            let kernel = $kernel { input: input.view(), out: out.view_mut() };
            launch(stream, line(BLOCKS, BLOCK), &kernel);
            download(stream, &out)
        });
    }};
}

#[test]
fn sum_minimum_and_maximum_of_integers() {
    let noise = noise(BLOCKS * BLOCK);
    accumulate!(AccumulateU32, u32, noise.clone(), [5, u32::MAX, 0], |values: &[u32]| {
        let sum = values.iter().map(|&v| u64::from(v)).sum::<u64>() + 5;
        let (min, max) = (values.iter().min().unwrap(), values.iter().max().unwrap());
        vec![(sum % (1 << 32)) as u32, *min, *max]
    });
    accumulate!(
        AccumulateI32,
        i32,
        noise.iter().map(|&n| n as i32).collect(),
        [-5, i32::MAX, i32::MIN],
        |values: &[i32]| {
            let sum = values.iter().map(|&v| i64::from(v)).sum::<i64>() - 5;
            let (min, max) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            assert!(*min < 0 && *max > 0);
            vec![(sum.rem_euclid(1 << 32)) as u32 as i32, *min, *max]
        }
    );
    accumulate!(
        AccumulateU64,
        u64,
        noise.iter().map(|&n| u64::from(n) << 31).collect(),
        [1, u64::MAX, 0],
        |values: &[u64]| {
            let sum = values.iter().map(|&v| u128::from(v)).sum::<u128>() + 1;
            let (min, max) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            vec![(sum % (1 << 64)) as u64, *min, *max]
        }
    );
}

#[test]
fn sum_of_floats_that_round_nowhere() {
    let values: Vec<f32> = noise(3700).iter().map(|n| (n >> 21) as f32 * 0.5).collect();
    let halves: u32 = noise(3700).iter().map(|n| n >> 21).sum();
    assert!(halves < 1 << 24);
    all_give(&vec![halves as f32 * 0.5 - 3.0], |stream| {
        let input = upload(stream, &values);
        let mut out = upload(stream, &[-3.0]);
        let kernel = AccumulateF32 { input: input.view(), out: out.view_mut() };
        launch(stream, line(BLOCKS, BLOCK), &kernel);
        download(stream, &out)
    });
}

#[test]
fn every_ticket_is_drawn_once() {
    let expected: Vec<u32> = (0..BLOCKS * BLOCK).map(|i| i + 7).collect();
    all_give(&(expected, vec![BLOCKS * BLOCK + 7]), |stream| {
        let mut counter = upload(stream, &[7]);
        let mut out = zeros(stream, BLOCKS * BLOCK);
        let kernel = Tickets { counter: counter.view_mut(), out: out.view_mut() };
        launch(stream, line(BLOCKS, BLOCK), &kernel);
        let mut drawn = download(stream, &out);
        drawn.sort_unstable();
        (drawn, download(stream, &counter))
    });
}

#[test]
fn a_histogram_in_shared_memory_counts_every_value() {
    let values: Vec<u8> = noise(5000).iter().map(|n| (n % 256) as u8).collect();
    let mut expected = vec![0_u32; 64];
    for value in &values {
        expected[usize::from(value & 63)] += 1;
    }
    for block in [32, 50, 256] {
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, 64);
            let kernel = Histogram { input: input.view(), out: out.view_mut() };
            launch(stream, line(5000_u32.div_ceil(block), block), &kernel);
            download(stream, &out)
        });
    }
}
