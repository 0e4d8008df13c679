"""The live map against a dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.storage.cache.entry import RAW, Entry
from controlplane.storage.cache.index import Index

KEYS = st.integers(0, 40).map(lambda n: b"/registry/a/%02d" % n)


def entry(key: bytes, revision: int = 1) -> Entry:
    return Entry(key, b"", revision, revision, RAW)


@given(
    ascending=st.sets(KEYS).map(sorted),
    steps=st.lists(st.tuples(st.booleans(), KEYS), max_size=80),
    start=KEYS,
    end=KEYS,
    limit=st.integers(0, 5),
)
def test_index_is_a_sorted_dict(
    ascending: list[bytes], steps: list[tuple[bool, bytes]], start: bytes, end: bytes, limit: int
) -> None:
    index, model = Index(), {}
    for key in ascending:
        index.append(made := entry(key))
        model[key] = made
    for number, (put, key) in enumerate(steps):
        if put:
            made = entry(key, number)
            assert index.put(made) is model.get(key)
            model[key] = made
        else:
            assert index.pop(key) is model.pop(key, None)
    assert list(index) == [model[key] for key in sorted(model)]
    assert len(index) == len(model)
    assert all(index.get(key) is model.get(key) for key in (start, end))
    inside = [model[key] for key in sorted(model) if start <= key < end]
    assert index.scan(start, end) == inside
    assert index.scan(start, end, limit=limit) == (inside[:limit] if limit else inside)
    if start <= end:
        assert index.count(start, end) == len(inside)


def test_blocks_split_and_vanish() -> None:
    index = Index()
    keys = [b"%06d" % (number * 7919 % 5000) for number in range(5000)]
    for key in keys:
        index.put(entry(key))
    assert [e.key for e in index.scan(b"", b"~")] == sorted(keys)
    assert index.count(b"001000", b"004000") == 3000
    assert [e.key for e in index.scan(b"000999", b"001001")] == [b"000999", b"001000"]
    for key in keys[:4990]:
        index.pop(key)
    assert [e.key for e in index] == sorted(keys[4990:])


def test_a_key_is_kept_in_memory_once() -> None:
    index = Index()
    index.put(first := entry(bytes(bytearray(b"/registry/a"))))
    index.put(second := entry(bytes(bytearray(b"/registry/a"))))
    assert second.key is first.key


def test_shedding_frees_all() -> None:
    index = Index()
    for number in range(2000):
        index.append(entry(b"%06d" % number))
    while index.shed():
        pass
    assert len(index) == 0
    assert list(index) == []
