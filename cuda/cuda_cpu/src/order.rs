//! The order in which a launch starts its blocks, and a block its threads.
//!
//! A seeded order is the affine permutation `i ↦ (a·i + b) mod n`, where `a` and `n` have no common
//! divisor. It needs no memory, and its first and last elements, and neighbours, differ between
//! seeds.

/// A permutation of `0..count`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    factor: u64,
    first: u64,
    count: u64,
}

impl Order {
    /// Returns the order of `count` items for a seed; ascending if there is none. Different `salt`s
    /// give different orders of the same seed.
    pub(crate) fn new(seed: Option<u64>, salt: u64, count: u64) -> Self {
        let Some(seed) = seed.filter(|_| count > 1) else {
            return Self { factor: 1, first: 0, count };
        };
        let random = mix(seed ^ mix(salt));
        let mut factor = 1 + mix(random) % (count - 1);
        while divisor(factor, count) != 1 {
            factor = factor % count + 1;
        }
        Self { factor, first: random % count, count }
    }

    /// Returns the item at position `i`, which is less than the number of items.
    #[inline]
    pub(crate) fn at(&self, i: u64) -> u64 {
        if self.factor == 1 && self.first == 0 {
            return i;
        }
        let product = u128::from(self.factor) * u128::from(i) + u128::from(self.first);
        (product % u128::from(self.count)) as u64
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Returns the greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_visits_every_item_once() {
        for count in (1..70).chain([1 << 20]) {
            for seed in [None, Some(0), Some(1), Some(u64::MAX)] {
                let order = Order::new(seed, 3, count);
                let mut seen = vec![false; count as usize];
                for i in 0..count {
                    let item = order.at(i) as usize;
                    assert!(!seen[item], "{seed:?} {count} {i}");
                    seen[item] = true;
                }
                assert!(seed.is_some() || order.at(count - 1) == count - 1);
            }
        }
    }

    #[test]
    fn seeds_and_salts_give_different_orders() {
        let orders = |salt| (0..8).map(move |seed| Order::new(Some(seed), salt, 1000));
        let mut starts: Vec<_> = orders(0).chain(orders(1)).map(|o| [o.at(0), o.at(1)]).collect();
        starts.sort_unstable();
        starts.dedup();
        assert_eq!(starts.len(), 16);
    }
}
