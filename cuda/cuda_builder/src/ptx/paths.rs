//! Checks that every path through a kernel's body reaches a given instruction before it returns.
//!
//! The check uses only statements, labels and branches. It does not evaluate predicates and assumes
//! that each can be true or false.

use std::collections::BTreeMap;

/// Returns whether some path through the body `words` returns without reaching `instruction`.
pub(super) fn return_without(instruction: &str, words: &[&str]) -> bool {
    let mut labels = BTreeMap::new();
    let statements: Vec<&[&str]> = words
        .split(|&word| word == ";")
        .enumerate()
        .map(|(i, mut statement)| {
            loop {
                statement = match statement {
                    ["{" | "}", rest @ ..] => rest,
                    [label, ":", rest @ ..] => {
                        labels.insert(*label, i);
                        rest
                    }
                    _ => break statement,
                }
            }
        })
        .collect();
    let at = |label: &str| labels.get(label).copied();

    let mut seen = vec![false; statements.len()];
    let mut open = vec![0];
    while let Some(i) = open.pop() {
        // A kernel also returns at the end of its body.
        let Some(statement) = statements.get(i) else { return true };
        if std::mem::replace(&mut seen[i], true) {
            continue;
        }
        let (guarded, statement) = match statement {
            ["@", "!", _, rest @ ..] | ["@", _, rest @ ..] => (true, rest),
            rest => (false, *rest),
        };
        let (word, last) = (statement.first().unwrap_or(&""), statement.last().unwrap_or(&""));
        let goes_on = match word.split('.').next() {
            _ if *word == instruction => false,
            Some("ret" | "exit") => return true,
            Some("trap") => false,
            Some("bra") => {
                open.extend(at(last));
                false
            }
            // The last operand of `brx` is the label of a branch table. The table lists the
            // possible target labels after `.branchtargets`.
            Some("brx") => {
                let table = at(last).map_or(&[][..], |table| statements[table]);
                open.extend(table.iter().filter_map(|label| at(label)));
                false
            }
            _ => true,
        };
        if goes_on || guarded {
            open.push(i + 1);
        }
    }
    false
}
