//! Fuzzes the target `transport_stream`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(panoweave_fuzz::TARGETS, "transport_stream");
