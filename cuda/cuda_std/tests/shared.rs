//! Shared memory on the CPU, declared as in rust-cuda kernels. Each block must have its own copy.

mod common;

use common::{run, slice, slice_mut};
use cuda_std::launch::{DevicePointer, LaunchConfig};

#[allow(
    unreachable_pub,
    static_mut_refs,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    clippy::needless_range_loop,
    reason = "in the style of rust-cuda's examples"
)]
mod kernels {
    use core::mem::MaybeUninit;
    use cuda_std::*;

    const SIDE: usize = 8;

    #[address_space(shared)]
    static mut AT_MODULE_LEVEL: [u32; 64] = [0; 64];

    #[address_space(global)]
    pub static mut LAUNCHES: u32 = 0;

    #[address_space(constant)]
    static WEIGHTS: [u32; 2] = [10, 100];

    #[kernel(barriers(1))]
    pub unsafe fn reverse(values: &mut [i32]) {
        #[address_space(shared)]
        static mut TILE: [MaybeUninit<i32>; 256] = [MaybeUninit::uninit(); 256];

        let i = thread::thread_idx_x() as usize;
        let last = thread::block_dim_x() as usize - 1;
        unsafe { TILE[i].write(values[i]) };
        thread::sync_threads();
        values[last - i] = unsafe { TILE[last - i].assume_init() - TILE[i].assume_init() };
    }

    /// Transposes two 8×8 tiles per block, one after the other.
    #[kernel(barriers(2))]
    pub unsafe fn transpose(input: &[f32], out: *mut f32) {
        let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
        let first = thread::block_idx_x() as usize * 2 * SIDE * SIDE;
        for tile in 0..2 {
            #[address_space(shared)]
            static mut TILE: [[MaybeUninit<f32>; SIDE]; SIDE] =
                [[const { MaybeUninit::uninit() }; SIDE]; SIDE];
            let first = first + tile * SIDE * SIDE;
            unsafe { TILE[y][x].write(input[first + y * SIDE + x]) };
            thread::sync_threads();
            unsafe { *out.add(first + y * SIDE + x) = TILE[x][y].assume_init() };
            thread::sync_threads();
        }
    }

    #[kernel(barriers(2))]
    pub unsafe fn plain(out: *mut u32) {
        #[address_space(shared)]
        static mut COUNT: MaybeUninit<u32> = MaybeUninit::uninit();

        let i = thread::thread_idx_x() as usize;
        unsafe {
            AT_MODULE_LEVEL[i] = thread::block_idx_x();
            AT_MODULE_LEVEL[i] += WEIGHTS[1];
            if i == 0 {
                LAUNCHES += 1;
                COUNT.write(AT_MODULE_LEVEL.len() as u32);
            }
            thread::sync_threads();
            if i == 0 {
                let tile: *mut u32 = AT_MODULE_LEVEL.as_mut_ptr();
                *out.add(thread::block_idx_x() as usize) =
                    AT_MODULE_LEVEL[0..4].iter().sum::<u32>() + *tile + COUNT.assume_init();
            }
        }
    }

    /// Returns the value of the thread `by` positions further, modulo `N`. Each instance of this
    /// generic function has its own array.
    #[inline(always)]
    fn rotated<T: Copy, const N: usize>(value: T, by: usize) -> T {
        let tile = shared_array![T; 2 * N];
        let i = thread::thread_idx_x() as usize;
        unsafe {
            *tile.add(i) = value;
            thread::sync_threads();
            *tile.add((i + by) % N)
        }
    }

    #[kernel(barriers(3))]
    pub unsafe fn pointers(out: *mut u32) {
        const LEN: usize = 32;
        let i = thread::thread_idx_x() as usize;
        let a = rotated::<u32, LEN>(i as u32, 1);
        let b = rotated::<f32, LEN>(i as f32, 2);
        let sums = shared_array![u32; LEN];
        unsafe {
            sums.add(i).write(a);
            *sums.add(i) += b as u32;
            thread::sync_threads();
            *out.add(i) = sums.add(i ^ 1).read();
        }
    }
}

#[test]
fn a_static_belongs_to_the_block() {
    let mut values: Vec<i32> = (0..64).collect();
    let kernel = kernels::Reverse { values: slice_mut(&mut values) };
    run(LaunchConfig::for_1d(64, 64), kernel).unwrap();
    assert!(values.iter().enumerate().all(|(at, &value)| value == 2 * at as i32 - 63));
}

#[test]
fn rows_of_rows() {
    let input: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let mut out = vec![0.0_f32; 256];
    let shape = LaunchConfig { grid: [2, 1, 1], block: [8, 8, 1], dynamic_shared: 0 };
    let pointer = DevicePointer::from(out.as_mut_ptr());
    let kernel = kernels::Transpose { input: slice(&input), out: pointer };
    run(shape, kernel).unwrap();
    for (at, value) in out.iter().enumerate() {
        let (tile, y, x) = (at / 64, at / 8 % 8, at % 8);
        assert_eq!(*value, (tile * 64 + x * 8 + y) as f32);
    }
}

#[test]
fn statics_of_modules_and_values() {
    let mut out = [0_u32; 3];
    let kernel = kernels::Plain { out: DevicePointer::from(out.as_mut_ptr()) };
    let shape = LaunchConfig { grid: [3, 1, 1], block: [64, 1, 1], dynamic_shared: 0 };
    run(shape, kernel).unwrap();
    assert_eq!(out, [564, 569, 574]);
}

#[test]
fn arrays_are_pointers_too_and_generic() {
    let mut out = [0_u32; 32];
    let pointer = DevicePointer::from(out.as_mut_ptr());
    run(LaunchConfig::for_1d(32, 32), kernels::Pointers { out: pointer }).unwrap();
    let expected: Vec<u32> = (0..32).map(|i| i ^ 1).map(|i| (i + 1) % 32 + (i + 2) % 32).collect();
    assert_eq!(out.as_slice(), expected);
}
