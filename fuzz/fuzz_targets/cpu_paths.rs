//! Fuzzes the target `cpu_paths`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(panoweave_fuzz::TARGETS, "cpu_paths");
