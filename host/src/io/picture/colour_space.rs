//! Colour spaces of picture files, which are ignored: all levels are treated as sRGB.
//!
//! The functions describe a colour space that differs from sRGB. They treat BT.709 like sRGB, because video files and
//! pictures from videos are treated alike.

use png::{CodingIndependentCodePoints, Info, SourceChromaticities};

/// The `gAMA` values that are treated as sRGB: from its 45,455 to ffmpeg's 50,994 for BT.709, within 2 %.
const GAMMAS: std::ops::RangeInclusive<u32> = 44_546..=52_014;

/// The chromaticities of sRGB and BT.709: x and y of white, red, green and blue, in units of 0.00001.
const CHROMATICITIES: [u32; 8] = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000];

/// The maximum difference from [`CHROMATICITIES`] of chromaticities that are treated as sRGB.
const TOLERANCE: u32 = 1_000;

/// The maximum number of characters of a profile's name that a message shows.
const MAX_NAME: usize = 80;

/// Returns a description of the colour space of a PNG, or `None` for sRGB and for files that do not state one. Of
/// several statements, the first one in the order of the PNG specification counts: `cICP`, `iCCP`, `sRGB`, then `gAMA`
/// and `cHRM`.
pub(super) fn of_png(info: &Info<'_>, profile: Option<&[u8]>) -> Option<String> {
    if let Some(points) = &info.coding_independent_code_points {
        return of_code_points(points);
    }
    if let Some(profile) = profile {
        return of_profile(profile);
    }
    if info.srgb.is_some() {
        return None;
    }
    let gamma = info.gama_chunk.map(png::ScaledFloat::into_scaled);
    let gamma = gamma.filter(|gamma| *gamma > 0 && !GAMMAS.contains(gamma));
    let gamma = gamma.map(|gamma| format!("a gamma of {:.2}", 1e5 / f64::from(gamma)));
    let primaries = info.chrm_chunk.filter(|found| !is_srgb(found));
    joined([gamma, primaries.map(|_| "primaries other than those of sRGB".to_owned())])
}

/// Returns a description of the colour space of an ICC profile, or `None` for sRGB.
pub(super) fn of_profile(profile: &[u8]) -> Option<String> {
    let Some(name) = name(profile) else {
        return Some("a colour profile without a name".to_owned());
    };
    let lower = name.to_lowercase();
    let is_srgb = lower.contains("srgb") && !lower.contains("linear");
    (!is_srgb).then(|| format!("the colour profile {name}"))
}

/// Describes the code points of ITU-T H.273 in a `cICP` chunk.
fn of_code_points(points: &CodingIndependentCodePoints) -> Option<String> {
    let primaries = match points.color_primaries {
        // BT.709, unknown, BT.601 for 625 and 525 lines.
        1 | 2 | 5..=7 => None,
        9 => Some("BT.2020 primaries".to_owned()),
        11 | 12 => Some("P3 primaries".to_owned()),
        other => Some(format!("primaries {other} of H.273")),
    };
    let transfer = match points.transfer_function {
        // BT.709, unknown, BT.601, sRGB, BT.2020.
        1 | 2 | 6 | 13..=15 => None,
        8 => Some("a linear transfer function".to_owned()),
        16 => Some("the PQ transfer function".to_owned()),
        18 => Some("the HLG transfer function".to_owned()),
        other => Some(format!("the transfer function {other} of H.273")),
    };
    let range = (!points.is_video_full_range_image).then(|| "limited range".to_owned());
    joined([primaries, transfer, range])
}

/// Joins the parts of a description with "and".
fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

fn is_srgb(found: &SourceChromaticities) -> bool {
    let SourceChromaticities { white, red, green, blue } = *found;
    let found = [white, red, green, blue].into_iter().flat_map(|(x, y)| [x, y]);
    let found = found.map(png::ScaledFloat::into_scaled);
    found.zip(CHROMATICITIES).all(|(found, srgb)| found.abs_diff(srgb) <= TOLERANCE)
}

