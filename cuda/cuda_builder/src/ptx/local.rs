//! Replaces compare-and-swap on local memory with a load, a comparison and a store.
//!
//! Only one thread accesses local memory, so no atomicity is needed. LLVM replaces all other atomic
//! operations on local memory itself, but writes an `atom` instruction for compare-and-swap, which
//! `ptxas` rejects because `atom` does not support local memory.

use super::scan::replace_lines;

/// Returns the PTX with every `atom.….local.cas.TYPE old, [place], expected, new;` of the compiler
/// replaced by a load, a comparison and a store.
pub(crate) fn lower_local_swaps(ptx: &str) -> String {
    replace_lines(ptx, |line| {
        let (name, operands) = line.trim().strip_suffix(';')?.split_once(char::is_whitespace)?;
        let (_, ty) = name.strip_prefix("atom.")?.split_once("local.cas.")?;
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        let [old, place, expected, new] = operands[..] else { return None };
        Some(format!(
            "\t{{\n\t.reg .pred \t%same;\n\tld.local.{ty} \t{old}, {place};\n\
             \tsetp.eq.{ty} \t%same, {old}, {expected};\n\t@%same st.local.{ty} \t{place}, {new};\n\t}}\n"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_swaps_change() {
        let other =
            "\tatom.relaxed.sys.global.cas.b64 \t%rd4, [x], 0, 1;\n\tst.local.b64 \t[%rd1], 0;\n";
        assert_eq!(lower_local_swaps(other), other);
        let local = "\tatom.relaxed.sys.local.cas.b64 \t%rd2, [%rd1+8], %rd5, 1;\n";
        let expected = "\t{\n\t.reg .pred \t%same;\n\tld.local.b64 \t%rd2, [%rd1+8];\n\
            \tsetp.eq.b64 \t%same, %rd2, %rd5;\n\t@%same st.local.b64 \t[%rd1+8], 1;\n\t}\n";
        assert_eq!(lower_local_swaps(local), expected);
    }
}
