"""The option groups of an API server, with kube-apiserver's flags. Programs compose them into their own options."""

from controlplane.apiserver.options.aggregation import AggregationOptions
from controlplane.apiserver.options.authentication import AuthenticationOptions, token_webhook_config
from controlplane.apiserver.options.authorization import MODES, RBAC, WEBHOOK, AuthorizationOptions
from controlplane.apiserver.options.identity import IdentityOptions
from controlplane.apiserver.options.logs import LogOptions
from controlplane.apiserver.options.oidc import OIDCOptions, oidc_config
from controlplane.apiserver.options.peer_proxy import PeerProxyOptions, split_address
from controlplane.apiserver.options.request_headers import RequestHeaderOptions
from controlplane.apiserver.options.requests import CONNECTIONS, CONNECTIONS_PER_USER, WATCHES_PER_USER, RequestOptions
from controlplane.apiserver.options.service_accounts import ServiceAccountOptions, service_account_config
from controlplane.apiserver.options.serving import ServingOptions
from controlplane.apiserver.options.storage import StorageOptions, kv_options, store_url

__all__ = [
    "CONNECTIONS",
    "CONNECTIONS_PER_USER",
    "MODES",
    "RBAC",
    "WATCHES_PER_USER",
    "WEBHOOK",
    "AggregationOptions",
    "AuthenticationOptions",
    "AuthorizationOptions",
    "IdentityOptions",
    "LogOptions",
    "OIDCOptions",
    "PeerProxyOptions",
    "RequestHeaderOptions",
    "RequestOptions",
    "ServiceAccountOptions",
    "ServingOptions",
    "StorageOptions",
    "kv_options",
    "oidc_config",
    "service_account_config",
    "split_address",
    "store_url",
    "token_webhook_config",
]
