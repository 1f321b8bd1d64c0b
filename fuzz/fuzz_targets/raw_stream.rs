//! Fuzzes the target `raw_stream`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(panoweave_fuzz::TARGETS, "raw_stream");
