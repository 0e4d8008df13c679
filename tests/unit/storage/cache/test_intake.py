"""From stored values to entries: every layout, every defect."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from controlplane.apimachinery.codec.json import loads
from controlplane.storage.cache.entry import RAW, SPLICED
from controlplane.storage.cache.intake import Intake
from controlplane.storage.errors import Unreadable
from controlplane.storage.kv.api import KeyValue
from controlplane.storage.transform import IDENTITY, Plain, TransformedStore, Transformer

KEY = b"/registry/configmaps/default/a"


def read(value: bytes, intake: Intake | None = None) -> tuple[bytes, str, bool, str]:
    entry = (intake or Intake(IDENTITY)).read(KeyValue(KEY, value, 5, 7))
    return entry.data, entry.origin.api_version, entry.origin.stale, entry.origin.poison


@pytest.mark.parametrize(
    ("value", "data"),
    [
        pytest.param(
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{}}\n',
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a"},"data":{}}',
            id="kube-apiserver's",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"7","name":"a"}}',
            id="custom resource's",
        ),
        pytest.param(
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"involved":{"resourceVersion":"3"}}',
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a"},'
            b'"involved":{"resourceVersion":"3"}}',
            id="another resourceVersion inside",
        ),
    ],
)
def test_layouts_of_ours_are_spliced(value: bytes, data: bytes) -> None:
    assert read(value) == (data, "v1", False, "")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b'{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}', id="spaces"),
        pytest.param(b'{"metadata":{"name":"a"},"kind":"ConfigMap","apiVersion":"v1"}', id="metadata first"),
        pytest.param(
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"3","selfLink":"/x","name":"a"}}',
            id="resourceVersion stored",
        ),
    ],
)
def test_foreign_layouts_are_laid_out(value: bytes) -> None:
    data, api_version, _, poison = read(value)
    assert loads(data)["metadata"] == {"resourceVersion": "7", "name": "a"}
    assert data.startswith(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a"}')
    assert (api_version, poison) == ("v1", "")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param(b"", "object not decodable revision=7: ", id="empty"),
        pytest.param(b"{", "object not decodable revision=7: ", id="cut off"),
        pytest.param(
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"da', "object not decodable", id="tail lost"
        ),
        pytest.param(b"[1]", "not a JSON object with metadata", id="a list"),
        pytest.param(b'{"kind":"X","apiVersion":"v1"}', "not a JSON object with metadata", id="no metadata"),
        pytest.param(
            b'{"kind":"X","apiVersion":"v1","metadata":{"name":{}}}',
            "cannot unmarshal object into Go struct field ObjectMeta.name of type string",
            id="name",
        ),
        pytest.param(
            b'{"kind":"X","apiVersion":"v1","metadata":{"labels":{"a":5}}}',
            "cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            id="labels",
        ),
        pytest.param(
            b'{"kind":"X","apiVersion":"v1","metadata":{"finalizers":{"a":"b"}}}',
            "cannot unmarshal object into Go struct field ObjectMeta.finalizers of type []string",
            id="finalizers",
        ),
        pytest.param(
            b'{"kind":"X","apiVersion":"v1","metadata":{"ownerReferences":["a"]}}',
            "cannot unmarshal string into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
            id="owners",
        ),
        pytest.param(b'{"metadata":{}}', "apiVersion or kind is missing", id="no kind"),
        pytest.param(b"k8s\x00\x0a\x0c", "protobuf values are not supported", id="protobuf"),
        pytest.param(b"k8s:enc:aescbc:v1:key1:xyz", "data from the storage is not transformable", id="encrypted"),
    ],
)
def test_what_cannot_be_read_poisons_its_entry(value: bytes, why: str) -> None:
    data, api_version, _, poison = read(value)
    assert data == value
    assert api_version == ""
    assert why in poison


class _Reversing(Transformer):
    """Stores bytes backwards; the old key's values begin with ``old:``."""

    remote = False

    def attach(self, store: TransformedStore) -> None: ...

    def write_key_id(self, key: bytes) -> str:
        return "new"

    def fetch(self, stored: Iterable[bytes]) -> None: ...

    def to_storage(self, key: bytes, plain: bytes) -> bytes:
        return b"new:" + plain[::-1]

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        name, _, text = stored.partition(b":")
        if name not in (b"old", b"new"):
            raise Unreadable(key, f"no such key {name!r}")
        return Plain(text[::-1], key_id=name.decode())


def test_a_transformer_says_key_and_staleness() -> None:
    intake = Intake(_Reversing())
    plain = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
    old = intake.read(KeyValue(KEY, b"old:" + plain[::-1], 1, 2))
    new = intake.read(KeyValue(KEY, intake.to_storage(KEY, plain), 1, 3))
    assert (old.origin.key_id, intake.is_stale(old)) == ("old", True)
    assert (new.origin.key_id, intake.is_stale(new)) == ("new", False)
    assert loads(new.data)["metadata"] == {"resourceVersion": "3", "name": "a"}
    assert "no such key" in intake.read(KeyValue(KEY, plain, 1, 2)).origin.poison


def test_raw_entries_are_read_when_somebody_owns_them() -> None:
    intake = Intake(_Reversing())
    plain = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
    entry = intake.raw(KeyValue(KEY, intake.to_storage(KEY, plain), 1, 4))
    assert entry.origin is RAW
    intake.read_in_place(entry)
    assert loads(entry.data)["metadata"]["resourceVersion"] == "4"
    assert entry.origin.api_version == "v1"


