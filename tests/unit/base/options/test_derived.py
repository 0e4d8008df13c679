"""What derives from an option's one field: names, help, reference rows, durations."""

from __future__ import annotations

import pytest

from controlplane.base.options import OptionGroup, format_duration, help_text, option, options_of, parse_duration
from controlplane.base.options.docs import markdown, rows
from tests.unit.base.options.demo import DemoOptions


def test_names_derive_from_the_field() -> None:
    names = {option.flag: (option.env, option.file_key) for option in options_of(DemoOptions)}
    assert names["secure-port"] == ("CONTROLPLANE_SECURE_PORT", "serving.port")
    assert names["controllers.garbage-collector"] == (
        "CONTROLPLANE_CONTROLLERS__GARBAGE_COLLECTOR",
        "controllers.garbageCollector",
    )


def test_two_options_cannot_share_a_flag() -> None:
    class Clash(DemoOptions):
        port: int = option(1, flag="secure-port", description="Another.")

    with pytest.raises(ValueError, match=r"option 'secure-port' is declared twice: by serving\.port and by port"):
        options_of(Clash)


def test_a_type_that_cannot_be_written_is_refused() -> None:
    class Odd(OptionGroup):
        thing: complex = 1j

    with pytest.raises(TypeError, match="thing: <class 'complex'> cannot be the type of an option"):
        options_of(Odd)


def test_help_has_every_option_by_group() -> None:
    text = help_text(DemoOptions, usage="Usage: demo [flags]")
    assert text.startswith("Usage: demo [flags]\n\nSecure serving flags:\n\n    --secure-port int\n")
    assert "        The port to serve on. (default 6443)\n" in text
    assert "    --store.compaction choice\n        Who compacts. (one of auto, off) (default auto)\n" in text
    assert "    --store.timeout duration\n        Timeout. (default 1m0s)\n" in text
    assert "    --verbosity, -v int\n" in text
    assert "    --controllers.garbage-collector\n" in text
    assert all(f"--{option.flag}" in text for option in options_of(DemoOptions))


def test_reference_rows_have_every_option() -> None:
    by_flag = {row.flag: row for row in rows(DemoOptions)}
    assert set(by_flag) == {f"--{option.flag}" for option in options_of(DemoOptions)}
    assert by_flag["--secure-port"] == (
        "Secure serving",
        "--secure-port",
        "CONTROLPLANE_SECURE_PORT",
        "serving.port",
        "int",
        "6443",
        "an integer from 1 to 65535",
        "The port to serve on.",
    )
    page = markdown(DemoOptions)
    assert page.count("\n## ") + page.startswith("## ") == 3
    assert "| `--secure-port` | `CONTROLPLANE_SECURE_PORT`<br>`serving.port` | an integer from 1 to 65535 |" in page


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("1m0s", 60.0, "1m0s"),
        ("60s", 60.0, "1m0s"),
        ("300ms", 0.3, "300ms"),
        ("1h", 3600.0, "1h0m0s"),
        ("1.5h", 5400.0, "1h30m0s"),
        ("0", 0.0, "0s"),
        ("2.5s", 2.5, "2.5s"),
        ("-10s", -10.0, "-10s"),
        ("100us", 0.0001, "0.1ms"),
        ("8760h", 31536000.0, "8760h0m0s"),
    ],
)
def test_durations(text: str, seconds: float, shown: str) -> None:
    assert parse_duration(text) == pytest.approx(seconds)
    assert format_duration(seconds) == shown
    assert parse_duration(shown) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "1m 0s", "1d", "1e3s", "--1s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration such as"):
        parse_duration(text)
