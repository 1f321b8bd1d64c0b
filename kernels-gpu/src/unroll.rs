//! The macro `unroll!`, which repeats code for each index of a small array, so that the array stays in registers.

/// Runs `$body` once for each index `$i` below `$run`, a constant of at most 16.
///
/// Each index is a literal in its copy of `$body`, so arrays that `$body` indexes stay in registers. A loop would put
/// them into local memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! unroll {
    ($run:expr, |$i:ident| $body:expr) => {{
        const { assert!($run <= 16, "`unroll!` runs at most 16 times") };
        $crate::unroll::unroll! { $run, $i, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 }
    }};
    ($run:expr, $i:ident, $body:expr, $($number:literal)*) => {
        $(
            let $i: usize = $number;
            if $i < $run {
                $body
            }
        )*
    };
}

/// Runs `$body` once for each index `$i` below `$run`. On the CPU this is a loop, because the compiler would have to
/// optimise every copy of `$body`.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! unroll {
    ($run:expr, |$i:ident| $body:expr) => {{
        let run: usize = $run;
        for $i in 0..run {
            $body;
        }
    }};
}

pub(crate) use unroll;
