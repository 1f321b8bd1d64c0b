//! Reading and writing picture files.

mod picture;
