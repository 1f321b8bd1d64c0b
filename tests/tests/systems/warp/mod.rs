//! Tests of warps: the kernels that compute them, and the files that store them with or without a mesh.

mod file;
mod fisheye;
mod kernels;
mod malformed;
mod maths;
