/* The error table, and sentences for people. */

#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct err_row {
    const char *name;
    const char *text;
    enum err_class class;
};

static const struct err_row unknown = {"unknown",
                                       "unknown error, from a newer version",
                                       ERR_CLASS_FAULT};

static struct err_row row_of(enum err err)
{
    switch (err) {
#define X(name, number, class, text) \
    case ERR_##name:                 \
        return (struct err_row){#name, text, ERR_CLASS_##class};
        ERR_TABLE(X)
#undef X
    }
    return unknown;
}

enum err_class err_class_of(enum err err)
{
    return row_of(err).class;
}

const char *err_name(enum err err)
{
    return row_of(err).name;
}

const char *err_text(enum err err)
{
    return row_of(err).text;
}

const char *err_class_name(enum err_class class)
{
    static const char *const names[] = {
        [ERR_CLASS_NONE] = "none",
        [ERR_CLASS_RETRY] = "retry",
        [ERR_CLASS_PERMANENT] = "permanent",
        [ERR_CLASS_TERMINAL] = "terminal",
        [ERR_CLASS_FAULT] = "fault",
    };
    return names[class];
}

enum err err_of_name(const char *name, size_t length)
{
    static const struct {
        const char *name;
        enum err err;
    } rows[] = {
#define X(name, number, class, text) {#name, ERR_##name},
        ERR_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].name) == length &&
            memcmp(rows[i].name, name, length) == 0) {
            return rows[i].err;
        }
    }
    return ERR_STORE;
}

enum err err_set(struct err_detail *detail,
                 enum err err,
                 const char *format,
                 ...)
{
    if (detail == NULL) {
        return err;
    }
    detail->err = err;

    va_list args;
    va_start(args, format);
    int length = vsnprintf(detail->text, sizeof detail->text, format, args);
    va_end(args);
    if (length < 0) {
        detail->text[0] = '\0';
    } else if ((size_t)length >= sizeof detail->text) {
        detail->text[text_whole_length(detail->text, ERR_TEXT_SIZE - 1)] = '\0';
    }
    return err;
}
