"""The option groups of an API server, with kube-apiserver's flags. Programs compose them into their own options."""

from controlplane.apiserver.options.authentication import AuthenticationOptions
from controlplane.apiserver.options.authorization import RBAC, AuthorizationOptions
from controlplane.apiserver.options.logs import LogOptions
from controlplane.apiserver.options.requests import RequestOptions
from controlplane.apiserver.options.service_accounts import ServiceAccountOptions, service_account_config
from controlplane.apiserver.options.serving import ServingOptions
from controlplane.apiserver.options.storage import StorageOptions, kv_options, store_url

__all__ = [
    "RBAC",
    "AuthenticationOptions",
    "AuthorizationOptions",
    "LogOptions",
    "RequestOptions",
    "ServiceAccountOptions",
    "ServingOptions",
    "StorageOptions",
    "kv_options",
    "service_account_config",
    "store_url",
]
