// The tree of resources. Branches load when they are opened, metadata when an item is chosen, and content only on demand.
import { ask, base, say, told } from "./console.js";
import { contents, make, raw } from "./result.js";

const root = document.getElementById("tree");
const says = document.getElementById("tree-says");
const about = document.getElementById("about");
const items = () => [...root.querySelectorAll("[role=treeitem]")].filter((item) => !item.parentElement.closest("[role=treeitem][aria-expanded=false]"));

function size(bytes) {
  if (typeof bytes !== "number") return undefined;
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let at = 0;
  let left = bytes;
  while (left >= 1000 && at < units.length - 1) { left /= 1000; at += 1; }
  return at ? `${left.toFixed(left < 10 ? 1 : 0)} ${units[at]}` : `${bytes} bytes`;
}

async function list(uri, cursor) {
  const query = new URLSearchParams();
  if (uri !== undefined) query.set("uri", uri);
  if (cursor) query.set("cursor", cursor);
  const response = await ask("GET", `/resources${query.size ? `?${query}` : ""}`);
  if (!response.ok) throw new Error(await told(response));
  return response.json();
}

const called = (resource) => resource.title ?? resource.name ?? resource.uri;

// A picture that the server sent along. One from another host is not fetched: that host would learn who looks at what.
const DRAWN = /^data:image\/[a-z0-9.+-]+[;,]/i;
const sources = (resource) => (Array.isArray(resource.icons) ? resource.icons : []).map((one) => String(one?.src ?? ""));
function icon(resource) {
  const src = sources(resource).find((one) => DRAWN.test(one));
  return src ? [make("img", { class: "icon", src, alt: "", "data-testid": "icon" })] : [];
}

/** Returns the cells of a line of the tree. */
function cells(resource) {
  const opens = resource.capabilities?.list === true;
  const small = opens ? "" : [resource.mimeType, size(resource.size)].filter(Boolean).join(" · ");
  return [make("span", { class: "twist", "aria-hidden": "true" }), ...icon(resource), make("span", { class: "mono" }, called(resource)),
    ...(small ? [make("span", { class: "small" }, small)] : [])];
}

function item(resource, level) {
  const opens = resource.capabilities?.list === true;
  const row = make("span", { class: "row" }, ...cells(resource));
  const element = make("li", { role: "treeitem", tabindex: "-1", "aria-level": String(level), "aria-selected": "false" }, row);
  element.resource = resource;
  if (opens) element.setAttribute("aria-expanded", "false");
  return element;
}

/** Appends a page of children, and an item that loads the next page. */
async function fill(place, uri, level, cursor) {
  const page = await list(uri, cursor);
  const added = page.resources.map((resource) => item(resource, level));
  place.append(...added);
  if (page.nextCursor) {
    const more = make("li", { role: "treeitem", tabindex: "-1", "aria-level": String(level), "aria-selected": "false" }, make("span", { class: "row soft" }, make("span", { class: "twist", "aria-hidden": "true" }), "More…"));
    more.more = async () => {
      const next = await fill(place, uri, level, page.nextCursor);
      more.remove();
      focus(next[0] ?? place.lastElementChild);
    };
    place.append(more);
  }
  return added;
}

async function expand(element) {
  if (element.getAttribute("aria-expanded") !== "false") return;
  element.setAttribute("aria-expanded", "true");
  const heard = watch();
  if (element.querySelector(":scope > [role=group]")) return;
  // Listen before listing: a change in between would otherwise be missed.
  await read(element, heard);
}

/** Lists the children of an item. One listing at a time: if something changes meanwhile, it lists again. */
async function read(element, heard) {
  element.stale = true;
  if (element.hasAttribute("aria-busy")) return;
  element.setAttribute("aria-busy", "true");
  await heard;
  try {
    while (element.stale) {
      element.stale = false;
      const group = make("ul", { role: "group" });
      const added = await fill(group, element.resource.uri, Number(element.getAttribute("aria-level")) + 1);
      if (!added.length) group.append(make("li", { class: "soft nothing", role: "none" }, "empty"));
      replace(element, group);
    }
  } catch (error) {
    element.setAttribute("aria-expanded", "false");
    says.hidden = false;
    says.textContent = error.message;
  } finally {
    element.removeAttribute("aria-busy");
  }
}

/** Replaces the list by a new one. Items that still exist stay as they are: open, chosen, marked. */
function replace(element, group) {
  const old = element.querySelector(":scope > [role=group]");
  if (!old) { element.append(group); return; }
  const active = document.activeElement;
  const kept = new Map([...old.children].filter((one) => one.resource).map((one) => [one.resource.uri, one]));
  for (const fresh of [...group.children]) {
    const same = kept.get(fresh.resource?.uri);
    if (!same || same.hasAttribute("aria-expanded") !== fresh.hasAttribute("aria-expanded")) continue;
    same.resource = fresh.resource;
    const row = same.querySelector(":scope > .row");
    row.replaceChildren(...cells(fresh.resource), ...row.querySelectorAll(":scope > .changed"));
    fresh.replaceWith(same);
  }
  const had = old.contains(active) || group.contains(active);
  old.replaceWith(group);
  if (had) focus(active.isConnected ? active : element);
}

