/* heddle repl: a conversation in Lua with the pieces of a data directory.
 *
 * Each piece is a variable of its name, and piece(name). A line is an
 * expression, whose values are printed as JSON, or statements; one that is not
 * complete goes on in the next. Between two lines nothing runs. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/edit_line.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/visit.h"
#include "value/object.h"

enum {
    LINE_BYTES = 4096, /* a longer one is taken in parts */
};

/* Runs a line; ERR_SYNTAX and `incomplete`: it goes on in the next one. */
static enum err say(struct visit *visit,
                    const char *text,
                    size_t length,
                    struct buf *shown,
                    bool *incomplete,
                    struct err_detail *detail)
{
    const struct program_source source = {"line", text, length};
    const enum err err = program_eval(visit->program, &source, shown, detail);
    *incomplete =
        err == ERR_SYNTAX && strstr(detail->text, "near <eof>") != NULL;
    return err;
}

/* One more piece, as a variable if it can be one; an exit code. */
static int add_piece(struct visit *visit, const char *name)
{
    if (visit->piece != NULL) {
        piece_unref(visit->piece); /* the runtime has it as well */
        visit->piece = NULL;
    }
    const int code = visit_resume(visit, name);
    if (code != CODE_OK) {
        return code;
    }
    struct buf line = {0};
    struct buf shown = {0};
    struct err_detail detail = {0};
    bool incomplete = false;
    buf_printf(&line, "%s = piece(\"%s\")", name, name);
    const enum err err =
        say(visit, buf_text(&line), line.length, &shown, &incomplete, &detail);
    (void)err; /* a name that is no word: piece(name) is there for it */
    buf_release(&shown);
    buf_release(&line);
    return CODE_OK;
}

/* Those that are named, of which each has to be there; or all, of which one
 * that cannot be taken up is reported and left out. */
static int add_pieces(struct visit *visit)
{
    const struct options *options = visit->options;
    int code = CODE_OK;
    for (size_t i = 0; code == CODE_OK && i < options->operand_count; i++) {
        code = add_piece(visit, options->operands[i].word);
    }
    struct entity *index = NULL;
    struct err_detail detail = {0};
    if (options->operand_count > 0) {
        return code;
    }
    if (piece_index(live_runtime(visit->live)->spaces.at[0], &index, &detail) !=
            ERR_OK ||
        live_load(visit->live, index, &detail) != ERR_OK) {
        return visit_report(options, visit->folder, &detail);
    }
    const struct value all = value_ref(index->visible.payload);
    if (value_is_object(all)) {
        struct object_iter iter = object_iter(all);
        struct value name;
        struct value line;
        while (object_next(&iter, &name, &line)) {
            const struct text text = value_text(&name);
            struct buf word = {0};
            buf_append(&word, text.at, text.length);
            (void)add_piece(visit, buf_text(&word));
            buf_release(&word);
        }
    }
    value_unref(all);
    return CODE_OK;
}

/* One line, and what is said to it. `text` holds what came before it and was
 * not complete. */
static void answer(struct visit *visit, struct buf *text, const char *line)
{
    struct buf out = {0};
    buf_append_text(text, line);
    if (strchr(line, '\n') == NULL && feof(stdin) == 0) {
        buf_release(&out);
        return; /* the rest of it comes */
    }
    struct err_detail detail = {0};
    bool incomplete = false;
    const enum err err =
        say(visit, buf_text(text), text->length, &out, &incomplete, &detail);
    if (err == ERR_OK) {
        (void)fwrite(buf_text(&out), 1, out.length, stdout);
        (void)fflush(stdout);
    } else if (!incomplete) {
        (void)visit_report(visit->options, NULL, &detail);
    }
    if (!incomplete) {
        buf_clear(text);
    }
    buf_release(&out);
}

/* Until there is something to read, or a signal has come: also one that came
 * just before, which a read would not notice. Standard input has no buffer, so
 * what poll says is all there is. */
