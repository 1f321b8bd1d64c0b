//! Tables and pages of the results.
