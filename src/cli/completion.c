/* heddle completion: scripts for shells, made from the tree of commands, so
 * that they know what the command knows. */

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"

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

/* The words before the one at hand that are no options, up to two. */
static void print_bash(void)
{
    (void)printf("# bash completion of heddle, printed by 'heddle completion "
                 "bash'.\n"
                 "_heddle() {\n"
                 "    local words path= word i\n"
                 "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        word=${COMP_WORDS[i]}\n"
                 "        case $word in\n"
                 "        -*) ;;\n"
                 "        *) path=\"${path:+$path }$word\" ;;\n"
                 "        esac\n"
                 "    done\n"
                 "    case $path in\n"
                 "    'value '* | 'store '* | 'lifecycle '* | 'branch '*)\n"
                 "        path=$(printf '%%s' \"$path\" | cut -d' ' -f1,2) ;;\n"
                 "    *) path=${path%%%% *} ;;\n"
                 "    esac\n"
                 "    words=\n"
                 "    case $path in\n");
    print_cases();
    (void)printf("    esac\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- "
                 "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
                 "}\n"
                 "complete -o default -F _heddle heddle\n");
}

static void print_zsh(void)
{
    (void)printf("#compdef heddle\n"
                 "# zsh completion of heddle, printed by 'heddle completion "
                 "zsh'.\n"
                 "local given=\"\" words_of word found\n"
                 "for word in ${words[2,CURRENT-1]}; do\n"
                 "    [[ $word == -* ]] || given=\"${given:+$given }$word\"\n"
                 "done\n"
                 "case $given in\n"
                 "'value '* | 'store '* | 'lifecycle '* | 'branch '*)\n"
                 "    given=${(j: :)${(s: :)given}[1,2]} ;;\n"
                 "*) given=${given%%%% *} ;;\n"
                 "esac\n"
                 "() {\n"
                 "    local words=\n"
                 "    case $given in\n");
    print_cases();
    (void)printf("    esac\n"
                 "    found=(${(s: :)words})\n"
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
    const char *shell = options->operands[0].word;
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (strcmp(shell, shells[i].shell) == 0) {
            shells[i].print();
            return CODE_OK;
        }
    }
    return report_usage(options,
                        "there are completions for bash, zsh and fish");
}
