/* The settings of a server: by flags, by the environment, and in one file.
 *
 *   # heddle.conf
 *   listen = 0.0.0.0:8800
 *   certificate = /etc/heddle/cert.pem
 *   private-key = /etc/heddle/key.pem
 *   owner = did:key:z6Mk...
 *   message-bytes = 1048576
 *
 * One setting per line; '#' begins a comment. The variable of a setting is
 * HEDDLE_SERVE_ and its name in capital letters, with '_' for '-':
 * HEDDLE_SERVE_LISTEN. A flag wins over a variable, and a variable over the
 * file; settings that may be repeated add up.
 *
 *   config-1  An unknown name or an invalid value is an error with the file and
 *             the line, and suggests the nearest name. Nothing is ignored. */

#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "server/server.h"

enum {
    CONFIG_RUNS_MAX = 64,
};

enum config_log {
    CONFIG_LOG_AUTO, /* text on a terminal, JSON elsewhere */
    CONFIG_LOG_TEXT,
    CONFIG_LOG_JSON,
};

struct config {
    struct server_options options;     /* its texts are in `texts` */
    const char *runs[CONFIG_RUNS_MAX]; /* files of patterns to run */
    size_t run_count;
    enum config_log log;
    VEC(struct buf) texts;
};

/* All zero, with the defaults of everything. */
void config_init(struct config *config);
void config_release(struct config *config);

/* One setting. ARGUMENT. */
MUST_CHECK enum err config_set(struct config *config,
                               const char *name,
                               const char *value,
                               struct err_detail *detail);

/* All settings of a file. NOT_FOUND, IO, ARGUMENT. */
MUST_CHECK enum err config_read_file(struct config *config,
                                     const char *path,
                                     struct err_detail *detail);

/* All settings of the environment; `get` is getenv. */
MUST_CHECK enum err config_read_environment(struct config *config,
                                            char *(*get)(const char *name),
                                            struct err_detail *detail);

/* One line per setting, with its meaning: for the manual. */
void config_print_settings(struct buf *to);

#endif
