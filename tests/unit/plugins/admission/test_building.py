import pytest

from controlplane.apiserver.admission.api import Hooks
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.plugins.admission.building import select_plugins


def plugin(name: str, *, default_on: bool = True) -> AdmissionPlugin:
    return AdmissionPlugin(name=name, default_on=default_on, build=lambda _services: Hooks(operations=frozenset()))


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
    plugins = [plugin("on"), plugin("off", default_on=False)]
    assert [found.name for found in select_plugins(plugins, enabled=enabled, disabled=disabled)] == expected


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
    with pytest.raises(ValueError, match=message):
        select_plugins([plugin(name) for name in names], enabled=enabled, disabled=disabled)
