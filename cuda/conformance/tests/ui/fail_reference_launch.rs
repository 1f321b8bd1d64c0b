//! A kernel that takes a reference is not safe to launch: a host thread could keep the reference.

use cuda_std::prelude::*;
use cust::typed::{Buffer, LaunchConfig, Stream};

#[kernel(dims(1))]
fn lend(values: &[u32]) {
    let _ = values;
}

fn start(stream: &Stream, buffer: &Buffer<u32>) {
    let kernel = Lend { values: buffer.view() };
    let _ = stream.launch(&LaunchConfig::for_1d(64, 64), &kernel);
}

fn main() {}
