/* heddle new: a small pattern and its test, to start from; and types for the
 * Lua language server, so that an editor knows what code can call. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report.h"
#include "script/types.h"

enum {
    NAME_BYTES_MAX = 64
};

/* '@' stands for the name. */
static const char pattern_text[] =
    "-- A list of things to do. Try it:\n"
    "--\n"
    "--   heddle test @_test.lua\n"
    "--   heddle run @.lua\n"
    "--   heddle send @ add '{\"text\": \"water the plants\"}'\n"
    "--   heddle get @\n"
    "\n"
    "local heddle = require \"heddle\"\n"
    "\n"
    "return heddle.pattern(\"@\", function(p)\n"
    "  local items = p:state(\"items\", heddle.array{})\n"
    "\n"
    "  local open = p:computed(\"open\", function()\n"
    "    local count = 0\n"
    "    for _, item in ipairs(items:get()) do\n"
    "      if not item.done then count = count + 1 end\n"
    "    end\n"
    "    return count\n"
    "  end)\n"
    "\n"
    "  local add = p:handler(\"add\", function(event)\n"
    "    items:append{ text = event.text, done = false }\n"
    "    return { count = #items:get() }\n"
    "  end)\n"
    "\n"
    "  local finish = p:handler(\"finish\", function(event)\n"
    "    items:key(event.number, \"done\"):set(true)\n"
    "  end)\n"
    "\n"
    "  return { items = items, open = open, add = add, finish = finish }\n"
    "end)\n";

static const char test_text[] =
    "local heddle = require \"heddle\"\n"
    "local test = require \"heddle.test\"\n"
    "local @ = require \"@\"\n"
    "\n"
    "test(\"what is done is not open\", function(t)\n"
    "  local rt = t:runtime()\n"
    "  local piece = rt:run(@)\n"
    "  piece:send(\"add\", { text = \"water the plants\" })\n"
    "  piece:send(\"add\", { text = \"feed the cat\" })\n"
    "  rt:idle()\n"
    "  t:eq(piece:get(\"open\"), 2)\n"
    "\n"
    "  piece:send(\"finish\", { number = 1 })\n"
    "  rt:idle()\n"
    "  t:eq(piece:get(\"open\"), 1)\n"
    "  t:eq(piece:get(\"items.1.done\"), true)\n"
    "end)\n"
    "\n"
    "test(\"a restart runs nothing again\", function(t)\n"
    "  local rt = t:runtime()\n"
    "  local piece = rt:run(@, nil, { name = \"mine\" })\n"
    "  piece:send(\"add\", { text = \"water the plants\" })\n"
    "  rt:idle()\n"
    "  t:eq(piece:get(\"open\"), 1)\n"
    "  rt:settled()\n"
    "\n"
    "  rt = rt:restart()\n"
    "  piece = rt:run(@, nil, { name = \"mine\" })\n"
    "  t:eq(piece:get(\"open\"), 1)\n"
    "  t:eq(piece:node(\"open\"):runs(), 0)\n"
    "end)\n";

/* A word that Lua can have as a variable, and a system as a file. */
static bool is_name(const char *name)
{
    static const char *const reserved[] = {
        "and",   "break", "do",       "else",  "elseif", "end",
        "false", "for",   "function", "goto",  "if",     "in",
        "local", "nil",   "not",      "or",    "repeat", "return",
        "then",  "true",  "until",    "while", "heddle", "test"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strcmp(name, reserved[i]) == 0) {
            return false;
        }
    }
    for (const char *at = name; *at != '\0'; at++) {
        const bool letter = (*at >= 'a' && *at <= 'z') ||
                            (*at >= 'A' && *at <= 'Z') || *at == '_';
        const bool digit = *at >= '0' && *at <= '9';
        if (!letter && !(digit && at != name)) {
            return false;
        }
    }
    return name[0] != '\0' && strlen(name) <= NAME_BYTES_MAX;
}

/* A file that was not there before. */
static int write_file(const struct options *options,
                      const char *file,
                      const char *text,
                      const char *name)
{
    FILE *to = fopen(file, "wx");
    if (to == NULL) {
        return report_system(options, file, errno);
    }
    struct buf content = {0};
    for (; *text != '\0'; text++) {
        if (*text == '@') {
            buf_append_text(&content, name);
        } else {
            buf_append_char(&content, *text);
        }
    }
    errno = 0;
    bool done =
        fwrite(buf_text(&content), 1, content.length, to) == content.length;
    done = fclose(to) == 0 && done;
    buf_release(&content);
    if (!done) {
        const int failed = errno != 0 ? errno : EIO;
        (void)remove(file);
        return report_system(options, file, failed);
    }
    output_word(options, "file", file);
    return CODE_OK;
}

/* -- Types --------------------------------------------------------------- */

static int write_types(const struct options *options,
                       const struct script_type_file *file)
{
    FILE *to = fopen(file->name, file->replaced ? "w" : "wx");
    if (to == NULL) {
        return errno == EEXIST ? CODE_OK
                               : report_system(options, file->name, errno);
    }
    bool done = true;
    for (const char *const *line = file->lines; *line != NULL; line++) {
        done = fputs(*line, to) >= 0 && fputs("\n", to) >= 0 && done;
    }
    done = fclose(to) == 0 && done;
    return done ? CODE_OK : report_system(options, file->name, EIO);
}

/* All of them; those of an earlier version are replaced. */
static int write_all_types(const struct options *options)
{
    static const char folder[] = ".heddle";
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return report_system(options, folder, errno);
    }
    int code = CODE_OK;
    for (const struct script_type_file *file = script_type_files;
         code == CODE_OK && file->name != NULL;
         file++) {
        code = write_types(options, file);
    }
    return code;
}

int new_run(const struct options *options)
{
    const char *name = options->operands[0].word;
    if (!is_name(name)) {
        return report_usage(options,
                            "a name consists of letters, digits and _: '%s' "
                            "does not",
                            name);
    }
    struct buf pattern = {0};
    struct buf test = {0};
    buf_printf(&pattern, "%s.lua", name);
    buf_printf(&test, "%s_test.lua", name);
    int code = write_file(options, buf_text(&pattern), pattern_text, name);
    if (code == CODE_OK) {
        code = write_file(options, buf_text(&test), test_text, name);
    }
    if (code == CODE_OK) {
        code = write_all_types(options);
    }
    buf_release(&test);
    buf_release(&pattern);
    return code;
}
