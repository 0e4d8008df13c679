"""Read an AuthorizationConfiguration from YAML or JSON, strictly, and say all that is wrong with it.

Source: kubernetes/apiserver ``pkg/apis/apiserver`` (field names, defaults) and its ``validation`` (texts).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from controlplane.apimachinery.codec.parts import ConfigurationError, Part, read_document
from controlplane.apimachinery.validation.field import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from controlplane.apimachinery.validation.names import dns1123_subdomain
from controlplane.base.options import format_duration, parse_duration
from controlplane.plugins.authorization.webhook.config import AuthorizerConfig, WebhookConfig

__all__ = ["ReadAuthorizers", "read_authorizers"]

KIND = "AuthorizationConfiguration"
GROUP = "apiserver.config.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
WEBHOOK = "Webhook"
LONGEST_TIMEOUT_SECONDS = 30.0
CONDITIONS_LIMIT = 64
AUTHORIZED_SECONDS, UNAUTHORIZED_SECONDS = 300.0, 30.0

ReadAuthorizers = tuple[tuple[AuthorizerConfig, ...], bytes]
"""The authorizers in order, and the bytes that they are from."""


def read_authorizers(file: str, known: Sequence[str]) -> ReadAuthorizers:
    """Read and validate a file. ``known``: the types that there are. Blocks.

    Raises:
        ConfigurationError: it cannot be used; the message names it.
    """
    try:
        content = Path(file).read_bytes()
        return _read(content, known), content
    except OSError as error:
        raise ConfigurationError(f"--authorization-config: {file}: {error.strerror or error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"--authorization-config: {file}: {error}") from error


def _read(content: bytes, known: Sequence[str]) -> tuple[AuthorizerConfig, ...]:
    whole = read_document(content, KIND, [f"{GROUP}/{version}" for version in VERSIONS])
    errors: list[FieldError] = []
    authorizers: list[AuthorizerConfig] = []
    parts = whole.parts("authorizers")
    if not parts:
        errors.append(required("authorizers", "at least one authorization mode must be defined"))
    for at, part in enumerate(parts):
        read = _Authorizer(part, f"authorizers[{at}]", known, authorizers)
        errors += read.errors
        authorizers.append(read.config)
    whole.done()
    if errors:
        texts = list(dict.fromkeys(map(str, errors)))
        raise ConfigurationError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return tuple(authorizers)


class _Authorizer:
    """One entry: ``config`` and what is wrong with it, ``errors``."""

    def __init__(self, part: Part, path: str, known: Sequence[str], before: Sequence[AuthorizerConfig]) -> None:
        self._path = path
        kind, name = part.text("type"), part.text("name")
        has_webhook = part.has("webhook")
        webhook, problems = _webhook(part.part("webhook"), path) if has_webhook else (None, [])
        part.done()
        self.config = AuthorizerConfig(type=kind, name=name, webhook=webhook)
        self.errors = list(self._problems(known, before))
        if not self.errors or kind == WEBHOOK:
            if kind == WEBHOOK and webhook is None:
                self.errors.append(required(f"{path}.webhook", "required when type=Webhook"))
            elif kind == WEBHOOK:
                self.errors += problems
            elif has_webhook:
                self.errors.append(invalid(f"{path}.webhook", "non-null", "may only be specified when type=Webhook"))

    def _problems(self, known: Sequence[str], before: Sequence[AuthorizerConfig]) -> Iterator[FieldError]:
        kind, name, path = self.config.type, self.config.name, self._path
        if not kind:
            yield required(f"{path}.type")
            return
        if kind not in known:
            yield not_supported(f"{path}.type", kind, sorted(known))
            return
        if kind != WEBHOOK and kind in {other.type for other in before}:
            yield duplicate(f"{path}.type", kind)
            return
        if not name:
            yield required(f"{path}.name")
        elif name in {other.name for other in before}:
            yield duplicate(f"{path}.name", name)
        elif problems := dns1123_subdomain(name):
            yield invalid(f"{path}.name", name, f"authorizer name is invalid: {', '.join(problems)}")


def _webhook(part: Part, path: str) -> tuple[WebhookConfig, list[FieldError]]:
    errors: list[FieldError] = []
    connection = part.part("connectionInfo")
    kubeconfig = connection.text("kubeConfigFile")
    errors += _connection_problems(connection.text("type"), kubeconfig, f"{path}.connectionInfo")
    connection.done()
    timeout = _seconds(part, "timeout", path, errors, default=0.0)
    if not timeout:
        errors.append(required(f"{path}.timeout"))
    elif not 0 < timeout <= LONGEST_TIMEOUT_SECONDS:
        errors.append(invalid(f"{path}.timeout", format_duration(timeout), "must be > 0s and <= 30s"))
    lives = {}
    for name, default in (("authorizedTTL", AUTHORIZED_SECONDS), ("unauthorizedTTL", UNAUTHORIZED_SECONDS)):
        lives[name] = _seconds(part, name, path, errors, default=default) or default
        if lives[name] < 0:
            errors.append(invalid(f"{path}.{name}", format_duration(lives[name]), "must be > 0s"))
    caches = {
        name: part.flag(name) if part.has(name) else True
        for name in ("cacheAuthorizedRequests", "cacheUnauthorizedRequests")
    }
    version = part.text("subjectAccessReviewVersion")
    errors += _choice(version, f"{path}.subjectAccessReviewVersion", ["v1", "v1beta1"])
    conditions = [_condition(condition) for condition in part.parts("matchConditions")]
    of_conditions = part.text("matchConditionSubjectAccessReviewVersion")
    at = f"{path}.matchConditionSubjectAccessReviewVersion"
    if of_conditions:
        errors += _choice(of_conditions, at, ["v1"])
    elif conditions:
        errors.append(required(at, "required if match conditions are specified"))
    policy = part.text("failurePolicy")
    errors += _choice(policy, f"{path}.failurePolicy", ["NoOpinion", "Deny"])
    errors += _condition_problems(conditions, f"{path}.matchConditions")
    part.done()
    config = WebhookConfig(
        kubeconfig_file=kubeconfig,
        version=version,
        authorized_seconds=lives["authorizedTTL"],
        unauthorized_seconds=lives["unauthorizedTTL"],
        caches_authorized=caches["cacheAuthorizedRequests"],
        caches_unauthorized=caches["cacheUnauthorizedRequests"],
        timeout_seconds=timeout,
        denies_on_failure=policy == "Deny",
        match_conditions=tuple(conditions),
    )
    return config, errors


def _condition(part: Part) -> str:
    expression = part.text("expression")
    part.done()
    return expression


def _connection_problems(kind: str, kubeconfig: str, path: str) -> Iterator[FieldError]:
    at = f"{path}.kubeConfigFile"
    if not kind:
        yield required(f"{path}.type")
    elif kind != "KubeConfigFile":  # there is no pod that this server would run in
        yield not_supported(f"{path}.type", kind, ["KubeConfigFile"])
    elif not kubeconfig:
        yield required(at)
    elif not Path(kubeconfig).is_absolute():
        yield invalid(at, kubeconfig, "must be an absolute path")
    elif not Path(kubeconfig).exists():
        yield invalid(at, kubeconfig, f"error loading file: stat {kubeconfig}: no such file or directory")
    elif not Path(kubeconfig).is_file():
        yield invalid(at, kubeconfig, "must be a regular file")


def _choice(value: str, path: str, allowed: list[str]) -> list[FieldError]:
    if not value:
        return [required(path)]
    return [] if value in allowed else [not_supported(path, value, allowed)]


def _seconds(part: Part, name: str, path: str, errors: list[FieldError], *, default: float) -> float:
    text = part.text(name)
    if not text:
        return default
    sign, unsigned = (-1, text[1:]) if text.startswith("-") else (1, text)
    try:
        return sign * parse_duration(unsigned)
    except ValueError as error:
        errors.append(invalid(f"{path}.{name}", text, str(error)))
        return default


def _condition_problems(expressions: Sequence[str], path: str) -> list[FieldError]:
    if len(expressions) > CONDITIONS_LIMIT:
        return [too_many(path, len(expressions), CONDITIONS_LIMIT)]
    if not expressions:
        return []
    from controlplane.plugins.authorization.webhook.conditions import condition_problem  # late: CEL

    errors: list[FieldError] = []
    for number, expression in enumerate(expressions):
        at = f"{path}[{number}].expression"
        if not expression.strip():
            errors.append(required(at))
        elif expression in expressions[:number]:
            errors.append(duplicate(at, expression))
        elif problem := condition_problem(expression):
            errors.append(invalid(at, expression, problem))
    return errors
