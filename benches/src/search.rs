//! Finds the largest number that works, such as the number of pairs that a machine sustains. Doubles the number until
//! it fails and then bisects, because this needs few attempts, and an attempt is an expensive measurement.
//!
//! The caller passes the function that attempts a number, so that tests can search without measurements.

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The largest number that worked, or 0 if no number did.
    pub held: u32,
    /// The smallest number that failed, or `None` if no number did.
    pub broke: Option<u32>,
}

impl Found {
    /// Returns whether the search is precise enough: `broke` exceeds `held` by at most `held / part`, or by 1.
    fn is_near(self, part: u32) -> bool {
        self.broke.is_some_and(|broke| broke - self.held <= (self.held / part).max(1))
    }
}

/// Finds the largest number up to `most` for which `holds` returns `Some(true)`. Starts at `from` and doubles the
/// number until `holds` returns `Some(false)`. Then bisects until the smallest number that failed exceeds the largest
/// number `n` that worked by at most `n / part`, or by 1.
///
/// Assumes that all numbers below one that works also work. If `holds` returns `None`, the number cannot be tried, and
/// the search returns what it has found so far.
#[must_use]
pub fn largest(
    from: u32,
    most: u32,
    part: u32,
    mut holds: impl FnMut(u32) -> Option<bool>,
) -> Found {
    let mut found = Found { held: 0, broke: None };
    while found.held < most && !found.is_near(part) {
        let next = match found.broke {
            Some(broke) => found.held.midpoint(broke),
            None => found.held.saturating_mul(2).max(from).clamp(1, most),
        };
        match holds(next) {
            Some(true) => found.held = next,
            Some(false) => found.broke = Some(next),
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search in which exactly the numbers up to `limit` work. Returns the result and all tried numbers.
    fn search(from: u32, most: u32, part: u32, limit: u32) -> (Found, Vec<u32>) {
        let mut tried = Vec::new();
        let found = largest(from, most, part, |n| {
            tried.push(n);
            Some(n <= limit)
        });
        (found, tried)
    }

    #[test]
    fn it_doubles_and_then_bisects() {
        let (found, tried) = search(1, 1000, u32::MAX, 11);
        assert_eq!(tried, [1, 2, 4, 8, 16, 12, 10, 11]);
        assert_eq!(found, Found { held: 11, broke: Some(12) });
        // The search stops at a gap of 4 between 100 and 104, because a gap of 100 / 16 = 6 is precise enough.
        let (found, tried) = search(1, 1000, 16, 100);
        assert_eq!(tried, [1, 2, 4, 8, 16, 32, 64, 128, 96, 112, 104, 100]);
        assert_eq!(found, Found { held: 100, broke: Some(104) });
    }

    #[test]
    fn every_limit_is_found_from_everywhere() {
        for (from, most) in [(0, 40), (1, 40), (7, 40), (40, 40), (90, 40), (1, 1), (5, 0)] {
            for limit in 0..50 {
                let (found, tried) = search(from, most, u32::MAX, limit);
                let held = limit.min(most);
                let broke = (limit < most).then_some(limit + 1);
                assert_eq!(found, Found { held, broke }, "{limit}, from {from} to {most}");
                // The search tries nothing twice and nothing out of range.
                let mut once = tried.clone();
                once.sort_unstable();
                once.dedup();
                assert_eq!(once.len(), tried.len(), "{tried:?}");
                assert!(tried.iter().all(|n| (1..=most).contains(n)), "{tried:?}");
                assert!(tried.len() <= 13, "{tried:?}");
            }
        }
    }

    #[test]
    fn what_is_near_is_near_enough() {
        for limit in 0..2000 {
            let (Found { held, broke }, _) = search(1, 4000, 16, limit);
            let broke = broke.expect("a failure up to 4000");
            assert!(held <= limit && limit < broke, "{limit}: {held} to {broke}");
            assert!(broke - held <= (held / 16).max(1), "{limit}: {held} to {broke}");
        }
    }

    #[test]
    fn what_cannot_be_tried_ends_it() {
        let until =
            |last: u32, limit: u32| largest(1, 1000, 16, |n| (n <= last).then_some(n <= limit));
        assert_eq!(until(20, 1000), Found { held: 16, broke: None });
        assert_eq!(until(0, 1000), Found { held: 0, broke: None });
        // The first five attempts are 1, 2, 4, 8, which work, and 16, which fails. The sixth attempt is impossible.
        let mut tries = 0;
        let found = largest(1, 1000, 16, |n| {
            tries += 1;
            (tries <= 5).then_some(n < 10)
        });
        assert_eq!(found, Found { held: 8, broke: Some(16) });
    }
}
