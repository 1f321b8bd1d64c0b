//! The operations of a scan.

/// An associative operation on numbers. It need not be commutative.
pub trait Operator {
    /// The number that does not change the other operand.
    const IDENTITY: u32;

    /// Combines a number with the one that follows it.
    fn combine(first: u32, second: u32) -> u32;
}

/// The sum, modulo 2³².
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl Operator for Sum {
    const IDENTITY: u32 = 0;

    #[inline(always)]
    fn combine(first: u32, second: u32) -> u32 {
        first.wrapping_add(second)
    }
}

/// The maximum.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl Operator for Max {
    const IDENTITY: u32 = 0;

    #[inline(always)]
    fn combine(first: u32, second: u32) -> u32 {
        first.max(second)
    }
}
