//! What the matching kernels share with their host: points, descriptors, and how they are sampled.

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

/// Threads of a block in x and y where each has a pixel.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads of a block.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Side in pixels of the cells in each of which at most one point is found.
pub const CELL: u32 = 8;

/// Reach of the smoothing when a picture is made smaller, in pixels of the smaller one.
pub const REACH: f32 = 1.5;

/// Pixels along each edge whose gradients are of the picture's end rather than of what it shows: smoothing
/// over 5 and gradients over 7 pixels.
pub const EDGE: u32 = 5;

/// Directions in which gradients around a point are added up to find its orientation.
pub const BINS: u32 = 32;

/// Radius in pixels of the disc around a point that says its orientation.
pub const ORIENTATION_RADIUS: i32 = 8;

/// Fields along each side of a descriptor.
pub const FIELDS: u32 = 4;

/// Fields of a descriptor, a thread each.
pub const ALL_FIELDS: u32 = FIELDS * FIELDS;

/// Samples along each side of a field.
pub const SAMPLES: u32 = 4;

/// Pixels from sample to sample.
pub const SPACING: f32 = 1.5;

/// Directions of a field.
pub const DIRECTIONS: usize = 8;

/// Matches that are kept for each point: the second must be of another place than the first, which has often
/// been found several times.
pub const KEPT: usize = 4;

/// The most that something in a picture stands out within a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Peak {
    /// Where it is, between pixels; centres are at integers.
    pub at: Vec2,
    /// How much it stands out; 0 if the cell has none.
    pub value: f32,
}

/// Where a descriptor is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Pose {
    /// Its middle; pixel centres are at integers.
    pub at: Vec2,
    /// Cosine and sine of its orientation, from the x axis towards the y axis.
    pub along: Vec2,
}

/// Gradients of a field by direction.
pub type Field = [f32; DIRECTIONS];

/// How a picture changes around a point: the fields' directions, in bytes, of the same length for all
/// points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Descriptor(pub [u32; Descriptor::WORDS]);

impl Descriptor {
    /// Words of four bytes.
    pub const WORDS: usize = ALL_FIELDS as usize * DIRECTIONS / 4;

    /// Length as a vector, but for the rounding of its bytes.
    pub const LENGTH: f32 = 512.0;
}

/// The points of another picture that are most like one, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Nearest {
    /// Which.
    pub index: [u32; KEPT],
    /// Product of both descriptors: at most the square of their length. 0 where there is none.
    pub product: [u32; KEPT],
}
