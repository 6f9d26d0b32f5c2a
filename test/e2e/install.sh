#!/bin/sh
# Installing: the files that a package has, a pkg-config file with which a
# program builds, and nothing left after uninstalling.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

CC=${CC:-gcc}
staged="$scratch/a stage" # blanks happen

# list FOLDER: what is in it besides folders.
list() {
    (cd "$1" && find . ! -type d | sort)
}

check "make install works" make -s --no-print-directory CC=gcc install DESTDIR="$staged" PREFIX=/usr
version=$(sed -n 's/^#define HD_VERSION_TEXT *"\(.*\)"/\1/p' include/heddle/heddle.h)
same "these files are installed" "$(list "$staged")" "./usr/bin/heddle
./usr/include/heddle/cell.h
./usr/include/heddle/heddle.h
./usr/include/heddle/inspect.h
./usr/include/heddle/node.h
./usr/include/heddle/pattern.h
./usr/include/heddle/runtime.h
./usr/lib/libheddle.a
./usr/lib/libheddle.so
./usr/lib/libheddle.so.${version%%.*}
./usr/lib/libheddle.so.$version
./usr/lib/pkgconfig/heddle.pc
./usr/share/bash-completion/completions/heddle
./usr/share/fish/vendor_completions.d/heddle.fish
./usr/share/man/man1/heddle-admin.1
./usr/share/man/man1/heddle-backup.1
./usr/share/man/man1/heddle-branch.1
./usr/share/man/man1/heddle-check.1
./usr/share/man/man1/heddle-completion.1
./usr/share/man/man1/heddle-doctor.1
./usr/share/man/man1/heddle-events.1
./usr/share/man/man1/heddle-export.1
./usr/share/man/man1/heddle-get.1
./usr/share/man/man1/heddle-graph.1
./usr/share/man/man1/heddle-import.1
./usr/share/man/man1/heddle-key.1
./usr/share/man/man1/heddle-lifecycle.1
./usr/share/man/man1/heddle-log.1
./usr/share/man/man1/heddle-new.1
./usr/share/man/man1/heddle-ps.1
./usr/share/man/man1/heddle-rename.1
./usr/share/man/man1/heddle-repl.1
./usr/share/man/man1/heddle-rm.1
./usr/share/man/man1/heddle-run.1
./usr/share/man/man1/heddle-send.1
./usr/share/man/man1/heddle-serve.1
./usr/share/man/man1/heddle-set.1
./usr/share/man/man1/heddle-show.1
./usr/share/man/man1/heddle-store.1
./usr/share/man/man1/heddle-test.1
./usr/share/man/man1/heddle-timers.1
./usr/share/man/man1/heddle-token.1
./usr/share/man/man1/heddle-value.1
./usr/share/man/man1/heddle-watch.1
./usr/share/man/man1/heddle-why-not.1
./usr/share/man/man1/heddle-why.1
./usr/share/man/man1/heddle.1
./usr/share/zsh/site-functions/_heddle"
same "the installed command runs" "$("$staged/usr/bin/heddle" --version)" "heddle $version"

# A program is built as from a package: in a root without blanks, because
# pkg-config prints words.
shared=$scratch/shared
cp -R "$staged" "$shared"
static=$scratch/static
cp -R "$staged" "$static"
rm "$static"/usr/lib/libheddle.so*

# package ROOT OPTION...: what pkg-config says about a heddle in that root.
package() {
    root=$1
    shift
    PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/pkgconfig \
        PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config "$@" heddle
}

# build ROOT PROGRAM OPTION...: the example, with the words of pkg-config.
build() {
    root=$1 program=$2
    shift 2
    # shellcheck disable=SC2046
    "$CC" examples/embed.c $(package "$root" --cflags "$@") -o "$program"
}

same "pkg-config knows the version" "$(package "$shared" --modversion)" "$version"
check "a program builds with the shared library" build "$shared" "$scratch/with_shared" --libs
check "and needs it" sh -c "readelf -d '$scratch/with_shared' | grep -q 'NEEDED.*libheddle.so.${version%%.*}'"
check "and runs" env LD_LIBRARY_PATH="$shared/usr/lib" "$scratch/with_shared"
check "a program builds with the static library" build "$static" "$scratch/with_static" --static --libs
check "and does not need the shared one" sh -c "! readelf -d '$scratch/with_static' | grep -q 'NEEDED.*libheddle'"
check "and runs, too" "$scratch/with_static"

: >"$staged/usr/lib/libheddle-of-somebody-else.so"
check "make uninstall works" make -s --no-print-directory CC=gcc uninstall DESTDIR="$staged" PREFIX=/usr
same "nothing of ours is left, and all of others" "$(list "$staged")" "./usr/lib/libheddle-of-somebody-else.so"
check "nor is our folder" test ! -e "$staged/usr/include/heddle"

finish
