//! Shared by the matching kernels and the host: points, descriptors and their sampling.

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

/// Threads per block in x and y for kernels with one thread per pixel.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The side of a cell in pixels. At most one point is found per cell.
pub const CELL: u32 = 8;

/// The reach of the smoothing filter for downscaling, in pixels of the smaller picture.
pub const REACH: f32 = 1.5;

/// The border width in pixels where gradients depend on the picture's edge: smoothing spans 5 pixels, and gradients
/// span 7.
pub const EDGE: u32 = 5;

/// Orientation bins for the gradients around a point.
pub const BINS: u32 = 32;

/// The radius in pixels of the disc around a point that determines its orientation.
pub const ORIENTATION_RADIUS: i32 = 8;

/// Fields along each side of a descriptor.
pub const FIELDS: u32 = 4;

/// Fields in a descriptor, one per thread.
pub const ALL_FIELDS: u32 = FIELDS * FIELDS;

/// Samples along each side of a field.
pub const SAMPLES: u32 = 4;

/// The distance between samples in pixels.
pub const SPACING: f32 = 1.5;

/// Gradient directions per field.
pub const DIRECTIONS: usize = 8;

/// Matches kept per point. The second match must be at a different position from the first, which is often found
/// several times.
pub const KEPT: usize = 4;

/// The strongest response of a picture within a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Peak {
    /// The position, between pixels; pixel centres are at integers.
    pub at: Vec2,
    /// The strength of the response; 0 if the cell has none.
    pub value: f32,
}

/// The position and orientation at which a descriptor is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Pose {
    /// The centre; pixel centres are at integers.
    pub at: Vec2,
    /// Cosine and sine of the orientation, from the x axis towards the y axis.
    pub along: Vec2,
}

/// The gradients of a field by direction.
pub type Field = [f32; DIRECTIONS];

/// The gradients around a point: the directions of all fields, in bytes, normalised to the same length for all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Descriptor(pub [u32; Descriptor::WORDS]);

impl Descriptor {
    /// The number of 4-byte words.
    pub const WORDS: usize = ALL_FIELDS as usize * DIRECTIONS / 4;

    /// The length as a vector, before its bytes are rounded.
    pub const LENGTH: f32 = 512.0;
}

/// The most similar points of another picture, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Nearest {
    /// Indices of the points.
    pub index: [u32; KEPT],
    /// The product of both descriptors: at most the square of their length. 0 if there is no such point.
    pub product: [u32; KEPT],
}
