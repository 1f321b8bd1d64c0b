//! Tests of the stitch kernels: the lookup `planes` compared with the specification's formula, and the lookup `mesh`
//! compared with `planes`.

mod mesh;
mod planes;
