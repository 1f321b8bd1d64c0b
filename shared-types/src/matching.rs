//! Types and constants that the matching kernels share with the host: points, descriptors and their sampling.

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

/// The threads per block (x, y) of kernels with one thread per pixel.
pub const BLOCK: [u32; 2] = [32, 8];

/// The total number of threads per block.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The side in pixels of a cell, an area in which at most one point is found.
pub const CELL: u32 = 8;

/// The radius of the smoothing filter for downscaling, in pixels of the smaller picture.
pub const REACH: f32 = 1.5;

/// The width in pixels of the border in which gradients depend on pixels beyond the edge of the picture. It is the sum
/// of the radii of the smoothing filter (2, for 5 taps) and the gradient filter (3, for 7 taps).
pub const EDGE: u32 = 5;

/// The number of bins by which the gradients around a point are sorted by direction, to find the point's orientation.
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

/// The number of matches stored for each point. The ratio test compares the best match with the best match at a
/// different position. One other match is not enough for this, because several matches are often at the same position.
pub const KEPT: usize = 4;

/// The largest local maximum in a cell, which is a point to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Peak {
    /// The position with subpixel precision; pixel centres are at integers.
    pub at: Vec2,
    /// The value of the pixel at the local maximum, or 0 if the cell has no local maximum.
    pub value: f32,
}

/// The position and orientation at which a descriptor is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Pose {
    /// The centre of the sampled area. Pixel centres are at integers.
    pub at: Vec2,
    /// The cosine and sine of the orientation, which is an angle from the x axis towards the y axis.
    pub along: Vec2,
}

/// The sums of a field's gradients, one per direction.
pub type Field = [f32; DIRECTIONS];

/// The gradients around a point: one byte for each direction of each field. As a vector of bytes, every descriptor has
/// a length of about [`LENGTH`](Self::LENGTH), so the dot product measures similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Descriptor(pub [u32; Descriptor::WORDS]);

impl Descriptor {
    /// The number of 4-byte words in a descriptor.
    pub const WORDS: usize = ALL_FIELDS as usize * DIRECTIONS / 4;

    /// The Euclidean length of a descriptor as a vector, before its bytes are rounded.
    pub const LENGTH: f32 = 512.0;
}

/// The points of the other picture that are most similar to a point, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Nearest {
    /// The indices of these points.
    pub index: [u32; KEPT],
    /// The dot products of the descriptors of both points: at most about [`Descriptor::LENGTH`]². Unused entries are 0.
    pub product: [u32; KEPT],
}
