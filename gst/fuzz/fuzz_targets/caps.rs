//! Fuzzes the target `caps`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(gst_plugin_panoweave_fuzz::TARGETS, "caps");
