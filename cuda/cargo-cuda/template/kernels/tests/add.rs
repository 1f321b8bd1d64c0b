//! Tests the kernel on the CPU, where an invalid access or a race is an error that names the kernel
//! and the thread.

use cust::typed::{Buffer, Device, DeviceError, LaunchConfig};
use my_program_kernels::Add;

#[test]
fn threads_after_the_last_element_do_nothing() -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let a = Buffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let b = Buffer::from_slice(&stream, &[10.0_f32, 20.0, 30.0])?;
    let mut sum = Buffer::<f32>::new(&device, a.len())?;
    let kernel = Add {
        a: a.view(),
        b: b.view(),
        sum: sum.view_mut(),
    };
    stream.launch(&LaunchConfig::for_1d(a.len(), 64), &kernel)?;
    assert_eq!(sum.download(&stream)?, [11.0, 22.0, 33.0]);
    Ok(())
}
