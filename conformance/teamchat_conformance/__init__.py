"""A black-box conformance suite for the team chat interface. It imports nothing of any implementation."""

__version__ = "0.1.0"
