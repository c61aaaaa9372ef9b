// The explorer of `clbench explore`. All text from logs becomes text nodes, never markup.

const DATA = await unpack(document.getElementById("data").textContent);
const TASKS = DATA.tasks;
const MODELS = DATA.models;
const OUTCOMES = { s: "solved", f: "not solved", u: "not scored", j: "no verdict", e: "no answer" };
const SIGNS = { y: ["✓", "", "met"], n: ["✗", " no", "not met"] };
const NO_SIGN = ["·", " none", "not known"];
const count = h("p", { id: "count", role: "status" });
const list = h("ol", { id: "tasks" });
const main = h("main", { tabIndex: -1 });
const controls = {};
let shown = [];
let current = null;
let opened = { place: null, columns: [] };

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  for (const child of children) element.append(child);
  return element;
}

const number = (value) => value.toLocaleString("en");
const percent = (share) => (100 * share).toFixed(1);
const facts = (...texts) => h("p", { className: "facts" }, texts.filter(Boolean).join(" · "));
const link = (text, onclick, more = {}) => h("button", { className: "link", type: "button", onclick, ...more }, ...[text].flat());

// --- What is known of each task -------------------------------------------------------------

for (const [index, task] of TASKS.entries()) {
  task.index = index;
  task.answers = task.cells.map((runs) => runs.map((cell) => {
    const [outcome, status, flags] = cell ? cell.split("|") : ["", "", ""];
    return { outcome, status, flags: flags ? flags.split(",") : [], met: status.split("y").length - 1 };
  }));
  const all = task.answers.flat().filter((answer) => answer.outcome);
  const rate = (answers) => {
    const scored = answers.filter((a) => "sfj".includes(a.outcome || "-"));
    return scored.length ? scored.filter((a) => a.outcome === "s").length / scored.length : null;
  };
  task.solved = task.answers.map((runs) => runs.filter((a) => a.outcome === "s").length);
  task.runs = task.answers.map((runs) => runs.filter((a) => "sfj".includes(a.outcome || "-")).length);
  const known = task.answers.map(rate).filter((share) => share !== null);
  task.difference = known.length ? Math.max(...known) - Math.min(...known) : 0;
  task.share = rate(all) ?? 0;
  task.flags = new Set(all.flatMap((a) => a.flags));
  task.outcomes = new Set(all.map((a) => a.outcome));
  task.near = all.some((a) => a.outcome === "f" && a.status && a.met === a.status.length - 1);
  task.text = [task.id, ...task.rubrics.map(([, text]) => text)].join("\n").toLowerCase();
  task.met = task.rubrics.map((_, place) => {
    const letters = all.filter((a) => a.status).map((a) => a.status[place]);
    return { met: letters.filter((s) => s === "y").length, of: letters.length };
  });
}
const byId = new Map(TASKS.map((task) => [task.id, task]));
const allUuids = TASKS.every((task) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(task.id));
const shortId = (task) => (allUuids ? task.id.slice(0, 8) : task.id);

// --- Filters --------------------------------------------------------------------------------

