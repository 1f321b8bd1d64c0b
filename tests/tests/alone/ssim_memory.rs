//! Checks that a [`Comparer`] frees its memory, even with a result in flight. The test runs in its own process, because
//! [`Counters`](panoweave::device::Counters) cover the whole process.

use glam::uvec2;
use panoweave::device::Image;
use panoweave::ops::ssim::{Compared, Comparer};
use panoweave_tests::alone::{alone, objects};
use panoweave_tests::panoweave_devices;

#[test]
fn a_thousand_comparers_leave_nothing() {
    alone(a_thousand_comparers_leave_nothing, || {
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let size = uvec2(32, 20);
            let image: Image<u8> = Image::new(&device, size.x, size.y).unwrap();
            let before = objects();
            for i in 0..1000 {
                let mut comparer = Comparer::new(&device, size, 2).unwrap();
                comparer
                    .submit(&stream, Compared::Luma8(image.view(), image.view()), None)
                    .unwrap();
                // Take the result only in even rounds, so that the other comparers are dropped with a result in flight.
                if i % 2 == 0 {
                    assert_eq!(comparer.take().unwrap().unwrap().ssim, 1.0);
                }
            }
            assert_eq!(objects(), before, "{device}");
        }
    });
}
