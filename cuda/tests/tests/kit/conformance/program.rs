//! Random programs give the same bytes on every device as an interpreter that executes each instruction for all
//! threads before the next one.

use conformance::program::{BLOCK, OPERATIONS, Program, REGISTERS};

use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// The number of blocks of each program.
const BLOCKS: u32 = 3;

/// The number of elements to which all threads add.
const SUMS: u32 = 37;

/// Executes a program for all threads in lockstep. Returns the sums and the registers.
fn interpret(code: &[u32], seed: u32) -> (Vec<u32>, Vec<[u32; REGISTERS]>) {
    let mut sums = vec![0_u32; SUMS as usize];
    let start = |at: u32| [at, at.wrapping_mul(0x9e37_79b9), at / BLOCK, seed];
    let mut threads: Vec<_> = (0..BLOCKS * BLOCK).map(start).collect();
    for word in code {
        let (a, b) = ((word >> 4 & 3) as usize, (word >> 6 & 3) as usize);
        let number = word >> 8;
        let before = threads.clone();
        for (at, registers) in threads.iter_mut().enumerate() {
            let (x, y) = (before[at][a], before[at][b]);
            let warp = &before[at & !31..][..32];
            let block = &before[at / 64 * 64..][..64];
            registers[a] = match word & 15 {
                0 => x.wrapping_add(y).wrapping_add(number),
                1 => x.wrapping_mul(y | 1),
                2 => x ^ (y >> (number % 31 + 1)),
                3 => x.rotate_left(number % 32).wrapping_sub(y),
                4 => ((f64::from(x as u16) * 1.5 + f64::from(y as u16)) as f32).to_bits(),
                5 => [x.wrapping_add(number), x ^ number][(x & 1) as usize],
                6 => block[(at + number as usize) % 64][a],
                7 => x ^ warp[(at ^ number as usize) % 32][b],
                8 => warp.iter().rev().fold(0, |votes, lane| (votes << 1) | (lane[b] & 1)) ^ x,
                9 => {
                    let sum = &mut sums[(x % SUMS) as usize];
                    *sum = sum.wrapping_add(y);
                    x
                }
                10 => warp.iter().fold(x, |sum, lane| sum.wrapping_add(lane[b])),
                11 => {
                    let mut sum = y;
                    for turn in 0..x % 8 {
                        sum = sum.wrapping_mul(5).wrapping_add(number ^ turn);
                    }
                    sum
                }
                12 => ((u128::from(x) * u128::from(y)) >> 32) as u32,
                13 => y.count_ones() + y.leading_zeros() + number,
                14 => x / (y | 1),
                _ => {
                    // A square root and a quotient in f64 round to the correctly rounded f32 (Figueroa, 1995).
                    let root = f64::from(f64::from(x as f32).sqrt() as f32);
                    ((root / f64::from((y >> 8) as f32 + 1.0)) as f32).to_bits()
                }
            };
        }
    }
    (sums, threads)
}

#[test]
fn thousands_of_random_programs_give_the_bytes_of_an_interpreter() {
    let mut words = noise(2000 * 64).into_iter();
    let programs: Vec<Vec<u32>> =
        (0..2000).map(|i| words.by_ref().take(8 + i % 56).collect()).collect();
    let seen = programs.iter().flatten().fold(0, |seen, word| seen | 1_u32 << (word & 15));
    assert_eq!(seen.count_ones(), OPERATIONS);
    let expected: Vec<_> = (7..).zip(&programs).map(|(seed, code)| interpret(code, seed)).collect();
    all_give(&expected, |stream| {
        let run = |(seed, code): (u32, &Vec<u32>)| {
            let code = upload(stream, code);
            let mut sums = zeros(stream, SUMS);
            let mut out = zeros(stream, BLOCKS * BLOCK);
            let (code, sums_view) = (code.view(), sums.view_mut());
            let kernel = Program { code, seed, sums: sums_view, out: out.view_mut() };
            launch(stream, line(BLOCKS, BLOCK), &kernel);
            (download(stream, &sums), download(stream, &out))
        };
        (7..).zip(&programs).map(run).collect::<Vec<_>>()
    });
}
