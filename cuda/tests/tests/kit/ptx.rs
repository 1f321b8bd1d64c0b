//! Checks the PTX text of the conformance kernels: launch bounds, barriers, the width of loads, prefetches, and the
//! absence of calls.
//!
//! The tests state the expected values themselves, and do not read them from the kernels' attributes. This way, they
//! also detect a macro or builder that loses an attribute.

use std::collections::BTreeSet;

use conformance_devices::CONFORMANCE;
use kit_tests::ptx::{Bounds, architectures, bounds, entries, waits_for_the_one_before};

/// The kernels whose launch bounds or number of barriers differ from the defaults: the maximum threads per block (1024
/// by default), the minimum blocks per multiprocessor (none by default), the number of barriers (0 by default) and the
/// names. The kernels that `memory::element!` defines for each of [`ELEMENTS`] are not listed.
const BOUNDS: &[(u32, Option<u32>, usize, &str)] = &[
    (1, None, 0, "bounds_1"),
    (
        32,
        None,
        1,
        "load_four_matrices load_four_transposed load_one_matrix load_one_transposed load_two_matrices \
         load_two_transposed race_with_partial_sync",
    ),
    (64, None, 0, "sum_columns"),
    (
        64,
        None,
        1,
        "copy_16_bytes copy_4_bytes copy_8_bytes global_sum race_with_old_reader unwritten",
    ),
    (64, None, 2, "program"),
    (64, None, 4, "copy_too_early"),
    (96, None, 0, "bounds_96"),
    (128, None, 0, "collections"),
    (128, Some(8), 0, "bounds_128_8"),
    (
        256,
        None,
        0,
        "copy_fours exchange_in_warp pixels race_with_sync_warp race_without_barrier shifted shifted_late",
    ),
    (
        256,
        None,
        1,
        "race_of_writers race_with_atomic race_with_barrier reverse_dynamic reverse_tail reverse_static \
         two_arrays",
    ),
    (256, None, 2, "histogram"),
    (
        1024,
        None,
        1,
        "barrier_after_return barrier_in_branch reduce_block transpose_padded transpose_tile",
    ),
    (1024, None, 2, "barrier_twice histogram_weights matmul_tiles reduce_strided rotate"),
    (1024, None, 3, "count_at_barrier"),
    (1024, Some(1), 0, "bounds_1024_1"),
];

/// The element types of the kernels that `memory::element!` defines: name, number of loads per element, and type suffix
/// of the load in PTX.
const ELEMENTS: &[(&str, usize, &str)] = &[
    ("u8", 1, "u8"),
    ("u16", 1, "u16"),
    ("u32", 1, "u32"),
    ("u64", 1, "u64"),
    ("pixel", 1, "u32"),
    ("quad", 1, "v4.u32"),
    ("odd", 3, "u32"),
    ("vec2", 2, "u32"),
    ("vec3", 3, "u32"),
];

/// Returns the expected bounds of the kernels of the conformance crate that differ from the defaults.
fn planned() -> BTreeSet<Bounds> {
    let bounds = BOUNDS.iter().flat_map(|&(threads, blocks, barriers, names)| {
        names.split(' ').map(move |name| (name.to_owned(), threads, blocks, barriers))
    });
    let elements = ELEMENTS.iter().flat_map(|(element, ..)| {
        [(format!("mirror_{element}"), 256, None, 0), (format!("share_{element}"), 256, None, 1)]
    });
    bounds.chain(elements).collect()
}

#[test]
fn every_conformance_kernel_has_its_bounds_and_barriers() {
    assert_eq!(architectures(CONFORMANCE), ["sm_80", "sm_90"]);
    for image in CONFORMANCE {
        let (planned, mut found) = (planned(), bounds(image));
        assert!(found.len() > 150, "{} kernels", found.len());
        found.retain(|(_, threads, blocks, barriers)| {
            (*threads, *blocks, *barriers) != (1024, None, 0)
        });
        let missing: Vec<_> = planned.difference(&found).collect();
        let unplanned: Vec<_> = found.difference(&planned).collect();
        assert!(missing.is_empty() && unplanned.is_empty(), "{missing:?} {unplanned:?}");
        let target = format!(".target {}\n", image.arch);
        assert!(image.text.get().contains(&target), "{}", image.arch);
    }
}

/// The kernels of the conformance crate that call `libm`, the heap or `vprintf`.
const CALLS: &[&str] = &["collections", "speak", "special_f32", "special_f64"];

#[test]
fn nothing_else_calls_a_function() {
    for image in CONFORMANCE {
        for (name, entry) in entries(image.text.get()) {
            assert_eq!(entry.count("call") > 0, CALLS.contains(&name), "{name}");
        }
    }
    // A panic in a kernel must compile to a single `trap` instruction, and not to a call.
    let text = CONFORMANCE[0].text.get();
    let panics = entries(text);
    for name in ["panic_at", "panic_with_message", "trap_at"] {
        assert_eq!(panics[name].count("trap"), 1, "{name}");
    }
}

