"""Followed threads, and how far people have read in each (the capability `threads`, D-8)."""
