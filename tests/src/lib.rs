//! panoweave-tests
