//! Tests that a memory sample increases by 8 MiB when the test allocates 8 MiB. The test runs in its own process with a
//! single thread, because other threads, such as those of the test harness, would allocate and free memory during the
//! measurement.

#[path = "../src/heap.rs"]
mod heap;
#[path = "../src/sample.rs"]
mod sample;

use panoweave::device::Device;
use sample::Sampler;

fn main() {
    let mut sampler = Sampler::new(&Device::cpu()).unwrap();
    let before = sampler.take().unwrap();
    let held = std::hint::black_box(vec![1_u8; 8 << 20]);
    let after = sampler.take().unwrap();
    assert!(before.resident > 0 && before.threads > 0 && before.descriptors > 0);
    assert!(after.heap - before.heap >= held.len() as i64);
    assert!(after.anonymous - before.anonymous >= held.len() as u64, "{before:?} {after:?}");
    assert!(after.gpu.is_none());
    println!("the sample contains the held memory: ok");
}
