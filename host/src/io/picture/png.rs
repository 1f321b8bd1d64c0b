//! Checks a PNG before decoding: the sizes of its chunks, from their headers.
//!
//! The decoder inflates text and colour profiles into memory although nothing uses them, and divides a palette by its
//! entries without a check. So one pass over the headers bounds their sizes first. The decoder judges the contents.

use std::io::{Read, Seek, SeekFrom};

/// Bytes before the first chunk.
const SIGNATURE: u64 = 8;

/// Bytes of a chunk around its content: length and type before it, checksum after it.
const FRAME: u64 = 12;

/// Maximum number of chunks: more than a picture of the largest size has in pieces of 4 KiB.
const MAX_CHUNKS: u32 = 1 << 18;

/// Maximum bytes of text in total. A profile may have as many; inflated it has at most a thousand times that.
const MAX_TEXT: u64 = 128 << 10;

/// Returns the reason to reject a PNG's chunks, if there is one. Leaves the reader at the start.
pub(super) fn refuse(reader: &mut (impl Read + Seek), bytes: u64) -> Option<String> {
    let reason = look(reader, bytes);
    match reader.rewind() {
        Ok(()) => reason,
        Err(e) => Some(e.to_string()),
    }
}

fn look(reader: &mut (impl Read + Seek), bytes: u64) -> Option<String> {
    let (mut at, mut text) = (SIGNATURE, 0);
    for _ in 0..MAX_CHUNKS {
        let mut header = [0; 8];
        // The decoder reports a truncated or unreadable file.
        if reader.seek(SeekFrom::Start(at)).is_err() || reader.read_exact(&mut header).is_err() {
            return None;
        }
        let [a, b, c, d, kind @ ..] = header;
        let length = u64::from(u32::from_be_bytes([a, b, c, d]));
        match &kind {
            b"IEND" => return None,
            b"PLTE" if length % 3 != 0 || length > 768 => {
                return Some(format!(
                    "a palette of {length} bytes, but an entry has 3 and 256 fit"
                ));
            }
            b"tEXt" | b"zTXt" | b"iTXt" => text += length,
            b"iCCP" if length > MAX_TEXT => {
                return Some(format!("a colour profile of {length} bytes, {MAX_TEXT} are allowed"));
            }
            // The decoder reads these: rows and frames, and small chunks of a fixed size.
            b"IDAT" | b"fdAT" | b"eXIf" => {}
            _ if length > MAX_TEXT => {
                return Some(format!("a chunk of {length} bytes that is no picture data"));
            }
            _ => {}
        }
        if text > MAX_TEXT {
            return Some(format!("over {MAX_TEXT} bytes of text"));
        }
        at += length + FRAME;
        if at >= bytes {
            return None;
        }
    }
    Some(format!("over {MAX_CHUNKS} chunks"))
}
