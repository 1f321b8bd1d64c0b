use super::*;

/// A kernel that calls `step` on two exclusive paths. `step` contains one barrier and is inlined at
/// both call sites.
const IR: &str = "\
define ptx_kernel void @twice(i32 noundef %n_0) unnamed_addr #0 !dbg !22 {
start:
  br i1 %_7.i, label %bb2.i, label %\"bb3:i\", !dbg !30

\"bb3:i\":                                          ; preds = %start
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !40
  br label %exit, !dbg !30

bb2.i:                                            ; preds = %start
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !50
  br label %exit, !dbg !30

exit:                                             ; preds = %bb2.i, %bb3:i
  ret void, !dbg !30
}

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

!20 = !DIFile(filename: \"src/lib.rs\", directory: \"/crates/k1-0.1.0\", checksumkind: CSK_MD5)
!21 = !DIFile(filename: \"/crates/core-0.0.0/src/nvptx/mod.rs\", directory: \"\")
!22 = distinct !DISubprogram(name: \"twice\", linkageName: \"twice\", scope: !1, file: !20, line: 6, scopeLine: 7)
!23 = distinct !DISubprogram(name: \"step\", scope: !1, file: !20, line: 2, scopeLine: 2)
!24 = distinct !DISubprogram(name: \"_syncthreads\", scope: !1, file: !21, line: 50, scopeLine: 50)
!25 = distinct !DILexicalBlock(scope: !22, file: !20, line: 8, column: 5)
!30 = !DILocation(line: 9, column: 8, scope: !22)
!40 = !DILocation(line: 55, column: 5, scope: !24, inlinedAt: !41)
!41 = distinct !DILocation(line: 3, column: 12, scope: !23, inlinedAt: !42)
!42 = distinct !DILocation(line: 9, column: 17, scope: !25)
!50 = !DILocation(line: 55, column: 5, scope: !24, inlinedAt: !51)
!51 = distinct !DILocation(line: 3, column: 12, scope: !23, inlinedAt: !52)
!52 = distinct !DILocation(line: 9, column: 40, scope: !22)
";

/// Returns [`IR`] with equal positions for both call sites, as if the compiler had duplicated one
/// call.
fn copied() -> String {
    IR.replace("column: 40", "column: 17")
}

#[test]
fn two_calls_in_two_branches_are_two_barriers() {
    assert_eq!(duplicated_barrier(IR, "twice"), None);
}

#[test]
fn one_call_in_two_branches_is_a_copy() {
    let found = duplicated_barrier(&copied(), "twice");
    assert_eq!(found.as_deref(), Some("src/lib.rs:3:12"));
    assert_eq!(duplicated_barrier(&copied(), "other"), None);
}

#[test]
fn copies_on_one_path_are_an_unrolled_loop() {
    let sequence = "  br i1 %_8, label %exit, label %bb2.i, !dbg !30";
    let ir = copied().replacen("  br label %exit, !dbg !30", sequence, 1);
    assert!(ir.contains(sequence));
    assert_eq!(duplicated_barrier(&ir, "twice"), None);
}

#[test]
fn copies_in_the_branches_of_a_loop_are_exclusive() {
    let ir =
        copied().replace("  ret void", "  br i1 %_9, label %start, label %end\n\nend:\n  ret void");
    assert!(duplicated_barrier(&ir, "twice").is_some());
}

#[test]
fn a_switch_spans_lines_and_the_entry_may_have_no_label() {
    let ir = copied().replace(
        "start:\n  br i1 %_7.i, label %bb2.i, label %\"bb3:i\", !dbg !30",
        "  switch i32 %n_0, label %exit [\n    i32 0, label %bb2.i\n    i32 1, label %\"bb3:i\"\n  ], !dbg !30",
    );
    assert!(duplicated_barrier(&ir, "twice").is_some());
    let sequence = ir.replacen("  br label %exit", "  br label %bb2.i", 1);
    assert_eq!(duplicated_barrier(&sequence, "twice"), None);
}

#[test]
fn only_block_wide_barriers_count() {
    for (is_barrier, line) in [
        (true, "  tail call void @llvm.nvvm.barrier0(), !dbg !1"),
        (
            true,
            "  %1 = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %2), !dbg !1",
        ),
        (true, "  tail call void asm sideeffect \"barrier.sync.aligned 0;\", \"\"(), !dbg !1"),
        (false, "  tail call void @llvm.nvvm.bar.warp.sync(i32 -1), !dbg !1"),
        (false, "  tail call void @llvm.nvvm.barrier.cluster.arrive(), !dbg !1"),
        (false, "  tail call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 0, i32 64)"),
        (false, "declare void @llvm.nvvm.barrier0() #1"),
    ] {
        assert_eq!(waits(line), is_barrier, "{line}");
    }
}
