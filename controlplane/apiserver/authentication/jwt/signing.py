"""What tokens of other issuers may be signed with.

Source: kubernetes/apiserver ``plugin/pkg/authenticator/token/oidc`` (allowedSigningAlgs).
"""

from __future__ import annotations

__all__ = ["ALGORITHMS"]

ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
"""Never a symmetric one: whoever can verify such a token can make it."""
