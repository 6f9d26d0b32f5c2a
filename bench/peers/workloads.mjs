// The signal workloads for libraries under node: the same graphs, updates and
// checksums as in bench/signals/*.c, against
//
//   signal(number) -> {get, set}     computed(fn) -> get
//   effect(fn)                       batch(fn): and settles
//
// An update workload has build(lib), which returns its iteration; a creation
// has sources and create(lib, sources).

const chain = (lib, get, length) => {
  for (let i = 0; i < length; i++) {
    const before = get;
    get = lib.computed(() => before() + 1);
  }
  return get;
};

const sumOf = (gets) => () => {
  let sum = 0;
  for (let i = 0; i < gets.length; i++) sum += gets[i]();
  return sum;
};

const range = (count, fn) => Array.from({ length: count }, (_, i) => fn(i));

// Writes 1, 0, 1, 2, ... to the head and sums up what is seen at the end.
const iterateHead = (lib, head, out, updates) => {
  let number = 0;
  const write = () => head.set(number);
  const once = (next) => {
    number = next;
    lib.batch(write);
    return out();
  };
  return () => {
    let sum = once(1);
    for (let i = 0; i < updates - 1; i++) sum += once(i);
    return sum;
  };
};

const look = (lib, get) => lib.effect(() => { get(); });

export const updates = {};
export const creations = {};

// ---- shapes ----

const spin = () => {
  let count = 0;
  for (let i = 0; i < 100; i++) count++;
  return count;
};

updates["avoidable"] = (lib) => {
  const head = lib.signal(0);
  const same = lib.computed(() => head.get());
  const nothing = lib.computed(() => (same(), 0));
  const one = lib.computed(() => (spin(), nothing() + 1));
  const three = lib.computed(() => one() + 2);
  const six = lib.computed(() => three() + 3);
  lib.effect(() => { six(); spin(); });
  return iterateHead(lib, head, six, 1001);
};

const broad = (count) => (lib) => {
  const head = lib.signal(0);
  let last;
  for (let i = 0; i < count; i++) {
    const first = lib.computed(() => head.get() + i);
    const second = lib.computed(() => first() + 1);
    look(lib, second);
    last = second;
  }
  return iterateHead(lib, head, last, 51);
};
updates["broad50"] = broad(50);
updates["broad1000"] = broad(1000);

const chains = (count, length, number) => (lib) => {
  const head = lib.signal(0);
  let last;
  for (let i = 0; i < count; i++) {
    last = chain(lib, head.get, length);
    look(lib, last);
  }
  return iterateHead(lib, head, last, number);
};
updates["deep50"] = chains(1, 50, 51);
updates["deep1000"] = chains(1, 1000, 51);
updates["prop-1x1"] = chains(1, 1, 1001);
updates["prop-1x10"] = chains(1, 10, 501);
updates["prop-1x100"] = chains(1, 100, 101);
updates["prop-10x10"] = chains(10, 10, 101);
updates["prop-100x10"] = chains(100, 10, 51);
updates["prop-100x100"] = chains(100, 100, 21);

const diamond = (count, number) => (lib) => {
  const head = lib.signal(0);
  const middle = range(count, () => lib.computed(() => head.get() + 1));
  const sum = lib.computed(sumOf(middle));
  look(lib, sum);
  return iterateHead(lib, head, sum, number);
};
updates["diamond5"] = diamond(5, 501);
updates["diamond1000"] = diamond(1000, 51);

updates["mux100"] = (lib) => {
  const heads = range(100, () => lib.signal(0));
  const list = lib.computed(() => heads.map((head) => head.get()));
  const lanes = range(100, (i) => {
    const picked = lib.computed(() => list()[i]);
    return lib.computed(() => picked() + 1);
  });
  lanes.forEach((lane) => look(lib, lane));
  let index = 0;
  let number = 0;
  const write = () => heads[index].set(number);
  return () => {
    let sum = 0;
    for (let round = 1; round <= 2; round++) {
      for (index = 0; index < 10; index++) {
        number = index * round;
        lib.batch(write);
        sum += lanes[index]();
      }
    }
    return sum;
  };
};

updates["repeated30"] = (lib) => {
  const head = lib.signal(0);
  const sum = lib.computed(() => {
    let all = 0;
    for (let i = 0; i < 30; i++) all += head.get();
    return all;
  });
  look(lib, sum);
  return iterateHead(lib, head, sum, 101);
};

