"""CEL in an AuthenticationConfiguration: what claims mean, and what must be true of claims and users.

Imported only where there is an expression.

Source: kubernetes/apiserver ``pkg/authentication/cel`` and ``plugin/pkg/authenticator/token/oidc`` (their texts).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from controlplane.apimachinery.schema.rules.escaping import unescaped
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.apiserver.authentication.jwt.config import ClaimRule, JWTConfig
from controlplane.cel import ast
from controlplane.cel.check.validators import walk
from controlplane.cel.environment import Environment, FieldDeclaration
from controlplane.cel.errors import CompileError, CostExceeded, EvalError
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.program import Program, ProgramError, compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import BOOL, DYN, STRING, Type, list_of, map_of, object_type
from controlplane.cel.values import Value

__all__ = ["Expressions", "expression_problem", "expressions_of", "forgets_verified_email"]

COST_LIMIT = 10_000_000
"""Of one evaluation, so that no token holds the loop; as much as a rule of a custom resource may cost."""

_LOOKUPS = frozenset({"_[_]", "_?._", "_[?_]"})
_USER = "kubernetes.UserInfo"
_EXTRA_VALUES = "expression must return a string or a list of strings"


class _UserType:
    """The type of ``user``."""

    _FIELDS = {  # noqa: RUF012  # never changed
        "username": FieldDeclaration("username", STRING),
        "uid": FieldDeclaration("uid", STRING),
        "groups": FieldDeclaration("groups", list_of(STRING)),
        "extra": FieldDeclaration("extra", map_of(STRING, list_of(STRING))),
    }

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        """See ``Provider``."""
        return self._FIELDS.get(field) if type_name == _USER else None

    def type(self, name: str) -> Type | None:
        """See ``Provider``."""
        return object_type(_USER) if name == _USER else None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        """See ``Provider``."""
        del type_name
        return fields


@cache
def _environment(variable: str) -> Environment:
    """``claims`` or ``user``, and all that Kubernetes' expressions have."""
    if variable == "user":
        return Environment([STANDARD, *libraries()], variables={"user": object_type(_USER)}, provider=_UserType())
    return Environment([STANDARD, *libraries()], variables={"claims": map_of(STRING, DYN)})


@lru_cache(maxsize=1024)
def _compiled(source: str, variable: str) -> Program:
    program = compile_expression(source, _environment(variable))
    for expr in walk(program.expr):
        _name_meant(expr)
    return program


def _name_meant(expr: ast.Expr) -> None:
    """Look for what a name stands for (``a.b`` for ``a__dot__b``), since claims and extra keys have any characters."""
    if isinstance(expr, ast.Select):
        expr.field = unescaped(expr.field) or expr.field
    elif isinstance(expr, ast.Call) and expr.function in _LOOKUPS:
        key = expr.args[-1]
        if isinstance(key, ast.Const) and isinstance(key.value, str):
            key.value = unescaped(key.value) or key.value


def expression_problem(source: str, *, of_user: bool = False, condition: bool = False) -> str:
    """What is wrong with an expression; ``""``: nothing. ``condition``: it must be true or false."""
    try:
        program = _compiled(source, "user" if of_user else "claims")
    except CompileError as error:
        return f"compilation failed: {error}"
    except ProgramError as error:
        return f"program instantiation failed: {error}"
    return "must evaluate to bool" if condition and program.type != BOOL else ""


def forgets_verified_email(config: JWTConfig) -> bool:
    """Whether an e-mail address is made the user's name, and nothing asks whether it is verified."""
    name = config.mappings.username.expression
    if not name or not _selects(name, "email"):
        return False
    others = [name, *(extra.value_expression for extra in config.mappings.extra)]
    rules = [rule.expression for rule in config.claim_rules]
    # a rule that can never hold or fail asks nothing
    others += [source for source in rules if source and not expression_problem(source, condition=True)]
    return not any(_selects(source, "email_verified") for source in others if source)


