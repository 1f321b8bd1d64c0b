//! Parsers of the output of ffmpeg's programs, for fuzz targets. They are not part of the API.

use std::path::Path;

use super::{VideoError, VideoLimits, ffmpeg};

/// Parses ffprobe's description of the video `file`, and discards it.
pub fn probe(answer: &[u8], file: &Path) -> Result<(), VideoError> {
    let probe = ffmpeg::parse(answer, file, &VideoLimits::default())?;
    let encoding = probe.stored().unwrap_or_else(|| probe.encoding());
    let decoded = crate::frame::PixelFormat::Nv12(encoding);
    let _ = (probe.conversions(decoded), probe.bits(), probe.frame_duration());
    Ok(())
}

/// Returns the pictures of a transport stream, each with its timestamp in units of 1/90,000 s.
pub fn transport_stream(bytes: &[u8]) -> std::io::Result<Vec<(i64, Vec<u8>)>> {
    let mut stream = ffmpeg::TransportStream::new(bytes);
    std::iter::from_fn(|| stream.next().transpose())
        .map(|packet| packet.map(|packet| (packet.timestamp, packet.bytes)))
        .collect()
}
