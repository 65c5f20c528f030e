"""The live event stream: framing (`sse`) and the hub that hands events out (`hub`)."""

from teamchat.stream.hub import Hub, Stream

__all__ = ["Hub", "Stream"]
