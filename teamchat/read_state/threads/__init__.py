"""Threads that people follow, and how far they have read in each (the capability `threads`, D-8)."""