class Expressions(NamedTuple):
    """The compiled expressions of one issuer; None where there is none."""

    username: Program | None
    groups: Program | None
    uid: Program | None
    extra: tuple[tuple[str, Program], ...]
    claim_rules: tuple[tuple[ClaimRule, Program], ...]
    user_rules: tuple[tuple[ClaimRule, Program], ...]

    def username_of(self, claims: dict[str, Any]) -> str:
        """Raises BadCredentials: the expression gives none."""
        assert self.username is not None
        name = _one(self.username, claims, "username")
        if not name:
            raise BadCredentials("oidc: empty username via CEL expression is not allowed")
        return name

    def uid_of(self, claims: dict[str, Any]) -> str:
        """Raises BadCredentials."""
        assert self.uid is not None
        return _one(self.uid, claims, "uid")

    def groups_of(self, claims: dict[str, Any]) -> tuple[str, ...]:
        """Raises BadCredentials."""
        assert self.groups is not None
        what = "oidc: error evaluating group claim expression"
        value = _evaluate(self.groups, claims, what)
        return _texts(value, what)

    def extra_of(self, claims: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """Those that have a value. Raises BadCredentials."""
        found: dict[str, tuple[str, ...]] = {}
        for key, program in self.extra:
            values = _texts(
                _evaluate(program, claims, ""), f"oidc: error evaluating extra claim expression: {program.source}"
            )
            if values:
                found[key] = values
        return found

    def check_claims(self, claims: dict[str, Any]) -> None:
        """Raises BadCredentials: a rule is not true of the claims."""
        _check(self.claim_rules, claims, "oidc: error evaluating claim validation expression")

    def check_user(self, user: UserInfo) -> None:
        """Raises BadCredentials: a rule is not true of the user."""
        if self.user_rules:
            value = {
                "username": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(values) for key, values in user.extra.items()},
            }
            _check(self.user_rules, value, "oidc: error evaluating user info validation rule")


@lru_cache(maxsize=256)
def expressions_of(config: JWTConfig) -> Expressions:
    """The expressions of a configuration that is valid."""
    mappings = config.mappings

    def program(source: str, variable: str = "claims") -> Program | None:
        return _compiled(source, variable) if source else None

    return Expressions(
        username=program(mappings.username.expression),
        groups=program(mappings.groups.expression),
        uid=program(mappings.uid.expression),
        extra=tuple((extra.key, _compiled(extra.value_expression, "claims")) for extra in mappings.extra),
        claim_rules=tuple(
            (rule, _compiled(rule.expression, "claims")) for rule in config.claim_rules if rule.expression
        ),
        user_rules=tuple((rule, _compiled(rule.expression, "user")) for rule in config.user_rules),
    )


def _evaluate(program: Program, value: Value, what: str) -> Value:
    try:
        return program.run(COST_LIMIT, value)[0]
    except (EvalError, CostExceeded) as error:
        text = f"expression '{program.source}' resulted in error: {error}"
        raise BadCredentials(f"{what}: {text}" if what else text) from error


def _one(program: Program, claims: dict[str, Any], name: str) -> str:
    what = f"oidc: error evaluating {name} claim expression"
    value = _evaluate(program, claims, what)
    if not isinstance(value, str):
        raise BadCredentials(f"{what}: {name} claim expression must return a string")
    return value


def _texts(value: Value, what: str) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if values is None:
        return ()
    if not isinstance(values, (list, tuple)) or not all(isinstance(one, str) for one in values):
        raise BadCredentials(f"{what}: {_EXTRA_VALUES}")
    return tuple(one for one in values if one)


def _check(rules: Sequence[tuple[ClaimRule, Program]], value: Value, what: str) -> None:
    for rule, program in rules:
        verdict = _evaluate(program, value, what)
        if verdict is not True:
            raise BadCredentials(f"{what}: validation expression '{rule.expression}' failed: {rule.message}")


def _selects(source: str, field: str) -> bool:
    """Whether an expression that compiles reads a claim by its name."""
    try:
        expr = _compiled(source, "claims").expr
    except (CompileError, ProgramError):
        return False
    return any(_is_claim(one, field) for one in walk(expr))


def _is_claim(expr: ast.Expr, field: str) -> bool:
    if isinstance(expr, ast.Select):
        return expr.field == field and isinstance(expr.operand, ast.Ident) and expr.operand.name == "claims"
    if isinstance(expr, ast.Call) and expr.function == "_?._" and len(expr.args) == 2:
        of, named = expr.args
        return (
            isinstance(of, ast.Ident) and of.name == "claims" and isinstance(named, ast.Const) and named.value == field
        )
    return False
