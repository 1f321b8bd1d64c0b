"""Stitches a sequence with OpenCV's Stitcher: opencv_video.py OUT FRAMES PATTERN PATTERN...

OUT and PATTERN are names with a number such as %02d. The cameras are estimated once, from the first frames; every frame
is then composed with them, which estimates exposures and seams again.
"""

import sys

import cv2

out, frames, patterns = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
stitcher = cv2.Stitcher.create(cv2.Stitcher_PANORAMA)
for i in range(frames):
    pictures = [cv2.imread(pattern % i) for pattern in patterns]
    if i == 0 and (status := stitcher.estimateTransform(pictures)) != cv2.Stitcher_OK:
        sys.exit(f"Stitcher: estimateTransform gives the status {status}")
    status, panorama = stitcher.composePanorama(pictures)
    if status != cv2.Stitcher_OK:
        sys.exit(f"Stitcher: composePanorama gives the status {status}")
    cv2.imwrite(out % i, panorama)
