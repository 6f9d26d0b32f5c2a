/* diagram and page: the Mermaid text, read back, is the table again, and the
 * page in docs/ is the one that would be printed now. */

#include "lifecycle/diagram.h"

#include <string.h>

#include "lib/test.h"
#include "lifecycle/catalog.h"
#include "lifecycle/page.h"

enum {
    CELLS_MAX = 16 * 16,
    LINE_SIZE = 256,
};

/* What has been read: for each status and event where it leads with the fact
 * and without it. */
struct cells {
    const struct lifecycle_machine *machine;
    struct {
        int to;
        int to_with;
        bool is_questionable;
    } at[CELLS_MAX];
    size_t lines;
};

static size_t cell_of(const struct cells *cells, int status, int event)
{
    const size_t index =
        (size_t)status * cells->machine->event_count + (size_t)event;
    return EXPECT(index < CELLS_MAX) ? index : 0;
}

/* Takes the word in front of `end` out of *at; "" if there is no such end. */
static const char *take_word(char **at, const char *end)
{
    char *word = *at;
    char *found = strstr(word, end);
    if (found == NULL) {
        (void)test_fail(__FILE__, __LINE__, "no '%s' in '%s'", end, word);
        return "";
    }
    *found = '\0';
    *at = found + strlen(end);
    return word;
}

/* Cuts `tail` off the end of a text; false if it has another end. */
static bool cut_tail(char *text, const char *tail)
{
    const size_t length = strlen(text);
    const size_t tail_length = strlen(tail);
    if (length < tail_length ||
        strcmp(text + length - tail_length, tail) != 0) {
        return false;
    }
    text[length - tail_length] = '\0';
    return true;
}

static void expect_predicates(const struct lifecycle_event *event,
                              const char *names)
{
    struct buf want = {0};
    lifecycle_predicates_append(event, &want);
    EXPECT_TEXT(names, buf_text(&want));
    buf_release(&want);
}

/* " (if workspace)" or " (unless workspace)" behind the name of an event: cuts
 * it off and says which. */
enum condition {
    ALWAYS,
    IF,
    UNLESS,
};

static enum condition cut_condition(char *label, unsigned *fact)
{
    char *open = strstr(label, " (");
    *fact = 0;
    if (open == NULL) {
        return ALWAYS;
    }
    EXPECT(cut_tail(label, ")"));
    const bool is_if = strncmp(open, " (if ", 5) == 0;
    EXPECT(is_if || strncmp(open, " (unless ", 9) == 0);
    *fact = lifecycle_fact_find(open + (is_if ? 5 : 9));
    EXPECT(*fact != 0);
    *open = '\0';
    return is_if ? IF : UNLESS;
}

static void set_cell(struct cells *cells,
                     int from,
                     int to,
                     char *label,
                     bool is_questionable)
{
    unsigned fact = 0;
    const enum condition condition = cut_condition(label, &fact);
    const int event = lifecycle_event_find(cells->machine, label);
    if (!EXPECT(from >= 0 && to >= 0 && event >= 0)) {
        return;
    }
    const struct lifecycle_edge *edge =
        lifecycle_edge(cells->machine, (uint8_t)from, (uint8_t)event);
    EXPECT(edge != NULL);
    EXPECT_EQ(edge != NULL ? edge->fact : 0, fact);
    const size_t cell = cell_of(cells, from, event);
    if (condition != IF) {
        EXPECT_INT(cells->at[cell].to, -1);
        cells->at[cell].to = to;
    }
    if (condition != UNLESS) {
        EXPECT_INT(cells->at[cell].to_with, -1);
        cells->at[cell].to_with = to;
    }
    cells->at[cell].is_questionable = is_questionable;
}

/* "idle --> active : run.started ⟨notDeleted⟩ (?)" */
static void read_edge(struct cells *cells, char *line)
{
    char *rest = line;
    const int from =
        lifecycle_status_find(cells->machine, take_word(&rest, " --> "));
    const int to =
        lifecycle_status_find(cells->machine, take_word(&rest, " : "));
    const bool is_questionable = cut_tail(rest, " (?)");
    char *predicates = strstr(rest, " ⟨");
    char nothing[] = "";
    if (predicates != NULL) {
        *predicates = '\0';
        predicates += strlen(" ⟨");
        EXPECT(cut_tail(predicates, "⟩"));
    } else {
        predicates = nothing;
    }
    char label[LINE_SIZE];
    memcpy(label, rest, strlen(rest) + 1);
    set_cell(cells, from, to, label, is_questionable);
    unsigned fact = 0;
    (void)cut_condition(rest, &fact);
    const int event = lifecycle_event_find(cells->machine, rest);
    if (EXPECT(event >= 0)) {
        expect_predicates(&cells->machine->events[event], predicates);
    }
}

