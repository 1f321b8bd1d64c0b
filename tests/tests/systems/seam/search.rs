//! Compares the result of the kernel that searches the seam's path with the best of all possible paths. The tests
//! compute the cost of a path in another way than the kernel: from the camera that each cell shows.

use glam::UVec2;
use kernels_gpu::seam::{SeamPath, SeamSides};
use panoweave::device::{Buffer, Image, LaunchConfig, Stream};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::seam::{BIAS, BIAS_CELLS, BLOCK_THREADS, BREACH, PLACES, STEP, SeamCosts, Sees};

/// The input of the seam search. It contains, for each cell of a grid, row by row, the cameras that cover the cell, and
/// the cost of the cell if both cameras cover it.
struct Field {
    size: [usize; 2],
    cells: Vec<u32>,
    cost: Vec<u32>,
}

/// The results of the seam search on a device.
#[derive(Debug, PartialEq)]
struct Found {
    path: Vec<u32>,
    costs: SeamCosts,
}

impl Field {
    fn random(random: &mut Random, size: [usize; 2]) -> Self {
        let sees = |random: &mut Random| match random.below(12) {
            0 => Sees::NEAR,
            1 => Sees::FAR,
            2 => 0,
            3 => Sees::BOTH | Sees::NEAR,
            4 => Sees::BOTH | Sees::FAR,
            5 => Sees::BOTH | Sees::NEAR | Sees::FAR,
            _ => Sees::BOTH,
        };
        let cells: Vec<u32> = (0..size[0] * size[1]).map(|_| sees(random)).collect();
        let cost =
            |cell: &u32| if cell & Sees::BOTH == 0 { 0 } else { 1 + random.below(900) as u32 };
        let cost = cells.iter().map(cost).collect();
        Self { size, cells, cost }
    }