const SHOW = { all: ["all tasks", () => true] };
if (DATA.flipped) {
  const [won, lost] = DATA.flipped.map((places) => new Set(places));
  SHOW.flipped = ["flipped: one model did better", (t) => won.has(t.index) || lost.has(t.index)];
  SHOW.won = [`${MODELS[0].name} did better`, (t) => won.has(t.index)];
  SHOW.lost = [`${MODELS[1].name} did better`, (t) => lost.has(t.index)];
}
Object.assign(SHOW, {
  differ: ["models differ", (t) => t.difference > 0],
  unsteady: ["runs of a model differ", (t) => t.solved.some((n, i) => n > 0 && n < t.runs[i])],
  near: ["near misses: one rubric missed", (t) => t.near],
  nobody: ["solved by nobody", (t) => t.solved.every((n) => n === 0)],
  judge: ["judge failures: no verdict", (t) => t.outcomes.has("j") || t.outcomes.has("u")],
  missing: ["no answer: sample errors", (t) => t.outcomes.has("e")],
  inconsistent: ["verdicts that contradict their list", (t) => t.flags.has("!")],
});
for (const [key, title] of Object.entries(DATA.types)) {
  if (TASKS.some((task) => task.flags.has(key))) SHOW[key] = [`error type: ${title}`, (t) => t.flags.has(key)];
}
const RUNS = {
  every: ["in all runs", (solved, of) => of > 0 && solved === of],
  some: ["in some run", (solved) => solved > 0],
  none: ["in no run", (solved, of) => of > 0 && solved === 0],
};
const SORT = {
  file: ["order of the log", () => 0],
  difference: ["largest difference first", (a, b) => b.difference - a.difference],
  hardest: ["hardest first", (a, b) => a.share - b.share],
  longest: ["longest prompt first", (a, b) => b.chars - a.chars],
};
const option = (value, text) => h("option", { value }, text);
const options = (choices) => Object.entries(choices).map(([key, [text]]) => option(key, text));

function select(name, ...choices) {
  controls[name] = h("select", { onchange: apply }, ...choices);
  controls[name].usual = choices[0].value;
  return controls[name];
}

function categories() {
  const groups = new Map();
  for (const { category, sub } of TASKS) groups.set(category, (groups.get(category) ?? new Set()).add(sub));
  return [...groups].flatMap(([category, subs]) => [
    option(`c ${category}`, category),
    ...[...subs].filter(Boolean).sort().map((sub) => option(`s ${sub}`, `– ${sub}`)),
  ]);
}

function solvedBy(title, name, kind) {
  const models = MODELS.map((model, i) => option(String(i), model.name));
  const who = Object.assign(select(name, option("", "any"), ...models), { ariaLabel: title });
  const how = Object.assign(select(kind, ...options(RUNS)), { ariaLabel: `${title}: in which runs` });
  return h("label", {}, title, h("span", { className: "two" }, who, how));
}

function sidebar() {
  controls.search = h("input", { type: "search", oninput: apply, placeholder: "/" });
  controls.search.usual = "";
  const side = h("div", { id: "side" },
    h("label", {}, "Category", select("category", option("", "all"), ...categories())),
    h("label", {}, "Show", select("show", ...Object.entries(SHOW).map(([key, [text, holds]]) => option(key, key === "all" ? text : `${text} (${number(TASKS.filter(holds).length)})`)))),
    solvedBy("Solved by", "first", "firstRuns"), solvedBy("and by", "second", "secondRuns"),
    h("label", {}, DATA.without.includes("rubrics") ? "Search ids" : "Search rubrics", controls.search),
    h("label", {}, "Sort", select("sort", ...options(SORT))),
    count, h("p", { className: "heads", ariaHidden: "true" }, h("span", {}, "task"), h("b", {}, "runs solved by each model")), list);
  controls.secondRuns.usual = controls.secondRuns.value = "none";
  return h("nav", { ariaLabel: "Tasks" },
    h("h1", {}, h("a", { href: "#" }, DATA.title),
      h("button", { id: "fold", type: "button", onclick: () => fold(!app.classList.contains("folded")) }, "Tasks and filters")), side);
}

function fold(folded) {
  app.classList.toggle("folded", folded);
  document.getElementById("fold").ariaExpanded = String(!folded);
}

function inCategory(task, wanted) {
  return !wanted || (wanted.startsWith("c ") ? task.category : task.sub) === wanted.slice(2);
}

function inRuns(task, model, kind) {
  return !model || RUNS[kind][1](task.solved[model], task.runs[model]);
}

function apply() {
  const [, accepts] = SHOW[controls.show.value];
  const [, compare] = SORT[controls.sort.value];
  const words = sought();
  shown = TASKS.filter((task) => inCategory(task, controls.category.value) && accepts(task) && task.text.includes(words)
    && inRuns(task, controls.first.value, controls.firstRuns.value)
    && inRuns(task, controls.second.value, controls.secondRuns.value));
  shown.sort((a, b) => compare(a, b) || a.index - b.index);
  list.replaceChildren();
  more();
  mark(current);
}

