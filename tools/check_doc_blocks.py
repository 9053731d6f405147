#!/usr/bin/env python3
"""Checks that what include/penstock declares is documented.

Every class, struct, enum, alias and free function stands under a `///` block, and so does every member function that
takes arguments or changes its object.  One block may serve the lines that follow it without an empty line between.
Exempt: forward declarations, definitions outside of the class, constructors, destructors, operators, and what is private or protected.

    tools/check_doc_blocks.py [HEADER...]   prints file:line and the name for every gap; exit 1 if there is one
    tools/check_doc_blocks.py --self-test   proves that gaps are found
"""

import re
import sys
from pathlib import Path

TYPE = re.compile(r"^(?:template\s*<.*?>\s*)?(class|struct|enum(?:\s+class)?|union)\s+(?:PENSTOCK_API\s+)?(\w+)")
ALIAS = re.compile(r"^(?:template\s*<.*?>\s*)?using\s+(\w+)\s*=")
ACCESSOR = re.compile(r"\(\s*\)\s*(const\s*&{0,2}|&{1,2})\s*(noexcept)?\s*(override|= 0)?\s*\{?$")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]")
FUNCTION = re.compile(r"(~?\w+)\s*\(")


def strip(text: str) -> list[str]:
    """Lines with strings and comments blanked, `///` kept as a mark."""
    out = []
    for line in text.splitlines():
        line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        mark = "///" if "///" in line else ""
        out.append(re.sub(r"//.*", "", line).rstrip() + mark)
    return out


def statements(lines: list[str]):
    """Yields (line number, scope, statement, documented): declarations at namespace and class scope.

    scope is the stack of enclosing (kind, name, access); bodies of functions and enums are passed over."""
    scope: list[tuple[str, str, str]] = []
    current, start, documented = "", 0, False
    skipped, initialiser = 0, False  # depth of braces inside a body; the body is the initialiser of a variable
    block = False  # the `///` block that is in force
    macro = False
    for number, raw in enumerate(lines, 1):
        mark, line = raw.endswith("///"), raw.removesuffix("///").strip()
        if macro or line.startswith("#"):
            macro = line.endswith("\\")
            continue
        if not line:
            if mark:
                block = True
            elif not current and not skipped:
                block = False
            continue
        access = re.match(r"^(public|private|protected)\s*:$", line)
        if access and not skipped and scope:
            scope[-1] = (*scope[-1][:2], access[1])
            continue
        for char in line:
            if skipped:  # inside a body
                skipped += (char == "{") - (char == "}")
                if skipped == 0 and not initialiser:
                    current = ""
                continue
            if not current.strip():
                start, documented = number, block or mark
            documented = documented or mark
            head = " ".join(current.split())
            if char == "{":
                plain = ATTRIBUTE.sub("", head)
                kind = TYPE.match(plain)
                if head.startswith(("namespace", "extern")):
                    scope.append(("namespace", head, "public"))
                    current, block = "", False
                elif kind and "(" not in plain and not kind[1].startswith("enum"):
                    yield start, tuple(scope), head + " {", documented
                    scope.append((kind[1], kind[2], "private" if kind[1] == "class" else "public"))
                    current, block = "", False
                else:
                    initialiser = not kind and "(" not in head
                    if not initialiser:
                        yield start, tuple(scope), head + " {", documented
                    skipped = 1
            elif char == "}":
                if scope:
                    scope.pop()
                current, block = "", False
            elif char == ";":
                if head:
                    yield start, tuple(scope), head, documented
                current = ""
            else:
                current += char
        if current:
            current += " "


def gap(scope: tuple[tuple[str, str, str], ...], head: str) -> str | None:
    """The name of a declaration that needs a block; None if it needs none."""
    if any(access != "public" for _, _, access in scope) or head.startswith(("friend", "static_assert", "namespace")):
        return None
    inside = next((name for kind, name, _ in reversed(scope) if kind != "namespace"), None)
    plain = ATTRIBUTE.sub("", head)
    kind, alias, function = TYPE.match(plain), ALIAS.match(plain), FUNCTION.search(plain)
    if kind and "(" not in plain:
        return kind[2] if head.endswith("{") else None  # a forward declaration needs none
    if alias:
        return None if inside else alias[1]
    if not function or "operator" in plain or plain.endswith("= delete"):
        return None
    if inside is None:  # a member that is defined outside of its class has its block inside
        return None if plain[: function.start()].endswith("::") else function[1]
    if function[1].lstrip("~") == inside or ACCESSOR.search(plain):
        return None
    return f"{inside}::{function[1]}"


def check(text: str, label: str) -> list[str]:
    found = []
    for number, scope, head, documented in statements(strip(text)):
        name = gap(scope, head)
        if name and not documented:
            found.append(f"{label}:{number}: {name} has no /// block")
    return found


GOOD = """
/// What it is.
enum class E : int { a, b };
class Forward;
/// A class.
class C {
 public:
  C() : x_(1) {}
  int size() const { return x_; }
  [[nodiscard]] const int& other() const;
  /// Does.  Errors: none.
  int go(int n);
  int stop();

 private:
  void hidden(int);
  int x_;
};
inline int C::stop() { return 1; }

/// Frees.
void release(C& c);
void release_all();
struct P;
"""
BAD = [
    ("struct A {\n  int x = 0;\n};", "A"),
    ("enum class B { x };", "B"),
    ("/// D.\nclass PENSTOCK_API D {\n public:\n  D();\n  void change(int x);\n};", "D::change"),
    ("/// Doc of another.\nvoid f();\n\nint g(int x);", "g"),
    ("inline int h() {\n  return 1;\n}", "h"),
    ("/// D.\nclass D {\n public:\n  void change(int x);\n};", "D::change"),
    ("/// D.\nstruct D {\n  void change();\n};", "D::change"),
    ("using V = int;", "V"),
    ("namespace n {\ntemplate <class T>\nclass W {\n};\n}", "W"),
]


def self_test() -> int:
    if found := check(GOOD, "good"):
        print("self-test: documented code was called a gap:", found)
        return 1
    for text, name in BAD:
        found = check(text, "bad")
        if len(found) != 1 or f" {name} has" not in found[0]:
            print(f"self-test: {text!r}: wanted the gap {name}, got {found}")
            return 1
    print(f"doc blocks: self-test, {len(BAD) + 1} cases good")
    return 0


def main() -> int:
    if "--self-test" in sys.argv:
        return self_test()
    root = Path(__file__).resolve().parent.parent
    files = [Path(a) for a in sys.argv[1:]] or sorted((root / "include" / "penstock").glob("*.hpp"))
    found = [
        line
        for file in files
        for line in check(file.read_text(encoding="utf-8"), str(file.relative_to(root) if file.is_absolute() else file))
    ]
    for line in found:
        print(line)
    if not found:
        print(f"doc blocks: {len(files)} headers, no gap")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
