//! Programs that must not compile, with the expected compiler messages, and one program that must
//! compile.
//!
//! Run with `TRYBUILD=overwrite` to update the messages, and check the diff before committing.

#[test]
fn mistakes_do_not_compile() {
    let t = trybuild::TestCases::new();
    t.pass("tests/ui/pass.rs");
    t.compile_fail("tests/ui/fail_*.rs");
}
