//! Tests the typed interface: asynchronous copies, and handles shared with other libraries.
//!
//! Most tests run on the CPU and on the first GPU. Without a GPU, such a test prints a line and
//! runs on the CPU only. Some tests need a GPU or run only on the CPU.

use cuda_std::DeviceSlice;
use cuda_std::launch::DevicePointer;
use cuda_std::prelude::*;
use cust::typed::{
    Buffer, Device, DeviceError, ErrorKind, Event, Image, LaunchConfig, Pinned, Place, Priority,
    Stream,
};
use cust_raw::driver_sys as sys;

/// Doubles every element.
#[kernel(dims(1))]
pub fn double(input: Slice<u32>, out: SliceMut<u32>) {
    let i = thread::unique_1d();
    if let Some(value) = input.get(i) {
        out.set(i, 2 * value);
    }
}

/// Runs a test on the CPU, and on a GPU if there is one. No kernels are loaded on the GPU.
fn on_each_device(test: impl Fn(&Device) -> Result<(), DeviceError>) {
    test(&Device::cpu()).expect("the CPU");
    match Device::cuda_with(0, &[]) {
        Ok(gpu) => test(&gpu).expect("the GPU"),
        Err(error) => println!("SKIPPED on a GPU: {error}"),
    }
}

fn is_gpu(device: &Device) -> bool {
    device.place() != Place::Cpu
}

fn pinned(device: &Device, elements: &[u32]) -> Result<Pinned<u32>, DeviceError> {
    let mut pinned = Pinned::new(device, elements.len())?;
    pinned.copy_from_slice(elements);
    Ok(pinned)
}

#[test]
fn copies_own_their_host_memory_until_they_are_done() {
    on_each_device(|device| {
        let stream = device.stream()?;
        let elements: Vec<u32> = (0..100_000).collect();
        let mut buffer = Buffer::new(device, 100_000)?;
        let upload = buffer.upload_async(&stream, pinned(device, &elements)?)?;
        let download = buffer.download_async(&stream, Pinned::new(device, 100_000)?)?;
        assert!(download.wait()?[..] == elements);
        assert!(upload.is_done()?, "the stream ran it before the download");
        let memory = upload.wait()?;

        let mut image = Image::new(device, 1000, 100)?;
        drop(image.upload_async(&stream, memory)?);
        let download = image.download_async(&stream, Pinned::new(device, 100_000)?)?;
        assert!(download.wait()?[..] == elements);
        // A forgotten copy leaks its memory, so the device never writes to freed memory.
        std::mem::forget(buffer.download_async(&stream, Pinned::new(device, 100_000)?)?);
        stream.synchronize()
    });
}

#[test]
fn copies_check_their_length() {
    on_each_device(|device| {
        let stream = device.stream()?;
        let error = Buffer::<u32>::from_slice(&stream, &[]).expect_err("no elements");
        assert!(matches!(error.kind, ErrorKind::ImpossibleSize(_)), "{error}");
        let mut buffer = Buffer::from_slice(&stream, &[1_u32, 2])?;
        let other = Buffer::<u32>::new(device, 3)?;
        let three = pinned(device, &[1, 2, 3])?;
        for result in [
            buffer.upload(&stream, &[1, 2, 3]),
            buffer.copy_from(&stream, &other),
            buffer.upload_async(&stream, three).map(drop),
            buffer.download_async(&stream, Pinned::new(device, 5)?).map(drop),
        ] {
            let error = result.expect_err("another length");
            assert!(matches!(error.kind, ErrorKind::SizeMismatch { .. }), "{error}");
        }
        buffer.clear(&stream)?;
        assert_eq!(buffer.download(&stream)?, [0, 0]);
        Ok(())
    });
}

#[test]
fn a_buffer_releases_and_takes_ownership() {
    on_each_device(|device| {
        let stream = device.stream()?;
        let buffer = Buffer::from_slice(&stream, &[1_u32, 2, 3])?;
        let address = buffer.as_device_ptr();
        let pointer = buffer.into_raw();
        assert_eq!(pointer, address);
        // SAFETY: `pointer` comes from `into_raw` of a buffer with 3 elements.
        let buffer = unsafe { Buffer::from_raw(device, pointer, 3) }?;
        assert_eq!(buffer.download(&stream)?, [1, 2, 3]);
        let pointer = buffer.into_raw();
        // SAFETY: the call fails because the length is 0, so it does not take ownership of the
        // memory.
        let error = unsafe { Buffer::<u32>::from_raw(device, pointer, 0) };
        assert!(matches!(error.expect_err("no elements").kind, ErrorKind::ImpossibleSize(_)));
        // SAFETY: `pointer` comes from `into_raw` of a buffer with 3 elements.
        drop(unsafe { Buffer::from_raw(device, pointer, 3) }?);
        Ok(())
    });
}

