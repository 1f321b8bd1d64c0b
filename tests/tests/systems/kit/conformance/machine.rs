//! Tests of the machine properties that a kernel can query, and of printing in kernels.

use conformance::machine::{Machine, Speak};
use conformance_devices::{all_give, on_each_device};
use panoweave::device::LaunchConfig;

use crate::kit::conformance::{download, launch, line, zeros};

#[test]
fn facts_of_the_machine() {
    for dynamic_shared in [0, 48, 1024] {
        let expected = vec![dynamic_shared, 1, 1, 0, 0, 1, 1, 1, 1, 1];
        all_give(&expected, |stream| {
            let mut out = zeros(stream, 10);
            let config = LaunchConfig { grid: [1, 1, 1], block: [32, 1, 1], dynamic_shared };
            launch(stream, config, &Machine { out: out.view_mut() });
            download(stream, &out)
        });
    }
}

/// Checks that the launch succeeds on every device. The tests of `cuda_std` check the printed text.
#[test]
fn kernels_print() {
    on_each_device(|stream| {
        launch(stream, line(1, 2), &Speak { to: 3 });
        stream.synchronize().unwrap();
    });
}
