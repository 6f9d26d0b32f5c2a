#!/usr/bin/env python3
"""tools/bench and tools/bench-page: the one table, its remarks and verdicts,
the section of the page and its plots. The benchmarks themselves are run by
people; one quick one is run here, for the way from a program to the page."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True  # leave no __pycache__ in the tree
from tap import expect, expect_equal, expect_in, expect_not_in, main, test

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build/gcc-release")))


def load(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_") + "_under_test", os.path.join(ROOT, "tools", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


bench = load("bench")
page = load("bench-page")


def row(workload, ours, **more):
    return {"workload": workload, "unit": "ns", "ours": ours, **more}


def results_of(*rows, group="sched"):
    return {group: {"quick": False, "peer": "alien", "other": "floor", "wrong": 0, "rows": list(rows)}}


DEEP = row("deep1000", 75.5, peer=60, ratio="1.26x", other=20, other_ratio="3.78x", runs=11, runs_expected=12,
           allocations=0, spread_percent=3, apart_percent=4, bar="<= 3x", met=True)
SLOW = row("slow", 5000, peer=1000, ratio="5.00x", spread_percent=3, apart_percent=16, bar="<= 3x", met=False)

# ---- the table ----


@test
def a_line_has_ours_each_peer_runs_allocations_and_a_verdict():
    text = bench.table_text(results_of(DEEP))
    line = next(line for line in text.splitlines() if line.startswith("deep1000"))
    expect_equal(line.split(), "deep1000 75.5 ns 60.0 ns 1.26x 20.0 ns 3.78x 11/12 0 3 % <= 3x ok".split())


@test
def a_bar_that_is_missed_is_told_and_counted():
    expect_in("MISSED", bench.table_text(results_of(DEEP, SLOW)))
    expect_in("1 of 2 bars are met", bench.summary_text(results_of(DEEP, SLOW)))


@test
def without_its_peer_a_row_has_no_verdict():
    lonely = row("deep1000", 75.5, spread_percent=3, apart_percent=1, bar="<= 3x", met=True)
    expect_in("no peer", bench.table_text(results_of(lonely)))
    expect_in("0 of 0 bars", bench.summary_text(results_of(lonely)))


@test
def halves_that_disagree_are_told():
    expect_in("halves 16 % apart", bench.table_text(results_of(SLOW)))
    expect_in("1 of 2 rows are NOT repeatable", bench.summary_text(results_of(DEEP, SLOW)))
    expect_not_in("apart", bench.table_text(results_of(DEEP)))
    expect_in("all 1 timed rows agree", bench.summary_text(results_of(DEEP)))


@test
def a_ratio_that_is_not_that_of_the_last_run_is_told():
    before = results_of(DEEP, SLOW)
    after = results_of({**DEEP, "ours": 85}, {**SLOW, "ours": 4000}, row("new", 1, peer=1, spread_percent=1))
    bench.note_moves(before, after, ["sched"])
    expect_equal([r.get("moved_percent") for r in after["sched"]["rows"]], [12.6, 25.0, None])
    expect_in("ratio 25 % from the last run's", bench.table_text(after))
    expect_not_in("ratio 13 %", bench.table_text(after))
    expect_in("1 of 2 ratios are NOT within 15 % of the last run's", bench.summary_text(after))


@test
def the_ratio_to_the_floor_and_a_row_that_is_a_ratio_are_compared_too():
    mean = {"workload": "geometric mean", "unit": "x", "ours": 3.0}
    before = results_of(DEEP, mean)
    after = results_of({**DEEP, "other": 40}, {**mean, "ours": 2.0})
    bench.note_moves(before, after, ["sched"])
    expect_equal([r.get("moved_percent") for r in after["sched"]["rows"]], [100.0, 50.0])
    expect_in("2 of 2 ratios are NOT within 15 %", bench.summary_text(after))


@test
def a_quick_run_is_not_compared_with_a_whole_one():
    before, after = results_of(DEEP), results_of({**DEEP, "ours": 150})
    after["sched"]["quick"] = True
    bench.note_moves(before, after, ["sched"])
    expect_not_in("last run", bench.table_text(after) + bench.summary_text(after))


@test
def figures_have_three_digits_and_a_unit():
    for figure, unit, text in ((9.876, "ns", "9.88 ns"), (98.76, "ns", "98.8 ns"), (12345, "ns", "12.3 us"),
                               (2048, "bytes", "2.00 KiB"), (0, "calls", "0.00 calls")):
        expect_equal(bench.figure_text(figure, unit), text)


# ---- the page ----

CHAINS = [row(f"update of a chain of {size}", 100 + size / 100, spread_percent=1, apart_percent=1) for size in (10, 1000, 100000)]
SLEEPERS = [row(f"write, {size} dormant readers", 50) for size in (0, 100)]


@test
def a_plot_has_a_point_for_each_size():
    plot = next(plot for plot in page.PLOTS if plot.name == "nodes")
    root = xml.etree.ElementTree.fromstring(page.svg_of(plot, results_of(*CHAINS)))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("{http://www.w3.org/2000/svg}circle")]
    expect_equal(len(circles), 3)
    expect(circles == sorted(circles), "the sizes are in order")
    expect(circles[2][1] < circles[0][1], "what costs more is higher")


@test
def a_size_of_0_is_drawn():
    plot = next(plot for plot in page.PLOTS if plot.name == "dormant")
    expect_in(">0</text>", page.svg_of(plot, results_of(*SLEEPERS)))


@test
def a_ratio_begins_with_1_where_its_peer_is():
    plot = next(plot for plot in page.PLOTS if plot.name == "commits")
    rows = [row("commit 10,000 against 1,000 (memory)", 12, peer=10)]
    expect_equal(page.points_of(results_of(*rows, group="store"), plot.lines[0]), [(1000, 1.0), (10000, 1.2)])


@test
def what_was_not_measured_has_no_plot():
    expect_equal([plot.name for plot in page.PLOTS if page.svg_of(plot, results_of(*CHAINS))], ["nodes"])


@test
def only_what_is_between_the_lines_is_written():
    before = f"# By hand\n\n{page.BEGIN}\n\nold\n\n{page.END}\n\nmore by hand\n"
    after = page.page_with(before, "new")
    expect_equal(after, before.replace("old", "new"))
    expect_equal(page.page_with(after, "new"), after)


@test
def a_page_without_the_lines_is_refused():
    for text in ("", page.BEGIN, f"{page.END}\n{page.BEGIN}"):
        try:
            page.page_with(text, "new")
        except page.PageError:
            continue
        expect(False, f"it was taken: {text!r}")


@test
def the_page_of_this_tree_has_them():
    with open(os.path.join(ROOT, "docs/performance-results.md"), encoding="utf-8") as file:
        page.page_with(file.read(), "new")


# ---- from a program to the page ----

@test
def a_group_is_run_shown_and_written():
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = bench.main(["replica", "--quick", "--results", results, "--programs", os.path.join(BUILD, "bin")])
        expect_equal(code, 0)
        expect_in("read 2, write 1, own authority", out.getvalue())
        expect_in("[1/1,", err.getvalue())
        with open(results, encoding="utf-8") as file:
            got = json.load(file)
        expect(got["replica"]["quick"] and got["machine"]["cores"] > 0, "the file tells how it was made")
        target = os.path.join(folder, "page.md")
        with open(target, "w", encoding="utf-8") as file:
            file.write(f"{page.BEGIN}\n{page.END}\n")
        with contextlib.redirect_stdout(out):
            code = page.main(["--results", results, "--page", target, "--plots", os.path.join(folder, "plots")])
        expect_equal(code, 0)
        with open(target, encoding="utf-8") as file:
            expect_in("| read 2, write 1, own authority |", file.read())


@test
def a_group_that_does_not_exist_is_an_error():
    with contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            bench.main(["nothing"])
        except SystemExit as end:
            expect_equal(end.code, 2)
    expect_in("there is no group nothing", err.getvalue())


@test
def an_interrupt_ends_the_benchmark_too_and_is_a_sentence():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "bench_replica")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho replica: of process $$ >&2\nexec sleep 1000\n")
        os.chmod(program, 0o755)
        with subprocess.Popen([os.path.join(ROOT, "tools/bench"), "replica", "--programs", folder,
                               "--results", os.path.join(folder, "results.json")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as child:
            line = child.stderr.readline()
            expect_in("replica: of process", line)
            child.send_signal(signal.SIGINT)
            rest = child.stderr.read()
        expect_equal(child.returncode, 130)
        expect_in("bench: interrupted", rest)
        expect_not_in("Traceback", rest)
        expect(not os.path.exists(f"/proc/{line.split()[-1]}"), "the benchmark is still there")


main()
