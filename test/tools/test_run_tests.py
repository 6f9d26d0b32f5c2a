#!/usr/bin/env python3
"""The test harness seen from outside: how tools/run-tests counts programs that
end badly, and how a test of test/lib/test.h fails. A harness that reports a
pass too many is worse than none, so each kind of failure is made here."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave no __pycache__ in the tree
from tap import expect, expect_equal, expect_in, expect_not_in, main, test

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
RUN_TESTS = os.path.join(ROOT, "tools/run-tests")
WAIT_S = 10


class Run:
    """What a command printed, and how it ended."""

    def __init__(self, command, folder):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.exit_code = done.returncode
        self.output = done.stdout
        self.errors = done.stderr

    def total(self):
        return self.output.splitlines()[-1] if self.output else ""


class Folder(tempfile.TemporaryDirectory):
    """A directory with shell programs in it."""

    def __enter__(self):
        return self

    def add(self, name, script):
        path = os.path.join(self.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)

    def run_tests(self, *words):
        return Run([sys.executable, RUN_TESTS, *words], self.name)


def run_one(script, *words):
    with Folder() as folder:
        folder.add("program", script)
        return folder.run_tests("program", *words)


# ---- tools/run-tests ----

TWO_PASS = "echo 1..2; echo ok 1 - warp; echo ok 2 - weft"
ONE_FAILS = "echo 1..2; echo ok 1 - warp; echo '# x.c:1: torn'; echo not ok 2 - weft; exit 1"


@test
def passes_and_failures_are_counted():
    with Folder() as folder:
        folder.add("good", TWO_PASS)
        folder.add("bad", ONE_FAILS)
        run = folder.run_tests("good", "bad")
    expect_equal(run.total(), "3 passed, 1 failed")
    expect_equal(run.exit_code, 1)
    expect(re.search(r"^ok +good +2 passed +\d+\.\d\d s$", run.output, re.MULTILINE), run.output)
    expect(re.search(r"^FAIL bad +1 passed, 1 failed +\d+\.\d\d s$", run.output, re.MULTILINE), run.output)


@test
def all_passed_is_exit_code_0():
    run = run_one(TWO_PASS)
    expect_equal((run.total(), run.exit_code), ("2 passed, 0 failed", 0))


@test
def the_comments_of_a_failing_test_are_shown():
    run = run_one("echo 1..2; echo '# of warp'; echo ok 1 - warp; echo '# of weft'; echo not ok 2 - weft; exit 1")
    expect_in("not ok - weft\n       # of weft\n", run.output)
    expect_not_in("# of warp", run.output)


@test
def verbose_shows_the_tests_that_passed():
    expect_in("ok - warp\n", run_one(TWO_PASS, "--verbose").output)
    expect_not_in("ok - warp\n", run_one(TWO_PASS).output)


@test
def a_crash_counts_the_tests_that_were_not_reported():
    run = run_one("echo 1..3; echo ok 1 - warp; echo '# half done'; echo oh dear >&2; kill -SEGV $$")
    expect_equal((run.total(), run.exit_code), ("1 passed, 2 failed", 1))
    expect_in("test 2 was never reported\n", run.output)
    expect_in("killed by SIGSEGV, and this test was next\n       # half done\n", run.output)
    expect_in("stderr:\n       oh dear\n", run.output)


@test
def an_early_exit_counts_the_tests_that_were_not_reported():
    run = run_one("echo 1..3; echo ok 1 - warp; exit 0")
    expect_equal((run.total(), run.exit_code), ("1 passed, 2 failed", 1))
    expect_in("ended with exit code 0, and this test was next", run.output)


@test
def a_long_stderr_is_shown_from_both_ends():
    run = run_one("echo 1..1; i=0; while [ $i -lt 200 ]; do echo \"<$i>\" >&2; i=$((i + 1)); done; exit 1")
    for shown in ("<0>", "<29>", "... 150 lines left out ...", "<180>", "<199>"):
        expect_in(shown, run.output)
    expect_not_in("<100>", run.output)


@test
def a_program_is_killed_at_its_time_limit_with_its_children():
    with Folder() as folder:
        folder.add("program", "echo 1..2; echo ok 1 - warp; sleep 60 & echo $! > child; wait")
        run = folder.run_tests("--timeout", "0.5", "program")
        with open(os.path.join(folder.name, "child"), encoding="utf-8") as file:
            child = int(file.read())
    expect_equal((run.total(), run.exit_code), ("1 passed, 1 failed", 1))
    expect_in("still running after 0.5 s, and this test was next", run.output)
    expect(ends(child), "the child outlived the program")


@test
def a_program_that_hangs_after_its_tests_fails():
    with Folder() as folder:
        folder.add("program", TWO_PASS + "; sleep 60")
        run = folder.run_tests("--timeout", "0.5", "program")
    expect_equal((run.total(), run.exit_code), ("2 passed, 1 failed", 1))


@test
def no_plan_is_one_failure():
    run = run_one("echo hello")
    expect_equal((run.total(), run.exit_code), ("0 passed, 1 failed", 1))
    expect_in("no line 1..N was printed", run.output)
    expect_equal(run_one("echo ok 1 - warp").total(), "1 passed, 1 failed")


@test
def a_plan_may_come_last():
    expect_equal(run_one("echo ok 1 - warp; echo 1..1").total(), "1 passed, 0 failed")


@test
def more_results_than_planned_are_a_failure():
    expect_equal(run_one("echo 1..1; echo ok 1; echo ok 2").total(), "2 passed, 1 failed")


@test
def an_exit_code_that_contradicts_the_results_is_a_failure():
    run = run_one(TWO_PASS + "; exit 3")
    expect_equal((run.total(), run.exit_code), ("2 passed, 1 failed", 1))
    expect_in("exit code 3", run.output)
    run = run_one("echo 1..2; echo ok 1 - warp; echo not ok 2 - weft; exit 0")
    expect_equal((run.total(), run.exit_code), ("1 passed, 2 failed", 1))


@test
def a_program_that_cannot_be_started_is_a_failure():
    with Folder() as folder:
        run = folder.run_tests("missing")
    expect_equal((run.total(), run.exit_code), ("0 passed, 1 failed", 1))
    expect_in("could not be started", run.output)


@test
def no_test_at_all_is_a_failure():
    expect_equal(run_one("echo 1..0").exit_code, 1)
    with Folder() as folder:
        expect_equal(folder.run_tests().total(), "0 passed, 1 failed")


@test
def a_filter_may_select_no_test():
    run = run_one("echo 1..0", "--", "silk")
    expect_equal((run.output, run.exit_code), ("0 passed, 0 failed\n", 0))
    expect_equal(run_one("echo 1..0", "--", "--seed=1").exit_code, 1)


@test
def words_and_seeds_are_passed_on():
    with Folder() as folder:
        folder.add("program", "echo \"$*\" > words; " + TWO_PASS)
        folder.run_tests("--seed=7", "--rounds=2", "--rounds-max=3", "program", "--", "warp", "weft")
        with open(os.path.join(folder.name, "words"), encoding="utf-8") as file:
            expect_equal(file.read(), "--seed=7 --rounds=2 --rounds-max=3 warp weft\n")


@test
def the_longest_start_first():
    with Folder() as folder:
        for name in ("short", "unknown", "long", "longest"):
            folder.add(name, f"echo {name} >> order; {TWO_PASS}")
        with open(os.path.join(folder.name, "costs"), "w", encoding="utf-8") as file:
            file.write("# SECONDS LABEL\n40 dyed longest\n\n1 dyed short\n7.5 dyed long\n99 dyed gone\n")
        run = folder.run_tests("--jobs=1", "--costs=costs", "--group", "dyed", "short", "unknown", "long", "longest")
        expect_equal(run.total(), "8 passed, 0 failed")
        with open(os.path.join(folder.name, "order"), encoding="utf-8") as file:
            expect_equal(file.read().split(), ["longest", "long", "short", "unknown"])


@test
def costs_are_written_as_they_are_read():
    with Folder() as folder:
        folder.add("short", TWO_PASS)
        folder.add("long", "sleep 1.1; " + TWO_PASS)
        folder.run_tests("--write-costs=costs", "--group", "dyed", "short", "long")
        with open(os.path.join(folder.name, "costs"), encoding="utf-8") as file:
            costs = file.read()
        expect(re.fullmatch(r"[1-9]\d* dyed long\n", costs), costs)
        expect_equal(folder.run_tests("--costs=costs", "short", "long").total(), "4 passed, 0 failed")


@test
def a_list_of_costs_that_is_none_is_refused():
    with Folder() as folder:
        folder.add("program", TWO_PASS)
        folder.add("words", "dyed long")
        for name in ("words", "nowhere"):
            run = folder.run_tests(f"--costs={name}", "program")
            expect_equal((run.exit_code, run.output), (2, ""))
            expect_in(f"{name} is not a list of costs", run.errors)


@test
def a_skipped_test_is_neither_passed_nor_failed():
    run = run_one("echo 1..2; echo ok 1 - warp; echo 'ok 2 - weft # SKIP no loom'")
    expect_equal(run.total(), "1 passed, 0 failed")
    expect_in("1 passed, 1 skipped", run.output)


@test
def groups_have_names_and_options_of_their_own():
    with Folder() as folder:
        folder.add("program", "echo 1..1; echo \"ok 1 - $COLOUR$1\"")
        run = folder.run_tests("--verbose", "program", "--group", "dyed", "--wrap", "env COLOUR=red", "--rounds=3",
                               "program", "--group", "plain", "program")
    expect_in("dyed program", run.output)
    expect_in("ok - red--rounds=3\n", run.output)
    expect_in("plain program", run.output)
    expect_equal(run.output.count("ok - test 1\n"), 2)
    expect_equal(run.total(), "3 passed, 0 failed")


@test
def the_configuration_is_read_from_the_path():
    with Folder() as folder:
        folder.add("build/gcc-debug/bin/unit/x", TWO_PASS)
        expect_in("gcc-debug unit/x ", folder.run_tests("build/gcc-debug/bin/unit/x").output)


@test
def a_command_counts_as_one_test():
    with Folder() as folder:
        run = folder.run_tests("--command", "true", "--command", "sh -c 'echo torn; exit 4'")
    expect_equal((run.total(), run.exit_code), ("1 passed, 1 failed", 1))
    expect_in("exit code 4\n       torn\n", run.output)


@test
def all_results_can_be_written_as_one_tap_stream():
    with Folder() as folder:
        folder.add("bad", ONE_FAILS)
        folder.run_tests("--tap", "all.tap", "bad")
        with open(os.path.join(folder.name, "all.tap"), encoding="utf-8") as file:
            expect_equal(file.read(), "ok 1 - bad: warp\n# x.c:1: torn\nnot ok 2 - bad: weft\n1..2\n")


@test
def programs_run_at_the_same_time():
    # Each waits for the other to have started; one at a time they would fail.
    script = "echo 1..1; echo > {0}; for i in $(seq 100); do [ -e {1} ] && break; sleep 0.05; done; " \
             "[ -e {1} ] && echo ok 1 || {{ echo not ok 1; exit 1; }}"
    with Folder() as folder:
        folder.add("a", script.format("a.started", "b.started"))
        folder.add("b", script.format("b.started", "a.started"))
        expect_equal(folder.run_tests("--jobs", "2", "a", "b").total(), "2 passed, 0 failed")


@test
def an_interrupt_ends_everything():
    for number in (signal.SIGINT, signal.SIGTERM):
        with Folder() as folder:
            folder.add("program", "trap 'echo > told; exit 1' INT; echo 1..1; sleep 60 & echo $! > child; wait")
            runner = subprocess.Popen([sys.executable, RUN_TESTS, "program"], cwd=folder.name,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            child_path = os.path.join(folder.name, "child")
            expect(comes_true(lambda: os.path.exists(child_path) and os.path.getsize(child_path) > 0), "no child")
            runner.send_signal(number)
            _, errors = runner.communicate(timeout=WAIT_S)
            with open(child_path, encoding="utf-8") as file:
                child = int(file.read())
            expect_equal((runner.returncode, errors), (130, b"run-tests: interrupted\n"))
            expect(os.path.exists(os.path.join(folder.name, "told")), "the program was not told")
            expect(ends(child), "the child outlived the run")


@test
def a_bad_option_is_exit_code_2():
    with Folder() as folder:
        for words in (["--colour", "red"], ["--jobs"], ["--jobs", "none"], ["--timeout", "0"]):
            run = folder.run_tests(*words)
            expect_equal((run.exit_code, run.output), (2, ""))


def comes_true(condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_running(process):
    """A killed child may stay as a zombie until whoever inherits it looks."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def ends(process):
    return comes_true(lambda: not is_running(process))


