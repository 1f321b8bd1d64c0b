//! Compares tensor cores with the fragment layouts in the PTX manual.
//!
//! All elements are small whole numbers, so the sums are exact and do not depend on their order.

use conformance::tensor::*;
use conformance_devices::all_give;
use half::bf16;

use crate::conformance::{download, launch, line, noise, upload, zeros};

const LANES: usize = 32;
const WARPS: usize = 3;

/// Returns row and column of an element of A, from the table for `mma.m16n8k16` in the PTX manual. `i` counts the
/// lane's elements.
fn of_a(lane: usize, i: usize) -> [usize; 2] {
    let row = if i < 2 || (4..6).contains(&i) { lane / 4 } else { lane / 4 + 8 };
    [row, lane % 4 * 2 + i % 2 + if i < 4 { 0 } else { 8 }]
}

fn of_b(lane: usize, i: usize) -> [usize; 2] {
    [lane % 4 * 2 + i % 2 + if i < 2 { 0 } else { 8 }, lane / 4]
}

fn of_c(lane: usize, i: usize) -> [usize; 2] {
    [if i < 2 { lane / 4 } else { lane / 4 + 8 }, lane % 4 * 2 + i % 2]
}

/// A matrix of up to 16×16 elements.
type Matrix = [[f32; 16]; 16];

/// Returns whole numbers from -8 to 7.
fn matrix(seed: usize) -> Matrix {
    let noise = noise(256 * (seed as u32 + 1));
    std::array::from_fn(|row| {
        std::array::from_fn(|column| (noise[256 * seed + row * 16 + column] >> 28) as f32 - 8.0)
    })
}

/// Returns the registers of each lane: `N` elements at the positions that `place` returns.
fn registers<const N: usize>(
    matrix: &Matrix,
    place: fn(usize, usize) -> [usize; 2],
) -> [[f32; N]; LANES] {
    std::array::from_fn(|lane| {
        std::array::from_fn(|i| {
            let [row, column] = place(lane, i);
            matrix[row][column]
        })
    })
}

/// Combines two adjacent elements.
fn pairs<const N: usize, const PAIRS: usize>(elements: [f32; N]) -> [[bf16; 2]; PAIRS] {
    std::array::from_fn(|i| [2 * i, 2 * i + 1].map(|i| bf16::from_f32(elements[i])))
}

#[test]
fn products_of_bf16() {
    let (mut a, mut b, mut c, mut expected) = (vec![], vec![], vec![], vec![]);
    for warp in 0..WARPS {
        let [am, bm, cm] = [0, 1, 2].map(|i| matrix(3 * warp + i));
        let mut dm = cm;
        for (row, column) in (0..16).flat_map(|row| (0..8).map(move |column| (row, column))) {
            dm[row][column] += (0..16).map(|k| am[row][k] * bm[k][column]).sum::<f32>();
        }
        a.extend(registers::<8>(&am, of_a).map(pairs::<8, 4>));
        b.extend(registers::<4>(&bm, of_b).map(pairs::<4, 2>));
        c.extend(registers::<4>(&cm, of_c));
        expected.extend(registers::<4>(&dm, of_c));
    }
    all_give(&expected, |stream| {
        let (a, b, c) = (upload(stream, &a), upload(stream, &b), upload(stream, &c));
        let mut out = zeros(stream, c.len());
        let kernel = MmaBf16 { a: a.view(), b: b.view(), c: c.view(), out: out.view_mut() };
        launch(stream, line(1, 96), &kernel);
        download(stream, &out)
    });
}

/// Checks a kernel that loads `N` matrices. `place` returns row and column of an element, from the figure for
/// `ldmatrix` in the PTX manual.
macro_rules! check_load {
    ($kernel:ident, $count:literal, $place:expr) => {{
        let place: fn(usize, usize) -> [usize; 2] = $place;
        let input: Vec<u16> = (0..512).map(|i| i * 7 + 1).collect();
        // Neighbouring lanes pass rows that are far apart, and two lanes pass the same row. The lanes that no matrix
        // uses pass no row.
        let mut rows: Vec<u32> = (0..32).map(|lane| lane * 37 % 61).collect();
        rows[3] = rows[2];
        rows[8 * $count..].fill(u32::MAX);
        let expected: Vec<[[u16; 2]; $count]> = (0..LANES)
            .map(|lane| {
                std::array::from_fn(|matrix| {
                    std::array::from_fn(|i| {
                        let [row, column] = place(lane, i);
                        input[rows[8 * matrix + row] as usize * 8 + column]
                    })
                })
            })
            .collect();
        all_give(&expected, |stream| {
            let (input, rows) = (upload(stream, &input), upload(stream, &rows));
            let mut out = zeros(stream, 32);
            let kernel = $kernel { input: input.view(), rows: rows.view(), out: out.view_mut() };
            launch(stream, line(1, 32), &kernel);
            download(stream, &out)
        });
    }};
}

#[test]
fn loads_of_matrices() {
    check_load!(LoadOneMatrix, 1, |lane, i| [lane / 4, lane % 4 * 2 + i]);
    check_load!(LoadTwoMatrices, 2, |lane, i| [lane / 4, lane % 4 * 2 + i]);
    check_load!(LoadFourMatrices, 4, |lane, i| [lane / 4, lane % 4 * 2 + i]);
}

#[test]
fn loads_of_transposed_matrices() {
    check_load!(LoadOneTransposed, 1, |lane, i| [lane % 4 * 2 + i, lane / 4]);
    check_load!(LoadTwoTransposed, 2, |lane, i| [lane % 4 * 2 + i, lane / 4]);
    check_load!(LoadFourTransposed, 4, |lane, i| [lane % 4 * 2 + i, lane / 4]);
}
