//! Textures on the CPU: a handle is valid only during a launch that has it as an argument.

use std::ptr;
use std::sync::Mutex;

use cuda_std::DeviceTexture;
use cuda_std::cpu::texture::{Address, Channel, Filter, Format, Texture};
use cuda_std::cpu::{Checks, ConstantBank, Fault, FaultKind, Launch};
use cuda_std::launch::{Kernel, Place};
use cuda_std::prelude::*;
use glam::Vec4;

static KEPT: Mutex<Option<Texture2d<Vec4>>> = Mutex::new(None);

/// Stores its texture in a static and reads it.
#[kernel]
pub fn keep(texture: Texture2d<Vec4>) {
    *KEPT.lock().unwrap() = Some(texture);
    assert_eq!(texture.read(0.5, 0.5).x, 7.0);
}

/// Reads the texture that an earlier kernel stored.
#[kernel]
pub fn read_kept() {
    let texture = *KEPT.lock().unwrap();
    assert_eq!(texture.unwrap().read(0.5, 0.5).x, 7.0);
}

fn run<K: Kernel>(kernel: &K) -> Result<(), Fault> {
    let config = Launch {
        kernel: K::ENTRY.name,
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        constants: &ConstantBank::default(),
        checks: Checks { shared: true, ..Checks::BUILD },
    };
    // SAFETY: the kernel's memory is on the host and outlives the launch.
    unsafe { K::ENTRY.simulate(&config, kernel.params().pointers()) }
}

#[test]
fn a_texture_kept_from_an_earlier_launch_is_refused() {
    let texel = Box::new(7.0_f32);
    let format = Format { channel: Channel::F32, channels: 1 };
    // SAFETY: the texture covers one texel, and the texel outlives the texture.
    let texture = unsafe {
        let texel = ptr::from_ref(&*texel).cast();
        Texture::new(texel, [1, 1], 4, format, Filter::Point, Address::Clamp)
    };
    let handle = ptr::from_ref(&texture).expose_provenance() as u64;
    // SAFETY: the texture is alive, and the kernel reads floats.
    run(&Keep { texture: unsafe { DeviceTexture::new(Place::Cpu, handle) } }).unwrap();
    drop((texture, texel));
    let fault = run(&ReadKept {}).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::StaleHandle { what: "Texture2d", .. }), "{fault}");
    assert!(fault.to_string().contains("belongs to another launch"), "{fault}");
}
