//! Checks that after a fatal error on a GPU, every later call on it fails without calling the driver, and that the CPU
//! device still works. The test runs in its own process, because it loses the GPU.

use conformance::faults::TrapAt;
use conformance_devices::gpu;
use cust::typed::{Device, ErrorKind, Event, Image, LaunchConfig};
use kit_tests::alone::alone;

#[test]
fn a_kernel_that_traps_loses_the_gpu_and_nothing_else() {
    alone(a_kernel_that_traps_loses_the_gpu_and_nothing_else, || {
        let Some(gpu) = gpu() else { return };
        let stream = gpu.stream().unwrap();
        let image = Image::from_slice(&stream, 2, 1, &[1_u8, 2]).unwrap();
        let event = Event::new(&gpu).unwrap();
        assert!(gpu.is_healthy());

        stream.launch(&LaunchConfig::cover(64, 1, [64, 1]), &TrapAt { guilty: 5 }).unwrap();
        let error = stream.synchronize().unwrap_err();
        assert!(error.is_fatal(), "{error}");
        assert!(matches!(error.kind, ErrorKind::Cuda { .. }), "{error}");
        assert_eq!(error.location.file(), file!());
        assert!(!gpu.is_healthy());

        // After the fatal error, every operation must fail without calling the driver.
        let lost = |result: Result<(), cust::typed::DeviceError>| {
            let error = result.unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Lost(_)) && error.is_fatal(), "{error}");
        };
        lost(stream.synchronize());
        lost(stream.launch(&LaunchConfig::cover(64, 1, [64, 1]), &TrapAt { guilty: 99 }));
        lost(image.download(&stream).map(drop));
        lost(Image::<u8>::new(&gpu, 2, 1).map(drop));
        lost(event.record(&stream));
        lost(gpu.stream().map(drop));
        drop((event, image, stream));

        let cpu = Device::cpu().stream().unwrap();
        let image = Image::from_slice(&cpu, 2, 1, &[1_u8, 2]).unwrap();
        assert_eq!(image.download(&cpu).unwrap(), [1, 2]);
    });
}
