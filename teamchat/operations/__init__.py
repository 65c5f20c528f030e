"""What an operator does to an installation without serving it: the work behind the command line's verbs.

Nothing here reads the command line or prints. An operation gets what it needs, reports its progress to a
function it is given, and returns what is to be printed.
"""
