//! Launches kernels with every kind of argument on the CPU, through their launch types and by name.
//! The outputs must equal values that the tests compute on the host.

mod common;

use std::ffi::c_void;
use std::ptr;

use common::{run, slice, slice_mut};
use cuda_std::DeviceSlice;
use cuda_std::cpu::{Checks, ConstantBank, Launch};
use cuda_std::launch::{
    DevicePointer, KERNELS, Kernel, KernelEntry, LaunchConfig, ParamLayout, Place, SafeKernel,
};

/// Kernels with the same imports as rust-cuda's kernels.
#[allow(
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::needless_lifetimes,
    clippy::missing_safety_doc,
    reason = "in the style of rust-cuda's examples"
)]
mod kernels {
    use core::mem::MaybeUninit;
    use cuda_std::kernel;
    use cuda_std::thread;
    use glam::{Mat4, Vec4};

    pub(crate) type Scale = f32;

    /// A struct that is neither `Debug` nor plain old data.
    #[derive(Clone, Copy, cust_core::DeviceCopy)]
    pub struct Choice {
        pub on: bool,
        pub which: Option<u8>,
    }

    #[kernel]
    #[allow(improper_ctypes_definitions, clippy::missing_safety_doc, reason = "as in rust-cuda")]
    /// This doc comment is after the attribute, which must not matter.
    pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
        let idx = thread::index_1d() as usize;
        if idx < a.len() {
            let elem = unsafe { &mut *c.add(idx) };
            *elem = a[idx] + b[idx];
        }
    }

    #[kernel(dims(1))]
    pub(crate) unsafe fn scaled(
        mut scale: Scale,
        input: *const f32,
        _x: (),
        out: &mut [f32],
        offset: &f32,
    ) {
        scale *= 2.0;
        let i = thread::index_1d() as usize;
        out[i] = scale * unsafe { *input.add(i) } + offset;
    }

    #[kernel]
    pub unsafe fn by_value(
        flag: bool,
        size: usize,
        wide: u128,
        signed: i128,
        matrix: Mat4,
        array: [u16; 3],
        tuple: (u8, f64),
        choice: Choice,
        _: u32,
        out: *mut [MaybeUninit<f64>; 9],
    ) {
        let column: Vec4 = matrix * Vec4::W;
        let values = [
            f64::from(u8::from(flag)),
            size as f64,
            (wide >> 64) as f64,
            signed as f64,
            f64::from(column.x),
            f64::from(array[2]),
            f64::from(tuple.0) + tuple.1,
            f64::from(u8::from(choice.on)),
            f64::from(choice.which.unwrap_or(0)),
        ];
        for (at, value) in values.into_iter().enumerate() {
            unsafe { (&mut *out)[at].write(value) };
        }
    }

    #[kernel(dims(1), block_multiple(32))]
    pub fn sum<'a>(numbers: &'a [u32], out: cuda_std::SliceMut<u32>) {
        if thread::index_1d() == 0 && out.len() > 0 {
            // SAFETY: `out` is not empty, so element 0 exists, and only thread 0 writes it.
            unsafe { out.store(0, numbers.iter().sum()) };
        }
    }

    #[kernel(dims(1), block_multiple(32))]
    pub fn first(numbers: cuda_std::Slice<u32>, out: cuda_std::SliceMut<u32>) {
        if let Some(number) = numbers.get(0) {
            out.set(thread::unique_1d(), number);
        }
    }

    #[kernel]
    pub unsafe fn nothing() {}
}

fn entry(name: &str) -> &'static KernelEntry {
    KERNELS.iter().find(|entry| entry.name == name).expect("`#[kernel]` registers every kernel")
}

/// Runs one thread of a kernel by name, as `launch!` does.
fn call(name: &str, params: &[*const c_void]) {
    assert_eq!(entry(name).params.len(), params.len());
    let params: Vec<_> = params.iter().map(|param| param.cast_mut()).collect();
    let launch = Launch {
        kernel: entry(name).name,
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        constants: &ConstantBank::default(),
        checks: Checks { shared: true, ..Checks::BUILD },
    };
    // SAFETY: for each parameter, there is a pointer to a value of the parameter's type.
    unsafe { entry(name).simulate(&launch, &params) }.expect("the kernel runs");
}

fn pointer<T>(value: &T) -> *const c_void {
    ptr::from_ref(value).cast()
}

fn layout<T>() -> ParamLayout {
    ParamLayout { size: size_of::<T>(), align: align_of::<T>() }
}

#[test]
fn slices_are_the_hosts_memory() {
    let (a, b) = ([1.0_f32, 2.0, 3.0], [10.0, 20.0, 30.0]);
    let mut c = [0.0_f32; 3];
    let c_pointer = DevicePointer::from(c.as_mut_ptr());
    let kernel = kernels::Vecadd { a: slice(&a), b: slice(&b), c: c_pointer };
    assert_eq!(kernel.params().places().count(), 1);
    run(LaunchConfig::for_1d(3, 32), kernel).unwrap();
    assert_eq!(c, [11.0, 22.0, 33.0]);
}