const sought = () => controls.search.value.toLowerCase().trim();

function narrow(changes) {
  for (const [name, control] of Object.entries(controls)) control.value = changes[name] ?? control.usual;
  apply();
  if (shown.length) open(shown[0]);
}

// --- The list: rows are made when they are scrolled to --------------------------------------

const AT_A_TIME = 100;
list.addEventListener("scroll", () => {
  if (list.scrollTop + 2 * list.clientHeight > list.scrollHeight) more();
});

function more() {
  const start = list.childElementCount;
  list.append(...shown.slice(start, start + AT_A_TIME).map(row));
}

function row(task) {
  const solved = task.solved.map((n, i) => (task.runs[i] ? `${n}` : "–")).join(" ");
  const told = MODELS.map((model, i) => `${model.name} ${task.solved[i]} of ${task.runs[i]}`).join(", ");
  task.row ??= h("li", {}, h("a", { href: address(task), title: `${task.id}\nsolved: ${told}`, ariaLabel: `${task.id}, ${task.sub || task.category}, solved: ${told}` },
    h("code", {}, shortId(task)), h("span", {}, task.sub || task.category), h("b", {}, solved)));
  return task.row;
}

function mark(task) {
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const place = task ? shown.indexOf(task) : -1;
  count.textContent = `${number(shown.length)} of ${number(TASKS.length)} tasks${place < 0 ? "" : `, number ${number(place + 1)} is open`}`;
  if (place < 0) return;
  while (list.childElementCount <= place) more();
  task.row.firstChild.setAttribute("aria-current", "true");
  task.row.scrollIntoView({ block: "nearest" });
}

// --- The overview ---------------------------------------------------------------------------

function overview() {
  current = null;
  mark(null);
  fold(true);
  document.title = `${DATA.title}: explorer`;
  const rubrics = TASKS.flatMap((task) => task.met.map(({ met, of }, place) => ({ task, place, share: of ? met / of : null })));
  const { title, warnings, tables, groups, subs } = DATA;
  main.replaceChildren(h("div", { className: "view" },
    h("h2", {}, title),
    h("p", { className: "facts" }, link(`${number(TASKS.length)} tasks`, () => narrow({})), ` · ${DATA.facts}`),
    warnings.length ? h("ul", { className: "warnings" }, ...warnings.map((text) => h("li", {}, text))) : "",
    ...tables.map(plainTable),
    h("h3", {}, "Solving rates"),
    facts("In %: mean ± std over runs, below it the 95 % interval. A number leads to the tasks that the model solved in some run."),
    rates(groups, "Solving rates", "Model"),
    ...subs.length ? [h("h3", {}, "By sub-category"), rates(subs, "Solving rates by sub-category", "Sub-category", true)] : [],
    h("h3", {}, "How hard the rubrics are"), difficulty(rubrics),
    h("h3", {}, "The hardest rubrics"), hardest(rubrics),
    facts("Keys: j and k or ↓ and ↑ for the next and the previous task, → into its table and arrows within it, Enter for the answer, Shift and Enter for a second one beside it, / to search, o for this overview, Escape to close.")));
}

function plainTable({ title, columns, rows, left, notes }) {
  const cell = (tag, text, i, more = {}) => h(tag, { className: i < left ? "" : "number", ...more }, text);
  return h("section", {}, h("div", { className: "wide" }, h("table", {}, h("caption", {}, title),
    h("thead", {}, h("tr", {}, ...columns.map((text, i) => cell("th", text.length < 10 ? text.replaceAll(" ", "\u00a0") : text, i, { scope: "col" })))),
    h("tbody", {}, ...rows.map((texts) => h("tr", {}, ...texts.map((text, i) => (i ? cell("td", text, i) : cell("th", text, i, { scope: "row" })))))))),
  h("ul", { className: "notes" }, ...notes.map((text) => h("li", {}, text))));
}

