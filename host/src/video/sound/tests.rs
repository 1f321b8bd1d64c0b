//! Tests on synthetic sound whose offset is known.

use std::f64::consts::TAU;
use std::ops::Range;

use fastrand::Rng;

use super::*;

const HZ: f64 = RATE as f64;

/// The number of random recordings of the property test.
const CASES: u64 = 40;

/// The period of [`Kind::Loop`] in seconds.
const LOOP_SECONDS: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// White noise.
    Noise,
    /// Pulses of a changing pitch in syllables with pauses between them.
    Speech,
    /// Short bursts of noise every few seconds, and silence between them.
    Claps,
    /// Chords of pure tones that never repeat.
    Music,
    /// The same chords again and again.
    Loop,
    /// A steady tone with harmonics.
    Hum,
}

const KINDS: [Kind; 6] =
    [Kind::Noise, Kind::Speech, Kind::Claps, Kind::Music, Kind::Loop, Kind::Hum];

/// Returns `seconds` of sound at [`RATE`], with an amplitude of about 0.1.
fn scene(kind: Kind, seconds: f64, rng: &mut Rng) -> Vec<f32> {
    let count = (seconds * HZ) as usize;
    match kind {
        Kind::Noise => (0..count).map(|_| white(rng)).collect(),
        Kind::Speech => speech(count, rng),
        Kind::Claps => {
            let mut sound = vec![0.0; count];
            let mut at = rng.usize(0..8000);
            while at < count {
                for (i, sample) in sound[at..].iter_mut().take(1200).enumerate() {
                    *sample += 5.0 * white(rng) * (-(i as f32) / 150.0).exp();
                }
                at += rng.usize(8000..50_000);
            }
            sound
        }
        Kind::Music => chords(count, usize::MAX, rng),
        Kind::Loop => chords(count, (4.0 * LOOP_SECONDS) as usize, rng),
        Kind::Hum => {
            let tone = |i: usize| {
                (1..20)
                    .map(|k| (TAU * 50.0 * f64::from(k) * i as f64 / HZ).sin() / f64::from(k))
                    .sum()
            };
            (0..count)
                .map(|i| {
                    0.1 * {
                        let tone: f64 = tone(i);
                        tone as f32
                    }
                })
                .collect()
        }
    }
}

fn white(rng: &mut Rng) -> f32 {
    0.1 * (0..4).map(|_| rng.f32() - 0.5).sum::<f32>() * 1.7
}

/// Chords of a quarter of a second. The sequence repeats after `period` chords.
fn chords(count: usize, period: usize, rng: &mut Rng) -> Vec<f32> {
    let length = RATE as usize / 4;
    let mut chords: Vec<[f64; 4]> = Vec::new();
    let mut sound = Vec::with_capacity(count);
    for i in 0..count {
        let number = i / length % period;
        if number == chords.len() {
            // Notes of the tempered scale from 110 Hz on.
            chords.push([(); 4].map(|()| 110.0 * 2f64.powf(f64::from(rng.u8(0..48)) / 12.0)));
        }
        let part = (i % length) as f64;
        let fade = (-part / 1200.0).exp() as f32;
        let tone = |pitch: &f64| (TAU * pitch * part / HZ).sin() as f32;
        sound.push(0.1 * fade * chords[number].iter().map(tone).sum::<f32>());
    }
    sound
}

fn speech(count: usize, rng: &mut Rng) -> Vec<f32> {
    let mut sound = vec![0.0; count];
    let mut at = 0;
    while at < count {
        let length = rng.usize(800..3000);
        let (pitch, glide) = (80.0 + 120.0 * rng.f64(), 0.8 + 0.4 * rng.f64());
        let resonances = [300.0 + 600.0 * rng.f64(), 900.0 + 1600.0 * rng.f64()];
        let mut state = [[0.0_f64; 2]; 2];
        let mut phase = 0.0;
        for (i, sample) in sound[at..].iter_mut().take(length).enumerate() {
            let part = i as f64 / length as f64;
            phase += pitch * glide.powf(part) / HZ;
            let mut pulse = 0.02 * f64::from(white(rng));
            if phase >= 1.0 {
                (phase, pulse) = (phase - 1.0, 1.0);
            }
            for (resonance, [a, b]) in resonances.iter().zip(&mut state) {
                let next = pulse + 1.9 * 0.97 * (TAU * resonance / HZ).cos() * *a - 0.94 * *b;
                (*b, *a) = (*a, next);
            }
            let envelope = (std::f64::consts::PI * part).sin();
            *sample = (0.05 * envelope * (state[0][0] + state[1][0])) as f32;
        }
        at += length + if rng.u8(0..4) == 0 { rng.usize(4000..16_000) } else { rng.usize(0..1000) };
    }
    sound
}

