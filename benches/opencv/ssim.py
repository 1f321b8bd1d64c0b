"""Computes the mean SSIM of two pictures with OpenCV, as its tutorial on the similarity of videos does.

Usage: ssim.py FOLDER WIDTH HEIGHT. FOLDER has a.gray and b.gray, with one byte per pixel. The script prints
`ready VERSION THREADS`, and then answers commands on stdin. `run N` computes the SSIM N times and prints the seconds
that this took. `value` prints the mean SSIM over the pixels whose window is inside the pictures.
"""

import sys
import time
from pathlib import Path

import cv2
import numpy as np

folder = Path(sys.argv[1])
width, height = map(int, sys.argv[2:])
bytes_a, bytes_b = (
    np.fromfile(folder / f"{name}.gray", np.uint8).reshape(height, width) for name in ("a", "b")
)
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def blur(plane):
    return cv2.GaussianBlur(plane, (11, 11), 1.5)


def ssim():
    a, b = np.float32(bytes_a), np.float32(bytes_b)
    mean_a, mean_b = blur(a), blur(b)
    square_a, square_b, product = cv2.multiply(mean_a, mean_a), cv2.multiply(mean_b, mean_b), cv2.multiply(mean_a, mean_b)
    variance_a = cv2.subtract(blur(cv2.multiply(a, a)), square_a)
    variance_b = cv2.subtract(blur(cv2.multiply(b, b)), square_b)
    covariance = cv2.subtract(blur(cv2.multiply(a, b)), product)
    above = cv2.multiply(2 * product + C1, 2 * covariance + C2)
    below = cv2.multiply(square_a + square_b + C1, variance_a + variance_b + C2)
    values = cv2.divide(above, below)
    return cv2.mean(values[5:-5, 5:-5])[0]


ssim()
print("ready", cv2.__version__, cv2.getNumThreads(), flush=True)
for line in sys.stdin:
    if line.startswith("run "):
        start = time.perf_counter()
        for _ in range(int(line[4:])):
            ssim()
        print(time.perf_counter() - start, flush=True)
    else:
        print(ssim(), flush=True)
