//! x86-64, System V convention.
//!
//! Idea: the scratch register r11 carries the index, so that one `cold` serves every function.
//! Trick: nothing else is touched, so arguments in registers and on the stack arrive as they came.
//! Cost: `mov r11d, imm32` and one indirect jump through memory, position independent.

/// The body of one exported function: jump to `$slots[$index]` with `$index` in r11.
///
/// An aligned load is an acquire load on this processor: who sees the address of a function also
/// sees the library that the loader had mapped before it was stored.
macro_rules! jump_through_slot {
    ($slots:path, $index:expr) => {
        core::arch::naked_asm!(
            "mov r11d, {index}",
            "jmp qword ptr [rip + {slots} + {offset}]",
            index = const $index,
            offset = const $index * 8,
            slots = sym $slots,
        )
    };
}
pub(crate) use jump_through_slot;

/// First call of a function: keep its arguments, find its address, go there.
///
/// On entry the stack is as at any function's first instruction: 8 modulo 16. After `push rbp` it
/// is aligned, and the 192 bytes taken keep it so for the call. `rax` (how many vector registers a
/// variadic call uses) and `r10` (static chain) are kept with the six integer arguments, and the
/// low halves of the eight vector arguments: no driver function takes anything wider.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn cold() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 192",
        "movaps [rsp], xmm0",
        "movaps [rsp + 16], xmm1",
        "movaps [rsp + 32], xmm2",
        "movaps [rsp + 48], xmm3",
        "movaps [rsp + 64], xmm4",
        "movaps [rsp + 80], xmm5",
        "movaps [rsp + 96], xmm6",
        "movaps [rsp + 112], xmm7",
        "mov [rsp + 128], rdi",
        "mov [rsp + 136], rsi",
        "mov [rsp + 144], rdx",
        "mov [rsp + 152], rcx",
        "mov [rsp + 160], r8",
        "mov [rsp + 168], r9",
        "mov [rsp + 176], rax",
        "mov [rsp + 184], r10",
        "mov edi, r11d",
        "call {resolve}",
        "mov r11, rax",
        "movaps xmm0, [rsp]",
        "movaps xmm1, [rsp + 16]",
        "movaps xmm2, [rsp + 32]",
        "movaps xmm3, [rsp + 48]",
        "movaps xmm4, [rsp + 64]",
        "movaps xmm5, [rsp + 80]",
        "movaps xmm6, [rsp + 96]",
        "movaps xmm7, [rsp + 112]",
        "mov rdi, [rsp + 128]",
        "mov rsi, [rsp + 136]",
        "mov rdx, [rsp + 144]",
        "mov rcx, [rsp + 152]",
        "mov r8, [rsp + 160]",
        "mov r9, [rsp + 168]",
        "mov rax, [rsp + 176]",
        "mov r10, [rsp + 184]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        ".cfi_endproc",
        resolve = sym crate::resolve::resolve,
    )
}
