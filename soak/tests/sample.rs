//! A sample tells what the process holds. It counts the whole process, so that this test has a process of its own.

#[path = "../src/heap.rs"]
mod heap;
#[path = "../src/sample.rs"]
mod sample;

use panoweave::device::Device;
use sample::Sampler;

#[test]
fn what_is_held_is_in_the_sample() {
    let mut sampler = Sampler::new(&Device::cpu()).unwrap();
    let before = sampler.take().unwrap();
    let held = std::hint::black_box(vec![1_u8; 8 << 20]);
    let after = sampler.take().unwrap();
    assert!(before.resident > 0 && before.threads > 0 && before.descriptors > 0);
    assert!(after.heap - before.heap >= held.len() as i64);
    // Other threads may meanwhile give some of theirs back.
    assert!(
        after.anonymous >= before.anonymous + held.len() as u64 / 4 * 3,
        "{before:?} {after:?}"
    );
    assert!(sampler.resident().unwrap() > 0 && after.gpu.is_none());
}
