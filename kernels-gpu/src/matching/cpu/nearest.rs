//! The search for similar descriptors, as a product of two matrices of bytes.
//!
//! [`LANES`] descriptors of the other picture form a panel, in which a vector holds two bytes of each of them, as 16-bit
//! numbers. One instruction multiplies these pairs with a pair of bytes of one descriptor and adds the two products.
//! Each loaded vector serves [`GROUP`] descriptors, and each panel in the cache serves [`CHUNK`].

use crate::cpu::threads;
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use rayon::prelude::*;
use shared_types::matching::{Descriptor, KEPT, Nearest};
use std::vec;
use std::vec::Vec;

/// The number of descriptors in a panel.
const LANES: usize = 16;

/// The number of pairs of bytes in a descriptor.
const PAIRS: usize = 2 * Descriptor::WORDS;

/// The number of descriptors that are multiplied with a panel at a time. Their sums fit into the registers of AVX2.
const GROUP: usize = 6;

/// The number of descriptors that a core compares with all panels. It is a multiple of [`GROUP`].
const CHUNK: usize = 16 * GROUP;

/// A descriptor as pairs of 16-bit numbers.
type Wide = [[i16; 2]; PAIRS];

/// The descriptors of a panel: for each pair of bytes, those of all descriptors.
#[repr(align(64))]
struct Panel([[[i16; 2]; LANES]; PAIRS]);

/// The dot products of a group with a panel.
type Products = [[i32; LANES]; GROUP];

/// A function that finds the nearest descriptors of at most [`CHUNK`] descriptors.
type Compare = unsafe fn(&[Panel], &[Descriptor], &mut [Nearest]);

/// Computes a launch of the kernel.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access `out` or write the descriptors.
pub(in crate::matching) unsafe fn find_nearest(
    config: &LaunchConfig,
    these: Slice<Descriptor>,
    others: Slice<Descriptor>,
    out: SliceMut<Nearest>,
) -> bool {
    // SAFETY: the caller guarantees it.
    let (these, others, out) =
        unsafe { (these.as_host_slice(), others.as_host_slice(), out.as_host_slice()) };
    let count = these.len().min(out.len()).min(threads(config, 0) as usize);
    let panels: Vec<Panel> = others.par_chunks(LANES).map(Panel::new).collect();
    let compare = fastest();
    out[..count].par_chunks_mut(CHUNK).zip(these[..count].par_chunks(CHUNK)).for_each(
        // SAFETY: the CPU supports the instructions of `compare`.
        |(out, these)| unsafe { compare(&panels, these, out) },
    );
    true
}

/// Finds the nearest descriptors of `these`, with a function that multiplies a group with a panel.
#[inline(always)]
fn compare(
    panels: &[Panel],
    these: &[Descriptor],
    out: &mut [Nearest],
    multiply: impl Fn(&Panel, &[Wide; GROUP]) -> Products,
) {
    let mut groups = vec![[[[0; 2]; PAIRS]; GROUP]; these.len().div_ceil(GROUP)];
    for (wide, this) in groups.as_flattened_mut().iter_mut().zip(these) {
        *wide = widened(this);
    }
    out.fill(Nearest::default());
    for (panel, first) in panels.iter().zip((0..).step_by(LANES)) {
        for (group, out) in groups.iter().zip(out.chunks_mut(GROUP)) {
            let products = multiply(panel, group);
            for (products, best) in products.iter().zip(out) {
                let mut largest = 0;
                for product in products {
                    largest = largest.max(*product);
                }
                if largest as u32 > best.product[KEPT - 1] {
                    insert(products, first, best);
                }
            }
        }
    }
}

/// Adds the descriptors from index `first` on to the nearest ones of a descriptor, in the order of the kernel.
fn insert(products: &[i32; LANES], first: u32, best: &mut Nearest) {
    for (product, index) in products.iter().map(|product| *product as u32).zip(first..) {
        let before = best.product.iter().filter(|kept| **kept >= product).count();
        if before < KEPT {
            best.product.copy_within(before..KEPT - 1, before + 1);
            best.index.copy_within(before..KEPT - 1, before + 1);
            (best.product[before], best.index[before]) = (product, index);
        }
    }
}

/// Returns the bytes of a descriptor as 16-bit numbers.
fn widened(Descriptor(words): &Descriptor) -> Wide {
    let mut wide = [[0; 2]; PAIRS];
    for (pairs, word) in wide.chunks_exact_mut(2).zip(words) {
        let [a, b, c, d] = word.to_le_bytes().map(i16::from);
        pairs.copy_from_slice(&[[a, b], [c, d]]);
    }
    wide
}

