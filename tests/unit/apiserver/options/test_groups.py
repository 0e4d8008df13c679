"""The option groups: kube-apiserver's flags, and what is refused by name."""

from __future__ import annotations

import pytest

from controlplane.base.options import OptionsError, load
from controlplane.generic.options import GenericOptions


def refused(*argv: str) -> str:
    with pytest.raises(OptionsError) as caught:
        load(GenericOptions, argv, environ={})
    return "\n".join(caught.value.problems)


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        (["--bind-address=nowhere"], ["--bind-address", "'nowhere'"]),
        (["--secure-port=70000"], ["--secure-port", "from 0 to 65535"]),
        (["--tls-cert-file=x"], ["--tls-private-key-file", "with --tls-cert-file"]),
        (["--cors-allowed-origins=("], ["--cors-allowed-origins", "regular expression"]),
        (["--store=zk:x"], ["--store", "'zk'", "etcd, memory, sqlite"]),
        (["--store=sqlite:"], ["--store", "does not say where"]),
        (["--store=sqlite:x", "--etcd-servers=a:1"], ["--store", "--etcd-servers"]),
        (["--etcd-servers-overrides=/events#x"], ["--etcd-servers-overrides", "one revisioned log"]),
        (["--etcd-certfile=x"], ["--etcd-keyfile"]),
        (["--authorization-mode=ABAC"], ["--authorization-mode", "ABAC is not supported", "AlwaysAllow"]),
        (
            ["--authorization-mode=Nonsense"],
            ["--authorization-mode", 'authorization-mode "Nonsense" is not a valid mode'],
        ),
        (
            ["--authorization-mode=RBAC,RBAC"],
            ["--authorization-mode", 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'],
        ),
        (["--goaway-chance=0.01"], ["--goaway-chance", "HTTP/1.1"]),
        (["--request-timeout=soon"], ["--request-timeout", "soon"]),
        (["--request-timeout=0s"], ["--request-timeout", "0s"]),
    ],
    ids=lambda value: value[0] if value[0].startswith("--") else None,
)
def test_refused(flags: list[str], texts: list[str]) -> None:
    said = refused(*flags)
    for text in texts:
        assert text in said


def test_all_problems_at_once() -> None:
    said = refused("--bind-address=x", "--store=zk:x", "--goaway-chance=0.01", "--secure-prot=1")
    assert len(said.splitlines()) == 4


def test_kube_apiservers_spellings() -> None:
    options = load(
        GenericOptions,
        [
            "--etcd-servers=a:1",
            "--etcd-cafile=ca",
            "--min-request-timeout=100",
            "--max-requests-inflight=0",
            "--anonymous-auth=false",
            "--shutdown-delay-duration=1m30s",
            "--v=4",
        ],
        environ={"CONTROLPLANE_SECURE_PORT": "1"},
    ).options
    assert options.storage.etcd_servers == ("a:1",)
    assert (options.requests.min_request_timeout, options.requests.max_requests_inflight) == (100, 0)
    assert options.authentication.anonymous_auth is False
    assert options.requests.shutdown_delay_duration == 90.0
    assert (options.logs.verbosity, options.serving.secure_port) == (4, 1)
