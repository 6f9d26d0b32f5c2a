#!/usr/bin/env python3
"""tools/profile: what it makes of callgrind's file and of the baseline, and
that it fails, passes and skips when it has to, on a real workload."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # leave no __pycache__ in the tree
from tap import expect, expect_equal, expect_in, expect_not_in, main, test

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.path.join(os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build/gcc-release"))), "bin/profile")


def load(path):
    loader = importlib.machinery.SourceFileLoader("profile_tool", path)
    spec = importlib.util.spec_from_loader("profile_tool", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["profile_tool"] = module
    loader.exec_module(module)
    return module


profile = load(os.path.join(ROOT, "tools/profile"))

# A program that calls the C library: 5 + 7 instructions of its own, one of them
# inlined from a header, and 100 of the library's.
CALLGRIND = """\
positions: line
events: Ir

ob=(1) /somewhere/bin/profile
fl=(1) main.c
fn=(1) work
10 5
fi=(2) inline.h
3 7
fe=(1)
cob=(2) /lib/libc.so.6
cfi=(3) string.c
cfn=(2) memcpy
calls=4 20
11 100

ob=(2)
fl=(3)
fn=(2)
20 60
+1 40

totals: 112
"""


@test
def the_instructions_of_a_function_are_without_those_it_calls():
    costs = profile.parse_costs(CALLGRIND.splitlines())
    expect_equal(costs.own[("/somewhere/bin/profile", "main.c", "work")], 12)
    expect_equal(costs.own[("/lib/libc.so.6", "string.c", "memcpy")], 100)
    expect_equal(costs.total(), 112)


@test
def what_counts_is_what_the_program_itself_executes():
    costs = profile.parse_costs(CALLGRIND.splitlines())
    expect_equal(costs.of_program("build/other/bin/profile"), 12)


# ---- the baseline ----

BASELINE = """\
# a comment

compiler gcc-1-x
deep1000      1,000.0  first recorded
event         50.5     a reason of several words
compiler gcc-2-x
deep1000      900.0    first recorded
"""


@test
def a_baseline_has_a_list_for_each_compiler():
    lists = profile.parse_baseline(BASELINE)
    expect_equal(sorted(lists), ["gcc-1-x", "gcc-2-x"])
    expect_equal(lists["gcc-1-x"]["event"], profile.Figure(50.5, "a reason of several words"))


@test
def a_baseline_that_is_written_is_read_again():
    lists = profile.parse_baseline(BASELINE)
    expect_equal(profile.parse_baseline(profile.baseline_text(lists)), lists)


@test
def a_line_without_a_reason_is_an_error():
    for text in ("compiler x\ndeep1000 1000\n", "compiler x\ndeep1000 many why\n", "deep1000 1 why\n"):
        try:
            profile.parse_baseline(text)
        except profile.ProfileError as error:
            expect_in("deep1000", str(error))
        else:
            expect(False, f"it was taken: {text}")


@test
def five_percent_more_pass_and_six_do_not():
    figure = profile.Figure(1000, "why")
    expect_equal(profile.verdict(figure, 1050)[0], "ok")
    kind, sentence = profile.verdict(figure, 1060)
    expect_equal(kind, "more")
    expect_in("+6.0%", sentence)
    expect_in("--record", sentence)


@test
def much_less_passes_and_asks_to_be_recorded():
    kind, sentence = profile.verdict(profile.Figure(1000, "why"), 900)
    expect_equal(kind, "less")
    expect_in("--record", sentence)


class Fixed:
    """A figure that somebody measured."""
    def __init__(self, name, instructions):
        self.name = name
        self.instructions = instructions

    def own(self):
        return self.instructions


@test
def what_has_not_changed_keeps_its_reason():
    old = {"a": profile.Figure(1000, "old"), "b": profile.Figure(1000, "old")}
    new = profile.recorded(old, [Fixed("a", 1001), Fixed("b", 1010), Fixed("c", 5)], "new")
    expect_equal(new, {"a": profile.Figure(1000, "old"), "b": profile.Figure(1010, "new"), "c": profile.Figure(5, "new")})


# ---- on a real workload ----

def run(arguments, baseline=None):
    """(exit code, output) with a baseline of this text."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        path = os.path.join(folder, "instructions.txt")
        if baseline is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(baseline)
        code = profile.main([*arguments, "--program", PROGRAM, "--baseline", path])
    return code, out.getvalue()


@test
def growth_fails_and_an_unknown_compiler_is_skipped():
    one = profile.measure(PROGRAM, "diamond5")
    for factor, code, line in (
            (1.00, 0, "ok 1 - diamond5 needs no more instructions than before\n"),
            (0.90, 1, "not ok 1 - diamond5"),
    ):
        baseline = f"compiler {one.compiler}\ndiamond5 {one.own() * factor} why\n"
        got, text = run(["--tap", "diamond5"], baseline)
        expect_equal(got, code)
        expect_in(line, text)
    code, text = run(["--tap", "diamond5"], "compiler some-other-1\ndiamond5 1 why\n")
    expect_equal(code, 0)
    expect_in(f"# SKIP no baseline of {one.compiler}", text)


@test
def two_measurements_agree():
    """Interrupts of a busy machine may add instructions to one measurement: two of six have to agree."""
    counts = []
    for _ in range(6):
        count = profile.measure(PROGRAM, "diamond5").own()
        if any(abs(count / earlier - 1) < 0.001 for earlier in counts):
            return
        counts.append(count)
    expect(False, f"no two of {counts} instructions agree")


@test
def one_workload_is_shown_by_function_and_a_word_as_lines():
    code, text = run(["diamond5"])
    expect_equal(code, 0)
    expect_in("fast_run_sweep", text)
    code, text = run(["prop-1x1"])  # a name, though others contain it
    expect_in("fast_run_sweep", text)
    code, text = run(["amond5"])
    expect_in("diamond5 ", text)
    expect_not_in("diamond1000", text)


@test
def a_word_that_no_workload_has_is_an_error():
    code, text = run(["nothing-like-it"])
    expect_equal(code, 1)
    expect_in("deep1000", text)


@test
def a_reason_is_needed():
    code, text = run(["--record", " "])
    expect_equal(code, 1)
    expect_in("reason", text)


main()
