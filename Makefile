# One Makefile. People call ./dev, which installs what is missing and then
# calls this.
#
#   make                 debug build and all tests of one compiler (CC=gcc)
#   make release         libheddle.a (sealed), libheddle.so, the command
#   make install         into DESTDIR and PREFIX (default /usr/local)
#   make check           layout, layers, banned calls, documentation
#   make docs            the pages that are printed from tables
#   make help            the rest

ifeq ($(origin CC),default)
CC := gcc
endif
# clang-14 and /usr/bin/gcc are the same families as clang and gcc.
FAMILY  := $(if $(findstring clang,$(notdir $(CC))),clang,gcc)
MODE    ?= debug
BUILD   := build/$(FAMILY)-$(MODE)
VERSION := $(shell sed -n 's/^.define HD_VERSION_TEXT  *"\(.*\)"/\1/p' include/heddle/heddle.h)
SONAME  := libheddle.so.$(firstword $(subst ., ,$(VERSION)))
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib

WARN := -Wall -Wextra -Wpedantic -Werror \
        -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion \
        -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
        -Wredundant-decls -Wnested-externs \
        -Wwrite-strings -Wcast-qual -Wcast-align -Wpointer-arith \
        -Wswitch-enum -Wimplicit-fallthrough -Wundef -Wvla -Walloca \
        -Wformat=2 -Wnull-dereference -Wfloat-equal -Wunused-macros
WARN_gcc := -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wrestrict \
        -Wformat-signedness -Wformat-overflow=2 -Wshift-overflow=2 \
        -Wstringop-overflow=4 -Wjump-misses-init -Wtrampolines
WARN_clang := -Wcomma -Wunreachable-code -Wconditional-uninitialized \
        -Wassign-enum -Wextra-semi-stmt -Wloop-analysis \
        -Wmissing-variable-declarations -Wreserved-identifier \
        -Wtautological-constant-in-range-compare

CFLAGS_ALL := -std=c17 -D_GNU_SOURCE -Isrc -Iinclude -Itest -g -MMD -MP \
        -fno-common -fvisibility=hidden -fPIC \
        $(WARN) $(WARN_$(FAMILY))
CFLAGS_debug   := -O1 -DHD_PARANOID -fno-omit-frame-pointer \
        -fsanitize=address,undefined -fno-sanitize-recover=all
# Functions with buffers are protected; a canary in every function that takes an
# address, or holds a value (which has room for 15 bytes), and a frame pointer,
# would cost a run of a node a third of its time. So would two words of a value
# that are put together into one vector on the way through memory.
CFLAGS_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector \
        --param=ssp-buffer-size=16 -fno-tree-slp-vectorize
# The fuzzers' own mode: clang only, the same checks and coverage feedback.
CFLAGS_fuzz    := -O1 -DHD_PARANOID \
        -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
# A machine with pointers of 32 bits, as the core meets it in a browser: with
# gcc-multilib the core can be compiled, and with the libraries below for i386
# its tests can be linked. Code of tests may narrow integers, and guesses of the
# compiler that depend on -O1 are off.
CFLAGS_m32     := -O1 -DHD_PARANOID -m32 -msse2 -mfpmath=sse \
        -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 \
        -Wno-psabi -Wno-conversion -Wno-sign-conversion \
        -Wno-null-dereference -Wno-format-truncation
# Another C library (CC=musl-gcc, of musl-tools). The libraries of the system are
# built for glibc, so only their headers are of use: the core can be compiled. To
# run its tests, build the libraries with musl-gcc and name their folders:
# make CC=musl-gcc MODE=musl CFLAGS='-isystem DIR/include' LDFLAGS='-static -LDIR/lib' core-tests
CFLAGS_musl    := -O1 -DHD_PARANOID -isystem build/gcc-musl/include
# Data races, for the parts with threads: make MODE=tsan build/gcc-tsan/bin/unit/...
# Its fences are not understood (-Wno-tsan); those are between processes.
CFLAGS_tsan    := -O1 -DHD_PARANOID -fno-omit-frame-pointer -fsanitize=thread \
        $(if $(filter gcc,$(FAMILY)),-Wno-tsan) -Wno-null-dereference
LDFLAGS_debug  := -fsanitize=address,undefined
LDFLAGS_tsan   := -fsanitize=thread
LDFLAGS_fuzz   := -fsanitize=address,undefined,fuzzer

