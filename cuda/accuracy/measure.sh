#!/bin/sh
# Measures the functions on the first GPU and prints the tables of ../doc/maths.md. Needs cargo, g++ with libquadmath,
# nvcc and the other tools of the CUDA toolkit in PATH, and Python. The GPU must have 4 GB of free memory.
#
#     sh cuda/accuracy/measure.sh
set -eu
cd "$(dirname "$0")/../.."
out=target/maths-accuracy
mkdir -p "$out"
cargo run -q -p stable-cargo-cuda -- cuda ptx --package maths-accuracy --arch sm_90 > "$out/registers.txt"
g++ -O2 -c cuda/accuracy/reference.cpp -o "$out/reference.o"
nvcc -O2 -std=c++17 -arch=native ${NVCC_FLAGS-} cuda/accuracy/compare.cu "$out/reference.o" -lquadmath -o "$out/compare"
"$out/compare" target/cargo-cuda/maths-accuracy.sm_90.ptx > "$out/errors.txt"
python3 cuda/accuracy/table.py target/cargo-cuda/maths-accuracy.sm_90.ptx "$out/errors.txt"