#[test]
fn kernels_run_by_name() {
    let (a, b) = ([5.0_f32], [0.5_f32]);
    let mut c = [0.0_f32];
    let params = [a.as_ptr().addr(), 1, b.as_ptr().addr(), 1, c.as_mut_ptr().expose_provenance()];
    let _ = (a.as_ptr().expose_provenance(), b.as_ptr().expose_provenance());
    call("vecadd", &params.each_ref().map(pointer));
    assert_eq!(c, [5.5]);
    let [pointer, usize] = [layout::<*const f32>(), layout::<usize>()];
    assert_eq!(entry("vecadd").params, [pointer, usize, pointer, usize, pointer]);
    assert_eq!(entry("vecadd").package, "stable-cuda-std");
    assert_eq!(entry("vecadd").dims, 3);
    assert_eq!(entry("nothing").params, []);
    call("nothing", &[]);
}

#[test]
fn references_and_pointers_cross() {
    let (input, offset) = ([1.0_f32, 2.0], 0.5_f32);
    let mut out = [0.0_f32; 2];
    let kernel = kernels::Scaled {
        scale: 2.0,
        input: DevicePointer::from(input.as_ptr()),
        _x: (),
        out: slice_mut(&mut out),
        offset: DevicePointer::from(&raw const offset),
    };
    // A zero-sized value is not a parameter.
    assert_eq!(entry("scaled").params.len(), 5);
    assert_eq!(kernel.params().pointers().len(), 5);
    run(LaunchConfig::for_1d(2, 2), kernel).unwrap();
    assert_eq!(out, [4.5, 8.5]);
}

#[test]
fn values_of_every_kind_cross() {
    let mut typed = [0.0_f64; 9];
    let choice = kernels::Choice { on: true, which: Some(7) };
    let matrix = glam::Mat4::from_translation(glam::Vec3::new(4.0, 5.0, 6.0));
    let kernel = kernels::ByValue {
        flag: true,
        size: usize::MAX >> 12,
        wide: 3 << 64,
        signed: -5,
        matrix,
        array: [1, 2, 3],
        tuple: (2, 0.25),
        choice,
        _8: 0,
        out: DevicePointer::from(typed.as_mut_ptr()).cast(),
    };
    let expected = [1.0, (usize::MAX >> 12) as f64, 3.0, -5.0, 4.0, 3.0, 2.25, 1.0, 7.0];
    let mut pushed = kernel.params();
    let by_name: Vec<*const c_void> = pushed.pointers().iter().map(|p| p.cast_const()).collect();
    call("by_value", &by_name);
    assert_eq!(typed, expected);
    assert_eq!(entry("by_value").params[2], layout::<u128>());
    typed = [0.0; 9];
    run(LaunchConfig::for_1d(1, 1), kernel).unwrap();
    assert_eq!(typed, expected);
}

#[test]
fn a_safe_kernel_takes_slices_and_checks_its_block() {
    fn is_safe<K: SafeKernel>(_: &K) {}
    let numbers: Vec<u32> = (1..=100).collect();
    let mut out = [0_u32];
    is_safe(&kernels::First { numbers: slice(&numbers), out: slice_mut(&mut out) });
    let kernel = kernels::Sum { numbers: slice(&numbers), out: slice_mut(&mut out) };
    let shape = LaunchConfig::for_1d(40, 40);
    let refused = shape.check::<kernels::Sum<'_>>().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "kernel `sum`: a block of [40, 1, 1] has 40 threads, but the kernel needs a multiple of 32; round the block size up"
    );
    assert_eq!(shape.check_entry(entry("sum")), Err(refused));
    run(LaunchConfig::for_1d(40, 32), kernel).unwrap();
    assert_eq!(out, [5050]);
}

#[test]
fn an_empty_slice_may_be_null() {
    let mut out = [7_u32];
    // SAFETY: the slice has no elements.
    let numbers = unsafe { DeviceSlice::new(Place::Cpu, ptr::null(), 0) };
    let kernel = kernels::Sum { numbers, out: slice_mut(&mut out) };
    run(LaunchConfig::for_1d(1, 32), kernel).unwrap();
    assert_eq!(out, [0]);
}

#[test]
fn device_pointers_count_in_elements() {
    let numbers = [1_u16, 2, 3];
    let pointer = DevicePointer::from(numbers.as_ptr());
    assert_eq!(pointer.wrapping_add(2).as_raw(), pointer.as_raw() + 4);
    assert_eq!(pointer.wrapping_add(2).wrapping_sub(2), pointer);
    assert_eq!(pointer.wrapping_offset(-1).as_raw(), pointer.as_raw() - 2);
    // SAFETY: this is the second element, in host memory.
    assert_eq!(unsafe { *pointer.add(1).as_ptr() }, 2);
    assert!(DevicePointer::<u8>::null().is_null() && !pointer.cast::<u8>().is_null());
}