static bool wait_for_input(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t signals;
    sigset_t before;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    while (!visit_was_stopped() && ppoll(&input, 1, NULL, &before) < 0 &&
           errno == EINTR) {
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return !visit_was_stopped();
}

/* -- At a terminal ------------------------------------------------------- */

static const char help_text[] =
    "Each piece is a variable with its name; piece(NAME) returns it, too.\n"
    "\n"
    "  shop:get()             its result, up to date; shop:get(\"items.1\")\n"
    "  shop:send(\"add\", {})   an event: a ticket with :state(), :receipt()\n"
    "  shop:cell(\"items\")     a cell: :get(), :set(v), :append(v), ...\n"
    "  shop:node(\"total\")     a node: :runs(), :status(), :causes(), ...\n"
    "  doc(ID)                the cell of any document\n"
    "\n"
    "A line is an expression, whose value is printed, or statements. An\n"
    "incomplete line continues on the next. Tab completes, the arrow keys\n"
    "move through the history, Ctrl-R searches it, Ctrl-D ends.\n";

static void complete(void *ctx,
                     const char *line,
                     size_t length,
                     void (*offer)(void *offer_ctx, const char *word),
                     void *offer_ctx)
{
    const struct visit *visit = ctx;
    program_complete(visit->program, line, length, offer, offer_ctx);
}

/* Reads a line, with the editor or without, into `line`; false at the end. */
static bool read_line(struct edit_line *edit, bool goes_on, struct buf *line)
{
    char part[LINE_BYTES];
    buf_clear(line);
    if (edit != NULL) {
        return edit_line_read(edit, goes_on ? ">> " : "> ", line);
    }
    if (!wait_for_input() || fgets(part, sizeof part, stdin) == NULL) {
        return false;
    }
    buf_append_text(line, part);
    return true;
}

/* "help" alone, at a terminal: nobody has a variable of that name. */
static bool is_question(const struct edit_line *edit, const struct buf *line)
{
    return edit != NULL && (strcmp(buf_text(line), "help\n") == 0 ||
                            strcmp(buf_text(line), "?\n") == 0);
}

static struct edit_line *begin_editing(struct visit *visit)
{
    const struct edit_line_options options = {
        .wait = wait_for_input,
        .complete = complete,
        .ctx = visit,
    };
    (void)fprintf(stderr, "heddle: type 'help' for help, Ctrl-D to exit\n");
    return edit_line_new(&options);
}

static int converse(struct visit *visit)
{
    const bool is_terminal =
        isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    struct edit_line *edit = is_terminal ? begin_editing(visit) : NULL;
    struct buf text = {0};
    struct buf line = {0};
    int code = CODE_OK;
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    while (code == CODE_OK && !visit_was_stopped() &&
           read_line(edit, text.length > 0, &line)) {
        if (text.length == 0 && is_question(edit, &line)) {
            (void)fputs(help_text, stdout);
            continue;
        }
        answer(visit, &text, buf_text(&line));
        /* What others have done meanwhile, and what this line has begun. */
        code = visit_was_stopped() ? CODE_OK : visit_settle(visit);
        (void)visit_tell_faults(visit);
    }
    edit_line_free(edit);
    if (is_terminal) {
        (void)printf("\n"); /* the shell's prompt is not for our line */
    }
    if (text.length > 0 && !visit_was_stopped()) {
        code = report_name(visit->options, "the last line is incomplete");
    }
    buf_release(&line);
    buf_release(&text);
    return code;
}

int repl_run(const struct options *options)
{
    struct visit visit = {.interactive = true, .handles_events = true};
    int code = visit_open(&visit, options, DATA_DIR_CREATE);
    if (code == CODE_OK) {
        visit_begin_program(&visit);
        code = add_pieces(&visit);
    }
    if (code == CODE_OK) {
        code = converse(&visit);
    }
    return visit_close(&visit, code);
}
