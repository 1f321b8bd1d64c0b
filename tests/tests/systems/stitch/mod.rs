//! The stitch kernels: `planes` compared with the formula, and `mesh` with `planes`.

mod mesh;
mod planes;
