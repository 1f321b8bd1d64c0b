"""Stitches pictures with OpenCV's Stitcher: opencv.py OUT PICTURE PICTURE... Without arguments, prints the version."""

import sys

import cv2

if len(sys.argv) == 1:
    print("OpenCV", cv2.__version__)
    sys.exit(0)
pictures = [cv2.imread(file) for file in sys.argv[2:]]
status, panorama = cv2.Stitcher.create(cv2.Stitcher_PANORAMA).stitch(pictures)
if status != cv2.Stitcher_OK:
    names = {1: "ERR_NEED_MORE_IMGS", 2: "ERR_HOMOGRAPHY_EST_FAIL", 3: "ERR_CAMERA_PARAMS_ADJUST_FAIL"}
    sys.exit("Stitcher: " + names.get(status, str(status)))
cv2.imwrite(sys.argv[1], panorama)
