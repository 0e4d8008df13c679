"""The mapping that grows in small steps, against a dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.shards import Sharded

KEYS = st.integers(0, 60).map(lambda n: b"/registry/a/%02d" % n)


@given(st.lists(st.tuples(st.booleans(), KEYS, st.integers()), max_size=120))
def test_it_is_a_dict_without_order(steps: list[tuple[bool, bytes, int]]) -> None:
    sharded: Sharded[bytes, int] = Sharded()
    model: dict[bytes, int] = {}
    for put, key, value in steps:
        if put:
            sharded[key] = model[key] = value
        else:
            assert sharded.pop(key) == model.pop(key, None)
        assert sharded.get(key) == model.get(key)
    assert dict(sharded.items()) == model
    assert len(sharded) == len(model)


def test_no_step_copies_more_than_a_hundredth() -> None:
    """A dict copies itself when it is full, all of it in one call."""
    count = 20_000
    sharded: Sharded[bytes, int] = Sharded()
    for number in range(count):
        sharded[b"/registry/configmaps/default/object-%d" % number] = number
    assert sharded.largest() <= count / 100
