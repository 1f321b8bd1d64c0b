//! The vertical direction and the angles of a camera.
//!
//! People hold cameras level, so the x axes of rotated cameras lie in the plane of the horizon (Brown and Lowe, IJCV
//! 2007). A camera on its side has its y axis there; the vertical is the one that most cameras take as their own. If
//! all axes are parallel, as with a camera that only tilted, the vertical of one camera decides: the reference's,
//! unless most cameras contradict it.

use glam::{DMat3, DVec3};

/// The weight of one camera's own vertical against another camera's level axis. It is small, so cameras only 10° apart
/// already outweigh it tenfold (sin² 10° = 0.03).
const OWN: f64 = 0.003;

/// Returns the world's vertical, of length 1. `to_world` has each camera's axes as columns.
pub(super) fn up(to_world: &[DMat3], reference: usize) -> DVec3 {
    let own = upright(to_world, reference);
    // (Σ a·aᵀ + λI)·up = λ·own: perpendicular to the level axes, and otherwise as that camera has it.
    let mut matrix = DMat3::IDENTITY * OWN;
    for axes in to_world {
        let level = if stands(axes, own) { axes.x_axis } else { axes.y_axis };
        matrix += DMat3::from_cols(level * level.x, level * level.y, level * level.z);
    }
    let up = matrix.inverse() * own;
    up.try_normalize().filter(|up| up.dot(own) > 0.5).unwrap_or(own)
}

/// Returns whether `up` is closer to a camera's y axis, in either direction, than to its x axis.
fn stands(axes: &DMat3, up: DVec3) -> bool {
    axes.x_axis.dot(up).abs() <= axes.y_axis.dot(up).abs()
}

/// Returns the camera's own vertical that most cameras agree with; on a tie the reference's.
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

/// Returns the rotation of the world that turns `up` up (y points down) and `ahead` as far to the front as that
/// allows.
pub(super) fn level(up: DVec3, ahead: DVec3) -> DMat3 {
    let down = -up;
    // If `ahead` points straight up or down, any direction is right.
    let right = down.cross(ahead).try_normalize().unwrap_or_else(|| down.any_orthonormal_vector());
    // The rows are the new axes.
    DMat3::from_cols(right, down, right.cross(down)).transpose()
}

/// Returns yaw, pitch and roll in degrees, as defined by [`rig`](crate::geometry::rig), of a matrix from a camera's
/// frame to the world's.
pub(super) fn angles(to_world: DMat3) -> [f64; 3] {
    let ahead = to_world.z_axis;
    let pitch = libm::asin((-ahead.y).clamp(-1.0, 1.0)).to_degrees();
    // A camera that looks straight up or down has no yaw; all of it is roll.
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
        // Tilted up by 20° and turned by 50° in all: the reference's own y axis is 20° off.
        let cameras = [rotation(-25.0, 20.0, 0.0), rotation(25.0, 20.0, 0.0)];
        let angle = up(&cameras, 0).angle_between(-DVec3::Y).to_degrees();
        assert!(angle < 1.0, "{angle}");
        // The second camera is on its side.
        let cameras = [rotation(-25.0, 5.0, 0.0), rotation(25.0, 5.0, 90.0)];
        let angle = up(&cameras, 0).angle_between(-DVec3::Y).to_degrees();
        assert!(angle < 8.0, "{angle}");
        // The camera only tilted: only the reference decides.
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
