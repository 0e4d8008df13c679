import pytest

from controlplane.apiserver.discovery.consensus import consensus


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        pytest.param([], [], id="no lists"),
        pytest.param([["a", "b"], ["a", "b"]], ["a", "b"], id="agreed"),
        pytest.param([["z", "a", "m"], ["a", "m"]], ["z", "a", "m"], id="one list has all"),
        pytest.param([["b"], ["c", "a", "b"]], ["c", "a", "b"], id="the one that has all is not the first"),
        pytest.param([["a", "c"], ["b", "c"]], ["a", "b", "c"], id="what nobody orders is alphabetical"),
        pytest.param([["c", "a"], ["b", "a"]], ["b", "c", "a"], id="order before alphabet"),
        pytest.param([["x", "g", "z"], ["x", "h", "z"]], ["x", "g", "h", "z"], id="between what both have"),
        pytest.param([["v2", "v1"], ["v3", "v2"]], ["v3", "v2", "v1"], id="chained"),
        pytest.param([["a", "b", "c"], ["b", "a", "d"]], ["a", "b", "c", "d"], id="contradicting lists: alphabetical"),
        pytest.param([["b", "a"], ["a", "b"]], ["b", "a"], id="contradicting, but one list has all"),
    ],
)
def test_an_order_agrees_with_all_lists(lists: list[list[str]], expected: list[str]) -> None:
    assert consensus(lists) == expected
