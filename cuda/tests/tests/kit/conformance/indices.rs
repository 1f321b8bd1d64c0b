//! Tests of thread and block indices, in grids and blocks of one to three dimensions.

use conformance::indices::{CountThreads, Indices, Pixels, ThreadPlace};
use conformance_devices::all_give;
use cust::typed::{Image, LaunchConfig};

use crate::conformance::{config, download, launch, zeros};

/// Returns the expected indices of every thread, ordered by block and rank.
fn expected([gx, gy, gz]: [u32; 3], [bx, by, bz]: [u32; 3]) -> Vec<ThreadPlace> {
    let mut places = Vec::new();
    for block in 0..gx * gy * gz {
        let b = [block % gx, block / gx % gy, block / gx / gy];
        for rank in 0..bx * by * bz {
            let t = [rank % bx, rank / bx % by, rank / bx / by];
            places.push(ThreadPlace {
                thread: t,
                block: b,
                block_dim: [bx, by, bz],
                grid_dim: [gx, gy, gz],
                index_1d: b[0] * bx + t[0],
                index_2d: [b[0] * bx + t[0], b[1] * by + t[1]],
                index_3d: [b[0] * bx + t[0], b[1] * by + t[1], b[2] * bz + t[2]],
                index: places.len() as u32,
                first: places.is_empty().into(),
                rank,
                lane: rank % 32,
            });
        }
    }
    places
}

fn check(grid: [u32; 3], block: [u32; 3]) {
    let expected = expected(grid, block);
    all_give(&expected, |stream| {
        let mut out = zeros(stream, expected.len() as u32);
        let kernel = Indices { out: out.view_mut() };
        launch(stream, config(grid, block), &kernel);
        download(stream, &out)
    });
}

#[test]
fn one_dimension() {
    check([1, 1, 1], [1, 1, 1]);
    check([7, 1, 1], [45, 1, 1]);
    check([3, 1, 1], [1024, 1, 1]);
}

#[test]
fn two_dimensions() {
    check([3, 5, 1], [16, 16, 1]);
    check([2, 2, 1], [5, 7, 1]);
}

#[test]
fn three_dimensions() {
    check([2, 3, 4], [4, 5, 6]);
    check([1, 1, 2], [1, 2, 64]);
}

#[test]
fn a_cover_reaches_every_pixel_and_nothing_else() {
    for (width, height) in [(1, 1), (33, 9), (65, 63), (256, 3)] {
        let expected: Vec<u32> =
            (0..width * height).map(|i| 1000 * (i / width) + i % width).collect();
        all_give(&expected, |stream| {
            let pitch = u64::from(width) * 4 + 12;
            let mut out = Image::with_pitch(stream.device(), width, height, pitch).unwrap();
            let cover = LaunchConfig::cover(width, height, [32, 8]);
            launch(stream, cover, &Pixels { out: out.view_mut() });
            out.download(stream).unwrap()
        });
    }
}

#[test]
fn every_thread_of_every_block_runs_once() {
    let (grid, block) = ([31, 3, 2], [33, 2, 3]);
    all_give(&vec![198; 186], |stream| {
        let mut out = zeros(stream, 186);
        let kernel = CountThreads { out: out.view_mut() };
        launch(stream, config(grid, block), &kernel);
        download(stream, &out)
    });
}
