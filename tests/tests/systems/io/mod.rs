//! Picture files.

mod picture;
