/* heddle rm, rename, export, import, backup: pieces and directories as a
 * whole. Nothing runs. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/display.h"
#include "cli/input.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/backup.h"
#include "host/transfer.h"
#include "value/array.h"
#include "value/object.h"

static const char *word(const struct options *options, size_t index)
{
    return options->operands[index].word;
}

static int open_transfer(const struct options *options,
                         enum data_dir_access access,
                         struct transfer **out)
{
    struct err_detail detail = {0};
    return transfer_open(look_folder(options),
                         look_space(options),
                         access,
                         out,
                         &detail) == ERR_OK
               ? CODE_OK
               : look_report(options, &detail);
}

/* Children, and pieces in a list, come and go with the piece that has them. */
static int check_whole(const struct options *options, const char *piece)
{
    if (strchr(piece, '/') == NULL) {
        return CODE_OK;
    }
    struct buf why = {0};
    buf_printf(&why,
               "'%s' is part of the piece '%.*s': give the whole piece",
               piece,
               (int)strcspn(piece, "/"),
               piece);
    const int code = report_usage(options, "%s", buf_text(&why));
    buf_release(&why);
    return code;
}

/* What was done, for people on standard error or as JSON. */
static void tell(const struct options *options,
                 const char *piece,
                 const char *done,
                 const struct transfer_counts *counts)
{
    if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        if (piece[0] != '\0') {
            object_put_text(&object, "piece", piece);
        }
        object_put_number(&object, "pieces", counts->pieces);
        object_put_number(&object, "documents", counts->documents);
        object_put_number(&object, "relinked", counts->relinked);
        look_print_adopt(options, object);
        return;
    }
    struct buf line = {0};
    buf_append_text(&line, "heddle: ");
    display_append(&line, piece[0] != '\0' ? piece : "the space");
    buf_printf(&line, " %s, ", done);
    display_count(&line, counts->documents, "document");
    if (counts->pieces > 1) {
        buf_append_text(&line, " of ");
        display_count(&line, counts->pieces, "piece");
    }
    if (counts->relinked > 0) {
        buf_append_text(&line, "; links in ");
        display_count(&line, counts->relinked, "other document");
        buf_append_text(&line, " follow it");
    }
    (void)fprintf(stderr, "%s\n", buf_text(&line));
    buf_release(&line);
}

/* -- rm ------------------------------------------------------------------ */

/* Asks on a terminal; *yes is the answer. */
static int ask(const struct options *options,
               struct transfer *transfer,
               bool *yes)
{
    const char *piece = word(options, 0);
    struct transfer_counts counts;
    struct err_detail detail = {0};
    if (transfer_count(transfer, piece, &counts, &detail) != ERR_OK) {
        return look_report(options, &detail);
    }
    struct buf question = {0};
    buf_append_text(&question, "remove ");
    display_append(&question, piece);
    buf_append_text(&question, ", ");
    display_count(&question, counts.documents, "document");
    buf_append_text(&question, "? [y/N] ");
    (void)fprintf(stderr, "%s", buf_text(&question));
    buf_release(&question);
    char answer[16] = "";
    *yes = fgets(answer, sizeof answer, stdin) != NULL &&
           (answer[0] == 'y' || answer[0] == 'Y');
    return CODE_OK;
}

int rm_run(const struct options *options)
{
    struct transfer *transfer = NULL;
    const bool is_sure = option_is_given(options, OPTION_YES);
    if (!is_sure && isatty(STDIN_FILENO) != 1) {
        return report_usage(options,
                            "not a terminal, so you cannot be asked: --yes "
                            "removes without asking");
    }
    int code = check_whole(options, word(options, 0));
    if (code == CODE_OK) {
        code = open_transfer(options, DATA_DIR_EXISTING, &transfer);
    }
    bool yes = is_sure;
    if (code == CODE_OK && !is_sure) {
        code = ask(options, transfer, &yes);
    }
    struct transfer_counts counts;
    struct err_detail detail = {0};
    if (code == CODE_OK && !yes) {
        (void)fprintf(stderr, "heddle: nothing was removed\n");
        code = CODE_NO;
    } else if (code == CODE_OK) {
        if (transfer_remove(transfer, word(options, 0), &counts, &detail) !=
            ERR_OK) {
            code = look_report(options, &detail);
        } else {
            tell(options, word(options, 0), "removed", &counts);
        }
    }
    transfer_close(transfer);
    return code;
}

/* -- rename -------------------------------------------------------------- */

int rename_run(const struct options *options)
{
    struct transfer *transfer = NULL;
    struct transfer_counts counts;
    struct err_detail detail = {0};
    int code = check_whole(options, word(options, 0));
    if (code == CODE_OK) {
        code = open_transfer(options, DATA_DIR_EXISTING, &transfer);
    }
    if (code == CODE_OK && transfer_rename(transfer,
                                           word(options, 0),
                                           word(options, 1),
                                           &counts,
                                           &detail) != ERR_OK) {
        code = look_report(options, &detail);
    } else if (code == CODE_OK) {
        tell(options, word(options, 1), "renamed", &counts);
    }
    transfer_close(transfer);
    return code;
}

