//! Atomic operations on the CPU: compares the result of every method with plain arithmetic, and
//! checks that concurrent updates by several threads are not lost.

use cuda_std::atomic::{
    Atomic, AtomicAdd, AtomicF32, AtomicF64, AtomicMinMax, BlockAtomicF32, Device, Ordering,
    System, SystemAtomicI64,
};
use std::thread;

const ORDERS: [Ordering; 5] =
    [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

macro_rules! integers {
    ($($name:ident $type:ty),+) => {$(
        #[test]
        fn $name() {
            let (a, b) = (<$type>::MAX - 3, 10);
            for order in ORDERS {
                let run = |call: fn(&Atomic<$type, Device>, $type, Ordering) -> $type| {
                    let cell = Atomic::<$type, Device>::new(a);
                    assert_eq!(call(&cell, b, order), a);
                    cell.into_inner()
                };
                assert_eq!(run(Atomic::<$type, Device>::fetch_add), a.wrapping_add(b));
                assert_eq!(run(Atomic::<$type, Device>::fetch_sub), a - b);
                assert_eq!(run(Atomic::<$type, Device>::fetch_and), a & b);
                assert_eq!(run(Atomic::<$type, Device>::fetch_or), a | b);
                assert_eq!(run(Atomic::<$type, Device>::fetch_xor), a ^ b);
                assert_eq!(run(Atomic::<$type, Device>::fetch_min), b);
                assert_eq!(run(Atomic::<$type, Device>::fetch_max), a);
                assert_eq!(run(Atomic::<$type, Device>::swap), b);
            }
            let mut value: $type = 6;
            // SAFETY: nothing else accesses this local variable.
            unsafe {
                let at = &raw mut value;
                assert_eq!((<$type>::atomic_add(at, 1), *at), (6, 7));
                assert_eq!((<$type>::atomic_min(at, 5), *at), (7, 5));
                assert_eq!((<$type>::atomic_max(at, 8), *at), (5, 8));
            }
        }
    )+};
}
integers!(u32_all u32, i32_all i32, u64_all u64, i64_all i64);

macro_rules! floats {
    ($($name:ident $type:ident),+) => {$(
        #[test]
        fn $name() {
            let (a, b): ($type, $type) = (1.5, -0.25);
            for order in ORDERS {
                let run = |call: fn(&Atomic<$type, System>, $type, Ordering) -> $type| {
                    let cell = Atomic::<$type, System>::new(a);
                    assert_eq!(call(&cell, b, order), a);
                    cell.into_inner()
                };
                assert_eq!(run(Atomic::<$type, System>::fetch_add), 1.25);
                assert_eq!(run(Atomic::<$type, System>::fetch_sub), 1.75);
                assert_eq!(run(Atomic::<$type, System>::fetch_min), b);
                assert_eq!(run(Atomic::<$type, System>::fetch_max), a);
                assert_eq!(run(Atomic::<$type, System>::swap), b);
                let bits = run(Atomic::<$type, System>::fetch_xor).to_bits();
                assert_eq!(bits, a.to_bits() ^ b.to_bits());
                let bits = run(Atomic::<$type, System>::fetch_and).to_bits();
                assert_eq!(bits, a.to_bits() & b.to_bits());
                let bits = run(Atomic::<$type, System>::fetch_or).to_bits();
                assert_eq!(bits, a.to_bits() | b.to_bits());
            }
            let cell = Atomic::<$type, Device>::new($type::NAN);
            cell.fetch_min(b, Ordering::Relaxed);
            assert_eq!(cell.load(Ordering::Acquire), b, "a NaN is ignored");
        }
    )+};
}
floats!(f32_all f32, f64_all f64);

#[test]
fn compare_exchange_compares_bits() {
    let cell = AtomicF32::new(-0.0);
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    let refused = cell.compare_exchange(0.0, 1.0, success, failure).unwrap_err();
    assert_eq!(refused.to_bits(), (-0.0f32).to_bits());
    cell.store(f32::NAN, Ordering::Release);
    assert!(cell.compare_exchange(f32::NAN, 2.0, success, failure).unwrap().is_nan());
    assert_eq!(cell.load(Ordering::SeqCst), 2.0);
}

#[test]
fn no_update_is_lost_between_threads() {
    let (float, integer) = (AtomicF64::new(0.0), SystemAtomicI64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..10_000 {
                    float.fetch_add(0.5, Ordering::Relaxed);
                    integer.fetch_sub(i, Ordering::AcqRel);
                }
            });
        }
    });
    assert_eq!(float.into_inner(), 20_000.0);
    assert_eq!(integer.into_inner(), -4 * (0..10_000).sum::<i64>());
}

#[test]
fn a_cell_is_its_value_in_memory() {
    let mut value = 1.0;
    // SAFETY: nothing else accesses the value.
    let cell = unsafe { BlockAtomicF32::from_ptr(&raw mut value) };
    cell.fetch_add(2.0, Ordering::Relaxed);
    assert_eq!(value, 3.0);
}
