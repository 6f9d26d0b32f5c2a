/* heddle completion: scripts for shells, made from the tree of commands, so
 * that they know what the command knows; and the names that these scripts ask
 * for while a line is typed: pieces, and the streams and states of a piece. */

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/describe.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/visit.h"
#include "value/object.h"

static void add_word(void *ctx,
                     const char *word,
                     const char *value,
                     const char *manual)
{
    struct buf *words = ctx;
    (void)value;
    (void)manual;
    buf_append_text(words, words->length > 0 ? " " : "");
    buf_append_text(words, word);
}

/* What can follow: commands of a group, and options. */
static void append_words(struct buf *to, const struct command *command)
{
    for (const struct command *child = command->children;
         child != NULL && child->name != NULL;
         child++) {
        add_word(to, child->name, NULL, NULL);
    }
    options_visit(command->options | OPTIONS_COMMON, add_word, to);
}

/* -- bash and zsh -------------------------------------------------------- */

static void print_case(const char *path, const struct command *command)
{
    struct buf words = {0};
    append_words(&words, command);
    (void)printf("    '%s') words='%s' ;;\n", path, buf_text(&words));
    buf_release(&words);
}

static void print_cases(void)
{
    const struct command *root = &root_command;
    print_case("", root);
    for (const struct command *one = root->children; one->name != NULL; one++) {
        struct buf path = {0};
        print_case(one->name, one);
        for (const struct command *two = one->children;
             two != NULL && two->name != NULL;
             two++) {
            buf_clear(&path);
            buf_printf(&path, "%s %s", one->name, two->name);
            print_case(buf_text(&path), two);
        }
        buf_release(&path);
    }
}

/* Options whose next word is their value, as a pattern of `case`. */
static void add_option_with_value(void *ctx,
                                  const char *word,
                                  const char *value,
                                  const char *manual)
{
    struct buf *words = ctx;
    (void)manual;
    if (value != NULL && strcmp(word, "--dir") != 0) {
        buf_append_text(words, words->length > 0 ? " | " : "");
        buf_append_text(words, word);
    }
}

static void print_options_with_values(void)
{
    struct buf words = {0};
    options_visit(UINT64_MAX, add_option_with_value, &words);
    (void)printf("%s", buf_text(&words));
    buf_release(&words);
}

/* What is asked for while a line is typed: by how many words that are no
 * options are before it, and the first of them. */
static void print_names(void)
{
    (void)printf(
        "    case \"$count $given\" in\n"
        "    '1 send' | '1 set' | '1 get' | '1 watch' | '1 show' | '1 log' | "
        "'1 events' | '1 graph' | '1 why' | '1 why-not' | '1 rm' | "
        "'1 rename' | '1 export')\n"
        "        names=$(heddle completion pieces --dir \"$dir\" 2>/dev/null)\n"
        "        ;;\n"
        "    '2 send '*)\n"
        "        names=$(heddle completion streams \"$piece\" --dir \"$dir\" "
        "2>/dev/null) ;;\n"
        "    '2 set '* | '2 get '* | '2 watch '* | '2 show '*)\n"
        "        names=$(heddle completion states \"$piece\" --dir \"$dir\" "
        "2>/dev/null) ;;\n"
        "    esac\n");
}

/* The words before the one at hand that are no options, up to two. */
static void print_bash(void)
{
    (void)printf("# bash completion of heddle, printed by 'heddle completion "
                 "bash'.\n"
                 "_heddle() {\n"
                 "    local words given= path word i count=0 piece= names=\n"
                 "    local dir=./heddle-data\n"
                 "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        word=${COMP_WORDS[i]}\n"
                 "        case $word in\n"
                 "        --dir) dir=${COMP_WORDS[++i]} ;;\n"
                 "        ");
    print_options_with_values();
    (void)printf(
        ") ((++i)) ;;\n"
        "        -*) ;;\n"
        "        *)\n"
        "            given=\"${given:+$given }$word\"\n"
        "            ((++count == 2)) && piece=$word\n"
        "            ;;\n"
        "        esac\n"
        "    done\n"
        "    case $given in\n"
        "    'value '* | 'store '* | 'lifecycle '* | 'branch '* | 'key '*)\n"
        "        path=$(printf '%%s' \"$given\" | cut -d' ' -f1,2) ;;\n"
        "    *) path=${given%%%% *} ;;\n"
        "    esac\n"
        "    words=\n"
        "    case $path in\n");
    print_cases();
    (void)printf("    esac\n");
    print_names();
    (void)printf("    COMPREPLY=($(compgen -W \"$names $words\" -- "
                 "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
                 "}\n"
                 "complete -o default -F _heddle heddle\n");
}

