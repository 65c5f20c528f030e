"""sign in with a link that comes by mail."""
