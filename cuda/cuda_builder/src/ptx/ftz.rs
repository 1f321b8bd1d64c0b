//! Flushes subnormal numbers to zero by adding `.ftz` to single-precision instructions.
//!
//! LLVM does this for functions with an attribute that rustc cannot set. Instructions in `asm!`
//! stay unchanged, because their author chose the modifiers.

use super::scan::replace_lines;

/// The instructions that accept `.ftz` with type `.f32`.
const FAMILIES: [&str; 17] = [
    "abs", "add", "cos", "div", "ex2", "fma", "lg2", "mad", "max", "min", "mul", "neg", "rcp",
    "rsqrt", "setp", "sqrt", "sub",
];

/// The parts of an instruction's name before which `.ftz` is inserted.
const AFTER: [&str; 6] = ["sat", "NaN", "xorsign", "relu", "f32", "f32x2"];

/// Returns the PTX with `.ftz` added to every instruction outside `asm!` that accepts it.
pub(crate) fn flush_denormals(ptx: &str) -> String {
    replace_lines(ptx, |line| {
        let name = line.split_whitespace().find(|word| !word.starts_with('@'))?;
        Some(line.replacen(name, &flushing(name)?, 1))
    })
}

/// Returns the new name of an instruction, if it accepts `.ftz` and lacks it.
fn flushing(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let (family, kind) = (parts.first()?, parts.last()?);
    let takes =
        matches!(*kind, "f32" | "f32x2") && FAMILIES.contains(family) && !parts.contains(&"ftz");
    let at = parts.iter().position(|part| AFTER.contains(part)).filter(|_| takes)?;
    let mut parts = parts;
    parts.insert(at, "ftz");
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_flushes() {
        for (before, after) in [
            ("\tadd.rn.f32 \t%r1, %r2, %r3;\n", "\tadd.rn.ftz.f32 \t%r1, %r2, %r3;\n"),
            ("\t@%p1 fma.rn.f32x2 \t%rd1, %rd2;\n", "\t@%p1 fma.rn.ftz.f32x2 \t%rd1, %rd2;\n"),
            ("\tmin.NaN.f32 \t%r1, %r2, %r3;\n", "\tmin.ftz.NaN.f32 \t%r1, %r2, %r3;\n"),
            ("\tadd.rn.sat.f32 \t%r1, %r2;\n", "\tadd.rn.ftz.sat.f32 \t%r1, %r2;\n"),
            ("\tsetp.lt.f32 \t%p1, %r2;\n", "\tsetp.lt.ftz.f32 \t%p1, %r2;\n"),
        ] {
            assert_eq!(flush_denormals(before), after);
        }
    }

    #[test]
    fn all_else_stays() {
        for line in [
            "\tadd.rn.f64 \t%rd1, %rd2, %rd3;\n",
            "\tadd.s32 \t%r1, %r2, %r3;\n",
            "\tcvt.rn.f32.u32 \t%r1, %r2;\n",
            "\tld.global.f32 \t%r1, [%rd1];\n",
            "\tatom.global.add.f32 \t%r1, [%rd1], %r2;\n",
            "\tex2.approx.ftz.f32 \t%r1, %r2;\n",
            "\t// begin inline asm\n\tadd.rn.f32 %r1, %r2, %r3;\n\t// end inline asm\n",
        ] {
            assert_eq!(flush_denormals(line), line);
        }
    }
}
