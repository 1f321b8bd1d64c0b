//! Reads the encoded pictures of a video file, with their timestamps.
//!
//! ffmpeg copies the video stream to MPEG-TS (ISO/IEC 13818-1) in a pipe, without decoding it. In this format, each PES
//! packet has one picture in Annex B format and its timestamp. This module reads only the part of MPEG-TS that ffmpeg
//! writes for a single video stream.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};

use super::probe::Probe;
use super::process::{Child, EXIT_LIMIT, Killer};
use super::{FFMPEG, ffmpeg, input};
use crate::io::video::stream::fill;
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// The size of a transport packet in bytes.
const PACKET: usize = 188;

/// The identifier that ffmpeg gives to the transport packets of the first stream.
const FIRST_STREAM: u16 = 0x100;

/// The number of bits of a timestamp in MPEG-TS. Timestamps wrap around after 26.5 hours.
const BITS: u32 = 33;

/// The number of consecutive pictures that may be decoded within a tick of each other. ffmpeg writes such timestamps
/// when those of the file go backwards.
const MAX_CROWDED: u32 = 10;

/// The maximum number of bytes of an encoded picture, which limits the memory that a file can claim.
const MAX_PICTURE: usize = 256 << 20;

/// An encoded picture.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::io::video) struct Packet {
    /// The presentation timestamp in units of 1/90,000 s.
    pub(in crate::io::video) timestamp: i64,
    /// The picture in Annex B format.
    pub(in crate::io::video) bytes: Vec<u8>,
}

/// The encoded pictures of a video file, in decoding order.
pub(in crate::io::video) struct Packets {
    child: Child,
    stream: TransportStream<BufReader<ChildStdout>>,
    file: PathBuf,
}