function rateTexts(rate) {
  if (!rate || rate.mean === null) return ["–"];
  const std = rate.std === null ? "" : ` ± ${percent(rate.std)}`;
  return [percent(rate.mean) + std, rate.low === null ? "" : h("small", {}, `[${percent(rate.low)}, ${percent(rate.high)}]`)];
}

function rates(groups, title, corner, turned = false) {
  const lead = ({ name, key, rates }, model) => h("td", { className: "number" },
    rates[model] ? link(rateTexts(rates[model]), () => narrow({ category: key && key + name, first: String(model), firstRuns: "some" })) : "–");
  const head = (texts) => h("thead", {}, h("tr", {}, ...texts.map((text, i) => h("th", { scope: "col", className: i ? "number" : "" }, text))));
  const line = (name, cells) => h("tr", {}, h("th", { scope: "row" }, name), ...cells);
  const names = MODELS.map((model) => model.name);
  return h("div", { className: "wide" }, h("table", { ariaLabel: title },
    head(turned ? [corner, ...names, "Tasks"] : [corner, ...groups.map((group) => group.name)]),
    h("tbody", {}, ...turned
      ? groups.map((group) => line(group.name, [...MODELS.map((_, i) => lead(group, i)),
        h("td", { className: "number" }, link(number(TASKS.filter((task) => inCategory(task, group.key + group.name)).length), () => narrow({ category: group.key + group.name })))]))
      : names.map((name, i) => line(name, groups.map((group) => lead(group, i)))))));
}

function difficulty(rubrics) {
  const bins = [["met by nobody", (s) => s === 0], ["up to a quarter of the answers", (s) => s > 0 && s <= 0.25],
    ["up to half", (s) => s > 0.25 && s <= 0.5], ["up to three quarters", (s) => s > 0.5 && s <= 0.75],
    ["more, but not all", (s) => s > 0.75 && s < 1], ["met by all", (s) => s === 1]];
  const rows = bins.map(([name, holds]) => {
    const found = rubrics.filter(({ share }) => share !== null && holds(share));
    const fill = h("i");
    fill.style.width = `${(100 * found.length) / Math.max(rubrics.length, 1)}%`;
    return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, h("span", { className: "bar" }, fill)),
      h("td", { className: "number" }, link(`${number(found.length)} rubrics`, () => only(new Set(found.map(({ task }) => task)), name), { disabled: !found.length })));
  });
  return h("table", { className: "bars" }, h("caption", {}, "Rubrics by the share of answers that meet them. A number leads to their tasks."), h("tbody", {}, ...rows));
}

