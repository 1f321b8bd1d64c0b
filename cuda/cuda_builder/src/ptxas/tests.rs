use super::*;
use crate::Resources;

const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'none' for 'sm_87'
ptxas info    : Function properties for none
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers, 352 bytes cmem[0]
ptxas info    : Compile time = 0.495 ms
ptxas info    : Compiling entry function 'blur' for 'sm_87'
ptxas info    : Function properties for blur
    24 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 41 registers, used 1 barriers, 24 bytes cumulative stack size, 4096 bytes smem, 372 bytes cmem[0]
ptxas info    : Compile time = 2.482 ms
ptxas info    : Function properties for slow
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
";

fn kernel(max_threads: u32, min_blocks: u32) -> KernelReport {
    KernelReport {
        name: "blur".to_owned(),
        max_threads: Some(max_threads),
        min_blocks: Some(min_blocks),
        barriers_declared: None,
        barriers_counted: 0,
        resources: None,
    }
}

#[test]
fn every_function_is_read() {
    let functions = parse::functions(SAID);
    let names: Vec<&str> = functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["none", "blur", "slow"]);
    assert_eq!(
        functions[1].resources,
        Resources {
            registers: 41,
            shared_bytes: 4096,
            stack_bytes: 24,
            spill_store_bytes: 0,
            spill_load_bytes: 0,
        }
    );
}

#[test]
fn kernels_get_their_resources() {
    let mut kernels = [kernel(256, 4)];
    check(&parse::functions(SAID), Spills::Deny, &mut kernels).unwrap();
    assert_eq!(kernels[0].resources.unwrap().registers, 41);
}

#[test]
fn a_spill_is_an_error() {
    let said = SAID.replace(
        "24 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads",
    );
    check(&parse::functions(&said), Spills::Report, &mut []).unwrap();
    let error = check(&parse::functions(&said), Spills::Deny, &mut []).unwrap_err();
    assert!(error.starts_with("`blur` spills 16 bytes of stores and 20 bytes of loads"), "{error}");
}

#[test]
fn registers_round_up_to_the_allocation_unit() {
    // 41 registers round up to 48, and 250 threads to 256: 5 blocks fit, 6 do not.
    let functions = parse::functions(SAID);
    check(&functions, Spills::Deny, &mut [kernel(250, 5)]).unwrap();
    let error = check(&functions, Spills::Deny, &mut [kernel(250, 6)]).unwrap_err();
    assert!(error.contains("`blur` uses 41 registers per thread, so 6 blocks of 250"), "{error}");
}

#[test]
fn an_old_ptxas_is_told_from_bad_ptx() {
    assert!(parse::is_too_old(
        "ptxas bad.ptx, line 5; fatal   : Unsupported .version 9.9; current version is '9.5'"
    ));
    assert!(parse::is_too_old(
        "ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'"
    ));
    assert!(!parse::is_too_old("ptxas fatal   : Unresolved extern function 'f'"));
}

#[test]
fn ignored_bounds_are_noticed() {
    let warning =
        "Value of threads per SM for entry many is out of range. .minnctapersm will be ignored";
    assert_eq!(parse::ignored(&format!("ptxas warning : {warning}\n{SAID}")), Some(warning));
    assert_eq!(parse::ignored(SAID), None);
}
