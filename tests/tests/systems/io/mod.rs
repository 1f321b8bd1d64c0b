//! Tests that read and write picture files.

mod picture;
