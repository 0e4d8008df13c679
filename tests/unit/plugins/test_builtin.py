import pkgutil

from controlplane.plugins import admission
from controlplane.plugins.builtin import ORDERED


def test_every_plugin_there_is_a_module_for_is_listed_once() -> None:
    modules = {info.name for info in pkgutil.iter_modules(admission.__path__)}
    listed = [plugin.build.__module__.rpartition(".")[2] for plugin in ORDERED]
    assert sorted(listed) == sorted(modules)
