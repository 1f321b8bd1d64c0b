//! Tests of the stitch kernels. A stitch that uses the lookup `planes` must match the specification's formula, and a
//! stitch that uses `mesh` must match one that uses `planes`. `sum` tests the lookup `planes` for any number of
//! cameras, `sixteen_bit` pictures with 16 bits per channel, and `lookups` which lookups support a stitch.

mod lookups;
pub(crate) mod mesh;
mod planes;
mod shoulder;
mod sixteen_bit;
mod sum;
