// The explorer of `clbench explore`. All text from logs becomes text nodes, never markup.

const DATA = await unpack(document.getElementById("data").textContent);
const TASKS = DATA.tasks;
const MODELS = DATA.models;
const OUTCOMES = { s: "solved", f: "not solved", u: "not scored", j: "no verdict", e: "no answer" };
const app = document.getElementById("app");
const main = h("main", { tabIndex: -1 });
const list = h("ol", { id: "tasks" });
const count = h("p", { id: "count", role: "status" });
const controls = {};
let shown = [];
let current = null;
let pair = [];

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// --- What is known of each task -------------------------------------------------------------

for (const [index, task] of TASKS.entries()) {
  task.index = index;
  task.answers = task.cells.map((runs) => runs.map((cell) => {
    const [outcome, status, flags] = cell ? cell.split("|") : ["", "", ""];
    return { outcome, status, flags: flags ? flags.split(",") : [] };
  }));
  const all = task.answers.flat().filter((answer) => answer.outcome);
  task.solved = task.answers.map((runs) => runs.filter((a) => a.outcome === "s").length);
  task.runs = task.answers.map((runs) => runs.filter((a) => a.outcome).length);
  const shares = task.solved.map((n, i) => (task.runs[i] ? n / task.runs[i] : null));
  const known = shares.filter((share) => share !== null);
  task.difference = known.length ? Math.max(...known) - Math.min(...known) : 0;
  task.share = all.length ? all.filter((a) => a.outcome === "s").length / all.length : 0;
  task.flags = new Set(all.flatMap((a) => a.flags));
  task.outcomes = new Set(all.map((a) => a.outcome));
  task.near = all.some((a) => a.outcome === "f" && [...a.status].filter((s) => s !== "y").length === 1);
  task.text = [task.id, ...task.rubrics.map(([, text]) => text)].join("\n").toLowerCase();
  task.met = task.rubrics.map((_, place) => {
    const letters = all.filter((a) => a.status).map((a) => a.status[place]);
    return { met: letters.filter((s) => s === "y").length, of: letters.length };
  });
}
const byId = new Map(TASKS.map((task) => [task.id, task]));

// --- Filters --------------------------------------------------------------------------------

const SHOW = {
  all: ["all tasks", () => true],
  differ: ["runs or models differ", (t) => t.solved.some((n) => n) && t.share < 1],
  flipped: ["the first two models differ", (t) => t.solved[0] / t.runs[0] !== t.solved[1] / t.runs[1]],
  near: ["near misses: one rubric missed", (t) => t.near],
  nobody: ["solved by nobody", (t) => t.share === 0],
  judge: ["judge failures: no verdict", (t) => t.outcomes.has("j") || t.outcomes.has("u")],
  missing: ["no answer: sample errors", (t) => t.outcomes.has("e")],
  inconsistent: ["verdicts that contradict their list", (t) => t.flags.has("!")],
};
if (MODELS.length < 2) delete SHOW.flipped;
for (const [key, title] of Object.entries(DATA.types)) {
  if (TASKS.some((task) => task.flags.has(key))) {
    SHOW[key] = [`error type: ${title}`, (t) => t.flags.has(key)];
  }
}
const SORT = {
  file: ["order of the log", () => 0],
  difference: ["largest difference first", (a, b) => b.difference - a.difference],
  hardest: ["hardest first", (a, b) => a.share - b.share],
  longest: ["longest prompt first", (a, b) => b.chars - a.chars],
};

function select(name, title, options) {
  controls[name] = h("select", { onchange: apply }, ...options);
  return h("label", {}, title, controls[name]);
}

const option = (value, text) => h("option", { value }, text);
const options = (choices) => Object.entries(choices).map(([key, [text]]) => option(key, text));

function categories() {
  const groups = new Map();
  for (const { category, sub } of TASKS) {
    if (!groups.has(category)) groups.set(category, new Set());
    groups.get(category).add(sub);
  }
  return [...groups].flatMap(([category, subs]) => [
    option(`c ${category}`, category),
    ...[...subs].filter(Boolean).sort().map((sub) => option(`s ${category}\n${sub}`, `– ${sub}`)),
  ]);
}

function inCategory(task, wanted) {
  if (wanted.startsWith("c ")) return task.category === wanted.slice(2);
  return !wanted || `s ${task.category}\n${task.sub}` === wanted;
}

function apply() {
  const [, accepts] = SHOW[controls.show.value];
  const [, compare] = SORT[controls.sort.value];
  const words = controls.search.value.toLowerCase().trim();
  const { always, never } = controls;
  shown = TASKS.filter((task) =>
    inCategory(task, controls.category.value) && accepts(task) && task.text.includes(words)
    && (!always?.value || task.runs[always.value] && task.solved[always.value] === task.runs[always.value])
    && (!never?.value || task.runs[never.value] && task.solved[never.value] === 0));
  shown.sort((a, b) => compare(a, b) || a.index - b.index);
  list.replaceChildren();
  more();
  mark(current);
  count.textContent = `${shown.length.toLocaleString("en")} of ${TASKS.length.toLocaleString("en")} tasks`;
}