# ---- test/lib/test.h ----

HARNESS = r"""
#include <string.h>
#include "base/mem.h"
#include "lib/test.h"

TEST(passes) { EXPECT(strlen("ab") == 2); }
TEST(fails_twice)
{
    EXPECT(strlen("ab") == 3);
    EXPECT_EQ(strlen("ab"), 4);
}
TEST(compares_numbers) { EXPECT_INT(-1 - (int)strlen("ab"), 5); }
TEST(compares_texts)
{
    EXPECT_TEXT("warp \x01\n\"", "warp weft");
    EXPECT_TEXT(NULL, "x");
    EXPECT_CONTAINS("warp", "weft");
    char a[400], b[400];
    memset(a, 'a', 399); a[399] = 0;
    memcpy(b, a, 400); b[300] = 'b';
    EXPECT_TEXT(a, b);
}
TEST(leaks) { (void)memset(mem_alloc(24), 0, 24); }
TEST(frees_another_size) { mem_free(mem_alloc(24), 25); }
TEST(resizes_another_size) { mem_free(mem_resize(mem_alloc(24), 23, 30), 30); }
TEST(frees_twice)
{
    char *block = mem_alloc(24);
    mem_free(block, 24);
    mem_free(block, 24);
}
TEST(fails_often) { for (int i = 0; i < 100; i++) { EXPECT_INT(i, -1); } }
TEST(misses_a_file)
{
    size_t length = 1;
    EXPECT(test_read_file("no such file", &length) == NULL);
    EXPECT_EQ(length, 0);
}
PROPERTY(holds, 5) { EXPECT(random_below(random, 10) < 10); }
PROPERTY(holds_not, 1000) { EXPECT(random_below(random, 10) != 3); }
TEST(crashes) { *(volatile char *)mem_resize(NULL, 0, 1) = 0; __builtin_trap(); }
TEST(comes_last) { EXPECT(strlen("ab") == 2); }
"""


