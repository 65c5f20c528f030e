"""What is measured, and how to repeat it: ``make bench`` (docs/how-to/run-the-benchmarks.md).

A scenario (`benchmarks.scenarios`) starts real servers (`server`), signs people in (`chat`), opens streams
(`streams`, `counting`), asks (`asking`), and gives back a table (`report`).  One process with one selector
loop (`loop`) makes all the load, and is itself measured against `yardsticks`.  Nothing here talks to a server
but by HTTP; only `history`, which fills a database while its server is down, and the scenarios ``drivers``
and ``log``, which measure a storage by itself, import the product.
"""
