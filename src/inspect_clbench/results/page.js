// The page of `clbench explore`. All text from logs becomes text nodes, never markup.

const COLOURS = ["#0072b2", "#d55e00", "#007a5a", "#b34a86", "#8a6100", "#2f6f9f", "#6a3d9a", "#5f6a00"];
const OUTCOMES = { s: "solved", f: "not solved", j: "no verdict", e: "no answer", u: "not scored" };
const FLAGS = { inconsistent: "verdict contradicts its list", cut: "answer cut at a length limit" };
const SIGNS = { y: ["✓", "", "met"], n: ["✗", " no", "not met"] };
const NO_SIGN = ["·", " none", "not known"];
const PHONE = matchMedia("(max-width: 760px)");

const RESULTS = await unpack(document.getElementById("results").textContent);
const { models: MODELS } = RESULTS;
const controls = {};
const count = h("p", { id: "count", role: "status" });
const list = h("ol", { id: "tasks" });
const task = h("main", { id: "task", tabIndex: -1 });
let TASKS = [];
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
  element.append(...children);
  return element;
}

const number = (value) => value.toLocaleString("en");
const facts = (...texts) => h("p", { className: "facts" }, texts.filter(Boolean).join(" · "));
const notes = (texts) => (texts.length ? h("ul", { className: "notes" }, ...texts.map((text) => h("li", {}, text))) : "");
const button = (className, onclick, properties, ...children) => h("button", { className, type: "button", onclick, ...properties }, ...children);
const breakable = (name) => name.split(/(?<=[/_-])/).flatMap((part) => [part, h("wbr")]);

const legend = () => h("ol", { className: "models" }, ...MODELS.map(({ name }, i) => h("li", {}, chip(i), h("span", {}, ...breakable(name)))));

function chip(model) {
  const sign = h("b", { className: "chip", title: MODELS[model].title }, String(model + 1));
  sign.style.background = COLOURS[model] ?? "#666";
  return sign;
}

// --- Results --------------------------------------------------------------------------------

function results() {
  const { title, facts: lines, answer, ranks, warnings, rates, compare, subs, errors, costs, picture, forest } = RESULTS;
  const section = (heading, ...parts) => h("section", {}, h("h2", {}, heading), ...parts);
  return h("main", { id: "report" },
    h("section", { className: "top" },
      h("h1", {}, `${title}: ${number(MODELS.length)} ${MODELS.length > 1 ? "models" : "model"}`),
      h("p", { className: "answer" }, answer),
      ranks ? h("ol", { className: "ranks" }, ...ranks.map(rank)) : "",
      ...lines.map((line) => facts(line))),
    warnings.length ? h("section", { className: "warnings" }, h("h2", {}, "Read this first"), notes(warnings)) : "",
    section("Solving rates", drawn(picture), picture.missing ? facts(picture.missing) : "", facts("In %, with 95 % intervals. A figure leads to the tasks behind it."), table(rates)),
    compare ? section("Differences", drawn(forest),
      h("details", { open: MODELS.length === 2 }, h("summary", {}, MODELS.length === 2 ? "Overall and by category" : "All pairs"), table(compare)),
      facts(compare.methods.replace(rates.methods, "").trim())) : "",
    subs.length ? section("Sub-categories", facts("Tasks solved in %; the stronger the blue, the more."), heat(subs)) : "",
    errors ? section("Why answers failed", table(errors)) : "",
    costs ? section("Costs", table(costs)) : "");
}

function rank([best, worst, model, rate]) {
  return h("li", {}, h("span", { className: "rank" }, best === worst ? `${best}` : `${best}–${worst}`),
    chip(model), h("span", { className: "name" }, ...breakable(MODELS[model].name)), h("span", { className: "number" }, `${rate} %`));
}

function drawn({ missing, ...sizes }) {
  return h("figure", {}, ...Object.entries(sizes).map(([size, svg]) => {
    const picture = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
    picture.setAttribute("class", size);
    return picture;
  }));
}