# What the library itself needs; the peers and oracles are tests' and
# benchmarks' business.
LIBS      := -Wl,--as-needed -lsqlite3 -lsodium -lwebsockets -lssl -lcrypto -lm
TEST_LIBS := -ljansson $(LIBS)
# Lua is for the command and its own tests: who embeds the library does not
# need it. Its headers are not ours to warn about.
LUA_FLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags lua5.4 2>/dev/null))
LUA_LIBS  := -llua5.4
# Lines of the conversation (heddle repl): the command alone needs it.
EDIT_LIBS := -ledit

LIB_SRC   := $(filter-out src/cli/% src/script/% src/luatest/% src/tasks/% src/server/%,$(wildcard src/*/*.c))
SCRIPT_SRC := $(wildcard src/script/*.c src/luatest/*.c)
# Programs and requests of tasks: the command alone does them.
TASKS_SRC := $(wildcard src/tasks/*.c)
# The server is part of the command, not of the library.
SERVER_SRC := $(wildcard src/server/*.c)
CLI_SRC   := $(wildcard src/cli/*.c) $(TASKS_SRC) $(SERVER_SRC)
TEST_LIB  := $(wildcard test/lib/*.c)
TEST_SRC  := $(wildcard test/unit/*/test_*.c test/spec/*.c)
SIM_SRC   := $(wildcard test/sim/*.c)
PROG_SRC  := $(wildcard test/programs/*.c)
BENCH_LIB := $(wildcard bench/lib/*.c)
BENCH_SRC := $(wildcard bench/bench_*.c)
# The signal workloads are compiled twice: for the scheduler, and for the floor
# that stands beside it.
SIGNALS   := $(filter-out bench/signals/ours.c bench/signals/floor.c,\
        $(wildcard bench/signals/*.c))
SHAPES    := $(wildcard bench/shapes/*.c)
FUZZ_SRC  := $(wildcard fuzz/fuzz_*.c)
FILES     := $(wildcard include/*/*.h src/*/*.[ch] test/*/*.[ch] \
        test/*/*/*.[ch] bench/*.[ch] bench/*/*.[ch] fuzz/*.[ch] examples/*.[ch])

CORE_SRC  := $(wildcard $(patsubst %,src/%/*.c,base value proto lifecycle replica sched collection runtime))
CORE_TEST_SRC := $(wildcard $(patsubst %,test/unit/%/test_*.c,base value proto lifecycle replica sched collection runtime) \
        test/spec/*.c)

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
TESTS   := $(patsubst test/%.c,$(BUILD)/bin/%,$(TEST_SRC))
SIMS    := $(patsubst test/%.c,$(BUILD)/bin/%,$(SIM_SRC))
PROGRAMS := $(patsubst test/%.c,$(BUILD)/bin/%,$(PROG_SRC)) $(BUILD)/bin/outside_driver
BENCHES := $(patsubst bench/%.c,$(BUILD)/bin/%,$(BENCH_SRC))
FUZZERS := $(patsubst fuzz/%.c,$(BUILD)/bin/%,$(FUZZ_SRC))
REPLAYS := $(patsubst fuzz/fuzz_%.c,$(BUILD)/bin/replay_%,$(FUZZ_SRC))

.PHONY: all core core-tests tests sims programs replays test release cli benches fuzzers check format docs \
        install uninstall clean help
.SECONDARY:
.DELETE_ON_ERROR:

all: test

help:
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile
	@echo "  make tests|benches|fuzzers|cli   build only (MODE=debug|release|fuzz)"
	@echo "  make core|core-tests MODE=m32    what does no I/O, for 32 bits (see CFLAGS_m32)"
	@echo "  make core CC=musl-gcc MODE=musl  the same with another C library (see CFLAGS_musl)"
	@echo "  make format                      rewrite the layout"

core: $(call objects,$(CORE_SRC))

# musl-gcc does not look into the folder that these are in.
MUSL_HEADERS := $(BUILD)/include/xxhash.h $(BUILD)/include/sodium.h $(BUILD)/include/sodium
ifeq ($(MODE),musl)
$(call objects,$(CORE_SRC)): | $(MUSL_HEADERS)
$(BUILD)/include/%:
	@mkdir -p $(@D)
	@ln -sfn /usr/include/$* $@
endif
core-tests: $(patsubst test/%.c,$(BUILD)/bin/%,$(CORE_TEST_SRC))
tests: $(TESTS)
sims: $(SIMS)
programs: $(PROGRAMS)
replays: $(REPLAYS)
test: tests replays
	@tools/run-tests $(TESTS)

# What is embedded must do with a small stack; a test need not.
ifeq ($(MODE),release)
$(BUILD)/src/%.o: CFLAGS_frame := -Wframe-larger-than=8192 -O3
endif

$(BUILD)/src/script/%.o $(BUILD)/src/luatest/%.o $(BUILD)/test/unit/script/%.o $(BUILD)/fuzz/fuzz_lua.o: \
        CFLAGS_lua := $(LUA_FLAGS)
$(BUILD)/bench/%.o $(BUILD)/floor/%.o: CFLAGS_bench := -Ibench
$(BUILD)/floor/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "CC   $< (floor)"
	@$(CC) $(CFLAGS_ALL) $(CFLAGS_$(MODE)) $(CFLAGS_bench) -DSIGNALS_FLOOR \
	    $(CFLAGS) -c -o $@ $<
$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "CC   $<"
	@$(CC) $(CFLAGS_ALL) $(CFLAGS_$(MODE)) $(CFLAGS_frame) $(CFLAGS_bench) \
	    $(CFLAGS_lua) $(CFLAGS) -c -o $@ $<

LINK = mkdir -p $(@D) && echo "LINK $@" && \
       $(CC) $(CFLAGS_$(MODE)) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^)

# There are hundreds of programs, and most use a small part of the library: out
# of an archive each takes what it uses. That halves the time to link them, and
# the time in which valgrind reads their symbols. Thin: it holds no copies.
ARCHIVE = rm -f $@ && ar rcsT $@ $^
$(BUILD)/library.a: $(call objects,$(LIB_SRC))
	@$(ARCHIVE)
$(BUILD)/testing.a: $(call objects,$(TEST_LIB))
	@$(ARCHIVE)
$(BUILD)/server.a: $(call objects,$(SERVER_SRC))
	@$(ARCHIVE)
TEST_PARTS := $(BUILD)/testing.a $(BUILD)/server.a $(BUILD)/library.a

$(BUILD)/bin/unit/% $(BUILD)/bin/spec/% $(BUILD)/bin/sim/%: LDLIBS := $(TEST_LIBS)
# With their first prerequisites these make one list of objects each.
$(filter $(BUILD)/bin/unit/script/% $(BUILD)/bin/unit/luatest/%,$(TESTS)): $(call objects,$(SCRIPT_SRC))
$(BUILD)/bin/unit/script/% $(BUILD)/bin/unit/luatest/%: LDLIBS := $(TEST_LIBS) $(LUA_LIBS)
FUZZ_LUA := $(foreach name,lua pattern command,$(BUILD)/bin/fuzz_$(name) $(BUILD)/bin/replay_$(name))
$(FUZZ_LUA): $(call objects,$(SCRIPT_SRC))
$(FUZZ_LUA): LIBS += $(LUA_LIBS)
# The whole command, in a program that has a main of its own.
FUZZ_COMMAND := $(BUILD)/bin/fuzz_command $(BUILD)/bin/replay_command
$(FUZZ_COMMAND): LIBS += $(EDIT_LIBS)
$(FUZZ_COMMAND): $(call objects,$(filter-out src/cli/main.c,$(CLI_SRC))) $(BUILD)/fuzz/command_main.o
$(BUILD)/fuzz/command_main.o: src/cli/main.c Makefile
	@mkdir -p $(@D)
	@echo "CC   $< (as a function)"
	@$(CC) $(CFLAGS_ALL) $(CFLAGS_$(MODE)) $(CFLAGS) -Dmain=heddle_main \
	    -Wno-missing-prototypes -c -o $@ $<
$(BUILD)/bin/unit/%: $(BUILD)/test/unit/%.o $(TEST_PARTS)
	@$(LINK) $(LDLIBS)
$(BUILD)/bin/spec/%: $(BUILD)/test/spec/%.o $(TEST_PARTS)
	@$(LINK) $(LDLIBS)
$(BUILD)/bin/sim/%: $(BUILD)/test/sim/%.o $(TEST_PARTS)
	@$(LINK) $(LDLIBS)
# What the scripts of test/e2e start: the library and a main of its own.
$(BUILD)/bin/programs/%: $(BUILD)/test/programs/%.o $(BUILD)/library.a
	@$(LINK) $(LIBS)
$(BUILD)/bin/bench_api $(BUILD)/bin/bench_libraries: $(call objects,$(SIGNALS) bench/signals/ours.c)
$(BUILD)/bin/bench_sched $(BUILD)/bin/bench_events: \
        $(call objects,$(SIGNALS) bench/signals/ours.c $(SHAPES))
$(BUILD)/bin/bench_persist: $(call objects,$(wildcard bench/persist/*.c))
$(BUILD)/bin/bench_store: $(call objects,$(wildcard bench/durable/*.c))
# It also runs the command.
$(BUILD)/bin/bench_lua: $(call objects,$(SCRIPT_SRC)) | $(BUILD)/heddle
$(BUILD)/bin/bench_disk: | $(BUILD)/heddle
# It runs the server of the command, the floor, and the load for both.
$(BUILD)/bin/bench_server: $(call objects,bench/server/process.c) \
        | $(BUILD)/heddle $(BUILD)/bin/server_floor $(BUILD)/bin/server_load $(BUILD)/bin/steady_disk.so
$(BUILD)/bin/bench_lua: TEST_LIBS += $(LUA_LIBS)
$(BUILD)/bin/bench_%: $(BUILD)/bench/bench_%.o $(call objects,$(LIB_SRC) $(BENCH_LIB))
	@$(LINK) $(TEST_LIBS)
# The floor of a server, and the load for both: programs of their own.
$(BUILD)/bin/server_floor: $(call objects,bench/server/floor.c $(wildcard src/base/*.c))
	@$(LINK) -lwebsockets -lsqlite3
$(BUILD)/bin/steady_disk.so: $(call objects,bench/server/steady_disk.c)
	@$(LINK) -shared
$(BUILD)/bin/server_load: $(call objects,$(filter-out $(patsubst %,bench/server/%.c,floor process steady_disk),\
        $(wildcard bench/server/*.c)) \
        $(wildcard src/base/*.c))
	@$(LINK) -lz -lm
# One workload at a time, for an instruction counter.
$(BUILD)/bin/profile: $(call objects,bench/profile.c $(SIGNALS) \
        bench/signals/ours.c bench/shapes/kit.c $(LIB_SRC))
	@$(LINK) $(LIBS)
$(BUILD)/bin/floor_signals: $(patsubst %.c,$(BUILD)/floor/%.o,\
        bench/floor_signals.c bench/signals/floor.c $(SIGNALS)) \
        $(call objects,$(wildcard src/base/*.c))
	@$(LINK) -lm
FUZZ_SERVER := $(BUILD)/bin/fuzz_http $(BUILD)/bin/replay_http
$(FUZZ_SERVER): $(call objects,$(SERVER_SRC))
$(BUILD)/bin/fuzz_%: $(BUILD)/fuzz/fuzz_%.o $(BUILD)/library.a
	@$(LINK) $(LDFLAGS_fuzz) $(LIBS)
# The same target without libFuzzer: runs each file it is given once.
$(BUILD)/bin/replay_%: $(BUILD)/fuzz/fuzz_%.o $(BUILD)/fuzz/replay_main.o \
        $(BUILD)/library.a
	@$(LINK) $(LIBS)

# The outside checker's driver: the public header and the shared library.
$(BUILD)/bin/outside_driver: $(call objects,$(wildcard test/outside/*.c)) $(BUILD)/libheddle.so.$(VERSION)
	@ln -sf libheddle.so.$(VERSION) $(BUILD)/$(SONAME)
	@$(LINK) -L$(BUILD) -lheddle -lm -Wl,-rpath,'$$ORIGIN/..'

cli: $(BUILD)/heddle
$(BUILD)/heddle: $(call objects,$(CLI_SRC) $(LIB_SRC) $(SCRIPT_SRC))
	@$(LINK) $(LIBS) $(LUA_LIBS) $(EDIT_LIBS)

benches: $(BENCHES) $(BUILD)/bin/floor_signals $(BUILD)/bin/profile
fuzzers: $(FUZZERS)

# One object in which every hidden symbol is local: an embedder's graph_init()
# and ours can live in one program.
release:
	@$(MAKE) --no-print-directory MODE=release libraries cli
.PHONY: libraries
libraries: $(BUILD)/libheddle.a $(BUILD)/libheddle.so.$(VERSION)
$(BUILD)/libheddle.a: $(call objects,$(LIB_SRC))
	@echo "SEAL $@"
	@ld -r -o $(BUILD)/heddle.o $^
	@objcopy --localize-hidden $(BUILD)/heddle.o
	@rm -f $@ && ar rcs $@ $(BUILD)/heddle.o
# The program that loads a library with sanitizers brings their runtime: its
# symbols are undefined in the library.
$(BUILD)/libheddle.so.$(VERSION): $(call objects,$(LIB_SRC))
	@echo "LINK $@"
	@$(CC) -shared -Wl,-soname,$(SONAME) $(LDFLAGS_$(MODE)) \
	    $(if $(findstring -fsanitize,$(LDFLAGS_$(MODE))),,-Wl,--no-undefined) \
	    -o $@ $^ $(LIBS)
	@ln -sf libheddle.so.$(VERSION) $(BUILD)/libheddle.so

# Versions of clang-format differ in a few lines: the layout is that of this one
# (Debian 12). With another version the rest is checked, and the output says so.
FORMAT_VERSION := 14
FORMATTER := $(if $(shell command -v clang-format-$(FORMAT_VERSION)),clang-format-$(FORMAT_VERSION),clang-format)
IS_FORMATTER = $(FORMATTER) --version | grep -q 'version $(FORMAT_VERSION)\.'
check:
	@if $(IS_FORMATTER); then \
	    $(FORMATTER) --dry-run -Werror $(FILES) && \
	    echo "layout: checked $(words $(FILES)) files"; \
	else \
	    echo "layout: NOT checked, that needs clang-format $(FORMAT_VERSION)"; \
	fi
	@tools/tidy

format:
	@$(IS_FORMATTER) || { echo "format: needs clang-format $(FORMAT_VERSION)" >&2; exit 1; }
	@$(FORMATTER) -i $(FILES)

# Through a file of its own: a command that fails leaves the page as it was.
docs: cli
	@$(BUILD)/heddle lifecycle page >$(BUILD)/lifecycles.md
	@cp $(BUILD)/lifecycles.md docs/lifecycles.md

MANPAGES := $(wildcard man/*.1)
install: release
	@set -e; R=build/$(FAMILY)-release; P="$(DESTDIR)$(PREFIX)"; L="$(DESTDIR)$(LIBDIR)"; \
	install -d "$$P/bin" "$$P/include/heddle" "$$P/share/man/man1" "$$L/pkgconfig"; \
	install -m 755 $$R/heddle "$$P/bin/heddle"; \
	install -m 644 include/heddle/*.h "$$P/include/heddle/"; \
	install -m 644 $(MANPAGES) "$$P/share/man/man1/"; \
	install -d "$$P/share/bash-completion/completions" "$$P/share/zsh/site-functions" \
	    "$$P/share/fish/vendor_completions.d"; \
	$$R/heddle completion bash >"$$P/share/bash-completion/completions/heddle"; \
	$$R/heddle completion zsh >"$$P/share/zsh/site-functions/_heddle"; \
	$$R/heddle completion fish >"$$P/share/fish/vendor_completions.d/heddle.fish"; \
	install -m 644 $$R/libheddle.a "$$L/"; \
	install -m 755 $$R/libheddle.so.$(VERSION) "$$L/"; \
	ln -sf libheddle.so.$(VERSION) "$$L/$(SONAME)"; \
	ln -sf libheddle.so.$(VERSION) "$$L/libheddle.so"; \
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' tools/heddle.pc.in \
	    > "$$L/pkgconfig/heddle.pc"; \
	echo "installed heddle $(VERSION) in $$P"

uninstall:
	@P="$(DESTDIR)$(PREFIX)"; L="$(DESTDIR)$(LIBDIR)"; \
	rm -rf "$$P/include/heddle"; \
	for page in $(notdir $(MANPAGES)); do rm -f "$$P/share/man/man1/$$page"; done; \
	rm -f "$$P/share/bash-completion/completions/heddle" \
	    "$$P/share/zsh/site-functions/_heddle" \
	    "$$P/share/fish/vendor_completions.d/heddle.fish"; \
	rm -f "$$P/bin/heddle" "$$L/pkgconfig/heddle.pc" "$$L/libheddle.a" \
	    "$$L/libheddle.so" "$$L/$(SONAME)" "$$L/libheddle.so.$(VERSION)"

clean:
	@rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
