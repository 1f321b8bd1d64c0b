use super::*;

/// A kernel with an inlined call of `f` in line 7, in which a call of the library is inlined.
const PTX: &str = "\
.version 7.8
.target sm_90, debug
{
$L__tmp0:
\t.loc\t1 7 3
\tmov.u32 %r1, 1;
$L__tmp1:
\t.loc\t2 90 1
\tld.global.b32 %r2, [%rd1];
$L__tmp2:
\t.loc\t1 4 9
\tadd.s32 %r3, %r1, %r2;
$L__tmp3:
\t.loc\t2 91 1
\tret;
$L__func_end0:
}
\t.file\t1 \"/workspace/src/lib.rs\"
\t.file\t2 \"/crates/stable-cuda-std-0.1.0/src/slice.rs\"
\t.section\t.debug_abbrev
\t{
.b8 1,17,1,0,0
.b8 2,46,0,58,11,59,11,0,0
.b8 3,46,1,17,1,18,1,0,0
.b8 4,29,1,49,19,17,1,18,1,88,11,89,11,87,11,0,0
.b8 5,29,0,49,16,17,1,18,1,88,11,89,5,87,11,0,0
.b8 0
\t}
\t.section\t.debug_info
\t{
.b32 87
.b8 2,0
.b32 .debug_abbrev
.b8 8
.b8 1
.b8 2,1,3
.b8 2,2,80
.b8 3
.b64 $L__tmp0
.b64 $L__func_end0
.b8 4
.b32 12
.b64 $L__tmp1
.b64 $L__tmp3
.b8 1,7,3
.b8 5
.b64 .debug_info+15
.b64 $L__tmp1
.b64 $L__tmp2
.b8 1
.b8 4,0
.b8 9
.b8 0,0,0
\t}
$L__sec_end0:
\t.section\t.debug_macinfo\t{\t}
";

#[test]
fn a_line_of_a_library_becomes_the_line_of_its_caller() {
    let text = name_callers(PTX, "kernels");
    let locs: Vec<_> = text.lines().filter_map(place).collect();
    // The last line belongs to no call, so it stays.
    assert_eq!(locs, [(1, 7, 3), (1, 4, 9), (1, 4, 9), (2, 91, 1)]);
    assert!(text.contains(".target sm_90\n"), "{text}");
    assert!(!text.contains("debug") && !text.contains("sec_end"), "{text}");
    assert!(text.ends_with("slice.rs\"\n"), "{text}");
}

#[test]
fn the_files_of_the_kernel_crate_are_no_library() {
    for (path, expected) in [
        ("/workspace/src/lib.rs", false),
        ("/crates/kernels-1.0.0/src/lib.rs", false),
        ("/crates/kernels_more-1.0.0/src/lib.rs", true),
        ("/crates/stable-cuda-std-0.1.0/src/slice.rs", true),
        ("/workspace/cuda/cuda_std/src/slice.rs", true),
        ("/workspace/target/sysroot/lib/rustlib/src/rust/library/core/src/bool.rs", true),
    ] {
        assert_eq!(is_library(path, "/crates/kernels-"), expected, "{path}");
    }
}

#[test]
fn ptx_without_debug_information_stays() {
    let ptx = ".version 7.8\n.target sm_90\n\t.loc\t2 90 1\n\t.file\t2 \"/crates/a-1/b.rs\"\n";
    assert_eq!(name_callers(ptx, "kernels"), ptx);
    // A form that is not known.
    let unknown = PTX.replace(".b8 2,46,0,58,11", ".b8 2,46,0,58,99");
    let text = name_callers(&unknown, "kernels");
    assert!(text.contains("\t.loc\t2 90 1\n") && !text.contains("debug"), "{text}");
}
