"""What an operator does to an installation without serving it: the work behind the command line's verbs.

Nothing here reads the command line or prints; an operation takes what it needs, tells
how far it is to a function it is given, and returns what is to be said.
"""
