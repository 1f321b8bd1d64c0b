//! Checks that launches in a stream take effect in order, even if a GPU starts a kernel before the previous kernel has
//! ended.

use conformance::order::{Shifted, ShiftedLate};
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// The number of blocks: enough to occupy many multiprocessors of a GPU, and few enough for the CPU to be fast.
const BLOCKS: u32 = 300;
const BLOCK: u32 = 256;
const SHIFT: u32 = 12_345;

#[test]
fn launches_see_what_the_ones_before_wrote() {
    const LAUNCHES: u32 = 60;
    let first = noise(BLOCKS * BLOCK).into_iter().map(|n| n >> 8).collect::<Vec<_>>();
    let len = first.len();
    let expected: Vec<u32> = (0..len)
        .map(|i| first[(i + LAUNCHES as usize * SHIFT as usize) % len] + LAUNCHES)
        .collect();
    all_give(&expected, |stream| {
        let mut a = upload(stream, &first);
        let mut b = zeros(stream, len as u32);
        for i in 0..LAUNCHES {
            let (input, out) = (a.view(), b.view_mut());
            // Launch the kernels in the order A, A, B, B, so that each kernel follows itself and the other kernel.
            if i % 4 < 2 {
                let kernel = Shifted { input, shift: SHIFT, out };
                launch(stream, line(BLOCKS, BLOCK), &kernel);
            } else {
                let kernel = ShiftedLate { input, shift: SHIFT, out };
                launch(stream, line(BLOCKS, BLOCK), &kernel);
            }
            std::mem::swap(&mut a, &mut b);
        }
        download(stream, &a)
    });
}
