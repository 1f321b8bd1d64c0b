#!/bin/sh
# Usage: compile.sh FOLDER. Compiles every .cu file beside this script to a shared library in FOLDER, for the local GPU.
# To use the libraries in the bench, set CUDA_BENCH_REFERENCE to FOLDER. Needs nvcc in PATH, in $CUDA_PATH/bin or in
# /usr/local/cuda/bin. NVCC_FLAGS may add options, such as -I and -L for a toolkit in parts.
[ $# = 1 ] || { echo "usage: compile.sh FOLDER"; exit 2; }
nvcc=$(PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin:/usr/local/cuda/bin" command -v nvcc) || {
    echo "no CUDA C++ to compare with: cannot find nvcc"; exit 1
}
arch=${CUDA_ARCH:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)}
case ${arch%a} in ''|*[!0-9]*) echo "no GPU, and CUDA_ARCH is not set"; exit 1 ;; esac
# The instructions of warpgroups exist only in sm_90a.
[ "$arch" = 90 ] && arch=90a
mkdir -p "$1" || exit 1
for file in "$(dirname "$0")"/*.cu; do
    # A file that needs a library names it in its first line: "Link: -lcublas".
    link=$(sed -n '1s/.*Link: //p' "$file")
    # shellcheck disable=SC2086 # The variables contain several options.
    "$nvcc" -O3 -std=c++17 "-arch=sm_$arch" -shared -Xcompiler -fPIC $NVCC_FLAGS \
        -o "$1/$(basename "$file" .cu).so" "$file" $link &
done
wait
"$nvcc" --version | tail -n 2 | head -n 1
