// The page of one tool: what the current call would do, and the call itself.
import { ask, base, operator, say, told } from "./console.js";
import { elsewhere } from "./elsewhere.js";
import { cannotTell, foretell, isUnclassified } from "./foresight.js";
import { canon, covers, live, locate, parse, read, target, write } from "./form.js";
import { isEmpty, json, make, raw as rawJson, show } from "./result.js";

const by = (id) => document.getElementById(id);
const bench = document.querySelector(".bench");
const { tool, path } = bench.dataset;
const form = by("call");
const fields = by("fields");
const raw = by("raw");
const panel = document.querySelector(".foresight");
const outcome = by("outcome");
const callButton = form.querySelector("[data-testid=call]");
const cancelButton = form.querySelector("[data-act=cancel]");

// ---- The arguments, as a form or as JSON ----

const offered = fields.dataset.offered === "true";
const untouched = canon(offered ? read(fields) : {});
const template = raw.value;
let view = "form";

function complainAboutJson(text) {
  by("raw-error").hidden = !text;
  by("raw-error").textContent = text;
  raw.setAttribute("aria-invalid", text ? "true" : "false");
}

const NO_PLACE = "The form has no place for all of this, so it stays here as it is.";

/** The text that did not fit into the form. The message stays until the text changes. */
let homeless;

/** Returns the current arguments as a value and as text, and what is wrong with them. */
function written() {
  if (view === "form") {
    const wrong = [];
    const value = read(fields, wrong);
    return { value, text: JSON.stringify(value), wrong };
  }
  try {
    const value = parse(raw.value);
    if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("arguments are an object: {…}");
    complainAboutJson(raw.value === homeless ? NO_PLACE : "");
    return { value, text: raw.value, wrong: [] };
  } catch (error) {
    complainAboutJson(`This is not JSON that can be sent: ${error.message}`);
    return { wrong: [{ control: raw, message: error.message }] };
  }
}

function look(at) {
  view = at;
  fields.hidden = at !== "form";
  by("json").hidden = at !== "json";
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String(button.dataset.view === at));
}

function switchTo(at) {
  if (at === view) return;
  if (at === "json") {
    const value = read(fields);
    // An untouched form starts with the required members.
    raw.value = canon(value) === untouched ? template : JSON.stringify(value, null, 2);
    complainAboutJson("");
    look("json");
    raw.focus();
  } else {
    if (raw.value === template) { look("form"); return; }
    const { value } = written();
    if (value === undefined) { raw.focus(); return; }
    const before = read(fields);
    write(fields, value);
    if (!covers(read(fields), value)) {
      write(fields, before);
      homeless = raw.value;
      complainAboutJson(NO_PLACE);
      raw.focus();
      return;
    }
    look("form");
  }
  changed();
}

for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => switchTo(button.dataset.view));

// ---- Errors at their fields ----

const seen = new WeakSet();
let all = false;

function mark(errors) {
  for (const element of fields.querySelectorAll("[aria-invalid=true]")) element.setAttribute("aria-invalid", "false");
  for (const element of fields.querySelectorAll(".field > .error")) element.hidden = true;
  if (view !== "form") return;
  for (const { node, control, message } of errors) {
    if (!node || !(all || seen.has(node))) continue;
    (control ?? target(node)).setAttribute("aria-invalid", "true");
    const place = node.querySelector(":scope > .error");
    if (place) { place.textContent = message; place.hidden = false; }
  }
}

/** Returns the server's errors, each with its field. */
function placed(errors) {
  return errors.map(({ path: pointer, message }) => ({
    pointer, message, node: view === "form" ? locate(fields, pointer) : null,
  }));
}

const named = (pointer) => (pointer ? pointer.slice(1).replaceAll("/", " › ").replaceAll("~1", "/").replaceAll("~0", "~") : "arguments");

function summarise(errors) {
  const summary = by("errors");
  summary.hidden = !errors.length;
  if (!errors.length) return;
  by("errors-title").textContent = errors.length === 1 ? "One thing is wrong; nothing was sent" : `${errors.length} things are wrong; nothing was sent`;
  summary.querySelector("ul").replaceChildren(...errors.map(({ node, control, pointer, message }) => {
    const goal = control ?? (node ? target(node) : view === "json" ? raw : fields);
    if (!goal.id) goal.id = `g${Math.random().toString(36).slice(2)}`;
    const anchor = make("a", { href: `#${goal.id}` }, `${named(pointer ?? "")}: ${message}`);
    anchor.addEventListener("click", (event) => { event.preventDefault(); goal.focus(); });
    return make("li", {}, anchor);
  }));
  summary.focus();
}

