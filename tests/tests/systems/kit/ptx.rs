//! Checks the PTX text of the kernels: launch bounds, barriers, the width of loads, prefetches, and the absence of
//! calls.
//!
//! The tests state the expected values themselves, and do not read them from the kernels' attributes. This way, they
//! also detect a macro or builder that loses an attribute.

use std::collections::{BTreeMap, BTreeSet};

use conformance_devices::CONFORMANCE;
use panoweave::device::PtxImage;

/// Returns the text of each kernel in a PTX file, by kernel name.
fn entries(ptx: &str) -> BTreeMap<&str, Entry<'_>> {
    ptx.split(".visible .entry ")
        .skip(1)
        .map(|text| {
            let (name, rest) = text.split_once('(').expect("a parameter list");
            let (head, rest) = rest.split_once("\n{\n").expect("a body");
            let (body, _) = rest.split_once("\n}\n").expect("an end of the body");
            (name, Entry { head, body })
        })
        .collect()
}

struct Entry<'a> {
    head: &'a str,
    body: &'a str,
}

impl Entry<'_> {
    /// Returns the value of the directive `name` between the kernel's parameters and its body. Returns `None` if there
    /// is no such directive.
    fn directive(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        lines.filter_map(|line| line.strip_prefix(name)).map(str::trim).next()
    }

    /// Returns the number of instructions in the kernel whose text begins with `instruction`. Predicated instructions
    /// count, too.
    fn count(&self, instruction: &str) -> usize {
        let lines = self.body.lines().map(str::trim);
        lines
            .map(|line| match line.split_once(|c: char| c.is_whitespace()) {
                Some((predicate, rest)) if predicate.starts_with('@') => rest.trim(),
                _ => line,
            })
            .filter(|line| line.starts_with(instruction))
            .count()
    }
}

fn architectures(images: &[PtxImage]) -> Vec<String> {
    images.iter().map(|image| image.arch.to_string()).collect()
}

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

/// A kernel's name, maximum threads per block, minimum blocks per multiprocessor and number of barriers.
type Bounds = (String, u32, Option<u32>, usize);

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

fn found(image: &PtxImage) -> BTreeSet<Bounds> {
    let bounds = |(name, entry): (&str, Entry<'_>)| {
        let threads = entry.directive(".maxntid").expect("every kernel has launch bounds");
        let threads = threads.strip_suffix(", 1, 1").expect("a bound along x");
        let blocks = entry.directive(".minnctapersm");
        let barriers = entry.count("bar.sync") + entry.count("bar.red") + entry.count("barrier");
        (
            name.to_owned(),
            threads.parse().unwrap(),
            blocks.map(|blocks| blocks.parse().unwrap()),
            barriers,
        )
    };
    entries(image.text.get()).into_iter().map(bounds).collect()
}

