"""Calls of webhooks: one transport for all that ask somebody outside (conversion, admission, and others to come)."""

from controlplane.client.webhook.address import WebhookAddress
from controlplane.client.webhook.errors import WebhookCallFailed
from controlplane.client.webhook.resolver import DNS, Endpoint, ServiceNotUsable, ServiceResolver
from controlplane.client.webhook.transport import Credentials, WebhookTransport

__all__ = [
    "DNS",
    "Credentials",
    "Endpoint",
    "ServiceNotUsable",
    "ServiceResolver",
    "WebhookAddress",
    "WebhookCallFailed",
    "WebhookTransport",
]
