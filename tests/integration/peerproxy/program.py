"""The sample with kinds of its own: ``python -m tests.integration.peerproxy.program``. The environment names
the server, "a" or "b"."""

from __future__ import annotations

import os
import sys

from sample_controlplane.main import configure
from sample_controlplane.options import SampleOptions

from controlplane.generic.command import serve_command
from controlplane.generic.config import Config
from tests.integration.peerproxy.kinds import serve_a, serve_b

SERVER = "PEERPROXY_TEST_SERVER"


def configured(options: SampleOptions) -> Config:
    config = configure(options)
    (serve_a if os.environ[SERVER] == "a" else serve_b)(config)
    return config


if __name__ == "__main__":
    raise SystemExit(serve_command(SampleOptions, sys.argv[1:], program="two-versions", configure=configured))
