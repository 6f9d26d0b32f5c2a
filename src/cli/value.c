/* heddle value: JSON documents without a store.
 *
 * Every command here reads its documents, asks the library one question and
 * prints the answer. The table at the end is the reference: what is not in it
 * does not exist. */

#include <stdio.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/display.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/report.h"

static const char *operand_word(const struct options *options, size_t index)
{
    return options->operands[index].word;
}

/* Reads the first two operands; both are NULL if one of them is bad. */
static int read_pair(const struct options *options, hd_value *pair[2])
{
    pair[0] = pair[1] = NULL;
    int code = input_read(options, 0, &pair[0]);
    if (code == CODE_OK) {
        code = input_read(options, 1, &pair[1]);
    }
    if (code != CODE_OK) {
        hd_value_unref(pair[0]);
        pair[0] = NULL;
    }
    return code;
}

static void release_pair(hd_value *pair[2])
{
    hd_value_unref(pair[0]);
    hd_value_unref(pair[1]);
}

/* A wrong pointer is to blame itself; otherwise it is the document that has no
 * such place. */
static const char *source_of(const struct options *options,
                             const hd_error *error)
{
    const bool bad_pointer =
        error->status == HD_SYNTAX || error->status == HD_LIMIT_PATH;
    return bad_pointer ? operand_word(options, 1)
                       : input_name(&options->operands[0]);
}

/* -- One document -------------------------------------------------------- */

static int run_parse(const struct options *options)
{
    hd_value *document = NULL;
    int code = input_read(options, 0, &document);
    if (code == CODE_OK) {
        code = output_value(options, document);
    }
    hd_value_unref(document);
    return code;
}

static int print_found(const struct options *options, const hd_value *found)
{
    const char *bytes = NULL;
    size_t length = 0;
    if (option_is_given(options, OPTION_RAW) &&
        hd_value_get_string(found, &bytes, &length) == HD_OK) {
        output_bytes(bytes, length);
        return CODE_OK;
    }
    return output_value(options, found);
}

static int run_get(const struct options *options)
{
    hd_value *document = NULL;
    hd_value *found = NULL;
    hd_error error;
    int code = input_read(options, 0, &document);
    if (code == CODE_OK) {
        const hd_status status = hd_value_get(document,
                                              operand_word(options, 1),
                                              HD_TERMINATED,
                                              &found,
                                              &error);
        code = status == HD_OK
                   ? print_found(options, found)
                   : report_error(options, source_of(options, &error), &error);
    }
    hd_value_unref(found);
    hd_value_unref(document);
    return code;
}

static int set(const struct options *options,
               const hd_value *document,
               const hd_value *item)
{
    hd_value *changed = NULL;
    hd_error error;
    if (hd_value_set(document,
                     operand_word(options, 1),
                     HD_TERMINATED,
                     item,
                     &changed,
                     &error) != HD_OK) {
        return report_error(options, source_of(options, &error), &error);
    }
    const int code = output_value(options, changed);
    hd_value_unref(changed);
    return code;
}

static int run_set(const struct options *options)
{
    hd_value *document = NULL;
    hd_value *item = NULL;
    int code = input_read(options, 0, &document);
    if (code == CODE_OK) {
        code = input_parse(options, 2, "VALUE", &item);
    }
    if (code == CODE_OK) {
        code = set(options, document, item);
    }
    hd_value_unref(item);
    hd_value_unref(document);
    return code;
}

static int run_digest(const struct options *options)
{
    hd_value *document = NULL;
    char digest[HD_DIGEST_LENGTH + 1];
    int code = input_read(options, 0, &document);
    if (code == CODE_OK) {
        const hd_status status = hd_value_digest(document, digest);
        if (status == HD_OK) {
            output_word(options, "digest", digest);
        } else {
            code = report_status(options, NULL, status);
        }
    }
    hd_value_unref(document);
    return code;
}

static int print_id(const struct options *options, const hd_value *cause)
{
    hd_value *id = NULL;
    const char *word = NULL;
    const hd_status status = hd_value_id(operand_word(options, 0), cause, &id);
    if (status != HD_OK) {
        return report_usage(options,
                            "PREFIX must be 1 to 16 letters, digits and ':'");
    }
    (void)hd_value_get_string(id, &word, NULL);
    output_word(options, "id", word);
    hd_value_unref(id);
    return CODE_OK;
}

static int run_id(const struct options *options)
{
    hd_value *cause = NULL;
    int code = input_read(options, 1, &cause);
    if (code == CODE_OK) {
        code = print_id(options, cause);
    }
    hd_value_unref(cause);
    return code;
}

