//! Tests of asynchronous copies to shared memory.

use conformance::pipeline::*;
use conformance_devices::all_give;
use cust::typed::Image;

use crate::conformance::{download, launch, line, upload, zeros};

macro_rules! check {
    ($kernel:ident, $bytes:literal) => {{
        let per_block = BLOCK as usize * $bytes / 2;
        // The last length ends inside a copy, and the one before between two copies.
        for len in [2 * per_block, per_block + $bytes, per_block + $bytes / 2 + 1] {
            let input: Vec<u16> = (0..len as u16).map(|i| i * 3 + 1).collect();
            let mut expected = input.clone();
            expected.resize(2 * per_block, 0);
            expected.chunks_mut(per_block).for_each(<[u16]>::reverse);
            all_give(&expected, |stream| {
                let input = upload(stream, &input);
                let mut out = zeros(stream, 2 * per_block as u32);
                let kernel = $kernel { input: input.view(), out: out.view_mut() };
                launch(stream, line(2, BLOCK), &kernel);
                download(stream, &out)
            });
        }
    }};
}

#[test]
fn copies_of_every_width() {
    check!(Copy4Bytes, 4);
    check!(Copy8Bytes, 8);
    check!(Copy16Bytes, 16);
}

#[test]
fn several_copies_in_flight() {
    const ROWS: u32 = 11;
    // With 100 columns, the last threads copy zeros.
    for columns in [128, 100] {
        let pixels: Vec<f32> = (0..columns * ROWS).map(|i| (i % 1000) as f32).collect();
        let mut expected: Vec<f32> = (0..columns as usize)
            .map(|x| pixels.iter().skip(x).step_by(columns as usize).sum())
            .collect();
        expected.resize(128, 0.0);
        all_give(&expected, |stream| {
            let input = Image::from_slice(stream, columns, ROWS, &pixels).unwrap();
            let mut out = zeros(stream, 128);
            let kernel = SumColumns { input: input.view(), out: out.view_mut() };
            launch(stream, line(2, BLOCK), &kernel);
            download(stream, &out)
        });
    }
}
