//! Extracts one kernel, and the functions that it calls, from the PTX of a package.

/// A function or kernel in PTX.
struct Function<'a> {
    name: &'a str,
    text: &'a str,
}

/// Returns the text of the kernel `name`, after the texts of the functions in the same PTX that it calls. `None` if the
/// PTX does not define the kernel.
pub(super) fn kernel(ptx: &str, name: &str) -> Option<String> {
    let all = functions(ptx);
    let mut wanted = vec![all.iter().position(|function| function.name == name)?];
    let mut next = 0;
    while let Some(&at) = wanted.get(next) {
        next += 1;
        for (other, function) in all.iter().enumerate() {
            if !wanted.contains(&other) && mentions(all[at].text, function.name) {
                wanted.push(other);
            }
        }
    }
    // The kernel itself is last.
    Some(wanted.iter().rev().map(|&at| format!("{}\n", all[at].text)).collect())
}

/// Returns whether `text` contains `name` as a whole identifier.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    text.split(|c| !is_part(c)).any(|word| word == name)
}

/// Returns every function and kernel with a body, in the order of the PTX.
fn functions(ptx: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = ptx[at..].split_inclusive('\n').next() {
        let definition = name(line).and_then(|name| Some((name, body_end(&ptx[at..])?)));
        match definition {
            Some((name, length)) => {
                found.push(Function { name, text: &ptx[at..at + length] });
                at += length;
            }
            None => at += line.len(),
        }
    }
    found
}

/// Returns the name in the first line of a kernel or function.
fn name(line: &str) -> Option<&str> {
    let line = line.split("//").next()?;
    let after = [".entry ", ".func "].iter().find_map(|word| line.split_once(word))?.1.trim_start();
    // A function may have its result, in parentheses, before its name.
    let after = match after.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1.trim_start(),
        None => after,
    };
    let name = after.split(|c: char| c == '(' || c.is_whitespace()).next()?;
    (!name.is_empty()).then_some(name)
}

/// Returns the length of the function at the start of `ptx`, up to and including its last brace. `None` if it is only a
/// declaration.
fn body_end(ptx: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    for line in ptx.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        for (offset, character) in code.char_indices() {
            match character {
                ';' if depth == 0 => return None,
                '{' => depth += 1,
                '}' if depth == 1 => return Some(at + offset + 1),
                '}' => depth -= 1,
                _ => {}
            }
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 6.3
.target sm_75
.func (.param .b32 result) declared(.param .b32 x);
.func  (.param .b32 result) helper(
\t.param .b32 x
)
{
\t{ // a block {
\tld.v2 {%r1, %r2}, [x];
\t}
\tcall declared;
}
.visible .entry add(
\t.param .u64 a
)
.maxntid 256, 1, 1
{
\tcall.uni (%r), helper, (%x);
\tret;

}
\t// .globl add_all
.visible .entry add_all()
{
\tret;
}
";

    #[test]
    fn a_kernel_comes_with_the_functions_that_it_calls() {
        let text = kernel(PTX, "add").expect("the kernel");
        assert!(text.starts_with(".func  (.param .b32 result) helper("), "{text}");
        assert!(text.contains(".visible .entry add(\n") && text.ends_with("\n}\n"), "{text}");
        assert!(!text.contains("add_all") && !text.contains(".version"), "{text}");
    }

    #[test]
    fn only_whole_names_match() {
        let text = kernel(PTX, "add_all").expect("the kernel");
        assert_eq!(text, ".visible .entry add_all()\n{\n\tret;\n}\n");
        assert!(kernel(PTX, "ad").is_none() && kernel(PTX, "declared").is_none());
        assert!(kernel("", "add").is_none());
        assert!(kernel(".visible .entry add(\n{", "add").is_none());
    }
}