const collapse = (element) => element.setAttribute("aria-expanded", "false");

function focus(element) {
  if (!element) return;
  for (const other of root.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
  element.tabIndex = 0;
  element.focus();
}

// ---- The chosen resource ----

let chosen = 0;

function facts(resource) {
  const known = [
    ["URI", resource.uri], ["Name", resource.name], ["Title", resource.title], ["About", resource.description], ["Type", resource.mimeType],
    ["Size", size(resource.size)], ["Modified", resource.annotations?.lastModified && new Date(resource.annotations.lastModified).toLocaleString()],
    ["Icon elsewhere", sources(resource).filter((one) => /^https?:/i.test(one)).join(", ")], ["For", resource.annotations?.audience?.join(", ")], ["Priority", resource.annotations?.priority],
    ["Can be", [resource.capabilities?.list && "opened", resource.capabilities?.subscribe && "watched"].filter(Boolean).join(", ")],
  ];
  return make("dl", { "data-testid": "metadata" }, ...known.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", name === "URI" ? { class: "mono" } : {}, String(value))]));
}

async function choose(uri, element) {
  const mine = ++chosen;
  for (const other of root.querySelectorAll("[aria-selected=true]")) other.setAttribute("aria-selected", "false");
  element?.setAttribute("aria-selected", "true");
  element?.querySelector(":scope > .row .changed")?.remove();
  watch();
  history.replaceState(null, "", `#uri=${encodeURIComponent(uri)}`);
  about.dataset.state = "loading";
  const response = await ask("GET", `/resources/metadata?uri=${encodeURIComponent(uri)}`);
  if (mine !== chosen) return;
  // A server may know only the list, which is better than nothing.
  const resource = response.ok ? (await response.json()).resource : element?.resource;
  if (!resource) {
    about.dataset.state = "error";
    about.replaceChildren(make("p", { class: "error" }, await told(response)));
    return;
  }
  about.dataset.state = "known";
  // The list may be older than the metadata.
  element?.querySelector(":scope > .row").replaceChildren(...cells(resource));
  const place = make("div", { "data-testid": "content" });
  const load = make("button", { type: "button", "data-testid": "load" }, ["Load the content", size(resource.size)].filter(Boolean).join(", "));
  load.addEventListener("click", () => loadContent(uri, place, load));
  about.replaceChildren(make("h2", { class: "name" }, ...icon(resource), called(resource)), facts(resource), make("div", { class: "actions" }, load), place, raw(resource));
  // On a narrow screen the details are below the tree, where users would not look.
  if (about.getBoundingClientRect().top > innerHeight - 100) about.scrollIntoView({ block: "start" });
}

async function loadContent(uri, place, button) {
  about.dataset.state = "loading";
  button.textContent = "Loading…";
  try {
    const response = await ask("GET", `/resources/content?uri=${encodeURIComponent(uri)}`);
    if (!response.ok) throw new Error(await told(response));
    const all = (await response.json()).contents ?? [];
    about.dataset.state = all.length ? "loaded" : "empty";
    if (!all.length) { place.replaceChildren(make("p", { class: "soft" }, "It is there, and it is empty.")); return; }
    // One resource in several forms: show the first, and name the others.
    const same = all.length > 1 && all.every((one) => one.uri === all[0].uri);
    if (!same) { place.replaceChildren(...all.map(contents)); return; }
    const shows = make("div", {}, contents(all[0]));
    const tabs = all.map((one, at) => {
      const tab = make("button", { type: "button", "aria-pressed": String(at === 0) }, one.mimeType ?? `form ${at + 1}`);
      tab.addEventListener("click", () => {
        for (const other of tabs) other.setAttribute("aria-pressed", String(other === tab));
        shows.replaceChildren(contents(one));
      });
      return tab;
    });
    place.replaceChildren(make("div", { class: "views", role: "group", "aria-label": "Alternatives", "data-testid": "alternatives" }, ...tabs), shows);
  } catch (error) {
    about.dataset.state = "error";
    place.replaceChildren(make("p", { class: "error" }, error.message));
  } finally {
    button.textContent = "Load the content again";
    say(`Content: ${about.dataset.state}`);
  }
}

// ---- Live updates ----

let events;
let watched = "";
/** Resolves when the server watches, or after `PATIENCE` milliseconds. */
let watching = Promise.resolve();
const PATIENCE = 1000;
/** Milliseconds until a new attempt, if the server has no capacity, or a proxy responds without it. */
const AGAIN = 5000;

/** Watches what is open or chosen. */
function watch() {
  const open = items().filter((one) => one.resource && (one.getAttribute("aria-expanded") === "true" || one.getAttribute("aria-selected") === "true"));
  // A browser has few connections to a server, so a hidden tab uses none.
  const wanted = document.hidden ? [] : open.slice(0, 100);
  const query = new URLSearchParams(wanted.map((one) => ["uri", one.resource.uri])).toString();
  if (query === watched) return watching;
  watched = query;
  const before = events;
  if (!query) { before?.close(); events = undefined; return watching = Promise.resolve(); }
  const source = events = new EventSource(`${base}/resources/events?${query}`);
  watching = new Promise((heard) => {
    for (const one of ["watching", "error"]) source.addEventListener(one, heard, { once: true });
    setTimeout(heard, PATIENCE);
  }).then(() => before?.close());
  source.addEventListener("changed", (event) => mark(JSON.parse(event.data).uri));
  // A browser reconnects by itself, but not after a refusal.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (source === events) watchAgain(); }, AGAIN);
  });
  return watching;
}

