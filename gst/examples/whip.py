#!/usr/bin/env python3
"""Stitches RTSP cameras and publishes the panorama by WebRTC to a WHIP server.

usage: whip.py WHIP-URL RIG RTSP-URL RTSP-URL...
Debian: apt install python3-gi gir1.2-gst-plugins-bad-1.0 gstreamer1.0-nice gstreamer1.0-plugins-{bad,good,ugly}
"""

import sys
import urllib.error
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC

CAMERA = (
    "rtspsrc location={uri} latency=100 protocols=tcp ! rtph264depay ! h264parse ! avdec_h264 ! videoconvert "
    "! queue ! s.sink_{index} "
)
PANORAMA = (
    "webrtcbin name=w bundle-policy=max-bundle panoweavestitch name=s rig={rig} ! queue ! videoconvert "
    "! x264enc tune=zerolatency speed-preset=veryfast key-int-max=50 bitrate=4000 "
    "! video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1 "
    "! rtph264pay aggregate-mode=zero-latency ! application/x-rtp,media=video,encoding-name=H264,payload=96 ! w. "
)


def main():
    if len(sys.argv) < 5:
        return __doc__
    whip, rig, *cameras = sys.argv[1:]
    Gst.init(None)
    inputs = [CAMERA.format(uri=uri, index=index) for index, uri in enumerate(cameras)]
    pipeline = Gst.parse_launch(PANORAMA.format(rig=rig) + "".join(inputs))
    webrtc = pipeline.get_by_name("w")
    loop = GLib.MainLoop()
    errors = []

    def fail(text):
        errors.append(text)
        loop.quit()

    def negotiate(webrtc):
        promise = Gst.Promise.new_with_change_func(offered, None)
        webrtc.emit("create-offer", None, promise)

    def offered(promise, _):
        # The offer is valid as long as the reply is.
        reply = promise.get_reply()
        offer = reply.get_value("offer")
        webrtc.emit("set-local-description", offer, Gst.Promise.new())

    def gathered(webrtc, _):
        # The offer is complete when all ICE candidates are known.
        if webrtc.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
            GLib.idle_add(publish)

    def publish():
        offer = webrtc.get_property("local-description").sdp.as_text().encode()
        request = urllib.request.Request(whip, data=offer, headers={"Content-Type": "application/sdp"})
        try:
            with urllib.request.urlopen(request) as response:
                _, answer = GstSdp.SDPMessage.new_from_text(response.read().decode())
        except (urllib.error.URLError, OSError) as error:
            return fail(f"{whip}: {error}")
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, answer)
        webrtc.emit("set-remote-description", answer, Gst.Promise.new())

    def failed(_, message):
        error, details = message.parse_error()
        fail(f"{message.src.get_name()}: {error.message}\n{details}")

    webrtc.connect("on-negotiation-needed", negotiate)
    webrtc.connect("notify::ice-gathering-state", gathered)
    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message::error", failed)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        loop.run()
    except KeyboardInterrupt:
        pass
    finally:
        pipeline.set_state(Gst.State.NULL)
    return errors[0] if errors else 0


sys.exit(main())