static void print_zsh(void)
{
    (void)printf("#compdef heddle\n"
                 "# zsh completion of heddle, printed by 'heddle completion "
                 "zsh'.\n"
                 "local given=\"\" path_of word found piece=\"\" names=\"\"\n"
                 "local dir=./heddle-data count=0 i\n"
                 "for ((i = 2; i < CURRENT; i++)); do\n"
                 "    word=$words[i]\n"
                 "    case $word in\n"
                 "    --dir) dir=$words[++i] ;;\n"
                 "    ");
    print_options_with_values();
    (void)printf(
        ") ((++i)) ;;\n"
        "    -*) ;;\n"
        "    *)\n"
        "        given=\"${given:+$given }$word\"\n"
        "        ((++count == 2)) && piece=$word\n"
        "        ;;\n"
        "    esac\n"
        "done\n"
        "case $given in\n"
        "'value '* | 'store '* | 'lifecycle '* | 'branch '* | 'key '*)\n"
        "    path_of=${(j: :)${(s: :)given}[1,2]} ;;\n"
        "*) path_of=${given%%%% *} ;;\n"
        "esac\n"
        "() {\n"
        "    local words=\n"
        "    case $path_of in\n");
    print_cases();
    (void)printf("    esac\n");
    print_names();
    (void)printf("    found=(${(f)names} ${(s: :)words})\n"
                 "}\n"
                 "compadd -- $found || _files\n");
}

/* -- fish ---------------------------------------------------------------- */

struct fish {
    char condition[160];
};

/* Inside single quotes. */
static void print_quoted(const char *text)
{
    (void)putc('\'', stdout);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            (void)putc('\\', stdout);
        }
        (void)putc(*text, stdout);
    }
    (void)putc('\'', stdout);
}

static void print_fish_option(void *ctx,
                              const char *word,
                              const char *value,
                              const char *manual)
{
    const struct fish *fish = ctx;
    (void)printf("complete -c heddle -n '%s' -l %s%s -d ",
                 fish->condition,
                 word + 2,
                 value != NULL ? " -r" : "");
    print_quoted(manual);
    (void)putc('\n', stdout);
}

static void print_fish_command(const char *condition,
                               const struct command *command)
{
    (void)printf("complete -c heddle -n '%s' -f -a %s -d ",
                 condition,
                 command->name);
    print_quoted(command->brief);
    (void)putc('\n', stdout);
}

/* Names by their position, as long as no option is before them. */
static void print_fish_names(void)
{
    static const struct {
        const char *command;
        const char *second; /* what follows the piece; or NULL */
    } rows[] = {
        {"send", "streams"},
        {"set", "states"},
        {"get", "states"},
        {"watch", "states"},
        {"show", "states"},
        {"log", NULL},
        {"events", NULL},
        {"graph", NULL},
        {"why", NULL},
        {"why-not", NULL},
        {"rm", NULL},
        {"rename", NULL},
        {"export", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)printf("complete -c heddle -n '__fish_seen_subcommand_from %s; "
                     "and test (count (commandline -opc)) -eq 2' -f -a "
                     "'(heddle completion pieces 2>/dev/null)'\n",
                     rows[i].command);
        if (rows[i].second != NULL) {
            (void)printf("complete -c heddle -n '__fish_seen_subcommand_from "
                         "%s; and test (count (commandline -opc)) -eq 3' -f -a "
                         "'(heddle completion %s (commandline -opc)[3] "
                         "2>/dev/null)'\n",
                         rows[i].command,
                         rows[i].second);
        }
    }
}