form.addEventListener("focusout", (event) => {
  const node = event.target.closest(".field");
  // Only after a delay: if the layout moves while a button is pressed, the click is lost.
  if (node && fields.contains(node) && event.target.value && !seen.has(node)) { seen.add(node); changed(); }
});

// ---- What the call would do ----

let known;

function tell(answer) {
  known = answer;
  const errors = placed(answer.errors ?? []);
  foretell(panel, answer, errors.map(({ pointer, message }) => ({ name: named(pointer), message })));
  mark(errors);
}

const key = () => by("key")?.value.trim() ?? "";
// A header and the ledger can hold this.
const keyFits = () => /^[\x20-\x7e]{0,255}$/.test(key());
const headers = () => (key() && keyFits() ? { "Idempotency-Key": key() } : {});

let asked = 0;
let asking;
/** Asks the server what the call would do. Returns `null` if a newer request has replaced this one, and nothing if it failed. */
async function foresee(text) {
  const mine = ++asked;
  asking?.abort();
  asking = new AbortController();
  panel.setAttribute("aria-busy", "true");
  try {
    const response = await ask("POST", `${path}/annotations`, text, headers(), asking.signal);
    if (mine !== asked) return null;
    if (!response.ok) { cannotTell(panel, await told(response)); return undefined; }
    const answer = await response.json();
    if (mine === asked) tell(answer);
    return answer;
  } catch (error) {
    if (error.name === "AbortError") return null;
    cannotTell(panel, "The server cannot be reached");
    return undefined;
  } finally {
    if (mine === asked) panel.removeAttribute("aria-busy");
  }
}

/** Text that is not JSON cannot be evaluated, and the last request does not count any more. */
function unreadable() {
  asked += 1;
  asking?.abort();
  panel.removeAttribute("aria-busy");
  cannotTell(panel, "not JSON yet");
}

let soon;
function changed() {
  clearTimeout(soon);
  checked("");
  soon = setTimeout(() => {
    const { value, text, wrong } = written();
    if (value === undefined) { unreadable(); return; }
    elsewhere(tool, path, key(), value, text);
    if (!by("errors").hidden && !wrong.length) by("errors").hidden = true;
    foresee(text);
  }, 200);
}
live(form, changed);

// ---- Calling ----

function state(name, says) {
  outcome.dataset.state = name;
  by("outcome-says").textContent = says;
  by("outcome-says").hidden = !says;
}

/** Yields the events of a stream, until it ends. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const name = lines.find((line) => line.startsWith("event:"))?.slice(6).trim();
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, "")).join("\n");
      if (name) yield { name, data: JSON.parse(data) };
    }
  }
}

// In a new tab: leaving this page cancels the call.
const waitsThere = (then) => make("p", {}, make("a", { href: `${base}/ui/approvals`, target: "_blank" }, "Approve or deny it in a new tab"), `. ${then}`);

// Codes that do not say whether the call ran.
const UNSURE = ["outcome_unknown", "timed_out", "in_progress", "internal"];

function refused(problem, status) {
  const code = problem.code ?? "";
  const waits = code === "approval_required";
  const unsure = UNSURE.includes(code);
  const said = problem.detail ?? problem.suggestions?.[0] ?? problem.error ?? `Status ${status}`;
  state(waits ? "waiting" : unsure ? "unknown" : "error", unsure ? `The outcome is unknown. ${said}` : said);
  const more = [];
  if (waits && operator) more.push(waitsThere("Then call it again."));
  if (status === 401) more.push(make("p", {}, "Log in at the top of the page, then call again."));
  const next = (problem.suggestions ?? []).filter((text) => !waits && !said.includes(text));
  if (next.length) more.push(make("ul", {}, ...next.map((text) => make("li", {}, text))));
  by("outcome-shows").replaceChildren(...more, rawJson(problem));
  if (code === "execution_disabled" && callButton) {
    callButton.replaceWith(make("p", { class: "soft", "data-testid": "cannot-call" }, "Calling is switched off in this console."));
  }
  const errors = placed((problem.errors ?? []).map((error) => ({ path: error.pointer ?? error.path ?? "", message: error.reason ?? error.message })));
  if (errors.length) { all = true; mark(errors); summarise(errors); }
}

function arrived(result, verb) {
  const replayed = result._meta?.["dev.candor/idempotency"]?.replayed;
  const says = [];
  if (verb === "preview") says.push("This is a preview. Nothing was run.");
  if (replayed) says.push("Replayed: this is the first result of this key; it did not run again.");
  if (result.isError) says.unshift("The call failed.");
  else if (isEmpty(result)) says.push("The call succeeded and returned nothing.");
  state(result.isError ? "error" : isEmpty(result) ? "empty" : "ok", says.join(" "));
  show(result, by("outcome-shows"), canon);
  const plan = result._meta?.["dev.candor/plan"]?.token;
  if (verb === "preview" && plan) takePlan(plan);
}

/** Writes the token of a preview into the argument `plan_token`. */
function takePlan(token) {
  const field = locate(fields, "/plan_token");
  if (view === "form" && field?.dataset.name === "plan_token") {
    write(field, token);
  } else if (view === "json") {
    const { value } = written();
    if (value) raw.value = JSON.stringify({ ...value, plan_token: token }, null, 2);
  }
  by("outcome-says").textContent += " plan_token now has its token, so you can call the tool.";
}

