"""The test kit that users import: conformance suites, virtual time, backends for tests."""

from controlplane.testing.kv import check_kv

__all__ = ["check_kv"]
