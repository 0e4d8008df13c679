"""Ids of servers: kube-apiserver's form, the same after a restart, another one for every address."""

from __future__ import annotations

import base64
import hashlib
import re

from controlplane.apimachinery.server_identity import server_id


def test_the_form_is_kube_apiservers() -> None:
    text = b"\x00\x04host" + b"\x00\x0ekube-apiserver" + b"\x00\x0e127.0.0.1:6443"
    expected = base64.b32encode(hashlib.sha256(text).digest()[:16]).decode().rstrip("=").lower()
    assert server_id("host", "127.0.0.1:6443") == f"apiserver-{expected}"
    assert re.fullmatch("apiserver-[a-z2-7]{26}", f"apiserver-{expected}")


def test_servers_on_one_host_differ_and_a_restart_changes_nothing() -> None:
    one, other = server_id("host", "127.0.0.1:6443"), server_id("host", "127.0.0.1:6444")
    assert one != other
    assert one == server_id("host", "127.0.0.1:6443")
    assert server_id("host1", "0.0.0.0:6443") != server_id("host2", "0.0.0.0:6443")
