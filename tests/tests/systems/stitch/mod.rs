//! Tests of the stitch kernels. A stitch that uses the lookup `planes` must match the specification's formula, and a
//! stitch that uses `mesh` must match one that uses `planes`.

mod mesh;
mod planes;
