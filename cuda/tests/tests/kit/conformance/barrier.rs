//! Tests of barriers and of static and dynamic shared memory. The kernels permute values through shared memory, and the
//! host computes the expected order.

use conformance::barrier::{
    DynamicLengths, ReverseDynamic, ReverseStatic, ReverseTail, Rotate, TwoArrays,
};
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Returns the values with the order reversed within each block of `block` values.
fn reversed(values: &[u32], block: u32) -> Vec<u32> {
    values.chunks(block as usize).flat_map(|block| block.iter().rev().copied()).collect()
}

#[test]
fn a_static_array_carries_values_across_a_barrier() {
    for (blocks, block) in [(1, 1), (3, 64), (5, 100), (2, 256)] {
        let values = noise(blocks * block);
        all_give(&reversed(&values, block), |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, blocks * block);
            let kernel = ReverseStatic { input: input.view(), out: out.view_mut() };
            launch(stream, line(blocks, block), &kernel);
            download(stream, &out)
        });
    }
}

#[test]
fn dynamic_shared_memory_carries_values_across_a_barrier() {
    for (blocks, block) in [(3, 64), (5, 100), (2, 256)] {
        let values = noise(blocks * block);
        all_give(&reversed(&values, block), |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, blocks * block);
            let kernel = ReverseDynamic { input: input.view(), out: out.view_mut() };
            let config = line(blocks, block).with_dynamic_shared(4 * block);
            launch(stream, config, &kernel);
            download(stream, &out)
        });
    }
}

#[test]
fn the_tail_of_an_array_is_the_same_memory() {
    for (blocks, block) in [(1, 1), (3, 64), (5, 100), (2, 256)] {
        let values = noise(blocks * block);
        let mut expected = reversed(&values, block);
        // The kernel also writes the tail's length: two elements more than the block has threads.
        expected.push(block + 2);
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, blocks * block + 1);
            let kernel = ReverseTail { input: input.view(), out: out.view_mut() };
            launch(stream, line(blocks, block).with_dynamic_shared(4 * (block + 5)), &kernel);
            download(stream, &out)
        });
    }
}

#[test]
fn dynamic_shared_memory_is_as_long_as_the_launch_says() {
    // The last size is above 48 KiB. For such a size, a launch on a GPU must first set a function attribute.
    for bytes in [0, 16, 4096, 48 << 10, 64 << 10] {
        all_give(&vec![bytes / 4, bytes / 16], |stream| {
            let mut out = zeros(stream, 2);
            let kernel = DynamicLengths { out: out.view_mut() };
            launch(stream, line(1, 32).with_dynamic_shared(bytes), &kernel);
            download(stream, &out)
        });
    }
}

#[test]
fn hundreds_of_barriers_keep_1024_threads_in_step() {
    let (block, rounds) = (1024, 131);
    let values = noise(2 * block);
    let expected: Vec<u32> = values
        .chunks(block as usize)
        .flat_map(|chunk| {
            let mut chunk = chunk.to_vec();
            chunk.rotate_right(rounds as usize);
            chunk
        })
        .collect();
    all_give(&expected, |stream| {
        let input = upload(stream, &values);
        let mut out = zeros(stream, 2 * block);
        let kernel = Rotate { input: input.view(), out: out.view_mut(), rounds };
        launch(stream, line(2, block), &kernel);
        download(stream, &out)
    });
}

#[test]
fn two_arrays_do_not_overlap() {
    let block = 200;
    let expected: Vec<u32> = (0..block).map(|i| 1000 * (block - 1 - i) + i).collect();
    all_give(&expected, |stream| {
        let mut out = zeros(stream, block);
        let kernel = TwoArrays { out: out.view_mut() };
        launch(stream, line(1, block), &kernel);
        download(stream, &out)
    });
}
