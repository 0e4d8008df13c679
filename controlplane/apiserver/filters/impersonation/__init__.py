"""Acting as somebody else: the headers that ask for it, the ways it may be allowed, and the filter."""

from controlplane.apiserver.filters.impersonation.filter import IMPERSONATION, Impersonation, with_impersonation

__all__ = ["IMPERSONATION", "Impersonation", "with_impersonation"]
