"""Python for protobuf messages, generated from our own ``.proto`` files at development time.

The Python that protoc writes refuses runtimes of another major version and registers names in the process's shared
pool. Ours holds the compiled descriptor alone and makes the classes from it in a pool of its own, so it works with
every protobuf from 5 on and beside any other library that has messages of the same names. Needs ``grpcio-tools`` (a
development dependency).
"""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet

__all__ = ["generate"]

LINE_BYTES: Final = 36
"""Descriptor bytes on one line; escaped, at most four columns each and so under 160 columns."""


def generate(proto: Path, *, by: str) -> dict[str, str]:
    """The files generated from ``proto``, which are to stand beside it: name -> text. ``by``: the module that asks.

    Raises:
        RuntimeError: protoc refused the file.
    """
    from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

    include = str(resources.files("grpc_tools") / "_proto")
    stem = proto.stem
    with tempfile.TemporaryDirectory() as folder:
        descriptor_file = Path(folder, f"{stem}.bin")
        arguments = ["protoc", f"-I{proto.parent}", f"-I{include}", f"--descriptor_set_out={descriptor_file}"]
        if protoc.main([*arguments, f"--pyi_out={folder}", proto.name]) != 0:
            raise RuntimeError(f"protoc refused {proto.name}; its message is above")
        (file,) = FileDescriptorSet.FromString(descriptor_file.read_bytes()).file
        stub = Path(folder, f"{stem}_pb2.pyi").read_text().replace("_Mapping]", "_Mapping[str, object]]")
    names = [message.name for message in file.message_type]
    module = _module(file.SerializeToString(deterministic=True), file.package, names, proto.name, by)
    return {f"{stem}_pb2.py": module, f"{stem}_pb2.pyi": stub}


def _module(descriptor: bytes, package: str, names: list[str], source: str, by: str) -> str:
    chunks = [descriptor[at : at + LINE_BYTES] for at in range(0, len(descriptor), LINE_BYTES)]
    lines = [
        f'"""Generated from {source} by {by}; not edited by hand."""',
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
    lines += [f'{name} = GetMessageClass(_find("{package}.{name}"))' for name in names]
    return "\n".join(lines) + "\n"
