"""Log lines: their shape, what is never written, and that they cost nothing when off."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from controlplane.base import logs


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    logs.configure()
    root.handlers[:] = handlers
    root.setLevel(level)


def written(form: str = "text", verbosity: int = 2) -> io.StringIO:
    stream = io.StringIO()
    logs.configure(format="json" if form == "json" else "text", verbosity=verbosity, stream=stream)
    return stream


def test_a_text_line_has_klogs_shape() -> None:
    stream = written()
    logs.get("controlplane.demo").bind(controller="ns").info("emptied", deleted=17, name='a "b"\nc', done=True)
    assert re.fullmatch(
        r'I\d{4} \d\d:\d\d:\d\d\.\d{6} controlplane\.demo\] "emptied" '
        r'controller="ns" deleted=17 name="a \\"b\\"\\nc" done=true\n',
        stream.getvalue(),
    )


def test_a_json_line_is_one_object() -> None:
    stream = written("json")
    logs.get("controlplane.demo").warning("slow", lag_events=128, gvr=("apps", "v1"))
    line = json.loads(stream.getvalue())
    assert line.pop("ts") > 1e9
    assert line == {
        "level": "warning",
        "logger": "controlplane.demo",
        "msg": "slow",
        "lag_events": 128,
        "gvr": ["apps", "v1"],
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_values_of_secret_keys_are_never_written(form: str) -> None:
    stream = written(form)
    logs.get("controlplane.demo").bind(token="hunter2").error("refused", password="hunter2", user="u")
    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().count("REDACTED") == 2


def test_debug_lines_need_verbosity() -> None:
    stream = written(verbosity=3)
    log = logs.get("controlplane.demo")
    log.debug("detail")
    assert stream.getvalue() == ""
    stream = written(verbosity=4)
    log.debug("detail")
    assert '"detail"' in stream.getvalue()


def test_a_package_named_later_gets_the_configured_level() -> None:
    stream = written(verbosity=4)
    logs.get("some_plane.part").debug("detail")
    assert '"detail"' in stream.getvalue()


def test_an_exception_is_written_with_its_traceback() -> None:
    stream = written()
    try:
        raise ValueError("no")
    except ValueError:
        logs.get("controlplane.demo").exception("failed", key="a")
    head, *rest = stream.getvalue().splitlines()
    assert head.endswith('"failed" key="a"')
    assert rest[-1] == "ValueError: no"


def test_configuring_again_does_not_write_twice() -> None:
    written()
    stream = written()
    logs.get("controlplane.demo").info("once")
    assert stream.getvalue().count("once") == 1


def test_foreign_libraries_show_warnings_only() -> None:
    stream = written(verbosity=9)
    logging.getLogger("somelib").info("chatter")
    logging.getLogger("somelib").warning("trouble %d", 7)
    assert '"trouble 7"' in stream.getvalue()
    assert "chatter" not in stream.getvalue()


def test_a_warning_that_repeats_is_written_once() -> None:
    stream = written()
    seldom = logs.Seldom(logs.get("controlplane.demo"))
    for n in range(3 * logs.SELDOM_TEXTS):
        for error in ("full", f"lost {n % 2}"):
            seldom.warning("refused", error=ValueError(error))
    assert re.findall(r'error="(.*)"', stream.getvalue()) == ["full", "lost 0", "lost 1"]
