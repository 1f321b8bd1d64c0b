//! AArch64, AAPCS64 convention.
//!
//! Idea: the scratch register x17 carries the index, so that one `cold` serves every function.
//! Trick: only x16 and x17 are touched, which the convention gives to code between caller and
//! callee, so arguments in registers and on the stack arrive as they came.
//! Cost: five instructions, one of them an acquire load, position independent.

/// The body of one exported function: jump to `$slots[$index]` with `$index` in x17.
///
/// `ldar` and not `ldr`: who sees the address of a function must also see the library that the
/// loader had mapped before it was stored.
macro_rules! jump_through_slot {
    ($slots:path, $index:expr) => {
        core::arch::naked_asm!(
            "adrp x16, {slots} + {offset}",
            "add x16, x16, :lo12:{slots} + {offset}",
            "ldar x16, [x16]",
            "mov w17, {index}",
            "br x16",
            index = const $index,
            offset = const $index * 8,
            slots = sym $slots,
        )
    };
}
pub(crate) use jump_through_slot;

/// First call of a function: keep its arguments, find its address, go there.
///
/// The frame is 224 bytes, a multiple of 16 as the stack pointer must be: frame pointer and return
/// address, x0 to x7 and x8 (where a result in memory goes), q0 to q7.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn cold() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-224]!",
        ".cfi_def_cfa_offset 224",
        ".cfi_offset x29, -224",
        ".cfi_offset x30, -216",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov w0, w17",
        "bl {resolve}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp q0, q1, [sp, #96]",
        "ldp q2, q3, [sp, #128]",
        "ldp q4, q5, [sp, #160]",
        "ldp q6, q7, [sp, #192]",
        ".cfi_def_cfa sp, 224",
        "ldp x29, x30, [sp], #224",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "br x16",
        ".cfi_endproc",
        resolve = sym crate::resolve::resolve,
    )
}
