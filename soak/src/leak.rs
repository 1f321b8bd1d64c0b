//! Leaks planted on purpose: a soak that cannot find them proves nothing.

use std::hint::black_box;

use clap::ValueEnum;
use panoweave::device::{Buffer, Device, DeviceError, Event, Pinned};
use panoweave::live::StitchedFrame;

/// What is leaked, a little with each panorama.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Leak {
    /// 4 KiB of the heap.
    Host,
    /// 4 KiB of device memory.
    Device,
    /// 4 KiB of page-locked memory.
    Pinned,
    /// One panorama of ten is never given back.
    Panorama,
    /// 64 events: on the CPU, where they are some bytes of the heap each, about as much as the others.
    Event,
}

impl Leak {
    /// What the reader does with panorama number `i`.
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

/// Boxed, so that each costs some of the heap also on the CPU, whatever the compiler would leave out.
fn leak<T>(value: T) {
    Box::leak(black_box(Box::new(value)));
}
