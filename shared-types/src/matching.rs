//! Types and constants that the matching kernels share with the host: points, descriptors and their sampling.

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

/// Threads per block in x and y for kernels with one thread per pixel.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The side of a cell in pixels. At most one point is found per cell.
pub const CELL: u32 = 8;

/// The radius of the smoothing filter for downscaling, in pixels of the smaller picture.
pub const REACH: f32 = 1.5;

/// The width in pixels of the border where gradients depend on the picture's edge: the radii of the smoothing filter
/// (5 taps) and of the gradient filter (7 taps).
pub const EDGE: u32 = 5;

/// The number of orientation bins for the gradients around a point.
pub const BINS: u32 = 32;

/// The radius in pixels of the disc around a point that determines its orientation.
pub const ORIENTATION_RADIUS: i32 = 8;

/// The number of fields along each side of a descriptor. A field is a square in which gradients are summed by
/// direction.
pub const FIELDS: u32 = 4;

/// The number of fields in a descriptor. Each thread computes one.
pub const ALL_FIELDS: u32 = FIELDS * FIELDS;

/// The number of gradient samples along each side of a field.
pub const SAMPLES: u32 = 4;

/// The distance between adjacent samples of a descriptor, in pixels.
pub const SPACING: f32 = 1.5;

/// The number of gradient directions per field.
pub const DIRECTIONS: usize = 8;

/// The number of matches stored for each point. The ratio test compares the best match with the best one at a different
/// position, and often several matches are at the position of the best.
pub const KEPT: usize = 4;

/// The largest local maximum in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Peak {
    /// The position with subpixel precision; pixel centres are at integers.
    pub at: Vec2,
    /// The value of the pixel at the maximum; 0 if the cell has no maximum.
    pub value: f32,
}

/// The position and orientation at which a descriptor is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Pose {
    /// The centre; pixel centres are at integers.
    pub at: Vec2,
    /// Cosine and sine of the orientation, as the angle from the x axis towards the y axis.
    pub along: Vec2,
}

/// The sums of a field's gradients, one per direction.
pub type Field = [f32; DIRECTIONS];

/// The gradients around a point: one byte for each direction of each field. As a vector, all descriptors have about
/// the length [`LENGTH`](Self::LENGTH).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Descriptor(pub [u32; Descriptor::WORDS]);

impl Descriptor {
    /// The number of 4-byte words.
    pub const WORDS: usize = ALL_FIELDS as usize * DIRECTIONS / 4;

    /// The length of a descriptor as a vector, before its bytes are rounded.
    pub const LENGTH: f32 = 512.0;
}

/// The points of another picture that are most similar to one point, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Nearest {
    /// Indices of the points.
    pub index: [u32; KEPT],
    /// The dot products of the descriptors: at most about [`Descriptor::LENGTH`]². Entries without a point are 0.
    pub product: [u32; KEPT],
}
