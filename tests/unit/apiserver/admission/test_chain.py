from typing import Any

import pytest

from controlplane.apimachinery.identity import GVK, GVR
from controlplane.apimachinery.user import ANONYMOUS
from controlplane.apiserver.admission.api import Attributes, Hook, Hooks, Operation
from controlplane.apiserver.admission.chain import Chain
from controlplane.apiserver.admission.metrics import plugin_seconds, step_seconds
from tests.aio import run

CONFIG_MAPS = GVR("", "v1", "configmaps")
CREATE = frozenset({Operation.CREATE})


def attributes(operation: Operation) -> Attributes:
    return Attributes(
        operation=operation,
        kind=GVK("", "v1", "ConfigMap"),
        resource=CONFIG_MAPS,
        subresource="",
        namespace="ns",
        name="a",
        obj={},
        old=None,
        user=ANONYMOUS,
        dry_run=False,
        options={},
        warn=lambda _text: None,
    )


def noting(name: str, called: list[str]) -> Hook:
    async def hook(attributes: Attributes) -> None:
        called.append(f"{name} {attributes.operation.value}")

    return hook


def hooks(name: str, called: list[str], **given: Any) -> tuple[str, Hooks]:
    """Hooks that note their calls; they handle creates, and mutate, unless ``given`` says otherwise."""
    return name, Hooks(**{"operations": CREATE, "mutate": noting(name, called), **given})


def test_plugins_run_in_their_order_each_in_its_phases_and_operations() -> None:
    called: list[str] = []
    both = frozenset({Operation.CREATE, Operation.DELETE})
    chain = Chain(
        [
            hooks("first", called),
            hooks("second", called, mutate=None, validate=noting("second", called), operations=both),
            hooks("third", called, operations=both),
        ]
    )

    async def both_phases(operation: Operation) -> None:
        await chain.mutate(attributes(operation))
        await chain.validate(attributes(operation))

    run(both_phases(Operation.CREATE))
    assert called == ["first CREATE", "third CREATE", "second CREATE"]
    called.clear()
    run(both_phases(Operation.DELETE))
    assert called == ["third DELETE", "second DELETE"]


def test_a_chain_says_for_what_it_has_nothing_to_do() -> None:
    chain = Chain([hooks("one", [])])
    assert chain.mutates(Operation.CREATE, CONFIG_MAPS, "")
    assert not chain.validates(Operation.CREATE, CONFIG_MAPS, "")
    assert not chain.mutates(Operation.UPDATE, CONFIG_MAPS, "")


def test_a_plugin_is_asked_what_it_wants_once_until_it_says_that_this_has_changed() -> None:
    asked: list[tuple[Operation, GVR, str]] = []
    wanted = False

    def wants(*place: Any) -> bool:
        asked.append(place)
        return wanted

    chain = Chain([hooks("one", [], wants=wants)])
    assert not chain.mutates(Operation.CREATE, CONFIG_MAPS, "status")
    assert not chain.mutates(Operation.CREATE, CONFIG_MAPS, "status")
    assert asked == [(Operation.CREATE, CONFIG_MAPS, "status")]
    wanted = True
    chain.outdate()
    assert chain.mutates(Operation.CREATE, CONFIG_MAPS, "status")


def test_all_run_once_more_if_one_of_them_wants_it_and_never_a_third_time() -> None:
    called: list[str] = []

    async def insist(attributes: Attributes) -> None:
        called.append("insist again" if attributes.reinvocation.second else "insist")
        attributes.reinvocation.wanted = True

    chain = Chain([hooks("first", called), hooks("second", called, mutate=insist)])
    run(chain.mutate(attributes(Operation.CREATE)))
    assert called == ["first CREATE", "insist", "first CREATE", "insist again"]


def test_the_first_plugin_that_refuses_ends_the_phase() -> None:
    called: list[str] = []

    async def refuse(_: Attributes) -> None:
        raise ValueError("no")

    chain = Chain([hooks("one", called, mutate=refuse), hooks("after", called)])
    with pytest.raises(ValueError, match="no"):
        run(chain.mutate(attributes(Operation.CREATE)))
    assert called == []


def test_the_only_hook_need_not_be_called_if_it_is_known_to_accept() -> None:
    called: list[str] = []
    asked: list[tuple[Operation, str]] = []

    def passes(operation: Operation, namespace: str) -> bool:
        asked.append((operation, namespace))
        return namespace == "good"

    chain = Chain([hooks("one", called, passes=passes)])
    assert chain.accepts(Operation.CREATE, CONFIG_MAPS, "", "good")
    assert not chain.accepts(Operation.CREATE, CONFIG_MAPS, "", "other")
    assert asked == [(Operation.CREATE, "good"), (Operation.CREATE, "other")]
    assert chain.accepts(Operation.UPDATE, CONFIG_MAPS, "", "other"), "nobody looks at updates"
    chain.add("two", hooks("two", called, passes=passes)[1])
    assert not chain.accepts(Operation.CREATE, CONFIG_MAPS, "", "good"), "of several all are called"
    assert called == []


def test_what_was_accepted_without_a_call_is_timed_as_if_it_had_been_called() -> None:
    chain = Chain([hooks("timed", [], passes=lambda *_: True)])
    plugin = plugin_seconds("timed", "admit", "CREATE").accepted
    phase = step_seconds("admit", "CREATE").accepted
    before = sum(plugin.counts), sum(phase.counts)
    assert chain.accepts(Operation.CREATE, CONFIG_MAPS, "", "")
    assert (sum(plugin.counts), sum(phase.counts)) == (before[0] + 1, before[1] + 1)


def test_a_closed_chain_has_told_its_plugins_and_does_nothing() -> None:
    closed: list[str] = []
    chain = Chain([hooks("one", [], close=lambda: closed.append("one"))])
    chain.close()
    chain.close()
    assert closed == ["one"]
    assert not chain.mutates(Operation.CREATE, CONFIG_MAPS, "")
