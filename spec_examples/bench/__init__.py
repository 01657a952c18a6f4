"""``make bench``: what is waited for, measured, beside the bounds that it has to keep.

- ``figure``: one figure, its noise and its bound; costs at several sizes
- ``measuring``: processor and wall time of a command, the import beside it, memory
- ``pages``: pages of as many rows or blocks as are asked for
- ``bounds``: every figure that has a bound
- ``growth``: what a page, a row, a release and a defect add
- ``comparison``: other tools that run the Python blocks of a page, on the same blocks
- ``written``: the tables on a terminal and in ``BENCHMARKS.md``
"""
