//! Tests of `cust::typed`: copies, the order of work in streams, and errors.

use conformance::memory::CopyFours;
use conformance_devices::{devices, gpu};
use cust::typed::{
    Buffer, Device, ErrorKind, Event, Image, LaunchConfig, Pinned, Priority, Stream,
};

use crate::conformance::noise;

/// A block of `CopyFours`.
const BLOCK: [u32; 2] = [32, 8];

#[test]
fn images_come_back_as_they_went() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for (width, height) in [(1, 1), (1, 7), (3, 1), (64, 64), (65, 63), (1000, 3)] {
            let elements: Vec<u16> = noise(width * height).iter().map(|&n| n as u16).collect();
            for padding in [0, 2, 6, 250] {
                let pitch = u64::from(width) * 2 + padding;
                let mut image = Image::with_pitch(&device, width, height, pitch).unwrap();
                assert!(image.download(&stream).unwrap().iter().all(|&e| e == 0), "zero at first");
                image.upload(&stream, &elements).unwrap();
                assert_eq!(
                    image.download(&stream).unwrap(),
                    elements,
                    "{width}×{height}+{padding}"
                );
            }
        }
        let numbers = [1.5_f32, -2.0, f32::INFINITY];
        let buffer = Buffer::from_slice(&stream, &numbers).unwrap();
        assert_eq!(buffer.download(&stream).unwrap(), numbers);
        let mut pinned = Pinned::<u64>::new(&device, 1000).unwrap();
        assert!(pinned.iter().all(|&n| n == 0));
        pinned[999] = 7;
        assert_eq!(pinned[999], 7);
    }
}

#[test]
fn images_are_copied_whatever_their_pitch() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let elements: Vec<u16> = (0..7 * 5).collect();
        let from = Image::from_slice(&stream, 7, 5, &elements).unwrap();
        let mut to = Image::with_pitch(&device, 7, 5, 14).unwrap();
        to.copy_from(&stream, &from).unwrap();
        assert_eq!(to.download(&stream).unwrap(), elements);
        let mut other = Image::<u16>::new(&device, 5, 7).unwrap();
        let error = other.copy_from(&stream, &from).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::SizeMismatch { .. }), "{error}");
    }
}

#[test]
fn sizes_that_cannot_be_are_errors() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let impossible = |result: Result<_, cust::typed::DeviceError>| {
            let error = result.map(|_: Image<u32>| ()).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::ImpossibleSize(_)), "{error}");
            assert_eq!(error.location.file(), file!(), "errors are located at the caller");
        };
        impossible(Image::new(&device, 0, 5));
        impossible(Image::new(&device, 5, 0));
        impossible(Image::new(&device, u32::MAX, u32::MAX));
        impossible(Image::with_pitch(&device, 5, 5, 19));
        impossible(Image::with_pitch(&device, 5, 5, 22));
        impossible(Image::with_pitch(&device, 5, 5, 1 << 33));
        let mut image = Image::<u32>::new(&device, 5, 5).unwrap();
        let error = image.upload(&stream, &[0; 24]).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::SizeMismatch { .. }), "{error}");
        let error = image.download_to(&stream, &mut [0; 26]).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::SizeMismatch { .. }), "{error}");
    }
}

#[test]
fn running_out_of_memory_leaves_a_working_device() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let error = Image::<u32>::with_pitch(&gpu, 1 << 30, 1000, 1 << 32).unwrap_err();
    assert!(!error.is_fatal(), "{error}");
    let error = Image::<u8>::new(&gpu, 1 << 31, 1 << 16).unwrap_err();
    match &error.kind {
        ErrorKind::Cuda { code, name, .. } => {
            assert_eq!((*code, name.as_str()), (2, "CUDA_ERROR_OUT_OF_MEMORY"));
        }
        kind => panic!("{kind}"),
    }
    assert!(!error.is_fatal() && gpu.is_healthy());
    let image = Image::from_slice(&stream, 2, 1, &[1_u8, 2]).unwrap();
    assert_eq!(image.download(&stream).unwrap(), [1, 2]);
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let error = Device::cuda(4_000_000).unwrap_err();
    assert!(error.is_no_device(), "{error}");
    assert!(!error.is_fatal());
    assert_eq!(error.location.file(), file!());
}

#[test]
fn memory_of_another_device_is_refused() {
    let Some(gpu) = gpu() else { return };
    let cpu = Device::cpu();
    let (stream, other) = (cpu.stream().unwrap(), gpu.stream().unwrap());
    let image = Image::<f32>::new(&gpu, 4, 4).unwrap();
    let error = image.download(&stream).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::WrongDevice { .. }), "{error}");
    let event = Event::new(&gpu).unwrap();
    assert!(event.record(&stream).is_err());
    assert!(stream.wait(&event).is_err());
    let (mut out, input) =
        (Image::<u8>::new(&cpu, 4, 4).unwrap(), Image::<u8>::new(&gpu, 4, 4).unwrap());
    let kernel = CopyFours { input: input.view(), out: out.view_mut() };
    for stream in [&stream, &other] {
        let error = stream.launch(&LaunchConfig::cover(4, 4, BLOCK), &kernel).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Launch(_)), "{error}");
    }
}

#[test]
fn events_order_two_streams_and_take_time() {
    for device in devices() {
        let first = device.stream().unwrap();
        let second = Stream::new(&device, Priority::High).unwrap();
        let (start, end) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
        assert!(end.since(&start).is_err(), "nothing was recorded");
        let (w, h) = (8000, 1000);
        let mut input = Image::<u8>::new(&device, w, h).unwrap();
        let mut out = Image::<u8>::new(&device, w, h).unwrap();
        for round in 1..20 {
            input.upload(&first, &vec![round; 8_000_000]).unwrap();
            start.record(&first).unwrap();
            second.wait(&start).unwrap();
            let kernel = CopyFours { input: input.view(), out: out.view_mut() };
            second.launch(&LaunchConfig::cover(w / 4, h, BLOCK), &kernel).unwrap();
            end.record(&second).unwrap();
            first.wait(&end).unwrap();
            // Bytes of the round before would show that the kernel ran before the upload, or after the download.
            let copied = out.download(&first).unwrap();
            assert!(copied.iter().all(|&byte| byte == round), "round {round}");
        }
        assert!(end.is_done().unwrap());
        end.synchronize().unwrap();
        assert!(end.since(&start).unwrap().as_nanos() > 0);
    }
}