updates["triangle10"] = (lib) => {
  const head = lib.signal(0);
  const gets = [head.get];
  while (gets.length < 10) gets.push(chain(lib, gets[gets.length - 1], 1));
  chain(lib, gets[9], 1); // nobody looks at the last one
  const sum = lib.computed(sumOf(gets));
  look(lib, sum);
  return iterateHead(lib, head, sum, 101);
};

updates["unstable"] = (lib) => {
  const head = lib.signal(0);
  const twice = lib.computed(() => head.get() * 2);
  const minus = lib.computed(() => -head.get());
  const sum = lib.computed(() => {
    let all = 0;
    for (let i = 0; i < 20; i++) all += head.get() % 2 ? twice() : minus();
    return all;
  });
  look(lib, sum);
  return iterateHead(lib, head, sum, 101);
};

const fibonacci = (n) => (n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2));
const hard = (number) => number + fibonacci(16);

updates["molwire"] = (lib) => {
  const a = lib.signal(0);
  const b = lib.signal(0);
  const c = lib.computed(() => (a.get() % 2) + (b.get() % 2));
  const list = lib.computed(() => range(5, (i) => i + (a.get() % 2) - (b.get() % 2)));
  const e = lib.computed(() => hard(c() + a.get() + list()[0]));
  const f = lib.computed(() => hard(list()[2] || b.get()));
  const g = lib.computed(() => c() + (c() || e() % 2) + list()[4] + f());
  let seen = 0;
  lib.effect(() => { seen += hard(g()); });
  lib.effect(() => { seen += g(); });
  lib.effect(() => { seen += hard(f()); });
  let round = 0;
  const odd = () => { b.set(1); a.set(1 + round * 2); };
  const even = () => { b.set(2); a.set(2 + round * 2); };
  return () => {
    round++;
    lib.batch(odd);
    const sum = g() + f();
    lib.batch(even);
    return sum + g() + f();
  };
};

// ---- layers of four ----

const cellx = (layers) => (lib) => {
  const top = range(4, (i) => lib.signal(i + 1));
  let row = top.map((signal) => signal.get);
  for (let i = 0; i < layers; i++) {
    const [a, b, c, d] = row;
    row = [
      lib.computed(() => b()),
      lib.computed(() => a() - c()),
      lib.computed(() => b() + d()),
      lib.computed(() => c()),
    ];
    row.forEach((get) => look(lib, get));
  }
  const bottom = row;
  const seen = () => bottom[0]() * 1000 + bottom[1]() * 100 + bottom[2]() * 10 + bottom[3]();
  const down = () => top.forEach((signal, i) => signal.set(4 - i));
  const up = () => top.forEach((signal, i) => signal.set(1 + i));
  return () => {
    lib.batch(down);
    const sum = seen();
    lib.batch(up);
    return sum + seen();
  };
};
updates["cellx1000"] = cellx(1000);
updates["cellx2500"] = cellx(2500);
updates["cellx5000"] = cellx(5000);

// ---- layers that change their reads ----

const chance = () => {
  let a = 246123560, b = 2434935956, c = 752727108, d = 913990249;
  return () => {
    d = (d + 1) >>> 0;
    const drawn = (a + b + d) >>> 0;
    a = (b ^ (b >>> 9)) >>> 0;
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + drawn) >>> 0;
    return drawn / 4294967296;
  };
};

const sumButOne = (gets) => {
  const [first, ...rest] = gets;
  return () => {
    let sum = first();
    const drops = sum & 1;
    const dropped = sum % rest.length;
    for (let i = 0; i < rest.length; i++) {
      if (!drops || i !== dropped) sum += rest[i]();
    }
    return sum;
  };
};