/// A recorder's microphone and clock.
#[derive(Clone, Copy, Debug)]
struct Recorder {
    gain: f32,
    /// The coefficient of a low-pass filter of first order: 0 for none.
    dull: f32,
    /// The standard deviation of the added noise.
    noise: f32,
    /// An echo, as a delay in samples and a factor.
    echo: (usize, f32),
    drift: f64,
}

const CLEAN: Recorder = Recorder { gain: 1.0, dull: 0.0, noise: 0.0, echo: (1, 0.0), drift: 0.0 };

impl Recorder {
    /// Records `seconds` of `scene` from the time `start` on. Outside the scene, there is only noise.
    fn record(&self, scene: &[f32], start: f64, seconds: f64, rng: &mut Rng) -> Vec<f32> {
        let mut low = 0.0;
        let sample = |i: usize| {
            let place = (start + i as f64 / HZ / (1.0 + self.drift)) * HZ;
            let direct = interpolated(scene, place);
            let heard = direct + self.echo.1 * interpolated(scene, place - self.echo.0 as f64);
            low = self.dull * low + (1.0 - self.dull) * heard;
            self.gain * low + self.noise * 10.0 * white(rng)
        };
        (0..(seconds * HZ) as usize).map(sample).collect()
    }
}

/// Returns a sample between the samples of `sound` by a windowed sinc of 16 taps.
fn interpolated(sound: &[f32], place: f64) -> f32 {
    let (whole, part) = (place.floor(), place - place.floor());
    let tap = |k: i64| {
        let Some(sample) = usize::try_from(whole as i64 + k).ok().and_then(|i| sound.get(i)) else {
            return 0.0;
        };
        let x = k as f64 - part;
        let window = (std::f64::consts::PI * x / 16.0).cos().powi(2);
        let sinc = if x.abs() < 1e-9 {
            1.0
        } else {
            (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x)
        };
        sample * (window * sinc) as f32
    };
    if part == 0.0 { tap(0) } else { (-7..=8).map(tap).sum() }
}

#[derive(Debug)]
struct Case {
    kind: Kind,
    seconds: [f64; 2],
    offset: f64,
    recorders: [Recorder; 2],
}

impl Case {
    fn random(rng: &mut Rng) -> Self {
        let recorder = |rng: &mut Rng| Recorder {
            gain: 10f32.powf(2.0 * rng.f32() - 1.5),
            dull: 0.9 * rng.f32(),
            noise: 10f32.powf(-4.0 * rng.f32() - 1.0),
            echo: (rng.usize(1..400), 0.6 * rng.f32()),
            drift: 0.0,
        };
        let mut recorders = [recorder(rng), recorder(rng)];
        recorders[1].drift = 2e-4 * (rng.f64() - 0.5);
        Self {
            kind: KINDS[rng.usize(0..KINDS.len())],
            seconds: [0, 1].map(|_| 1.0 + 59.0 * rng.f64()),
            offset: 120.0 * (rng.f64() - 0.5) * rng.f64(),
            recorders,
        }
    }

    fn find(&self, rng: &mut Rng) -> Result<SoundOffset, SoundError> {
        let start = 60.0;
        let end = start + self.seconds[0].max(self.offset + self.seconds[1]) + 1.0;
        let scene = scene(self.kind, end, rng);
        let [reference, other] = self.recorders;
        let reference = reference.record(&scene, start, self.seconds[0], rng);
        let other = other.record(&scene, start + self.offset, self.seconds[1], rng);
        offset(&Track::new(reference), &Track::new(other), 90.0)
    }

