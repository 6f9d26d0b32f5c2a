// The signal libraries behind one face, so that one workload serves all:
//
//   signal(number)  { get, set }
//   computed(fn)    a function that reads it
//   effect(fn)      somebody who looks; has run before scope() returns
//   batch(fn)       writes, and everything that follows from them
//   scope(fn)       everything that fn makes goes when what is returned is called
//
// Each is called as its own documentation has it.

// Those without a scope of their own give out what ends an effect.
const collected = (ends) => (fn) => {
  ends.length = 0;
  fn();
  const mine = ends.splice(0);
  return () => { for (const end of mine) end(); };
};

const makers = {
  "alien-signals": async () => {
    const { computed, effect, effectScope, endBatch, signal, startBatch } = await import("alien-signals");
    return {
      signal: (number) => {
        const made = signal(number);
        return { get: made, set: made };
      },
      computed,
      effect: (fn) => { effect(() => { fn(); }); },
      batch: (fn) => {
        startBatch();
        fn();
        endBatch();
      },
      scope: effectScope,
    };
  },

  preact: async () => {
    const { batch, computed, effect, signal } = await import("@preact/signals-core");
    const ends = [];
    return {
      signal: (number) => {
        const made = signal(number);
        return { get: () => made.value, set: (next) => { made.value = next; } };
      },
      computed: (fn) => {
        const made = computed(fn);
        return () => made.value;
      },
      effect: (fn) => { ends.push(effect(() => { fn(); })); },
      batch,
      scope: collected(ends),
    };
  },

  solid: async () => {
    // What node finds by the name alone is the build for servers, which reacts to nothing.
    const { batch, createEffect, createMemo, createRoot, createSignal } = await import("solid-js/dist/solid.js");
    return {
      signal: (number) => {
        const [get, set] = createSignal(number);
        return { get, set };
      },
      computed: createMemo,
      effect: (fn) => { createEffect(() => { fn(); }); },
      batch,
      scope: (fn) => createRoot((end) => {
        fn();
        return end;
      }),
    };
  },

  vue: async () => {
    const { ReactiveEffect, computed, effectScope, shallowRef } = await import("@vue/reactivity");
    let waiting = [];
    return {
      signal: (number) => {
        const made = shallowRef(number);
        return { get: () => made.value, set: (next) => { made.value = next; } };
      },
      computed: (fn) => {
        const made = computed(fn);
        return () => made.value;
      },
      effect: (fn) => {
        const made = new ReactiveEffect(() => { fn(); });
        made.scheduler = () => { waiting.push(made); };
        made.run();
      },
      batch: (fn) => {
        fn();
        for (let i = 0; i < waiting.length; i++) waiting[i].runIfDirty();
        waiting = [];
      },
      scope: (fn) => {
        const made = effectScope(true);
        made.run(fn);
        return () => made.stop();
      },
    };
  },

  mobx: async () => {
    const { autorun, computed, configure, observable, runInAction } = await import("mobx");
    configure({ enforceActions: "never" });
    const ends = [];
    return {
      signal: (number) => {
        const made = observable.box(number, { deep: false });
        return { get: () => made.get(), set: (next) => made.set(next) };
      },
      computed: (fn) => {
        const made = computed(fn);
        return () => made.get();
      },
      effect: (fn) => { ends.push(autorun(() => { fn(); })); },
      batch: runInAction,
      scope: collected(ends),
    };
  },

  "s-js": async () => {
    const S = (await import("s-js")).default;
    return {
      signal: (number) => {
        const made = S.value(number);
        return { get: made, set: made };
      },
      computed: S,
      effect: (fn) => { S(() => { fn(); }); },
      batch: S.freeze,
      scope: (fn) => S.root((end) => {
        fn();
        return end;
      }),
    };
  },

  reactively: async () => {
    const { Reactive, stabilize } = await import("@reactively/core");
    return {
      signal: (number) => {
        const made = new Reactive(number);
        return { get: () => made.get(), set: (next) => made.set(next) };
      },
      computed: (fn) => {
        const made = new Reactive(fn);
        return () => made.get();
      },
      effect: (fn) => { new Reactive(() => { fn(); }, true); },
      batch: (fn) => {
        fn();
        stabilize();
      },
      scope: (fn) => {
        fn();
        stabilize();
        return () => {};
      },
    };
  },
};

export const load = (name) => makers[name]();
