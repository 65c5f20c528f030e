"""How a server does, for who runs it: the lines of its log, and what is counted."""