function table({ heads, rows, published, notes: lines }) {
  const kind = (i) => (heads[i][1] ? "" : "number");
  const content = (text, link) => (link ? button("figure", () => follow(link), { title: "its tasks" }, ...figure(text)) : h("span", {}, ...figure(text)));
  const cell = ([text, link], i) => h(i ? "td" : "th", { className: kind(i), ...(i ? {} : { scope: "row" }) }, content(text, link));
  const head = h("tr", {}, ...heads.map(([text], i) => h("th", { scope: "col", className: kind(i) }, text)));
  const body = rows.map((cells, y) => h("tr", { className: published[y] ? "published" : "" }, ...cells.map(cell)));
  return h("div", {}, h("div", { className: "wide" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...body))), notes(lines.filter((note) => !RESULTS.warnings.includes(note))));
}

function figure(text) {
  const [first, ...rest] = text.split("\n");
  return rest.length ? [first, h("small", {}, rest.join(" "))] : [first];
}

function heat(subs) {
  const top = Math.max(0.01, ...subs.flatMap(([, , , rates]) => rates));
  const cell = (name, rate, model) => {
    if (rate === null) return h("td", {}, "–");
    const shaded = h("td", { className: rate / top > 0.68 ? "dark" : "" },
      button("figure", () => follow({ model, group: name }), { title: `${MODELS[model].name}, ${name}` }, (100 * rate).toFixed(0)));
    shaded.style.setProperty("--share", `${Math.round((100 * rate) / top)}%`);
    return shaded;
  };
  const heads = MODELS.map(({ name }, i) => h("th", { scope: "col" }, chip(i), h("span", {}, ...breakable(name))));
  const rows = subs.flatMap(([name, category, tasks, rates], i) => [
    ...(category && category !== subs[i - 1]?.[1] ? [h("tr", {}, h("th", { colSpan: MODELS.length + 2, scope: "rowgroup" }, category))] : []),
    h("tr", {}, h("th", { scope: "row" }, name), h("td", { className: "number" }, number(tasks)), ...rates.map((rate, model) => cell(name, rate, model)))]);
  return h("div", { className: "wide" }, h("table", { className: "heat" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Sub-category"), h("th", { scope: "col", className: "number" }, "Tasks"), ...heads)),
    h("tbody", {}, ...rows)));
}

/** The tasks behind a figure: those that a model solved, failed in some way, or solved more often than another. */
function follow({ model, pair, group }) {
  const type = Object.keys(RESULTS.types).find((key) => RESULTS.types[key] === group);
  const category = group === "Overall" ? "" : group;
  if (pair) {
    const [a, b] = pair;
    const share = (task, model) => task.solved[model] / task.runs[model];
    only((task) => share(task, a) > share(task, b), `${MODELS[a].name} better than ${MODELS[b].name}`, category);
  } else if (type) {
    only((task) => task.answers[model].some((answer) => answer.flags.includes(type)), `${group}: ${MODELS[model].name}`, "");
  } else narrow({ category, first: String(model), firstRuns: "some" });
}

function only(holds, name, category) {
  SHOW.only = [name, holds];
  controls.show.querySelector("option[value=only]")?.remove();
  controls.show.append(option("only", name));
  narrow({ show: "only", category });
}

// --- What is known of each task -------------------------------------------------------------

const isScored = (answer) => "sfj".includes(answer.outcome || "-");

function prepare(task, index) {
  task.index = index;
  task.answers = task.cells.map((runs) => runs.map((cell) => {
    const [outcome, status, flags] = cell ? cell.split("|") : ["", "", ""];
    return { outcome, status, flags: flags ? flags.split(",") : [], met: status.split("y").length - 1 };
  }));
  const all = task.answers.flat().filter((answer) => answer.outcome);
  task.solved = task.answers.map((runs) => runs.filter((answer) => answer.outcome === "s").length);
  task.runs = task.answers.map((runs) => runs.filter(isScored).length);
  const shares = task.solved.map((solved, i) => solved / task.runs[i]).filter((share) => !Number.isNaN(share));
  task.difference = shares.length ? Math.max(...shares) - Math.min(...shares) : 0;
  task.share = shares.length ? shares.reduce((a, b) => a + b) / shares.length : 0;
  task.flags = new Set(all.flatMap((answer) => answer.flags));
  task.outcomes = new Set(all.map((answer) => answer.outcome));
  task.near = all.some((answer) => answer.outcome === "f" && answer.status && answer.met === answer.status.length - 1);
  task.text = [task.id, task.sub, ...task.rubrics.map(([, text]) => text)].join("\n").toLowerCase();
  task.met = task.rubrics.map((_, place) => {
    const letters = all.filter((answer) => answer.status).map((answer) => answer.status[place]);
    return { met: letters.filter((letter) => letter === "y").length, of: letters.length };
  });
}

let shortId = (task) => task.id;
const address = (task) => `#task=${encodeURIComponent(task.id)}`;
const flagText = (flag) => RESULTS.types[flag] ?? FLAGS[flag];

// --- Filters --------------------------------------------------------------------------------

const SHOW = {
  all: ["all tasks", () => true],
  differ: ["models differ", (task) => task.difference > 0],
  unsteady: ["runs of a model differ", (task) => task.solved.some((solved, i) => solved > 0 && solved < task.runs[i])],
  near: ["near misses: one rubric missed", (task) => task.near],
  nobody: ["solved by nobody", (task) => task.solved.every((solved) => solved === 0)],
  judge: ["no verdict of the judge", (task) => task.outcomes.has("j") || task.outcomes.has("u")],
  missing: ["no answer because of an error", (task) => task.outcomes.has("e")],
};
const RUNS = {
  some: ["in some run", (solved) => solved > 0],
  every: ["in all runs", (solved, runs) => runs > 0 && solved === runs],
  none: ["in no run", (solved, runs) => runs > 0 && solved === 0],
};
const SORT = {
  difference: ["largest difference first", (a, b) => b.difference - a.difference],
  hardest: ["hardest first", (a, b) => a.share - b.share],
  longest: ["longest prompt first", (a, b) => b.chars - a.chars],
  file: ["order of the log", () => 0],
};
const option = (value, text) => h("option", { value }, text);
const options = (choices) => Object.entries(choices).map(([key, [text]]) => option(key, text));

function select(name, ...choices) {
  controls[name] = h("select", { name, onchange: apply }, ...choices);
  controls[name].usual = choices[0].value;
  return controls[name];
}

function categories() {
  const groups = new Map();
  for (const { category, sub } of TASKS) groups.set(category, (groups.get(category) ?? new Set()).add(sub));
  return [...groups].flatMap(([category, subs]) => [option(category, category),
    ...[...subs].filter(Boolean).sort().map((sub) => option(sub, `– ${sub}`))]).filter(({ value }) => value);
}

function solvedBy(title, name, kind) {
  const who = Object.assign(select(name, option("", "any"), ...MODELS.map((model, i) => option(String(i), model.name))), { ariaLabel: title });
  const how = Object.assign(select(kind, ...options(RUNS)), { ariaLabel: `${title}: in which runs` });
  return h("label", {}, title, h("span", { className: "two" }, who, how));
}

function sidebar() {
  for (const [flag, title] of Object.entries({ ...FLAGS, ...RESULTS.types })) SHOW[flag] = [title, (task) => task.flags.has(flag)];
  const kinds = Object.entries(SHOW).map(([key, [text, holds]]) => [key, text, TASKS.filter(holds).length]).filter(([key, , tasks]) => key === "all" || tasks);
  const orders = Object.entries(SORT).filter(([key]) => MODELS.length > 1 || key !== "difference").map(([key, [text]]) => option(key, text));
  controls.search = Object.assign(h("input", { type: "search", name: "search", oninput: apply, placeholder: "/" }), { usual: "" });
  const side = h("div", { id: "side" },
    h("label", {}, "Category", select("category", option("", "all"), ...categories())),
    h("label", {}, "Show", select("show", ...kinds.map(([key, text, tasks]) => option(key, key === "all" ? text : `${text} (${number(tasks)})`)))),
    solvedBy("Solved by", "first", "firstRuns"), MODELS.length > 1 ? solvedBy("and by", "second", "secondRuns") : "",
    h("label", {}, RESULTS.without.includes("rubrics") ? "Search ids" : "Search rubrics", controls.search),
    h("label", {}, "Sort", select("sort", ...orders)),
    legend(), count,
    h("p", { className: "line heads", ariaHidden: "true" }, h("code", {}, "Task"), h("span", {}, "solved in runs of"), ...MODELS.map((_, i) => chip(i))),
    list);
  if (controls.secondRuns) controls.secondRuns.usual = controls.secondRuns.value = "none";
  return h("nav", { ariaLabel: "Tasks" },
    button("", () => fold(!document.body.classList.contains("folded")), { id: "fold" }, "Tasks and filters"), side);
}

function fold(folded) {
  document.body.classList.toggle("folded", folded);
  document.getElementById("fold").ariaExpanded = String(!folded);
}

const inRuns = (task, model, kind) => !model || RUNS[kind][1](task.solved[model], task.runs[model]);
const sought = () => controls.search.value.toLowerCase().trim();
const value = (name) => controls[name]?.value ?? "";

function apply() {
  const [, holds] = SHOW[value("show")];
  const [, order] = SORT[value("sort")];
  const [category, words] = [value("category"), sought()];
  shown = TASKS.filter((task) => (!category || task.category === category || task.sub === category) && holds(task)
    && inRuns(task, value("first"), value("firstRuns")) && inRuns(task, value("second"), value("secondRuns")) && task.text.includes(words));
  shown.sort((a, b) => order(a, b) || a.index - b.index);
  list.replaceChildren();
  more();
  mark(current, false);
}

function narrow(changes) {
  for (const [name, control] of Object.entries(controls)) control.value = changes[name] ?? control.usual;
  apply();
  if (shown.length) open(shown[0]);
  else location.hash = "tasks";
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
  if (task.row) return task.row;
  const words = MODELS.map((model, i) => `${model.name} ${task.solved[i]} of ${task.runs[i]}`).join(", ");
  const cells = task.solved.map((solved, i) => {
    const cell = h("b", {}, task.runs[i] ? String(solved) : "–");
    cell.style.setProperty("--share", `${Math.round(task.runs[i] ? (100 * solved) / task.runs[i] : 0)}%`);
    return cell;
  });
  task.row = h("li", {}, h("a", { className: "line", href: address(task), title: task.id, ariaLabel: `${task.id}, ${task.sub || task.category}, solved: ${words}` },
    h("code", {}, shortId(task)), h("span", {}, task.sub || task.category), ...cells));
  return task.row;
}

function mark(task, scrollTo = true) {
  for (const { row } of TASKS) row?.firstChild.removeAttribute("aria-current");
  const place = task ? shown.indexOf(task) : -1;
  count.textContent = `${number(shown.length)} of ${number(TASKS.length)} tasks${place < 0 ? "" : `, number ${number(place + 1)} is open`}`;
  if (place < 0) return;
  row(task).firstChild.setAttribute("aria-current", "true");
  if (!scrollTo) return;
  while (list.childElementCount <= place) more();
  task.row.scrollIntoView({ block: "nearest" });
}

// --- One task: rubrics by models and runs ---------------------------------------------------

function open(task) {
  if (location.hash === address(task)) render(task);
  else location.hash = address(task);
}

const columnsOf = (task) => task.answers.flatMap((runs, model) => runs.map((answer, place) => (
  { key: `${model} ${place}`, model, run: MODELS[model].runs[place], answer, first: place === 0 })));
const named = (column) => `${MODELS[column.model].name}, run ${column.run}`;

function render(opening) {
  current = opening;
  opened = { place: null, columns: [] };
  mark(current);
  fold(true);
  const share = (place) => (current.met[place].of ? current.met[place].met / current.met[place].of : 2);
  const places = current.rubrics.map((_, place) => place).sort((a, b) => share(a) - share(b) || a - b);
  const columns = columnsOf(current);
  const scored = columns.filter(({ answer }) => isScored(answer)).length;
  const solved = columns.filter(({ answer }) => answer.outcome === "s").length;
  const matrix = h("table", { className: "matrix", role: "table", ariaLabel: "Rubrics by model and run" },
    h("thead", { role: "rowgroup" },
      h("tr", { role: "row" }, h("th", { rowSpan: 2, scope: "col", role: "columnheader" }, "Rubric"), ...MODELS.map(modelHead),
        h("th", { rowSpan: 2, scope: "col", role: "columnheader", className: "met" }, "Met")),
      h("tr", { role: "row" }, ...columns.map(({ run, first }) => h("th", { scope: "col", role: "columnheader", className: first ? "first" : "", ariaLabel: `run ${run}` }, String(run))))),
    h("tbody", { role: "rowgroup" },
      line(columns, [h("strong", {}, "All rubrics")], (column) => overall(current, column), `${solved}/${scored}`),
      ...places.map((place) => rubricLine(current, columns, place))));
  matrix.style.setProperty("--columns", columns.length);
  matrix.querySelector("button").tabIndex = 0;
  const flags = columns.flatMap(({ answer }) => answer.flags);
  const flagged = [...new Set(flags)].map((flag) => `${flagText(flag)}: ${flags.filter((each) => each === flag).length} of ${columns.length}`);
  task.replaceChildren(h("div", { className: "view" },
    h("header", {},
      h("p", { className: "steps" }, button("link", () => step(-1), { title: "k" }, "‹ previous"), button("link", () => step(1), { title: "j" }, "next ›")),
      h("h2", {}, current.id),
      facts(current.category, current.sub, `${current.rubrics.length} rubrics`, current.chars === null ? "" : `${number(current.chars)} characters of prompt`),
      flagged.length ? facts(...flagged) : "",
      facts(`Hardest first: ✓ met, ✗ not met, · not known. ${RESULTS.answers ? "A cell opens the answer; with Shift, beside the one that is open." : "This page was made without answers."}`), legend()),
    matrix), h("section", { id: "answers", ariaLabel: "Answers", hidden: true }));
  document.title = `${current.id} · ${RESULTS.title}`;
}

function modelHead({ name, title, runs }, model) {
  const head = h("th", { colSpan: runs.length, scope: "colgroup", role: "columnheader", className: "first name", title }, chip(model), h("span", {}, ...breakable(name)));
  head.style.gridColumn = `span ${runs.length}`;
  return head;
}

function line(columns, head, cell, met) {
  return h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader" }, ...head),
    ...columns.map((column) => h("td", { role: "cell", className: column.first ? "first" : "" }, cell(column))),
    h("td", { role: "cell", className: "met" }, met));
}

