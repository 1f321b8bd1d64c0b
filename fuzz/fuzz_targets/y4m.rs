//! Fuzzes the target `y4m`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(panoweave_fuzz::TARGETS, "y4m");