    /// Returns the time in which both recorders record, in seconds of the first one.
    fn common(&self) -> Range<f64> {
        self.offset.max(0.0)..self.seconds[0].min(self.offset + self.seconds[1])
    }

    /// Returns whether the recordings have so much sound with so little noise that the offset must be found.
    fn is_easy(&self) -> bool {
        let Range { start, end } = self.common();
        let is_clear = |recorder: &Recorder| recorder.noise < 0.005 * recorder.gain;
        let is_clear = self.recorders.iter().all(is_clear);
        let is_rich = matches!(self.kind, Kind::Noise | Kind::Speech | Kind::Music);
        end - start > 8.0 && is_clear && is_rich
    }

    /// Returns the largest error of the other recorder's time while both record.
    fn error(&self, found: Offset) -> f64 {
        let time = |offset: Offset, at: f64| (at - offset.seconds) * (1.0 + offset.drift);
        let truth = Offset { seconds: self.offset, drift: self.recorders[1].drift };
        let Range { start, end } = self.common();
        [start, end]
            .map(|at| (time(found, at) - time(truth, at)).abs())
            .into_iter()
            .fold(0.0, f64::max)
    }
}

/// Returns whether an error is less than 1 ms. Sound that repeats may be found in another repetition if the recordings
/// have hardly any time in common, because nothing tells the repetitions apart.
fn is_right(case: &Case, found: Offset) -> bool {
    let error = case.error(found);
    let common = case.common();
    let repetition = (error / LOOP_SECONDS).round() * LOOP_SECONDS;
    let is_undetermined = case.kind == Kind::Loop && common.end - common.start < LEAST_SECONDS;
    error < 1e-3 || is_undetermined && (error - repetition).abs() < 1e-3
}

#[test]
fn offsets_are_right_or_refused() {
    let mut found = 0;
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let case = Case::random(&mut rng);
        match case.find(&mut rng) {
            Ok(got) => {
                found += 1;
                assert!(is_right(&case, got.offset), "{seed}: {got:?} {case:?}");
            }
            Err(error) => assert!(!case.is_easy(), "{seed}: {error} {case:?}"),
        }
    }
    assert!(found > CASES / 8, "{found}");
}

/// Vowels, notes and claps of different recordings can look alike for some tenths of a second.
#[test]
fn unrelated_sound_is_refused() {
    for (seed, kind) in
        (0..24).zip([Kind::Speech, Kind::Speech, Kind::Music, Kind::Claps].into_iter().cycle())
    {
        let track = |seed: u64| {
            let mut rng = Rng::with_seed(seed);
            Track::new(scene(kind, 10.0 + 20.0 * rng.f64(), &mut rng))
        };
        let found = offset(&track(seed), &track(seed + 1000), 30.0);
        assert!(found.is_err(), "{seed} {kind:?}: {found:?}");
    }
}

/// A minute of speech, which starts at 0.
fn speech_scene(seed: u64) -> Vec<f32> {
    scene(Kind::Speech, 60.0, &mut Rng::with_seed(seed))
}

fn record(scene: &[f32], recorder: Recorder, start: f64, seconds: f64) -> Track {
    Track::new(recorder.record(scene, start, seconds, &mut Rng::with_seed(9)))
}

/// The drift of 100 ppm moves the sound by 18 ms within these recordings, and the line must follow it.
#[test]
fn drift_is_measured() {
    let mut rng = Rng::with_seed(1);
    for (offset, drift) in [(37.25, 1e-4), (-41.5, -1e-4)] {
        let recorders = [CLEAN, Recorder { drift, gain: 0.2, echo: (90, 0.4), ..CLEAN }];
        let case = Case { kind: Kind::Speech, seconds: [180.0, 170.0], offset, recorders };
        let found = case.find(&mut rng).unwrap();
        assert!(case.error(found.offset) < 5e-4, "{found:?}");
        assert!((found.offset.drift - drift).abs() < 3e-6, "{found:?}");
        assert!(found.agreeing > 15 && found.compared == PROBES, "{found:?}");
    }
}