    /// Returns the cost of a path: the costs of all pairs of neighbouring cells that the path separates, plus
    /// [`BREACH`] for each breach. A breach is a cell with pixels that only the camera not shown in the cell covers, or
    /// a neighbour of the cell outside the overlap with such pixels.
    fn energy(&self, path: &[u32]) -> i64 {
        let [across, along] = self.size;
        let (mut cut, mut breaches) = (0, 0);
        // Returns whether a cell shows the far camera: the camera on the side of the grid's last column.
        let far = |x: usize, y: usize| x >= path[y] as usize;
        let at = |x: usize, y: usize| y * across + x;
        for y in 0..along {
            for x in 0..across {
                let here = self.cells[at(x, y)];
                if here & Sees::BOTH == 0 {
                    continue;
                }
                let other = if far(x, y) { Sees::NEAR } else { Sees::FAR };
                breaches += i64::from(here & other != 0);
                let neighbours =
                    [(x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
                for (i, j) in neighbours {
                    if i >= across || j >= along {
                        continue;
                    }
                    let there = self.cells[at(i, j)];
                    if there & Sees::BOTH == 0 {
                        breaches += i64::from(there & other != 0);
                    } else if far(i, j) != far(x, y) {
                        // The loop visits each pair of neighbours twice, from both cells, so `cut` is twice the cost.
                        cut += i64::from(self.cost[at(x, y)] + self.cost[at(i, j)]);
                    }
                }
            }
        }
        assert_eq!(cut % 2, 0);
        cut / 2 + breaches * i64::from(BREACH)
    }

    fn search(&self, stream: &Stream, current: &[u32], biased: bool) -> Found {
        let [across, along] = self.size.map(|n| n as u32);
        let cells = Image::from_slice(stream, across, along, &self.cells).unwrap();
        let cost = Image::from_slice(stream, across, along, &self.cost).unwrap();
        let mut sides = Image::<u32>::new(stream.device(), across + 1, along).unwrap();
        let config = LaunchConfig::cover(along, 1, [BLOCK_THREADS, 1]);
        stream.launch(&config, &SeamSides { cells: cells.view(), out: sides.view_mut() }).unwrap();
        let mut parent = Image::<u16>::new(stream.device(), across + 1, along).unwrap();
        let mut best = Buffer::new(stream.device(), along).unwrap();
        let mut costs = Buffer::<SeamCosts>::new(stream.device(), 1).unwrap();
        let current = Buffer::from_slice(stream, current).unwrap();
        let kernel = SeamPath {
            cost: cost.view(),
            sides: sides.view(),
            current: current.view(),
            biased: biased.into(),
            parent: parent.view_mut(),
            best: best.view_mut(),
            costs: costs.view_mut(),
        };
        let config = LaunchConfig { grid: [1; 3], block: [PLACES, 1, 1], dynamic_shared: 0 };
        // SAFETY: the launch has one block with the `PLACES` threads that the kernel requires, all buffers have the
        // sizes that it requires, and the cells' costs are so small that the path's cost does not overflow.
        unsafe { stream.launch_unchecked(&config, &kernel).unwrap() };
        Found { path: best.download(stream).unwrap(), costs: costs.download(stream).unwrap()[0] }
    }
}

fn bias(path: &[u32], current: &[u32]) -> i64 {
    path.iter().zip(current).map(|(a, b)| i64::from(BIAS * a.abs_diff(*b).min(BIAS_CELLS))).sum()
}

/// Returns all paths through `rows` rows with `places` positions each. From row to row, the position changes by at most
/// `STEP`.
fn paths(places: u32, rows: usize) -> Vec<Vec<u32>> {
    let mut paths: Vec<Vec<u32>> = (0..places).map(|place| vec![place]).collect();
    for _ in 1..rows {
        let longer = |path: Vec<u32>| {
            let last = *path.last().unwrap();
            (0..places).filter(move |next| next.abs_diff(last) <= STEP).map(move |next| {
                let mut path = path.clone();
                path.push(next);
                path
            })
        };
        paths = paths.into_iter().flat_map(longer).collect();
    }
    paths
}

#[test]
fn no_path_is_cheaper() {
    let mut random = Random::new(1);
    for case in 0..120 {
        let size = random.pick(&[[1, 1], [1, 4], [3, 5], [4, 4], [7, 3], [8, 3], [12, 2], [5, 1]]);
        let field = Field::random(&mut random, size);
        let all = paths(size[0] as u32 + 1, size[1]);
        let current: Vec<u32> = (0..size[1]).map(|_| random.below(size[0] + 1) as u32).collect();
        for biased in [false, true] {
            let extra = |path: &[u32]| if biased { bias(path, &current) } else { 0 };
            let least = all.iter().map(|path| field.energy(path) + extra(path)).min().unwrap();
            let mut first = None;
            for device in panoweave_devices() {
                let found = field.search(&device.stream().unwrap(), &current, biased);
                let energy = field.energy(&found.path);
                assert_eq!(energy + extra(&found.path), least, "case {case} on {device}");
                assert_eq!(i64::from(found.costs.best), energy, "case {case} on {device}");
                assert_eq!(i64::from(found.costs.current), field.energy(&current), "case {case}");
                let steps = found.path.windows(2).map(|rows| rows[0].abs_diff(rows[1]));
                assert!(steps.max().unwrap_or(0) <= STEP, "case {case}: {found:?}");
                assert_eq!(*first.get_or_insert(found.path.clone()), found.path, "{device}");
            }
        }
    }
}

/// Returns the least cost of all paths, computed by dynamic programming. Unlike the kernel, uses costs from
/// [`Field::energy`], in 64-bit integers, which cannot overflow.
fn least_by_rows(field: &Field) -> i64 {
    let [across, along] = field.size;
    let places = across as u32 + 1;
    // Returns the first `rows` rows of the grid. The cost of row `n` is the cost of a path through `n + 1` rows minus
    // the cost of the path through `n` rows.
    let cut = |rows: usize| Field {
        size: [across, rows],
        cells: field.cells[..rows * across].to_vec(),
        cost: field.cost[..rows * across].to_vec(),
    };
    let mut least = vec![0; places as usize];
    for y in 0..along {
        let two = |from: u32, at: u32| {
            if y == 0 {
                return cut(1).energy(&[at]);
            }
            let pair = Field {
                size: [across, 2],
                cells: field.cells[(y - 1) * across..(y + 1) * across].to_vec(),
                cost: field.cost[(y - 1) * across..(y + 1) * across].to_vec(),
            };
            let one = Field {
                size: [across, 1],
                cells: pair.cells[..across].to_vec(),
                cost: pair.cost[..across].to_vec(),
            };
            pair.energy(&[from, at]) - one.energy(&[from])
        };
        let reach = |at: u32| at.saturating_sub(STEP)..=(at + STEP).min(places - 1);
        least = (0..places)
            .map(|at| reach(at).map(|from| least[from as usize] + two(from, at)).min().unwrap())
            .collect();
    }
    least.into_iter().min().unwrap()
}

#[test]
fn large_fields_too() {
    let mut random = Random::new(2);
    for size in [[90, 70], [40, 600], [511, 9]] {
        // Put cells that only one camera covers at the sides. In other places, they would make every path show a cell
        // with the wrong camera (`BREACH`), and the kernel does not distinguish rows whose cost is `MOST` or more.
        let mut field = Field::random(&mut random, size);
        for (at, cell) in field.cells.iter_mut().enumerate() {
            let x = at % size[0];
            *cell = match 5 * x / size[0] {
                0 => Sees::NEAR,
                4 => Sees::FAR,
                _ => Sees::BOTH,
            };
            let cost = 1 + random.below(900) as u32;
            field.cost[at] = if *cell == Sees::BOTH { cost } else { 0 };
        }
        let current = vec![0; size[1]];
        let mut first = None;
        for device in panoweave_devices() {
            let found = field.search(&device.stream().unwrap(), &current, false);
            assert_eq!(i64::from(found.costs.best), field.energy(&found.path), "{size:?}");
            assert_eq!(i64::from(found.costs.best), least_by_rows(&field), "{size:?}");
            assert_eq!(*first.get_or_insert(found.path.clone()), found.path, "{device}");
        }
    }
}

#[test]
fn of_equal_paths_the_first_straight_one_is_found() {
    let field = Field { size: [20, 30], cells: vec![Sees::BOTH; 600], cost: vec![5; 600] };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let found = field.search(&stream, &[11; 30], false);
        assert_eq!(found.path, vec![0; 30], "{device}");
        // The best path is along the grid's edge and costs nothing. The current path separates one pair of cells per
        // row, with a cost of 10.
        let UVec2 { x, y } = UVec2::new(found.costs.best, found.costs.current);
        assert_eq!([x, y], [0, 30 * 10]);
    }
}

#[test]
fn kernels_leave_alone_what_does_not_fit() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (wide, rows) = (PLACES, 3);
        let field = Field {
            size: [wide as usize, rows],
            cells: vec![Sees::BOTH; wide as usize * rows],
            cost: vec![5; wide as usize * rows],
        };
        let found = field.search(&stream, &[7; 3], true);
        assert_eq!(found, Found { path: vec![0; 3], costs: SeamCosts::default() }, "{device}");
    }
}
