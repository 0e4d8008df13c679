"""The servers, for all tests here."""

from tests.etcd_fixture import etcd

__all__ = ["etcd"]