/// An exchange of the two recordings inverts the function from one time to the other.
#[test]
fn exchanged_recordings_give_the_inverse() {
    let scene = speech_scene(2);
    let [a, b] = [(0.0, 40.0, 0.0), (7.7, 45.0, 8e-5)]
        .map(|(start, seconds, drift)| record(&scene, Recorder { drift, ..CLEAN }, start, seconds));
    let [there, back] =
        [offset(&a, &b, 20.0), offset(&b, &a, 20.0)].map(|found| found.unwrap().offset);
    assert!((there.seconds - 7.7).abs() < 1e-4, "{there:?}");
    assert!((back.seconds + there.seconds * (1.0 + there.drift)).abs() < 1e-4, "{back:?}");
    assert!(((1.0 + there.drift) * (1.0 + back.drift) - 1.0).abs() < 2e-6, "{there:?} {back:?}");
}

#[test]
fn inverted_polarity_and_gain_do_not_matter() {
    let scene = speech_scene(3);
    let inverted = Recorder { gain: -0.002, ..CLEAN };
    let found =
        offset(&record(&scene, CLEAN, 5.0, 20.0), &record(&scene, inverted, 1.5, 30.0), 10.0);
    assert!((found.unwrap().offset.seconds + 3.5).abs() < 1e-3, "{found:?}");
}

/// Both cameras record their own beep at the start, at different times of the scene.
#[test]
fn equal_beeps_at_the_starts_do_not_decide() {
    let scene = speech_scene(4);
    let beep = |mut sound: Vec<f32>| {
        let mut rng = Rng::with_seed(11);
        sound.iter_mut().take(2000).for_each(|sample| *sample += 5.0 * white(&mut rng));
        Track::new(sound)
    };
    let [a, b] =
        [0.0, 9.0].map(|start| beep(CLEAN.record(&scene, start, 40.0, &mut Rng::with_seed(9))));
    let found = offset(&a, &b, 20.0).unwrap();
    assert!((found.offset.seconds - 9.0).abs() < 1e-3, "{found:?}");
}

#[test]
fn unusable_sound_is_refused() {
    let scene = speech_scene(5);
    let speech = |start, seconds| record(&scene, CLEAN, start, seconds);
    let sine = (0..80_000).map(|i| (TAU * 440.0 * f64::from(i) / HZ).sin() as f32);
    let sine = Track::new(sine.collect());
    let silence = Track::new(vec![0.0; 80_000]);
    let other = record(&speech_scene(6), CLEAN, 0.0, 30.0);
    let different = Err(SoundError::Different { most: 10.0 });
    for (reference, track, expected) in [
        (&speech(0.0, 30.0), &silence, Err(SoundError::Silent)),
        (&Track::new(Vec::new()), &speech(0.0, 30.0), Err(SoundError::Silent)),
        (&Track::new(vec![f32::NAN; 80_000]), &speech(0.0, 30.0), Err(SoundError::Silent)),
        (&speech(0.0, 30.0), &other, different),
        // They have only 2 s in common.
        (&speech(0.0, 10.0), &speech(8.0, 10.0), different),
        // The offset exceeds the searched ones.
        (&speech(0.0, 30.0), &speech(10.5, 30.0), different),
    ] {
        assert_eq!(offset(reference, track, 10.0), expected);
    }
    for reference in [&speech(0.0, 30.0), &sine] {
        assert!(offset(reference, &sine, 10.0).is_err());
    }
    let rng = &mut Rng::with_seed(7);
    let repeated = self::scene(Kind::Loop, 30.0, rng);
    let [a, b] = [0.0, 5.0].map(|start| record(&repeated, CLEAN, start, 20.0));
    let error = offset(&a, &b, 10.0).unwrap_err();
    let SoundError::Ambiguous { seconds: [first, second], confidence } = error else {
        panic!("{error}")
    };
    let periods = (first - second) / LOOP_SECONDS;
    assert!((periods - periods.round()).abs() < 1e-3 && periods.round() != 0.0, "{error}");
    assert!(confidence < LEAST_CONFIDENCE, "{error}");
}
