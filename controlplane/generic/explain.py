"""What a control plane would serve and run, and why: every decision with its origin, without starting anything.

def main() -> None:
    raise SystemExit(explain_command(SampleOptions, sys.argv[1:], program="sample-controlplane explain"))
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TypeVar

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.resource import Resource
from controlplane.apis.builtin import BUILTIN
from controlplane.base.options import Loaded
from controlplane.base.values import dataclass
from controlplane.controllers.descriptor import ControllerDescriptor
from controlplane.controllers.keys import ClientTrust, ControllerKeys
from controlplane.generic.builtin import CONTROLLERS
from controlplane.generic.command import REFUSED, UNUSABLE, load_options
from controlplane.generic.config import CompletedConfig, Config, ConfigError, config_of
from controlplane.generic.controller_options import controller_toggle
from controlplane.generic.controllers import selected, served_resources, wanted
from controlplane.generic.credentials import serves_accounts
from controlplane.generic.feature_gates import gate_of, given_gate
from controlplane.generic.identity import keeps_lease
from controlplane.generic.options import GenericOptions, toggle_of
from controlplane.generic.runtime_config import RuntimeConfig
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.plugins.builtin import ORDERED

__all__ = ["Decision", "Explanation", "explain", "explain_command"]

O = TypeVar("O", bound=GenericOptions)  # noqa: E741

_EMBEDDED = ("sqlite:", "memory:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One thing that is on or off. ``what``: its versions, or where it runs; ``""`` where it is off. ``why``: who said
    so (a flag, a variable, a line of the file), or what it follows from."""

    name: str
    on: bool
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """``identity``: how the server says that it is there. ``authorization``: the modes, in order. ``settings``: the
    options that somebody has set, as ``--flag=value`` and origin."""

    resources: tuple[Decision, ...]
    controllers: tuple[Decision, ...]
    admission: tuple[Decision, ...]
    identity: tuple[Decision, ...]
    authorization: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """For people: a part for each, a line for each decision."""
        lines: list[str] = []
        for title, decisions in (
            ("resources", self.resources),
            ("controllers", self.controllers),
            ("admission plugins, in order", self.admission),
            ("identity", self.identity),
        ):
            lines += [f"{title}:", *_table(decisions), ""]
        lines += [f"authorization modes: {', '.join(self.authorization) or 'none'}", ""]
        lines.append("options that were set:")
        lines += [f"  {setting}  ({origin})" for setting, origin in self.settings] or ["  none"]
        return "\n".join(lines) + "\n"


def _table(decisions: Sequence[Decision]) -> Iterator[str]:
    width = max((len(one.name) for one in decisions), default=0)
    for one in decisions:
        state = f"on   {one.what}" if one.on else "off"
        yield f"  {one.name:{width}}  {state}  ({one.why})"


def explain(loaded: Loaded[O], config: CompletedConfig) -> Explanation:
    """Why everything of ``config``, which was made from these options, is as it is."""
    reasons = _Reasons(loaded)
    return Explanation(
        resources=tuple(_resources(reasons, config)),
        controllers=tuple(_controllers(reasons, config)),
        admission=tuple(_admission(reasons, config)),
        identity=tuple(_identity(reasons, config)),
        authorization=config.modes,
        settings=tuple(
            (f"--{s.option.flag}={_shown(s.value)}", s.origin) for s in loaded.settings() if s.origin != "default"
        ),
    )


class _Reasons:
    """Why a boolean is as it is."""

    def __init__(self, loaded: Loaded[O]) -> None:
        self._loaded = loaded
        self._derived = loaded.options.toggles().derived_off
        self._runtime = RuntimeConfig(loaded.options.runtime_config)

    def of(self, path: str) -> str:
        """``path``: the boolean's."""
        given = self._loaded.given.get(tuple(path.split(".")))
        if given is not None:
            return f"{given.origin}, {_shown(given.value)}"
        missing = self._derived.get(path)
        if missing is not None:
            return f"needs {missing}, which is off"
        gate, gates = gate_of(path), self._loaded.given.get(("feature_gates",))
        said = given_gate(self._loaded.options.feature_gates, gate) if gate is not None else None
        return f"{gates.origin}, {gate}={_shown(said)}" if said is not None and gates is not None else "by default"

    def of_plugin(self, plugin: AdmissionPlugin) -> str:
        """As ``of``; where its own boolean says nothing, a list of plugins may."""
        why = self.of(toggle_of(plugin.name))
        if why != "by default":
            return why
        for flag in ("enable_admission_plugins", "disable_admission_plugins"):
            given = self._loaded.given.get(("admission", flag))
            if given is not None and plugin.name in getattr(self._loaded.options.admission, flag):
                return f"{given.origin}, {plugin.name}"
        return why

    def of_kind(self, resource: Resource) -> str:
        """As ``of``; where nothing was said of a kind, --runtime-config may have an entry."""
        path = f"resources.{resource.plural}"
        why = self.of(path)
        if why != "by default":
            return why
        entries = [self._runtime.enablement(resource.group, v.name, resource.plural).entry for v in resource.versions]
        found = [entry for entry in entries if entry]
        given = self._loaded.given.get(("runtime_config",))
        return f"{given.origin}, {', '.join(found)}" if found and given is not None else why


