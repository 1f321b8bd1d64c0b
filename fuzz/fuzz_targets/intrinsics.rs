//! Fuzzes the target `intrinsics`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(panoweave_fuzz::TARGETS, "intrinsics");
