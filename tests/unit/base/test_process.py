"""A process that serves; each case in a process of its own, since that is what it changes."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.alone

HEAD = """
import gc, sys, time
from controlplane.base import process
process.begin()
assert not gc.isenabled()
assert sys.getswitchinterval() < 0.002
process.serving()
assert gc.isenabled()
at_first = gc.get_freeze_count()
assert at_first > 0
def full():
    began = time.perf_counter()
    gc.collect()
    return time.perf_counter() - began
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", HEAD + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_short_collections_freeze_nothing() -> None:
    run("""
kept = [[n] for n in range(100)]
assert full() < process.NOTICEABLE_SECONDS
assert gc.get_freeze_count() == at_first
""")


def test_what_outlives_a_long_collection_is_not_looked_at_again() -> None:
    run("""
gc.disable()
kept = [[n] for n in range(2_000_000)]
first = full()
assert first > process.NOTICEABLE_SECONDS
assert gc.get_freeze_count() > at_first + 1_900_000
assert full() < first / 3
""")


def test_garbage_in_cycles_is_still_found() -> None:
    run("""
import weakref
class Node: pass
node = Node(); node.itself = node
gone = weakref.ref(node)
del node
gc.collect()
assert gone() is None
""")


def test_full_collections_stay_short_while_objects_are_added() -> None:
    run("""
longest = 0.0
def watch(phase, info):
    global began, longest
    if phase == "start":
        began = time.thread_time()
    elif info["generation"] == 2:
        longest = max(longest, time.thread_time() - began)
gc.callbacks.append(watch)
kept = [[n] for n in range(1_000_000)]
while_added, longest = longest, 0.0
gc.unfreeze()
gc.collect()
assert 0 < while_added < longest / 2, (while_added, longest)
""")


def test_module_is_imported_aside_and_a_missing_one_is_no_failure() -> None:
    run("""
import threading
process.import_aside("graphlib")
process.import_aside("there.is.no.such.module")
for thread in threading.enumerate():
    if thread.name.startswith("import-"):
        thread.join(10)
assert "graphlib" in sys.modules
""")


def test_it_may_open_as_many_files_as_the_machine_lets_it() -> None:
    run("""
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
assert soft == hard
""")
