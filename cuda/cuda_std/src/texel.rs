//! Elements that a texture can read, with the number and the type of their channels.

use bytemuck::Pod;
use cuda_cpu::texture::{Channel, Format};
use glam::{Vec2, Vec4};

/// An element of an image that a texture can read.
///
/// # Safety
/// The element must consist of 1, 2 or 4 channels of type `CHANNEL` and nothing else.
pub unsafe trait Texel: Pod {
    /// The type of one channel in memory.
    const CHANNEL: Channel;

    /// Returns the texture format of the element.
    fn format() -> Format {
        let channels = size_of::<Self>() as u32 / Self::CHANNEL.bytes();
        Format { channel: Self::CHANNEL, channels }
    }
}

macro_rules! texels {
    ($($type:ty: $channel:ident),+ $(,)?) => {$(
        // SAFETY: the element consists of 1, 2 or 4 channels of this type.
        unsafe impl Texel for $type {
            const CHANNEL: Channel = Channel::$channel;
        }
    )+};
}

texels! {
    u8: U8, [u8; 2]: U8, [u8; 4]: U8,
    u16: U16, [u16; 2]: U16, [u16; 4]: U16,
    f32: F32, Vec2: F32, Vec4: F32, [f32; 2]: F32, [f32; 4]: F32,
}
