#!/usr/bin/env python3
"""Prints the tables of `cuda/doc/maths.md`.

    python3 table.py KERNELS.ptx ERRORS.txt

KERNELS.ptx is the PTX of this package for sm_90, and ERRORS.txt the output of `compare`. The script compiles the same
kernels with CUDA's functions, and counts the instructions of both. It needs nvcc, ptxas and cuobjdump in PATH. The
environment variable NVCC_FLAGS adds options for nvcc, such as -I.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

ARCH = "sm_90"
ONE = (
    "sin cos tan asin acos atan sinpi cospi exp exp2 expm1 log log2 log10 log1p sinh cosh tanh asinh acosh atanh "
    "cbrt rcbrt erf erfc"
).split()
TWO = {"pow": "pow{f}(x, y)", "atan2": "atan2{f}(x, y)", "hypot": "hypot{f}(x, y)", "rem": "rem(x, y)"}
PAIR = ["sincos", "sincospi"]
NAMES = {
    "expm1": "exp_m1", "log": "ln", "log1p": "ln_1p", "pow": "powf", "rem": "rem_euclid", "sincos": "sin_cos",
    "erf": "error_function", "erfc": "complementary_error_function",
}  # fmt: skip


def source():
    """Returns CUDA C++ with the kernels of `src/lib.rs`."""
    lines = [
        "template <class T> __device__ T rem(T x, T y) { T r = fmod(x, y); return r < 0 ? r + fabs(y) : r; }",
        "#define AT unsigned i = blockIdx.x * blockDim.x + threadIdx.x",
    ]
    for type_, suffix, f in (("float", "f32", "f"), ("double", "f64", "")):
        begin = f'extern "C" __global__ void %s_{suffix}(const {type_}* a'
        kernel = lambda name, more, body: lines.append(f"{begin % name}{more}, {type_}* out) {{ AT; {body} }}")
        kernel("copy", "", "out[i] = a[i];")
        for name in ONE:
            kernel(name, "", f"out[i] = {name}{f}(a[i]);")
        for name, call in TWO.items():
            kernel(name, f", const {type_}* b", f"{type_} x = a[i], y = b[i]; out[i] = {call.format(f=f)};")
        for name in PAIR:
            kernel(name, "", f"{type_} s, c; {name}{f}(a[i], &s, &c); out[2 * i] = s; out[2 * i + 1] = c;")
    return "\n".join(lines)


def count(cubin):
    """Returns the number of instructions of each kernel, without the padding after the last one."""
    text = subprocess.run(["cuobjdump", "-sass", cubin], capture_output=True, text=True, check=True).stdout
    counts, name = {}, None
    for line in text.splitlines():
        if found := re.search(r"Function : (\w+)", line):
            name, counts[found[1]] = found[1], 0
        elif found := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
            # The padding is a branch to itself and NOPs.
            address, instruction = int(found[1], 16), found[2]
            own = re.fullmatch(r"BRA\s+(?:`\(.*\)|0x([0-9a-f]+))", instruction)
            is_padding = instruction == "NOP" or own and own[1] and int(own[1], 16) == address
            counts[name] += not is_padding
    return counts


def main():
    ptx, errors = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        with open(path("kernels.cu"), "w") as file:
            file.write(source())
        flags = shlex.split(os.environ.get("NVCC_FLAGS", ""))
        nvcc = ["nvcc", "-cubin", f"-arch={ARCH}", *flags, path("kernels.cu"), "-o", path("nvcc.cubin")]
        subprocess.run(nvcc, check=True)
        subprocess.run(["ptxas", f"-arch={ARCH}", ptx, "-o", path("ours.cubin")], check=True)
        ours, theirs = count(path("ours.cubin")), count(path("nvcc.cubin"))
    measured = {}
    with open(errors) as file:
        for line in file:
            if found := re.match(r"(\w+)\s+(f\d\d)\s+ours\s+(\S+) at .* nvcc\s+(\S+) at ", line):
                measured[f"{found[1]}_{found[2]}"] = found[3], found[4]
    for suffix in ("f32", "f64"):
        print(f"\n| {suffix} | error, ULP | CUDA's | instructions | CUDA's | ratio |\n|---|---|---|---|---|---|")
        for name in ["copy", *ONE, *TWO, *PAIR]:
            key = f"{name}_{suffix}"
            error, reference = (f"{float(e):.2f}" for e in measured[key]) if key in measured else ("", "")
            title = NAMES.get(name, name)
            title = f"`{title}`" if name != "copy" else "(copy)"
            ratio = ours[key] / theirs[key]
            print(f"| {title} | {error} | {reference} | {ours[key]} | {theirs[key]} | {ratio:.2f} |")


main()
