//! A loop that is certain to be unrolled.
//!
//! Arrays stay in registers only if all their indices are constants. LLVM unrolls short loops, but
//! not the long ones of these kernels.

/// Repeats a block for each value of a constant: `unrolled!(I in 0 1 2 3 { … })`.
macro_rules! unrolled {
    ($name:ident in $($value:literal)+ $body:block) => {
        $({
            const $name: usize = $value;
            $body
        })+
    };
}
