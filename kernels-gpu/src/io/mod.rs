//! Input and output pictures, in RGBA (8 and 16 bits), NV12 and P010.
//!
//! A kernel is generic over its input ([`Sampler2d`]) and its output ([`Target`]), so one kernel body serves every
//! combination of formats and converts colours in registers. Levels range from 0 to 255, or from 0 to 1 if a texture
//! returns fractions. A Y'CbCr value outside the R'G'B' range converts to levels outside this range.

mod cubic;
mod p010;
mod pack;
mod rgba;
mod sampler;
mod target;

pub(crate) use cubic::Cubic;
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use cubic::weights as cubic_weights;
pub(crate) use p010::{p010_levels, ten_bits};
pub(crate) use rgba::{Rgba, sixteen_bits};
pub(crate) use sampler::{Sampler2d, TextureSampler2d, fused, sample_plane, yuv_levels};
pub(crate) use target::Target;