/// Returns the name of an ICC profile: the text of its tag `desc`, in its first language. Returns `None` if the profile
/// has no readable name.
fn name(profile: &[u8]) -> Option<String> {
    let word =
        |data: &[u8], at: usize| Some(u32::from_be_bytes(*data.get(at..)?.first_chunk()?) as usize);
    let slice = |data: &'_ [u8], at: usize, length: usize| {
        Some(data.get(at..at.checked_add(length)?)?.to_owned())
    };
    // The table of tags comes after a header of 128 bytes: the number of tags, then the signature, the position and the
    // length of each tag.
    let tags = profile.get(132..)?.chunks_exact(12).take(word(profile, 128)?);
    let tag = tags.into_iter().find(|tag| tag.starts_with(b"desc"))?;
    let text = slice(profile, word(tag, 4)?, word(tag, 8)?)?;
    let name = match text.get(..4)? {
        // Version 2: the length and the text in ASCII.
        b"desc" => String::from_utf8_lossy(&slice(&text, 12, word(&text, 8)?)?).into_owned(),
        // Version 4: the length and the position of the text in UTF-16, for each language.
        b"mluc" => {
            let units = slice(&text, word(&text, 24)?, word(&text, 20)?)?;
            let units = units.chunks_exact(2).map(|it| u16::from_be_bytes([it[0], it[1]]));
            char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        _ => return None,
    };
    // The file must not control the terminal.
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::io::Conversion;
    use crate::io::picture::{Picture, PictureFormat, StoredPicture};
    use shared_types::Rgba8;

    /// Returns a chunk of a PNG.
    fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let body = [kind, content].concat();
        let (length, sum) = (content.len() as u32, crc32fast::hash(&body));
        [&length.to_be_bytes()[..], &body, &sum.to_be_bytes()].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// Decodes a PNG with these chunks. Returns the description of its colour space.
    fn stored(chunks: &[Vec<u8>]) -> Option<String> {
        let mut file = Picture::filled(3, 2, Rgba8::BLACK).encode(PictureFormat::Png).unwrap();
        // The signature has 8 bytes, and the chunk IHDR has 25.
        file.splice(33..33, chunks.concat());
        let picture = Picture::decode(&file, Path::new("a.png")).unwrap();
        let conversions: Vec<_> = picture.conversions().collect();
        match &conversions[..] {
            [] => None,
            [Conversion::ColourSpace { stored }] => Some(stored.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn profiles_of_files_are_reported_at_every_depth() {
        let profile = version_4("Display P3");
        let (mut png, mut jpeg) = (Vec::new(), Vec::new());
        let mut info = Info::with_size(3, 2);
        (info.color_type, info.bit_depth) = (png::ColorType::Rgb, png::BitDepth::Sixteen);
        info.icc_profile = Some(profile.as_slice().into());
        let encoder = png::Encoder::with_info(&mut png, info).unwrap();
        encoder.write_header().unwrap().write_image_data(&[0; 6 * 6]).unwrap();
        let mut encoder = jpeg_encoder::Encoder::new(&mut jpeg, 75);
        encoder.add_icc_profile(&profile).unwrap();
        encoder.encode(&[0; 6 * 3], 3, 2, jpeg_encoder::ColorType::Rgb).unwrap();
        for (file, kinds) in [(png, &["colour_space", "depth"][..]), (jpeg, &["colour_space"])] {
            let picture = StoredPicture::decode(&file, "a").unwrap();
            let found: Vec<_> = picture.clone().into_rgba8().conversions().collect();
            assert_eq!(found.iter().map(Conversion::kind).collect::<Vec<_>>(), kinds);
            assert!(found[0].to_string().starts_with("the colour profile Display P3: treated as"));
            assert_eq!(picture.into_rgba16().conversions().next().as_ref(), found.first());
        }
    }

    /// Returns an ICC profile whose only tag is `desc` with this content.
    fn profile(description: &[u8]) -> Vec<u8> {
        let table = words(&[1, u32::from_be_bytes(*b"desc"), 144, description.len() as u32]);
        [&[0; 128][..], &table, description].concat()
    }

    fn version_2(name: &str) -> Vec<u8> {
        let length = (name.len() as u32 + 1).to_be_bytes();
        profile(&[b"desc\0\0\0\0", &length[..], name.as_bytes(), b"\0"].concat())
    }

    fn version_4(name: &str) -> Vec<u8> {
        let text: Vec<u8> = name.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let record = words(&[1, 12, u32::from_be_bytes(*b"enUS"), text.len() as u32, 28]);
        profile(&[b"mluc\0\0\0\0", &record[..], &text].concat())
    }

    #[test]
    fn code_points_are_described() {
        let coded = |points: [u8; 4]| stored(&[chunk(b"cICP", &points)]);
        for points in [[1, 13, 0, 1], [1, 1, 0, 1], [2, 2, 0, 1]] {
            assert_eq!(coded(points), None, "{points:?}");
        }
        for (points, said) in [
            ([9, 16, 0, 1], "BT.2020 primaries and the PQ transfer function"),
            ([9, 18, 0, 1], "BT.2020 primaries and the HLG transfer function"),
            ([12, 13, 0, 1], "P3 primaries"),
            ([1, 8, 0, 1], "a linear transfer function"),
            ([1, 13, 0, 0], "limited range"),
            ([22, 17, 0, 1], "primaries 22 of H.273 and the transfer function 17 of H.273"),
        ] {
            assert_eq!(coded(points).as_deref(), Some(said));
        }
        // `cICP` takes precedence over `sRGB`.
        let both = [chunk(b"sRGB", &[0]), chunk(b"cICP", &[9, 16, 0, 1])];
        assert!(stored(&both).is_some());
    }

    #[test]
    fn gamma_and_chromaticities_of_srgb_need_no_report() {
        let gamma = |gamma: u32| chunk(b"gAMA", &words(&[gamma]));
        let primaries = |red: u32| {
            let mut all = CHROMATICITIES;
            all[2] = red;
            chunk(b"cHRM", &words(&all))
        };
        for usual in [45_455, 45_450, 50_994] {
            assert_eq!(stored(&[gamma(usual), primaries(64_000)]), None, "{usual}");
        }
        assert_eq!(stored(&[gamma(100_000)]).as_deref(), Some("a gamma of 1.00"));
        let both = stored(&[gamma(55_556), primaries(70_800)]).unwrap();
        assert_eq!(both, "a gamma of 1.80 and primaries other than those of sRGB");
        assert_eq!(stored(&[chunk(b"sRGB", &[0]), gamma(100_000)]), None);
    }

    #[test]
    fn profiles_are_named() {
        for srgb in [version_2("sRGB IEC61966-2.1"), version_4("sRGB built-in")] {
            assert_eq!(of_profile(&srgb), None);
        }
        for (profile, said) in [
            (version_2("Adobe RGB (1998)"), "the colour profile Adobe RGB (1998)"),
            (version_4("Display P3"), "the colour profile Display P3"),
            (version_4("Linear sRGB"), "the colour profile Linear sRGB"),
            (version_2("\u{1b}[31mred"), "the colour profile [31mred"),
            (version_2(""), "a colour profile without a name"),
            (vec![0; 131], "a colour profile without a name"),
        ] {
            assert_eq!(of_profile(&profile).as_deref(), Some(said));
        }
        // Every truncation and every changed byte must be handled.
        let whole = version_4("Display P3");
        for at in 0..whole.len() {
            assert!(of_profile(&whole[..at]).is_some(), "{at}");
            let mut changed = whole.clone();
            changed[at] = 255;
            assert!(of_profile(&changed).is_some(), "{at}");
        }
    }
}
