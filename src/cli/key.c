/* heddle key: creates and shows the key that is the identity of a person or a
 * server. */

#include "cli/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/report.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

int key_path(const struct options *options, const char *given, struct buf *to)
{
    const char *name = given != NULL ? given : getenv("HEDDLE_KEY");
    const char *home = getenv("HOME");
    if (name != NULL && name[0] != '\0') {
        buf_append_text(to, name);
        return CODE_OK;
    }
    if (home == NULL || home[0] == '\0') {
        return report_usage(options,
                            "there is no home directory for a key: name a "
                            "file, or set HEDDLE_KEY");
    }
    buf_printf(to, "%s/.config/heddle/key", home);
    return CODE_OK;
}

int key_read(const struct options *options,
             const char *given,
             struct key *out,
             struct buf *path)
{
    struct err_detail detail = {0};
    int code = key_path(options, given, path);
    if (code == CODE_OK &&
        key_file_read(buf_text(path), out, &detail) != ERR_OK) {
        code = report_detail(options, NULL, &detail);
    }
    return code;
}

/* The FILE of the command line, or NULL. */
static const char *file_of(const struct options *options)
{
    return options->operand_count > 0 ? options->operands[0].word : NULL;
}

static int check_line(const struct options *options)
{
    if (options->operand_count > 1) {
        return report_usage(options, "'%s' takes one FILE", options->name);
    }
    return CODE_OK;
}

static void print_key(const struct options *options,
                      const struct key *key,
                      const char *path)
{
    char name[KEY_NAME_LENGTH + 1];
    struct buf text = {0};
    key_name_write(&key->public_key, name);
    if (option_is_given(options, OPTION_JSON)) {
        struct buf file = {0};
        struct value object = value_empty_object();
        utf8_escape(&file, path, strlen(path));
        object_put_text(&object, "key", name);
        object_put_adopt(&object, "file", value_string_adopt(&file));
        json_write(&text, object, JSON_AS_GIVEN, 0);
        value_unref(object);
    } else {
        buf_append_text(&text, name);
    }
    output_bytes(buf_text(&text), text.length);
    buf_release(&text);
}

/* -- new ----------------------------------------------------------------- */

/* Creates the missing parents of a path, for their owner only. */
static int make_parents(const struct options *options, struct buf *path)
{
    for (size_t i = 1; i < path->length; i++) {
        if (path->at[i] != '/') {
            continue;
        }
        path->at[i] = '\0';
        const bool made = mkdir(path->at, 0700) == 0 || errno == EEXIST;
        const int code =
            made ? CODE_OK : report_system(options, path->at, errno);
        path->at[i] = '/';
        if (!made) {
            return code;
        }
    }
    return CODE_OK;
}

static int create(const struct options *options, struct buf *path)
{
    struct key key;
    struct err_detail detail = {0};
    /* The default directory need not exist; one that is named must. */
    int code = file_of(options) == NULL ? make_parents(options, path) : CODE_OK;
    if (code != CODE_OK) {
        return code;
    }
    enum err err = key_make(&key, &detail);
    if (err == ERR_OK) {
        err = key_file_write(buf_text(path),
                             &key,
                             option_is_given(options, OPTION_FORCE),
                             &detail);
    }
    if (err == ERR_MISUSE) {
        code = report_usage(options,
                            "there is already a key %s: --force replaces it, "
                            "and what it could do is lost",
                            buf_text(path));
    } else if (err != ERR_OK) {
        code = report_detail(options, NULL, &detail);
    } else {
        print_key(options, &key, buf_text(path));
    }
    key_release(&key);
    return code;
}

static int new_key_run(const struct options *options)
{
    struct buf path = {0};
    int code = check_line(options);
    if (code == CODE_OK) {
        code = key_path(options, file_of(options), &path);
    }
    if (code == CODE_OK) {
        code = create(options, &path);
    }
    buf_release(&path);
    return code;
}

/* -- show ---------------------------------------------------------------- */

static int show_key_run(const struct options *options)
{
    struct buf path = {0};
    struct key key = {0};
    int code = check_line(options);
    if (code == CODE_OK) {
        code = key_read(options, file_of(options), &key, &path);
    }
    if (code == CODE_OK) {
        print_key(options, &key, buf_text(&path));
    }
    key_release(&key);
    buf_release(&path);
    return code;
}

const struct command key_commands[] = {
    {
        .name = "new",
        .operands = "[FILE]",
        .takes_more = true,
        .options = OPTION_FORCE,
        .brief = "create a key",
        .manual =
            "Creates a key in FILE, readable by its owner only, and prints\n"
            "its name, a did:key, which servers use as the name of its\n"
            "owner. Without FILE, the key is in $HEDDLE_KEY, or in\n"
            "~/.config/heddle/key. An existing key is not overwritten.\n",
        .example = "  $ heddle key new my.key | cut -c 1-12\n"
                   "  did:key:z6Mk\n",
        .run = new_key_run,
    },
    {
        .name = "show",
        .operands = "[FILE]",
        .takes_more = true,
        .brief = "print the name of a key",
        .manual =
            "Prints the name of the key in FILE, or of the default key. The\n"
            "name is not secret. Exits with 1 if there is no key.\n",
        .example = "  $ heddle key new other.key >name\n"
                   "  $ heddle key show other.key | cmp - name\n",
        .run = show_key_run,
    },
    {.name = NULL},
};
