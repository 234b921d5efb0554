// The explorer of single graphs. figures/report/explorer.py packs its data and says in which field.
"use strict";

(() => {
  const stage = document.getElementById("stage");
  if (!stage) return;
  const field = document.getElementById("choice").elements;
  const tracePanel = document.getElementById("trace");
  const section = document.getElementById("explorer");
  const link = document.getElementById("link");
  const DATASETS = all("script[id^='data-']").map((element) => element.id.slice("data-".length));
  const FIRST = stage.dataset.first.split(" ");
  const GROUPS = [
    ["As the published comparison ran it", ["released"]],
    ["To the letter", ["literal"]],
    ["As each paper defines it, RSGG-CE by score function", ["faithful"]],
    ["Beyond the papers", ["beyond"]],
    ["Search", ["search"]],
    ["Controls", ["control"]],
  ];
  const GROUPED = GROUPS.flatMap(([, variants]) => variants);
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = 12;
  const PIXELS = 464; // about the side of a matrix, in device pixels

  // What is seen. The address holds all of it (`#explorer?d=asd&i=2&…`).
  const state = { dataset: DATASETS[0], instance: null, methods: new Set(FIRST), view: "both", safe: false, trace: "", step: 0 };
  const unpacked = {};
  let data = null; // of state.dataset

  // -- Unpacking -----------------------------------------------------------------------------------------------

  async function load(name) {
    if (unpacked[name]) return unpacked[name];
    const text = atob(document.getElementById(`data-${name}`).textContent.trim());
    const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked[name] = unpack(await new Response(stream).arrayBuffer());
    return unpacked[name];
  }

  function unpack(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const body = new Uint8Array(buffer, 4 + length);
    const { n, instances } = found;
    let at = 0;
    const number = () => {
      let [value, shift] = [0, 0];
      for (;;) {
        const byte = body[at++];
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
        shift += 7;
      }
    };
    const list = () => Uint32Array.from({ length: number() }, number);
    const sorted = () => {
      let last = 0;
      return list().map((gap) => (last += gap));
    };
    const slice = (count) => body.subarray(at, (at += count));
    const layouts = Array.from({ length: found.one_layout ? 1 : instances.length }, () => slice(2 * n));
    found.pairs = pairsOf(n);
    found.layouts = layouts;
    found.edges = instances.map(sorted);
    for (const row of found.rows) {
      row.key = `${row.method}:${row.variant}`;
      row.edits = instances.map(sorted);
    }
    for (const trace of found.traces) {
      trace.key = `${trace.method}:${trace.variant}`;
      trace.scores = slice((n * (n - 1)) / 2);
      trace.removed = sorted();
      trace.checked = list();
    }
    found.folds = [...new Set(found.fold)].sort((a, b) => a - b);
    return found;
  }

  // Pairs u ≤ v in the order of their numbers.
  function pairsOf(n) {
    const pairs = [];
    for (let u = 0; u < n; u++) for (let v = u; v < n; v++) pairs.push([u, v]);
    return pairs;
  }

  // -- Drawing -------------------------------------------------------------------------------------------------

  // The pairs of an input and of what became of it, by what happened to them.
  function parts(edges, edits) {
    const before = new Set(edges);
    const changed = new Set(edits);
    return {
      kept: [...edges].filter((pair) => !changed.has(pair)),
      added: [...edits].filter((pair) => !before.has(pair)),
      removed: [...edits].filter((pair) => before.has(pair)),
    };
  }

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function graph(position, drawn, now = null) {
    const layout = data.layouts[data.one_layout ? 0 : position];
    const svg = document.createElementNS(SVG, "svg");
    const add = (name, attributes) => {
      const made = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      svg.append(made);
      return made;
    };
    svg.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${255 + 2 * MARGIN} ${255 + 2 * MARGIN}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${drawn.kept.length} edges kept, ${drawn.added.length} added, ${drawn.removed.length} removed`);
    svg.classList.toggle("large", data.n > 60);
    svg.classList.toggle("crowded", data.n > 60 && drawn.added.length + drawn.removed.length > 300);
    for (const kind of ["kept", "removed", "added"]) {
      if (drawn[kind].length) add("path", { class: kind, d: drawn[kind].map((pair) => line(layout, pair)).join("") });
    }
    if (now !== null) add("path", { class: `${now.kind} now`, d: line(layout, now.pair) });
    for (let node = 0; node < data.nodes[position]; node++) {
      const circle = add("circle", { cx: layout[2 * node], cy: layout[2 * node + 1], r: data.n > 60 ? 1.6 : 4, "data-node": node });
      const title = document.createElementNS(SVG, "title");
      title.textContent = `node ${node}`;
      circle.append(title);
    }
    return svg;
  }

  // A straight line, or a ring above the node for a self loop.
  function line(layout, pair) {
    const [u, v] = data.pairs[pair];
    const [x, y] = [layout[2 * u], layout[2 * u + 1]];
    return u === v ? `M${x} ${y}a5 5 0 1 1 .1 0` : `M${x} ${y}L${layout[2 * v]} ${layout[2 * v + 1]}`;
  }

  function canvasOf(label) {
    const scale = Math.max(1, Math.round(PIXELS / data.n));
    const canvas = element("canvas", { width: data.n * scale, height: data.n * scale, role: "img", "aria-label": label });
    const pen = canvas.getContext("2d");
    const fill = (pair) => {
      const [u, v] = data.pairs[pair];
      pen.fillRect(v * scale, u * scale, scale, scale);
      pen.fillRect(u * scale, v * scale, scale, scale);
    };
    return { canvas, pen, fill };
  }

  function matrix(drawn) {
    const { canvas, pen, fill } = canvasOf("adjacency matrix");
    const colours = getComputedStyle(root);
    pen.fillStyle = colours.getPropertyValue("--blank");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    for (const [kind, name] of [["kept", "--pixel"], ["added", "--added"], ["removed", "--removed"]]) {
      pen.fillStyle = colours.getPropertyValue(name);
      drawn[kind].forEach(fill);
    }
    return canvas;
  }

  // A_g: the darker, the more likely the generator deems the pair to be an edge.
  function heat(scores) {
    const { canvas, pen, fill } = canvasOf("edge scores of the generator");
    const [ground, ink] = ["--blank", "--pixel"].map((name) => getComputedStyle(root).getPropertyValue(name));
    pen.fillStyle = ground;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = ink;
    let at = 0;
    data.pairs.forEach(([u, v], pair) => {
      if (u === v) return;
      pen.globalAlpha = scores[at++] / 255;
      fill(pair);
    });
    return canvas;
  }

  function pictures(position, drawn) {
    const shown = [];
    if (state.view !== "matrix") shown.push(graph(position, drawn));
    if (state.view !== "graph") shown.push(matrix(drawn));
    return shown;
  }

  function facts(lines) {
    const list = element("dl");
    for (const [name, value] of lines) {
      if (value !== null) list.append(element("dt", {}, name), element("dd", {}, String(value)));
    }
    return list;
  }

  const className = (number) => `${number} (${data.classes[number]})`;
  const known = (number, shown = String) => (number < 0 ? null : shown(number));

  function inputCard(position) {
    const drawn = { kept: [...data.edges[position]], added: [], removed: [] };
    const card = element("article", { class: "card", "data-row": "input", "data-instance": data.instances[position] });
    card.append(element("header", {}, element("h4", {}, "Input"), element("span", { class: "badge" }, `graph ${data.instances[position]}, fold ${data.fold[position]}`)));
    card.append(...pictures(position, drawn));
    card.append(facts([
      ["oracle’s class", className(data.predicted[position])],
      ["true class", className(data.truth[position])],
      ["nodes, edges", `${data.nodes[position]}, ${drawn.kept.length}`],
      ["fewest edits known", known(data.optimum[position])],
    ]));
    return card;
  }

  function milliseconds(microseconds) {
    return microseconds < 1000 ? `${(microseconds / 1000).toFixed(2)} ms` : microseconds < 1e6 ? `${(microseconds / 1000).toFixed(0)} ms` : `${(microseconds / 1e6).toFixed(1)} s`;
  }

  function rowCard(row, position) {
    const drawn = parts(data.edges[position], row.edits[position]);
    const [before, after] = [data.predicted[position], row.predicted_cf[position]];
    const valid = row.found[position] === 1 && before !== after;
    const card = element("article", { class: "card", "data-row": row.key, "data-instance": data.instances[position], "data-valid": valid });
    const head = element("header", {}, element("h4", {}, row.label));
    card.append(head);
    if (after < 0) {
      head.append(element("span", { class: "badge" }, "not stored"));
      return card;
    }
    head.append(element("span", { class: `badge ${valid ? "good" : "bad"}` }, valid ? "counterfactual" : row.found[position] ? "class unchanged" : "none found"));
    card.append(...pictures(position, drawn));
    card.append(facts([
      ["oracle’s class", row.found[position] ? `${before} → ${after}` : `${before}`],
      ["GED", row.ged[position]],
      ["added, removed", `${drawn.added.length}, ${drawn.removed.length}`],
      ["oracle calls", known(row.calls[position])],
      ["calls to fit the fold", known(row.fit_calls[position])],
      ["time to explain", known(row.microseconds[position], milliseconds)],
    ]));
    const reason = row.reasons[row.reason[position]];
    if (reason) card.append(element("p", { class: "note" }, `${reason}.`));
    return card;
  }

  // -- The sampling, step by step --------------------------------------------------------------------------------

  function showTrace(position) {
    const here = data.traces.filter((trace) => trace.instance === data.instances[position]);
    tracePanel.replaceChildren(element("h3", {}, "RSGG-CE’s sampling, step by step"));
    if (!here.length) {
      tracePanel.append(noTrace());
      return;
    }
    const trace = here.find((one) => one.key === state.trace) || here[0];
    state.trace = trace.key;
    const last = trace.removed.length + trace.checked.length;
    state.step = Math.max(0, Math.min(state.step, last));
    const card = element("div", { class: "card", "data-step": state.step, "data-steps": last });
    card.append(traceControls(here, trace, last), element("output", {}, told(trace, state.step)));
    const drawn = stepped(trace, position, state.step);
    const views = element("div", { class: "views" });
    const captioned = (picture, text) => views.append(element("figure", {}, picture, element("figcaption", {}, text)));
    captioned(graph(position, drawn, edited(trace, state.step)), "the graph so far");
    captioned(matrix(drawn), "as a matrix");
    captioned(heat(trace.scores), "A_g, the generator’s edge scores: darker is likelier");
    card.append(views);
    tracePanel.append(card);
  }

  function noTrace() {
    const missing = element("p", { class: "note" }, "No trace of the sampling is stored for this graph. ");
    const other = data.traces[0];
    if (other) {
      const position = data.instances.indexOf(other.instance);
      const button = element("button", { type: "button", "data-go": other.instance }, `Fold ${data.fold[position]} has one`);
      button.addEventListener("click", () => go(position));
      missing.append(button);
    } else {
      missing.append(element("code", {}, `./reproduce.sh traces --datasets ${data.name} --folds 0`), " makes those of a fold.");
    }
    return missing;
  }

  function traceControls(here, trace, last) {
    const controls = element("div", { class: "steps" });
    const select = element("select", { "aria-label": "Which generator" });
    for (const one of here) {
      const row = data.rows.find((candidate) => candidate.key === one.key);
      const option = element("option", { value: one.key }, row ? row.label : one.key);
      option.selected = one === trace;
      select.append(option);
    }
    select.addEventListener("change", () => change({ trace: select.value, step: 0 }, "select"));
    const button = (sign, name, step) => {
      const made = element("button", { type: "button", "aria-label": name, "data-to": name }, sign);
      made.disabled = step < 0 || step > last || step === state.step;
      made.addEventListener("click", () => change({ step }, `[data-to="${name}"]`));
      return made;
    };
    const slider = element("input", { type: "range", min: 0, max: last, "aria-label": "Step" });
    slider.value = state.step;
    slider.addEventListener("input", () => change({ step: Number(slider.value) }, "input"));
    controls.append(select, button("«", "first step", 0), button("‹", "step back", state.step - 1), slider, button("›", "step on", state.step + 1), button("»", "last step", last));
    return controls;
  }

  // The pair that the last step dealt with.
  function edited(trace, step) {
    if (!step) return null;
    const left = trace.removed.length;
    return step <= left ? { kind: "removed", pair: trace.removed[step - 1] } : { kind: "added", pair: trace.checked[step - 1 - left] };
  }

  function stepped(trace, position, step) {
    const left = trace.removed.length;
    const out = new Set(trace.removed.slice(0, step));
    const into = new Set(trace.checked.slice(0, Math.max(0, step - left)));
    const edges = new Set(data.edges[position]);
    return {
      kept: [...edges].filter((pair) => !out.has(pair) || into.has(pair)),
      removed: [...out].filter((pair) => !into.has(pair)),
      added: [...into].filter((pair) => !edges.has(pair)),
    };
  }

  function told(trace, step) {
    const [left, last] = [trace.removed.length, trace.removed.length + trace.checked.length];
    const count = `Step ${step} of ${last}. `;
    const ends = trace.found ? "the class has changed, and this graph is the counterfactual." : "the class is still the same: none was found.";
    if (!step) return `${count}The input. ${left} of its edges will not be drawn${trace.checked.length ? `, and ${trace.checked.length} pairs will be added` : ""}; ${trace.calls} oracle calls in all.${last ? "" : ` Every edge was drawn; ${ends}`}`;
    const { kind, pair } = edited(trace, step);
    const [u, v] = data.pairs[pair];
    const score = u === v ? "" : ` (score ${(trace.scores[pair - u - 1] / 255).toFixed(2)})`;
    if (kind === "removed") {
      const asked = step < left ? "" : trace.checked.length ? " All edges are visited; the oracle is asked, and the class is still the same." : ` All edges are visited; the oracle is asked: ${ends}`;
      return `${count}Edge ${u}–${v}${score} is not drawn and is left out, without a check.${asked}`;
    }
    return `${count}Pair ${u}–${v}${score} is drawn and added; the oracle is asked: ${step < last ? "the class is still the same." : ends}`;
  }

  // -- Choosing ------------------------------------------------------------------------------------------------

  const positionOf = (instance) => Math.max(0, data.instances.indexOf(instance));

  function go(position) {
    change({ instance: data.instances[position], step: 0 });
  }

  function move(graphs, folds) {
    const position = positionOf(state.instance);
    if (graphs) go((position + graphs + data.instances.length) % data.instances.length);
    if (folds) goToFold(data.folds[(data.folds.indexOf(data.fold[position]) + folds + data.folds.length) % data.folds.length]);
  }

  function goToFold(fold) {
    go(data.fold.indexOf(fold));
  }

  // Change what is seen; `focus` is what in the panel of steps shall have the focus again after it was drawn anew.
  async function change(changes, focus = "") {
    Object.assign(state, changes);
    await show();
    history.replaceState(null, "", link.getAttribute("href"));
    if (focus && tracePanel.querySelector(focus)) tracePanel.querySelector(focus).focus();
  }

  async function show() {
    const wanted = state.dataset;
    data = await load(wanted);
    if (wanted !== state.dataset) return;
    if (!data.instances.includes(state.instance)) state.instance = data.instances[0];
    const position = positionOf(state.instance);
    root.classList.toggle("safe", state.safe);
    fillForm(position);
    const chosen = data.rows.filter((row) => state.methods.has(row.key));
    stage.replaceChildren(inputCard(position), ...chosen.map((row) => rowCard(row, position)));
    stage.dataset.instance = state.instance;
    showTrace(position);
    link.href = address();
  }

  function options(select, values, labels, chosen) {
    select.replaceChildren(...values.map((value, i) => element("option", { value }, labels[i])));
    select.value = chosen;
  }

  function fillForm(position) {
    const fold = data.fold[position];
    const inFold = data.instances.filter((_, i) => data.fold[i] === fold);
    const described = inFold.map((instance) => `${instance}, ${data.classes[data.predicted[positionOf(instance)]]}`);
    options(field.data, DATASETS, DATASETS.map((name) => document.getElementById(`data-${name}`).dataset.label), state.dataset);
    options(field.fold, data.folds, data.folds, fold);
    options(field.instance, inFold, described, state.instance);
    field.view.value = state.view;
    field.safe.checked = state.safe;
    fillMethods();
  }

  function fillMethods() {
    const box = document.querySelector("#methods div");
    const count = data.rows.filter((row) => state.methods.has(row.key)).length;
    document.querySelector("#methods summary").textContent = `Methods: ${count} of ${data.rows.length} shown`;
    if (box.dataset.of !== data.name) {
      box.dataset.of = data.name;
      box.replaceChildren(...GROUPS.map(([title, variants]) => methodGroup(title, data.rows.filter((row) => variants.includes(row.variant)))));
      const others = data.rows.filter((row) => !GROUPED.includes(row.variant));
      if (others.length) box.append(methodGroup("From outside the project", others));
      if (data.missing.length) box.append(element("p", { class: "note" }, `Not stored: ${data.missing.join(", ")}.`));
    }
    for (const check of all("input", box)) check.checked = state.methods.has(check.value);
  }

  function methodGroup(title, rows) {
    const group = element("fieldset", {}, element("legend", {}, title));
    for (const row of rows) {
      const check = element("input", { type: "checkbox", value: row.key });
      check.addEventListener("change", () => toggle([row.key], check.checked));
      group.append(element("label", {}, check, row.label));
    }
    const every = element("button", { type: "button" }, "all / none");
    every.addEventListener("click", () => toggle(rows.map((row) => row.key), !rows.every((row) => state.methods.has(row.key))));
    group.append(every);
    return group;
  }

  function toggle(keys, shown) {
    const methods = new Set(state.methods);
    keys.forEach((key) => (shown ? methods.add(key) : methods.delete(key)));
    change({ methods });
  }

  // -- The address ---------------------------------------------------------------------------------------------

  function address() {
    const shown = data.rows.map((row) => row.key).filter((key) => state.methods.has(key));
    const said = new URLSearchParams({ d: state.dataset, i: state.instance, m: shown.join(" "), v: state.view });
    if (state.safe) said.set("c", "safe");
    if (state.trace && data.traces.length) said.set("t", state.trace);
    if (state.step) said.set("s", state.step);
    return `#explorer?${said}`;
  }

  function restore() {
    const said = new URLSearchParams(location.hash.split("?")[1] || "");
    if (DATASETS.includes(said.get("d"))) state.dataset = said.get("d");
    if (said.has("i")) state.instance = Number(said.get("i"));
    if (said.has("m")) state.methods = new Set(said.get("m").split(" ").filter(Boolean));
    if (["both", "graph", "matrix"].includes(said.get("v"))) state.view = said.get("v");
    state.safe = said.get("c") === "safe";
    state.trace = said.get("t") || "";
    state.step = Number(said.get("s")) || 0;
  }

  // -- Listening -----------------------------------------------------------------------------------------------

  field.data.addEventListener("change", () => change({ dataset: field.data.value, instance: null, step: 0 }));
  field.fold.addEventListener("change", () => goToFold(Number(field.fold.value)));
  field.instance.addEventListener("change", () => change({ instance: Number(field.instance.value), step: 0 }));
  field.view.addEventListener("change", () => change({ view: field.view.value }));
  field.safe.addEventListener("change", () => change({ safe: field.safe.checked }));
  field.previous.addEventListener("click", () => move(-1, 0));
  field.next.addEventListener("click", () => move(1, 0));

  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const STEP_KEYS = { "[": -1, "]": 1 };

  section.addEventListener("keydown", (event) => {
    const busy = event.target.matches("select, input:not([type=checkbox])");
    if (!data || event.altKey || event.ctrlKey || event.metaKey) return;
    if (KEYS[event.key] && !busy) {
      event.preventDefault();
      move(...KEYS[event.key]);
    } else if (STEP_KEYS[event.key]) {
      change({ step: state.step + STEP_KEYS[event.key] });
    }
  });

  document.addEventListener("colours", () => data && show());
  const isOurs = () => location.hash.startsWith("#explorer?");
  addEventListener("hashchange", () => {
    if (!isOurs()) return;
    restore();
    show();
    section.scrollIntoView();
  });

  // Unpacked only when it comes into sight, so that the page is there at once.
  function start() {
    if (typeof DecompressionStream === "undefined") {
      stage.replaceChildren(element("p", { class: "note" }, "This browser cannot unpack the data; a newer one can."));
      return;
    }
    show().catch((error) => {
      stage.replaceChildren(element("p", { class: "note" }, `The data could not be unpacked: ${error.message}`));
    });
  }

  if (isOurs()) {
    restore();
    start();
    section.scrollIntoView();
  } else {
    const watch = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) {
        watch.disconnect();
        start();
      }
    }, { rootMargin: "600px" });
    watch.observe(section);
  }
})();
