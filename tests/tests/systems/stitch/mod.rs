//! Tests of the stitch kernels. They compare stitches with the lookup `planes` with the specification's formula, and
//! stitches with the lookup `mesh` with those with `planes`.

mod mesh;
mod planes;
