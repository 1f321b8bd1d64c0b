//! Which way is up, and the angles of a camera.
//!
//! People hold cameras level, so that the x axes of cameras that turned lie in the horizon's plane (Brown
//! and Lowe, IJCV 2007). A camera that lies on its side has its y axis there; what is up is what most cameras
//! have as their own. Where all axes point one way, as with a camera that nodded, one camera's own up stays:
//! the reference's, unless most cameras contradict it.

use glam::{DMat3, DVec3};

/// How much one camera's own upright counts against another camera's level axis. Small, so that
/// cameras 10° apart already outweigh it tenfold in what they can tell (sin² 10° = 0.03).
const OWN: f64 = 0.003;

/// The world's up as cameras tell it; `to_world` has each camera's axes as columns. Of length 1.
pub(super) fn up(to_world: &[DMat3], reference: usize) -> DVec3 {
    let own = upright(to_world, reference);
    // (Σ a·aᵀ + λI)·up = λ·own: level axes at right angles, and the rest as that camera has it.
    let mut matrix = DMat3::IDENTITY * OWN;
    for axes in to_world {
        let level = if stands(axes, own) { axes.x_axis } else { axes.y_axis };
        matrix += DMat3::from_cols(level * level.x, level * level.y, level * level.z);
    }
    let up = matrix.inverse() * own;
    up.try_normalize().filter(|up| up.dot(own) > 0.5).unwrap_or(own)
}

/// Whether `up` lies along a camera's y axis, either way, rather than along its x axis.
fn stands(axes: &DMat3, up: DVec3) -> bool {
    axes.x_axis.dot(up).abs() <= axes.y_axis.dot(up).abs()
}

/// The camera's own up that most cameras take for theirs too; on a tie the reference's.
fn upright(to_world: &[DMat3], reference: usize) -> DVec3 {
    let Some(first) = to_world.get(reference) else { return -DVec3::Y };
    let votes = |up: DVec3| {
        let own = |axes: &&DMat3| stands(axes, up) && axes.y_axis.dot(up) < 0.0;
        to_world.iter().filter(own).count()
    };
    let mut best = (votes(-first.y_axis), -first.y_axis);
    for axes in to_world {
        let up = -axes.y_axis;
        let many = votes(up);
        if many > best.0 {
            best = (many, up);
        }
    }
    best.1
}

/// What turns the world so that `up` is up (y points down) and `ahead` as far ahead as that allows.
pub(super) fn level(up: DVec3, ahead: DVec3) -> DMat3 {
    let down = -up;
    // Where the way ahead is straight up or down, any direction will do.
    let right = down.cross(ahead).try_normalize().unwrap_or_else(|| down.any_orthonormal_vector());
    // The rows are the new axes.
    DMat3::from_cols(right, down, right.cross(down)).transpose()
}

/// Yaw, pitch and roll in degrees, as [`rig`](crate::geometry::rig) has them, of a matrix from a camera's frame to the
/// world's.
pub(super) fn angles(to_world: DMat3) -> [f64; 3] {
    let ahead = to_world.z_axis;
    let pitch = libm::asin((-ahead.y).clamp(-1.0, 1.0)).to_degrees();
    // Straight up or down there is no yaw; all of it is roll.
    let flat = libm::hypot(ahead.x, ahead.z) > 1e-9;
    let yaw = if flat { libm::atan2(ahead.x, ahead.z).to_degrees() } else { 0.0 };
    let rest = crate::geometry::rig::rotation(yaw, pitch, 0.0).transpose() * to_world;
    let roll = libm::atan2(rest.x_axis.y, rest.x_axis.x).to_degrees();
    [yaw, pitch, roll]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::rig::rotation;

    #[test]
    fn angles_come_back() {
        for (yaw, pitch, roll) in
            [(10.0, 20.0, 30.0), (-170.0, -60.0, 179.0), (0.0, 90.0, 25.0), (5.0, -89.99, -90.0)]
        {
            let matrix = rotation(yaw, pitch, roll);
            let [y, p, r] = angles(matrix);
            assert!(
                rotation(y, p, r).abs_diff_eq(matrix, 1e-9),
                "{yaw} {pitch} {roll}: {y} {p} {r}"
            );
        }
    }

    #[test]
    fn level_cameras_that_look_up_tell_where_up_is() {
        // Tilted up by 20°, turned by 50° in all: the reference's own y axis is 20° off.
        let cameras = [rotation(-25.0, 20.0, 0.0), rotation(25.0, 20.0, 0.0)];
        let angle = up(&cameras, 0).angle_between(-DVec3::Y).to_degrees();
        assert!(angle < 1.0, "{angle}");
        // The second one stands on its side.
        let cameras = [rotation(-25.0, 5.0, 0.0), rotation(25.0, 5.0, 90.0)];
        let angle = up(&cameras, 0).angle_between(-DVec3::Y).to_degrees();
        assert!(angle < 8.0, "{angle}");
        // It nodded: nothing but the reference tells.
        let cameras = [rotation(0.0, 0.0, 0.0), rotation(0.0, 30.0, 0.0)];
        assert!(up(&cameras, 0).angle_between(-DVec3::Y) < 1e-6);
    }

    #[test]
    fn a_level_world_has_its_axes_where_they_belong() {
        let (up, ahead) = (DVec3::new(0.1, -0.9, 0.3).normalize(), DVec3::new(0.2, 0.1, 0.9));
        let matrix = level(up, ahead);
        assert!((matrix * up - -DVec3::Y).length() < 1e-12);
        let ahead = matrix * ahead;
        assert!(ahead.x.abs() < 1e-12 && ahead.z > 0.0);
        assert!((matrix.determinant() - 1.0).abs() < 1e-12);
    }
}
