"""The graph as DOT text, for people who look for what the collector knows.

Source: the form of kubernetes ``pkg/controller/garbagecollector/dump.go``; nodes are numbered by uid here, so that two
dumps of one graph are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from controlplane.apimachinery.identity import GroupVersion
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.controllers.garbage_collector.graph import Graph, Identity, Node

__all__ = ["CONTENT_TYPE", "dot_of"]

CONTENT_TYPE = "text/vnd.graphviz"


def dot_of(graph: Graph, uids: Sequence[str] = ()) -> str:
    """The whole graph, or with ``uids`` what hangs together with these, over owners and dependents. An owner that is
    not in the graph is shown as missing."""
    chosen = {node.uid: node for node in graph if node.dependents or node.owners}
    if uids:
        chosen = _related(graph, uids)
    missing: dict[str, Identity] = {}
    edges: list[tuple[str, str]] = []
    for node in chosen.values():
        for owner in node.owners:
            if owner.uid not in chosen:
                missing.setdefault(owner.uid, owner.at(""))
            edges.append((node.uid, owner.uid))
    numbers = {uid: number for number, uid in enumerate(sorted({*chosen, *missing}))}
    lines = ["strict digraph full {"]
    if numbers:
        lines.append("  // Node definitions.")
        for uid, number in numbers.items():
            lines += _definition(number, chosen.get(uid), missing.get(uid))
    if edges:
        lines.append("  // Edge definitions.")
        lines += [f"  {numbers[a]} -> {numbers[b]};" for a, b in sorted(set(edges))]
    return "\n".join([*lines, "}", ""])


def _related(graph: Graph, uids: Iterable[str]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    waiting = list(uids)
    while waiting:
        node = graph.get(waiting.pop())
        if node is not None and node.uid not in found:
            found[node.uid] = node
            waiting += [owner.uid for owner in node.owners]
            waiting += node.dependents
    return {uid: node for uid, node in found.items() if node.dependents or node.owners}


def _definition(number: int, node: Node | None, missing: Identity | None) -> Iterable[str]:
    identity = node.identity if node is not None else missing
    assert identity is not None  # a number is given to what is chosen or missing
    states = {
        "beingDeleted": node is not None and node.being_deleted,
        "deletingDependents": node is not None and node.deleting_dependents,
        "virtual": node is not None and node.virtual,
        "missingFromGraph": node is None,
    }
    yield f"  {number} ["
    yield f"    label={go_quoted(_label(identity, states))}"
    group, version = _group_version(identity)
    for name, value in (
        ("group", group),
        ("version", version),
        ("kind", identity.kind),
        ("namespace", identity.namespace),
        ("name", identity.name),
        ("uid", identity.uid),
    ):
        yield f"    {name}={go_quoted(value)}"
    for name, key in (
        ("missing", "missingFromGraph"),
        ("beingDeleted", "beingDeleted"),
        ("deletingDependents", "deletingDependents"),
        ("virtual", "virtual"),
    ):
        yield f'    {name}="{"true" if states[key] else "false"}"'
    yield "  ];"


def _label(identity: Identity, states: Mapping[str, bool]) -> str:
    group, version = _group_version(identity)
    kind = ".".join(part for part in (identity.kind, version, group) if part)
    holds = ",".join(name for name, state in states.items() if state)
    text = f"uid={identity.uid}\nnamespace={identity.namespace}\n{kind}/{identity.name}\n"
    return f'"{text}{holds}\n"' if holds else f'"{text}"'


def _group_version(identity: Identity) -> GroupVersion:
    """Of an apiVersion that is none, nothing."""
    try:
        return GroupVersion.parse(identity.api_version)
    except ValueError:
        return GroupVersion("", "")
