"""Objects as their kinds' schemas have them, and as they do not."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.schema.native import DEFINITION, GO_TYPE, QUANTITY
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apis.builtin import BUILTIN
from tests.property.fuzz.harness import NAMES, NAMESPACE

__all__ = ["ANY_JSON", "STORED", "TEXT", "Made", "collection_of", "made_objects"]

STORED = tuple(resource for resource in BUILTIN if "update" in resource.verbs)

TEXT = st.one_of(
    st.sampled_from(
        [
            *("", "a", "b", "default", "kube-system", "x" * 64, "x" * 254, "-a", "a.b", "A_b", "a/b", "example.com/x"),
            *("*", "..", "%", "\x00", "\n", "ü", "\u2028", "👍", "1", "-1", "1e3", "true", "null", "v1", "v1beta1"),
            *("Allow", "Deny", "Fail", "Exempt", "Limited", "Queue", "User", "Group", "ServiceAccount", "ClusterRole"),
            *("In", "Exists", "CREATE", "https://a.example/x", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000001Z"),
            *("100m", "1Gi", "-5", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson", "kubernetes", "orphan"),
        ]
    ),
    st.text(max_size=8),
)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 443, 65536, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 1.5, 1e300]),
    st.integers(-100, 100),
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
BASE64 = st.binary(max_size=12).map(lambda raw: b64encode(raw).decode())
_DEEPEST = 6


class Made:
    """Makes values of schemas, now and then of another type; ``draw`` is hypothesis'."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def value(self, schema: Obj, depth: int = 0) -> Any:
        if DEFINITION in schema:
            schema = schema[DEFINITION]()
        if self._draw(st.integers(0, 40)) == 0:
            return self._draw(ANY_JSON)
        match schema.get("type"):
            case "object" if "properties" in schema:
                return self._record(schema, depth)
            case "object":
                values = schema.get("additionalProperties")
                keys = self._draw(st.lists(TEXT, max_size=2, unique=True))
                return {key: self.value(values, depth + 1) if values else self._draw(ANY_JSON) for key in keys}
            case "array":
                count = 0 if depth > _DEEPEST else self._draw(st.integers(0, 2))
                return [self.value(schema["items"], depth + 1) for _ in range(count)]
            case "integer" | "number":
                return self._draw(NUMBERS)
            case "boolean":
                return self._draw(st.booleans())
            case "string":
                return self._string(schema)
        return self._draw(ANY_JSON)

    def _record(self, schema: Obj, depth: int) -> Obj:
        made: Obj = {}
        for name, child in schema["properties"].items():
            if name in schema.get("required", ()) or self._draw(st.integers(0, 2)):
                made[name] = self.value(child, depth + 1)
        return made

    def _string(self, schema: Obj) -> Any:
        if schema.get("format") == "byte":
            return self._draw(BASE64 | TEXT)
        if schema.get(GO_TYPE) == QUANTITY:
            return self._draw(st.sampled_from(["1", "100m", "1Gi", "1e3", "0.1n", "-1", "1.5"]) | TEXT | NUMBERS)
        return self._draw(TEXT)

    def object(self, resource: Resource) -> Obj:
        """An object of a kind, with a name that may be taken."""
        obj = self.value(resource.versions[0].schema)
        if not isinstance(obj, dict):
            obj = {}
        meta = self.value(OBJECT_META)
        if isinstance(meta, dict) and self._draw(st.integers(0, 9)):
            meta["name"] = self._draw(st.sampled_from(NAMES))
            for name in ("namespace", "resourceVersion", "uid", "managedFields"):
                if self._draw(st.integers(0, 9)):
                    meta.pop(name, None)
        obj["metadata"] = meta
        if self._draw(st.integers(0, 9)) == 0:
            obj.update(self._draw(st.dictionaries(st.sampled_from(["kind", "apiVersion", "bogus"]), ANY_JSON)))
        else:
            obj["kind"], obj["apiVersion"] = resource.kind, resource.gvk(resource.versions[0].name).api_version
        return obj


@st.composite
def made_objects(draw: Any) -> tuple[Resource, Obj]:
    """A stored kind and an object that may be one of it."""
    resource = draw(st.sampled_from(STORED))
    return resource, Made(draw).object(resource)


def collection_of(resource: Resource) -> str:
    """The path of a kind's collection, in the namespace of the tests."""
    version = resource.versions[0].name
    root = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
    where = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
    return f"{root}{where}/{resource.plural}"
