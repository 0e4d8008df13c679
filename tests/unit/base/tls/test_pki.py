"""The server's own keys: made once, kept, renewed in time, refused by name when broken; real handshakes with them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.base.tls.pki import PKI, PKIError, ensure_pki, serving_names
from controlplane.base.tls.probe import client_facts, serving_facts
from tests.aio import run
from tests.unit.base.tls import certs

NAMES = serving_names("10.0.0.7", "plane.example")
DAY = 86_400.0


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "pki"


def content(pki: PKI) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in pki.serving.cert_file.parent.iterdir()}


def later(days: float) -> Callable[[], float]:
    return lambda: time.time() + days * DAY


def test_the_first_start_makes_private_files_and_the_next_keeps_them(directory: Path) -> None:
    pki = ensure_pki(directory, NAMES)
    before = content(pki)
    assert set(before) == {
        f"{name}.{kind}" for name in ("admin", "client-ca", "serving", "serving-ca") for kind in ("crt", "key")
    }
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE((directory / name).stat().st_mode) for name in before} == {0o600}
    again = ensure_pki(directory, NAMES)
    assert again.made == ()
    assert content(again) == before
    assert again.fingerprint() == pki.fingerprint()


def test_what_is_in_the_certificates(directory: Path) -> None:
    pki = ensure_pki(directory, NAMES)
    serving = serving_facts(pki.serving.files, pki.serving_ca.cert_file)
    assert serving.names == set(NAMES)
    assert {"localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "10.0.0.7"} <= serving.names
    assert (serving.not_after - time.time()) / DAY == pytest.approx(365, abs=0.01)
    admin = client_facts(pki.admin.files, pki.client_ca.cert_file)
    assert (admin.common_name, admin.organizations) == ("admin", frozenset({"system:masters"}))


def test_python_and_openssl_accept_them_in_a_real_handshake(directory: Path) -> None:
    import ssl

    pki = ensure_pki(directory, NAMES)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.client_ca.cert_file))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_cert_chain(*pki.serving.files)
    client = certs.trusting(pki.serving_ca.cert_file.read_bytes(), cert=pki.admin.cert_file, key=pki.admin.key_file)
    for host in ("localhost", "127.0.0.1", "plane.example", "::1"):
        ((seen, _, error),) = run(certs.converse(server, [client], host))
        assert error == ""
        assert seen == ssl.PEM_cert_to_DER_cert(pki.admin.cert_file.read_text())
    ((_, _, error),) = run(certs.converse(server, [client], "elsewhere.example"))
    assert "Hostname mismatch" in error


def test_a_normal_start_needs_no_library_beyond_the_standard_one(directory: Path) -> None:
    ensure_pki(directory, NAMES)
    code = (
        "import sys, pathlib; from controlplane.base.tls.pki import ensure_pki, serving_names\n"
        f"made = ensure_pki(pathlib.Path({str(directory)!r}), serving_names('10.0.0.7', 'plane.example')).made\n"
        "print(len(made), 'cryptography' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 False\n"


@pytest.mark.parametrize(
    ("days", "renewed"),
    [
        pytest.param(0, [], id="new"),
        pytest.param(250, [], id="more than 30% left"),
        pytest.param(260, ["serving.crt", "admin.crt"], id="less than 30% left"),
    ],
)
def test_leaves_are_renewed_in_time_with_their_keys_and_by_the_same_ca(
    directory: Path, days: float, renewed: list[str]
) -> None:
    before = content(ensure_pki(directory, NAMES))
    pki = ensure_pki(directory, NAMES, now=later(days))
    assert [path.name for path in pki.made] == renewed
    assert {name for name, data in content(pki).items() if data != before[name]} == set(renewed)


def test_an_expired_leaf_is_renewed(directory: Path) -> None:
    ensure_pki(directory, NAMES, now=later(-400))
    pki = ensure_pki(directory, NAMES)
    assert [path.name for path in pki.made] == ["serving.crt", "admin.crt"]
    assert serving_facts(pki.serving.files, pki.serving_ca.cert_file).not_after > time.time()


def test_a_name_that_is_missing_renews_the_serving_certificate(directory: Path) -> None:
    ensure_pki(directory, NAMES)
    pki = ensure_pki(directory, serving_names("10.0.0.8"))
    assert [path.name for path in pki.made] == ["serving.crt"]
    assert "10.0.0.8" in serving_facts(pki.serving.files, pki.serving_ca.cert_file).names


def test_fewer_names_than_certified_change_nothing(directory: Path) -> None:
    ensure_pki(directory, NAMES)
    assert ensure_pki(directory, serving_names()).made == ()


def test_fingerprints_of_two_directories_differ(tmp_path: Path) -> None:
    assert ensure_pki(tmp_path / "a", NAMES).fingerprint() != ensure_pki(tmp_path / "b", NAMES).fingerprint()


def test_a_crash_between_key_and_certificate_is_mended(directory: Path) -> None:
    pki = ensure_pki(directory, NAMES)
    keys = {name: data for name, data in content(pki).items() if name.endswith(".key")}
    for path in directory.glob("*.crt"):
        path.unlink()
    again = ensure_pki(directory, NAMES)
    assert {name: content(again)[name] for name in keys} == keys
    assert [path.name for path in again.made] == ["serving-ca.crt", "client-ca.crt", "serving.crt", "admin.crt"]


Damage = Callable[[Path], object]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda d: (d / "serving.crt").write_text("garbage"),
            "serving.crt or serving.key: cannot be read",
            id="corrupt certificate",
        ),
        pytest.param(
            lambda d: (d / "admin.key").write_text("garbage"),
            "admin.crt or admin.key: cannot be read",
            id="corrupt key",
        ),
        pytest.param(
            lambda d: (d / "client-ca.crt").write_text("garbage"),
            "client-ca.crt or client-ca.key: cannot be read",
            id="corrupt CA",
        ),
        pytest.param(
            lambda d: (d / "serving.key").write_bytes((d / "admin.key").read_bytes()),
            "serving.crt: does not belong to serving.key: restore the pair, or remove both",
            id="another key",
        ),
        pytest.param(
            lambda d: (d / "client-ca.key").write_bytes((d / "admin.key").read_bytes()),
            "client-ca.crt: does not belong to client-ca.key",
            id="another CA key",
        ),
        pytest.param(
            lambda d: certs.serving(*NAMES[:5]).write(d, "serving"),
            "serving.crt: is not accepted under serving-ca.crt: unable to get local issuer certificate",
            id="another CA's leaf",
        ),
        pytest.param(
            lambda d: certs.client("admin", "system:masters").write(d, "admin"),
            "admin.crt: is not accepted under client-ca.crt",
            id="another CA's client",
        ),
        pytest.param(
            lambda d: (d / "serving.key").unlink(),
            "serving.key: is missing, and serving.crt is of no use without it",
            id="key missing",
        ),
        pytest.param(
            lambda d: (d / "client-ca.crt").unlink(),
            "client-ca.crt: is missing, and admin.crt was signed by it",
            id="CA missing",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_left_as_it_is(directory: Path, damage: Damage, message: str) -> None:
    pki = ensure_pki(directory, NAMES)
    damage(directory)
    before = content(pki)
    with pytest.raises(PKIError) as caught:
        ensure_pki(directory, NAMES)
    assert message in str(caught.value)
    assert content(pki) == before


def test_an_expired_ca_is_refused(directory: Path) -> None:
    ensure_pki(directory, NAMES)
    with pytest.raises(PKIError, match=r"serving-ca\.crt: expired .*: remove the files in"):
        ensure_pki(directory, NAMES, now=later(3700))


def test_a_key_that_others_could_read_is_closed(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    pki = ensure_pki(directory, NAMES)
    pki.admin.key_file.chmod(0o644)
    ensure_pki(directory, NAMES)
    assert stat.S_IMODE(pki.admin.key_file.stat().st_mode) == 0o600
    assert [record.getMessage() for record in caplog.records] == [
        "key file was readable by others; its mode is now 0600"
    ]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PKIError, match="file/pki: Not a directory"):
        ensure_pki(tmp_path / "file" / "pki", NAMES)


def test_two_servers_that_start_at_once_make_one_set(directory: Path) -> None:
    code = (
        "import sys, pathlib; from controlplane.base.tls.pki import ensure_pki, serving_names\n"
        "print(ensure_pki(pathlib.Path(sys.argv[1]), serving_names()).fingerprint())"
    )
    command = [sys.executable, "-c", code, str(directory)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) for _ in range(2)]
    outputs = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(outputs) == 1


def test_a_check_is_quick(directory: Path) -> None:
    ensure_pki(directory, NAMES)

    def once() -> float:
        began = time.process_time()
        ensure_pki(directory, NAMES)
        return time.process_time() - began

    assert min(once() for _ in range(10)) < 0.05  # 8 ms on a quiet machine; more would mean a library was imported
