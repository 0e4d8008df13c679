"""Write ``rpc_pb2.py`` and ``rpc_pb2.pyi`` from ``rpc.proto``: ``python -m controlplane.storage.kv.etcd.generate``.

The Python that protoc writes refuses runtimes of another major version and registers names in the process's shared
pool. Ours holds the compiled descriptor alone and makes the classes from it in a pool of its own, so it works with
every protobuf from 5 on and beside any other etcd client. Needs ``grpcio-tools`` (a development dependency).
"""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet

__all__ = ["generate", "write"]

HERE: Final = Path(__file__).parent
LINE_BYTES: Final = 36
"""Descriptor bytes on one line; escaped, at most four columns each and so under 160 columns."""


def generate() -> dict[str, str]:
    """The generated files: name -> text.

    Raises:
        RuntimeError: protoc refused the file.
    """
    from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

    include = str(resources.files("grpc_tools") / "_proto")
    with tempfile.TemporaryDirectory() as folder:
        descriptor_file = Path(folder, "rpc.bin")
        arguments = ["protoc", f"-I{HERE}", f"-I{include}", f"--descriptor_set_out={descriptor_file}"]
        if protoc.main([*arguments, f"--pyi_out={folder}", "rpc.proto"]) != 0:
            raise RuntimeError("protoc refused rpc.proto; its message is above")
        (file,) = FileDescriptorSet.FromString(descriptor_file.read_bytes()).file
        stub = Path(folder, "rpc_pb2.pyi").read_text().replace("_Mapping]", "_Mapping[str, object]]")
    names = [message.name for message in file.message_type]
    return {"rpc_pb2.py": _module(file.SerializeToString(deterministic=True), names), "rpc_pb2.pyi": stub}


def write() -> None:
    """Replace the generated files beside this module."""
    for name, text in generate().items():
        (HERE / name).write_text(text)


def _module(descriptor: bytes, names: list[str]) -> str:
    chunks = [descriptor[at : at + LINE_BYTES] for at in range(0, len(descriptor), LINE_BYTES)]
    lines = [
        '"""Generated from rpc.proto by controlplane.storage.kv.etcd.generate; not edited by hand."""',
        "",
        "from google.protobuf.descriptor_pool import DescriptorPool",
        "from google.protobuf.message_factory import GetMessageClass",
        "",
        "_POOL = DescriptorPool()",
        "_POOL.AddSerializedFile(",
        *(f"    {chunk!r}" for chunk in chunks),
        ")",
        "_find = _POOL.FindMessageTypeByName",
        "",
    ]
    package = "controlplane.storage.kv.etcd"
    lines += [f'{name} = GetMessageClass(_find("{package}.{name}"))' for name in names]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write()
