/* From words of the command line to arguments of a piece. */

#include "cli/arguments.h"

#include <string.h>

#include "cli/report.h"
#include "runtime/cell.h"
#include "value/array.h"
#include "value/object.h"

static const char prefix[] = "piece:";

/* NAME of NAME=VALUE, and the VALUE; NULL: it has none. */
static const char *split(const char *word, struct buf *name)
{
    const char *sign = strchr(word, '=');
    if (sign == NULL || sign == word) {
        return NULL;
    }
    buf_append(name, word, (size_t)(sign - word));
    return sign + 1;
}

static int check_words(const struct options *options)
{
    for (size_t i = 0; i < options->argument_count; i++) {
        struct buf name = {0};
        const bool fine = split(options->arguments[i], &name) != NULL;
        buf_release(&name);
        if (!fine) {
            return report_usage(options,
                                "--arg takes NAME=VALUE, not '%s'",
                                options->arguments[i]);
        }
    }
    return CODE_OK;
}

int arguments_read(const struct options *options, struct value *out)
{
    *out = VALUE_NONE;
    const int code = check_words(options);
    if (code != CODE_OK || options->values.arguments == NULL) {
        return code;
    }
    return visit_read_text(options, "--args", options->values.arguments, out);
}

/* A link to the result of a piece, or to a part of it; new. */
static int link_to_piece(struct visit *visit,
                         const char *word,
                         struct value *out)
{
    struct buf name = {0};
    const char *begin = word + strlen(prefix);
    const size_t length = strcspn(begin, "/");
    buf_append(&name, begin, length);
    struct entity *document = NULL;
    struct value path = VALUE_NONE;
    int code = visit_find(visit, buf_text(&name), &document);
    if (code == CODE_OK) {
        code = visit_read_path(visit->options, begin + length, &path);
    }
    if (code == CODE_OK) {
        struct place *at = visit_place_at(visit, document, path);
        *out = cell_link(at, document->space);
        place_unref(at);
    }
    value_unref(path);
    buf_release(&name);
    return code;
}

static int read_value(struct visit *visit,
                      const char *name,
                      const char *word,
                      struct value *out)
{
    if (strncmp(word, prefix, strlen(prefix)) == 0) {
        return link_to_piece(visit, word, out);
    }
    struct buf source = {0};
    buf_printf(&source, "--arg %s", name);
    const int code =
        visit_read_text(visit->options, buf_text(&source), word, out);
    buf_release(&source);
    return code;
}

static int add_one(struct visit *visit, const char *word, struct value *all)
{
    struct buf name = {0};
    struct value value = VALUE_NONE;
    const char *text = split(word, &name);
    int code = CODE_OK;
    const struct value key = value_text_new(buf_text(&name));
    if (!value_is_object(*all)) {
        code = report_usage(visit->options, "--args takes an object");
    } else if (!value_is_absent(object_get(*all, key))) {
        code = report_usage(visit->options,
                            "the argument '%s' is given twice",
                            buf_text(&name));
    } else {
        code = read_value(visit, buf_text(&name), text, &value);
    }
    if (code == CODE_OK) {
        *all = object_set_adopt(*all, value_ref(key), value);
    }
    value_unref(key);
    buf_release(&name);
    return code;
}

int arguments_complete(struct visit *visit,
                       struct value given,
                       struct value *out)
{
    const struct options *options = visit->options;
    *out = value_ref(given);
    if (options->argument_count > 0 && value_is_absent(given)) {
        *out = value_empty_object();
    }
    int code = CODE_OK;
    for (size_t i = 0; code == CODE_OK && i < options->argument_count; i++) {
        code = add_one(visit, options->arguments[i], out);
    }
    return code;
}