impl Panel {
    /// Creates a panel of at most [`LANES`] descriptors. The missing ones are 0; products of 0 are ignored.
    fn new(descriptors: &[Descriptor]) -> Self {
        let mut panel = Self([[[0; 2]; LANES]; PAIRS]);
        for (lane, descriptor) in descriptors.iter().enumerate() {
            for (pairs, pair) in panel.0.iter_mut().zip(widened(descriptor)) {
                pairs[lane] = pair;
            }
        }
        panel
    }
}

/// Returns the fastest function that the CPU supports.
fn fastest() -> Compare {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = std::is_x86_feature_detected!("avx512f");
        if wide && std::is_x86_feature_detected!("avx512vnni") {
            return x86::compare_avx512;
        }
        if std::is_x86_feature_detected!("avx2") {
            return x86::compare_avx2;
        }
    }
    |panels, these, out| compare(panels, these, out, multiply)
}

/// Multiplies a group with a panel on any CPU.
fn multiply(Panel(panel): &Panel, group: &[Wide; GROUP]) -> Products {
    let mut products = [[0; LANES]; GROUP];
    for (products, this) in products.iter_mut().zip(group) {
        for (others, [a, b]) in panel.iter().zip(this) {
            for (sum, [c, d]) in products.iter_mut().zip(others) {
                *sum += i32::from(*a) * i32::from(*c) + i32::from(*b) * i32::from(*d);
            }
        }
    }
    products
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{GROUP, LANES, PAIRS, Panel, Products, Wide, compare};
    use core::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi32, _mm256_madd_epi16, _mm256_set1_epi32,
        _mm256_setzero_si256, _mm512_dpwssd_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
    };
    use shared_types::matching::{Descriptor, Nearest};

    /// See [`compare`].
    ///
    /// # Safety
    /// The CPU must support AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn compare_avx2(panels: &[Panel], these: &[Descriptor], out: &mut [Nearest]) {
        compare(panels, these, out, |panel, group| multiply_avx2(panel, group));
    }

    /// See [`compare`].
    ///
    /// # Safety
    /// The CPU must support AVX-512 with VNNI.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) unsafe fn compare_avx512(
        panels: &[Panel],
        these: &[Descriptor],
        out: &mut [Nearest],
    ) {
        compare(panels, these, out, |panel, group| multiply_avx512(panel, group));
    }

    /// Returns a pair of numbers as one, for instructions that take vectors of pairs.
    #[inline(always)]
    fn pair([a, b]: [i16; 2]) -> i32 {
        i32::from(b) << 16 | i32::from(a as u16)
    }

    /// Multiplies a group with a panel.
    #[target_feature(enable = "avx2")]
    fn multiply_avx2(Panel(panel): &Panel, group: &[Wide; GROUP]) -> Products {
        const VECTORS: usize = LANES / 8;
        // SAFETY: a panel is aligned and as large as these vectors, which accept all bits.
        let panel = unsafe { &*(&raw const *panel).cast::<[[__m256i; VECTORS]; PAIRS]>() };
        let mut sums = [[_mm256_setzero_si256(); VECTORS]; GROUP];
        for j in 0..PAIRS {
            for i in 0..GROUP {
                let this = _mm256_set1_epi32(pair(group[i][j]));
                for (sum, others) in sums[i].iter_mut().zip(panel[j]) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(others, this));
                }
            }
        }
        // SAFETY: both types have the same size and accept all bits.
        unsafe { core::mem::transmute::<[[__m256i; VECTORS]; GROUP], Products>(sums) }
    }

    /// Multiplies a group with a panel.
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn multiply_avx512(Panel(panel): &Panel, group: &[Wide; GROUP]) -> Products {
        // SAFETY: a panel is aligned and as large as these vectors, which accept all bits.
        let panel = unsafe { &*(&raw const *panel).cast::<[__m512i; PAIRS]>() };
        let mut sums = [_mm512_setzero_si512(); GROUP];
        for j in 0..PAIRS {
            for i in 0..GROUP {
                let this = _mm512_set1_epi32(pair(group[i][j]));
                sums[i] = _mm512_dpwssd_epi32(sums[i], panel[j], this);
            }
        }
        // SAFETY: both types have the same size and accept all bits.
        unsafe { core::mem::transmute::<[__m512i; GROUP], Products>(sums) }
    }
}