function rubricLine(task, columns, place) {
  const [label, text] = task.rubrics[place];
  const { met, of } = task.met[place];
  return line(columns, [h("strong", {}, String(label)), " ", ...highlighted(text)], (column) => {
    const [sign, kind, words] = SIGNS[column.answer.status[place]] ?? NO_SIGN;
    return verdict(task, column, place, sign, kind, `${words}: ${named(column)}, rubric ${label}`);
  }, of ? `${met}/${of}` : "–");
}

function overall(task, column) {
  const { outcome, status, met } = column.answer;
  const words = OUTCOMES[outcome] ?? "no score";
  const text = outcome === "s" ? "✓" : outcome === "f" && status ? `${met}/${status.length}` : outcome === "f" ? "✗" : "·";
  const kind = outcome === "s" ? " overall" : outcome === "f" ? " overall no" : " overall none";
  return verdict(task, column, null, text, kind, `${words}${status ? `, ${met} of ${status.length} rubrics` : ""}: ${named(column)}`);
}

function verdict(task, column, place, text, kind, label) {
  const cell = button(`verdict${kind}`, (event) => pick(task, column, place, event.shiftKey || event.ctrlKey || event.metaKey),
    { tabIndex: -1, ariaPressed: "false", ariaLabel: label, title: label }, text);
  return Object.assign(cell, { column: column.key, place });
}

