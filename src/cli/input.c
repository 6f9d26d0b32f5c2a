/* Reading documents, never more of one than the library takes. */

#include "cli/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/report.h"

enum {
    READ_BYTES = 64 * 1024
};

static bool is_stdin(const struct operand *operand)
{
    return !operand->is_text && strcmp(operand->word, "-") == 0;
}

const char *input_name(const struct operand *operand)
{
    if (operand->is_text) {
        return "--text";
    }
    return is_stdin(operand) ? "standard input" : operand->word;
}

/* Reads on until the end, or one byte more than a text may have: enough for
 * the library to refuse it. 0, or the errno. */
static int read_all(FILE *file, struct buf *to)
{
    while (to->length <= LIMIT_TEXT_BYTES) {
        const size_t room = LIMIT_TEXT_BYTES + 1 - to->length;
        const size_t want = room < READ_BYTES ? room : READ_BYTES;
        errno = 0;
        const size_t got = fread(buf_reserve(to, want), 1, want, file);
        buf_advance(to, got);
        if (ferror(file)) {
            return errno != 0 ? errno : EIO;
        }
        if (got < want) {
            break;
        }
    }
    return 0;
}

int input_file(const char *name, struct buf *to)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        return errno;
    }
    const int failed = read_all(file, to);
    (void)fclose(file); /* nothing was written to it */
    return failed;
}

static int parse(const struct options *options,
                 const char *name,
                 const char *text,
                 size_t length,
                 hd_value **value)
{
    hd_error error;
    if (hd_value_parse(text, length, value, &error) != HD_OK) {
        return report_error(options, name, &error);
    }
    return CODE_OK;
}

int input_read(const struct options *options, size_t index, hd_value **value)
{
    const struct operand *operand = &options->operands[index];
    const char *name = input_name(operand);
    *value = NULL;
    if (operand->is_text) {
        return parse(options, name, operand->word, HD_TERMINATED, value);
    }
    struct buf text = {0};
    const int failed = is_stdin(operand) ? read_all(stdin, &text)
                                         : input_file(operand->word, &text);
    const int code =
        failed != 0 ? report_system(options, name, failed)
                    : parse(options, name, buf_text(&text), text.length, value);
    buf_release(&text);
    return code;
}

int input_text(const struct options *options, size_t index, struct buf *to)
{
    const struct operand *operand = &options->operands[index];
    const int failed =
        is_stdin(operand) ? read_all(stdin, to) : input_file(operand->word, to);
    return failed != 0 ? report_system(options, input_name(operand), failed)
                       : CODE_OK;
}

bool input_is_missing(int system_error)
{
    return system_error == ENOENT || system_error == ENOTDIR;
}

int input_parse(const struct options *options,
                size_t index,
                const char *name,
                hd_value **value)
{
    const struct operand *operand = &options->operands[index];
    if (is_stdin(operand)) {
        return input_read(options, index, value);
    }
    return parse(options, name, operand->word, HD_TERMINATED, value);
}
