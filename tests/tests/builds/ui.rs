//! What must not compile, and what the compiler says then.
//!
//! Run with `TRYBUILD=overwrite` to write the messages anew, and read them before committing.

#[test]
fn mistakes_do_not_compile() {
    let t = trybuild::TestCases::new();
    t.pass("tests/ui/pass.rs");
    t.compile_fail("tests/ui/fail_*.rs");
}
