"""Metrics of the process itself, read from the kernel at each scrape; names as Prometheus' client libraries have them.

Not ``prometheus_client``'s collector: its import would hold the loop for 30 ms in the first scrape (decision 0003).
"""

from __future__ import annotations

import os
import sys
import time

from controlplane.base.metrics.families import counter, gauge

__all__ = ["CPU_SECONDS", "MAX_FDS", "start_seconds"]

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_BOOTED_SECONDS = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else 0.0


def _memory_pages(field: int) -> int:
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[field])


_IMPORTED_SECONDS = time.time()


def start_seconds() -> float:
    """When the process began, in seconds since 1970; where there is no ``/proc``, when this module was imported."""
    if sys.platform != "linux":
        return _IMPORTED_SECONDS
    with open("/proc/self/stat", "rb", buffering=0) as file:
        after_name = file.read().rpartition(b")")[2].split()
    return _BOOTED_SECONDS + int(after_name[19]) / os.sysconf("SC_CLK_TCK")


def _max_fds() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


CPU_SECONDS = counter("process_cpu_seconds_total", "User and system CPU time that the process has used, in seconds.")
CPU_SECONDS.read_from(time.process_time)
MAX_FDS = gauge("process_max_fds", "File descriptors that the process may have open.")
MAX_FDS.read_from(_max_fds)

if sys.platform == "linux":
    RESIDENT_BYTES = gauge("process_resident_memory_bytes", "Resident memory of the process.")
    RESIDENT_BYTES.read_from(lambda: _memory_pages(1) * _PAGE_BYTES)
    VIRTUAL_BYTES = gauge("process_virtual_memory_bytes", "Virtual memory of the process.")
    VIRTUAL_BYTES.read_from(lambda: _memory_pages(0) * _PAGE_BYTES)
    OPEN_FDS = gauge("process_open_fds", "File descriptors that the process has open.")
    OPEN_FDS.read_from(lambda: len(os.listdir("/proc/self/fd")) - 1)
    START_SECONDS = gauge("process_start_time_seconds", "When the process began, in seconds since 1970.")
    START_SECONDS.read_from(start_seconds)