function narrow(changes) {
  for (const [name, control] of Object.entries(controls)) {
    const value = changes[name] ?? (name === "show" ? "all" : name === "sort" ? "file" : "");
    control.value = value;
  }
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
  const label = MODELS.map((model, i) => `${model.name} ${task.solved[i]} of ${task.runs[i]}`);
  task.row ??= h("li", {}, h("a", { href: `#task=${encodeURIComponent(task.id)}`,
    title: `${task.id}\nsolved: ${label.join(", ")}` },
    h("code", {}, task.id), h("span", {}, task.sub || task.category), h("b", {}, solved)));
  return task.row;
}

function sidebar() {
  controls.search = h("input", { type: "search", oninput: apply, placeholder: "/" });
  const models = MODELS.map((model, i) => option(String(i), model.name));
  const again = MODELS.map((model, i) => option(String(i), model.name));
  return h("nav", { ariaLabel: "Tasks" },
    h("h1", {}, h("a", { href: "#" }, DATA.title)),
    select("category", "Category", [option("", "all"), ...categories()]),
    select("show", "Show", options(SHOW)),
    select("always", "Every run of", [option("", "any model"), ...models]),
    select("never", "No run of", [option("", "any model"), ...again]),
    h("label", {}, "Search rubrics", controls.search),
    select("sort", "Sort", options(SORT)),
    count, list);
}

// --- The overview ---------------------------------------------------------------------------

const percent = (share) => (share === null || share === undefined ? "–" : (100 * share).toFixed(1));

function rateTexts(rate) {
  if (!rate || rate.mean === null) return ["–"];
  const std = rate.std === null ? "" : ` ± ${percent(rate.std)}`;
  const interval = rate.low === null ? "" : h("small", {}, `[${percent(rate.low)}, ${percent(rate.high)}]`);
  return [percent(rate.mean) + std, interval];
}

function overview() {
  current = null;
  mark(null);
  const isCategory = new Set(TASKS.map((task) => task.category));
  const lead = (group, model, texts) => h("button", { className: "link", type: "button",
    onclick: () => narrow({ category: isCategory.has(group) ? `c ${group}` : "", always: String(model) }) }, ...texts);
  const rates = h("table", { ariaLabel: "Solving rates" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Model"),
      ...DATA.groups.map((group) => h("th", { scope: "col", className: "number" }, group.name)))),
    h("tbody", {}, ...MODELS.map((model, i) => h("tr", {}, h("th", { scope: "row" }, model.name),
      ...DATA.groups.map((group) => h("td", { className: "number" }, lead(group.name, i, rateTexts(group.rates[i]))))))));
  const rubrics = TASKS.flatMap((task) => task.met.map(({ met, of }, place) => ({ task, place, share: of ? met / of : null })));
  main.replaceChildren(
    h("h2", {}, DATA.title), h("p", { className: "facts" }, DATA.facts),
    DATA.warnings.length ? h("ul", { className: "warnings" }, ...DATA.warnings.map((text) => h("li", {}, text))) : "",
    h("p", { className: "facts" }, "Solving rate in %: mean ± std over runs, below it the 95 % interval. A number leads to the tasks that the model solved in every run."),
    h("div", { className: "wide" }, rates),
    h("h3", {}, "How hard the rubrics are"), difficulty(rubrics),
    h("h3", {}, "The hardest rubrics"), hardest(rubrics),
    h("p", { className: "facts" }, "Keys: j and k or the arrows for the next and the previous task, / to search, o for this overview, Escape closes an answer."));
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
      h("td", { className: "number" }, h("button", { className: "link", type: "button", disabled: !found.length,
        onclick: () => only(new Set(found.map(({ task }) => task)), name) }, `${found.length.toLocaleString("en")} rubrics`)));
  });
  return h("table", {}, h("caption", {}, "Rubrics by the share of answers that meet them. A number leads to their tasks."), h("tbody", {}, ...rows));
}

