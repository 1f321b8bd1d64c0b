//! Checks the judge with panoramas of known defects: rendered from the truth, so that every score is known.

use crate::case::{Case, Truth};
use crate::classes::{Background, CLASSES, Class};
use crate::grid::{Grid, Mask, Picture};
use crate::judge::{Judged, judge};
use crate::projection::{Projection, Surface};
use crate::rig::level;
use glam::{DMat3, DVec2, DVec3};

/// Returns a class by its name.
fn class(name: &str) -> Class {
    *CLASSES.iter().find(|class| class.name == name).expect("the class")
}

/// Returns a small case with one kind of background.
fn case(class: Class, backgrounds: &'static [Background], seed: u64) -> Case {
    let class = Class { backgrounds, cameras: (3, 3), ..class };
    Case::new(&class, seed, 0.7, "".as_ref()).expect("no file is read").expect("a case")
}

/// Draws what `colour` gives for each direction in a projection that shows the whole truth.
fn draw(
    truth: &Truth,
    projection: Projection,
    [width, height]: [usize; 2],
    colour: impl Fn(DVec3) -> [f32; 3] + Sync,
) -> (Picture, Mask) {
    let seen = |direction| {
        let p = truth.projection.pixel(direction)?.round();
        truth.seen.get_at(p.x as isize, p.y as isize).filter(|&count| count > 0)
    };
    let at = |x: usize, y: usize| projection.direction(DVec2::new(x as f64, y as f64));
    let mask = Grid::from_fn(width, height, |x, y| seen(at(x, y)).is_some());
    let picture = Grid::from_fn(width, height, |x, y| {
        let means = [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)]
            .map(|(dx, dy)| colour(projection.direction(DVec2::new(x as f64 + dx, y as f64 + dy))));
        [0, 1, 2].map(|c| means.iter().map(|colour| colour[c]).sum::<f32>() / 4.0)
    });
    (picture, mask)
}

/// The scene's colour in a direction, as an ideal camera shows it.
fn colour(case: &Case, direction: DVec3) -> [f32; 3] {
    case.scene.light(DVec3::ZERO, direction, 0.0).0.to_array().map(|light| level(light, 0.0))
}

/// Draws the truth's own canvas with changed pixels and judges it.
fn changed(truth: &Truth, change: impl Fn(DVec2, &Picture) -> [f32; 3] + Sync) -> Judged {
    let (width, height) = (truth.picture.width, truth.picture.height);
    let picture =
        Grid::from_fn(width, height, |x, y| change(DVec2::new(x as f64, y as f64), &truth.picture));
    judge(&picture, &truth.seen.map(|count| count > 0), truth).expect("it is registered")
}

#[test]
fn a_panorama_from_the_truth_is_perfect_in_every_projection_at_any_scale_and_side() {
    let case = case(class("plain"), &[Background::Noise], 1);
    let truth = case.truth();
    let focal = truth.projection.focal;
    let tilted = DMat3::from_rotation_z(0.3) * DMat3::from_rotation_x(0.1);
    let lying = DMat3::from_rotation_z(std::f64::consts::FRAC_PI_2);
    let views = [
        (Surface::Sphere, 1.0, DMat3::IDENTITY, [1000, 500]),
        (Surface::Sphere, 1.4, tilted, [1500, 1000]),
        (Surface::Cylinder, 0.8, DMat3::from_rotation_x(-0.08), [900, 500]),
        (Surface::Plane, 1.0, DMat3::from_rotation_y(0.15), [1400, 800]),
        (Surface::Cylinder, 1.0, lying, [700, 1400]),
    ];
    for (surface, scale, turn, size) in views {
        let centre = DVec2::new(size[0] as f64 * 0.5, size[1] as f64 * 0.45);
        let projection = Projection { surface, focal: focal * scale, centre, turn };
        let (picture, mask) = draw(&truth, projection, size, |d| colour(&case, d));
        let judged = judge(&picture, &mask, &truth).expect("it is registered");
        let s = &judged.scores;
        assert!(s.geometry < 0.05 && s.misalignment < 0.12, "{surface:?} {scale}: {s:?}");
        assert!((judged.registration.scale() * scale - 1.0).abs() < 2e-3, "{surface:?} {scale}");
        assert!(s.psnr > if scale < 1.0 { 28.0 } else { 35.0 }, "{surface:?} {scale}: {s:?}");
        assert!(s.ghosts.is_none_or(|ghosts| ghosts < 0.01), "{surface:?} {scale}: {s:?}");
        assert!(s.colour < 0.5, "{surface:?} {scale}: {s:?}");
    }
}

