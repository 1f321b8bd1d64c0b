//! Suggests a known name for a name with a typing error.

/// Returns the known name that is most similar to `name`, if one is similar enough: at most a third of its characters
/// differ, or one name contains the other.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let score = |known: &'a str| {
        let contains = !name.is_empty() && (known.contains(name) || name.contains(known));
        let limit = name.chars().count().max(known.chars().count()).div_ceil(3);
        let distance = distance(name, known);
        (distance <= limit || contains).then_some((distance, known))
    };
    known.filter_map(score).min().map(|(_, known)| known)
}

/// Returns the number of characters to insert, delete or replace, and of neighbours to swap, that turns `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Entry [i][j] is the distance of the first i characters of `a` and the first j of `b`.
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    table[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("add", "add"), 0);
        assert_eq!(distance("add", "dad"), 1);
        assert_eq!(distance("stitch", "snitches"), 3);
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["add", "matmul", "reduce_sum"];
        let find = |name| nearest(name, known.into_iter());
        assert_eq!(find("ad"), Some("add"));
        assert_eq!(find("matmlu"), Some("matmul"));
        assert_eq!(find("reduce"), Some("reduce_sum"));
        assert_eq!(find("histogram"), None);
        assert_eq!(find(""), None);
    }
}
