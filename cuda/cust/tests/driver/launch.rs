//! Tests launches by name: arguments, grid and block sizes, and the errors of invalid launches.

use cuda_std::cpu::FaultKind;
use cust::error::{CudaError, last_fault};
use cust::launch;
use cust::memory::{DeviceBox, DeviceBuffer};
use cust::util::SliceExt;

use crate::{cpu, module, stream};

#[test]
fn a_launch_passes_slices_pointers_and_values() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let (a, b) = ([1.0_f32, 2.0, 3.0].as_dbuf(), [10.0_f32, 20.0, 30.0].as_dbuf());
    let (a, b) = (a.expect("memory"), b.expect("memory"));
    let sum = DeviceBuffer::<f32>::zeroed(3).expect("memory");
    let add = module.get_function("add").expect("a kernel");
    // SAFETY: the kernel checks its index against the length of the slices, which have the same
    // length.
    unsafe {
        launch!(add<<<2, 2, 0, stream>>>(
            a.as_device_ptr(),
            a.len(),
            b.as_device_ptr(),
            b.len(),
            sum.as_device_ptr(),
        ))
    }
    .expect("the kernel runs");
    assert_eq!(sum.as_host_vec().expect("copied"), [11.0, 22.0, 33.0]);

    let plus = DeviceBox::new(&0.5_f32).expect("memory");
    // SAFETY: the kernel writes only elements of `sum`, and reads the one value in `plus`.
    unsafe {
        launch!(module.scale<<<1, 3, 0, stream>>>(
            2.0_f32,
            plus.as_device_ptr(),
            sum.as_device_ptr(),
            sum.len()
        ))
    }
    .expect("the kernel runs");
    assert_eq!(sum.as_host_vec().expect("copied"), [22.5, 44.5, 66.5]);
}

#[test]
fn grids_and_blocks_have_three_dimensions() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let place = module.get_function("place").expect("a kernel");
    let places = |size: [u32; 3]| {
        let [x, y, z] = size;
        let all =
            (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
        all.collect::<Vec<_>>()
    };
    let out = DeviceBuffer::<[u32; 3]>::zeroed(4 * 6 * 8).expect("memory");
    let at = out.as_device_ptr();
    let check = |size: [u32; 3]| {
        let all = out.as_host_vec().expect("copied");
        assert_eq!(all[..places(size).len()], places(size)[..]);
    };
    // SAFETY: the buffer has at least one element for each thread of this launch.
    unsafe { launch!(place<<<(2, 3, 4), (2, 2, 2), 0, stream>>>(at)) }.expect("tuples");
    check([4, 6, 8]);
    // SAFETY: the buffer has at least one element for each thread of this launch.
    unsafe { launch!(place<<<(3, 2), (1, 2), 0, stream>>>(at)) }.expect("pairs");
    check([3, 4, 1]);
    // SAFETY: the buffer has at least one element for each thread of this launch.
    unsafe { launch!(place<<<3, 2, 0, stream>>>(at)) }.expect("numbers");
    check([6, 1, 1]);
}

#[test]
fn dynamic_shared_memory_has_the_requested_size() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let data = [0_u32, 1, 2, 3, 4, 5, 6, 7].as_dbuf().expect("memory");
    // SAFETY: the launch has eight threads, and the buffer has eight elements.
    unsafe { launch!(module.reverse<<<2, 4, 16, stream>>>(data.as_device_ptr())) }
        .expect("the kernel runs");
    assert_eq!(data.as_host_vec().expect("copied"), [3, 2, 1, 0, 7, 6, 5, 4]);
    // SAFETY: the launch has eight threads, and the buffer has eight elements. The dynamic shared
    // memory is too small for the block, and the CPU detects the out-of-bounds access.
    let small = unsafe { launch!(module.reverse<<<2, 4, 12, stream>>>(data.as_device_ptr())) };
    assert_eq!(small, Err(CudaError::IllegalAddress));
}

#[test]
fn a_wrong_number_of_arguments_is_refused() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let data = DeviceBuffer::<u32>::zeroed(4).expect("memory");
    // SAFETY: the launch fails before a parameter is read.
    let few = unsafe { launch!(module.sum<<<1, 4, 0, stream>>>(data.as_device_ptr(), data.len())) };
    assert_eq!(few, Err(CudaError::InvalidValue));
    // SAFETY: the launch fails, because the kernel has a launch bound of 64 threads.
    let large = unsafe { launch!(module.narrow<<<1, 65, 0, stream>>>()) };
    assert_eq!(large, Err(CudaError::InvalidValue));
    // SAFETY: the module has no kernel of this name, so nothing runs.
    let none = unsafe { launch!(module.nothing<<<1, 1, 0, stream>>>()) };
    assert_eq!(none, Err(CudaError::NotFound));
}

#[test]
fn a_fault_says_what_the_kernel_did() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let data = [1_u32; 4].as_dbuf().expect("memory");
    let out = DeviceBuffer::<u32>::zeroed(8).expect("memory");
    assert_eq!(last_fault(), None);
    let run = |threads: u32| {
        // SAFETY: the CPU checks each read of `data`, and `out` has an element for each thread.
        unsafe {
            launch!(module.beyond<<<1, threads, 0, stream>>>(
                data.as_device_ptr(),
                data.len() as u32,
                out.as_device_ptr()
            ))
        }
    };
    assert_eq!(run(4), Err(CudaError::IllegalAddress));
    let fault = last_fault().expect("a fault");
    assert_eq!(fault.kernel, "beyond");
    assert_eq!(fault.at.thread, [3, 0, 0]);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    assert!(fault.to_string().contains("at index 4, but the size is 4"), "{fault}");
    // On the CPU, the device is still usable after a fault.
    assert_eq!(run(3), Ok(()));
}