def test_values_of_our_layout_keep_their_bytes_when_they_are_read() -> None:
    """First reading what has been loaded must not copy it: a heap full of slightly shorter originals stays empty."""
    intake = Intake(IDENTITY)
    value = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
    entry = intake.raw(KeyValue(KEY, value, 1, 4))
    assert entry.origin is SPLICED
    before = entry.data
    intake.read_in_place(entry)
    assert entry.data is before
    assert (entry.data, entry.origin) == ((read := intake.read(KeyValue(KEY, value, 1, 4))).data, read.origin)
    assert intake.decode_errors == 0


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"da', id="tail lost"),
        pytest.param(b'{"kind":"","apiVersion":"v1","metadata":{"name":"a"}}', id="no kind"),
    ],
)
def test_what_lies_right_and_cannot_be_read_is_poisoned_when_it_is_read(value: bytes) -> None:
    intake = Intake(IDENTITY)
    entry = intake.raw(KeyValue(KEY, value, 5, 7))
    assert entry.origin is SPLICED
    intake.read_in_place(entry)
    assert (entry.data, entry.origin.poison) == (value, read(value)[3])
    assert intake.decode_errors == 1


def test_origins_are_shared() -> None:
    intake = Intake(IDENTITY)
    values = [b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%d"}}' % n for n in range(3)]
    origins = {
        id(intake.read(KeyValue(b"/registry/configmaps/x/%d" % n, v, 1, 1)).origin) for n, v in enumerate(values)
    }
    assert len(origins) == 1


def test_a_deletion_is_the_last_state_under_its_own_revision() -> None:
    value = b'{"kind":"X","apiVersion":"v1","metadata":{"annotations":{"a":"\\"resourceVersion\\":\\"7\\""}}}'
    entry = Intake(IDENTITY).read(KeyValue(KEY, value, 5, 7))
    gone = entry.at_revision(123)
    assert loads(gone.data)["metadata"] == {"resourceVersion": "123", "annotations": {"a": '"resourceVersion":"7"'}}
    assert (gone.mod_revision, gone.create_revision) == (123, 5)


@pytest.mark.parametrize(
    "plain",
    [
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"v"}}', id="usual"),
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{}}', id="without metadata"),
        pytest.param(
            b'{"kind":"Event","apiVersion":"v1","metadata":{"name":"a"},"involvedObject":{"resourceVersion":"3"}}',
            id="another resourceVersion inside",
        ),
        pytest.param(
            b'{"apiVersion":"a.b/v1","kind":"C","metadata":{"name":"a"},"spec":{"x":"\\"metadata\\":{"}}', id="custom"
        ),
    ],
)
def test_what_we_wrote_is_the_same_as_an_outcome_as_an_event_and_to_somebody_who_checks_it(plain: bytes) -> None:
    intake = Intake(IDENTITY)
    expected = Intake(IDENTITY).read(KeyValue(KEY, plain, 7, 7))
    for _ in range(2):  # the second time the kind is known
        intake.to_storage(KEY, plain)
        event = intake.read(KeyValue(KEY, plain, 7, 7))
        for entry in (intake.written(KEY, plain, 7, 7), event):
            assert (entry.data, entry.mod_revision, entry.create_revision) == (expected.data, 7, 7)
            assert (entry.origin.api_version, entry.origin.kind) == (expected.origin.api_version, expected.origin.kind)
            assert (entry.origin.key_id, entry.origin.stale, entry.origin.poison) == ("", False, "")


def test_only_what_we_are_writing_is_taken_for_sound() -> None:
    """Once: the same bytes are looked at when they come again, and others are in any case."""
    head = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}'
    intake = Intake(IDENTITY)
    assert not read(head + b"}", intake)[3]
    intake.to_storage(KEY, head + b',"broken')
    assert "not decodable" in read(head + b',"other', intake)[3]
    intake.to_storage(KEY, head + b',"broken')
    assert not read(head + b',"broken', intake)[3]
    assert "not decodable" in read(head + b',"broken', intake)[3]


def test_the_event_of_a_write_whose_outcome_is_known_is_its_entry() -> None:
    plain, other = (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"%b"}}' % value
        for value in (b"one", b"two")
    )
    intake = Intake(IDENTITY)
    intake.read(KeyValue(KEY, plain, 5, 5))
    intake.to_storage(KEY, plain)
    written = intake.written(KEY, plain, 7, 7)
    assert intake.read(KeyValue(KEY, plain, 7, 7)) is written
    again = intake.read(KeyValue(KEY, plain, 7, 7))
    assert again is not written, "once"
    assert again.data == written.data
    for revision, value in ((8, plain), (9, other)):  # of another revision, or with another value
        intake.to_storage(KEY, plain)
        written = intake.written(KEY, plain, 9, 9)
        event = intake.read(KeyValue(KEY, value, 5, revision))
        assert event is not written
        assert b'"resourceVersion":"%d"' % revision in event.data
        assert (value == other) == (b"two" in event.data)


def test_what_is_remembered_of_writes_whose_events_never_come_is_bounded() -> None:
    plain = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
    intake = Intake(IDENTITY)
    intake.read(KeyValue(KEY, plain, 5, 5))
    for number in range(3 * 1024):
        intake.to_storage(b"%b%d" % (KEY, number), plain)
        intake.written(b"%b%d" % (KEY, number), plain, number + 6, number + 6)
    assert len(intake._ours) <= 1024
    assert len(intake._written) <= 1024
