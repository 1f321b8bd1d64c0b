//! The stitch kernels: `planes` against the formula, `mesh` against `planes`.

mod mesh;
mod planes;