const layers = (width, depth, constant, reads, lookedAt, number) => (lib) => {
  const sources = range(width, (i) => lib.signal(i));
  let row = sources.map((source) => source.get);
  let draw = chance();
  for (let i = 1; i < depth; i++) {
    const before = row;
    row = range(width, (at) => {
      const gets = range(reads, (k) => before[(at + k) % width]);
      return lib.computed(draw() < constant ? sumOf(gets) : sumButOne(gets));
    });
  }
  const leaves = row.slice();
  draw = chance();
  for (let gone = Math.round(width * (1 - lookedAt)); gone > 0; gone--) {
    leaves.splice(Math.floor(draw() * leaves.length), 1);
  }
  const seeAll = sumOf(leaves);
  lib.effect(() => { seeAll(); });
  let at = 0;
  let next = 0;
  const write = () => sources[at].set(next);
  const sumUp = () => {
    let sum = 0;
    for (let i = 0; i < leaves.length; i++) sum = leaves[i]() + sum;
    return sum;
  };
  return () => {
    let sum = 0;
    for (let i = 0; i < number; i++) {
      at = i % width;
      next = i + at;
      lib.batch(write);
      sum = sumUp();
    }
    return sum;
  };
};
updates["dyn-simple-component"] = layers(10, 5, 1, 2, 0.2, 600000);
updates["dyn-dynamic-component"] = layers(10, 10, 0.75, 6, 0.2, 15000);
updates["dyn-large-web-app"] = layers(1000, 12, 0.95, 4, 1, 7000);
updates["dyn-wide-dense"] = layers(1000, 5, 1, 25, 1, 3000);
updates["dyn-deep"] = layers(5, 500, 1, 3, 1, 500);
updates["dyn-very-dynamic"] = layers(100, 15, 0.5, 6, 1, 2000);

// ---- effects on signals ----

const onSignals = (reads, readers, number) => (lib) => {
  const sources = range(reads, (i) => lib.signal(i));
  const sum = sumOf(sources.map((source) => source.get));
  let seen = 0;
  for (let i = 0; i < readers; i++) lib.effect(() => { seen = sum(); });
  let next = 0;
  const write = () => sources[0].set(next);
  return () => {
    let all = 0;
    for (let i = 0; i < number; i++) {
      next = i + 1;
      lib.batch(write);
      all += seen;
    }
    return all;
  };
};
updates["update-1to1"] = onSignals(1, 1, 10000);
updates["update-2to1"] = onSignals(2, 1, 10000);
updates["update-4to1"] = onSignals(4, 1, 10000);
updates["update-1000to1"] = onSignals(1000, 1, 200);
updates["update-1to2"] = onSignals(1, 2, 10000);
updates["update-1to4"] = onSignals(1, 4, 10000);
updates["update-1to1000"] = onSignals(1, 1000, 200);

// ---- demand ----

updates["dormant10k"] = (lib) => {
  const head = lib.signal(0);
  for (let i = 0; i < 10000; i++) lib.keep(lib.computed(() => head.get() + i))();
  const awake = lib.computed(() => head.get() * 2);
  look(lib, awake);
  return iterateHead(lib, head, awake, 101);
};

updates["batch1000"] = (lib) => {
  const sources = range(1000, () => lib.signal(0));
  const sum = lib.computed(sumOf(sources.map((source) => source.get)));
  look(lib, sum);
  let number = 0;
  const write = () => {
    for (let i = 0; i < 1000; i++) sources[i].set(number + i);
  };
  return () => {
    let all = 0;
    for (number = 1; number <= 20; number++) {
      lib.batch(write);
      all += sum();
    }
    return all;
  };
};

updates["equal-write"] = (lib) => {
  const head = lib.signal(7);
  const twice = lib.computed(() => head.get() * 2);
  look(lib, twice);
  const write = () => head.set(7);
  return () => {
    let sum = 0;
    for (let i = 0; i < 10000; i++) {
      lib.batch(write);
      sum += twice();
    }
    return sum;
  };
};

// ---- creation ----

const SIGNALS = 100000;

creations["create-signals"] = {
  sources: 0,
  create: (lib) => { for (let i = 0; i < SIGNALS; i++) lib.keep(lib.signal(i)); },
};

const effects = (reads, readers, count) => ({
  sources: reads === 0 ? 0 : SIGNALS / readers,
  create: (lib, gets) => {
    for (let i = 0; i < count; i++) {
      const from = Math.floor(i / readers) * reads;
      if (reads === 1) {
        look(lib, gets[from]);
      } else {
        lib.effect(() => {
          let sum = 0;
          for (let k = 0; k < reads; k++) sum += gets[from + k]();
          return sum;
        });
      }
    }
  },
});
creations["create-0to1"] = effects(0, 1, 100000);
creations["create-1to1"] = effects(1, 1, 100000);
creations["create-2to1"] = effects(2, 1, 50000);
creations["create-4to1"] = effects(4, 1, 25000);
creations["create-1000to1"] = effects(1000, 1, 100);
creations["create-1to2"] = effects(1, 2, 100000);
creations["create-1to4"] = effects(1, 4, 100000);
creations["create-1to8"] = effects(1, 8, 100000);
creations["create-1to1000"] = effects(1, 1000, 100000);
