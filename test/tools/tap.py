"""Tests in Python that print TAP, for the programs beside this file.

    @test
    def a_crash_is_a_failure():
        expect_equal(got, want)
    ...
    main()

Words as arguments select tests by a part of their name, as in our C tests.
"""
import sys
import traceback

TESTS = []


def test(function):
    TESTS.append((function.__name__, function))
    return function


def add_test(name, function):
    """For the rows of a table."""
    TESTS.append((name, function))


def expect(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def expect_equal(got, want):
    expect(got == want, f"is       {got!r}\nexpected {want!r}")


def expect_in(part, text):
    expect(part in text, f"the text\n{text}\ndoes not contain {part!r}")


def expect_not_in(part, text):
    expect(part not in text, f"the text\n{text}\ncontains {part!r}")


def holds(function):
    try:
        function()
    except Exception as error:  # a test may fail in any way
        where = traceback.extract_tb(error.__traceback__)[1]
        sentence = f"{where.filename}:{where.lineno}: {type(error).__name__}: {error}"
        print("\n".join(f"# {line}" for line in sentence.splitlines()))
        return False
    return True


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    selected = [row for row in TESTS if not words or any(word in row[0] for word in words)]
    if "--list" in options:
        print("\n".join(name for name, _ in selected))
        return

    print(f"1..{len(selected)}", flush=True)
    failed = 0
    for number, (name, function) in enumerate(selected, 1):
        verdict = "ok" if holds(function) else "not ok"
        failed += verdict != "ok"
        print(f"{verdict} {number} - {name}", flush=True)
    print(f"{len(selected) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
