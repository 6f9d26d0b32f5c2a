/* Logging, through a hook and nowhere else.
 *
 * The library owns no stream: the embedder decides where lines go, and without
 * a hook they are dropped.
 *
 *   base-log-1  The hook is called once per line, with the complete line:
 *               terminated, without a newline or another control character,
 *               whatever the arguments held, and at most LOG_LINE_SIZE - 1
 *               bytes long.
 *   base-log-2  A line below the threshold costs a comparison: its arguments
 *               are not evaluated.
 *
 * All zero is a log that wants nothing. Writing allocates nothing. */

#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
    LOG_LEVEL_NONE, /* a threshold only: no line has it */
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
};

enum {
    LOG_LINE_SIZE = 1024
};

/* `line` is borrowed for the call. */
typedef void log_fn(void *ctx, enum log_level level, const char *line);

struct log {
    log_fn *fn; /* not NULL, unless the level is NONE */
    void *ctx;
    enum log_level level; /* the last one that is logged */
};

static inline bool log_wants(const struct log *log, enum log_level level)
{
    return log != NULL && level <= log->level;
}

/* log_write(log, level, format, ...): one line, as by printf. `log` may be
 * NULL, and is evaluated twice. A line that is too long is cut between two
 * characters and ends in "...". */
#define log_write(log, level, ...)                                           \
    (log_wants((log), (level)) ? log_write_line((log), (level), __VA_ARGS__) \
                               : (void)0)

__attribute__((format(printf, 3, 4))) void log_write_line(const struct log *log,
                                                          enum log_level level,
                                                          const char *format,
                                                          ...);

/* "error", "warning", "info", "debug"; "none" for anything else. */
const char *log_level_name(enum log_level level);

#endif
