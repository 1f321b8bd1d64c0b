//! Tests heap allocation in kernels. The kernels let collections and strings grow, and the host computes the expected
//! contents.

use std::collections::BTreeSet;

use conformance::heap::Collections;
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

#[test]
fn collections_grow_and_shrink() {
    let input = noise(40);
    let expected: Vec<[u32; 5]> = (0..64)
        .map(|at| {
            let numbers: Vec<u32> = input.iter().take(at).map(|n| n % 10).collect();
            let different: BTreeSet<u32> = numbers.iter().copied().collect();
            let len = numbers.len() as u32;
            // The length of the text: one digit per number, ", " between the numbers, and two brackets.
            let text = len + 2 * len.saturating_sub(1) + 2;
            [len, different.len() as u32, text, numbers.iter().sum(), 1]
        })
        .collect();
    all_give(&expected, |stream| {
        let input = upload(stream, &input);
        let mut out = zeros(stream, 64);
        launch(stream, line(2, 32), &Collections { input: input.view(), out: out.view_mut() });
        download(stream, &out)
    });
}
