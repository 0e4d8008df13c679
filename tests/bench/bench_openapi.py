"""Discovery and OpenAPI of 200 real definitions: the first answer, the next, and who has it already.

    python -m tests.bench.bench_openapi [DEFINITIONS]

A plane in a process of its own serves the definitions as resources; clients are here. Absolute figures but for "again",
which is of bare aiohttp writing the same bytes.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from tests.bench.harness import bare_server, run_load
from tests.bench.report import Row
from tests.crds import published_crds, resource_of
from tests.processes import Target, resident_mb, target_of

__all__ = ["openapi"]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
