//! Adds the shared space to the addresses of matrix loads.
//!
//! `cuda_std` passes an address in the shared space to LLVM's intrinsic for `ldmatrix`. Rust has no
//! pointers to the shared space, so LLVM writes the instruction for a generic address. `ptxas`
//! converts a generic address with several instructions.
//!
//! Inline assembly stays as it is, because its address may be generic.

use super::scan::replace_lines;

/// Returns the PTX with `.shared` added to every `ldmatrix` of the compiler that lacks it.
pub(crate) fn load_shared_matrices(ptx: &str) -> String {
    replace_lines(ptx, |line| {
        let is_generic = line.trim_start().starts_with("ldmatrix.") && !line.contains(".shared");
        is_generic.then(|| line.replacen(".b16", ".shared.b16", 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_loads_get_their_space() {
        let before = "\tldmatrix.sync.aligned.m8n8.x4.trans.b16 {%r1, %r2, %r3, %r4}, [%rd1+16];\n";
        let after = before.replace(".b16", ".shared.b16");
        assert_eq!(load_shared_matrices(before), after);
        assert_eq!(load_shared_matrices(&after), after);
        let own = format!("\t// begin inline asm\n{before}\t// end inline asm\n");
        assert_eq!(load_shared_matrices(&own), own);
        let other = "\tld.global.b16 \t%rs1, [%rd1];\n";
        assert_eq!(load_shared_matrices(other), other);
    }
}
