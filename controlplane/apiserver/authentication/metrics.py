"""Metrics of authentication, under Kubernetes' names."""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["CERTIFICATE_EXPIRATION"]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

CERTIFICATE_EXPIRATION = metrics.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
    buckets=(
        0,
        30 * _MINUTE,
        _HOUR,
        2 * _HOUR,
        6 * _HOUR,
        12 * _HOUR,
        _DAY,
        2 * _DAY,
        4 * _DAY,
        7 * _DAY,
        30 * _DAY,
        90 * _DAY,
        180 * _DAY,
        360 * _DAY,
    ),
)
"""Buckets are Kubernetes'."""
