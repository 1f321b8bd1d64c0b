//! Checks that every object created on a device is freed, no matter which thread drops it.
//!
//! [`Counters`] cover the whole process, so this test runs in its own process.

use glam::Vec4;
use panoweave::device::{
    Address, Array, Counters, Device, Event, Filter, Image, Pinned, Texture, TextureMode,
};
use panoweave_tests::alone::alone;
use panoweave_tests::panoweave_devices;
use shared_types::Rgba8;

#[test]
fn everything_is_given_back() {
    alone(everything_is_given_back, || {
        /// Creates and uses one object of each kind.
        fn use_all(device: &Device) {
            let stream = device.stream().unwrap();
            let pixels = [Rgba8::opaque(1, 2, 3); 64 * 4];
            let image = Image::from_slice(&stream, 64, 4, &pixels).unwrap();
            let mut array = Array::<Rgba8>::new(device, 64, 4).unwrap();
            array.copy_from(&stream, &image).unwrap();
            let mode = TextureMode { filter: Filter::Linear, address: Address::Clamp };
            let _over_image = Texture::<Vec4>::of_image(&image, mode).unwrap();
            let _over_array = Texture::<Vec4>::of_array(&array, mode).unwrap();
            let event = Event::new(device).unwrap();
            event.record(&stream).unwrap();
            let _pinned = Pinned::<u8>::new(device, 4096).unwrap();
            event.synchronize().unwrap();
        }
        for device in panoweave_devices() {
            let rounds = if device.cuda_info().is_some() { 1000 } else { 50 };
            use_all(&device);
            let before = Counters::now();
            for _ in 0..rounds {
                use_all(&device);
            }
            let foreign = device.clone();
            std::thread::spawn(move || use_all(&foreign)).join().unwrap();
            // Create objects on this thread and drop them on another thread.
            let stream = device.stream().unwrap();
            let image = Image::from_slice(&stream, 2, 1, &[1_u8, 2]).unwrap();
            std::thread::spawn(move || drop((image, stream))).join().unwrap();
            assert_eq!(Counters::now(), before, "{device}");
        }
    });
}
