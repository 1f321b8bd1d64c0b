//! Runs each kernel on the CPU device and on the first GPU, and compares the results with direct calls of the same
//! functions on the host. Exits with a failure if a result differs.

use std::process::ExitCode;

use cust::typed::{Buffer, Device, DeviceError, LaunchConfig};
use kit_crates_kernels::{self as functions, Input, Output, kernels};

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The number of threads: more than one block, and not a multiple of the warp size.
const THREADS: u32 = 150;

/// Returns pseudorandom bytes: the upper byte of a linear congruential generator with Knuth's MMIX constants.
fn inputs() -> Vec<Input> {
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..THREADS).map(|_| std::array::from_fn(|_| byte())).collect()
}

macro_rules! compare {
    ($device:expr, $wrong:ident, $($kernel:ident $function:ident;)+) => {$({
        let stream = $device.stream()?;
        let inputs = inputs();
        let input = Buffer::from_slice(&stream, &inputs)?;
        let mut output = Buffer::<Output>::new(&$device, input.len())?;
        let kernel = kernels::$kernel { input: input.view(), output: output.view_mut() };
        stream.launch(&LaunchConfig::for_1d(input.len(), 64), &kernel)?;
        let expected: Vec<Output> = inputs.iter().map(functions::$function).collect();
        let differ = output.download(&stream)?.iter().zip(&expected).filter(|(a, b)| a != b).count();
        println!("{} on the {}: {differ} of {THREADS} differ", stringify!($function), $device);
        $wrong += differ;
    })+};
}

fn main() -> Result<ExitCode, DeviceError> {
    let mut wrong = 0;
    let gpu = Device::first_gpu().inspect_err(|error| println!("no GPU: {error}"));
    for device in [Some(Device::cpu()), gpu.ok()].into_iter().flatten() {
        compare! { device, wrong,
            Sha256 sha256;
            Blake3Hash blake3_hash;
            Aes128 aes128;
            Secp256k1 secp256k1;
            SmallRng small_rng;
            Eigenvalues eigenvalues;
            Sorted sorted;
            Rotated rotated;
        }
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
