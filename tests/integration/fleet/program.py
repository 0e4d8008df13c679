"""The sample with kinds of its own: ``python -m tests.integration.fleet.program``. The environment names the version,
"old" or "new"."""

from __future__ import annotations

import os
import sys

from sample_controlplane.main import configure
from sample_controlplane.options import SampleOptions

from controlplane.generic.command import serve_command
from controlplane.generic.config import Config
from tests.integration.fleet.versions import new, old

VERSION = "FLEET_TEST_VERSION"


def configured(options: SampleOptions) -> Config:
    config = configure(options)
    (new if os.environ[VERSION] == "new" else old)(config)
    return config


if __name__ == "__main__":
    raise SystemExit(serve_command(SampleOptions, sys.argv[1:], program="fleet", configure=configured))
