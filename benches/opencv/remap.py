"""Stitches the bench `cpu`'s panorama with OpenCV: remaps each picture, then blends the pictures by weights.

Usage: remap.py FOLDER WIDTH HEIGHT SOURCE_WIDTH SOURCE_HEIGHT. FOLDER has left.rgba and right.rgba, and the six raw
planes of a warp. The script prints `ready VERSION THREADS`, and then answers commands on stdin. `run N` stitches N
panoramas and prints the seconds that they took. `save` writes the last panorama to panorama.rgba and prints `saved`.
"""

import sys
import time
from pathlib import Path

import cv2
import numpy as np

folder = Path(sys.argv[1])
width, height, source_width, source_height = map(int, sys.argv[2:])
pictures = [
    np.fromfile(folder / f"{side}.rgba", np.uint8).reshape(source_height, source_width, 4)
    for side in ("left", "right")
]


def plane(name):
    return np.fromfile(folder / f"{name}.bin", "<f4").reshape(height, width)


# OpenCV recommends this format for maps that do not change: 16-bit coordinates, and fractions of 1/32 pixel.
maps = [
    cv2.convertMaps(plane(f"lut_{side}_x"), plane(f"lut_{side}_y"), cv2.CV_16SC2)
    for side in ("left", "right")
]
weights = [plane(f"weight_{side}") for side in ("left", "right")]
seen = [np.empty((height, width, 4), np.uint8) for _ in pictures]
panorama = np.empty((height, width, 4), np.uint8)


def stitch():
    for picture, (whole, fraction), out in zip(pictures, maps, seen):
        cv2.remap(picture, whole, fraction, cv2.INTER_LINEAR, out, cv2.BORDER_REPLICATE)
    cv2.blendLinear(seen[0], seen[1], weights[0], weights[1], panorama)


stitch()
print("ready", cv2.__version__, cv2.getNumThreads(), flush=True)
for line in sys.stdin:
    if line.startswith("run "):
        start = time.perf_counter()
        for _ in range(int(line[4:])):
            stitch()
        print(time.perf_counter() - start, flush=True)
    else:
        panorama.tofile(folder / "panorama.rgba")
        print("saved", flush=True)
