#!/usr/bin/env python3
"""The outside checker: random programs, real processes, and a judge.

    ./dev outside [ROUNDS] [SEED]          many rounds
    ./dev outside --round R [SEED]         one of them again, told in full
    ./dev outside --kind NAME ...          only rounds of that kind
    ./dev outside --help                   the rest

Prints TAP, one test per kind of round and one for the floors, and at last how
many passed and failed. HEDDLE is the command to test, HEDDLE_DRIVER the driver
program that is linked to the library.
"""

import argparse
import collections
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import traceback

import rounds
from checker import TooLong
from round import Round, Unexplained

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "gcc-release")


class Settings:
    """What every round needs to know."""

    def __init__(self, options):
        self.heddle = os.path.abspath(os.environ.get("HEDDLE", os.path.join(BUILD, "heddle")))
        self.driver = os.path.abspath(os.environ.get("HEDDLE_DRIVER", os.path.join(BUILD, "bin", "outside_driver")))
        self.seed = options.seed
        self.kinds = [kind for kind in rounds.KINDS if not options.kind or kind.name in options.kind]
        self.scratch = None
        self.keep = options.keep
        self.without = options.without or ()


def kind_of(settings, number):
    """The kind of a round follows from its seed and number alone: rounds are
    dealt from decks in which each kind is as frequent as its weight says."""
    deck = [kind for kind in settings.kinds for _ in range(kind.weight)]
    random.Random("deck %s/%d" % (settings.seed, number // len(deck))).shuffle(deck)
    return deck[number % len(deck)]


def play(job):
    """One round: (number, kind, counts, seconds, what is wrong or None)."""
    settings, number = job
    kind = kind_of(settings, number)
    begin = time.monotonic()
    round = Round(settings, settings.seed, number, kind.name)
    problem = None
    try:
        round.count("round " + kind.name)
        kind.play(round)
    except Unexplained as error:
        problem = tell(round, str(error))
    except TooLong:
        round.count("given up")
    except Exception:  # a mistake of the checker is a failure, too
        problem = tell(round, "the checker itself failed\n" + traceback.format_exc())
    finally:
        if problem and settings.keep:
            problem += "kept: %s\n" % round.directory
        else:
            round.clean_up()
    return number, kind.name, round.counts, time.monotonic() - begin, problem


def tell(round, text):
    """The whole story of a round that failed."""
    lines = ["round %d (%s): %s" % (round.number, round.kind, text), "history:"]
    lines += ["  " + line for line in round.history]
    for name in sorted(os.listdir(round.directory)):
        if name.endswith(".lua"):
            lines.append("file %s:" % name)
            with open(os.path.join(round.directory, name)) as file:
                lines += ["  " + line.rstrip() for line in file]
    return "\n".join(lines) + "\n"


def comment(text):
    return "".join("# %s\n" % line for line in text.splitlines())


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev outside", description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=400)
    parser.add_argument("seed", nargs="?", default=None)
    parser.add_argument("--round", type=int, help="only this one, told in full; the argument is the seed")
    parser.add_argument("--kind", action="append", help="only rounds of this kind (%s)" % ", ".join(
        kind.name for kind in rounds.KINDS))
    parser.add_argument("--without", action="append", choices=["own-view"],
                        help="leave something out, to see what is behind it: own-view is handlers that read derived values")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--stop", action="store_true", help="end with the first failure")
    parser.add_argument("--keep", action="store_true", help="keep the directories of rounds that failed")
    parser.add_argument("--times", action="store_true", help="print how long the kinds take")
    options = parser.parse_args(arguments)
    if options.round is not None and options.seed is None:
        options.seed = str(options.rounds)
    if options.seed is None:
        options.seed = "1"
    return options


def again(options, number):
    kinds = "".join(" --kind " + kind for kind in options.kind or ())
    kinds += "".join(" --without " + name for name in options.without or ())
    return "again: ./dev outside --round %d%s %s\n" % (number, kinds, options.seed)


def report(name, number, problem):
    if problem:  # before its line, where ./dev test looks for it
        sys.stdout.write(comment(problem))
    sys.stdout.write("%sok %d - %s\n" % ("not " if problem else "", number, name))
    sys.stdout.flush()


def main(arguments):
    options = parse(arguments)
    settings = Settings(options)
    base = "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None
    settings.scratch = tempfile.mkdtemp(prefix="heddle-outside-", dir=base)
    try:
        return run_one(options, settings) if options.round is not None else run_all(options, settings)
    finally:
        if not options.keep:
            shutil.rmtree(settings.scratch, ignore_errors=True)


def run_one(options, settings):
    number, kind, counts, seconds, problem = play((settings, options.round))
    sys.stdout.write(problem or "round %d (%s): explained\n" % (number, kind))
    return 1 if problem else 0


def run_all(options, settings):
    print("# seed %s, %d rounds" % (options.seed, options.rounds))
    sys.stdout.flush()
    counts = collections.Counter()
    seconds = collections.Counter()
    failed = collections.defaultdict(list)
    first = {}
    jobs = ((settings, number) for number in range(options.rounds))
    with multiprocessing.Pool(options.jobs) as pool:
        for number, kind, counted, took, problem in pool.imap_unordered(play, jobs):
            counts.update(counted)
            seconds[kind] += took
            if problem:
                failed[kind].append(number)
                first.setdefault(kind, problem)
                sys.stdout.write(comment(problem + again(options, number)))
                sys.stdout.flush()
                if options.stop:
                    pool.terminate()
                    break
    tests = 0
    wrong = 0
    for kind in settings.kinds:
        tests += 1
        problem = ""
        if failed[kind.name]:
            wrong += 1
            problem = "%d of %d rounds are not explained: %s" % (
                len(failed[kind.name]), counts["round " + kind.name], " ".join(map(str, sorted(failed[kind.name]))))
        report("%s: %d rounds" % (kind.title, counts["round " + kind.name]), tests, problem)
    if not options.kind and options.rounds >= rounds.FLOOR_ROUNDS:
        tests += 1
        missing = rounds.below_floors(counts, options.rounds)
        wrong += 1 if missing else 0
        report("the rounds contain enough of everything", tests, missing)
    for name in sorted(counts):
        print("# %6d %s" % (counts[name], name))
    if options.times:
        for name in sorted(seconds):
            print("# %8.2f s %s, %.0f ms per round" % (
                seconds[name], name, 1000 * seconds[name] / max(1, counts["round " + name])))
    print("1..%d" % tests)
    print("%d passed, %d failed" % (tests - wrong, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
