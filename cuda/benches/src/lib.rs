//! Times several implementations of the same computation on one GPU, in one process and on the same
//! buffers: a kernel in Rust, the same kernel in CUDA C++, and a library of NVIDIA.
//!
//! - A [`Case`] is one computation with its buffers. It can launch each [`Variant`] and check its
//!   result.
//! - [`Bench::run`] checks and times a case and adds a row to the table.
//! - [`Reference`] opens the shared libraries that `reference/compile.sh` builds from CUDA C++.
//!
//! The bench reports times and does not fail because of a slow result. It does not measure the CPU.

mod reference;
mod table;
mod timing;

use std::error::Error;

use cust::typed::{Buffer, Device, Stream};

pub use reference::{Reference, check};
pub use table::Row;

/// The error of a failed check or of the device.
pub type Failure = Box<dyn Error>;

/// An implementation of a [`Case`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The example's kernels, in Rust.
    Rust,
    /// The same algorithm in CUDA C++, compiled by nvcc.
    Nvcc,
    /// A function of a library, with the library's name.
    Library(&'static str),
}

impl Variant {
    /// Returns the implementations that can run, with [`Variant::Rust`] first. `library` is the name
    /// of the library, if its function was found.
    #[must_use]
    pub fn available(has_nvcc: bool, library: Option<&'static str>) -> Vec<Self> {
        let nvcc = has_nvcc.then_some(Self::Nvcc);
        [Some(Self::Rust), nvcc, library.map(Self::Library)].into_iter().flatten().collect()
    }
}

/// The work of one launch, for the last columns of the table.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// The number of bytes that any implementation must move between the GPU and its memory. The
    /// bench also times a copy that moves the same number of bytes.
    Bytes(u64),
    /// The number of operations, and their name, such as "flop" or "messages".
    Operations(f64, &'static str),
}

/// One computation, its buffers, and its implementations.
pub trait Case {
    /// Returns a name with the size, such as "saxpy, 2²⁵ f32".
    fn name(&self) -> String;

    /// Returns the work of one launch.
    fn work(&self) -> Work;

    /// Returns the implementations that can run. [`Variant::Rust`] is the first.
    fn variants(&self) -> Vec<Variant>;

    /// Returns the number of sets of buffers. Launches use the sets in turn. Together they should
    /// be larger than the L2 cache, unless one set alone is.
    fn sets(&self) -> usize;

    /// Launches `variant` on the set of buffers `set`, without waiting.
    fn launch(&mut self, stream: &Stream, variant: Variant, set: usize) -> Result<(), Failure>;

    /// Runs `variant` once on the first set of buffers and checks its result.
    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure>;
}

/// A GPU, the stream that all implementations use, and the rows of the table so far.
pub struct Bench {
    /// The stream of every launch.
    pub stream: Stream,
    filters: Vec<String>,
    checks_only: bool,
    rows: Vec<Row>,
}

impl Bench {
    /// Opens the first GPU. The arguments of the program select cases by parts of their names; with
    /// `--check`, the bench checks results without timing, for use under compute-sanitizer.
    pub fn new(args: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let stream = Device::first_gpu()?.stream()?;
        let (flags, filters): (Vec<_>, Vec<_>) = args.partition(|arg| arg.starts_with("--"));
        let checks_only = flags.iter().any(|flag| flag == "--check");
        Ok(Self { stream, filters, checks_only, rows: Vec::new() })
    }

    /// Returns whether results are only checked. Cases then use small buffers.
    #[must_use]
    pub fn checks_only(&self) -> bool {
        self.checks_only
    }

    /// Checks and times the case that `create` returns, if the program's arguments select `name`.
    /// A failed check is printed, and the case continues without that implementation.
    ///
    /// # Errors
    /// Returns the error of `create` or of the device.
    pub fn run<C: Case>(
        &mut self,
        name: &str,
        create: impl FnOnce(&Self) -> Result<C, Failure>,
    ) -> Result<(), Failure> {
        if !self.filters.is_empty() && !self.filters.iter().any(|part| name.contains(part)) {
            return Ok(());
        }
        let mut case = create(self)?;
        let mut variants = case.variants();
        variants.retain(|&variant| match case.check(&self.stream, variant) {
            Ok(()) => true,
            Err(error) => {
                println!("{}: {variant:?} FAILED: {error}", case.name());
                false
            }
        });
        if self.checks_only {
            println!("{}: checked {variants:?}", case.name());
            return Ok(());
        }
        let times = timing::interleaved(&self.stream, &mut case, &variants)?;
        let copy = match case.work() {
            Work::Bytes(bytes) => Some(timing::copy(&self.stream, bytes)?),
            Work::Operations(..) => None,
        };
        let row = Row { name: case.name(), work: case.work(), times, copy };
        println!("{row}");
        self.rows.push(row);
        Ok(())
    }

    /// Prints the rows of all cases as a table in Markdown.
    pub fn print_table(&self) {
        println!("\n{}", table::markdown(self.stream.device(), &self.rows));
    }
}

/// Returns `count` buffers with the contents `contents`.
pub fn buffers<T: bytemuck::Pod>(
    stream: &Stream,
    count: usize,
    contents: &[T],
) -> Result<Vec<Buffer<T>>, Failure> {
    let buffer = |_| Ok(Buffer::from_slice(stream, contents)?);
    (0..count).map(buffer).collect()
}

/// Returns pseudo-random numbers (xorshift), the same in every run.
pub fn random() -> impl FnMut() -> u32 {
    let mut state = 0x9e37_79b9_u32;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    }
}