function watchAgain() {
  watched = "";
  watch();
}

document.addEventListener("visibilitychange", watch);
addEventListener("candor:logged-in", watchAgain);

/** Marks an item as changed. A folder that is open is listed again. */
async function mark(uri) {
  const element = items().find((one) => one.resource?.uri === uri);
  if (!element) return;
  const row = element.querySelector(":scope > .row");
  if (!row.querySelector(".changed")) row.append(make("span", { class: "changed", "data-testid": "changed" }, "changed"));
  if (element.getAttribute("aria-expanded") === "true") await read(element);
  say(`${row.querySelector(".mono").textContent} has changed`);
}

// ---- Mouse and keys ----

function act(element) {
  if (element.more) element.more().catch((error) => { says.hidden = false; says.textContent = error.message; });
  else choose(element.resource.uri, element);
}

root.addEventListener("click", (event) => {
  const element = event.target.closest("[role=treeitem]");
  if (!element) return;
  focus(element);
  const opens = element.hasAttribute("aria-expanded");
  if (opens && event.target.closest(".twist")) {
    if (element.getAttribute("aria-expanded") === "true") collapse(element); else expand(element);
    return;
  }
  if (opens) expand(element);
  act(element);
});

root.addEventListener("keydown", (event) => {
  const element = event.target.closest("[role=treeitem]");
  if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = items();
  const at = all.indexOf(element);
  const open = element.getAttribute("aria-expanded");
  const letter = event.key.length === 1 && event.key !== " " ? event.key.toLowerCase() : undefined;
  const starts = (other) => other.textContent.trim().toLowerCase().startsWith(letter);
  switch (event.key) {
    case "ArrowDown": focus(all[at + 1]); break;
    case "ArrowUp": focus(all[at - 1]); break;
    case "Home": focus(all[0]); break;
    case "End": focus(all.at(-1)); break;
    case "ArrowRight":
      if (open === "false") expand(element); else if (open === "true") focus(element.querySelector("[role=treeitem]"));
      break;
    case "ArrowLeft":
      if (open === "true") collapse(element); else focus(element.parentElement.closest("[role=treeitem]"));
      break;
    case "Enter": case " ": act(element); break;
    default:
      // Letters that are shortcuts everywhere keep that meaning.
      if (!letter || !/[a-z0-9._]/.test(letter) || letter === "g") return;
      focus([...all.slice(at + 1), ...all.slice(0, at)].find(starts));
  }
  event.preventDefault();
  event.stopPropagation();
});

/** A server may list a folder and its contents side by side. Then the folder opens, and the contents are shown only inside it. */
async function nest(listed) {
  const opens = (one) => one.hasAttribute("aria-expanded") && listed.some((other) => other !== one && other.resource.uri.startsWith(one.resource.uri));
  const outermost = (a, b) => a.resource.uri.length - b.resource.uri.length;
  // The items inside folders that replaced a listed one, by its URI.
  const taken = new Map();
  for (const one of listed.filter(opens).sort(outermost)) {
    const folder = taken.get(one.resource.uri) ?? one;
    await expand(folder);
    const inside = new Map([...folder.querySelectorAll("[role=treeitem]")].map((inner) => [inner.resource?.uri, inner]));
    for (const other of listed) {
      const inner = inside.get(other.resource.uri);
      if (!inner || other.contains(inner)) continue;
      taken.set(other.resource.uri, inner);
      if (other.contains(document.activeElement)) focus(inner);
      other.remove();
    }
    reach();
  }
}

/** Tab reaches one item, and the arrow keys reach the others. */
function reach() {
  const first = root.querySelector("[role=treeitem]");
  if (first && !root.querySelector("[tabindex='0']")) first.tabIndex = 0;
}

async function begin() {
  const uri = new URLSearchParams(location.hash.slice(1)).get("uri");
  try {
    const added = await fill(root, undefined, 1);
    says.hidden = added.length > 0;
    says.textContent = added.length ? "" : "There is nothing here yet.";
    // At once: opening the folders may take long.
    reach();
    if (added.length === 1) await expand(added[0]); else await nest(added);
  } catch (error) {
    says.textContent = error.message;
  }
  if (uri) choose(uri, items().find((element) => element.resource?.uri === uri));
}
begin();
