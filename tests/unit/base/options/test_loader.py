"""The loader: every source, every precedence pair, every message, all problems at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.options import Loaded, OptionGroup, OptionsError, load, options_of
from tests.unit.base.options.demo import DemoOptions


def demo(*argv: str, env: dict[str, str] | None = None) -> Loaded[DemoOptions]:
    return load(DemoOptions, argv, environ=env or {})


def problems(*argv: str, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(OptionsError) as caught:
        demo(*argv, env=env)
    return list(caught.value.problems)


@pytest.fixture
def plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("plane.yaml")


def test_nothing_said_gives_the_defaults() -> None:
    loaded = demo()
    assert loaded.options == DemoOptions()
    assert {setting.origin for setting in loaded.settings()} == {"default"}


FLAG = ["--secure-port", "1001"]
ENV = {"CONTROLPLANE_SECURE_PORT": "1002"}
FILE = "serving: {port: 1003}"


@pytest.mark.parametrize(
    ("flag", "env", "file", "value", "origin"),
    [
        pytest.param(True, True, True, 1001, "--secure-port", id="flag over all"),
        pytest.param(True, True, False, 1001, "--secure-port", id="flag over environment"),
        pytest.param(True, False, True, 1001, "--secure-port", id="flag over file"),
        pytest.param(True, False, False, 1001, "--secure-port", id="flag over default"),
        pytest.param(False, True, True, 1002, "CONTROLPLANE_SECURE_PORT", id="environment over file"),
        pytest.param(False, True, False, 1002, "CONTROLPLANE_SECURE_PORT", id="environment over default"),
        pytest.param(False, False, True, 1003, "plane.yaml:1: serving.port", id="file over default"),
        pytest.param(False, False, False, 6443, "default", id="default"),
    ],
)
def test_precedence(plane: Path, flag: bool, env: bool, file: bool, value: int, origin: str) -> None:
    argv = [*(FLAG if flag else []), *(["--config", str(plane)] if file else [])]
    plane.write_text(FILE)
    loaded = demo(*argv, env=ENV if env else {})
    assert loaded.options.serving.port == value
    assert {s.option.flag: s.origin for s in loaded.settings()}["secure-port"] == origin
    assert loaded.is_set("serving", "port") == (origin != "default")


def test_sources_mix_within_a_group(plane: Path) -> None:
    plane.write_text("serving:\n  certFile: a.crt\n")
    options = demo("--secure-port=1", f"--config={plane}", env={"CONTROLPLANE_TLS_PRIVATE_KEY_FILE": "a.key"}).options
    assert (options.serving.port, options.serving.cert_file, options.serving.key_file) == (1, "a.crt", "a.key")


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        pytest.param(["--controllers.garbage-collector"], True, id="bare"),
        pytest.param(["--controllers.garbage-collector=true"], True, id="true"),
        pytest.param(["--controllers.garbage-collector=F"], False, id="as Go reads it"),
        pytest.param(["--no-controllers.garbage-collector"], False, id="no-"),
        pytest.param(["--no-controllers.garbage-collector", "--controllers.garbage-collector"], True, id="last counts"),
    ],
)
def test_booleans(argv: list[str], value: bool) -> None:
    assert demo(*argv).options.controllers.garbage_collector is value


@pytest.mark.parametrize(
    ("argv", "env", "file", "value"),
    [
        pytest.param(["--etcd-servers", "a,b"], {}, "", ("a", "b"), id="commas"),
        pytest.param(["--etcd-servers=a", "--etcd-servers", "b, c"], {}, "", ("a", "b", "c"), id="repeated"),
        pytest.param([], {"CONTROLPLANE_ETCD_SERVERS": "a,b"}, "", ("a", "b"), id="environment"),
        pytest.param([], {}, "store: {servers: [a, b]}", ("a", "b"), id="file list"),
        pytest.param([], {}, "etcd-servers: a,b", ("a", "b"), id="file text under the flag's name"),
        pytest.param(["--etcd-servers", "c"], {}, "etcd-servers: [a]", ("c",), id="a higher source replaces"),
        pytest.param(["--etcd-servers="], {}, "etcd-servers: [a]", (), id="empty clears"),
    ],
)
def test_lists(plane: Path, argv: list[str], env: dict[str, str], file: str, value: tuple[str, ...]) -> None:
    plane.write_text(file)
    assert demo("--config", str(plane), *argv, env=env).options.store.servers == value


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        pytest.param(["--feature-gates", "A=true,B=false"], "", id="commas"),
        pytest.param(["--feature-gates=A=true", "--feature-gates=B=false"], "", id="repeated"),
        pytest.param([], "controllers: {gates: {A: true, B: false}}", id="file map"),
    ],
)
def test_maps(plane: Path, argv: list[str], file: str) -> None:
    plane.write_text(file)
    assert demo("--config", str(plane), *argv).options.controllers.gates == {"A": True, "B": False}


def test_a_map_replaces_that_of_the_source_below(plane: Path) -> None:
    plane.write_text("controllers: {gates: {A: true}}")
    loaded = demo("--config", str(plane), "--feature-gates=C=true", env={"CONTROLPLANE_FEATURE_GATES": "B=true"})
    assert loaded.options.controllers.gates == {"C": True}
    assert demo("--config", str(plane), env={"CONTROLPLANE_FEATURE_GATES": "B=true"}).options.controllers.gates == {
        "B": True
    }


def test_durations_shorts_and_numbers() -> None:
    options = demo("--store.timeout", "1m30s", "-v", "4", "--store.ratio=0.25").options
    assert (options.store.timeout, options.controllers.verbosity, options.store.ratio) == (90.0, 4, 0.25)


def test_a_bare_number_in_the_file_is_seconds(plane: Path) -> None:
    plane.write_text("store: {timeout: 5}")
    assert demo("--config", str(plane)).options.store.timeout == 5.0


def test_the_file_can_be_named_by_the_environment(plane: Path) -> None:
    plane.write_text(FILE)
    assert demo(env={"CONTROLPLANE_CONFIG": str(plane)}).options.serving.port == 1003


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--secure-port", "70000"], "--secure-port: invalid value '70000': must be an integer from 1 to 65535"),
        (["--secure-port=x"], "--secure-port: invalid value 'x': must be an integer from 1 to 65535"),
        (["--secure-port"], "--secure-port: needs a value: an integer from 1 to 65535"),
        (["--secure-prot", "1"], "--secure-prot: unknown flag; did you mean --secure-port?"),
        (["--zzz"], "--zzz: unknown flag"),
        (
            ["--store.compaction=never"],
            "--store.compaction: invalid value 'never': must be one of auto, off",
        ),
        (
            ["--store.timeout=5"],
            "--store.timeout: invalid value '5': must be a duration such as 300ms, 10s or 1m30s",
        ),
        (
            ["--store.timeout=5ms"],
            "--store.timeout: invalid value '5ms': must be a duration such as 300ms, 10s or 1m30s at least 1s",
        ),
        (
            ["--store.ratio=1"],
            "--store.ratio: invalid value '1': must be a number greater than 0 and less than 1",
        ),
        (
            ["--controllers.garbage-collector=maybe"],
            "--controllers.garbage-collector: invalid value 'maybe': must be true or false",
        ),
        (
            ["--controllers.garbage-collector", "false"],
            "unexpected argument 'false'; a boolean flag takes its value as --flag=value",
        ),
        (
            ["--no-controllers.garbage-collector=true"],
            "--no-controllers.garbage-collector: takes no value; write --controllers.garbage-collector=true",
        ),
        (["--no-secure-port"], "--no-secure-port: --secure-port is not a boolean; write --secure-port=value"),
        (
            ["--feature-gates=A"],
            "--feature-gates: invalid value 'A': must be a map such as a=true,b=false",
        ),
        (
            ["--feature-gates=A=maybe"],
            "--feature-gates: invalid value 'A=maybe': must be a map such as a=true,b=false",
        ),
        (["--tls-cert-file=a"], "--tls-cert-file: 'a' needs --tls-private-key-file"),
        (["--bind-address=nowhere"], "--bind-address: 'nowhere' is no address"),
        (
            ["--store.compaction=off", "--etcd-servers=a"],
            "--store.compaction: 'off' cannot be used with --etcd-servers",
        ),
        (["--config"], "--config: needs a value: the path of a YAML file"),
        (["--config=none.yaml"], "--config: cannot read 'none.yaml': No such file or directory"),
    ],
)
def test_messages_of_flags(plane: Path, argv: list[str], message: str) -> None:
    assert plane.parent.exists()
    assert problems(*argv) == [message]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"CONTROLPLANE_SECURE_PORT": "x"},
            "CONTROLPLANE_SECURE_PORT (--secure-port): invalid value 'x': must be an integer from 1 to 65535",
        ),
        (
            {"CONTROLPLANE_SECURE_PROT": "1"},
            "CONTROLPLANE_SECURE_PROT: unknown environment variable; did you mean CONTROLPLANE_SECURE_PORT?",
        ),
        (
            {"CONTROLPLANE_CONTROLLERS_GARBAGE_COLLECTOR": "1"},
            (
                "CONTROLPLANE_CONTROLLERS_GARBAGE_COLLECTOR: unknown environment variable; "
                "did you mean CONTROLPLANE_CONTROLLERS__GARBAGE_COLLECTOR?"
            ),
        ),
        (
            {"CONTROLPLANE_TLS_CERT_FILE": "a"},
            "CONTROLPLANE_TLS_CERT_FILE (--tls-cert-file): 'a' needs --tls-private-key-file",
        ),
        ({"CONTROLPLANE_CONFIG": "no.yaml"}, "CONTROLPLANE_CONFIG: cannot read 'no.yaml': No such file or directory"),
    ],
)
def test_messages_of_the_environment(env: dict[str, str], message: str) -> None:
    assert problems(env=env) == [message]


def test_variables_that_are_not_ours_are_left_alone() -> None:
    env = dict.fromkeys(
        [
            "CONTROLPLANE_TEST_ETCD",
            "CONTROLPLANE_SERVICE_HOST",
            "CONTROLPLANE_SERVICE_PORT_HTTPS",
            "CONTROLPLANE_PORT",
            "CONTROLPLANE_PORT_6443_TCP_ADDR",
            "HOME",
        ],
        "x",
    )
    assert demo(env=env).options == DemoOptions()


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "serving:\n  port: 70000\n",
            ["plane.yaml:2: serving.port (--secure-port): invalid value '70000': must be an integer from 1 to 65535"],
        ),
        ("serving:\n  prot: 1\n", ["plane.yaml:2: serving.prot: unknown key; did you mean serving.port?"]),
        ("\nsecure-prot: 1\n", ["plane.yaml:2: secure-prot: unknown key; did you mean secure-port?"]),
        ("serving: 3\n", ["plane.yaml:1: serving: must be a mapping of options"]),
        ("- 3\n", ["plane.yaml:1: must be a mapping of groups of options"]),
        (
            "serving: {port: 1}\nserving: {port: 2}\n",
            [
                "plane.yaml:2: serving: is given twice",
                "plane.yaml:2: serving.port: the same option as plane.yaml:1: serving.port",
            ],
        ),
        (
            "serving: {port: 1}\nsecure-port: 2\n",
            ["plane.yaml:2: secure-port: the same option as plane.yaml:1: serving.port"],
        ),
        (
            "serving:\n  port: true\n",
            ["plane.yaml:2: serving.port (--secure-port): invalid value 'true': must be an integer from 1 to 65535"],
        ),
        (
            "serving:\n  port: [1]\n",
            ["plane.yaml:2: serving.port (--secure-port): invalid value '1': must be an integer from 1 to 65535"],
        ),
        ("serving: {port: 1\n", ["plane.yaml:2: not YAML: expected ',' or '}', but got '<stream end>'"]),
        ("a: 1\n---\nb: 2\n", ["plane.yaml:2: not YAML: but found another document"]),
        ("a: !!python/none 1\n", ["plane.yaml:1: a: unknown key"]),
        (
            "serving:\n  port: !!python/none 1\n",
            [
                (
                    "plane.yaml:2: serving.port: could not determine a constructor for the tag "
                    "'tag:yaml.org,2002:python/none'"
                )
            ],
        ),
    ],
)
def test_messages_of_the_file(plane: Path, text: str, messages: list[str]) -> None:
    plane.write_text(text)
    assert problems("--config", str(plane)) == messages


def test_a_file_that_is_not_text_is_refused(plane: Path) -> None:
    plane.write_bytes(b"\xff\xfe")
    (message,) = problems("--config", str(plane))
    assert message.startswith("--config: cannot read 'plane.yaml': 'utf-8' codec can't decode")


@pytest.mark.parametrize("text", ["", "# nothing\n", "serving: {}\n"])
def test_an_empty_file_says_nothing(plane: Path, text: str) -> None:
    plane.write_text(text)
    assert demo("--config", str(plane)).options == DemoOptions()


def test_all_problems_are_reported_at_once(plane: Path) -> None:
    plane.write_text("serving:\n  colour: red\n")
    assert problems(
        "--secure-prot=1",
        "--secure-port=0",
        "--store.ratio=7",
        "--tls-cert-file=a",
        "--config",
        str(plane),
        env={"CONTROLPLANE_NONSENSE": "1", "CONTROLPLANE_VERBOSITY": "loud"},
    ) == [
        "--secure-prot: unknown flag; did you mean --secure-port?",
        "CONTROLPLANE_NONSENSE: unknown environment variable",
        "plane.yaml:2: serving.colour: unknown key",
        "--secure-port: invalid value '0': must be an integer from 1 to 65535",
        "--store.ratio: invalid value '7': must be a number greater than 0 and less than 1",
        "CONTROLPLANE_VERBOSITY (--verbosity): invalid value 'loud': must be an integer",
        "--tls-cert-file: 'a' needs --tls-private-key-file",
    ]


@pytest.mark.parametrize(
    ("argv", "asked"), [(["--help", "--zzz"], "help"), (["-h"], "help"), (["--version"], "version"), ([], "")]
)
def test_help_and_version_win_over_problems(argv: list[str], asked: str) -> None:
    assert demo(*argv).asked == asked


class EmbeddedOptions(DemoOptions):
    class MigratorOptions(OptionGroup):
        workers: int = 3

    migrator: MigratorOptions = MigratorOptions()


def test_an_embedding_program_adds_groups() -> None:
    options = load(EmbeddedOptions, ["--migrator.workers=5", "--secure-port=1"], environ={}).options
    assert (options.migrator.workers, options.serving.port) == (5, 1)


def test_an_embedding_program_has_its_own_prefix() -> None:
    loaded = load(DemoOptions, [], environ={"PLANE_SECURE_PORT": "7", "CONTROLPLANE_ZZZ": "1"}, env_prefix="PLANE_")
    assert loaded.options.serving.port == 7


def test_options_are_frozen_and_strict() -> None:
    with pytest.raises(ValueError, match="frozen"):
        demo().options.serving.port = 7
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        DemoOptions.model_validate({"colour": "red"})


@pytest.mark.parametrize("value", ['"a\\0b"', '["a", "b\\0"]'])
def test_a_nul_character_is_refused(tmp_path: Path, value: str) -> None:
    file = tmp_path / "plane.yaml"
    file.write_text(f"etcd-servers: {value}\n", encoding="utf-8")
    with pytest.raises(OptionsError, match=r"etcd-servers.*: must not contain a NUL character"):
        load(DemoOptions, ["--config", str(file)], environ={})


def test_a_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(OptionsError, match=r"--config: cannot read 'a\\x00': embedded null byte"):
        load(DemoOptions, ["--config=a\0"], environ={})


WORDS = st.sampled_from(
    [f"--{o.flag}" for o in options_of(DemoOptions)]
    + ["--no-store.ratio", "-v", "--", "-", "--config=none", "x", "a=b"]
)


@given(st.lists(WORDS | st.builds("{}={}".format, WORDS, st.text(max_size=8)) | st.text(max_size=8), max_size=6))
def test_any_command_line_loads_or_is_refused_with_lines(argv: list[str]) -> None:
    found: tuple[str, ...] = ()
    try:
        load(DemoOptions, argv, environ={})
    except OptionsError as error:
        found = error.problems or ("",)
    assert all(problem.strip() for problem in found)
