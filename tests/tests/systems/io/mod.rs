//! Tests that read and write picture files.

mod picture;
mod sixteen_bit;