function hardest(rubrics) {
  const found = rubrics.filter(({ share }) => share !== null && share < 1)
    .sort((a, b) => a.share - b.share || b.task.share - a.task.share).slice(0, 50);
  return h("div", { className: "wide" }, h("table", {},
    h("thead", {}, h("tr", {}, ...["Met %", "Rubric", "Task", "Category"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...found.map(({ task, place, share }) => h("tr", {}, h("td", { className: "number" }, percent(share)),
      h("td", {}, `${task.rubrics[place][0]} ${task.rubrics[place][1]}`),
      h("td", {}, h("a", { href: `#task=${encodeURIComponent(task.id)}` }, task.id.slice(0, 8))),
      h("td", {}, task.category))))));
}

function only(tasks, name) {
  SHOW.only = [`rubrics ${name}`, (task) => tasks.has(task)];
  controls.show.querySelector("option[value=only]")?.remove();
  controls.show.append(option("only", SHOW.only[0]));
  narrow({ show: "only" });
}

// --- One task -------------------------------------------------------------------------------

function open(task) {
  const address = `#task=${encodeURIComponent(task.id)}`;
  if (location.hash === address) render(task);
  else location.hash = address;
}

function mark(task) {
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const place = task ? shown.indexOf(task) : -1;
  if (place < 0) return;
  while (list.childElementCount <= place) more();
  task.row.firstChild.setAttribute("aria-current", "true");
  task.row.scrollIntoView({ block: "nearest" });
}

function columns(task) {
  return task.answers.flatMap((runs, model) => runs.map((answer, place) => (
    { model, place, run: MODELS[model].runs[place], answer, first: place === 0 })));
}

const named = (column) => `${MODELS[column.model].name}, run ${column.run}`;

function render(task) {
  current = task;
  pair = [];
  mark(task);
  const places = task.rubrics.map((_, place) => place);
  const share = (place) => (task.met[place].of ? task.met[place].met / task.met[place].of : 2);
  places.sort((a, b) => share(a) - share(b) || a - b);
  const table = h("table", { className: "matrix", ariaLabel: "Rubrics by model and run" },
    h("thead", {},
      h("tr", {}, h("th", { rowSpan: 2, scope: "col" }, "Rubric"),
        ...MODELS.map((model) => h("th", { colSpan: model.runs.length, scope: "colgroup", className: "first" }, model.name)),
        h("th", { rowSpan: 2, scope: "col" }, "Met")),
      h("tr", {}, ...columns(task).map((c) => h("th", { scope: "col", className: c.first ? "first" : "" }, String(c.run))))),
    h("tbody", {}, ...places.map((place) => rubricRow(task, place))),
    h("tfoot", {},
      footRow(task, "Rubrics met", ({ answer }) => (answer.status ? `${[...answer.status].filter((s) => s === "y").length}/${answer.status.length}` : "–")),
      footRow(task, "Verdict", ({ answer }) => OUTCOMES[answer.outcome] ?? "–")));
  const labels = columns(task).filter(({ answer }) => answer.flags.length).map((c) => `${named(c)}: ${c.answer.flags.map((flag) => DATA.types[flag] ?? "contradicts its list").join(", ")}`);
  main.replaceChildren(h("h2", {}, task.id),
    h("p", { className: "facts" }, [task.category, task.sub, `${task.rubrics.length} rubrics`, `${task.chars.toLocaleString("en")} characters of prompt`].filter(Boolean).join(" · ")),
    labels.length ? h("p", { className: "facts" }, labels.join("; ")) : "",
    h("p", { className: "facts" }, "Hardest first: ✓ met, ✗ not met, · not known. A cell opens the answer and the judge's rationale; Shift and a click put a second answer beside it."),
    h("div", { className: "wide" }, table), h("div", { id: "answers" }));
  main.scrollTop = 0;
  document.title = `${task.id} · ${DATA.title}`;
}

function rubricRow(task, place) {
  const [number, text] = task.rubrics[place];
  const { met, of } = task.met[place];
  return h("tr", {}, h("th", { scope: "row" }, h("strong", {}, String(number)), ` ${text}`),
    ...columns(task).map((column) => h("td", { className: column.first ? "first" : "" }, cell(task, column, place, number))),
    h("td", { className: "number" }, of ? `${met}/${of}` : "–"));
}

function cell(task, column, place, number) {
  const letter = column.answer.status[place];
  const [sign, kind, words] = letter === "y" ? ["✓", "", "met"] : letter === "n" ? ["✗", " no", "not met"] : ["·", " none", "not known"];
  return h("button", { className: `cell${kind}`, type: "button", disabled: !column.answer.outcome, ariaPressed: "false",
    ariaLabel: `${named(column)}, rubric ${number}: ${words}`,
    onclick: (event) => pick(task, column, place, event) }, sign);
}

function footRow(task, title, text) {
  return h("tr", {}, h("th", { scope: "row" }, title),
    ...columns(task).map((column) => h("td", { className: column.first ? "first" : "" }, text(column))), h("td"));
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
    const script = h("script", { src: DATA.answers.file });
    script.onerror = () => reject(new Error(`${DATA.answers.file} is not beside this page.`));
    document.head.append(script);
  });
  return loading;
}