function hardest(rubrics) {
  const found = rubrics.filter(({ share }) => share !== null && share < 1)
    .sort((a, b) => a.share - b.share || b.task.share - a.task.share).slice(0, 50);
  return h("div", { className: "wide" }, h("table", { ariaLabel: "The hardest rubrics" },
    h("thead", {}, h("tr", {}, ...["Met %", "Rubric", "Task", "Category"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...found.map(({ task, place, share }) => h("tr", {}, h("td", { className: "number" }, h("a", { href: address(task) }, percent(share))),
      h("td", {}, `${task.rubrics[place][0]} ${task.rubrics[place][1]}`),
      h("td", {}, h("a", { href: address(task) }, shortId(task))), h("td", {}, task.category))))));
}

function only(tasks, name) {
  SHOW.only = [`rubrics ${name}`, (task) => tasks.has(task)];
  controls.show.querySelector("option[value=only]")?.remove();
  controls.show.append(option("only", `${SHOW.only[0]} (${number(tasks.size)})`));
  narrow({ show: "only" });
}

// --- One task -------------------------------------------------------------------------------

const address = (task) => `#task=${encodeURIComponent(task.id)}`;

function open(task) {
  if (location.hash === address(task)) render(task);
  else location.hash = address(task);
}

const columnsOf = (task) => task.answers.flatMap((runs, model) => runs.map((answer, place) => (
  { key: `${model} ${place}`, model, run: MODELS[model].runs[place], answer, first: place === 0 })));
const flagText = (flag) => DATA.types[flag] ?? "Verdict that contradicts its list";
const named = (column) => `${MODELS[column.model].name}, run ${column.run}`;

function render(task) {
  current = task;
  opened = { place: null, columns: [] };
  mark(task);
  fold(true);
  const places = task.rubrics.map((_, place) => place);
  const share = (place) => (task.met[place].of ? task.met[place].met / task.met[place].of : 2);
  places.sort((a, b) => share(a) - share(b) || a - b);
  const columns = columnsOf(task);
  const scored = columns.filter((c) => "sfj".includes(c.answer.outcome || "-")).length;
  const table = h("table", { className: "matrix", role: "table", ariaLabel: "Rubrics by model and run" },
    h("thead", { role: "rowgroup" },
      h("tr", { role: "row" }, h("th", { rowSpan: 2, scope: "col", role: "columnheader" }, "Rubric"), ...MODELS.map(modelHead),
        h("th", { rowSpan: 2, scope: "col", role: "columnheader", className: "met" }, "Met")),
      h("tr", { role: "row" }, ...columns.map((c) => h("th", { scope: "col", role: "columnheader", className: c.first ? "first" : "", ariaLabel: `run ${c.run}` }, String(c.run))))),
    h("tbody", { role: "rowgroup" },
      line(columns, h("strong", {}, "All rubrics"), (c) => wholeCell(task, c), `${columns.filter((c) => c.answer.outcome === "s").length}/${scored}`),
      ...places.map((place) => rubricLine(task, columns, place))));
  table.style.setProperty("--columns", columns.length);
  table.querySelector("button").tabIndex = 0;
  const flags = columns.flatMap(({ answer }) => answer.flags);
  const flagged = [...new Set(flags)].map((flag) => `${flagText(flag)}: ${flags.filter((one) => one === flag).length} of ${scored}`);
  main.replaceChildren(h("div", { className: "view" },
    h("header", {},
      h("p", { className: "steps" }, link("‹ previous", () => step(-1), { title: "k" }), link("next ›", () => step(1), { title: "j" })),
      h("h2", {}, task.id),
      facts(task.category, task.sub, `${task.rubrics.length} rubrics`, `${number(task.chars)} characters of prompt`),
      flagged.length ? facts(...flagged) : "",
      facts(`Hardest first: ✓ met, ✗ not met, · not known. ${DATA.answers ? "A cell opens the answer; with Shift, beside the one that is open." : "This page was made without answers."}`)),
    table), h("section", { id: "answers", ariaLabel: "Answers", hidden: true }));
  document.title = `${task.id} · ${DATA.title}`;
}

function modelHead(model) {
  const head = h("th", { colSpan: model.runs.length, scope: "colgroup", role: "columnheader", className: "first name", title: model.name },
    h("span", {}, ...model.name.split(/(?<=[/_-])/).flatMap((part) => [part, h("wbr")])));
  head.style.gridColumn = `span ${model.runs.length}`;
  return head;
}

function line(columns, head, cell, met) {
  return h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader" }, ...[head].flat()),
    ...columns.map((c) => h("td", { role: "cell", className: c.first ? "first" : "" }, cell(c))),
    h("td", { role: "cell", className: "met" }, met));
}

function rubricLine(task, columns, place) {
  const [label, text] = task.rubrics[place];
  const { met, of } = task.met[place];
  return line(columns, [h("strong", {}, String(label)), " ", ...found(text)], (column) => {
    const [sign, kind, words] = SIGNS[column.answer.status[place]] ?? NO_SIGN;
    return cell(task, column, place, sign, kind, `${words}: ${named(column)}, rubric ${label}`);
  }, of ? `${met}/${of}` : "–");
}

function wholeCell(task, column) {
  const { outcome, status, met } = column.answer;
  const words = OUTCOMES[outcome] ?? "no score";
  const text = outcome === "s" ? "✓" : outcome === "f" && status ? `${met}/${status.length}` : outcome === "f" ? "✗" : "·";
  const kind = outcome === "s" ? " whole" : outcome === "f" ? " whole no" : " whole none";
  return cell(task, column, null, text, kind, `${words}${status ? `, ${met} of ${status.length} rubrics` : ""}: ${named(column)}`);
}

function cell(task, column, place, text, kind, label) {
  const button = h("button", { className: `cell${kind}`, type: "button", tabIndex: -1, ariaPressed: "false", ariaLabel: label, title: label,
    onclick: (event) => pick(task, column, place, event.shiftKey || event.ctrlKey || event.metaKey) }, text);
  return Object.assign(button, { column: column.key, place });
}

function found(text) {
  const words = sought().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return words ? text.split(new RegExp(`(${words})`, "gi")).map((part, i) => (i % 2 ? h("mark", {}, part) : part)) : [text];
}

// --- Answers, one or two beside each other --------------------------------------------------

let loading = null;

function chunks() {
  loading ??= new Promise((resolve, reject) => {
    window.clbenchAnswers = (key, found) => {
      if (key !== DATA.answers.key) return reject(new Error(`${DATA.answers.file} belongs to another page.`));
      const byPlace = new Map();
      for (const [task, model, packed] of found) {
        const at = `${task} ${model}`;
        byPlace.set(at, [...(byPlace.get(at) ?? []), packed]);
      }
      resolve(byPlace);
    };
    const script = h("script", { src: encodeURIComponent(DATA.answers.file) });
    script.onerror = () => reject(new Error(`${DATA.answers.file} is not beside this page.`));
    document.head.append(script);
  });
  return loading;
}

async function textOf(task, column) {
  const packed = (await chunks()).get(`${task.index} ${column.model}`) ?? [];
  return Object.assign({}, ...await Promise.all(packed.map(unpack)))[column.run];
}

function pick(task, column, place, beside) {
  const first = opened.columns[0];
  showAnswers(task, place, beside && first && first.key !== column.key ? [first, column] : [column]);
}

async function showAnswers(task, place, columns) {
  const wanted = opened = { place, columns };
  const box = document.getElementById("answers");
  for (const button of main.querySelectorAll(".cell")) {
    button.ariaPressed = String(button.place === place && columns.some((column) => column.key === button.column));
  }
  if (!DATA.answers) return;
  box.hidden = false;
  box.replaceChildren(h("p", { className: "facts", role: "status" }, "Reading the answers …"));
  try {
    const texts = await Promise.all(columns.map((column) => textOf(task, column)));
    if (wanted !== opened) return; // another cell was chosen meanwhile
    const parts = texts[1] && texts[0] ? differing(texts[0].answer, texts[1].answer) : texts.map((text) => [text?.answer ?? ""]);
    box.replaceChildren(h("p", { className: "steps" }, beside(task, place, columns), link("close", close, { title: "Escape" })),
      columns.length > 1 ? verdictsThatDiffer(task, columns) : "",
      h("div", { className: "texts" }, ...columns.map((column, i) => answerView(task, column, place, texts[i], parts[i], columns.length > 1))));
    main.querySelector("[aria-pressed=true]")?.scrollIntoView({ block: "nearest" });
    if (PHONE.matches) box.scrollIntoView({ block: "start" });
  } catch (error) {
    box.replaceChildren(h("p", { className: "warnings" }, error.message));
  }
}

function close() {
  opened = { place: null, columns: [] };
  const box = document.getElementById("answers");
  if (!box) return;
  box.hidden = true;
  const pressed = [...main.querySelectorAll("[aria-pressed=true]")];
  for (const button of pressed) button.ariaPressed = "false";
  if (box.contains(document.activeElement) || document.activeElement === document.body) pressed[0]?.focus();
}

function beside(task, place, [column, other]) {
  const others = columnsOf(task).filter((c) => c.answer.outcome && c.key !== column.key);
  const choice = h("select", { onchange: () => showAnswers(task, place, [column, ...others.filter((c) => c.key === choice.value)]) },
    option("", "nothing"), ...others.map((c) => option(c.key, named(c))));
  choice.value = other?.key ?? "";
  return h("label", {}, "Beside it: ", choice);
}

function verdictsThatDiffer(task, [one, other]) {
  const places = task.rubrics.map((_, place) => place).filter((place) => one.answer.status[place] !== other.answer.status[place]);
  const sign = ({ answer }, place) => (SIGNS[answer.status[place]] ?? NO_SIGN)[0];
  return h("details", { open: places.length > 0 && places.length < 6 }, h("summary", {}, `Verdicts differ on ${places.length} of ${task.rubrics.length} rubrics`),
    h("ul", { className: "signs" }, ...places.map((place) => h("li", {}, `${sign(one, place)} ${sign(other, place)} `, h("strong", {}, String(task.rubrics[place][0])), ` ${task.rubrics[place][1]}`))));
}

function use(title, usage) {
  if (!usage) return "";
  const [read, written, cost] = usage;
  return `${title}: ${number(read)} tokens in, ${number(written)} out${cost === null ? "" : `, $${cost.toFixed(4)}`}`;
}

function answerView(task, column, place, text, parts, paired) {
  const { answer } = column;
  const met = answer.status ? `, ${answer.met}/${answer.status.length} rubrics` : "";
  const head = h("h3", {}, `${named(column)}: ${OUTCOMES[answer.outcome] ?? "no score"}${met}`);
  if (!text) return h("section", {}, head, h("p", {}, "The log has no such answer."));
  const folded = (title, open, ...children) => h("details", { open }, h("summary", {}, title), h("pre", { tabIndex: 0 }, ...children));
  return h("section", { className: paired ? "" : "wide-answer" }, h("div", { className: "judged" }, head,
    place === null ? "" : h("p", {}, h("strong", {}, `${(SIGNS[answer.status[place]] ?? NO_SIGN)[0]} ${task.rubrics[place][0]} `), task.rubrics[place][1]),
    answer.flags.length ? facts(...answer.flags.map(flagText)) : "",
    facts(use("answer", text.use[0]), use("judge", text.use[1])),
    text.error ? h("p", { className: "warnings" }, text.error) : "",
    text.rationale === undefined ? facts("This page was made without rubrics, and so without the judge's rationale, which may quote them.")
      : folded("The judge's rationale", !paired, text.rationale)),
  folded(paired ? "The answer; what the other one lacks is marked" : "The answer", true, ...parts));
}

// --- What differs between two texts: lines first, and within lines that are alike, words ----

const MOST = 9e6; // comparisons; a difference that would take more is marked as a whole

function common(a, b) {
  let start = 0, endA = a.length, endB = b.length;
  while (start < endA && start < endB && a[start] === b[start]) start += 1;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA -= 1; endB -= 1; }
  const rows = endA - start, width = endB - start + 1;
  const pairs = [];
  for (let i = 0; i < start; i += 1) pairs.push([i, i]);
  if (rows * width <= MOST) {
    const best = new Uint16Array((rows + 1) * width);
    for (let i = rows - 1; i >= 0; i -= 1) {
      for (let j = width - 2; j >= 0; j -= 1) {
        const at = i * width + j;
        best[at] = a[start + i] === b[start + j] ? best[at + width + 1] + 1 : Math.max(best[at + width], best[at + 1]);
      }
    }
    for (let i = 0, j = 0; i < rows && j < width - 1;) {
      const at = i * width + j;
      if (a[start + i] === b[start + j]) pairs.push([start + i++, start + j++]);
      else if (best[at + width] >= best[at + 1]) i += 1;
      else j += 1;
    }
  }
  for (let i = endA; i < a.length; i += 1) pairs.push([i, endB + i - endA]);
  return pairs;
}