/* -- export, import ------------------------------------------------------ */

/* A new file that is whole when it has its name; 0 or an errno. */
static int write_whole(const char *file, const struct buf *text)
{
    struct buf part = {0};
    buf_printf(&part, "%s.part-%ld", file, (long)getpid());
    FILE *to = fopen(buf_text(&part), "wx");
    int failed = to == NULL ? errno : 0;
    if (failed == 0) {
        errno = 0;
        bool done =
            fwrite(buf_text(text), 1, text->length, to) == text->length &&
            fflush(to) == 0 && fsync(fileno(to)) == 0;
        done = fclose(to) == 0 && done && link(buf_text(&part), file) == 0;
        failed = done ? 0 : errno != 0 ? errno : EIO;
        (void)unlink(buf_text(&part));
    }
    buf_release(&part);
    return failed;
}

int export_run(const struct options *options)
{
    const bool all = option_is_given(options, OPTION_ALL);
    if (options->operand_count != (all ? 1 : 2)) {
        return report_usage(options,
                            all ? "--all takes FILE"
                                : "'export' takes PIECE FILE");
    }
    struct transfer *transfer = NULL;
    struct transfer_counts counts;
    struct err_detail detail = {0};
    struct buf text = {0};
    const char *piece = all ? NULL : word(options, 0);
    const char *file = word(options, all ? 0 : 1);
    int code = piece != NULL ? check_whole(options, piece) : CODE_OK;
    if (code == CODE_OK) {
        code = open_transfer(options, DATA_DIR_READ_ONLY, &transfer);
    }
    if (code == CODE_OK &&
        transfer_export(transfer, piece, &text, &counts, &detail) != ERR_OK) {
        code = look_report(options, &detail);
    } else if (code == CODE_OK && strcmp(file, "-") == 0) {
        output_bytes(buf_text(&text), text.length - 1);
    } else if (code == CODE_OK) {
        const int failed = write_whole(file, &text);
        if (failed != 0) {
            code = report_system(options, file, failed);
        } else {
            tell(options, all ? "" : piece, "exported", &counts);
        }
    }
    buf_release(&text);
    transfer_close(transfer);
    return code;
}

int import_run(const struct options *options)
{
    struct transfer *transfer = NULL;
    struct transfer_counts counts;
    struct err_detail detail = {0};
    struct buf text = {0};
    struct buf piece = {0};
    int code = input_text(options, 0, &text);
    if (code == CODE_OK) {
        code = open_transfer(options, DATA_DIR_CREATE, &transfer);
    }
    const struct transfer_import import = {
        .text = buf_text(&text),
        .length = text.length,
        .name = options->values.name,
        .replace = option_is_given(options, OPTION_REPLACE),
    };
    if (code == CODE_OK &&
        transfer_import(transfer, &import, &piece, &counts, &detail) !=
            ERR_OK) {
        code = look_report(options, &detail);
    } else if (code == CODE_OK) {
        tell(options, buf_text(&piece), "imported", &counts);
    }
    buf_release(&piece);
    buf_release(&text);
    transfer_close(transfer);
    return code;
}

/* -- backup -------------------------------------------------------------- */

static bool show_progress(void *ctx, uint64_t done, uint64_t total)
{
    const bool *shown = ctx;
    if (*shown) {
        (void)fprintf(stderr,
                      "\rcopying pages: %" PRIu64 " of %" PRIu64,
                      done,
                      total);
    }
    return true;
}

int backup_run(const struct options *options)
{
    bool shown =
        isatty(STDERR_FILENO) == 1 && !option_is_given(options, OPTION_JSON);
    const struct backup_options backup = {
        .from = look_folder(options),
        .to = word(options, 0),
        .progress = show_progress,
        .ctx = &shown,
    };
    struct value made = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = backup_make(&backup, &made, &detail);
    if (shown) {
        (void)fprintf(stderr, "\r\033[K");
    }
    if (err != ERR_OK) {
        return look_report(options, &detail);
    }
    if (value_is_same(object_field(made, "together"), value_bool(false))) {
        (void)fprintf(stderr,
                      "heddle: commits continued during the copy: each space "
                      "is consistent, but the spaces are not from the same "
                      "moment\n");
    }
    if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, made);
        return CODE_OK;
    }
    struct buf line = {0};
    display_count(&line, array_count(object_field(made, "spaces")), "space");
    buf_append_text(&line, " copied to ");
    display_append(&line, backup.to);
    (void)fprintf(stderr, "heddle: %s\n", buf_text(&line));
    buf_release(&line);
    value_unref(made);
    return CODE_OK;
}
