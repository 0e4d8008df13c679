from typing import Any

import pytest

from controlplane.apimachinery.identity import GVK, GVR
from controlplane.apimachinery.user import ANONYMOUS
from controlplane.apiserver.admission.api import AdmissionPlugin, Attributes, Hook, Hooks, Operation, PluginServices
from controlplane.apiserver.admission.chain import Chain, build_chain
from controlplane.base.clock import SystemClock
from tests.aio import run

SERVICES = PluginServices(storage_of=lambda _group, _plural: None, clock=SystemClock())


def attributes(operation: Operation) -> Attributes:
    return Attributes(
        operation=operation,
        kind=GVK("", "v1", "ConfigMap"),
        resource=GVR("", "v1", "configmaps"),
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


def plugin(name: str, called: list[str], *, default_on: bool = True, **hooks: Any) -> AdmissionPlugin:
    """A plugin that notes its calls; it handles creates, and mutates, unless ``hooks`` say otherwise."""
    given = {"operations": frozenset({Operation.CREATE}), "mutate": noting(name, called), **hooks}
    return AdmissionPlugin(name=name, default_on=default_on, build=lambda _services: Hooks(**given))


def test_plugins_run_in_their_order_each_in_its_phases_and_operations() -> None:
    called: list[str] = []
    both = frozenset({Operation.CREATE, Operation.DELETE})
    chain = build_chain(
        [
            plugin("first", called),
            plugin("second", called, mutate=None, validate=noting("second", called), operations=both),
            plugin("third", called, operations=both),
        ],
        SERVICES,
    )

    async def both_phases(operation: Operation) -> None:
        await chain.mutate(attributes(operation))
        await chain.validate(attributes(operation))

    run(both_phases(Operation.CREATE))
    assert called == ["first CREATE", "third CREATE", "second CREATE"]
    called.clear()
    run(both_phases(Operation.DELETE))
    assert called == ["third DELETE", "second DELETE"]


def test_a_chain_says_for_which_operations_it_has_nothing_to_do() -> None:
    called: list[str] = []
    chain = build_chain([plugin("one", called)], SERVICES)
    assert chain.mutates(Operation.CREATE)
    assert not chain.validates(Operation.CREATE)
    assert not chain.mutates(Operation.UPDATE)


def test_the_first_plugin_that_refuses_ends_the_phase() -> None:
    called: list[str] = []

    async def refuse(_: Attributes) -> None:
        raise ValueError("no")

    create = frozenset({Operation.CREATE})
    chain = Chain([Hooks(operations=create, mutate=refuse), Hooks(operations=create, mutate=noting("after", called))])
    with pytest.raises(ValueError, match="no"):
        run(chain.mutate(attributes(Operation.CREATE)))
    assert called == []


@pytest.mark.parametrize(
    ("enabled", "disabled", "expected"),
    [
        pytest.param((), (), ["on"], id="by default"),
        pytest.param(("off",), (), ["on", "off"], id="enabled"),
        pytest.param((), ("on",), [], id="disabled"),
    ],
)
def test_plugins_are_turned_on_and_off_by_name(
    enabled: tuple[str, ...], disabled: tuple[str, ...], expected: list[str]
) -> None:
    called: list[str] = []
    plugins = [plugin("on", called), plugin("off", called, default_on=False)]
    chain = build_chain(plugins, SERVICES, enabled=enabled, disabled=disabled)
    run(chain.mutate(attributes(Operation.CREATE)))
    assert called == [f"{name} CREATE" for name in expected]


@pytest.mark.parametrize(
    ("names", "enabled", "disabled", "message"),
    [
        pytest.param(["a"], ["b"], [], "unknown admission plugins: b; known: a", id="unknown"),
        pytest.param(["a"], ["a"], ["a"], "both enabled and disabled: a", id="both"),
        pytest.param(["a", "a"], [], [], "listed twice: a", id="twice"),
    ],
)
def test_names_that_make_no_sense_are_refused(
    names: list[str], enabled: list[str], disabled: list[str], message: str
) -> None:
    plugins = [plugin(name, []) for name in names]
    with pytest.raises(ValueError, match=message):
        build_chain(plugins, SERVICES, enabled=enabled, disabled=disabled)