class Harness:
    """The program above, built once."""
    folder = None
    program = None

    @classmethod
    def build(cls):
        if cls.program is None:
            cls.folder = tempfile.TemporaryDirectory()
            source = os.path.join(cls.folder.name, "harness.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write(HARNESS)
            sources = [os.path.join(ROOT, path) for path in
                       ("test/lib/test.c", "src/base/mem.c", "src/base/check.c", "src/base/random.c")]
            program = os.path.join(cls.folder.name, "harness")
            subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-w", f"-I{ROOT}/src", f"-I{ROOT}/test",
                            "-o", program, source, *sources, "-lpthread"], check=True)
            cls.program = program
        return cls.program


def harness(*words):
    return Run([Harness.build(), *words], Harness.folder.name)


@test
def c_tests_pass_and_fail():
    run = harness("passes", "fails_twice")
    lines = run.output.splitlines()
    expect_equal(lines[:2], ["1..2", "ok 1 - passes"])
    expect(re.fullmatch(r"# .*harness\.c:\d+: expected: strlen\(\"ab\"\) == 3", lines[2]), lines[2])
    expect(re.fullmatch(r"# .*harness\.c:\d+: strlen\(\"ab\"\) is 2, expected 4", lines[3]), lines[3])
    expect_equal(lines[4:], ["not ok 2 - fails_twice", "1 passed, 1 failed"])
    expect_equal((run.exit_code, harness("passes").exit_code), (1, 0))


