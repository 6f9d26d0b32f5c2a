/* Pipes to another program, and its life. */

#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

/* In the new process. */
static void become(char *const *arguments, int in, int out)
{
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)execvp(arguments[0], arguments);
    _exit(127);
}

bool child_start(struct child *child, char *const *arguments)
{
    int down[2];
    int up[2];
    *child = (struct child){0};
    CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
    (void)signal(SIGPIPE, SIG_IGN);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        become(arguments, down[0], up[1]);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    child->pid = pid;
    child->to = fdopen(down[1], "w");
    child->from = fdopen(up[0], "r");
    CHECK(child->to != NULL && child->from != NULL);
    double answer;
    if (!child_ask(child, &answer, "end")) {
        child_stop(child);
        return false;
    }
    return true;
}

bool child_ask(struct child *child, double *answer, const char *format, ...)
{
    if (child->to == NULL) {
        return false;
    }
    va_list list;
    va_start(list, format);
    (void)vfprintf(child->to, format, list);
    va_end(list);
    (void)fputc('\n', child->to);
    char line[256];
    if (fflush(child->to) != 0 ||
        fgets(line, sizeof line, child->from) == NULL) {
        return false;
    }
    char *end;
    *answer = strtod(line, &end);
    return end != line;
}

void child_stop(struct child *child)
{
    if (child->to != NULL) {
        (void)fclose(child->to);
        (void)fclose(child->from);
        (void)waitpid(child->pid, NULL, 0);
        *child = (struct child){0};
    }
}
