//! Tests of the machine properties that a kernel can query, and of printing in kernels.

use conformance::machine::{Machine, Speak};
use conformance_devices::{all_give, on_each_device};

use crate::conformance::{download, launch, line, zeros};

#[test]
fn facts_of_the_machine() {
    all_give(&vec![1, 1], |stream| {
        let mut out = zeros(stream, 2);
        launch(stream, line(1, 32), &Machine { out: out.view_mut() });
        download(stream, &out)
    });
}

/// Checks that the launch succeeds on every device. The tests of `cuda_std` check the printed text.
#[test]
fn kernels_print() {
    on_each_device(|stream| {
        launch(stream, line(1, 2), &Speak { to: 3 });
        stream.synchronize().unwrap();
    });
}
