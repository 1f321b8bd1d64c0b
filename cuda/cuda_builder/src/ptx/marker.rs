//! Parses kernel markers, the comments that `#[kernel]` writes into the PTX for each kernel.

/// The first characters of a marker line, after any indentation.
const PREFIX: &str = "// cuda_std.kernel ";

/// The maximum number of threads per block, which is the same on every architecture.
const MAX_THREADS_OF_A_BLOCK: u32 = 1024;

/// The content of a marker line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) name: String,
    pub(super) max_threads: Option<u32>,
    pub(super) min_blocks: Option<u32>,
    /// The number of barriers declared in the source, if any.
    pub(super) barriers: Option<u32>,
}

pub(super) fn is_marker(line: &str) -> bool {
    line.trim_start().starts_with(PREFIX)
}

/// Returns all markers of the text. Two markers with the same name are an error.
pub(super) fn read_all(ptx: &str) -> Result<Vec<Marker>, String> {
    let mut markers: Vec<Marker> = Vec::new();
    for line in ptx.lines().filter(|line| is_marker(line)) {
        let marker = read(line.trim()).map_err(|reason| invalid(line.trim(), &reason))?;
        if markers.iter().any(|other| other.name == marker.name) {
            return Err(format!("two kernels have the name `{}`; rename one of them", marker.name));
        }
        markers.push(marker);
    }
    Ok(markers)
}

/// Returns the error that the marker line of a macro is invalid.
pub(super) fn invalid(line: &str, reason: &str) -> String {
    format!(
        "invalid marker line `{line}`: {reason}; correct the arguments of the macro that wrote it (`#[kernel]` or `shared_array!`)"
    )
}

fn read(line: &str) -> Result<Marker, String> {
    let mut words = line[PREFIX.len().min(line.len())..].split_whitespace();
    let name = words.next().ok_or("the name is missing")?;
    let (mut max_threads, mut min_blocks, mut barriers) = (None, None, None);
    for word in words {
        let (key, value) =
            word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=NUMBER"))?;
        let number = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
        let slot = match key {
            "maxntid" => &mut max_threads,
            "minnctapersm" => &mut min_blocks,
            "barriers" => &mut barriers,
            _ => return Err(format!("the key `{key}` is unknown")),
        };
        if slot.replace(number).is_some() {
            return Err(format!("`{key}` occurs twice"));
        }
    }
    if let Some(threads) = max_threads
        && !(1..=MAX_THREADS_OF_A_BLOCK).contains(&threads)
    {
        return Err(format!(
            "a block of {threads} threads is not possible; use 1 to {MAX_THREADS_OF_A_BLOCK}"
        ));
    }
    // `#[kernel]` writes 0 if the kernel declares no minimum number of blocks.
    let min_blocks = min_blocks.filter(|&blocks| blocks > 0);
    if min_blocks.is_some() && max_threads.is_none() {
        return Err("minnctapersm cannot be used without maxntid".to_owned());
    }
    Ok(Marker { name: name.to_owned(), max_threads, min_blocks, barriers })
}
