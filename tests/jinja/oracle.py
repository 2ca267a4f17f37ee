"""Writes random templates, their variables and what Jinja2 makes of them, as JSON on the standard output: an
object with the "vars" of all (a string of JSON, for the sake of its large numbers) and "records", each of a "template" and either "text" or "error".

    python3 oracle.py [--seed N] [--count N]

The environment has the settings that chat templates are written for. Exits with 77 when the package jinja2 is absent.
"""

import argparse
import json
import random
import sys

try:
    from jinja2.exceptions import TemplateError, TemplateSyntaxError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    print(f"jinja2 is absent: {error}", file=sys.stderr)
    sys.exit(77)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise TemplateError(message)


def make_environment():
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment


VARIABLES = {
    "s": " Hello, wörld! \n",
    "t": "a-b-c",
    "u": "",
    "v": "ΑΣ ǆ straße <b>'x'</b> \"q\" 🙂 x\ty",
    "w": "one two  three\nfour\r\nfive\u2028six",
    "n": 3,
    "m": -7,
    "z": 0,
    "big": 123456789012345678901234567890,
    "f": 2.5,
    "g": -0.125,
    "h": 1e22,
    "yes": True,
    "no": False,
    "nil": None,
    "xs": [3, 1, 2],
    "ys": ["b", "A", "c", "a"],
    "mixed": [1, "1", 1.0, True, None, [], {"k": []}],
    "empty": [],
    "d": {"b": 1, "a": [1, 2], "C": "x", "items": 5, "é": None},
    "e": {},
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Hi <there> \n", "n": 2},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!", "n": 1, "tool": {"name": "f"}},
        {"role": "user", "content": "Bye", "n": 2},
    ],
    "tree": [{"name": "a", "sub": [{"name": "b", "sub": []}, {"name": "c", "sub": [{"name": "d", "sub": []}]}]}],
}