function highlighted(text) {
  const words = sought().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return words ? text.split(new RegExp(`(${words})`, "gi")).map((part, i) => (i % 2 ? h("mark", {}, part) : part)) : [text];
}

// --- Answers, one or two beside each other --------------------------------------------------

let loading = null;

function chunks() {
  loading ??= new Promise((resolve, reject) => {
    window.clbenchAnswers = (key, packed) => {
      if (key !== RESULTS.answers.key) return reject(new Error(`${RESULTS.answers.file} belongs to another page.`));
      resolve(Map.groupBy(packed, ([task, model]) => `${task} ${model}`));
    };
    const script = h("script", { src: encodeURIComponent(RESULTS.answers.file) });
    script.onerror = () => reject(new Error(`${RESULTS.answers.file} is not beside this page.`));
    document.head.append(script);
  });
  return loading;
}

async function textOf(task, column) {
  const packed = (await chunks()).get(`${task.index} ${column.model}`) ?? [];
  return Object.assign({}, ...await Promise.all(packed.map(([, , text]) => unpack(text))))[column.run];
}

function pick(task, column, place, beside) {
  const first = opened.columns[0];
  showAnswers(task, place, beside && first && first.key !== column.key ? [first, column] : [column]);
}

async function showAnswers(current, place, columns) {
  const choice = opened = { place, columns };
  const box = document.getElementById("answers");
  for (const cell of task.querySelectorAll(".verdict")) {
    cell.ariaPressed = String(cell.place === place && columns.some((column) => column.key === cell.column));
  }
  if (!RESULTS.answers) return;
  box.hidden = false;
  box.replaceChildren(h("p", { className: "facts", role: "status" }, "Reading the answers …"));
  try {
    const texts = await Promise.all(columns.map((column) => textOf(current, column)));
    if (choice !== opened) return; // another cell was chosen meanwhile
    const parts = texts[0] && texts[1] ? differing(texts[0].answer, texts[1].answer) : texts.map((text) => [text?.answer ?? ""]);
    box.replaceChildren(h("p", { className: "steps" }, beside(current, place, columns), button("link", close, { title: "Escape" }, "close")),
      columns.length > 1 ? verdictsThatDiffer(current, columns) : "",
      h("div", { className: "texts" }, ...columns.map((column, i) => answerView(current, column, place, texts[i], parts[i], columns.length > 1))));
    task.querySelector("[aria-pressed=true]")?.scrollIntoView({ block: "nearest" });
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
  const pressed = [...task.querySelectorAll("[aria-pressed=true]")];
  for (const cell of pressed) cell.ariaPressed = "false";
  if (box.contains(document.activeElement) || document.activeElement === document.body) pressed[0]?.focus();
}

function beside(task, place, [column, second]) {
  const rest = columnsOf(task).filter(({ key, answer }) => answer.outcome && key !== column.key);
  const choice = h("select", { onchange: () => showAnswers(task, place, [column, ...rest.filter(({ key }) => key === choice.value)]) },
    option("", "nothing"), ...rest.map((each) => option(each.key, named(each))));
  choice.value = second?.key ?? "";
  return h("label", {}, "Beside it: ", choice);
}

function verdictsThatDiffer(task, columns) {
  const [first, second] = columns.map(({ answer }) => answer.status);
  const places = task.rubrics.map((_, place) => place).filter((place) => first[place] !== second[place]);
  const sign = (status, place) => (SIGNS[status[place]] ?? NO_SIGN)[0];
  return h("details", { open: places.length > 0 && places.length < 6 }, h("summary", {}, `Verdicts differ on ${places.length} of ${task.rubrics.length} rubrics`),
    h("ul", { className: "signs" }, ...places.map((place) => h("li", {}, `${sign(first, place)} ${sign(second, place)} `, h("strong", {}, String(task.rubrics[place][0])), ` ${task.rubrics[place][1]}`))));
}

function answerView(task, column, place, text, parts, paired) {
  const { answer } = column;
  const met = answer.status ? `, ${answer.met}/${answer.status.length} rubrics` : "";
  const head = h("h3", {}, chip(column.model), ` ${named(column)}: ${OUTCOMES[answer.outcome] ?? "no score"}${met}`);
  if (!text) return h("section", {}, head, h("p", {}, "The log has no such answer."));
  const folding = (title, isOpen, ...children) => h("details", { open: isOpen }, h("summary", {}, title), h("pre", { tabIndex: 0 }, ...children));
  const rationales = text.rationales?.map(([judge, words]) => folding(text.rationales.length > 1 ? `Rationale of ${judge}` : "The judge's rationale", !paired, words))
    ?? [facts("This page was made without rubrics, and so without the judge's rationale, which may quote them.")];
  return h("section", { className: paired ? "" : "alone" }, h("div", {}, head,
    place === null ? "" : h("p", {}, h("strong", {}, `${(SIGNS[answer.status[place]] ?? NO_SIGN)[0]} ${task.rubrics[place][0]} `), task.rubrics[place][1]),
    facts(...answer.flags.map(flagText), text.used),
    text.error ? h("p", { className: "warnings" }, text.error) : "", ...rationales),
  folding(paired ? "The answer; what the other one lacks is marked" : "The answer", true, ...parts));
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

function* hunks(a, b) {
  let i = 0, j = 0;
  const trimmed = (texts) => texts.map((text) => text.trim());
  for (const [x, y] of [...common(trimmed(a), trimmed(b)), [a.length, b.length]]) {
    if (i < x || j < y) yield [a.slice(i, x).join(""), b.slice(j, y).join(""), false];
    if (x < a.length) yield [a[x], b[y], true];
    i = x + 1;
    j = y + 1;
  }
}

function differing(first, second) {
  const lines = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const words = (text) => text.match(/\s*\S+|\s+$/g) ?? [];
  const sides = [[], []];
  const add = (texts, same) => texts.forEach((text, i) => {
    const plain = same || !text.trim();
    const last = sides[i].length - 1;
    if (plain && typeof sides[i][last] === "string") sides[i][last] += text;
    else if (text) sides[i].push(plain ? text : h("mark", {}, text));
  });
  for (const [a, b, same] of hunks(lines(first), lines(second))) {
    const parts = same ? [] : [...hunks(words(a), words(b))];
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
  const rows = [...task.querySelectorAll(".matrix tbody tr")].map((tr) => [...tr.querySelectorAll(".verdict")]);
  const y = rows.findIndex((cells) => cells.includes(from));
  rows[y + down]?.[rows[y].indexOf(from) + right]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !TASKS.length) return;
  const typing = event.target.closest("input, select, textarea");
  const inMatrix = event.target.closest(".verdict");
  const reading = event.target.closest("pre, summary") || document.body.dataset.view === "report";
  if (event.key === "Escape" || (event.key === "Enter" && event.target === controls.search)) {
    if (typing) typing.blur();
    else close();
  } else if (typing) return;
  else if (inMatrix && ARROWS[event.key]) moveInMatrix(inMatrix, ARROWS[event.key]);
  else if (event.key === "j" || (event.key === "ArrowDown" && !reading)) step(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && !reading)) step(-1);
  else if (event.key === "ArrowRight" && !reading) task.querySelector(".verdict[tabindex='0']")?.focus();
  else if (event.key === "o") location.hash = "";
  else if (event.key === "/") { view("tasks"); fold(false); controls.search.focus(); }
  else return;
  event.preventDefault();
});
task.addEventListener("focusin", ({ target }) => {
  if (!target.classList.contains("verdict")) return;
  for (const cell of task.querySelectorAll(".verdict[tabindex='0']")) cell.tabIndex = -1;
  target.tabIndex = 0;
});