/* -- Two documents ------------------------------------------------------- */

static int run_patch(const struct options *options)
{
    hd_value *pair[2];
    hd_value *patched = NULL;
    hd_error error;
    int code = read_pair(options, pair);
    if (code == CODE_OK) {
        code = hd_value_patch(pair[0], pair[1], &patched, &error) == HD_OK
                   ? output_value(options, patched)
                   : report_error(options,
                                  input_name(&options->operands[1]),
                                  &error);
    }
    hd_value_unref(patched);
    release_pair(pair);
    return code;
}

/* Of a list of differences: the exit code that was asked for. */
static int difference_code(const struct options *options, const hd_value *list)
{
    size_t count = 0;
    (void)hd_value_count(list, &count);
    const bool counts = option_is_given(options, OPTION_EXIT_CODE);
    return counts && count > 0 ? CODE_NO : CODE_OK;
}

static int run_diff(const struct options *options)
{
    hd_value *pair[2];
    hd_value *patch = NULL;
    int code = read_pair(options, pair);
    if (code == CODE_OK) {
        const hd_status status = hd_value_diff(pair[0], pair[1], &patch);
        code = status == HD_OK ? output_value(options, patch)
                               : report_status(options, NULL, status);
    }
    if (code == CODE_OK) {
        code = difference_code(options, patch);
    }
    hd_value_unref(patch);
    release_pair(pair);
    return code;
}

/* One pointer a line; a key with a newline in it must not make two. */
static void print_pointers(const hd_value *pointers)
{
    struct buf line = {0};
    hd_value *pointer = NULL;
    for (size_t i = 0; hd_value_at(pointers, i, &pointer) == HD_OK; i++) {
        const char *text = NULL;
        (void)hd_value_get_string(pointer, &text, NULL);
        buf_clear(&line);
        display_append(&line, text);
        output_bytes(buf_text(&line), line.length);
        hd_value_unref(pointer);
    }
    buf_release(&line);
}

static int run_paths(const struct options *options)
{
    hd_value *pair[2];
    hd_value *pointers = NULL;
    int code = read_pair(options, pair);
    if (code == CODE_OK) {
        const hd_status status =
            hd_value_changed_paths(pair[0], pair[1], &pointers);
        if (status != HD_OK) {
            code = report_status(options, NULL, status);
        } else if (option_is_given(options, OPTION_JSON)) {
            code = output_value(options, pointers);
        } else {
            print_pointers(pointers);
        }
    }
    if (code == CODE_OK) {
        code = difference_code(options, pointers);
    }
    hd_value_unref(pointers);
    release_pair(pair);
    return code;
}

static int run_equal(const struct options *options)
{
    hd_value *pair[2];
    bool equal = false;
    int code = read_pair(options, pair);
    if (code == CODE_OK) {
        (void)hd_value_equal(pair[0], pair[1], &equal);
        const bool json = option_is_given(options, OPTION_JSON);
        (void)printf("%s\n",
                     json    ? equal ? "{\"equal\":true}" : "{\"equal\":false}"
                     : equal ? "equal"
                             : "different");
        code = equal ? CODE_OK : CODE_NO;
    }
    release_pair(pair);
    return code;
}

/* -- The table ----------------------------------------------------------- */

#define FORM_OPTIONS (OPTION_TEXT | OPTION_PRETTY | OPTION_CANONICAL)