NAMES = {
    "str": ["s", "t", "u", "v", "w"],
    "int": ["n", "m", "z"],
    "float": ["f", "g", "h"],
    "bool": ["yes", "no"],
    "list": ["xs", "ys", "mixed", "empty", "messages"],
    "dict": ["d", "e", "messages[0]", "messages[2]", "tree[0]"],
    "none": ["nil"],
    "undefined": ["nope", "d.nope", "messages[9]", "s.nope"],
}
TYPES = ["str", "int", "float", "bool", "list", "dict"]


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.locals = []  # names of any type, set by enclosing statements
        self.loops = 0
        self.has_namespace = False
        self.macros = []

    def pick(self, *options):
        return self.rng.choice(options)

    # ---- Expressions ----

    def any(self, depth):
        return self.expression(self.rng.choice(TYPES), depth)

    def expression(self, kind, depth):
        roll = self.rng.random()
        if roll < 0.006:
            kind = self.rng.choice(TYPES)  # often an error: so is ours to be
        elif roll < 0.012:
            return self.pick(*NAMES["undefined"])
        elif roll < 0.018:
            return self.pick("nil", "big", "none")
        elif roll < 0.06 and self.locals:
            return self.rng.choice(self.locals)
        if depth <= 0:
            return self.leaf(kind)
        if roll < 0.2:
            return f"({self.expression(kind, depth - 1)} if {self.boolean(depth - 1)} else {self.expression(kind, depth - 1)})"
        if roll < 0.23:
            return f"({self.any(depth - 1)} {self.pick('and', 'or')} {self.expression(kind, depth - 1)})"
        return {
            "str": self.string,
            "int": self.integer,
            "float": self.real,
            "bool": self.boolean,
            "list": self.list,
            "dict": self.dict,
        }[kind](depth - 1)

    def leaf(self, kind):
        if self.rng.random() < 0.5:
            return self.pick(*NAMES[kind])
        return {
            "str": lambda: self.pick("'a'", '"b"', "'x y'", "''", "'\\n'", "'it\\'s'", "'é'", "'-'", "'<&>'", "'a' 'b'"),
            "int": lambda: self.pick("0", "1", "2", "-3", "10", "1_000", "0x1F", "0b101", "0o17"),
            "float": lambda: self.pick("0.5", "1.0", "2.675", "1e3", "1e16", "1.5e-7", "-2.5"),
            "bool": lambda: self.pick("true", "False"),
            "list": lambda: self.pick("[]", "[1, 2, 3]", "['a', 'b']", "(1, 2)", "[[1], [2]]", "range(4)", "('x',)"),
            "dict": lambda: self.pick("{}", "{'k': 1}", "{'a': 'b', 'c': [1]}", "dict(x=1)", "{1: 2, none: 3, 1.5: 4}"),
        }[kind]()

    def string(self, depth):
        s = lambda: self.expression("str", depth)
        i = lambda: self.expression("int", depth)
        x = self.rng.randrange(46)
        simple = ["upper", "lower", "title", "capitalize", "trim", "string", "escape", "safe", "e", "reverse", "forceescape"]
        if x == 0:
            return f"({s()} + {s()})"
        if x == 1:
            return f"({self.any(depth)} ~ {self.any(depth)})"
        if x == 2:
            return f"({s()} * {self.pick('0', '1', '2', '-1', 'n')})"
        if x <= 6:
            return f"{s()}|{self.rng.choice(simple)}"
        if x <= 9:
            method = self.pick("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "swapcase")
            return f"({s()}).{method}()"
        if x <= 11:
            return f"({s()}).{self.pick('strip', 'lstrip', 'rstrip')}({self.pick(chr(39) + ' ' + chr(39), s())})"
        if x == 12:
            return f"({s()})[{self.slice(depth)}]"
        if x == 13:
            return f"({s()})[{i()}]"
        if x == 14:
            return f"({s()}).replace({s()}, {s()}{self.pick('', '', ', 1', ', 2')})"
        if x == 15:
            return f"{s()}|replace({s()}, {s()}{self.pick('', '', ', 1')})"
        if x <= 17:
            return f"{self.expression('list', depth)}|join({self.pick('', s())})"
        if x <= 20:
            return f"{self.any(depth)}|tojson{self.pick('', '', '(indent=2)', '(indent=4)', '(sort_keys=true)', '(ensure_ascii=true)')}"
        if x == 21:
            return f"{self.any(depth)}|string"
        if x == 22:
            return f"{self.any(depth)}|default({s()}{self.pick('', ', true')})"
        if x == 23:
            return f"{s()}|indent({self.pick('', '2', 'first=true', '4, true', '2, blank=true', repr('> '))})"
        if x == 24:
            return f"({s()}).split({self.pick('', s())})[{self.pick('0', '-1')}]"
        if x == 25:
            return f"{s()}|truncate({self.pick('4', '5, true', '6, false, u', '3, true, u, 0')})"
        if x == 26:
            return f"({s()}).join({self.expression('list', depth)}|map('string'))"
        if x == 27:
            return f"('%s|%5d|%-4s|%05.1f|%r|%x|%%' % ({self.any(depth)}, {i()}, {s()}, {self.expression('float', depth)}, {self.any(depth)}, {i()}))"
        if x == 28:
            return f"'%s-%s'|format({self.any(depth)}, {self.any(depth)})"
        if x == 29:
            return f"'{{}}/{{!r}}'.format({self.any(depth)}, {s()})"
        if x == 30:
            return f"({s()}).{self.pick('center', 'ljust', 'rjust', 'zfill')}({i()})"
        if x == 31:
            return f"{s()}|center({i()})"
        if x == 32:
            return f"({s()}).{self.pick('removeprefix', 'removesuffix')}({s()})"
        if x == 33:
            return f"{s()}|urlencode"
        if x == 34:
            return f"{self.expression('list', depth)}|first|string"
        if x == 35:
            return f"messages[{self.pick('0', '1', '2', '-1')}]{self.pick('.role', '.content', chr(91) + repr('content') + chr(93), '.get(' + repr('role') + ')')}"
        if x == 36 and self.macros:
            name = self.rng.choice(self.macros)
            return f"{name}({self.pick('', self.any(depth), self.any(depth) + ', ' + self.any(depth), 'b=' + self.any(depth))})"
        if x == 37:
            return f"('<i>'|safe + {s()})"
        if x == 38:
            return f"({s()}|escape).{self.pick('upper()', 'strip()', 'replace(' + s() + ', ' + s() + ')')}"
        if x == 39:
            return f"({s()}|trim).splitlines()|join('|')"
        if x == 40:
            return f"({s()}).{self.pick('partition', 'rpartition')}({s()})|join('+')"
        if x == 41:
            return f"(1.0 * {i()})|string"
        return self.leaf("str")

    def integer(self, depth):
        i = lambda: self.expression("int", depth)
        x = self.rng.randrange(16)
        if x <= 4:
            return f"({i()} {self.pick('+', '-', '*', '//', '%')} {i()})"
        if x == 5:
            return f"(-{i()})"
        if x == 6:
            return f"{self.pick(self.expression('list', depth), self.expression('str', depth), self.expression('dict', depth))}|{self.pick('length', 'count')}"
        if x == 7:
            return f"{self.pick(self.expression('str', depth), self.expression('float', depth), repr('42'), repr(' -7 '), repr('3.9'), repr('0x1f'))}|int{self.pick('', '', '(5)', '(1, 16)')}"
        if x == 8:
            return f"({self.expression('str', depth)}).{self.pick('find', 'rfind', 'count')}({self.expression('str', depth)})"
        if x == 9:
            return f"xs[{i()}]"
        if x == 10:
            return f"{self.pick('xs', '[1, 2, 3]', 'range(5)')}|{self.pick('sum', 'max', 'min', 'first', 'last')}"
        if x == 11:
            return f"{i()}|abs"
        if x == 12:
            return f"({self.pick('2', '3', '-2')} ** {self.pick('0', '1', '3', '5')})"
        if x == 13 and self.loops:
            return f"loop.{self.pick('index', 'index0', 'revindex', 'revindex0', 'length', 'depth', 'depth0')}"
        if x == 14:
            return f"{self.expression('str', depth)}|wordcount"
        return self.leaf("int")

    def real(self, depth):
        f = lambda: self.expression("float", depth)
        x = self.rng.randrange(9)
        if x <= 2:
            return f"({f()} {self.pick('+', '-', '*', '//', '%', '/')} {self.expression(self.pick('float', 'int'), depth)})"
        if x == 3:
            return f"({self.expression('int', depth)} / {self.expression('int', depth)})"
        if x == 4:
            return f"{f()}|round{self.pick('', '(1)', '(2)', '(1, ' + repr('ceil') + ')', '(0, ' + repr('floor') + ')')}"
        if x == 5:
            return f"{self.pick(self.expression('str', depth), self.expression('int', depth), repr('1e5'), repr(' 2.50 '))}|float"
        if x == 6:
            return f"({f()} ** {self.pick('2', '0.5', '-1')})"
        if x == 7:
            return f"{f()}|abs"
        return self.leaf("float")

    def boolean(self, depth):
        x = self.rng.randrange(16)
        a = lambda: self.any(depth)
        if x <= 2:
            return f"({a()} {self.pick('==', '!=')} {a()})"
        if x <= 4:
            kind = self.pick("int", "float", "str", "list")
            return f"({self.expression(kind, depth)} {self.pick('<', '<=', '>', '>=')} {self.expression(kind, depth)})"
        if x == 5:
            return f"({self.expression('int', depth)} < {self.expression('int', depth)} <= {self.expression('float', depth)})"
        if x == 6:
            return f"(not {a()})"
        if x <= 9:
            test = self.pick(
                "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence",
                "iterable", "true", "false", "callable", "escaped", "lower", "upper",
            )
            return f"({a()} is {self.pick('', 'not ')}{test})"
        if x == 10:
            return f"({self.expression('int', depth)} is {self.pick('odd', 'even', 'divisibleby 3', 'divisibleby(2)', 'eq 1', 'gt(0)', 'in [1, 2]')})"
        if x == 11:
            return f"({self.expression('str', depth)} {self.pick('in', 'not in')} {self.expression(self.pick('str', 'list', 'dict'), depth)})"
        if x == 12:
            return f"({a()} {self.pick('in', 'not in')} {self.expression('list', depth)})"
        if x == 13:
            return f"({self.expression('str', depth)}).{self.pick('startswith', 'endswith')}({self.expression('str', depth)})"
        if x == 14:
            return f"({self.expression('str', depth)}).{self.pick('isalpha', 'isdigit', 'isalnum', 'isspace', 'isupper', 'islower', 'isascii')}()"
        return self.pick("loop.first", "loop.last") if self.loops else self.leaf("bool")

    def slice(self, depth):
        part = lambda: self.pick("", "", self.expression("int", min(depth, 1)))
        return self.pick(f"{part()}:{part()}", f"{part()}:{part()}:{self.pick('1', '2', '-1', '-2')}", "::-1", "1:", ":-1")

    def list(self, depth):
        l = lambda: self.expression("list", depth)
        x = self.rng.randrange(24)
        if x == 0:
            return f"[{self.any(depth)}, {self.any(depth)}]"
        if x == 1:
            return f"({self.any(depth)}, {self.any(depth)})"
        if x == 2:
            return f"({l()})[{self.slice(depth)}]"
        if x == 3:
            return f"([{self.any(depth)}] + {l()})"
        if x == 4:
            return f"({l()}|list * {self.pick('0', '2')})"
        if x == 5:
            return f"({self.expression('str', depth)}).{self.pick('split', 'rsplit')}({self.pick('', self.expression('str', depth), repr(' ') + ', 1', 'none, 1')})"
        if x == 6:
            return f"{l()}|sort{self.pick('', '(reverse=true)', '(case_sensitive=true)')}"
        if x == 7:
            return f"messages|sort(attribute={self.pick(repr('role'), repr('content'), repr('role,content'))})|map(attribute='role')|list"
        if x == 8:
            return f"{l()}|{self.pick('reverse', 'unique')}|list"
        if x == 9:
            return f"{self.expression('dict', depth)}|{self.pick('dictsort', 'items|list', 'list', 'dictsort(true)', 'dictsort(false, ' + repr('value') + ')')}"
        if x == 10:
            return f"messages|{self.pick('selectattr', 'rejectattr')}('role', 'equalto', {self.pick(repr('user'), repr('system'))})|map(attribute='content')|list"
        if x == 11:
            return f"messages|map(attribute={self.pick(repr('n'), repr('tool.name'), repr('role'))}{self.pick('', ', default=0')})|list"
        if x == 12:
            return f"{l()}|{self.pick('select', 'reject')}({self.pick('', repr('string'), repr('number'), repr('odd'), repr('equalto') + ', 1', repr('in') + ', xs')})|list"
        if x == 13:
            return f"{l()}|map({self.pick(repr('string'), repr('upper'), repr('length'), repr('default') + ', 1', repr('int'))})|list"
        if x == 14:
            return f"{l()}|{self.pick('batch(2)', 'batch(2, 0)', 'slice(2)', 'slice(3, none)')}|list"
        if x == 15:
            return f"({self.expression('dict', depth)}).{self.pick('keys', 'values', 'items')}()|list"
        if x == 16:
            return f"{self.pick(self.expression('str', depth), self.expression('dict', depth))}|list"
        if x == 17:
            return f"range({self.pick('3', '1, 4', '5, 0, -2', '0')})"
        if x == 18:
            return f"messages|groupby('role')|map('first')|list"
        if x == 19:
            return f"{self.pick('messages', 'xs|map(' + repr('string') + ')', 'ys')}|list"
        if x == 20:
            return f"[{self.any(depth)}]"
        return self.leaf("list")

    def dict(self, depth):
        x = self.rng.randrange(8)
        if x == 0:
            return f"{{{self.expression('str', depth)}: {self.any(depth)}, 'k': {self.any(depth)}}}"
        if x == 1:
            return f"dict({self.expression('dict', depth)}, y={self.any(depth)})"
        if x == 2:
            return f"messages[{self.expression('int', depth)}]"
        if x == 3:
            return f"(messages|{self.pick('first', 'last')})"
        if x == 4:
            return f"{{{self.expression('int', depth)}: {self.any(depth)}}}"
        if x == 5:
            return f"({self.expression('dict', depth)}).copy()"
        return self.leaf("dict")

    # ---- Statements ----

    def open(self):
        return "{%" + self.pick("", "", "", "-", "+")

    def close(self):
        return self.pick("", "", "", "-", "+") + "%}"

    def tag(self, text):
        return f"{self.open()} {text} {self.close()}"

    def text(self):
        return self.pick("", " ", "\n", "  \n", "\n  ", "x", "a b\n", " \t", "\n\n", "}} ", "{ ", "é\n", "\r\n", "# ")

    def output(self, depth=3):
        left, right = self.pick(("{{", "}}"), ("{{", "}}"), ("{{-", "}}"), ("{{", "-}}"), ("{{-", "-}}"))
        return f"{left} {self.any(self.rng.randrange(depth + 1))} {right}"

    def body(self, depth):
        return "".join(self.statement(depth) for _ in range(self.rng.randrange(1, 4)))

    def scoped(self, names, depth):
        self.locals += names
        body = self.body(depth)
        del self.locals[len(self.locals) - len(names) :]
        return body

    def statement(self, depth):
        x = self.rng.randrange(20)
        if depth <= 0 or x <= 5:
            return self.text() + self.output()
        if x == 6:
            return self.pick("{# c #}", "{#- c -#}", "{# c\n#}\n", "  {# c -#}\n", "{#+ c +#}\n") + self.text()
        if x <= 8:
            result = self.tag("if " + self.boolean(2)) + self.body(depth - 1)
            while self.rng.random() < 0.3:
                result += self.tag("elif " + self.boolean(2)) + self.body(depth - 1)
            if self.rng.random() < 0.5:
                result += self.tag("else") + self.body(depth - 1)
            return result + self.tag("endif")
        if x <= 12:
            return self.loop(depth)
        if x == 13:
            # A variable of the caller is read before it is set: Jinja2 hides it from the nested scopes in front of
            # a `set` otherwise, depending on what the scopes around name first.
            name = self.pick("p", "q", "n", "s")
            value = self.any(2)
            statement = self.tag(f"set {name} = {value if name in 'pq' else f'[{name}, {value}]'}")
            return statement + self.text() + "{{ " + name + " }}"
        if x == 14:
            name = self.pick("p", "q")
            chain = self.pick("", "", "|upper", "|trim|length", "|replace('a', 'b')")
            return self.tag(f"set {name}{chain}") + self.body(depth - 1) + self.tag("endset") + "{{ " + name + " }}"
        if x == 15:
            name = self.pick("ns", "other")
            result = self.tag(f"set {name} = namespace(a={self.any(1)}, b='')")
            result += self.tag("for i in [1, 2]") + self.tag(f"set {name}.b = {name}.b ~ i") + self.tag("endfor")
            return result + "{{ " + name + ".a }}{{ " + name + ".b }}{{ " + name + ".c is defined }}"
        if x == 16:
            name = self.pick("mac", "mac2")
            signature = self.pick("a, b='x'", "a=1, b=a", "a, b=n", "")
            extra = self.pick("", "{{ varargs }}{{ kwargs }}", "{{ caller() if caller else '' }}")
            loops, self.loops = self.loops, 0
            result = self.tag(f"macro {name}({signature})") + self.scoped(["a", "b"] if signature else [], depth - 1)
            self.loops = loops
            result += extra + self.tag("endmacro")
            self.macros.append(name)
            if "caller" in extra and self.rng.random() < 0.7:
                result += self.tag(f"call {name}(1)") + self.body(depth - 1) + self.tag("endcall")
            return result + "{{ " + f"{name}({self.any(1)})" + " }}"
        if x == 17:
            name = self.pick("upper", "trim", "replace('a', 'b')", "indent(2)", "title", "escape")
            return self.tag(f"filter {name}") + self.body(depth - 1) + self.tag("endfilter")
        if x == 18:
            return self.tag(f"with p = {self.any(2)}, q = {self.any(1)}") + self.scoped(["p", "q"], depth - 1) + self.tag("endwith")
        return self.pick(
            "{% raw %}{{ x }}{% endraw %}", "  {%- raw -%} {% if %} {%- endraw -%} \n", "{% raw %}\n  {% endraw %}\n",
            "\n  {%+ raw %} z {%+ endraw +%}\n",
        )

    def loop(self, depth):
        kind = self.rng.randrange(6)
        if kind == 0:
            head, names = f"for k, v in {self.expression('dict', 1)}.items()", ["k", "v"]
        elif kind == 1:
            head, names = f"for k, v in {self.expression('dict', 1)}|{self.pick('items', 'dictsort')}", ["k", "v"]
        elif kind == 2:
            return (
                self.tag("for node in tree recursive")
                + "{{ node.name }}{{ loop.depth }}[{{ loop(node.sub) }}]"
                + self.tag("endfor")
            )
        else:
            head, names = f"for x in {self.expression(self.pick('list', 'list', 'list', 'str', 'dict'), 2)}", ["x"]
        if self.rng.random() < 0.2:
            head += f" if {names[0]} {self.pick('is string', 'is number', '!= 1', 'is defined')}"
        self.loops += 1
        body = self.scoped(names, depth - 1)
        body += self.pick(
            "", "", "{{ loop.index }}", "{{ loop.previtem }}|{{ loop.nextitem }}", "{{ loop.cycle('a', 'b') }}",
            "{{ loop.changed(" + names[0] + ") }}", "{% if loop.index == 2 %}{% break %}{% endif %}",
            "{% if loop.first %}{% continue %}{% endif %}.",
        )
        self.loops -= 1
        result = self.tag(head) + body
        if self.rng.random() < 0.2:
            result += self.tag("else") + self.body(depth - 1)
        return result + self.tag("endfor")

    def template(self):
        return "".join(self.statement(3) for _ in range(self.rng.randrange(1, 4))) + self.pick("", "\n", "\n\n", " \n")


def render(environment, template):
    try:
        compiled = environment.from_string(template)
    except TemplateSyntaxError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    except Exception:  # noqa: BLE001 - constants that fail when they are folded, reached or not
        return None
    try:
        text = compiled.render(**VARIABLES)
        text.encode("utf-8")
    except Exception as error:  # noqa: BLE001 - whatever Jinja2 raises is the record
        return {"error": f"{type(error).__name__}: {error}"}
    return {"text": text}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    environment = make_environment()
    records = []
    while len(records) < options.count:
        template = Generator(rng).template()
        record = render(environment, template)
        if record is None:
            continue
        # Addresses and generators have no text to compare.
        if any(mark in record.get("text", "") for mark in ("<generator", " at 0x", "iterator object", "range(")):
            continue
        records.append({"template": template, **record})
    json.dump({"vars": json.dumps(VARIABLES), "records": records}, sys.stdout)


if __name__ == "__main__":
    main()
