"""The update kernel: a state and rows go in, a changed state and progressive predictions come out.

Kernels know arrays and nothing else.
"""

from ._numpy import Diverged, learn, predict
from ._state import Rule, State, positive

__all__ = ["Diverged", "Rule", "State", "learn", "positive", "predict"]