#[test]
fn streams_and_events_of_others_are_used_and_not_destroyed() {
    on_each_device(|device| {
        let own = Stream::new(device, Priority::High)?;
        assert_eq!(own.as_raw().is_null(), !is_gpu(device));
        let borrow = || {
            // SAFETY: `own` belongs to `device` and outlives the returned stream.
            unsafe { Stream::from_raw(device, own.as_raw()) }
        };
        let buffer = Buffer::from_slice(&borrow(), &[4_u32, 5])?;
        assert_eq!(buffer.download(&borrow())?, [4, 5]);
        let event = Event::new(device)?;
        event.record(&borrow())?;
        own.wait(&event)?;
        assert_eq!(event.as_raw().is_null(), !is_gpu(device));
        own.synchronize()
    });
}

#[test]
fn kernels_read_memory_of_others() -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let theirs = [1_u32, 2, 3, 4];
    // SAFETY: `theirs` stays alive and unchanged until the launch is done.
    let input = unsafe { DeviceSlice::from_raw_parts(device.place(), theirs.as_ptr(), 4) };
    let mut out = Buffer::<u32>::new(&device, 4)?;
    let double = Double { input, out: out.view_mut() };
    stream.launch(&LaunchConfig::for_1d(4, 32), &double)?;
    assert_eq!(out.download(&stream)?, [2, 4, 6, 8]);
    Ok(())
}

/// Creates a context, a stream and an allocation with raw driver calls, as another library would.
/// Checks that `Device`, `Stream` and `Buffer` can use them, and that dropping the device and the
/// stream does not destroy the context and the raw stream.
#[test]
fn a_context_of_others_is_a_device() -> Result<(), DeviceError> {
    assert!(Device::cpu().as_context().is_null());
    if let Err(error) = Device::cuda_with(0, &[]) {
        println!("SKIPPED: {error}");
        return Ok(());
    }
    let (mut context, mut stream, mut address) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    // SAFETY: the driver is initialised and writes its results to local variables. The new context
    // stays current until the last call, which pops it.
    let codes = unsafe {
        [
            sys::cuCtxCreate_v2(&raw mut context, 0, 0),
            sys::cuStreamCreateWithPriority(&raw mut stream, sys::CU_STREAM_NON_BLOCKING, 0),
            sys::cuMemAlloc_v2(&raw mut address, 1024),
            sys::cuMemsetD8_v2(address, 1, 1024),
            // Waits for the fill. The fill runs on the default stream, for which the new stream
            // does not wait.
            sys::cuCtxSynchronize(),
            sys::cuCtxPopCurrent_v2(&raw mut context),
        ]
    };
    assert_eq!(codes, [sys::CUresult::CUDA_SUCCESS; 6]);
    {
        // SAFETY: `context` and `stream` are destroyed after this block, which drops all objects
        // that use them. The buffer takes ownership of the allocation, and nothing else uses the
        // allocation.
        let (device, stream, buffer) = unsafe {
            let device = Device::from_context(context)?;
            let stream = Stream::from_raw(&device, stream);
            let buffer = Buffer::from_raw(&device, DevicePointer::<u32>::from_raw(address), 256)?;
            (device, stream, buffer)
        };
        assert_eq!(device.as_context(), context);
        assert_eq!(device.place(), Place::Cuda(0));
        assert!(buffer.download(&stream)?.iter().all(|&word| word == 0x0101_0101));
    }
    // SAFETY: nothing uses the stream and the context any more. Dropping the wrappers `Stream` and
    // `Device` did not destroy them.
    let codes = unsafe { [sys::cuStreamDestroy_v2(stream), sys::cuCtxDestroy_v2(context)] };
    assert_eq!(codes, [sys::CUresult::CUDA_SUCCESS; 2]);
    Ok(())
}

/// Copies a buffer of 4.7 GiB to the GPU, to another buffer and back. The driver limits the pitch
/// of a copy to 2 GiB, but not the size of a buffer.
#[test]
fn a_buffer_may_be_larger_than_a_pitch() -> Result<(), DeviceError> {
    let device = match Device::cuda_with(0, &[]) {
        Ok(device) => device,
        Err(error) => {
            println!("SKIPPED: {error}");
            return Ok(());
        }
    };
    let stream = device.stream()?;
    let mut elements = vec![0_u64; 600 << 20];
    (elements[0], elements[(600 << 20) - 1]) = (1, 2);
    let first = Buffer::from_slice(&stream, &elements)?;
    let mut second = Buffer::<u64>::new(&device, first.len())?;
    second.copy_from(&stream, &first)?;
    assert!(second.download(&stream)? == elements);
    Ok(())
}

#[test]
fn the_debug_form_of_an_error_is_its_message() {
    let error = Buffer::<u32>::new(&Device::cpu(), 0).expect_err("no elements");
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().contains("allocating a buffer failed at"), "{error}");
}