@test
def c_comparisons_show_both_sides():
    expect_in("is -3, expected 5\n", harness("compares_numbers").output)
    output = harness("compares_texts").output
    expect_in('differs at byte 5\n#   is       "warp \\x01\\n\\""\n#   expected "warp weft"\n', output)
    expect_in('#   is       NULL\n#   expected "x"\n', output)
    expect_in('does not contain the text\n#   is       "warp"\n#   expected "weft"\n', output)
    around = "a" * 24 + "{}" + "a" * 95
    expect_in(f'differs at byte 300\n#   is       ..."{around.format("a")}"...\n', output)
    expect_in(f'\n#   expected ..."{around.format("b")}"...\n', output)


@test
def c_leaks_and_wrong_sizes_fail():
    expect_in("leak: 1 blocks are alive, 0 were before the test\n#   24 bytes, block 0 of the test\n",
              harness("leaks").output)
    expect_in("a block of 24 bytes was given back as 25 bytes\n", harness("frees_another_size").output)
    expect_in("a block of 24 bytes was given back as 23 bytes\n", harness("resizes_another_size").output)
    expect_in("a block of 24 bytes that is not alive was given back\n", harness("frees_twice").output)
    expect_equal(harness("leaks", "another_size").total(), "0 passed, 3 failed")


