//! panoweave-benches
