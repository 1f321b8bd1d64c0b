//! Fuzzes the target `raw_planes`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(panoweave_fuzz::TARGETS, "raw_planes");
