//! Finds the vertical direction of rotating cameras, and computes yaw, pitch and roll of a camera.
//!
//! Most cameras are held level, so their x axes are horizontal (Brown and Lowe, IJCV 2007). If a camera is on its side,
//! its y axis is horizontal instead. The vertical is the direction that is most nearly perpendicular to all horizontal
//! axes, and the majority of the cameras decides which of its two ends is up.
//!
//! If all horizontal axes are parallel, for instance because the cameras differ only in tilt, they do not determine the
//! vertical. Then the y axis of one camera is the vertical: that of the reference, unless most cameras contradict it.

use glam::{DMat3, DVec3};

/// The weight of one camera's y axis relative to the horizontal axis of each camera. It is so small that the horizontal
/// axes of two cameras that are only 10° apart outweigh it fivefold (1 − cos 10° = 0.015).
const OWN: f64 = 0.003;

/// Returns the world's up direction as a unit vector. The columns of each matrix in `to_world` are the axes of a camera
/// in the world's frame.
pub(super) fn up(to_world: &[DMat3], reference: usize) -> DVec3 {
    let own = upright(to_world, reference);
    // Solves (Σ a·aᵀ + λI)·up = λ·own, where a are the horizontal axes and λ is `OWN`. As far as the horizontal axes
    // determine `up`, it is perpendicular to them. Otherwise it is equal to `own`.
    let mut matrix = DMat3::IDENTITY * OWN;
    for axes in to_world {
        let level = if stands(axes, own) { axes.x_axis } else { axes.y_axis };
        matrix += DMat3::from_cols(level * level.x, level * level.y, level * level.z);
    }
    let up = matrix.inverse() * own;
    up.try_normalize().filter(|up| up.dot(own) > 0.5).unwrap_or(own)
}

/// Returns whether a camera stands upright or upside down instead of on its side: whether the line along `up` is closer
/// to its y axis than to its x axis.
fn stands(axes: &DMat3, up: DVec3) -> bool {
    axes.x_axis.dot(up).abs() <= axes.y_axis.dot(up).abs()
}

/// Returns the up direction (−y axis) of the camera with which most cameras agree. On a tie, the reference wins. A
/// camera agrees with a direction that is closer to its −y axis than to its other axes in the picture plane.
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

/// Returns the rotation of the world that maps `up` to −y, and `ahead` as close to z as possible.
pub(super) fn level(up: DVec3, ahead: DVec3) -> DMat3 {
    let down = -up;
    // If `ahead` points straight up or down, any horizontal vector can be `right`.
    let right = down.cross(ahead).try_normalize().unwrap_or_else(|| down.any_orthonormal_vector());
    // The rows of the rotation are the new axes.
    DMat3::from_cols(right, down, right.cross(down)).transpose()
}

/// Returns yaw, pitch and roll in degrees, as defined by [`rig`](crate::geometry::rig). `to_world` rotates a camera's
/// frame to the world's.
pub(super) fn angles(to_world: DMat3) -> [f64; 3] {
    let ahead = to_world.z_axis;
    let pitch = libm::asin((-ahead.y).clamp(-1.0, 1.0)).to_degrees();
    // For a camera that looks straight up or down, yaw and roll have the same axis, so yaw is set to 0.
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
    fn tilted_level_cameras_determine_up() {
        // Both cameras are tilted up by 20° and turned apart by 50°. The y axis of the reference is 20° off the true
        // vertical.
        let cameras = [rotation(-25.0, 20.0, 0.0), rotation(25.0, 20.0, 0.0)];
        let angle = up(&cameras, 0).angle_between(-DVec3::Y).to_degrees();
        assert!(angle < 1.0, "{angle}");
        // The second camera is on its side.
        let cameras = [rotation(-25.0, 5.0, 0.0), rotation(25.0, 5.0, 90.0)];
        let angle = up(&cameras, 0).angle_between(-DVec3::Y).to_degrees();
        assert!(angle < 8.0, "{angle}");
        // The cameras differ only in tilt, so the reference decides.
        let cameras = [rotation(0.0, 0.0, 0.0), rotation(0.0, 30.0, 0.0)];
        assert!(up(&cameras, 0).angle_between(-DVec3::Y) < 1e-6);
    }

    #[test]
    fn level_takes_up_to_minus_y_and_ahead_towards_z() {
        let (up, ahead) = (DVec3::new(0.1, -0.9, 0.3).normalize(), DVec3::new(0.2, 0.1, 0.9));
        let matrix = level(up, ahead);
        assert!((matrix * up - -DVec3::Y).length() < 1e-12);
        let ahead = matrix * ahead;
        assert!(ahead.x.abs() < 1e-12 && ahead.z > 0.0);
        assert!((matrix.determinant() - 1.0).abs() < 1e-12);
    }
}