static void print_fish(void)
{
    const struct command *root = &root_command;
    (void)printf("# fish completion of heddle, printed by 'heddle completion "
                 "fish'.\n");
    for (const struct command *one = root->children; one->name != NULL; one++) {
        struct fish fish;
        print_fish_command("__fish_use_subcommand", one);
        (void)snprintf(fish.condition,
                       sizeof fish.condition,
                       "__fish_seen_subcommand_from %s",
                       one->name);
        for (const struct command *two = one->children;
             two != NULL && two->name != NULL;
             two++) {
            struct fish below;
            print_fish_command(fish.condition, two);
            (void)snprintf(below.condition,
                           sizeof below.condition,
                           "__fish_seen_subcommand_from %s; and "
                           "__fish_seen_subcommand_from %s",
                           one->name,
                           two->name);
            options_visit(two->options, print_fish_option, &below);
        }
        options_visit(one->options | OPTIONS_COMMON, print_fish_option, &fish);
    }
    print_fish_names();
}

/* -- Names --------------------------------------------------------------- */

/* A shell may expand the words that it is given: only names of harmless
 * characters are offered. */
static bool is_harmless(struct text name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-./:@+";
    for (size_t i = 0; i < name.length; i++) {
        if (name.at[i] == '\0' || strchr(allowed, name.at[i]) == NULL) {
            return false;
        }
    }
    return name.length > 0 && name.at[0] != '-';
}

/* The keys of an object, one per line. */
static void print_keys(struct value object)
{
    if (!value_is_object(object)) {
        return;
    }
    struct object_iter iter = object_iter(object);
    struct value name;
    struct value item;
    while (object_next(&iter, &name, &item)) {
        const struct text text = value_text(&name);
        if (is_harmless(text)) {
            output_bytes(text.at, text.length);
        }
    }
}

static int print_parts(struct visit *visit, const enum describe_kind *of)
{
    struct entity *document = NULL;
    const int code =
        visit_find(visit, visit->options->operands[1].word, &document);
    if (code == CODE_OK) {
        const struct value parts = describe_parts(visit, document, *of, false);
        print_keys(parts);
        value_unref(parts);
    }
    return code;
}

static int print_pieces(struct visit *visit)
{
    struct entity *index = NULL;
    struct err_detail detail = {0};
    struct space *space = live_runtime(visit->live)->spaces.at[0];
    if (piece_index(space, &index, &detail) != ERR_OK ||
        live_load(visit->live, index, &detail) != ERR_OK) {
        return visit_report(visit->options, NULL, &detail);
    }
    print_keys(index->visible.payload);
    return CODE_OK;
}

/* What the scripts ask for; `of` is NULL for pieces. */
static int names_run(const struct options *options,
                     const enum describe_kind *of)
{
    if (options->operand_count != (of != NULL ? 2 : 1)) {
        return report_usage(options,
                            "'completion %s' takes %s",
                            options->operands[0].word,
                            of != NULL ? "PIECE" : "no operands");
    }
    struct visit visit = {0};
    int code = visit_open(&visit, options, DATA_DIR_READ_ONLY);
    if (code == CODE_OK) {
        code = of != NULL ? print_parts(&visit, of) : print_pieces(&visit);
    }
    return visit_close(&visit, code);
}

int completion_run(const struct options *options)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {
        {"bash", print_bash},
        {"zsh", print_zsh},
        {"fish", print_fish},
    };
    static const enum describe_kind streams = DESCRIBE_STREAMS;
    static const enum describe_kind states = DESCRIBE_STATES;
    const char *word = options->operands[0].word;
    if (strcmp(word, "pieces") == 0) {
        return names_run(options, NULL);
    }
    if (strcmp(word, "streams") == 0 || strcmp(word, "states") == 0) {
        return names_run(options,
                         strcmp(word, "states") == 0 ? &states : &streams);
    }
    for (size_t i = 0; i < COUNT_OF(shells) && options->operand_count == 1;
         i++) {
        if (strcmp(word, shells[i].shell) == 0) {
            shells[i].print();
            return CODE_OK;
        }
    }
    return report_usage(options,
                        "unknown shell: completions exist for bash, zsh and "
                        "fish");
}
