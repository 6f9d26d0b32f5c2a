/* A function's fingerprint: is it still the same?
 *
 * The fingerprint is a digest of the function's code without debug information
 * and of what it captures: numbers, strings and booleans by value, tables by
 * their content, functions by theirs, library functions by name, objects of C
 * by the identity that their class gives them (struct script_class). It is the
 * same in every process.
 *
 *   fingerprint-1  Moving a function, renaming its locals, or editing comments
 *                  and other functions of the file changes nothing.
 *   fingerprint-2  Another instruction, constant or captured value changes it.
 *   fingerprint-3  Cycles are fine: each object is described once, and named by
 *                  a number after that.
 *
 * What a function reaches through globals is not captured. What is captured is
 * looked at now: a variable that changes changes the fingerprint.
 *
 * A function that captures what has no identity, a coroutine for example, has
 * no fingerprint. A table can be asked for as well. */

#ifndef SCRIPT_FINGERPRINT_H
#define SCRIPT_FINGERPRINT_H

#include "script/vm.h"
#include "value/id.h"

enum {
    FINGERPRINT_OBJECTS_MAX = 100 * 1000, /* that are captured, all together */
    FINGERPRINT_BYTES_MAX = 16 * 1024 * 1024,
};

/* Errors: TYPE (it captures what has no identity, or is no function),
 * LIMIT_SIZE, NO_MEMORY (a budget of the script is used up). */
MUST_CHECK enum err script_fingerprint(struct script *script,
                                       struct script_function function,
                                       struct digest *out,
                                       struct err_detail *detail);

/* The same with `memory`, a table that was kept: captured variables with plain
 * values, and captured tables, count as what they were when they were first
 * looked at with it. For tests: a function that counts its calls in a variable,
 * or writes a list, is the same one after a restart in the same process. */
MUST_CHECK enum err script_fingerprint_first(struct script *script,
                                             struct script_function function,
                                             struct script_function memory,
                                             struct digest *out,
                                             struct err_detail *detail);

#endif