#[test]
fn every_conformance_kernel_has_its_bounds_and_barriers() {
    assert_eq!(architectures(CONFORMANCE), ["sm_80", "sm_90"]);
    for image in CONFORMANCE {
        let (planned, mut found) = (planned(), found(image));
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

#[test]
fn every_stitching_kernel_has_its_bounds_and_no_barrier() {
    let images = panoweave::kernels::IMAGES;
    assert_eq!(architectures(images), ["sm_80", "sm_90"]);
    for image in images {
        let found = found(image);
        for name in ["planes_rgba8", "planes_nv12", "textured_planes", "add_rgba8", "finish_nv12"] {
            assert!(found.contains(&(format!("stitch_{name}"), 256, Some(4), 0)), "{name}");
        }
    }
}

/// The kernels of the conformance crate that call `libm`, the heap or `vprintf`.
const CALLS: &[&str] = &["collections", "speak", "special_f32", "special_f64"];

#[test]
fn nothing_else_calls_a_function() {
    for image in CONFORMANCE.iter().chain(panoweave::kernels::IMAGES) {
        for (name, entry) in entries(image.text.get()) {
            assert_eq!(entry.count("call") > 0, CALLS.contains(&name), "{name}");
        }
    }
    for image in panoweave::kernels::IMAGES {
        assert!(!image.text.get().contains(".func"), "{}", image.arch);
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

/// Checks that the stitching kernels read pictures and planes through the read-only cache. Only the sums that a kernel
/// reads and writes bypass it, with one load.
#[test]
fn stitching_reads_through_the_read_only_cache() {
    for image in panoweave::kernels::IMAGES {
        let text = image.text.get();
        let entries = entries(text);
        let stitch = entries.iter().filter(|(name, _)| name.starts_with("stitch"));
        assert!(stitch.clone().count() >= 3);
        for (name, entry) in stitch {
            let all = entry.count("ld.global.") - usize::from(name.starts_with("stitch_add"));
            let read_only = entry.count("ld.global.nc.");
            assert!(read_only > 0 && read_only == all, "{name}: {read_only} of {all}");
            // Kernels without a luma texture load luma as bytes: the four bytes around a position for each camera,
            // or 16 for a cubic lookup.
            let cameras = [
                ("planes_nv12", 8),
                ("textured_planes_nv12", 8),
                ("add_cubic_nv12", 16),
                ("add_nv12", 4),
            ];
            let reads = |kernel: &str| name["stitch_".len()..].starts_with(kernel);
            let bytes = cameras.iter().find(|(kernel, _)| reads(kernel)).map_or(0, |(_, n)| *n);
            assert_eq!(entry.count("ld.global.nc.u8"), bytes, "{name}");
            assert_eq!(entry.count("st.local"), 0, "{name}");
        }
    }
}

/// Checks that the loops over the taps of a convolution are unrolled. Each thread computes 16 results, so there must be
/// 16 fused multiply-adds for each tap of both passes.
#[test]
fn convolution_is_unrolled() {
    for image in panoweave::kernels::IMAGES {
        let text = image.text.get();
        let entries = entries(text);
        for (name, taps) in [
            ("convolve_fused_5", 10),
            ("convolve_fused_7", 14),
            ("convolve_fused_15", 30),
            ("convolve_fused_31", 62),
            ("convolve_gradients_7", 28),
            ("convolve_fused", 126),
        ] {
            assert_eq!(entries[name].count("fma.rn.f32"), 16 * taps, "{name}");
        }
    }
}

/// Checks that kernels that run for every frame use no local memory. The compiler puts arrays that do not fit into
/// registers into local memory, which is as slow as global memory.
#[test]
fn kernels_of_every_frame_stay_in_registers() {
    const OTHERS: [&str; 2] = ["pack", "warp_camera"];
    for image in panoweave::kernels::IMAGES {
        let text = image.text.get();
        let entries = entries(text);
        for (name, entry) in &entries {
            assert_eq!(entry.count(".local") > 0, OTHERS.contains(name), "{name}");
        }
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

/// Checks the prefetches. A resampling kernel prefetches times, targets and values before it waits for the previous
/// kernel. A kernel that stitches by a mesh prefetches a layer before the wait, and further layers and pictures after
/// the wait.
#[test]
fn lines_of_memory_are_fetched_ahead() {
    for image in panoweave::kernels::IMAGES {
        for (name, entry) in entries(image.text.get()) {
            let fetches = entry.count("prefetch.global.L2 ");
            let wait = entry.body.find("griddepcontrol.wait").unwrap_or(usize::MAX);
            let before = |at: Option<usize>| at.is_some_and(|at| at < wait);
            match name {
                _ if name.starts_with("resample_") => {
                    assert_eq!(fetches, 3, "{name}");
                    assert!(before(entry.body.rfind("prefetch")), "{name}");
                }
                // Three prefetches are for layers. The other ones are for a cache line of a picture, or two for NV12
                // and P010 (luma and chroma). Kernels for two cameras have them for each camera. Kernels for mixed
                // formats have them for each format.
                _ if name.starts_with("stitch_mesh_") => {
                    let lines = match name {
                        _ if name.starts_with("stitch_mesh_mixed") => 3,
                        _ if name.starts_with("stitch_mesh_many_nv12") => 2,
                        "stitch_mesh_many_p010" => 2,
                        _ if name.starts_with("stitch_mesh_many") => 1,
                        _ if name.starts_with("stitch_mesh_nv12") => 4,
                        "stitch_mesh_p010" => 4,
                        _ => 2,
                    };
                    assert_eq!(fetches, 3 + lines, "{name}");
                    assert!(before(entry.body.find("prefetch")), "{name}");
                }
                // The places and the shares of the tile.
                _ if name.starts_with("multiband_split") => assert_eq!(fetches, 2, "{name}"),
                _ => assert_eq!(fetches, 0, "{name}"),
            }
        }
    }
}

/// Checks that on Hopper and newer GPUs, every kernel allows the next kernel to start at once, and itself waits until
/// the previous kernel has ended.
#[test]
fn kernels_for_hopper_wait_for_the_one_before() {
    for image in CONFORMANCE.iter().chain(panoweave::kernels::IMAGES) {
        let waits = usize::from(image.arch.major >= 9);
        for (name, entry) in entries(image.text.get()) {
            let launches = entry.count("griddepcontrol.launch_dependents");
            assert_eq!(launches, waits, "{name} for {}", image.arch);
            // The compiler may copy the wait into branches that no other one follows.
            let found = entry.count("griddepcontrol.wait");
            assert!((waits..=2 * waits).contains(&found), "{name} for {}: {found}", image.arch);
        }
    }
}