#[test]
fn a_planted_shift_of_one_half_is_measured() {
    let truth = case(class("plain"), &[Background::Foliage], 1).truth();
    let perfect = changed(&truth, |p, truth| truth.sample(p));
    assert!(perfect.scores.misalignment < 0.05, "{:?}", perfect.scores);
    assert!(perfect.scores.psnr > 60.0, "{:?}", perfect.scores);
    // The right 40 % are 2 px lower than the rest, with a break between them.
    let border = truth.picture.width as f64 * 0.6;
    let by = |p: DVec2| DVec2::new(0.0, if p.x > border { -2.0 } else { 0.0 });
    let s = changed(&truth, |p, truth| truth.sample(p + by(p))).scores;
    // The smooth residual takes a part of the step, but cannot remove it at the break.
    assert!((0.5..2.0).contains(&s.misalignment), "{s:?}");
    assert!(s.psnr < perfect.scores.psnr - 15.0 && s.ssim < 0.97, "{s:?}");
}

#[test]
fn a_bend_without_a_break_is_geometry_and_not_misalignment() {
    let truth = case(class("plain"), &[Background::Foliage], 1).truth();
    let width = truth.picture.width as f64;
    let bend = |p: DVec2| DVec2::new(0.0, 4.0 * ((p.x / width - 0.5) * 2.0).powi(3));
    let s = changed(&truth, |p, truth| truth.sample(p + bend(p))).scores;
    assert!((0.2..3.0).contains(&s.geometry) && s.misalignment < 0.25, "{s:?}");
}

#[test]
fn a_planted_colour_step_gives_the_computed_seam_gradient_and_colour_error() {
    let truth = case(class("sky"), &[Background::Sky], 1).truth();
    let (clean, step) = (changed(&truth, |p, truth| truth.sample(p)), 12.0f32);
    let middle = (truth.picture.width / 2) as f64;
    let judged = changed(&truth, |p, truth| {
        let by = if p.x < middle { -step / 2.0 } else { step / 2.0 };
        truth.sample(p).map(|v| (v + by).clamp(1.0, 255.0))
    });
    let (before, after) = (clean.scores.seam.expect("smooth"), judged.scores.seam.expect("smooth"));
    assert!(before < 0.02, "{before}");
    // The formula of the README, with the width of the smooth part of the rows.
    let expected =
        |width: f64| f64::from(step) / (4.0 * width * std::f64::consts::PI.sqrt()).sqrt();
    let width = truth.picture.width as f64;
    assert!((0.6 * expected(width)..1.6 * expected(width)).contains(&after), "{after}");
    assert!(judged.scores.colour > 2.0 * clean.scores.colour + 1.0, "{:?}", judged.scores);
}

#[test]
fn a_global_exposure_and_gamma_cost_nothing() {
    let truth = case(class("plain"), &[Background::City], 1).truth();
    let tone = |v: f32, gain: f32| 255.0 * gain * (v.max(0.0) / 255.0).powf(0.8);
    let s = changed(&truth, |p, truth| {
        let [r, g, b] = truth.sample(p);
        [tone(r, 0.7), tone(g, 0.8), tone(b, 0.75)]
    });
    assert!(s.scores.psnr > 42.0 && s.scores.colour < 0.5, "{:?}", s.scores);
}

