//! More than 128 parameters, which a kernel cannot have: a view takes 4, so 33 views take 132.

#![allow(unused_variables, reason = "there are too many")]

use cuda_std::prelude::*;

type V = View<u8>;

#[kernel]
#[rustfmt::skip]
fn views(
    a0: V, a1: V, a2: V, a3: V, a4: V, a5: V, a6: V, a7: V, a8: V, a9: V, aa: V,
    b0: V, b1: V, b2: V, b3: V, b4: V, b5: V, b6: V, b7: V, b8: V, b9: V, ba: V,
    c0: V, c1: V, c2: V, c3: V, c4: V, c5: V, c6: V, c7: V, c8: V, c9: V, ca: V,
) {}

fn main() {}