#[test]
fn loads_are_as_wide_as_the_element_and_read_only() {
    for image in CONFORMANCE {
        let text = image.text.get();
        let entries = entries(text);
        for &(element, loads, width) in ELEMENTS {
            for kernel in ["copy", "mirror", "share"] {
                let name = format!("{kernel}_{element}");
                let entry = &entries[name.as_str()];
                let read_only = entry.count(&format!("ld.global.nc.{width} "));
                assert_eq!(read_only, loads, "{name}: {}", entry.body);
                assert_eq!(entry.count("ld.global."), loads, "{name}: {}", entry.body);
                assert_eq!(entry.count("ld.local"), 0, "{name}");
            }
            let share = &entries[format!("share_{element}").as_str()];
            for access in ["ld.shared", "st.shared"] {
                let found = share.count(&format!("{access}.{width} "));
                assert_eq!(found, loads, "{access} of {element}: {}", share.body);
                assert_eq!(share.count(access), loads, "{access} of {element}");
            }
        }
        let fours = &entries["copy_fours"];
        assert_eq!(fours.count("prefetch.global.L2 "), 1, "{}", fours.body);
        assert_eq!(fours.count("ld.global.nc.u32 "), 1, "{}", fours.body);
        let fours = &entries["reverse_fours"];
        assert_eq!(fours.count("ld.global.nc.v4.u32 "), 1, "{}", fours.body);
        assert_eq!(fours.count("st.global.v4"), 1, "{}", fours.body);
        assert_eq!(fours.count("ld.global"), 1, "{}", fours.body);
        // Between the loop's label and its backward branch, there must be only one multiplication, with 32 bits. If the
        // loop computed the address of each row, it would also need a 64-bit multiplication.
        let body = &entries["copy_columns"].body;
        let load = body.find("ld.global.nc.u16 ").expect("a load");
        let begin = body[..load].rfind(":\n").expect("a label");
        let end = load + body[load..].find("bra").expect("a branch");
        let lines = body[begin..end].lines().filter(|line| line.contains("mul."));
        let multiplications: Vec<_> = lines.map(|line| line.trim().split(' ').next()).collect();
        assert_eq!(multiplications, [Some("mul.wide.u32")], "{body}");
        let quad = &entries["copy_quad"];
        assert_eq!(quad.count("st.global.v4"), 1, "{}", quad.body);
        // A writable view must not be read through the read-only cache, because another thread may have written to it.
        let entry = &entries["view_mut_load"];
        assert_eq!(entry.count("ld.global.nc"), 0, "{}", entry.body);
        assert_eq!(entry.count("ld.global."), 1, "{}", entry.body);
        assert_eq!(entries["quads"].count("ld.const.v4.u32 "), 1);
    }
}

#[test]
fn warp_operations_are_neither_lost_nor_doubled() {
    for image in CONFORMANCE {
        let text = image.text.get();
        let entries = entries(text);
        for (name, instruction, count) in [
            ("shuffle_down_u32", "shfl.sync.down.b32", 1),
            ("shuffle_up_u64", "shfl.sync.up.b32", 2),
            ("shuffle_xor_f32", "shfl.sync.bfly.b32", 1),
            ("shuffle_idx_f64", "shfl.sync.idx.b32", 2),
            ("reduce_warp_f32", "shfl.sync.bfly.b32", 15),
            ("reduce_block", "shfl.sync.bfly.b32", 10),
            ("vote", "vote.sync", 3),
            ("exchange_in_warp", "bar.warp.sync", 1),
            ("lane_missing", "bar.warp.sync", 1),
            ("race_with_old_reader", "bar.warp.sync", 2),
        ] {
            assert_eq!(entries[name].count(instruction), count, "{name}");
        }
    }
}

#[test]
fn special_instructions_are_used() {
    for image in CONFORMANCE {
        let text = image.text.get();
        let entries = entries(text);
        for (name, instruction) in [
            ("sample", "tex.level.2d.v4.f32.f32"),
            ("sample_elements", "tex.level.2d.v4.u32.f32"),
            ("float_unary", "cvt.rni.sat.u8.f32"),
            ("float_unary", "cvt.sat.f32.f32"),
            ("float_unary", "cvt.rn.bf16x2.f32"),
            ("float_unary", "cvt.rn.f16x2.f32"),
            ("float_unary", "cvt.f32.f16"),
            ("float_unary", "sqrt.rn.f32"),
            ("float_unary", "cvt.rmi.f32.f32"),
            ("float_unary", "cvt.rni.f32.f32"),
            ("float_unary", "lg2.approx.ftz.f32"),
            ("float_unary", "ex2.approx.ftz.f32"),
            ("float_binary", "fma.rn.f32"),
            ("accumulate_f32", "atom.global.add.f32"),
            ("accumulate_i32", "atom.global.min.s32"),
            ("accumulate_u64", "atom.global.max.u64"),
            ("histogram", "atom.shared.add.u32"),
            ("reduce_words", "redux.sync.add"),
            ("reduce_words", "dp4a.u32.u32"),
        ] {
            assert!(entries[name].count(instruction) > 0, "{name}: {instruction}");
        }
    }
}

#[test]
fn kernels_for_hopper_wait_for_the_one_before() {
    CONFORMANCE.iter().for_each(waits_for_the_one_before);
}