#[test]
fn planted_ghosts_are_counted_where_they_are() {
    let truth = case(class("plain"), &[Background::Foliage], 1).truth();
    let clean = changed(&truth, |p, truth| truth.sample(p)).scores;
    assert_eq!(clean.ghosts, Some(0.0), "{clean:?}");
    // The upper half shows a second copy with 30 %.
    let middle = truth.picture.height as f64 / 2.0;
    let ghost = |p: DVec2, truth: &Picture| {
        let (first, second) = (truth.sample(p), truth.sample(p + DVec2::new(7.0, 3.0)));
        let part = if p.y < middle { 0.3 } else { 0.0 };
        [0, 1, 2].map(|c| first[c] * (1.0 - part) + second[c] * part)
    };
    let s = changed(&truth, ghost).scores;
    assert!((0.35..0.6).contains(&s.ghosts.expect("overlaps")), "{s:?}");
    // A blur is not a ghost.
    let soft = [0, 1, 2].map(|c| truth.picture.channel(c).blurred(1.2));
    let blurred = changed(&truth, |p, _| [0, 1, 2].map(|c| soft[c].at(p.x as isize, p.y as isize)));
    assert!(blurred.scores.ghosts < Some(0.03), "{:?}", blurred.scores);
}

#[test]
fn either_place_of_a_moving_object_is_right_and_both_are_a_ghost() {
    let case = case(class("moving"), &[Background::City], 2);
    let truth = case.truth();
    assert!(truth.ambiguous.count() > 500, "{}", truth.ambiguous.count());
    let of_camera = |order: [usize; 3]| {
        let place = move |i: usize, truth: &Truth| {
            order.into_iter().map(|view| truth.views[view].data[i]).find(|c| *c != [0.0; 3])
        };
        let truth_of = truth.clone();
        changed(&truth, move |p, _| {
            let i = p.y as usize * truth_of.picture.width + p.x as usize;
            place(i, &truth_of).unwrap_or_default()
        })
    };
    let (first, last) = (of_camera([0, 1, 2]).scores, of_camera([2, 1, 0]).scores);
    assert!(first.psnr > 40.0 && last.psnr > 40.0, "{first:?} {last:?}");
    let mixed = changed(&truth, |p, _| {
        let i = p.y as usize * truth.picture.width + p.x as usize;
        let seen: Vec<_> =
            truth.views.iter().map(|v| v.data[i]).filter(|c| *c != [0.0; 3]).collect();
        [0, 1, 2].map(|c| seen.iter().map(|v| v[c]).sum::<f32>() / seen.len().max(1) as f32)
    });
    let (clean, ghosts) = (first.ghosts.expect("overlaps"), mixed.scores.ghosts.expect("overlaps"));
    assert!(clean < 0.02 && ghosts > 0.04, "{clean} {ghosts}");
}

#[test]
fn a_missing_part_lowers_only_the_coverage() {
    let truth = case(class("plain"), &[Background::Noise], 1).truth();
    let border = truth.picture.width * 3 / 4;
    let mut mask = truth.seen.map(|count| count > 0);
    let all = mask.count();
    for (i, pixel) in mask.data.iter_mut().enumerate() {
        *pixel &= i % truth.picture.width < border;
    }
    let s = judge(&truth.picture, &mask, &truth).expect("it is registered").scores;
    assert!((s.coverage - mask.count() as f64 / all as f64).abs() < 0.01, "{s:?}");
    assert!(s.psnr > 60.0, "{s:?}");
}

#[test]
fn a_picture_of_something_else_is_refused() {
    let truth = case(class("plain"), &[Background::Noise], 1).truth();
    let other = case(class("plain"), &[Background::Noise], 2).truth();
    assert!(judge(&other.picture, &other.seen.map(|count| count > 0), &truth).is_none());
}
