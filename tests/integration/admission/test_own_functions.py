"""The example of docs/compose.md: an embedding program's own admission."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.aio import run
from tests.integration.admission.hooks import CONFIG_MAPS
from tests.integration.plane import config_in, running_plane

DOCUMENT = Path(__file__).parents[3] / "docs" / "compose.md"
MARKED = re.compile(
    r"<!-- run by tests/integration/admission/test_own_functions.py -->\n```python\n(.*?)\n```", re.DOTALL
)


def test_functions_of_ones_own_change_and_refuse_objects(tmp_path: Path) -> None:
    (snippet,) = MARKED.findall(DOCUMENT.read_text())
    example: dict[str, Any] = {}
    exec(snippet, example)  # our own document

    async def main() -> None:
        config = config_in(tmp_path)
        config.run_controllers = False
        example["configure"](config)
        async with running_plane(tmp_path, config) as plane:
            status, made = await plane.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
            assert (status, list(made["metadata"]["labels"])) == (201, ["made-by"])
            status, body = await plane.call("POST", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"password": "x"}})
            assert (status, body["message"]) == (
                403,
                'configmaps "b" is forbidden: passwords belong into secrets',
            )
            secrets = CONFIG_MAPS.replace("configmaps", "secrets")
            status, made = await plane.call("POST", secrets, {"metadata": {"name": "b"}, "data": {"password": "eA=="}})
            assert (status, made["metadata"].get("labels")) == (201, None)

    run(main())
