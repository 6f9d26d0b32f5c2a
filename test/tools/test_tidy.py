#!/usr/bin/env python3
"""tools/tidy: every rule is seen to fail on a small tree that breaks it, and to
pass on one that only looks as if it did."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leave no __pycache__ in the tree
from tap import add_test, expect_equal, expect_in, main, test

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/tidy")

LAYERS = """\
# Who may include whom.
base:
value: base
sched: base value
sched/gates:
sched/node: gates
<xxhash.h>: value
<heddle/heddle.h>: value
"""

HEADER = "/* A file that is here for a test. */\n"

RETIRED = """\
# old: new
swift: fast_run
quick_*: payload_write
hollow: unloaded   # a word of comments as well
"""

# A tree without a problem, which the rows below change by one file.
CLEAN = {
    "src/LAYERS": LAYERS,
    "src/base/buf.h": HEADER + "#include <stddef.h>\n",
    "src/value/value.h": HEADER,
    "src/value/value.c": HEADER + '#include "value/value.h"\n\n#include <xxhash.h>\n\n#include "base/buf.h"\n',
    "src/sched/node.c": HEADER + '#include "sched/node.h"\n#include "sched/gates.h"\n#include "value/value.h"\n',
    "src/sched/gates.c": HEADER + '#include "sched/gates.h"\n',
    "include/heddle/heddle.h": HEADER + "#include <stdint.h>\n#include <heddle/more.h>\n",
    "test/lib/test.c": HEADER + '#include "lib/test.h"\n',
    "Makefile": "# Builds what there is to build.\nall:\n\techo done\n",
    "tools/helper": "#!/bin/sh\n# Helps where it is of use.\necho done\n",
    "README.md": "A tree.\n",
}


def body(lines, signature="static void run(void)"):
    return HEADER + signature + "\n{\n" + "    step();\n" * lines + "}\n"


def statement(text):
    return HEADER + f"static void run(struct node *node)\n{{\n    {text}\n}}\n"


# Name, changed files, the problems that must be found: "path:line: rule".
BAD = [
    ("layers_a_folder_above_is_refused", {"src/base/buf.h": HEADER + '#include "value/value.h"\n'},
     ["src/base/buf.h:2: layers"]),
    ("layers_a_component_above_is_refused", {"src/sched/gates.c": HEADER + '#include "sched/node.h"\n'},
     ["src/sched/gates.c:2: layers"]),
    ("layers_a_component_without_a_line_is_refused", {"src/sched/extra.c": HEADER},
     ["src/sched/extra.c:1: layers"]),
    ("layers_a_folder_without_a_line_is_refused", {"src/net/loop.c": HEADER}, ["src/net/loop.c:1: layers"]),
    ("layers_a_file_beside_the_folders_is_refused", {"src/loop.c": HEADER}, ["src/loop.c:1: layers"]),
    ("layers_an_include_without_a_folder_is_refused",
     {"src/base/buf.c": HEADER + '#include "buf.h"\n', "test/lib/test.c": HEADER + '#include "test.h"\n'},
     ["src/base/buf.c:2: layers", "test/lib/test.c:2: layers"]),
    ("layers_an_include_out_of_src_is_refused", {"src/base/buf.c": HEADER + '#include "../test/lib/test.h"\n'},
     ["src/base/buf.c:2: layers"]),
    ("layers_an_outside_header_has_its_home", {"src/base/buf.c": HEADER + "#include <xxhash.h>\n"},
     ["src/base/buf.c:2: layers"]),
    ("layers_an_outside_header_needs_a_line", {"src/base/buf.c": HEADER + "#include <unistd.h>\n"},
     ["src/base/buf.c:2: layers"]),
    ("layers_the_public_header_is_outside",
     {"src/base/buf.c": HEADER + '#include "heddle/heddle.h"\n#include <heddle/heddle.h>\n'},
     ["src/base/buf.c:2: layers", "src/base/buf.c:3: layers"]),
    ("layers_a_public_header_includes_only_the_standard",
     {"include/heddle/heddle.h": HEADER + '#include <unistd.h>\n#include "base/buf.h"\n#include <other/more.h>\n'},
     ["include/heddle/heddle.h:2: layers", "include/heddle/heddle.h:3: layers", "include/heddle/heddle.h:4: layers"]),

    ("length_71_lines_are_too_many", {"src/base/buf.c": body(71)}, ["src/base/buf.c:3: length"]),
    ("length_1001_lines_are_too_many", {"src/base/buf.c": HEADER + "int x;\n" * 1000}, ["src/base/buf.c:1000: length"]),

    ("header_a_c_file_without_one", {"src/base/buf.c": "int x;\n"}, ["src/base/buf.c:1: header"]),
    ("header_that_says_too_little", {"src/base/buf.c": "/* The buffer. */\n"}, ["src/base/buf.c:1: header"]),
    ("header_a_script_without_one", {"tools/helper": "#!/bin/sh\necho done\n"}, ["tools/helper:1: header"]),
    ("header_a_python_file_without_one", {"test/tools/x.py": "import os\n"}, ["test/tools/x.py:1: header"]),

    ("output_printf_in_the_library", {"src/base/buf.c": statement('printf("x");')}, ["src/base/buf.c:4: output"]),
    ("output_a_stream_in_the_library", {"src/base/buf.c": statement("log_to(stderr);")}, ["src/base/buf.c:4: output"]),

    ("list_a_rule_inside_a_paragraph",
     {"src/base/buf.h": HEADER + "/* Rules\n *   buf-1  One. buf-2  Two.\n * More. buf-3\n * Three. */\n"},
     ["src/base/buf.h:3: list", "src/base/buf.h:4: list"]),
    ("names_a_retired_one_in_a_header",
     {"tools/retired-names": RETIRED, "src/base/buf.h": HEADER + "void quick_put(int swift);\n/* a hollow one */\n",
      "include/heddle/heddle.h": HEADER + "struct swift;\n"},
     ["include/heddle/heddle.h:2: names", "src/base/buf.h:2: names", "src/base/buf.h:2: names",
      "src/base/buf.h:3: names"]),
    ("names_a_file_of_a_retired_one", {"tools/retired-names": RETIRED, "src/base/swift.h": HEADER},
     ["src/base/swift.h:1: names"]),
    ("words_a_message_without_an_actor", {"src/base/buf.c": statement('fail("somebody holds the file");')},
     ["src/base/buf.c:4: words"]),
    ("words_also_where_a_sentence_begins", {"src/base/buf.c": statement('fail("Nobody reads the output");')},
     ["src/base/buf.c:4: words"]),
    ("words_in_a_man_page", {"man/heddle.1": ".Sh DESCRIPTION\nThe last 100 commits, unless told otherwise.\n"},
     ["man/heddle.1:2: words"]),
    ("words_in_the_specification",
     {"docs/spec/model.md": "# Model\n\nNobody reads.\n", "docs/decisions/0001-x.md": "It goes on.\n", "docs/notes.md": "Nobody.\n"},
     ["docs/decisions/0001-x.md:1: words", "docs/spec/model.md:3: words"]),
    ("words_in_two_strings_and_two_lines",
     {"src/base/buf.c": statement('help("prints 100 commits, unless"\n         "\\ntold otherwise");'),
      "src/value/value.c": HEADER + 'const char *const text = "the piece goes "\n                         "on";\n'},
     ["src/base/buf.c:4: words", "src/value/value.c:2: words"]),

    ("links_to_a_page_that_is_missing", {"README.md": "See [the map](docs/map.md) and\n[that](docs).\n"},
     ["README.md:1: links", "README.md:2: links"]),
    ("links_to_a_heading_that_is_missing",
     {"docs/map.md": "# Map\n\nSee [here](#the-map), [there](#map), [also](more.md#a-b), [not](more.md#c).\n", "docs/more.md": "## A b\n"},
     ["docs/map.md:3: links", "docs/map.md:3: links"]),
    ("cites_a_source_file_that_is_missing",
     {"docs/map.md": "See `src/value/gone.h`.\n", "src/base/buf.c": HEADER + "/* Two lines:\n * value/gone.h */\n"},
     ["docs/map.md:1: cites", "src/base/buf.c:3: cites"]),
    ("cites_a_document_that_is_not_in_the_tree",
     {"docs/map.md": "As in ../seeds/x.\n", "src/base/buf.c": HEADER + "/* Reference 2.3 says so. */\n",
      "tools/helper": "#!/bin/sh\n# Helps as seed 001 says it.\n", "test/lib/test.c": HEADER + "/* The memory reference, section 3. */\n"},
     ["docs/map.md:1: cites", "src/base/buf.c:2: cites", "test/lib/test.c:2: cites", "tools/helper:2: cites"]),
    ("writer_a_second_one_by_pointer", {"src/base/buf.c": statement("node->status = 1;")}, ["src/base/buf.c:4: writer"]),
    ("writer_a_second_one_in_sql",
     {"src/base/buf.c": statement('run("UPDATE thread SET run = NULL,"\n        " status = ?2 WHERE id = ?1");')},
     ["src/base/buf.c:4: writer"]),
    ("writer_a_second_one_in_sql_by_replacing",
     {"src/base/buf.c": statement('run("insert or replace into thread(id, status) values(1, 2)");')},
     ["src/base/buf.c:4: writer"]),
    ("writer_a_second_one_in_sql_by_a_conflict",
     {"src/base/buf.c": statement('run("INSERT INTO t(s) VALUES(1) ON CONFLICT DO UPDATE SET [status] = 2");')},
     ["src/base/buf.c:4: writer"]),
    ("writer_a_statement_with_another_name",
     {"src/store/statements.h": HEADER + 'X(THREAD_WAKE,\n  "UPDATE thread SET status = \'idle\'"\n  " WHERE id = ?1")\n',
      "src/LAYERS": LAYERS + "store: base\n"},
     ["src/store/statements.h:3: writer"]),
    ("writer_the_statement_used_by_somebody_else",
     {"src/base/buf.c": statement("query(STATEMENT_THREAD_SET_STATUS);")}, ["src/base/buf.c:4: writer"]),
    ("writer_a_second_one_by_value", {"src/base/buf.c": statement("node[0].status |= 1;")}, ["src/base/buf.c:4: writer"]),

    ("leftover_in_code", {"src/base/buf.c": HEADER + "/* TODO: grow */\n"}, ["src/base/buf.c:2: leftover"]),
    ("leftover_in_a_text", {"README.md": "Done.\nFIXME\nXXX\nHACK\n"},
     ["README.md:2: leftover", "README.md:3: leftover", "README.md:4: leftover"]),

    ("path_of_a_machine", {"README.md": "See /home/ada/x.\n", "test/data/a.json": '"/tmp/x"\n'},
     ["README.md:1: path", "test/data/a.json:1: path"]),

    ("layout_81_columns_of_c", {"src/base/buf.c": HEADER + "int " + "x" * 76 + ";\n"}, ["src/base/buf.c:2: layout"]),
    ("layout_141_columns_of_a_script", {"tools/helper": "#!/bin/sh\n# Helps where it is of use.\n" + ":" * 141 + "\n"},
     ["tools/helper:3: layout"]),
    ("layout_white_space_at_the_end", {"README.md": "A tree. \n"}, ["README.md:1: layout"]),
    ("layout_a_tab", {"README.md": "A\ttree.\n"}, ["README.md:1: layout"]),
    ("layout_a_last_line_without_end", {"README.md": "A tree."}, ["README.md:1: layout"]),

    ("mode_a_script_that_cannot_run", {"test/e2e/helper.sh": "#!/bin/sh\n# Helps where it is of use.\n"},
     ["test/e2e/helper.sh:1: mode"]),
]

for call in ("strcpy strcat sprintf strtok atoi atol atof strtod gets alloca gmtime localtime time clock_gettime "
             "gettimeofday rand srand random malloc calloc realloc free setjmp longjmp system sleep usleep").split():
    BAD.append((f"banned_{call}", {"src/value/x.c": statement(f"{call}(0);")}, ["src/value/x.c:4: banned"]))

# Name, changed files: all of this is allowed.
GOOD = [
    ("layers_an_include_in_a_comment_is_none", {"src/base/buf.c": HEADER + '/*\n#include "value/value.h"\n*/\n'}),
    ("layers_tests_may_include_everything",
     {"test/lib/test.c": HEADER + '#include "lib/test.h"\n#include "sched/node.h"\n#include <unistd.h>\n'}),
    ("length_70_lines_are_allowed", {"src/base/buf.c": body(70)}),
    ("length_a_long_table_says_so", {"src/base/buf.c": "/* One table of powers, all of it. */\n" + "int x;\n" * 1000}),
    ("header_may_be_a_docstring", {"test/tools/x.py": '"""Helps where it is\nof use."""\nimport os\n'}),
    ("names_that_only_contain_a_retired_one_and_other_files",
     {"tools/retired-names": RETIRED, "src/base/buf.h": HEADER + "void swiftly(int is_quick, int quick);\n",
      "src/base/buf.c": HEADER + "static int swift;\n", "test/lib/test.h": HEADER + "void quick_put(void);\n"}),
    ("words_in_comments_names_and_tests",
     {"src/base/buf.c": HEADER + '/* somebody goes on */\nconst char *const reason = "nobody-looks";\n',
      "test/lib/test.c": statement('expect("nobody waits");')}),
    ("words_that_only_look_alike", {"src/base/buf.c": statement('say("a run of nobody-looks, whoevers");')}),
    ("banned_words_in_strings_and_comments",
     {"src/base/buf.c": HEADER + '/* not malloc(1)\n * nor time(0) */\nconst char *text = "\\"time(0)"; // rand()\n'
                        "char quote = '\"'; int y; /* system() */\n"}),
    ("banned_names_of_members", {"src/base/buf.c": statement("node->time(1); node->hooks.free(2);")}),
    ("banned_parts_of_names", {"src/base/buf.c": statement("mem_free(node); random_u64(node);")}),
    ("banned_allocation_has_its_home", {"src/base/mem.c": statement("free(malloc(1));")}),
    ("banned_world_in_its_folders", {"src/host/loop.c": statement("time(0);"), "bench/bench_x.c": statement("time(0);"),
                                     "test/lib/test.c": statement("time(0);"), "src/LAYERS": LAYERS + "host: base\n"}),
    ("banned_oracles_may_be_used_in_tests", {"test/unit/value/test_x.c": statement("strtod(0, 0); free(0);")}),
    ("output_of_the_command", {"src/cli/main.c": statement("puts(0);"), "src/LAYERS": LAYERS + "cli: base\n"}),
    ("output_of_a_failed_check", {"src/base/check.c": statement("fputs(0, stderr);")}),
    ("output_format_attributes", {"src/base/buf.h": HEADER + "__attribute__((format(printf, 1, 2))) void say(int);\n"}),
    ("writer_the_one_there_is",
     {"src/base/buf.c": HEADER + "static void node_set_status(struct node *node,\n                            int to)\n"
                        "{\n    node->status = to;\n}\n"}),
    ("writer_the_one_there_is_in_sql",
     {"src/store/statements.h": HEADER + 'X(THREAD_SET_STATUS,\n  "UPDATE thread SET status = ?2 WHERE id = ?1")\n'
                                         'X(BRANCH_DELETE, "UPDATE branch SET status = 1")\n',
      "src/store/writer.c": HEADER + "static void thread_set_status(void)\n{\n    query(STATEMENT_THREAD_SET_STATUS);\n}\n",
      "src/LAYERS": LAYERS + "store: base\n"}),
    ("writer_comparing_and_inserting_in_sql_is_no_writing",
     {"src/base/buf.c": statement('run("UPDATE t SET exit_status = 2 WHERE status = 3");\n    run("INSERT INTO t(status)");')}),
    ("writer_reading_and_making_is_no_writing",
     {"src/base/buf.c": statement("if (node->status == 1) { make((struct node){.status = 1}); }")}),
    ("writer_tests_may_prepare_a_state", {"test/unit/base/test_x.c": statement("node->status = 1;")}),
    ("links_that_lead_somewhere",
     {"docs/map.md": "# The `map`, again\n\n# The map, again\n\n[a](../README.md), [b](#the-map-again), [c](#the-map-again-1), "
                     "[d](../src), [e](https://example.org/x#y)\n\n`[f](gone.md)`\n```\n[g](gone.md)\n```\n"}),
    ("cites_what_is_there",
     {"docs/map.md": "`src/value/value.c` and build/src/value/gone.c, src/*.c\n",
      "src/base/buf.c": HEADER + "/* value/value.h, a/b.h; the reference is held. */\nconst char *x = \"src/value/gone.c\";\n"}),
    ("path_of_a_tree_is_relative", {"README.md": "See build/tmp/x and ./work/y.\n"}),
    ("layout_80_columns_of_c", {"src/base/buf.c": HEADER + "int " + "x" * 75 + ";\n"}),
    ("layout_data_comes_as_it_is", {"test/data/a.json": "\t1 ", "fuzz/corpus/json/1": "TODO \t"}),
    ("binary_files_are_not_read", {"test/data/a.bin": "\0/tmp/ \n"}),
    ("build_output_is_not_read", {"build/x.c": "int x;\n"}),
]


def write_tree(root, files):
    for path, content in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(content)
        if path.startswith("tools/"):
            os.chmod(full, 0o755)


def load_tidy():
    loader = importlib.machinery.SourceFileLoader("tidy", TIDY)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


def run_tidy(root, *words):
    """In this process: starting a hundred interpreters takes longer than all
    that they do."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            exit_code = tidy.main(["--root", root, *words])
        except SystemExit as end:
            exit_code = end.code
    return exit_code, output.getvalue(), errors.getvalue()


