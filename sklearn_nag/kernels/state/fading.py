"""When what was learnt fades, and by how much: it counts half after rows of the weight of a half-life."""

from __future__ import annotations

PARTS = 16  # of a half-life, in which `State.faded` counts
EVERY = 4  # parts from one fading to the next; more often is slower, and no better on any stream measured
MOST = 40.0  # half-lives that are made up for at once, so that no sum becomes 0
