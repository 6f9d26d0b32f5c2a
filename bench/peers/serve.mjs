// Times a signal library on the workloads, as somebody else asks for it:
//
//   begin NAME   builds and warms up; answers with the checksum, or 0
//   round NS     iterates for so long; answers with nanoseconds an iteration
//   end          forgets the graph
//
// one line each, and one line back. What goes wrong is answered by a line that
// begins with "error".
//
// usage: serve.mjs [NS [LIBRARY]]: how long a workload warms up, and whose
// (libraries.mjs); alien-signals unless somebody says so.
//
// Time is what the main thread spent on a CPU: what the collector and the
// compiler do in threads of their own is not held against the library.

import { openSync, readSync } from "node:fs";
import { createInterface } from "node:readline";
import { load } from "./libraries.mjs";
import { creations, updates } from "./workloads.mjs";

const WARM_NS = Number(process.argv[2] ?? 4e8);

let kept = [];
const lib = {
  ...await load(process.argv[3] ?? "alien-signals"),
  keep: (made) => {
    kept.push(made);
    return made;
  },
};

// ---- time ----

const statistics = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
const buffer = Buffer.alloc(64);
const cpu = () => {
  process.cpuUsage(); // makes the kernel bring its count up to date
  const length = readSync(statistics, buffer, 0, 64, 0);
  return Number(buffer.toString("latin1", 0, length).split(" ")[0]);
};

const collect = () => {
  if (globalThis.gc) globalThis.gc();
};

// ---- one workload at a time ----

let iterate = null;
let stop = null;

const end = () => {
  if (stop) stop();
  iterate = stop = null;
  kept = [];
  collect();
};

const createOnce = (workload) => {
  let spent = 0;
  const dispose = lib.scope(() => {
    const sources = Array.from({ length: workload.sources }, (_, i) => lib.signal(i).get);
    for (const get of sources) get();
    collect();
    const from = cpu();
    workload.create(lib, sources);
    spent = cpu() - from;
  });
  dispose();
  kept = [];
  return spent;
};

const begin = (name) => {
  end();
  if (creations[name]) {
    const workload = creations[name];
    iterate = () => createOnce(workload);
    iterate();
    iterate();
    return 0;
  }
  let once;
  stop = lib.scope(() => { once = updates[name](lib); });
  for (let i = 0; i < (name.startsWith("dyn-") ? 3 : 2); i++) once();
  const checksum = once();
  for (const from = cpu(); cpu() - from < WARM_NS;) once();
  iterate = () => {
    const from = cpu();
    once();
    return cpu() - from;
  };
  iterate.once = once;
  return checksum;
};

const round = (wanted) => {
  collect();
  let iterations = 0;
  let spent = 0;
  if (!iterate.once) {
    while (spent < wanted) {
      spent += iterate();
      iterations++;
    }
    return spent / iterations;
  }
  const from = cpu();
  for (let step = 1; spent < wanted; step *= 2) {
    for (let i = 0; i < step; i++) iterate.once();
    iterations += step;
    spent = cpu() - from;
  }
  return spent / iterations;
};

const answer = (line) => {
  const [what, argument] = line.split(" ");
  if (what === "begin") return begin(argument);
  if (what === "round") return round(Number(argument));
  end();
  return 0;
};

createInterface({ input: process.stdin }).on("line", (line) => {
  let text;
  try {
    text = String(answer(line));
  } catch (error) {
    text = `error ${String(error.message).split("\n")[0]}`;
  }
  process.stdout.write(`${text}\n`);
});
