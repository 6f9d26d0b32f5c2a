/* Limits that take a long time to reach, through the public header, on disk.
 * test/e2e/limits.sh starts it with a directory that does not exist:
 *
 *   header_limits elements DIRECTORY    of an array
 *   header_limits keys DIRECTORY        of an object
 *   header_limits documents DIRECTORY   that one commit writes
 *
 * Each says what becomes of the last one that fits and of the next, and how
 * many are there after a restart. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "heddle/heddle.h"

static hd_runtime *runtime;

static void need(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)printf("%s: %s\n", hd_status_name(status), error->text);
        exit(1);
    }
}

static void open_runtime(const char *directory)
{
    const hd_runtime_options options = {.directory = directory};
    hd_error error;
    need(hd_runtime_open(&options, &runtime, &error), &error);
}

static hd_cell *cell_of(const char *document)
{
    hd_cell *cell = NULL;
    hd_error error;
    need(hd_cell_new(runtime, document, NULL, &cell, &error), &error);
    return cell;
}

static hd_status settled(void)
{
    hd_error error;
    return hd_runtime_settled(runtime, HD_NEVER, &error);
}

static void restart(const char *directory)
{
    need(settled(), &(hd_error){.text = "it does not settle"});
    hd_runtime_free(runtime);
    open_runtime(directory);
}

/* -- Parts of a value ---------------------------------------------------- */

static hd_value *value_with(bool keys, unsigned count)
{
    struct buf text = {0};
    buf_append_char(&text, keys ? '{' : '[');
    for (unsigned i = 0; i < count; i++) {
        buf_append_text(&text, i > 0 ? "," : "");
        if (keys) {
            buf_printf(&text, "\"%x\":", i);
        }
        buf_append_char(&text, '0');
    }
    buf_append_char(&text, keys ? '}' : ']');
    hd_value *value = NULL;
    hd_error error;
    need(hd_value_parse(text.at, text.length, &value, &error), &error);
    buf_release(&text);
    return value;
}

static hd_status add(hd_cell *cell, bool keys, const char *key)
{
    hd_value *zero = NULL;
    hd_status status = hd_value_new_int(0, &zero);
    hd_cell *child = NULL;
    if (status == HD_OK && keys) {
        status = hd_cell_child(cell, key, &child, NULL);
    }
    if (status == HD_OK) {
        status = keys ? hd_cell_set(child, zero, NULL)
                      : hd_cell_append(cell, zero, NULL);
    }
    hd_cell_free(child);
    hd_value_unref(zero);
    return status;
}

static void try_parts(bool keys, unsigned limit, const char *directory)
{
    hd_cell *cell = cell_of("box");
    hd_value *value = value_with(keys, limit - 1);
    hd_error error;
    need(hd_cell_set(cell, value, &error), &error);
    hd_value_unref(value);
    (void)printf("%s", hd_status_name(add(cell, keys, "/last")));
    (void)printf(" %s", hd_status_name(add(cell, keys, "/next")));
    hd_cell_free(cell);
    restart(directory);
    cell = cell_of("box");
    size_t count = 0;
    need(hd_cell_count(cell, &count, &error), &error);
    (void)printf(" %zu\n", count);
    hd_cell_free(cell);
}

/* -- Documents ----------------------------------------------------------- */

struct documents {
    unsigned from;
    unsigned count;
};

static hd_status write_documents(hd_runtime *of, void *context)
{
    const struct documents *documents = context;
    hd_status status = HD_OK;
    for (unsigned i = 0; status == HD_OK && i < documents->count; i++) {
        char name[32];
        hd_cell *cell = NULL;
        (void)snprintf(name, sizeof name, "d%u", documents->from + i);
        status = hd_cell_new(of, name, NULL, &cell, NULL);
        if (status == HD_OK) {
            status = hd_cell_set_int(cell, 1, NULL);
        }
        hd_cell_free(cell);
    }
    return status;
}

static void try_documents(const char *directory)
{
    struct documents documents = {0, LIMIT_COMMIT_OPERATIONS};
    hd_error error;
    for (unsigned more = 0; more < 2; more++) {
        documents.count = LIMIT_COMMIT_OPERATIONS + more;
        (void)printf(
            "%s ",
            hd_status_name(
                hd_runtime_edit(runtime, write_documents, &documents, &error)));
        documents.from += documents.count;
    }
    restart(directory);
    unsigned found = 0;
    for (unsigned i = 0; i < documents.from; i += documents.from / 100) {
        char name[32];
        (void)snprintf(name, sizeof name, "d%u", i);
        hd_cell *cell = cell_of(name);
        int64_t number = 0;
        found += hd_cell_get_int(cell, &number, NULL) == HD_OK && number == 1;
        hd_cell_free(cell);
    }
    (void)printf("%u\n", found);
}

int main(int count, char **words)
{
    if (count != 3) {
        return 2;
    }
    open_runtime(words[2]);
    if (strcmp(words[1], "elements") == 0) {
        try_parts(false, LIMIT_ARRAY_ELEMENTS, words[2]);
    } else if (strcmp(words[1], "keys") == 0) {
        try_parts(true, LIMIT_OBJECT_KEYS, words[2]);
    } else {
        try_documents(words[2]);
    }
    hd_runtime_free(runtime);
    return 0;
}
