//! The fragments of encoded video that ffmpeg writes to a pipe, in MP4 (also MOV) or Matroska.
//!
//! Both formats are sequences of elements with a header, which states the element's kind and length. A fragment ends
//! with an `mdat` box of MP4 or a `Cluster` of Matroska. The first one contains the header of the file.

/// The kinds of elements that are examined. Matroska counts the length marker of a kind as a part of it.
const MOOF: u32 = u32::from_be_bytes(*b"moof");
const MDAT: u32 = u32::from_be_bytes(*b"mdat");
const TRAF: u32 = u32::from_be_bytes(*b"traf");
const TFHD: u32 = u32::from_be_bytes(*b"tfhd");
const TRUN: u32 = u32::from_be_bytes(*b"trun");
const SEGMENT: u32 = 0x1853_8067;
const CLUSTER: u32 = 0x1F43_B675;
const SIMPLE_BLOCK: u32 = 0xA3;
const BLOCK_GROUP: u32 = 0xA0;
const BLOCK: u32 = 0xA1;
const VOID: u8 = 0xEC;

/// The number of bytes of a memory page, which a file system writes at once. Players reject an MP4 that ends within a
/// `moof` box, which describes a fragment, so each begins a page: it is written as a whole, or not at all.
const PAGE: u64 = 4096;

/// The number of the track with the video.
const VIDEO: u32 = 1;

/// A container format whose fragments are found and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Mp4,
    Matroska,
}

/// An element of a container: its kind, all its bytes, and the bytes after its header.
struct Element<'a> {
    kind: u32,
    bytes: &'a [u8],
    body: &'a [u8],
}

impl Element<'_> {
    /// Returns the number after the version and the flags of an MP4 box.
    fn number(&self) -> u32 {
        self.body
            .get(4..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// Returns whether the element is a block of Matroska with a frame of the video.
    fn is_block_of_video(&self) -> bool {
        // The track's number has a length marker.
        [BLOCK, SIMPLE_BLOCK].contains(&self.kind)
            && self.body.first() == Some(&(0x80 | VIDEO as u8))
    }
}

impl Container {
    /// Returns the container with this name in ffmpeg.
    pub(super) fn named(format: &str) -> Self {
        if format == "matroska" { Self::Matroska } else { Self::Mp4 }
    }

    /// Returns the options with which ffmpeg writes complete fragments of a quarter of a second or less to a pipe.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            // The header of the file follows from the first fragment. The trailer would list the fragments' positions
            // in the pipe.
            Self::Mp4 => &[
                "-movflags",
                "+delay_moov+default_base_moof+skip_trailer",
                "-frag_duration",
                "250000",
            ],
            Self::Matroska => &["-cluster_time_limit", "250"],
        }
    }

    /// Returns the kind of the first element, the number of bytes of its header, and the number of all its bytes.
    /// Returns `None` if there are too few bytes. The length of Matroska's segment is that of its header, so that its
    /// children follow it.
    fn header(self, bytes: &[u8]) -> Option<(u32, usize, usize)> {
        let (first, rest) = bytes.split_first()?;
        match self {
            Self::Mp4 => {
                let number = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
                Some((number(4)?, 8, (number(0)? as usize).max(8)))
            }
            Self::Matroska => {
                let more = first.leading_zeros() as usize;
                let kind = rest
                    .get(..more)?
                    .iter()
                    .fold(u32::from(*first), |kind, byte| kind << 8 | u32::from(*byte));
                let size = &rest[more..];
                let mark = size.first()?.leading_zeros() as usize;
                let number = size
                    .get(..=mark)?
                    .iter()
                    .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
                let header = more + mark + 2;
                let body = number & ((1_u64 << (7 * (mark + 1))) - 1);
                let body = if kind == SEGMENT { 0 } else { usize::try_from(body).ok()? };
                Some((kind, header, header.saturating_add(body)))
            }
        }
    }

    /// Returns the complete elements at the start of `bytes`.
    fn elements(self, mut bytes: &[u8]) -> impl Iterator<Item = Element<'_>> {
        std::iter::from_fn(move || {
            let (kind, header, length) = self.header(bytes)?;
            let (element, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            Some(Element { kind, bytes: element, body: &element[header..] })
        })
    }

    /// Returns the length of the first fragment in `bytes`, or `None` if it is not complete.
    pub(super) fn fragment(self, bytes: &[u8]) -> Option<usize> {
        let mut length = 0;
        self.elements(bytes).find_map(|element| {
            length += element.bytes.len();
            [MDAT, CLUSTER].contains(&element.kind).then_some(length)
        })
    }

    /// Returns the number of video frames in a fragment.
    pub(super) fn frames(self, fragment: &[u8]) -> u64 {
        let outer = self.elements(fragment).filter(|outer| [MOOF, CLUSTER].contains(&outer.kind));
        let frames = |part: Element<'_>| {
            let inner = || self.elements(part.body);
            match part.kind {
                TRAF if inner().any(|inner| inner.kind == TFHD && inner.number() == VIDEO) => {
                    inner().filter(|inner| inner.kind == TRUN).map(|run| run.number()).sum()
                }
                BLOCK_GROUP => inner().filter(Element::is_block_of_video).count() as u32,
                _ => u32::from(part.is_block_of_video()),
            }
        };
        outer.flat_map(|outer| self.elements(outer.body)).map(|part| u64::from(frames(part))).sum()
    }

    /// Returns bytes that replace the first ones of a fragment until it is complete. They make all of it one element that
    /// players skip.
    pub(super) fn hidden(self, fragment: &[u8]) -> Vec<u8> {
        match self {
            Self::Mp4 => free(fragment.len()),
            Self::Matroska => {
                let length = 1 << 56 | (fragment.len() as u64).saturating_sub(9);
                [&[VOID][..], &length.to_be_bytes()].concat()
            }
        }
    }

    /// Returns an element for position `at` of a file that players skip, so that the next fragment begins a page.
    pub(super) fn padding(self, at: u64) -> Vec<u8> {
        let gap = (at.next_multiple_of(PAGE) - at) as usize;
        // Players of Matroska do not need it.
        if gap == 0 || self == Self::Matroska {
            return Vec::new();
        }
        let length = if gap < 8 { gap + PAGE as usize } else { gap };
        let mut padding = free(length);
        padding.resize(length, 0);
        padding
    }
}

/// Returns the header of a `free` box of MP4 with `length` bytes.
fn free(length: usize) -> Vec<u8> {
    [&(length as u32).to_be_bytes()[..], b"free"].concat()
}
