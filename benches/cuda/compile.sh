#!/bin/sh
# Usage: compile.sh FOLDER. Compiles the .cu files beside this script to PTX in FOLDER, for the local GPU. To use
# the PTX in benches, set PANOWEAVE_REFERENCE_PTX to FOLDER. Needs nvcc in PATH, in $CUDA_PATH/bin or in
# /usr/local/cuda/bin.
[ $# = 1 ] || { echo "usage: compile.sh FOLDER"; exit 2; }
nvcc=$(PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin:/usr/local/cuda/bin" command -v nvcc) || {
    echo "no CUDA C++ to compare with: cannot find nvcc"; exit 1
}
# Jetson's nvidia-smi does not report the compute capability. Orin's is 8.7.
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
case $arch in ''|*[!0-9]*) arch=87 ;; esac
mkdir -p "$1" || exit 1
for file in "$(dirname "$0")"/*.cu; do
    # A file that needs -rdc=true contains this option in its first comment.
    rdc=$(grep -o -m 1 -e -rdc=true "$file")
    "$nvcc" -O3 "-arch=sm_$arch" $rdc -ptx -o "$1/$(basename "$file" .cu).ptx" "$file" || exit 1
done
"$nvcc" --version | tail -n 2 | head -n 1