def tidy_tree(files):
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, {**CLEAN, **files})
        return run_tidy(root)


def problems_of(output):
    return [match[0] for match in re.finditer(r"^\S+:\d+: \w+", output, re.MULTILINE)]


def expect_problems(files, want):
    exit_code, output, _ = tidy_tree(files)
    expect_equal(problems_of(output), want)
    expect_in(f"{len(want)} problems\n", output)
    expect_equal(exit_code, 1 if want else 0)


def expect_layers_refused(line, sentence):
    exit_code, _, errors = tidy_tree({"src/LAYERS": LAYERS + line})
    expect_equal(errors, f"src/LAYERS:9: layers: {sentence}\n")
    expect_equal(exit_code, 1)


@test
def the_exit_code_is_that_of_the_process():
    with tempfile.TemporaryDirectory() as root:
        for files, want in ((CLEAN, 0), ({"README.md": "A tree. \n"}, 1)):
            write_tree(root, files)
            done = subprocess.run([TIDY, "--root", root], stdout=subprocess.DEVNULL, check=False)
            expect_equal(done.returncode, want)


@test
def a_clean_tree_has_no_problem():
    exit_code, output, _ = tidy_tree({})
    expect_equal(output, f"tidy: checked {len(CLEAN)} files, 0 problems\n")
    expect_equal(exit_code, 0)