function view(name) {
  document.body.dataset.view = name;
  for (const link of document.querySelectorAll("#bar a")) link.ariaCurrent = link.dataset.view === name ? "page" : null;
  if (name === "report") document.title = RESULTS.title;
}

function route() {
  const place = new URLSearchParams(location.hash.slice(1));
  if (Object.hasOwn(SHOW, place.get("show") ?? "")) {
    controls.show.value = place.get("show");
    apply();
  }
  view(location.hash.length > 1 ? "tasks" : "report");
  const id = place.get("task");
  const opening = id === null ? null : TASKS.find((each) => each.id === id) ?? TASKS.find((each) => each.id.startsWith(id));
  if (opening) return render(opening);
  current = null;
  mark(null);
  if (id !== null) task.replaceChildren(h("p", { className: "warnings", role: "status" }, `No task begins with ${id}.`));
  else if (location.hash === "#tasks" && shown.length && !PHONE.matches) render(shown[0]);
  else task.replaceChildren();
}

const tab = (href, name, text) => h("a", { href, "data-view": name }, text);
const tasksTab = tab("#tasks", "tasks", "Tasks");
document.body.append(h("header", { id: "bar" }, h("strong", {}, RESULTS.title), tab("#", "report", "Results"), tasksTab,
  h("span", { className: "keys" }, "j k next and previous task · → into its table · Enter the answer · / search · o results")), results());
view(location.hash.length > 1 ? "tasks" : "report");

// The results are painted before the tasks are unpacked.
await new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
TASKS = await unpack(document.getElementById("tasks-data").textContent);
TASKS.forEach(prepare);
if (TASKS.every(({ id }) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id))) shortId = ({ id }) => id.slice(0, 8);
tasksTab.append(` (${number(TASKS.length)})`);
document.body.append(sidebar(), task);
document.body.style.setProperty("--models", MODELS.length);
apply();
route();
window.addEventListener("hashchange", route);
