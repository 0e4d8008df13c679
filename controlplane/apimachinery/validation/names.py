"""Names: which strings may name objects, labels, annotations and finalizers.

The rules are those of the named formats of the expression language, which stands below; this is where the object model
has them.
"""

from controlplane.cel.library.names import (
    config_map_key,
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    label_value,
    max_length_error,
    name_is_dns_label,
    name_is_dns_subdomain,
    name_is_path_segment,
    path_segment_name,
    qualified_name,
    regex_error,
)

__all__ = [
    "config_map_key",
    "dns1035_label",
    "dns1123_label",
    "dns1123_subdomain",
    "label_value",
    "max_length_error",
    "name_is_dns_label",
    "name_is_dns_subdomain",
    "name_is_path_segment",
    "path_segment_name",
    "qualified_name",
    "regex_error",
]
