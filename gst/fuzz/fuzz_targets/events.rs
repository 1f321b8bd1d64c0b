//! Fuzzes the target `events`.

#![cfg_attr(fuzzing, no_main)]

panoweave_fuzz::program!(gst_plugin_panoweave_fuzz::TARGETS, "events");
