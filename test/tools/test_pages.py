#!/usr/bin/env python3
"""The pages that list limits, errors and terms say what the code says.

Prints TAP. A name that is in the code and not on its page fails, one that is
on the page and not in the code, and a number that differs.
"""
import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONSTANT = re.compile(r"^\s*([A-Z][A-Z0-9_]+)\s*=\s*([0-9][0-9 *]*[0-9]|[0-9])\s*(?:,|/\*|$)")
ROW = re.compile(r"^\| `([A-Z][A-Z0-9_]*)` \| ([0-9]+) \|(.*)$")
ERROR = re.compile(r"^\s*X\((\w+),\s*(\d+),\s*(\w+),")


def constants(folder):
    """The enumerated numbers of all headers below a folder, by name."""
    found = {}
    for header in sorted((ROOT / folder).rglob("*.h")):
        for line in header.read_text(encoding="utf-8").splitlines():
            match = CONSTANT.match(line)
            if match:
                product = 1
                for factor in match.group(2).split("*"):
                    product *= ast.literal_eval(factor.strip())
                found[match.group(1)] = product
    return found


def rows(page):
    """The rows of the tables of a page: name, number and the rest."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [(m.group(1), int(m.group(2)), m.group(3))
            for m in map(ROW.match, text.splitlines()) if m]


def wrong_limits(page_rows, known):
    """Sentences about rows that the code does not have so."""
    faults = [f"{name} is {known.get(name)} in the code, {number} on the page"
              for name, number, _ in page_rows if known.get(name) != number]
    named = {name for name, _, _ in page_rows}
    faults += [f"{name} is not on the page" for name in known
               if name.startswith("LIMIT_") and name not in named]
    return faults


def errors():
    """The table of errors: number and class by name."""
    text = (ROOT / "src/base/err.h").read_text(encoding="utf-8")
    return {m.group(1): (int(m.group(2)), m.group(3).lower())
            for m in map(ERROR.match, text.splitlines()) if m}


def wrong_errors(page_rows, known):
    """The same for errors, whose class is the first cell of the rest."""
    faults = []
    for name, number, rest in page_rows:
        stated = (number, rest.split("|")[0].strip())
        if known.get(name) != stated:
            faults.append(f"{name} is {known.get(name)} in the code, {stated} on the page")
    named = {name for name, _, _ in page_rows}
    faults += [f"{name} is not on the page" for name in known if name not in named]
    return faults


def missing_paths(pages):
    """Paths of this tree that the pages name and that do not exist."""
    faults = []
    for page in pages:
        for path in re.findall(r"`((?:src|test|docs|tools|include|man|fuzz|bench)/[\w./-]*)`", page.read_text(encoding="utf-8")):
            if not (ROOT / path).exists():
                faults.append(f"{page.name} names {path}, which does not exist")
    return faults


RULE = re.compile(r"^- \*\*([a-z]+)-(\d+)\*\*", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def wrong_rules(pages, texts):
    """Rules of the specification that two places define, and citations of rules
    that it does not have. Texts are pairs of a name and a text."""
    rules = [match for page in pages for match in RULE.findall(page)]
    faults = [f"{name}-{number} is defined more than once" for name, number in sorted(set(rules)) if rules.count((name, number)) > 1]
    cited = re.compile(r"(?<![\w-])(" + "|".join(sorted({name for name, _ in rules})) + r")-(\d+)(?![\w-])")
    for name, text in texts:
        faults += [f"{name} cites {rule}-{number}, which is no rule" for rule, number in cited.findall(text) if (rule, number) not in rules]
    return faults


def texts_that_cite():
    """The pages, and the comments of the code."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        yield page.name, page.read_text(encoding="utf-8")
    for folder in ("src", "test"):
        for file in sorted((ROOT / folder).rglob("*.[ch]")):
            yield file.name, " ".join(COMMENT.findall(file.read_text(encoding="utf-8")))


def repeated_terms(text):
    """Terms that the first cells of a glossary name more than once."""
    cells = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    terms = [term.strip() for cell in cells for term in cell.split(",") if term.strip() not in ("term", "---")]
    return [f"{term} is there more than once" for term in sorted(set(terms)) if terms.count(term) > 1]


def main():
    glossary = ROOT / "docs" / "glossary.md"
    guides = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", glossary, ROOT / "docs" / "releasing.md",
              *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    specification = [page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "spec").glob("*.md"))]
    limits = constants("src")
    codes = errors()
    results = [
        ("every limit is on its page with its number",
         wrong_limits(rows("limits.md"), limits)),
        ("a limit with another number is found",
         [] if wrong_limits([("LIMIT_DEPTH", 7, "")], limits) else ["it is not"]),
        ("every error is on its page with its number and class",
         wrong_errors(rows("errors.md"), codes)),
        ("an error that is missing on the page is found",
         [] if len(wrong_errors([], codes)) == len(codes) > 40 else ["it is not"]),
        ("every path that the guides name exists", missing_paths(guides)),
        ("every rule of the specification is defined once, and those that are cited exist",
         wrong_rules(specification, texts_that_cite())),
        ("a rule that is defined twice or only cited is found",
         [] if len(wrong_rules(["- **run-1** A\n- **run-1** B\n"], [("x", "run-2, run-1")])) == 2 else ["it is not"]),
        ("every term is in the glossary once", repeated_terms(glossary.read_text(encoding="utf-8"))),
        ("a term that is there twice is found",
         [] if repeated_terms("| run, pass | x |\n| pass | y |\n") == ["pass is there more than once"] else ["it is not"]),
    ]
    print(f"1..{len(results)}")
    failed = 0
    for number, (name, faults) in enumerate(results, 1):
        for fault in faults:
            print(f"# {fault}")
        failed += bool(faults)
        print(f"{'not ' if faults else ''}ok {number} - {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
