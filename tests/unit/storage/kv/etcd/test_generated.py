"""The generated messages are what ``rpc.proto`` says, and live beside any other etcd client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.storage.kv.etcd import generate, rpc_pb2

CLASH = """
from google.protobuf import descriptor_pb2, descriptor_pool

def foreign():
    file = descriptor_pb2.FileDescriptorProto(name="rpc.proto", package="etcdserverpb", syntax="proto3")
    file.message_type.add(name="RangeRequest")
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    same = descriptor_pb2.FileDescriptorProto(name="x.proto", package="controlplane.storage.kv.etcd", syntax="proto3")
    same.message_type.add(name="RangeRequest")
    descriptor_pool.Default().AddSerializedFile(same.SerializeToString())

def ours():
    from controlplane.storage.kv.etcd import rpc_pb2
    assert rpc_pb2.RangeRequest(key=b"a").SerializeToString() == b"\\n\\x01a"
"""


@pytest.mark.parametrize("name", ["rpc_pb2.py", "rpc_pb2.pyi"])
def test_generated_files_are_current(name: str) -> None:
    current = Path(generate.__file__).with_name(name).read_text()
    assert generate.generate()[name] == current, "run: python -m controlplane.storage.kv.etcd.generate"


@pytest.mark.parametrize("order", ["ours(); foreign()", "foreign(); ours()"])
def test_another_librarys_names_do_not_clash(order: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"{CLASH}\n{order}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_unknown_fields_of_newer_servers_are_ignored() -> None:
    """A response field of etcd 3.7 that we do not know must not hide those we know."""
    newer = rpc_pb2.StatusResponse(version="3.7.0").SerializeToString() + b"\x6a\x02\x08\x01"
    assert rpc_pb2.StatusResponse.FromString(newer).version == "3.7.0"
