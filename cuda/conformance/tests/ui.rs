//! Code that must not compile, and the compiler's messages.
//!
//! Run with `TRYBUILD=overwrite` to rewrite the messages, and read them before committing.

#[test]
fn mistakes_do_not_compile() {
    let t = trybuild::TestCases::new();
    t.pass("tests/ui/pass.rs");
    t.compile_fail("tests/ui/fail_*.rs");
}
