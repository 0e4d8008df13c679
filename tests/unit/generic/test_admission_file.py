from pathlib import Path

import pytest

from controlplane.generic.admission import read_admission_configuration
from controlplane.plugins.admission.api import PluginConfigurationError

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"


def test_plugins_are_configured_in_the_file_or_beside_it(tmp_path: Path) -> None:
    (tmp_path / "events.yaml").write_text("kind: Configuration\nlimits: []\n")
    file = tmp_path / "admission.yaml"
    file.write_text(
        HEAD + "plugins:\n- name: EventRateLimit\n  path: events.yaml\n"
        "- name: ResourceQuota\n  configuration: {kind: ResourceQuotaConfiguration}\n- name: AlwaysDeny\n"
    )
    assert read_admission_configuration(str(file)) == {
        "EventRateLimit": {"kind": "Configuration", "limits": []},
        "ResourceQuota": {"kind": "ResourceQuotaConfiguration"},
    }
    assert read_admission_configuration("") == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("kind: Other\n", "must be AdmissionConfiguration of one of", id="kind"),
        pytest.param(HEAD + "plugin: []\n", "unknown fields: plugin; known: apiVersion, kind, plugins", id="unknown"),
        pytest.param(HEAD + "plugins: [{path: x}]\n", "plugins\\[0\\]: must be an object with a name", id="no name"),
        pytest.param(HEAD + "plugins: [{name: A, path: none}]\n", "none: No such file", id="no file"),
        pytest.param(
            HEAD + "plugins: [{name: A, configuration: {}}, {name: A, configuration: {}}]\n",
            "A is configured twice",
            id="twice",
        ),
        pytest.param("[", "not YAML or JSON", id="not YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(content)
    with pytest.raises(PluginConfigurationError, match=message):
        read_admission_configuration(str(file))