for row in BAD:
    add_test(row[0], lambda row=row: expect_problems(row[1], row[2]))
for row in GOOD:
    add_test(row[0], lambda row=row: expect_problems(row[1], []))


@test
def layers_a_line_names_only_lines_above_it():
    expect_layers_refused("net: base store\n", "net names store, which is not above it")
    expect_layers_refused("net: net\n", "net names net, which is not above it")
    expect_layers_refused("sched/events: runner\n", "sched/events names runner, which is not above it")
    expect_layers_refused("<lua.h>: script\n", "<lua.h> names script, which is not above it")


@test
def layers_a_line_is_complete_and_alone():
    expect_layers_refused("base: value\n", "a second line for base")
    expect_layers_refused("net\n", "a line is a name, a colon and names")
    expect_layers_refused("net/loop:\n", "net has no line above net/loop")


@test
def looking_at_no_file_is_an_error():
    with tempfile.TemporaryDirectory() as root:
        exit_code, output, _ = run_tidy(root)
    expect_equal(output, "tidy: checked 0 files, 0 problems\n")
    expect_equal(exit_code, 1)


@test
def files_can_be_named():
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, {**CLEAN, "README.md": "A tree. \n"})
        expect_in("checked 1 files, 0 problems", run_tidy(root, "Makefile")[1])
        expect_in("checked 1 files, 1 problems", run_tidy(root, "./README.md")[1])
        expect_equal(run_tidy(root, "missing.c")[0], 2)


@test
def git_says_which_files_count():
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, {**CLEAN, ".gitignore": "ignored.c\n", "ignored.c": "int x;\n", "new.c": "int x;\n",
                          "gone.c": "int x;\n"})
        subprocess.run(["git", "-C", root, "init", "-q"], check=True)
        subprocess.run(["git", "-C", root, "add", "gone.c", "Makefile"], check=True)
        os.unlink(os.path.join(root, "gone.c"))
        expect_equal(problems_of(run_tidy(root)[1]), ["new.c:1: header"])


tidy = load_tidy()
main()
