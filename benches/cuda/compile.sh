#!/bin/sh
# compile.sh FOLDER: compiles the .cu files next to it to PTX in FOLDER, for the local GPU. Set PANOWEAVE_REFERENCE_PTX
# to FOLDER for the benches. Needs nvcc on the path, in CUDA_PATH, or where NVIDIA installs it.
[ $# = 1 ] || { echo "usage: compile.sh FOLDER"; exit 2; }
nvcc=$(PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin:/usr/local/cuda/bin" command -v nvcc) || {
    echo "no CUDA C++ to compare with: cannot find nvcc"; exit 1
}
# Jetson's nvidia-smi does not report it; Orin is 8.7.
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
case $arch in ''|*[!0-9]*) arch=87 ;; esac
mkdir -p "$1" || exit 1
for file in "$(dirname "$0")"/*.cu; do
    # The option as given in the comment of the file.
    rdc=$(grep -o -m 1 -e -rdc=true "$file")
    "$nvcc" -O3 "-arch=sm_$arch" $rdc -ptx -o "$1/$(basename "$file" .cu).ptx" "$file" || exit 1
done
"$nvcc" --version | tail -n 2 | head -n 1
