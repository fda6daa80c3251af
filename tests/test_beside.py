"""What is known about an object is removed with the object, and no signal handler can run in between."""

import gc
import pickle
import sys
from pathlib import Path

from sklearn_nag import NAGRegressor
from sklearn_nag._beside import Beside


class Thing:
    pass


def test_values_are_those_of_objects_and_of_no_copies():
    table, thing, other = Beside(), NAGRegressor(), NAGRegressor()
    assert table.get(thing) is None
    assert table.setdefault(thing, 1) == table.setdefault(thing, 2) == table[thing] == 1
    table[thing] = 3
    assert table.get(thing) == 3
    assert thing in table
    assert other not in table
    assert table.items() == [(thing, 3)]
    assert pickle.loads(pickle.dumps(thing)) not in table
    table[other] = 4
    assert table.items() == [(thing, 3), (other, 4)]
    del thing
    assert table.items() == [(other, 4)]


def test_entries_go_with_their_objects_without_a_line_of_python():
    table, values, ran = Beside(), [Thing(), Thing()], []
    gc.collect()  # garbage that other tests have left
    for i in range(2):
        thing = Thing()
        thing.itself = thing if i else None  # a cycle, which dies only when garbage is collected
        table[thing] = values[i]
        del thing
        sys.setprofile(lambda frame, event, argument: ran.append((event, Path(frame.f_code.co_filename).name)))
        gc.collect()
        sys.setprofile(None)
    assert not table._values
    assert not {("call", "weakref.py"), ("call", "_beside.py")}.intersection(ran)