impl Packets {
    /// Starts to read the video stream that `probe` describes.
    pub(in crate::io::video) fn start(
        path: &Path,
        probe: &Probe,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let mut command = ffmpeg();
        input(&mut command, path, probe.max_pixels);
        command
            .arg("-map")
            .arg(format!("0:{}", probe.index))
            // Without `-avoid_negative_ts`, ffmpeg would delay all frames if the first ones are decoded before time 0.
            .args(["-c", "copy", "-avoid_negative_ts", "disabled"])
            .args(["-muxdelay", "0", "-muxpreload", "0", "-f", "mpegts", "pipe:1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let child = Child::start(FFMPEG, &mut command, path, FfmpegTask::Demuxing, stop)?;
        let stream = TransportStream::new(BufReader::with_capacity(1 << 20, child.output()?));
        Ok(Self { child, stream, file: path.to_owned() })
    }

    /// Returns a handle that kills ffmpeg when the handle is dropped.
    pub(in crate::io::video) fn killer(&self, stop: &Stop) -> Killer {
        self.child.killer(stop)
    }

    /// Returns the next picture, or `None` at the end of the video.
    ///
    /// # Errors
    /// Returns [`VideoError`] if ffmpeg fails, or the timestamps go backwards. Logs a warning at the end of the video
    /// if ffmpeg reported errors but did not fail.
    pub(in crate::io::video) fn next(&mut self) -> Result<Option<Packet>, VideoError> {
        let file = || self.file.clone();
        match self.stream.next() {
            Ok(Some(_)) if self.stream.crowded > MAX_CROWDED => {
                self.child.kill();
                Err(VideoError::input(
                    &self.file,
                    "the timestamps of many frames go backwards; repair them, or let ffmpeg decode the video (`decoder` ffmpeg)",
                ))
            }
            Ok(Some(packet)) => Ok(Some(packet)),
            Ok(None) => {
                self.child.wait(Some(EXIT_LIMIT))?;
                self.child.report();
                Ok(None)
            }
            Err(source) => {
                // ffmpeg may be blocked, because the pipe is full.
                self.child.kill();
                Err(VideoError::Unreadable { file: file(), source })
            }
        }
    }
}

/// A reader of the pictures in an MPEG transport stream.
pub(in crate::io::video) struct TransportStream<R> {
    input: R,
    /// The picture that is being read.
    current: Option<Packet>,
    /// The timestamps of the latest picture, without wrap-around: presentation and decoding. ffmpeg makes the
    /// video start near 0.
    latest: [i64; 2],
    /// The number of consecutive pictures up to now whose decoding times are at most a tick apart.
    crowded: u32,
}

impl<R: Read> TransportStream<R> {
    pub(in crate::io::video) fn new(input: R) -> Self {
        Self { input, current: None, latest: [0; 2], crowded: 0 }
    }

    /// Returns the next picture, or `None` at the end of the stream. An incomplete transport packet ends the stream.
    pub(in crate::io::video) fn next(&mut self) -> std::io::Result<Option<Packet>> {
        let mut packet = [0; PACKET];
        while fill(&mut self.input, &mut packet)? == PACKET {
            if packet[0] != 0x47 {
                return Err(malformed("a packet does not start with 0x47"));
            }
            let identifier = u16::from_be_bytes([packet[1] & 0x1f, packet[2]]);
            let (has_adaptation, has_payload) = (packet[3] & 0x20 != 0, packet[3] & 0x10 != 0);
            let start = if has_adaptation { 5 + usize::from(packet[4]) } else { 4 };
            let Some(payload) = packet.get(start..).filter(|_| has_payload) else { continue };
            if identifier != FIRST_STREAM {
                continue;
            }
            let starts_picture = packet[1] & 0x40 != 0;
            if !starts_picture {
                if let Some(current) = &mut self.current {
                    if current.bytes.len() + payload.len() > MAX_PICTURE {
                        return Err(malformed("a picture has more than 256 MiB"));
                    }
                    current.bytes.extend(payload);
                }
                continue;
            }
            let packet = self.packet(payload).ok_or_else(|| malformed("a PES header is short"))?;
            if let Some(finished) = self.current.replace(packet) {
                return Ok(Some(finished));
            }
        }
        Ok(self.current.take())
    }

    /// Returns the start of the picture in a PES packet, or `None` if its header is incomplete.
    fn packet(&mut self, payload: &[u8]) -> Option<Packet> {
        let header = payload.get(..9)?;
        let bytes = payload.get(9 + usize::from(header[8])..)?;
        let (has_presentation, has_decoding) = (header[7] & 0x80 != 0, header[7] & 0x40 != 0);
        let presentation = has_presentation.then(|| payload.get(9..14).map(timestamp)).flatten();
        let decoding = has_decoding.then(|| payload.get(14..19).map(timestamp)).flatten();
        // ffmpeg writes a timestamp for each picture, and a decoding timestamp if it differs.
        let earlier = self.latest;
        let presentation = presentation.unwrap_or(earlier[0]);
        let raw = [presentation, decoding.unwrap_or(presentation)];
        let latest = [0, 1].map(|i| earlier[i] + wrapped(raw[i] - earlier[i]));
        self.crowded = if latest[1] - earlier[1] <= 1 { self.crowded + 1 } else { 0 };
        self.latest = latest;
        Some(Packet { timestamp: latest[0], bytes: bytes.to_vec() })
    }
}

fn malformed(why: &str) -> std::io::Error {
    std::io::Error::other(format!("ffmpeg's MPEG-TS output is malformed: {why}"))
}

/// Decodes a timestamp from the five bytes of a PES header.
fn timestamp(bytes: &[u8]) -> i64 {
    let part = |i: usize| i64::from(bytes[i]);
    let [high, middle, low] =
        [part(0) >> 1 & 7, part(1) << 7 | part(2) >> 1, part(3) << 7 | part(4) >> 1];
    high << 30 | middle << 15 | low
}

/// Returns the value from -2³² to 2³² - 1 that equals `difference` modulo 2³³.
fn wrapped(difference: i64) -> i64 {
    let unused = i64::BITS - BITS;
    difference << unused >> unused
}

#[cfg(test)]
mod tests {
    use panoweave_tests::skip::{Need, skip};

    use super::super::FFPROBE;
    use super::*;
    use crate::io::video::VideoLimits;
    use crate::io::video::constant_rate::TICKS;

    /// Returns transport packets with one picture.
    fn picture(timestamps: [i64; 2], bytes: &[u8]) -> Vec<u8> {
        let field = |mark: u8, value: i64| {
            let value = value.rem_euclid(1 << BITS);
            let (high, middle, low) = (value >> 30, value >> 15 & 0x7fff, value & 0x7fff);
            let byte = |value: i64| (value & 0xff) as u8;
            [
                mark << 4 | byte(high << 1) | 1,
                byte(middle >> 7),
                byte(middle << 1) | 1,
                byte(low >> 7),
                byte(low << 1) | 1,
            ]
        };
        let mut payload = vec![0, 0, 1, 0xe0, 0, 0, 0x80, 0xc0, 10];
        payload.extend(field(3, timestamps[0]));
        payload.extend(field(1, timestamps[1]));
        payload.extend(bytes);
        let mut packets = Vec::new();
        for (i, part) in payload.chunks(183).enumerate() {
            let stuffing = 183 - part.len();
            packets.extend([0x47, if i == 0 { 0x41 } else { 1 }, 0, 0x30, stuffing as u8]);
            packets.extend(vec![0xff; stuffing]);
            packets.extend(part);
        }
        packets
    }

    fn read(stream: &[u8]) -> Vec<(i64, Vec<u8>)> {
        let mut stream = TransportStream::new(stream);
        let packets = std::iter::from_fn(|| stream.next().unwrap());
        packets.map(|packet| (packet.timestamp, packet.bytes)).collect()
    }

    #[test]
    fn malformed_packets_are_errors() {
        let whole = picture([0, 0], b"picture");
        for (at, byte) in [(0, 0x48), (4, 180), (170, 200)] {
            let mut stream = [whole.clone(), whole.clone()].concat();
            stream[at] = byte;
            let mut stream = TransportStream::new(&*stream);
            let error = std::iter::repeat_with(|| stream.next()).take(3).find_map(Result::err);
            assert!(error.is_some(), "{at}");
        }
    }

    #[test]
    fn pictures_of_all_sizes_keep_their_bytes_and_timestamps() {
        let pictures: Vec<(i64, Vec<u8>)> = [0, 1, 163, 164, 165, 183, 5000]
            .iter()
            .enumerate()
            .map(|(i, len)| (i as i64 * 3003 - 6006, (0..*len).map(|n| n as u8).collect()))
            .collect();
        let other = [[0x47, 0x40, 0, 0x10].as_slice(), &[0; 184]].concat();
        let stream: Vec<u8> = pictures
            .iter()
            .flat_map(|(time, bytes)| [picture([*time, time - 1], bytes), other.clone()].concat())
            .collect();
        assert_eq!(read(&stream), pictures);
    }

    #[test]
    fn timestamps_continue_after_the_wrap_around() {
        let start = (1_i64 << 32) - 10;
        let times = [start - 3000, start, start + 3000, start + (1 << 31), start + (1 << 32)];
        let stream: Vec<u8> =
            times.iter().flat_map(|time| picture([*time, *time], &[1, 2, 3])).collect();
        assert_eq!(read(&stream).iter().map(|(time, _)| *time).collect::<Vec<_>>(), times);
    }

    #[test]
    fn an_incomplete_packet_ends_the_stream_and_garbage_is_an_error() {
        let mut stream = picture([1, 1], &[1; 400]);
        stream.truncate(188 + 100);
        assert_eq!(read(&stream), [(1, vec![1; 164])]);
        assert!(TransportStream::new([0; 400].as_slice()).next().is_err());
    }

    #[test]
    fn pictures_at_the_same_time_are_counted() {
        let stream: Vec<u8> = (0..50).flat_map(|i| picture([i, i], &[])).collect();
        let mut stream = TransportStream::new(stream.as_slice());
        while stream.next().unwrap().is_some() {}
        assert_eq!(stream.crowded, 50);
    }

    #[test]
    fn pictures_of_a_file_have_its_timestamps() {
        let folder = tempfile::tempdir().unwrap();
        let run = |tool: super::super::process::Tool, line: &str| {
            let mut command = tool.command();
            let output = command.current_dir(&folder).args(line.split_whitespace()).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let encode =
            "-v error -f lavfi -i testsrc2=s=64x48:r=30000/1001 -t 2 -c:v libx264 -bf 3 a.mp4";
        if let Err(error) = run(FFMPEG, encode) {
            return skip(Need::Ffmpeg, error);
        }
        // The edit list of `cut.mp4` starts within a group of pictures, so timestamps are negative.
        run(FFMPEG, "-v error -ss 0.5 -i a.mp4 -c copy cut.mp4").unwrap();
        run(FFMPEG, "-v error -i a.mp4 -c copy b.mkv").unwrap();
        run(FFMPEG, "-v error -i a.mp4 -c copy -output_ts_offset 50000 c.ts").unwrap();
        for name in ["a.mp4", "cut.mp4", "b.mkv", "c.ts"] {
            let stop = Stop::default();
            let path = folder.path().join(name);
            let probe = super::super::probe(&path, &VideoLimits::default(), &stop).unwrap();
            let mut packets = Packets::start(&path, &probe, &stop).unwrap();
            let mut found = Vec::new();
            while let Some(packet) = packets.next().unwrap() {
                assert!(
                    packet.bytes.starts_with(&[0, 0, 0, 1]) || packet.bytes.starts_with(&[0, 0, 1])
                );
                found.push(packet.timestamp);
            }
            let list = |what: &str| {
                let show =
                    format!("-v error -select_streams v -show_entries {what} -of csv=p=0 {name}");
                run(FFPROBE, &show).unwrap()
            };
            let ticks = |line: &str| {
                let time: f64 = line.trim_end_matches(',').parse().unwrap();
                (time * f64::from(TICKS)).round() as i64
            };
            let start = ticks(list("format=start_time").trim());
            let listed = list("packet=pts_time");
            let lines = listed.lines().filter(|line| !line.is_empty());
            let expected: Vec<_> = lines.map(|line| ticks(line) - start).collect();
            let differs = |(found, expected): (&i64, &i64)| (found - expected).abs() > 1;
            assert!(!found.iter().zip(&expected).any(differs), "{name}: {found:?} {expected:?}");
            assert_eq!(found.len(), expected.len(), "{name}");
            assert_eq!(probe.omits_frames, name == "cut.mp4");
            assert!(found.len() >= 60 - 15, "{name}: {}", found.len());
        }
    }
}
