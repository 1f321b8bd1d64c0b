//! Leaks memory on purpose (`--plant-leak`), to prove that the soak detects leaks.

use std::hint::black_box;

use clap::ValueEnum;
use panoweave::device::{Buffer, Device, DeviceError, Event, Pinned};
use panoweave::live::StitchedFrame;

/// The resource that the reader leaks on purpose with each panorama.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Leak {
    /// 4 KiB of heap memory per panorama.
    Host,
    /// 4 KiB of device memory per panorama.
    Device,
    /// 4 KiB of page-locked memory per panorama.
    Pinned,
    /// The buffer of one panorama in ten.
    Panorama,
    /// 64 events per panorama. On the CPU, an event takes only a few bytes of heap memory, so the leak of a single
    /// event per panorama would be much smaller than the other leaks.
    Event,
}

impl Leak {
    /// Leaks the resource for panorama number `i`. Consumes the panorama, because its buffer may be the leaked
    /// resource.
    pub(crate) fn plant(
        self,
        device: &Device,
        i: u64,
        panorama: StitchedFrame,
    ) -> Result<(), DeviceError> {
        match self {
            Self::Host => leak([1_u8; 4096]),
            Self::Device => leak(Buffer::<u8>::new(device, 4096)?),
            Self::Pinned => leak(Pinned::<u8>::new(device, 4096)?),
            Self::Panorama if i.is_multiple_of(10) => leak(panorama),
            Self::Panorama => {}
            Self::Event => {
                for _ in 0..64 {
                    leak(Event::for_order(device)?);
                }
            }
        }
        Ok(())
    }
}

/// Moves a value to a box, and leaks the box and the value. `black_box` keeps the compiler from removing the box.
fn leak<T>(value: T) {
    Box::leak(black_box(Box::new(value)));
}
