"""What one key makes of a value: against ciphertexts that kube-apiserver has made, and what is refused."""

from __future__ import annotations

import pytest

from controlplane.storage.encryption.ciphers import Cbc, Cipher, DerivedGcm, Gcm, NotDecryptable, Secretbox

WHERE, TEXT = b"bamboo", b"pandas are the best"
KEY = bytes(range(32))
RECORDED: list[tuple[Cipher, str]] = [
    (
        Gcm(b"snorlax_awesomes"),
        "9f27c8fcea8a58c467d8e437dbf2d85955f9b4bd912f4ef967d788a0cb07797dac0a3f0a0845605ca85ac8562b4ae1",
    ),
    (
        DerivedGcm(bytes.fromhex("5d40323a820ff95561675e3b95e81867c5fdd561d35a88a2d08b08aa9d4fcf5c")),
        (
            "2442759e33945fbad709db577a0f037fd8a709fc76979b8942209debcecb9d57efe3d6ff6a1ef6ee9a5003b9833b3043cec1e47b35175b"
            "151107a8d2416b0e296bbf66b5d102fcefdf9a78f293d271"
        ),
    ),
]
"""Ciphertexts of ``TEXT`` at ``WHERE``, recorded from Kubernetes itself (data of kubernetes/apiserver
``pkg/storage/value/encrypt/aes/aes_test.go``)."""
CIPHERS: list[Cipher] = [Gcm(KEY), Gcm(KEY[:16]), DerivedGcm(KEY), Cbc(KEY), Cbc(KEY[:24]), Secretbox(KEY)]


@pytest.mark.parametrize(("cipher", "recorded"), RECORDED)
def test_what_kube_apiserver_has_encrypted_is_read(cipher: Cipher, recorded: str) -> None:
    assert cipher.decrypt(bytes.fromhex(recorded), WHERE) == TEXT
    with pytest.raises(NotDecryptable, match="cipher: message authentication failed"):
        cipher.decrypt(bytes.fromhex(recorded), b"elsewhere")


@pytest.mark.parametrize("cipher", CIPHERS, ids=lambda cipher: type(cipher).__name__)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 4096])
def test_values_of_every_size_come_back_and_no_two_are_alike(cipher: Cipher, size: int) -> None:
    plain = bytes(size)
    sealed = cipher.encrypt(plain, WHERE)
    assert cipher.decrypt(sealed, WHERE) == plain
    assert cipher.encrypt(plain, WHERE) != sealed


@pytest.mark.parametrize("cipher", CIPHERS, ids=lambda cipher: type(cipher).__name__)
def test_what_is_cut_off_is_refused(cipher: Cipher) -> None:
    sealed = cipher.encrypt(TEXT, WHERE)
    for size in (0, 3, 11):
        with pytest.raises(NotDecryptable, match="the stored data was shorter than the required size"):
            cipher.decrypt(sealed[:size], WHERE)
    with pytest.raises(NotDecryptable):
        cipher.decrypt(sealed[:-1], WHERE)


@pytest.mark.parametrize(
    "cipher", [Gcm(KEY), DerivedGcm(KEY), Secretbox(KEY)], ids=lambda cipher: type(cipher).__name__
)
def test_what_is_tampered_with_is_refused(cipher: Cipher) -> None:
    sealed = bytearray(cipher.encrypt(TEXT, WHERE))
    for at in (0, len(sealed) // 2, len(sealed) - 1):
        broken = bytes(sealed[:at] + bytes((sealed[at] ^ 1,)) + sealed[at + 1 :])
        with pytest.raises(NotDecryptable):
            cipher.decrypt(broken, WHERE)


def test_padding_tells_some_wrong_keys() -> None:
    with pytest.raises(NotDecryptable, match="the stored data is not a multiple of the block size"):
        Cbc(KEY).decrypt(bytes(33), WHERE)
    sealed = Cbc(KEY).encrypt(TEXT, WHERE)
    seen = set()
    for number in range(200):
        try:
            Cbc(bytes((number,)) * 32).decrypt(sealed, WHERE)
        except NotDecryptable as error:
            seen.add(str(error))
    assert seen == {"invalid PKCS7 data (empty or not padded)", "invalid padding on input"}


def test_a_seed_must_be_long_enough() -> None:
    with pytest.raises(ValueError, match="invalid seed length 16 used for key generation"):
        DerivedGcm(bytes(16))
