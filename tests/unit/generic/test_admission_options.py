"""Which admission plugins are on: by their names, by their flags, by what they need."""

from __future__ import annotations

import pytest

from controlplane.base.options import OptionsError, load
from controlplane.generic.config import config_of
from controlplane.generic.options import AdmissionOptions, GenericOptions, toggle_of
from controlplane.plugins.builtin import ORDERED


def plugins(*argv: str) -> list[str]:
    return [plugin.name for plugin in config_of(load(GenericOptions, argv, environ={}).options).admission]


DEFAULT = [plugin.name for plugin in ORDERED if plugin.default_on]


def test_each_plugin_has_a_boolean_and_the_reverse() -> None:
    flags = {"enable_admission_plugins", "disable_admission_plugins", "admission_control_config_file"}
    assert {f"admission.{name}" for name in AdmissionOptions.model_fields if name not in flags} == {
        toggle_of(plugin.name) for plugin in ORDERED
    }


@pytest.mark.parametrize(
    ("argv", "added", "gone"),
    [
        pytest.param([], set(), set(), id="by default"),
        pytest.param(["--enable-admission-plugins=AlwaysAdmit"], {"AlwaysAdmit"}, set(), id="enabled"),
        pytest.param(
            ["--disable-admission-plugins=ResourceQuota,ServiceAccount"],
            set(),
            {"ResourceQuota", "ServiceAccount"},
            id="disabled",
        ),
        pytest.param(["--admission.resource-quota=false"], set(), {"ResourceQuota"}, id="off"),
        pytest.param(["--admission.always-deny=true"], {"AlwaysDeny"}, set(), id="on"),
        pytest.param(["--resources.resourcequotas=false"], set(), {"ResourceQuota"}, id="without what it needs"),
        pytest.param(
            ["--resources.mutatingadmissionpolicybindings=false"], set(), {"MutatingAdmissionPolicy"}, id="one of two"
        ),
    ],
)
def test_plugins_are_turned_on_and_off(argv: list[str], added: set[str], gone: set[str]) -> None:
    expected = (set(DEFAULT) | added) - gone
    assert plugins(*argv) == [plugin.name for plugin in ORDERED if plugin.name in expected]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(
            ["--enable-admission-plugins=PodSecurity"],
            "unknown admission plugin 'PodSecurity'; known: AlwaysAdmit, NamespaceLifecycle",
            id="unknown",
        ),
        pytest.param(
            ["--enable-admission-plugins=AlwaysDeny", "--disable-admission-plugins=AlwaysDeny"],
            "AlwaysDeny is also in --enable-admission-plugins",
            id="both",
        ),
        pytest.param(
            ["--enable-admission-plugins=ResourceQuota", "--admission.resource-quota=false"],
            "ResourceQuota is also named by --admission.resource-quota, which says otherwise",
            id="said twice",
        ),
        pytest.param(
            ["--admission.resource-quota=true", "--resources.resourcequotas=false"],
            "needs --resources.resourcequotas, which is off",
            id="without what it needs",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(argv: list[str], message: str) -> None:
    with pytest.raises(OptionsError) as refused:
        load(GenericOptions, argv, environ={})
    assert message in str(refused.value)
