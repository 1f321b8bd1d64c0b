//! Checks the PTX text of panoweave's kernels: launch bounds, read-only loads, unrolled loops, prefetches, and the
//! absence of calls and local memory.

use panoweave::kernels::IMAGES;
use panoweave_tests::ptx::{architectures, bounds, entries, waits_for_the_one_before};

#[test]
fn every_stitching_kernel_has_its_bounds_and_no_barrier() {
    assert_eq!(architectures(IMAGES), ["sm_80", "sm_90"]);
    for image in IMAGES {
        let found = bounds(image);
        for name in ["planes_rgba8", "planes_nv12", "textured_planes", "add_rgba8", "finish_nv12"] {
            assert!(found.contains(&(format!("stitch_{name}"), 256, Some(4), 0)), "{name}");
        }
    }
}

#[test]
fn nothing_calls_a_function() {
    for image in IMAGES {
        assert!(entries(image.text.get()).values().all(|entry| entry.count("call") == 0));
        assert!(!image.text.get().contains(".func"), "{}", image.arch);
    }
}

/// Checks that the stitching kernels read pictures and planes through the read-only cache. Only the sums that a kernel
/// reads and writes bypass it, with one load.
#[test]
fn stitching_reads_through_the_read_only_cache() {
    for image in IMAGES {
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
    for image in IMAGES {
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
    for image in IMAGES {
        let text = image.text.get();
        let entries = entries(text);
        for (name, entry) in &entries {
            assert_eq!(entry.count(".local") > 0, OTHERS.contains(name), "{name}");
        }
    }
}

/// Checks the prefetches. A resampling kernel prefetches times, targets and values before it waits for the previous
/// kernel. A kernel that stitches by a mesh prefetches a layer before the wait, and further layers and pictures after
/// the wait.
#[test]
fn lines_of_memory_are_fetched_ahead() {
    for image in IMAGES {
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

#[test]
fn kernels_for_hopper_wait_for_the_one_before() {
    IMAGES.iter().for_each(waits_for_the_one_before);
}