function progressed({ progress, total, message }) {
  const bar = by("progress");
  const first = bar.hidden;
  bar.hidden = false;
  if (total) { bar.max = total; bar.value = progress; } else bar.removeAttribute("value");
  const part = total ? ` (${progress} of ${total})` : "";
  state("running", `${message || "Running…"}${part}`);
  if (first) outcome.scrollIntoView({ block: "nearest" });
}

// The arguments of a call that was sent and now needs approval, after its connection ended.
let undecided;
addEventListener("candor:waiting", async () => {
  const { value, text } = written();
  if (running || outcome.dataset.state !== "waiting" || value === undefined || text !== undecided) return;
  const record = (await foresee(text))?.record;
  if (running || outcome.dataset.state !== "waiting" || record?.state !== "approved") return;
  state("waiting", `Approved by ${record.by}. Nothing was run. Repeat the call within 15 minutes.`);
  by("outcome-shows").replaceChildren();
});

let running;
async function run(verb, text) {
  undecided = text;
  running = new AbortController();
  const label = callButton?.textContent;
  if (callButton) { callButton.disabled = true; callButton.textContent = verb === "call" ? "Calling…" : "Previewing…"; }
  if (cancelButton) cancelButton.hidden = false;
  const decide = verb === "call" && known?.verdict === "ask" && (known.record?.state ?? "approval_required") === "approval_required" && operator;
  by("outcome-shows").replaceChildren(...(decide ? [waitsThere("The result appears here.")] : []));
  state("running", "Running…");
  outcome.scrollIntoView({ block: "nearest" });
  say(verb === "call" ? "Calling" : "Previewing");
  let ended = false;
  try {
    const sent = { Accept: "text/event-stream, application/json", ...(verb === "call" ? headers() : {}) };
    // The page has shown that the call needs approval. If that changes before the call arrives, the call must not run.
    const expects = verb === "call" && known?.exact && known.verdict === "ask" ? "?expect=ask" : "";
    const response = await ask("POST", `${path}/${verb}${expects}`, text, sent, running.signal);
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      const body = await response.json();
      ended = true;
      if (response.ok) arrived(body, verb); else refused(body, response.status);
    } else {
      for await (const { name, data } of events(response.body)) {
        if (name === "progress") progressed(data);
        if (name === "result") { ended = true; arrived(data, verb); }
        if (name === "problem") { ended = true; refused(data, data.status); }
      }
    }
    if (!ended) state("unknown", "The answer broke off. The call may have run. Check History before you call again.");
  } catch (error) {
    if (error.name === "AbortError") state("cancelled", "Cancelled. The call may have run. Check History.");
    else if (!ended) state("unknown", "The server cannot be reached. If the call had started, its outcome is unknown.");
  } finally {
    if (!ended) by("outcome-shows").replaceChildren();
    by("progress").hidden = true;
    if (callButton) { callButton.disabled = false; callButton.textContent = label; }
    if (cancelButton) cancelButton.hidden = true;
    running = undefined;
    say(`Result: ${outcome.dataset.state}`);
  }
  if (by("errors").hidden) by("outcome-title").focus();
  outcome.scrollIntoView({ block: "nearest" });
  changed();
}

