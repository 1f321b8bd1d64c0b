//! Runs every input of the corpus.

use gst_plugin_panoweave_fuzz::TARGETS;

#[test]
fn corpus() {
    for target in TARGETS {
        panoweave_fuzz::replay(*target, env!("CARGO_MANIFEST_DIR"));
    }
}