const struct command value_commands[] = {
    {
        .name = "parse",
        .operands = "FILE",
        .operand_count = 1,
        .options = FORM_OPTIONS,
        .brief = "check a document and print it",
        .manual = "Checks that FILE is strict JSON and prints it, on one line\n"
                  "unless --pretty is given. An error names line and column.\n",
        .example =
            "  $ heddle value parse --canonical --text '{\"b\":1.0,\"a\":2}'\n"
            "  {\"a\":2,\"b\":1}\n",
        .run = run_parse,
    },
    {
        .name = "get",
        .operands = "FILE POINTER",
        .operand_count = 2,
        .options = FORM_OPTIONS | OPTION_RAW,
        .brief = "print the value at a place in a document",
        .manual =
            "Prints the value at POINTER, a JSON Pointer: \"\" is the whole,\n"
            "/a/0 goes to the key a and to its first element, ~1 stands\n"
            "for a slash in a key and ~0 for a tilde. Exits with 1 if\n"
            "there is no value.\n",
        .example =
            "  $ heddle value get --text '{\"who\":[\"Ann\",\"Bo\"]}' /who/1\n"
            "  \"Bo\"\n",
        .run = run_get,
    },
    {
        .name = "set",
        .operands = "FILE POINTER VALUE",
        .operand_count = 3,
        .options = FORM_OPTIONS,
        .brief = "print a document with one place changed",
        .manual = "Prints FILE with VALUE at POINTER. Missing keys on the way\n"
                  "are created; in an array VALUE is inserted, at the end if\n"
                  "the index is '-'. VALUE is JSON text, so a string needs\n"
                  "quotes of its own: '\"Ann\"'. The FILE is not changed.\n",
        .example =
            "  $ heddle value set --text '{\"port\": 80}' /hosts/- '\"ann\"'\n"
            "  {\"port\":80,\"hosts\":[\"ann\"]}\n",
        .run = run_set,
    },
    {
        .name = "patch",
        .operands = "FILE PATCH",
        .operand_count = 2,
        .options = FORM_OPTIONS,
        .brief = "apply a patch to a document",
        .manual = "Prints FILE after PATCH, an array of operations: replace,\n"
                  "add, remove, move, splice, append, add-unique,\n"
                  "remove-by-value and increment. All of them are applied, or\n"
                  "none. heddle-value(1) describes each.\n",
        .example =
            "  $ heddle value patch --text '{\"n\": 1}' \\\n"
            "      --text '[{\"op\":\"increment\",\"path\":\"/n\",\"by\":4}]'\n"
            "  {\"n\":5}\n",
        .run = run_patch,
    },
    {
        .name = "diff",
        .operands = "BEFORE AFTER",
        .operand_count = 2,
        .options = FORM_OPTIONS | OPTION_EXIT_CODE,
        .brief = "print the patch from one document to another",
        .manual =
            "Prints a patch that turns BEFORE into AFTER, [] if they are\n"
            "equal. 'heddle value patch BEFORE PATCH' then gives AFTER.\n",
        .example =
            "  $ heddle value diff --text '{\"a\": 1}' --text '{\"a\": 2}'\n"
            "  [{\"op\":\"replace\",\"path\":\"/a\",\"value\":2}]\n",
        .run = run_diff,
    },
    {
        .name = "paths",
        .operands = "BEFORE AFTER",
        .operand_count = 2,
        .options = OPTION_TEXT | OPTION_PRETTY | OPTION_EXIT_CODE,
        .brief = "print the places where two documents differ",
        .manual = "Prints the JSON Pointers at which the two differ, one per\n"
                  "line, sorted bytewise.\n",
        .example = "  $ heddle value paths --text '{\"a\": 1, \"b\": 2}' \\\n"
                   "      --text '{\"a\": 3}'\n"
                   "  /a\n"
                   "  /b\n",
        .run = run_paths,
    },
    {
        .name = "equal",
        .operands = "FILE FILE",
        .operand_count = 2,
        .options = OPTION_TEXT,
        .brief = "tell whether two documents are equal",
        .manual = "Prints 'equal' and exits with 0, or 'different' and exits\n"
                  "with 1. The order of keys does not count, and 1.0 is 1.\n",
        .example = "  $ heddle value equal --text '{\"a\": 1, \"b\": 2}' \\\n"
                   "      --text '{\"b\": 2.0, \"a\": 1}'\n"
                   "  equal\n",
        .run = run_equal,
    },
    {
        .name = "digest",
        .operands = "FILE",
        .operand_count = 1,
        .options = OPTION_TEXT,
        .brief = "print a digest of a document's content",
        .manual =
            "Prints 43 letters, digits, '-' and '_' that are the same for\n"
            "equal documents and, for all practical purposes, for no\n"
            "others; on every machine and in every version.\n",
        .example = "  $ heddle value digest --text '{\"b\": 2, \"a\": 1}'\n"
                   "  6f_MxupBw1pnnzeTwwmimtZsMlYJTtbybiUp0uUIlC0\n",
        .run = run_digest,
    },
    {
        .name = "id",
        .operands = "PREFIX CAUSE",
        .operand_count = 2,
        .options = OPTION_TEXT,
        .brief = "print the id that follows from a cause",
        .manual = "Prints PREFIX and a digest of the document CAUSE: the same\n"
                  "cause has the same id, everywhere. PREFIX is 1 to 16\n"
                  "letters, digits and ':'.\n",
        .example = "  $ heddle value id of: --text '[\"order\", 17]'\n"
                   "  of:NV_Rs1CuxFL_QThaRlNqtNm3D89ufjWQSkF_JWfuRQI\n",
        .run = run_id,
    },
    {.name = NULL},
};
