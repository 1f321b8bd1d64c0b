//! Deliberate faults that compute-sanitizer must find on a GPU, one fault for each tool of compute-sanitizer. If a tool
//! misses its fault, the tool's clean report about other kernels proves nothing.
//!
//! A normal test run ignores these tests. `run.sh sanitize` of the bundle runs each test under its tool, and expects
//! that the tool reports an error. The result of the launch itself does not matter.

use conformance::faults::{RaceWithoutBarrier, SliceStore, SyncOutsideMask};
use conformance::memory::CopyU32;
use conformance_devices::CONFORMANCE_MODULE;
use cuda_std::launch::{Kernel, LaunchConfig, Place};
use cuda_std::{DeviceSlice, DeviceSliceMut};
use cust::context::Context;
use cust::device::Device as Gpu;
use cust::sys;
use cust::typed::{Buffer, Device, Stream};

const CONFIG: LaunchConfig = LaunchConfig::cover(64, 1, [64, 1]);

fn stream() -> Stream {
    Device::cuda_with(0, &[CONFORMANCE_MODULE]).unwrap().stream().unwrap()
}

fn launch<K: Kernel>(stream: &Stream, kernel: &K) {
    // SAFETY: this launch is deliberately unsound. The undefined behaviour is limited to the GPU, and the process ends
    // after the launch.
    let launched = unsafe { stream.launch_unchecked(&CONFIG, kernel) };
    println!("{:?}, {:?}", launched, stream.synchronize());
}

#[test]
#[ignore = "a fault for memcheck"]
fn memcheck() {
    let stream = stream();
    let mut buffer = Buffer::<u32>::new(stream.device(), 64).unwrap();
    launch(&stream, &SliceStore { slice: buffer.view_mut(), guilty: 3, i: 1 << 20 });
}

#[test]
#[ignore = "a fault for racecheck"]
fn racecheck() {
    let stream = stream();
    let mut out = Buffer::<u32>::new(stream.device(), 64).unwrap();
    launch(&stream, &RaceWithoutBarrier { out: out.view_mut(), lane_mask: 32 });
}

#[test]
#[ignore = "a fault for initcheck"]
fn initcheck() {
    let stream = stream();
    let mut out = Buffer::<u32>::new(stream.device(), 64).unwrap();
    let context = Context::new(Gpu::get_device(0).unwrap()).unwrap();
    let mut address = 0;
    // SAFETY: `cuMemAlloc_v2` allocates 64 elements at `address` in the device's primary context, which is current.
    // The allocation is never freed.
    let input = unsafe {
        sys::cuCtxSetCurrent(context.as_raw()).to_result().unwrap();
        sys::cuMemAlloc_v2(&raw mut address, 64 * 4).to_result().unwrap();
        let elements = std::ptr::with_exposed_provenance(address as usize);
        DeviceSlice::<u32>::new(Place::Cuda(0), elements, 64)
    };
    let out: DeviceSliceMut<'_, u32> = out.view_mut();
    launch(&stream, &CopyU32 { input, out });
}

#[test]
#[ignore = "a fault for synccheck"]
fn synccheck() {
    launch(&stream(), &SyncOutsideMask { guilty: 5 });
}