def _resources(reasons: _Reasons, config: CompletedConfig) -> Iterator[Decision]:
    built_in = {kind.gr: kind for kind in (*BUILTIN, DEFINITIONS)}
    served = served_resources(config)
    here = {resource.gr: resource for resource in config.resources}
    for gr, kind in built_in.items():
        on = gr in served
        versions = ", ".join(v.name for v in here.get(gr, kind).versions if v.served) if on else ""
        yield Decision(name=str(gr), on=on, what=versions, why=reasons.of_kind(kind))
    declared = {kind.stored.gr: [v for one in kind.versions for v in one.versions] for kind in config.declared}
    for gr, all_versions in ({gr: list(one.versions) for gr, one in here.items()} | declared).items():
        if gr not in built_in:
            versions = ", ".join(v.name for v in all_versions if v.served)
            yield Decision(name=str(gr), on=True, what=versions, why="added by the program")


def _controllers(reasons: _Reasons, config: CompletedConfig) -> Iterator[Decision]:
    built_in = {controller.name: controller for controller in CONTROLLERS}
    present = {controller.name: controller for controller in config.controllers}
    possible = {controller.name for controller in wanted(config)}
    runs = {controller.name for controller in selected(config, _expected_keys(config))}
    for name in dict.fromkeys((*built_in, *present)):
        why = reasons.of(controller_toggle(name)) if name in built_in else "added by the program"
        if name in runs:
            yield Decision(name=name, on=True, what=_where(present[name], config), why=why)
            continue
        if name in possible and not config.run_controllers and not present[name].in_server:
            why = f"{reasons.of('controllers.enabled')}: for another process to run"
        elif name in possible:
            why = "this process has no key to sign with"
        elif name in present:
            missing = sorted(str(gr) for gr in set(present[name].needs) - served_resources(config))
            why = f"needs {', '.join(missing)}, which is not served"
        elif why == "by default":
            why = "left out by the program"
        yield Decision(name=name, on=False, what="", why=why)


def _expected_keys(config: CompletedConfig) -> ControllerKeys:
    """Stand-ins for the keys that a server of this config will have: nothing is read or made to tell."""

    async def token(_namespace: str, _account: str, _uid: str, _secret: str) -> str:
        return ""

    return ControllerKeys(
        root_ca_pem=b"-",
        authority=None if config.client_ca_file else lambda: (b"", b""),
        legacy_token=token if config.service_accounts.signs and serves_accounts(config) else None,
        client_trust=ClientTrust,
    )


def _where(controller: ControllerDescriptor, config: CompletedConfig) -> str:
    if controller.in_server:
        return "in every server"
    return "here" if config.store.startswith(_EMBEDDED) else "where the leader is"


def _admission(reasons: _Reasons, config: CompletedConfig) -> Iterator[Decision]:
    """In the order in which they are asked; those that are off after them."""
    present = {plugin.name: plugin for plugin in config.admission}
    built_in = {plugin.name: plugin for plugin in ORDERED}
    for name in dict.fromkeys((*present, *built_in)):
        why = reasons.of_plugin(built_in[name]) if name in built_in else "added by the program"
        yield Decision(name=name, on=name in present, what="", why=why)


def _identity(reasons: _Reasons, config: CompletedConfig) -> Iterator[Decision]:
    lease = keeps_lease(config)
    what = "in kube-system" if lease else ""
    yield Decision(name="lease", on=lease, what=what, why=reasons.of("identity.lease"))
    why, record = reasons.of("identity.peer_record"), config.identity.peer_record
    if record and config.store.startswith(_EMBEDDED):
        record, why = False, "no other server can be on this store"
    yield Decision(name="peer record", on=record, what="in the store" if record else "", why=why)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def explain_command(
    model: type[O],
    argv: Sequence[str],
    *,
    program: str,
    configure: Callable[[O], Config] | None = None,
    usage: str = "",
) -> int:
    """Print what these options would make, as text or with ``--output json``; returns the exit status.

    Args:
        model, configure: as for ``serve_command``. ``argv``: its options, and ``--output text|json`` (``-o``) beside.
    """
    output, rest = _take_output(argv)
    if output not in ("text", "json"):
        print(f"{program}: --output: invalid value {output!r}: must be one of text, json", file=sys.stderr)  # noqa: T201
        return REFUSED
    loaded = load_options(model, rest, program=program, usage=usage)
    if isinstance(loaded, int):
        return loaded
    try:
        completed = (configure or config_of)(loaded.options).complete()
    except ConfigError as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return UNUSABLE
    explanation = explain(loaded, completed)
    text = json.dumps(asdict(explanation), indent=2) + "\n" if output == "json" else explanation.text()
    print(text, end="")  # noqa: T201
    return 0


def _take_output(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The value of ``--output``, and the other arguments."""
    output, rest, words = "text", [], iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name in ("--output", "-o"):
            output = value if equals else next(words, "")
        else:
            rest.append(word)
    return output, rest
