//! Checks that a block of exactly the size of the launch bounds runs, and that a launch with a larger block fails.

use conformance::bounds::*;
use conformance_devices::{all_give, on_each_device};
use cuda_std::launch::{Kernel, LaunchBounds};
use cust::typed::Stream;

use crate::conformance::{download, line, zeros};

macro_rules! check {
    ($kernel:ident, $max_threads:literal, $min_blocks:literal) => {{
        let expected =
            LaunchBounds { max_threads: $max_threads, min_blocks: $min_blocks, block_multiple: 1 };
        assert_eq!($kernel::ENTRY.bounds, expected, "{}", $kernel::ENTRY.name);
        let run = |block: u32| {
            move |stream: &Stream| {
                let mut out = zeros(stream, 1);
                let kernel = $kernel { out: out.view_mut() };
                let launched = stream.launch(&line(2, block), &kernel);
                (launched.is_ok(), download(stream, &out))
            }
        };
        all_give(&(true, vec![2 * $max_threads]), run($max_threads));
        all_give(&(false, vec![0]), run($max_threads + 1));
        on_each_device(|stream| {
            if let Some(resources) = stream.device().kernel_resources($kernel::ENTRY.name).unwrap()
            {
                assert_eq!(resources.max_threads, $max_threads, "{}", $kernel::ENTRY.name);
            }
        });
    }};
}

#[test]
fn bounds_of_every_form() {
    check!(BoundsNone, 1024, 0);
    check!(BoundsEmpty, 1024, 0);
    check!(Bounds1, 1, 0);
    check!(Bounds96, 96, 0);
    check!(Bounds1288, 128, 8);
    check!(Bounds10241, 1024, 1);
}