@test
def c_many_failures_are_cut_short():
    output = harness("fails_often").output
    expect_in("i is 19, expected -1\n", output)
    expect_not_in("i is 20, expected -1\n", output)
    expect_in("more failures follow, not shown\n", output)


@test
def c_a_missing_file_is_a_failure():
    run = harness("misses_a_file")
    expect_in("no such file cannot be read: No such file or directory\n", run.output)
    expect_equal(run.total(), "0 passed, 1 failed")


@test
def c_properties_print_their_seed_and_repeat_it():
    expect_in("# holds: seed 7\nok 1 - holds\n", harness("--seed=7", "--rounds=2", "holds").output)
    run = harness("holds_not")
    repeat = re.search(r"# failed in round \d+: repeat with (--seed=\d+) (--rounds=1) (holds_not)\n", run.output)
    expect(repeat, run.output)
    again = harness(*repeat.groups())
    expect_in("failed in round 0", again.output)
    expect_equal((run.total(), again.total()), ("0 passed, 1 failed", "0 passed, 1 failed"))


@test
def c_a_limit_of_rounds_never_adds_any():
    failing = re.search(r"# failed in round (\d+)", harness("--seed=5", "holds_not").output)
    rounds = 1 + int(failing[1])
    expect(rounds > 1, "the seed of this test fails too early")
    words = ("--seed=5", "holds_not")
    expect_equal(harness(*words, f"--rounds-max={rounds}").total(), "0 passed, 1 failed")
    expect_equal(harness(*words, f"--rounds-max={rounds - 1}").total(), "1 passed, 0 failed")
    expect_equal(harness(*words, "--rounds=1", f"--rounds-max={rounds}").total(), "1 passed, 0 failed")


@test
def c_the_same_seed_gives_the_same_report():
    words = ("--seed=5", "--rounds=100", "holds_not")
    expect_equal(harness(*words).output, harness(*words).output)


@test
def c_tests_run_in_the_order_of_the_source():
    names = re.findall(r"(?:TEST|PROPERTY)\((\w+)", HARNESS)
    expect_equal(harness("--list").output.split(), names)
    expect_equal(harness("--list", "size").output.split(), ["frees_another_size", "resizes_another_size"])


@test
def c_options():
    expect_equal(harness("silk").output, "1..0\n0 passed, 0 failed\n")
    expect_equal(harness("silk").exit_code, 0)
    help_run = harness("--help")
    expect_in("--rounds=N", help_run.output)
    expect_equal(help_run.exit_code, 0)
    for word in ("--colour", "-x", "--seed=", "--seed=1x", "--seed=-1", "--rounds=0", "--rounds-max=0", "--seed=18446744073709551616"):
        run = harness(word)
        expect_equal((run.exit_code, run.output), (2, ""))
        expect_in(f"bad option {word}\n", run.errors)


@test
def c_a_crash_is_named_by_the_runner():
    run = Run([sys.executable, RUN_TESTS, Harness.build(), "--", "passes", "crashes", "comes_last"], Harness.folder.name)
    expect_equal((run.total(), run.exit_code), ("1 passed, 2 failed", 1))
    expect_in("test 2, crashes, was never reported\n", run.output)


@test
def c_a_report_that_cannot_be_written_is_no_pass():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([Harness.build(), "passes"], stdout=full, check=False)
    expect_equal(done.returncode, 1)


main()