async function textOf(task, column) {
  const found = (await chunks()).get(`${task.index} ${column.model}`) ?? [];
  const parts = await Promise.all(found.map(unpack));
  return Object.assign({}, ...parts)[column.run];
}

async function pick(task, column, place, event) {
  const button = event.currentTarget;
  pair = pair.length && (event.shiftKey || event.ctrlKey || event.metaKey) ? [pair[0], column] : [column];
  for (const other of main.querySelectorAll("[aria-pressed=true]")) {
    if (pair.length < 2) other.ariaPressed = "false";
  }
  button.ariaPressed = "true";
  await showAnswers(task, place);
}

async function showAnswers(task, place) {
  const box = document.getElementById("answers");
  if (!DATA.answers) {
    box.replaceChildren(h("p", { className: "facts" }, "This page was made without answers."));
    return;
  }
  box.replaceChildren(h("p", { className: "facts", role: "status" }, "Reading the answers …"));
  const wanted = pair;
  try {
    const texts = await Promise.all(wanted.map((column) => textOf(task, column)));
    if (wanted !== pair) return; // another cell was chosen meanwhile
    box.replaceChildren(...wanted.map((column, i) => answerView(task, column, place, texts[i], texts[1 - i])));
    box.scrollIntoView({ block: "start", behavior: "smooth" });
  } catch (error) {
    box.replaceChildren(h("p", { className: "warnings" }, error.message));
  }
}

function answerView(task, column, place, found, other) {
  const [number, text] = task.rubrics[place];
  const { answer } = column;
  const view = [h("h3", {}, `${named(column)}: ${OUTCOMES[answer.outcome]}`)];
  if (!found) return h("section", {}, ...view, h("p", {}, "The log has no such answer."));
  const sign = answer.status[place] === "y" ? "✓" : answer.status[place] === "n" ? "✗" : "·";
  const names = ["answer", "judge"];
  const tokens = found.tokens.map((t, i) => t && `${names[i]} ${t[0].toLocaleString("en")} in, ${t[1].toLocaleString("en")} out`).filter(Boolean);
  const facts = [...tokens.length ? [`tokens: ${tokens.join("; ")}`] : [], ...found.cost === null ? [] : [`$${found.cost.toFixed(4)}`]];
  view.push(h("p", {}, h("strong", {}, `${sign} ${number} `), text), h("p", { className: "facts" }, facts.join(" · ")));
  if (found.error) view.push(h("p", { className: "warnings" }, found.error));
  view.push(h("details", { open: true }, h("summary", {}, "The judge's rationale"), h("pre", {}, ...differing(found.rationale, undefined))));
  view.push(h("details", { open: true }, h("summary", {}, other ? "The answer; lines that the other one lacks are marked" : "The answer"), h("pre", {}, ...differing(found.answer, other?.answer))));
  if (!other) view.push(beside(task, column, place));
  return h("section", {}, ...view);
}

function beside(task, column, place) {
  const others = columns(task).filter((c) => c.answer.outcome && !(c.model === column.model && c.run === column.run));
  const choice = h("select", { onchange: () => { pair = [column, others[choice.value]]; showAnswers(task, place); } },
    option("", "choose an answer"), ...others.map((c, i) => option(String(i), named(c))));
  return others.length ? h("label", {}, "Put beside it: ", choice) : "";
}

function differing(text, other) {
  const lines = text.split("\n");
  if (other === undefined) return [text];
  const known = new Set(other.split("\n").map((line) => line.trim()));
  return lines.flatMap((line, i) => {
    const end = i < lines.length - 1 ? "\n" : "";
    return line.trim() && !known.has(line.trim()) ? [h("mark", {}, line), end] : [line + end];
  });
}

// --- Keys and addresses ---------------------------------------------------------------------

function step(by) {
  if (!shown.length) return;
  const at = shown.indexOf(current);
  open(shown[at < 0 ? 0 : Math.min(Math.max(at + by, 0), shown.length - 1)]);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    typing?.blur();
    pair = [];
    document.getElementById("answers")?.replaceChildren();
  } else if (typing) return;
  else if (event.key === "j" || event.key === "ArrowDown") step(1);
  else if (event.key === "k" || event.key === "ArrowUp") step(-1);
  else if (event.key === "o") location.hash = "";
  else if (event.key === "/") controls.search.focus();
  else return;
  if (event.key !== "Escape") event.preventDefault();
});

function route() {
  const place = new URLSearchParams(location.hash.slice(1));
  if (SHOW[place.get("show")]) {
    controls.show.value = place.get("show");
    apply();
  }
  const id = place.get("task");
  const task = id === null ? null : byId.get(id) ?? TASKS.find((one) => one.id.startsWith(id));
  if (task) render(task);
  else overview();
}

window.addEventListener("hashchange", route);
app.append(sidebar(), main);
apply();
route();
