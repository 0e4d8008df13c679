"""The conformance suite of the KV seam."""

from controlplane.testing.kv.check import KV_CHECKS, Check, CheckFailed, check_kv
from controlplane.testing.kv.scenario import Factory, Reopen, Scenario

__all__ = ["KV_CHECKS", "Check", "CheckFailed", "Factory", "Reopen", "Scenario", "check_kv"]