/** Shows what Validate found beside its button, until the arguments change. */
function checked(says) {
  by("checked").textContent = says;
  by("checked").hidden = !says;
  if (says) say(says);
}

/** Returns true if the arguments can be sent. If not, shows why. */
function isReadable({ value, wrong }) {
  clearTimeout(soon);
  checked("");
  all = true;
  if (value === undefined) { unreadable(); raw.focus(); return false; }
  if (!wrong.length) return true;
  mark(wrong);
  // A field without a name is named after the field around it.
  const name = (node) => node?.closest("[data-name]:not([data-name=''])")?.dataset.name;
  summarise(wrong.map((one) => ({ pointer: name(one.node) && `/${name(one.node)}`, ...one })));
  return false;
}

/** Asks the server whether the arguments are valid, and shows what is wrong. */
async function check() {
  const { value, text, wrong } = written();
  if (!keyFits()) wrong.push({ control: by("key"), pointer: "/Idempotency-Key", message: "takes up to 255 letters, digits and signs of ASCII" });
  by("key")?.setAttribute("aria-invalid", String(!keyFits()));
  if (!isReadable({ value, wrong })) return undefined;
  elsewhere(tool, path, key(), value, text);
  const answer = await foresee(text);
  if (answer === undefined) {
    state("error", `Nothing was sent: ${by("fits").textContent}`);
    by("outcome-shows").replaceChildren();
    outcome.scrollIntoView({ block: "nearest" });
    say(by("outcome-says").textContent);
  }
  if (!answer) return undefined;
  const errors = placed(answer.errors ?? []);
  mark(errors);
  summarise(errors);
  return answer.valid ? { answer, text, value } : undefined;
}

/** Returns the sentence that every prompt shows. A call that changes or deletes, and has no tool to undo it, cannot be undone. */
function undone({ undo, sources }) {
  if (undo) return `The server says that ${undo} can undo the call.`;
  if (sources.destructiveHint === "default") return "This tool declares nothing about undo; see its description.";
  return "The server says that the call cannot be undone.";
}

function confirmed({ answer, value }) {
  if (!answer.annotations?.destructiveHint || answer.decision === "replay") return Promise.resolve(true);
  const dialog = by("confirm");
  const does = isUnclassified(answer)
    ? " The tool does not declare its effect, so the worst case applies."
    : ` It may change or delete data: ${by("besides").textContent}.`;
  by("confirm-effect").replaceChildren(make("span", { class: by("verdict").firstElementChild?.className ?? "verdict deletes" }, by("verdict").textContent),
    `${does}${answer.decision === "ask" ? " It needs approval before it starts." : ""}`);
  by("confirm-arguments").textContent = json(value);
  const instead = panel.querySelector("[data-testid=instead-tool]")?.textContent;
  by("confirm-undo").textContent = undone(answer)
    + (instead ? ` A gentler tool: ${instead}.` : "");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "call"), { once: true }));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running || !callButton?.isConnected) return;
  const fit = await check();
  if (fit && (await confirmed(fit))) run("call", fit.text);
});
form.querySelector("[data-act=validate]").addEventListener("click", async () => {
  const fit = await check();
  if (fit) checked("The arguments fit the schema. Nothing was run.");
});
form.querySelector("[data-act=preview]")?.addEventListener("click", () => {
  if (running) return;
  const { value, text, wrong } = written();
  if (!isReadable({ value, wrong })) return;
  // The plan token of another preview is not part of what is previewed.
  const { plan_token: _, ...rest } = value;
  run("preview", "plan_token" in value ? JSON.stringify(rest) : text);
});
cancelButton?.addEventListener("click", () => running?.abort());
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(callButton ?? undefined); }
});

// ---- Start ----

function prefill() {
  const given = new URLSearchParams(location.hash.slice(1)).get("args");
  if (!given) return;
  try {
    const value = parse(given);
    if (offered) write(fields, value);
    if (!offered || !covers(read(fields), value)) { look("json"); raw.value = JSON.stringify(value, null, 2); }
  } catch {
    look("json");
    raw.value = given;
  }
}
document.querySelector(".views").hidden = !offered;
if (!offered) look("json");
prefill();
addEventListener("hashchange", () => { prefill(); changed(); });
changed();
