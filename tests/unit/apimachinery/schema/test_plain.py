"""Parts of schemas that are passed over are parts that nothing is wrong with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.apiextensions.definition.validation.options import Strictness
from controlplane.apiextensions.definition.validation.schema_rules import validation_errors
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.plain import plain_parts

_PARTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "object", "array", "bogus", "null"]),
        "nullable": st.booleans(),
        "pattern": st.sampled_from(["a+", "["]),
        "uniqueItems": st.booleans(),
        "default": st.sampled_from([1, "a"]),
        "x-kubernetes-int-or-string": st.booleans(),
        "x-kubernetes-preserve-unknown-fields": st.booleans(),
        "x-kubernetes-embedded-resource": st.booleans(),
        "x-kubernetes-map-type": st.sampled_from(["atomic", "granular", "bogus"]),
        "x-kubernetes-list-type": st.sampled_from(["atomic", "set", "map", "bogus"]),
        "x-kubernetes-list-map-keys": st.lists(st.sampled_from("kx"), max_size=2),
        "required": st.lists(st.sampled_from("kx"), max_size=2),
        "additionalProperties": st.booleans(),
        "x-kubernetes-validations": st.just([{"rule": ""}]),
    },
)
_SCHEMAS = st.recursive(
    _PARTS,
    lambda inner: st.builds(
        lambda part, more: {**part, **more},
        _PARTS,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from(["k", "x", "metadata"]), inner, max_size=2),
                "items": inner,
                "additionalProperties": inner,
                "anyOf": st.just([{"type": "integer"}, {"type": "string"}]) | st.lists(inner, max_size=1),
            },
        ),
    ),
    max_leaves=6,
)


@given(_SCHEMAS)
def test_nothing_is_wrong_with_a_plain_part(schema: Obj) -> None:
    root: Obj = {"type": "object", "properties": {"p": schema}}
    if id(schema) not in plain_parts(root):
        return
    unseen: Obj = {"type": "object", "properties": {"p": {**schema, "not": {}}}}  # no longer plain itself
    assert list(filter(None, validation_errors({"openAPIV3Schema": unseen}, "x", Strictness(), has_status=False))) == []
