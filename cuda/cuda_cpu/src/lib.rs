//! cuda_cpu
