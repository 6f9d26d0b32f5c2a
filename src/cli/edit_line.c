/* libedit, with a getc that also ends at a signal. */

#include "cli/edit_line.h"

#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/mem.h"

enum {
    HISTORY_LINES = 1000,
    WORDS_SHOWN = 60,
};

struct edit_line {
    struct edit_line_options options;
    EditLine *el;
    History *history;
    struct buf file; /* of the history; empty: there is none */
    const char *prompt;
};

/* -- libedit's side ------------------------------------------------------ */

static struct edit_line *edit_of(EditLine *el)
{
    void *edit = NULL;
    (void)el_get(el, EL_CLIENTDATA, &edit);
    return edit;
}

static char *prompt_of(EditLine *el)
{
    union {
        const char *given;
        char *kept; /* libedit reads it only */
    } prompt = {.given = edit_of(el)->prompt};
    return prompt.kept;
}

/* One character; 0 at the end and at a signal. */
static int get_character(EditLine *el, wchar_t *out)
{
    const struct edit_line *edit = edit_of(el);
    mbstate_t state = {0};
    for (;;) {
        char byte = 0;
        if (!edit->options.wait() || read(STDIN_FILENO, &byte, 1) != 1) {
            return 0;
        }
        const size_t length = mbrtowc(out, &byte, 1, &state);
        if (length != (size_t)-2) {
            if (length == (size_t)-1) {
                *out = L'?';
            }
            return 1;
        }
    }
}

/* -- Completion ---------------------------------------------------------- */

/* What is offered for one word. */
struct offers {
    const char *start; /* of the word */
    size_t length;
    struct buf common; /* to all of them */
    struct buf all;
    size_t count;
};

static void take_offer(void *ctx, const char *word)
{
    struct offers *offers = ctx;
    if (strncmp(word, offers->start, offers->length) != 0) {
        return;
    }
    if (offers->count == 0) {
        buf_append_text(&offers->common, word);
    }
    size_t same = 0;
    while (same < offers->common.length && word[same] != '\0' &&
           word[same] == offers->common.at[same]) {
        same++;
    }
    if (offers->count > 0) {
        offers->common.length = same;
        offers->common.at[same] = '\0';
    }
    if (offers->count < WORDS_SHOWN) {
        buf_append_text(&offers->all, offers->count > 0 ? "  " : "");
        buf_append_text(&offers->all, word);
    }
    offers->count++;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static unsigned char complete(EditLine *el, int ch)
{
    (void)ch;
    const struct edit_line *edit = edit_of(el);
    const LineInfo *line = el_line(el);
    const size_t length = (size_t)(line->cursor - line->buffer);
    struct offers offers = {.start = line->cursor};
    while (offers.start > line->buffer && is_word(offers.start[-1])) {
        offers.start--;
        offers.length++;
    }
    struct buf text = {0};
    struct buf word = {0};
    buf_append(&text, line->buffer, length);
    buf_append(&word, offers.start, offers.length);
    offers.start = buf_text(&word); /* the line may move */
    edit->options.complete(edit->options.ctx,
                           buf_text(&text),
                           text.length,
                           take_offer,
                           &offers);
    unsigned char answer = CC_ERROR;
    if (offers.common.length > offers.length) {
        (void)el_insertstr(el, buf_text(&offers.common) + offers.length);
        answer = CC_REFRESH;
    } else if (offers.count > 1) {
        (void)printf("\n%s%s\n",
                     buf_text(&offers.all),
                     offers.count > WORDS_SHOWN ? "  ..." : "");
        answer = CC_REDISPLAY;
    }
    buf_release(&offers.common);
    buf_release(&offers.all);
    buf_release(&word);
    buf_release(&text);
    return answer;
}

/* -- Life ---------------------------------------------------------------- */

static void load_history(struct edit_line *edit)
{
    const char *home = getenv("HOME");
    HistEvent event;
    edit->history = history_init();
    (void)history(edit->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)history(edit->history, &event, H_SETUNIQUE, 1);
    if (home != NULL && home[0] != '\0') {
        buf_printf(&edit->file, "%s/.heddle_history", home);
        (void)history(edit->history, &event, H_LOAD, buf_text(&edit->file));
    }
}

struct edit_line *edit_line_new(const struct edit_line_options *options)
{
    struct edit_line *edit = mem_alloc_zero(sizeof *edit);
    edit->options = *options;
    edit->prompt = "";
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* what Heddle's texts are */
    load_history(edit);
    edit->el = el_init("heddle", stdin, stdout, stderr);
    (void)el_set(edit->el, EL_CLIENTDATA, edit);
    (void)el_set(edit->el, EL_PROMPT, prompt_of);
    (void)el_set(edit->el, EL_EDITOR, "emacs");
    (void)el_set(edit->el, EL_SIGNAL, 0);
    (void)el_set(edit->el, EL_HIST, history, edit->history);
    (void)el_set(edit->el, EL_GETCFN, get_character);
    (void)el_set(edit->el, EL_ADDFN, "complete", "complete a word", complete);
    (void)el_set(edit->el, EL_BIND, "^I", "complete", NULL);
    (void)el_set(edit->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    (void)el_source(edit->el, NULL); /* ~/.editrc */
    return edit;
}

void edit_line_free(struct edit_line *edit)
{
    if (edit == NULL) {
        return;
    }
    el_end(edit->el);
    history_end(edit->history);
    buf_release(&edit->file);
    mem_free(edit, sizeof *edit);
}

/* Also in the file, so that a conversation that is killed has left it. */
static void keep_line(struct edit_line *edit, const char *line)
{
    HistEvent event;
    if (line[0] == '\n' || line[0] == '\0') {
        return;
    }
    (void)history(edit->history, &event, H_ENTER, line);
    if (edit->file.length > 0) {
        (void)history(edit->history, &event, H_SAVE, buf_text(&edit->file));
    }
}

bool edit_line_read(struct edit_line *edit, const char *prompt, struct buf *to)
{
    int count = 0;
    edit->prompt = prompt;
    /* Before the prompt is there: what is typed in between would be read as a
     * line of the terminal, and Ctrl-D be lost. */
    (void)el_set(edit->el, EL_PREP_TERM, 1);
    const char *line = el_gets(edit->el, &count);
    if (line == NULL || count <= 0) {
        return false;
    }
    buf_append_text(to, line);
    keep_line(edit, line);
    return true;
}
