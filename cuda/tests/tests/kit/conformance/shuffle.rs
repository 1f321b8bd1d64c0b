//! Compares warp shuffles with the table for `shfl.sync` in the PTX manual.

use bytemuck::Pod;
use conformance::shuffle::*;
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

const LANES: usize = 32;
const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const ARGUMENTS: [u32; 11] = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33];

/// A function that returns the source of a shuffle: the lane whose value `lane` receives. It returns `None` if the
/// source is out of range, so that `lane` keeps its own value.
type Source = fn(lane: i32, argument: i32, width: i32) -> Option<i32>;

fn down(lane: i32, argument: i32, width: i32) -> Option<i32> {
    let source = lane + argument % 32;
    (source / width == lane / width).then_some(source)
}

fn up(lane: i32, argument: i32, width: i32) -> Option<i32> {
    let source = lane - argument % 32;
    (source >= lane / width * width).then_some(source)
}

/// Returns the source lane of an exclusive-or shuffle. The warp is divided into segments of `width` lanes. A source in
/// an earlier segment than `lane` is in range, and a source in a later segment is out of range.
fn xor(lane: i32, argument: i32, width: i32) -> Option<i32> {
    let source = lane ^ (argument % 32);
    (source < (lane / width + 1) * width).then_some(source)
}

fn idx(lane: i32, argument: i32, width: i32) -> Option<i32> {
    Some(lane / width * width + argument % width)
}

/// Returns the expected value of each thread, and whether its source is in range.
fn expected<T: Copy>(
    values: &[T],
    source: Source,
    argument: u32,
    width: u32,
) -> (Vec<T>, Vec<u32>) {
    let shuffled = values.chunks(LANES).flat_map(|warp| {
        (0..LANES).map(|lane| {
            let from = source(lane as i32, argument as i32, width as i32);
            (warp[from.map_or(lane, |from| from as usize)], u32::from(from.is_some()))
        })
    });
    shuffled.unzip()
}

/// Checks one kernel with every width and argument, on two blocks of three warps.
macro_rules! check {
    ($kernel:ident, $source:expr, $values:expr) => {{
        let values = $values;
        for width in WIDTHS {
            for argument in ARGUMENTS {
                all_give(&expected(&values, $source, argument, width), |stream| {
                    let input = upload(stream, &values);
                    let mut out = zeros(stream, input.len());
                    let mut in_range = zeros(stream, input.len());
                    let kernel = $kernel {
                        input: input.view(),
                        out: out.view_mut(),
                        in_range: in_range.view_mut(),
                        argument,
                        width,
                    };
                    launch(stream, line(2, 96), &kernel);
                    (download(stream, &out), download(stream, &in_range))
                });
            }
        }
    }};
}

/// Reinterprets words as values of type `T`.
fn of<T: Pod>(words: &[u32]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(words)
}

/// Returns finite numbers that use both words of an `f64`.
fn doubles() -> Vec<f64> {
    noise(192).iter().map(|&n| f64::from(n) / 3.0).collect()
}

#[test]
fn shuffles_of_32_bits() {
    check!(ShuffleDownU32, down, noise(192));
    check!(ShuffleUpU32, up, noise(192));
    check!(ShuffleXorU32, xor, noise(192));
    check!(ShuffleIdxU32, idx, noise(192));
}

#[test]
fn shuffles_of_64_bits() {
    check!(ShuffleDownU64, down, of::<u64>(&noise(384)));
    check!(ShuffleUpU64, up, of::<u64>(&noise(384)));
    check!(ShuffleXorU64, xor, of::<u64>(&noise(384)));
    check!(ShuffleIdxU64, idx, of::<u64>(&noise(384)));
}

#[test]
fn shuffles_of_signed_and_floating_values() {
    check!(ShuffleDownI32, down, of::<i32>(&noise(192)));
    check!(ShuffleUpI64, up, of::<i64>(&noise(384)));
    check!(ShuffleXorF32, xor, noise(192).iter().map(|&n| n as f32).collect::<Vec<_>>());
    check!(ShuffleIdxF64, idx, doubles());
}

#[test]
fn some_lanes_shuffle_among_themselves() {
    let values = noise(128);
    for lanes in [1, 2, 20, 31, 32] {
        let expected: Vec<u32> = (0..128)
            .map(|i| match i % LANES {
                lane if lane < lanes => values[i - lane + lanes - 1],
                _ => 0,
            })
            .collect();
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, 128);
            let kernel =
                ShufflePart { input: input.view(), out: out.view_mut(), lanes: lanes as u32 };
            launch(stream, line(2, 64), &kernel);
            download(stream, &out)
        });
    }
}