/* "stopped : stays on started, failed" */
static void read_note(struct cells *cells, char *line)
{
    char *rest = line;
    const int status =
        lifecycle_status_find(cells->machine, take_word(&rest, " : stays on "));
    while (rest != NULL) {
        char *comma = strstr(rest, ", ");
        if (comma != NULL) {
            *comma = '\0';
        }
        set_cell(cells, status, status, rest, false);
        rest = comma != NULL ? comma + 2 : NULL;
    }
}

static void read_line(struct cells *cells, char *line)
{
    static const char initial[] = "    [*] --> ";
    static const char note[] = "    note right of ";
    cells->lines++;
    if (cells->lines == 1) {
        EXPECT_TEXT(line, "stateDiagram-v2");
    } else if (cells->lines == 2) {
        if (EXPECT(strncmp(line, initial, strlen(initial)) == 0)) {
            EXPECT_INT(
                lifecycle_status_find(cells->machine, line + strlen(initial)),
                cells->machine->initial);
        }
    } else if (strncmp(line, note, strlen(note)) == 0) {
        read_note(cells, line + strlen(note));
    } else if (EXPECT(strncmp(line, "    ", 4) == 0)) {
        read_edge(cells, line + 4);
    }
}

static void read_diagram(struct cells *cells, const char *text)
{
    for (size_t i = 0; i < CELLS_MAX; i++) {
        cells->at[i].to = cells->at[i].to_with = -1;
    }
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        char line[LINE_SIZE];
        if (!EXPECT(end != NULL) ||
            !EXPECT((size_t)(end - text) < sizeof line)) {
            return;
        }
        memcpy(line, text, (size_t)(end - text));
        line[end - text] = '\0';
        read_line(cells, line);
        text = end + 1;
    }
}

static void expect_table(const struct cells *cells)
{
    const struct lifecycle_machine *machine = cells->machine;
    for (size_t status = 0; status < machine->status_count; status++) {
        for (size_t event = 0; event < machine->event_count; event++) {
            const struct lifecycle_edge *edge =
                lifecycle_edge(machine, (uint8_t)status, (uint8_t)event);
            const size_t cell = cell_of(cells, (int)status, (int)event);
            EXPECT_INT(cells->at[cell].to, edge != NULL ? edge->to : -1);
            EXPECT_INT(cells->at[cell].to_with,
                       edge != NULL ? edge->to_with : -1);
            EXPECT(cells->at[cell].is_questionable ==
                   (edge != NULL && edge->questionable != NULL));
        }
    }
}

TEST(a_diagram_read_back_is_the_table)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        struct cells cells = {.machine = lifecycle_machines[i]};
        struct buf text = {0};
        lifecycle_diagram(cells.machine, &text);
        read_diagram(&cells, buf_text(&text));
        expect_table(&cells);
        buf_release(&text);
    }
}

static size_t lines_of(const char *name, enum lifecycle_profile profile)
{
    struct buf text = {0};
    size_t lines = 0;
    lifecycle_diagram(lifecycle_machine_find(name, profile), &text);
    for (const char *at = buf_text(&text); *at != '\0'; at++) {
        lines += *at == '\n';
    }
    buf_release(&text);
    return lines;
}

TEST(an_edge_is_one_line_and_a_choice_is_two)
{
    EXPECT_EQ(lines_of("thread", LIFECYCLE_OBSERVED), 2 + 50);
    EXPECT_EQ(lines_of("environment", LIFECYCLE_OBSERVED), 2 + 19 + 3);
    EXPECT_EQ(lines_of("thread", LIFECYCLE_STRICT), 2 + 14);
    EXPECT_EQ(lines_of("environment", LIFECYCLE_STRICT), 2 + 13 + 1);
}

TEST(docs_lifecycles_is_what_the_tables_say)
{
    struct buf page = {0};
    size_t length = 0;
    lifecycle_page(&page);
    char *stored = test_read_file("docs/lifecycles.md", &length);
    if (stored != NULL) {
        const bool is_fresh = length == page.length &&
                              memcmp(stored, buf_text(&page), length) == 0;
        if (!is_fresh) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "docs/lifecycles.md is stale: run ./dev docs");
        }
        test_release_file(stored, length);
    }
    buf_release(&page);
}

TEST(the_page_has_every_machine_and_every_name)
{
    struct buf page = {0};
    lifecycle_page(&page);
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        struct buf diagram = {0};
        lifecycle_diagram(machine, &diagram);
        EXPECT_CONTAINS(buf_text(&page), buf_text(&diagram));
        buf_release(&diagram);
        for (size_t j = 0; j < machine->event_count; j++) {
            EXPECT_CONTAINS(buf_text(&page), machine->events[j].meaning);
        }
    }
    buf_release(&page);
}
