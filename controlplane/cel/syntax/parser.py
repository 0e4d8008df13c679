"""From source to syntax tree: a hand-written parser by precedence, linear in the source.

Limits: the source's length, and the depth of nesting and of chains (``a.b.c``, ``a + b + c``), as cel-go has them. The
syntax errors have ANTLR's wording, and it goes on after them as ANTLR does: where one token is too much, or an operand
is missing.

Source: google/cel-go ``parser/parser.go``, ``parser/gen/CEL.g4``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from controlplane.cel.ast import Call, Const, Expr, Field, Ident, ListExpr, MapEntry, MapExpr, Select, StructExpr
from controlplane.cel.errors import MAX_ISSUES, CompileError, Issues
from controlplane.cel.macros import Factory, Macro, MacroError
from controlplane.cel.syntax.lexer import END, Token, scan
from controlplane.cel.syntax.literals import (
    LiteralError,
    bytes_value,
    float_value,
    int_value,
    string_value,
    uint_value,
)

__all__ = ["MAX_CODE_POINTS", "macro_table", "parse"]

MAX_CODE_POINTS = 100_000
TOKEN_SIZE = 20
"""Code points that a token counts for at least: it takes a hundredth of a millisecond to compile, a few letters of a
text or of a comment take nothing."""
MAX_DEPTH = 250
"""Of nesting, and of one chain of operators or selections."""
_TOO_DEEP = f"expression recursion limit exceeded: {MAX_DEPTH}"
MAX_COPIES = 100_000
"""Nodes that macros may copy: each ``optMap`` doubles its target."""

_RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"}
    | {"namespace", "null", "package", "return", "true", "var", "void", "while"}
)
_LOGICAL = 2
_BINARY = {
    "||": (1, "_||_"),
    "&&": (_LOGICAL, "_&&_"),
    "<": (3, "_<_"),
    "<=": (3, "_<=_"),
    ">=": (3, "_>=_"),
    ">": (3, "_>_"),
    "==": (3, "_==_"),
    "!=": (3, "_!=_"),
    "in": (3, "@in"),
    "+": (4, "_+_"),
    "-": (4, "_-_"),
    "*": (5, "_*_"),
    "/": (5, "_/_"),
    "%": (5, "_%_"),
}
"""Binary operators: how strongly they bind, and their functions. All of them associate to the left."""
_AFTER_OPERAND = frozenset({".", "[", "?", ":", ",", ")", "]", "}"})
_NUMBERS_AND_NAMES = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_EXPRESSION = "{'[', '{', '(', '.', '-', '!', " + _NUMBERS_AND_NAMES
_ARGUMENTS = "{'[', '{', '(', ')', '.', '-', '!', " + _NUMBERS_AND_NAMES
_INDEX_START = "{'[', '{', '(', '.', '-', '!', '?', " + _NUMBERS_AND_NAMES
_LIST_START = "{'[', ']', '{', '(', '.', ',', '-', '!', '?', " + _NUMBERS_AND_NAMES
_MAP_START = "{'[', '{', '}', '(', '.', ',', '-', '!', '?', " + _NUMBERS_AND_NAMES
_STRUCT_START = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
_NAMES = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
_LITERALS: Mapping[str, Callable[[str], object]] = {
    "NUM_INT": int_value,
    "NUM_UINT": uint_value,
    "NUM_FLOAT": float_value,
    "STRING": string_value,
    "BYTES": bytes_value,
}
_CONSTANTS = {"true": True, "false": False, "null": None}
_FIRST = frozenset({*_LITERALS, *_CONSTANTS, "(", "[", "{", "IDENTIFIER", ".", "-", "!"})
"""What an expression may begin with."""
_CLOSING = frozenset({")", "]", "}"})
_GOING_ON = frozenset({*_BINARY, ".", "[", "?"})
"""What may follow an operand, wherever it is."""

MacroTable = Mapping[tuple[str, int | None, bool], Macro]


def macro_table(macros: Iterable[Macro]) -> MacroTable:
    """Macros by name, number of arguments and style."""
    return {(macro.name, macro.arguments, macro.receiver): macro for macro in macros}


def parse(source: str, macros: MacroTable, *, optional_syntax: bool = True) -> Expr:
    """The tree of an expression.

    Raises:
        CompileError.
    """
    if len(source) > MAX_CODE_POINTS:
        raise _too_long(source, len(source))
    most = MAX_CODE_POINTS // TOKEN_SIZE + 1
    tokens, unknown = scan(source, most)
    parser = _Parser(source, tokens, unknown, macros, optional_syntax=optional_syntax)
    if len(tokens) + len(unknown) <= most:
        return parser.parse()
    with suppress(CompileError):
        parser.parse()
    raise parser.issues.error() if parser.too_deep else _too_long(source, most * TOKEN_SIZE)


def _too_long(source: str, size: int) -> CompileError:
    issues = Issues(source)
    issues.add(-1, f"expression code point size exceeds limit: size: {size}, limit {MAX_CODE_POINTS}")
    return issues.error()


class _Stop(Exception):
    """The source cannot be read on; the issue is recorded."""


class _Parser:
    def __init__(
        self,
        source: str,
        tokens: list[Token],
        unknown: list[tuple[int, str]],
        macros: MacroTable,
        *,
        optional_syntax: bool,
    ) -> None:
        self.source = source
        self.tokens = tokens
        self.unknown = unknown
        self.ends: list[frozenset[str]] = [frozenset({END})]
        """What may end the expression that is being read, and those around it."""
        self.index = 0
        self.token = self.tokens[0]
        self.depth = 0
        self.recovering = False
        """Since the last syntax error nothing has been as expected: no further one is reported."""
        self.too_deep = False
        self.macros = macros
        self.optional_syntax = optional_syntax
        self.copies = MAX_COPIES
        self.issues = Issues(source)
        for position, text in unknown[:MAX_ISSUES]:
            self.issues.add(position, f"Syntax error: token recognition error at: '{text}'")
        if len(unknown) > MAX_ISSUES:
            self.issues.add(unknown[MAX_ISSUES][0], f"Syntax error: More than {MAX_ISSUES} syntax errors")

    def parse(self) -> Expr:
        expr: Expr | None = None
        try:
            expr = self._expression()
            if self.token.kind != END:
                word = "extraneous" if self.tokens[self.index + 1].kind == END else "mismatched"
                raise self._syntax_error(f"{word} input {self._quoted()} expecting <EOF>")
        except _Stop:
            pass
        except RecursionError:
            self._too_deep()
        if self.issues or expr is None:
            raise self.issues.error()
        return expr

    # Issues

    def _syntax_error(self, message: str) -> _Stop:
        if not self.recovering:
            self.issues.add(self.token.position, f"Syntax error: {message}")
        self.recovering = True
        return _Stop()

    def _skip(self, message: str) -> None:
        """Report a token that is too much, and go on after it."""
        self._syntax_error(message)
        self._advance()

    def _recover(self, message: str, position: int) -> Expr:
        """Report that an operand is missing, and go on with the next, or with what may follow one."""
        self._syntax_error(message)
        while self.token.kind != END and self.token.kind not in _BINARY and self.token.kind not in _AFTER_OPERAND:
            if self.token.kind in _FIRST:
                return self._member()
            self._advance()
        return Const(position, value=None)

    def _quoted(self) -> str:
        return f"'{self.token.text}'"

    def _no_alternative(self, since: Token) -> _Stop:
        """Nothing begins with the tokens from ``since`` to the present one; the message has them and what is between
        them, without what is no token."""
        stop = len(self.source) if self.token.kind == END else self.token.position + len(self.token.text)
        text, position = "", since.position
        for start, unknown in self.unknown:
            if position <= start < stop:
                text += self.source[position:start]
                position = start + len(unknown)
        text += self.source[position:stop]
        shown = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        return self._syntax_error(f"no viable alternative at input '{shown}'")

    def _check(self, kinds: frozenset[str], wanted: str) -> None:
        """One of these must come; a token before it is passed over."""
        if self.token.kind in kinds:
            return
        message = f"input {self._quoted()} expecting {wanted}"
        if self._following() not in kinds:
            raise self._syntax_error(f"mismatched {message}")
        self._skip(f"extraneous {message}")

    def _following(self) -> str:
        return self.tokens[self.index + 1].kind if self.token.kind != END else END

    def _too_deep(self) -> _Stop:
        self.too_deep = True
        self.issues.add(-1, _TOO_DEEP)
        return _Stop()

    # Tokens

    def _advance(self) -> Token:
        token = self.token
        self.index += 1
        self.token = self.tokens[self.index]
        return token

    def _accept(self, kind: str) -> Token | None:
        if self.token.kind != kind:
            return None
        self.recovering = False
        return self._advance()

    def _expect(self, kind: str) -> Token:
        if self.token.kind == kind:
            self.recovering = False
            return self._advance()
        wanted = f"'{kind}'" if not kind.isupper() else kind
        message = f"input {self._quoted()} expecting {wanted}"
        if self._following() == kind:
            self._skip(f"extraneous {message}")
            return self._expect(kind)
        after = _FIRST if kind == ":" else _GOING_ON | self.ends[-1] if kind in _CLOSING else ()
        if self.token.kind not in after:
            raise self._syntax_error(f"mismatched {message}")
        self._syntax_error(f"missing {wanted} at {self._quoted()}")
        return Token(kind, "", self.token.position)

    # Grammar

    def _within(self, *ends: str) -> Expr:
        """An expression that one of these tokens ends."""
        self.ends.append(frozenset(ends))
        expr = self._expression()
        self.ends.pop()
        return expr

    def _expression(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._too_deep()
        expr = self._binary()
        question = self._accept("?")
        if question:
            self.ends.append(frozenset({":"}))
            yes = self._binary()
            self.ends.pop()
            self._expect(":")
            expr = self._call(question.position, "_?_:_", [expr, yes, self._expression()])
        self.depth -= 1
        return expr

    def _binary(self) -> Expr:
        """Operands and binary operators, by precedence; without recursion, so that depth is left for nesting."""
        operands = [self._operand()]
        pending: list[tuple[int, str, int]] = []
        chain = 0
        while (operator := _BINARY.get(self.token.kind)) is not None:
            precedence, function = operator
            chain = 0 if precedence <= _LOGICAL else chain + 1
            if chain > MAX_DEPTH:
                raise self._too_deep()
            while pending and pending[-1][0] >= precedence:
                self._join(operands, pending.pop())
            self.recovering = False
            pending.append((precedence, function, self._advance().position))
            operands.append(self._operand())
        while pending:
            self._join(operands, pending.pop())
        return operands[0]

    def _join(self, operands: list[Expr], operator: tuple[int, str, int]) -> None:
        precedence, function, position = operator
        right = operands.pop()
        left = operands[-1]
        if precedence <= _LOGICAL and isinstance(left, Call) and left.function == function:
            left.args.append(right)  # a chain of && or || is one call
        else:
            operands[-1] = self._call(position, function, [left, right])

    def _operand(self) -> Expr:
        kind = self.token.kind
        if kind not in ("-", "!") or (kind == "-" and self._next_is_number()):
            return self._member()
        last = self.token
        position = last.position
        count = 0
        while self.token.kind == kind:
            last = self._advance()
            count += 1
        if self.token.kind not in _FIRST:
            if kind == "!":
                return self._recover(f"extraneous input {self._quoted()} expecting {_EXPRESSION}", position)
            self._no_alternative(last)
            self.recovering = False
        operand = self._member()
        if count % 2 == 0:
            return operand
        return self._call(position, "-_" if kind == "-" else "!_", [operand])

    def _next_is_number(self) -> bool:
        return self.tokens[self.index + 1].kind in ("NUM_INT", "NUM_FLOAT")

    def _member(self) -> Expr:
        if self._accept("("):
            expr = self._within(")")
            self._expect(")")
        else:
            expr = self._primary()
        length = 0
        while self.token.kind in (".", "["):
            length += 1
            if length > MAX_DEPTH:
                raise self._too_deep()
            operator = self._advance()
            if operator.kind == "[":
                self._check(_FIRST | {"?"}, _INDEX_START)
            optional = self._accept("?")
            if optional and not self.optional_syntax:
                self.issues.add(operator.position, f"unsupported syntax '{operator.text}?'")
            if operator.kind == "[":
                index = self._within("]")
                self._expect("]")
                expr = self._call(operator.position, "_[?_]" if optional else "_[_]", [expr, index])
            else:
                expr = self._selection(expr, operator, optional=optional is not None)
        return expr

    def _selection(self, operand: Expr, dot: Token, *, optional: bool) -> Expr:
        if optional:
            self._check(_NAMES, "{IDENTIFIER, ESC_IDENTIFIER}")
        elif self.token.kind not in _NAMES:
            if self.token.kind in _CONSTANTS and self.token.position == dot.position + 1:
                raise self._syntax_error(f"mismatched input {self._quoted()} expecting IDENTIFIER")
            raise self._no_alternative(dot)
        self.recovering = False
        name = self._advance()
        field = name.text.strip("`")
        if optional:
            return Call(dot.position, "_?._", [operand, Const(name.position, field)])
        if name.kind == "IDENTIFIER" and self.token.kind == "(":
            opening = self._advance().position
            return self._call(opening, name.text, self._arguments(), operand)
        return Select(dot.position, operand, field)

    def _arguments(self) -> list[Expr]:
        self._check(_FIRST | {")"}, _ARGUMENTS)
        if self._accept(")"):
            return []
        args = [self._within(")", ",")]
        while self._accept(","):
            args.append(self._within(")", ","))
        self._expect(")")
        return args

    def _primary(self) -> Expr:
        token = self.token
        kind = token.kind
        if kind in _LITERALS or (kind == "-" and self._next_is_number()):
            return self._literal()
        if kind in ("-", "!"):
            before = self._advance()
            raise self._no_alternative(before)
        if kind in _CONSTANTS:
            self._accept(kind)
            return Const(token.position, _CONSTANTS[kind])
        if kind == "[":
            return self._list()
        if kind == "{":
            return self._map()
        if kind in ("IDENTIFIER", "."):
            return self._name()
        begins = self._following() in _FIRST
        message = f"{'extraneous' if begins else 'mismatched'} input {self._quoted()} expecting {_EXPRESSION}"
        if not begins:
            return self._recover(message, token.position)
        self._skip(message)
        return self._operand()

    def _literal(self) -> Expr:
        sign = self._accept("-")
        token = self._advance()
        self.recovering = False
        position = sign.position if sign else token.position
        try:
            return Const(position, _LITERALS[token.kind](("-" if sign else "") + token.text))
        except LiteralError as error:
            self.issues.add(position, str(error))
            return Const(position, value=None)

    def _name(self) -> Expr:
        dot = self._accept(".")
        if dot and self.token.kind != "IDENTIFIER":
            raise self._no_alternative(dot)
        start = self.index
        token = self._expect("IDENTIFIER")
        end = self.index
        while self.tokens[end].kind == "." and self.tokens[end + 1].kind == "IDENTIFIER":
            end += 2
        prefix = "." if dot else ""
        if self.tokens[end].kind == "{":
            name = prefix + "".join(part.text for part in self.tokens[start:end])
            self.index, self.token = end, self.tokens[end]
            return self._struct(name)
        self.recovering = False
        if token.text in _RESERVED:
            self.issues.add((dot or token).position, f"reserved identifier: {token.text}")
        if self.token.kind == "(":
            opening = self._advance().position
            return self._call(opening, prefix + token.text, self._arguments())
        return Ident(token.position, prefix + token.text)

    def _list(self) -> Expr:
        position = self._advance().position
        items: list[Expr] = []
        optional: set[int] = set()
        self._check(_FIRST | {"]", ",", "?"}, _LIST_START)
        while self._another("]", _FIRST, first=not items):
            if self._optional_mark():
                optional.add(len(items))
            items.append(self._within("]", ","))
        return ListExpr(position, items, frozenset(optional))

    def _map(self) -> Expr:
        position = self._advance().position
        entries: list[MapEntry] = []
        self._check(_FIRST | {"}", ",", "?"}, _MAP_START)
        while self._another("}", _FIRST, first=not entries):
            optional = self._optional_mark()
            key = self._within(":")
            colon = self._expect(":").position
            entries.append(MapEntry(colon, key, self._within("}", ","), optional=optional))
        return MapExpr(position, entries)

    def _struct(self, name: str) -> Expr:
        position = self._advance().position
        fields: list[Field] = []
        self._check(_NAMES | {"}", ",", "?"}, _STRUCT_START)
        while self._another("}", _NAMES, first=not fields):
            optional = self._optional_mark()
            self._check(_NAMES, "{IDENTIFIER, ESC_IDENTIFIER}")
            self.recovering = False
            field = self._advance().text.strip("`")
            colon = self._expect(":").position
            fields.append(Field(colon, field, self._within("}", ","), optional=optional))
        return StructExpr(position, name, fields)

    def _another(self, closing: str, begins: frozenset[str], *, first: bool) -> bool:
        """Whether one more item is there; what comes after the last one has been read."""
        if first and self.token.kind != ",":
            return self._accept(closing) is None
        self._check(frozenset({closing, ","}), f"{{'{closing}', ','}}")
        if self._accept(closing):
            return False
        self._expect(",")
        if not first and (self.token.kind in begins or self.token.kind == "?"):
            return True
        self._expect(closing)
        return False

    def _optional_mark(self) -> bool:
        mark = self._accept("?")
        if mark and not self.optional_syntax:
            self.issues.add(mark.position, "unsupported syntax '?'")
        return mark is not None

    # Macros

    def _call(self, position: int, function: str, args: list[Expr], target: Expr | None = None) -> Expr:
        receiver = target is not None
        macro = self.macros.get((function, len(args), receiver)) or self.macros.get((function, None, receiver))
        if macro is None:
            return Call(position, function, args, target)
        factory = Factory(position, self.copies)
        try:
            expanded = macro.expand(factory, target, args)
        except MacroError as error:
            self.issues.add(error.position, str(error))
            expanded = Const(position, value=None)
        self.copies = factory.copies_left
        return expanded if expanded is not None else Call(position, function, args, target)