function* hunks(a, b, key) {
  let i = 0, j = 0;
  for (const [x, y] of [...common(a.map(key), b.map(key)), [a.length, b.length]]) {
    if (i < x || j < y) yield [a.slice(i, x).join(""), b.slice(j, y).join(""), false];
    if (x < a.length) yield [a[x], b[y], true];
    i = x + 1;
    j = y + 1;
  }
}

function differing(one, other) {
  const lines = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const words = (text) => text.match(/\s*\S+|\s+$/g) ?? [];
  const trimmed = (text) => text.trim();
  const sides = [[], []];
  const add = (texts, same) => texts.forEach((text, i) => {
    const plain = same || !text.trim();
    const last = sides[i].length - 1;
    if (plain && typeof sides[i][last] === "string") sides[i][last] += text;
    else if (text) sides[i].push(plain ? text : h("mark", {}, text));
  });
  for (const [a, b, same] of hunks(lines(one), lines(other), trimmed)) {
    const parts = same ? [] : [...hunks(words(a), words(b), trimmed)];
    const kept = parts.filter(([, , alike]) => alike).length;
    if (2 * kept > Math.min(words(a).length, words(b).length)) for (const [x, y, alike] of parts) add([x, y], alike);
    else add([a, b], same);
  }
  return sides;
}

