//! Tests of byte slices in kernels: comparing, copying, filling and moving.

use conformance::bytes::{BYTES, CompareBytes, MoveBytes};
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Returns arrays of random bytes. About half of the bytes are over 127, which a signed comparison would order wrongly.
fn arrays() -> Vec<[u8; BYTES]> {
    let bytes: Vec<u8> = noise(BYTES as u32 * 64).iter().map(|&n| n as u8).collect();
    bytes.chunks_exact(BYTES).map(|chunk| chunk.try_into().unwrap()).collect()
}

#[test]
fn comparisons_find_the_first_difference() {
    let a = arrays();
    let mut b = a.clone();
    for (at, array) in b.iter_mut().enumerate().skip(1) {
        array[at % BYTES] ^= 1 << (at % 8);
    }
    for n in [0, 1, 7, 8, 39, 40] {
        let expected: Vec<[i32; 2]> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| match (0..n).find(|&i| a[i] != b[i]) {
                None => [1, 0],
                Some(i) => [0, if a[i] < b[i] { -1 } else { 1 }],
            })
            .collect();
        all_give(&expected, |stream| {
            let (a, b) = (upload(stream, &a), upload(stream, &b));
            let mut out = zeros(stream, a.len());
            let (a, b, out_view) = (a.view(), b.view(), out.view_mut());
            launch(stream, line(1, 64), &CompareBytes { a, b, out: out_view, n: n as u32 });
            download(stream, &out)
        });
    }
}

#[test]
fn moves_may_overlap() {
    let input = arrays();
    for n in [0, 1, 20, 39] {
        let expected: Vec<[u8; BYTES]> = input
            .iter()
            .map(|array| {
                let mut moved: [u8; BYTES] = std::array::from_fn(|i| match i + n {
                    from if from < BYTES => array[from],
                    from => array[2 * BYTES - 1 - from - (BYTES - n)],
                });
                moved[BYTES - 1] = 7;
                moved
            })
            .collect();
        all_give(&expected, |stream| {
            let input = upload(stream, &input);
            let mut out = zeros(stream, input.len());
            let (input, out_view) = (input.view(), out.view_mut());
            launch(stream, line(1, 64), &MoveBytes { input, out: out_view, n: n as u32 });
            download(stream, &out)
        });
    }
}
