import random
import re

from controlplane.apiserver.registry.names import generate


def test_a_generated_name_is_the_base_and_five_characters_without_vowels() -> None:
    assert re.fullmatch(r"base-[bcdfghjklmnpqrstvwxz2456789]{5}", generate("base-", random.Random(1)))


def test_a_long_base_is_cut_so_that_the_name_fits_in_a_label() -> None:
    assert len(generate("b" * 100, random.Random(1))) == 63