// --- Keys and addresses ---------------------------------------------------------------------

function step(by) {
  if (!shown.length) return;
  const at = shown.indexOf(current);
  open(shown[at < 0 ? 0 : Math.min(Math.max(at + by, 0), shown.length - 1)]);
}

const ARROWS = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };

function moveInMatrix(from, [down, right]) {
  const rows = [...main.querySelectorAll(".matrix tbody tr")].map((tr) => [...tr.querySelectorAll(".cell")]);
  const y = rows.findIndex((cells) => cells.includes(from));
  const to = rows[y + down]?.[rows[y].indexOf(from) + right];
  to?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  const inMatrix = event.target.closest(".cell");
  const inText = event.target.closest("pre, summary");
  if (event.key === "Escape" || (event.key === "Enter" && event.target === controls.search)) {
    if (typing) typing.blur();
    else close();
  } else if (typing) return;
  else if (inMatrix && ARROWS[event.key]) moveInMatrix(inMatrix, ARROWS[event.key]);
  else if (event.key === "j" || (event.key === "ArrowDown" && !inText)) step(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && !inText)) step(-1);
  else if (event.key === "ArrowRight" && !inText) main.querySelector(".cell[tabindex='0']")?.focus();
  else if (event.key === "o") location.hash = "";
  else if (event.key === "/") { fold(false); controls.search.focus(); }
  else return;
  event.preventDefault();
});
main.addEventListener("focusin", ({ target }) => {
  if (!target.classList.contains("cell")) return;
  for (const button of main.querySelectorAll(".cell[tabindex='0']")) button.tabIndex = -1;
  target.tabIndex = 0;
});

function route() {
  const place = new URLSearchParams(location.hash.slice(1));
  if (Object.hasOwn(SHOW, place.get("show"))) {
    controls.show.value = place.get("show");
    apply();
  }
  const id = place.get("task");
  const task = id === null ? null : byId.get(id) ?? TASKS.find((one) => one.id.startsWith(id));
  if (task) return render(task);
  overview();
  if (id !== null) main.firstChild.prepend(h("p", { className: "warnings", role: "status" }, `No task begins with ${id}.`));
}

const PHONE = matchMedia("(max-width: 760px)");
const app = document.getElementById("app");
app.append(sidebar(), main);
if (DATA.flipped?.flat().length) controls.show.value = "flipped";
apply();
route();
window.addEventListener("hashchange", route);
