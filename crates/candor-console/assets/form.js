// A form that was made from a schema: reads its value, writes a value into it, and finds the field of a JSON Pointer. `data-kind`
// says what a field is. A blank field is omitted.
import { say } from "./console.js";

const exact = (text) => {
  const number = Number(text);
  return String(number) === text || !JSON.rawJSON ? number : JSON.rawJSON(text);
};

/** Parses JSON. Numbers that a double cannot hold keep their digits, if the browser can do that. */
export const parse = (text) => JSON.parse(text, (_, value, context) =>
  typeof value === "number" && context?.source ? exact(context.source) : value);

const isObject = (value) => Boolean(value) && typeof value === "object" && !Array.isArray(value) && !JSON.isRawJSON?.(value);

/** Returns the same text for equal values. */
export const canon = (value) => JSON.stringify(value, (_, v) =>
  isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v);

/** Returns true if the first value contains all of the second, and nothing more than required members that are still blank. */
export function covers(whole, value) {
  if (Array.isArray(whole) && Array.isArray(value)) return whole.length === value.length && whole.every((item, at) => covers(item, value[at]));
  if (!isObject(whole) || !isObject(value)) return canon(whole) === canon(value);
  return Object.keys(value).every((name) => Object.hasOwn(whole, name))
    && Object.entries(whole).every(([name, member]) => (Object.hasOwn(value, name) ? covers(member, value[name]) : covers(member, Array.isArray(member) ? [] : {})));
}

const kids = (node, selector) => [...node.querySelectorAll(`:scope > ${selector}`)];
const kid = (node, selector) => node.querySelector(`:scope > ${selector}`);
const control = (node) => kid(node, ".control")?.querySelector("[data-control]");
const nullBox = (node) => kid(node, ".null > [data-null]") ?? kid(node, ".control > .null > [data-null]");
const chosen = (node) => kids(node, ".shape > .field").find((field) => !field.hidden);
const rows = (node) => kids(node, ".items > li");
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Reads the value of a field. `there` is for a value that exists even if it is blank: a list item. */
export function read(node, wrong = [], there = false) {
  if (nullBox(node)?.checked) return null;
  const kept = there || "required" in node.dataset;
  const blank = there ? null : undefined;
  const text = control(node)?.value ?? "";
  switch (node.dataset.kind) {
    // Arguments are an object, even if no shape is chosen.
    case "only": return read(kid(node, ".field"), wrong, true) ?? {};
    case "text": return text || there || "empty" in control(node).dataset ? text : undefined;
    case "number": return text.trim() === "" ? blank : NUMBER.test(text.trim()) ? exact(text.trim()) : text;
    case "choice": return text === "" ? blank : parse(text);
    case "fixed": return parse(control(node).dataset.json);
    case "json":
      if (text.trim() === "") return blank;
      try { return parse(text); } catch (error) { wrong.push({ node, message: `is not JSON: ${error.message}` }); return blank; }
    case "group": {
      const value = Object.create(null);
      let content = false;
      for (const field of kids(node, ".field")) {
        const member = read(field, wrong);
        if (member === undefined) continue;
        content ||= field.dataset.kind !== "fixed";
        value[field.dataset.name] = member;
      }
      const entries = kid(node, ".entries");
      for (const row of entries ? rows(entries) : []) {
        content = true;
        const name = row.querySelector("[data-key]");
        if (Object.hasOwn(value, name.value)) wrong.push({ node: row, control: name, message: `the name ${JSON.stringify(name.value)} is there twice` });
        value[name.value] = read(kid(row, ".field"), wrong, true);
      }
      return content || kept || "empty" in node.dataset ? value : undefined;
    }
    case "list": {
      const items = rows(node).map((row) => read(kid(row, ".field"), wrong, true));
      return items.length || kept || "empty" in node.dataset ? items : undefined;
    }
    case "tuple": {
      const places = kids(node, ".field").map((field) => read(field, wrong));
      return kept || places.some((place) => place !== undefined) ? places.map((place) => place ?? null) : undefined;
    }
    case "shapes": {
      const field = chosen(node);
      return field ? read(field, wrong, true) : blank;
    }
  }
  return undefined;
}

/** Writes a value into a field. What the field cannot hold is lost, so compare the result of `read`. */
export function write(node, value) {
  const box = nullBox(node);
  if (box) box.checked = value === null;
  if (box && value === null) value = undefined;
  const field = control(node);
  const set = (text) => { field.value = text; };
  const members = isObject(value) ? value : {};
  switch (node.dataset.kind) {
    case "only": write(kid(node, ".field"), value); break;
    case "text":
      set(typeof value === "string" ? value : "");
      field.toggleAttribute("data-empty", value === "");
      break;
    case "number": set(value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value)); break;
    case "choice": {
      const same = value === undefined ? undefined : [...field.options].find((option) => option.value && canon(parse(option.value)) === canon(value));
      set(same?.value ?? "");
      break;
    }
    case "json": set(value === undefined ? "" : JSON.stringify(value, null, 2)); break;
    case "group": {
      node.toggleAttribute("data-empty", isObject(value) && !Object.keys(value).length);
      const named = new Set();
      for (const child of kids(node, ".field")) {
        named.add(child.dataset.name);
        write(child, Object.hasOwn(members, child.dataset.name) ? members[child.dataset.name] : undefined);
      }
      const entries = kid(node, ".entries");
      if (!entries) break;
      rows(entries).forEach((row) => row.remove());
      for (const [name, member] of Object.entries(members)) {
        if (named.has(name)) continue;
        const row = add(entries);
        row.querySelector("[data-key]").value = name;
        write(kid(row, ".field"), member);
      }
      break;
    }
    case "list":
      rows(node).forEach((row) => row.remove());
      if (Array.isArray(value)) value.forEach((item) => write(kid(add(node), ".field"), item));
      node.toggleAttribute("data-empty", Array.isArray(value) && !value.length);
      break;
    case "tuple": kids(node, ".field").forEach((child, at) => write(child, Array.isArray(value) ? value[at] : undefined)); break;
    case "shapes": {
      const shapes = kids(node, "template").length;
      choose(node, "");
      for (let at = 0; value !== undefined && at < shapes; at += 1) {
        choose(node, String(at));
        write(chosen(node), value);
        if (canon(read(chosen(node), [], true)) === canon(value)) return;
      }
      choose(node, "");
    }
  }
}

/** Returns the field of a JSON Pointer, or the last one on the way. */
export function locate(root, pointer) {
  let node = root.dataset.kind === "only" ? kid(root, ".field") : root;
  for (const raw of pointer.split("/").slice(1)) {
    const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
    while (node.dataset.kind === "shapes" && chosen(node)) node = chosen(node);
    const named = kids(node, ".field").find((field) => field.dataset.name === step);
    const placed = node.dataset.kind === "list" ? rows(node)[step] && kid(rows(node)[step], ".field") : kids(node, ".field")[step];
    const entry = kid(node, ".entries") && rows(kid(node, ".entries")).find((row) => row.querySelector("[data-key]").value === step);
    const next = named ?? (["list", "tuple"].includes(node.dataset.kind) ? placed : entry && kid(entry, ".field"));
    if (!next) break;
    node = next;
  }
  return node === root ? null : node;
}

/** Returns the element that takes the focus of a field. */
export const target = (node) => control(node) ?? node;

// A copy of a template gets unique ids again.
let copies = 0;
function copy(template) {
  copies += 1;
  const part = template.content.cloneNode(true);
  const other = (ids) => ids.split(" ").map((id) => `${id}-${copies}`).join(" ");
  for (const element of part.querySelectorAll("[id], [for], [aria-describedby]")) {
    for (const name of ["id", "for", "aria-describedby"]) {
      if (element.hasAttribute(name)) element.setAttribute(name, other(element.getAttribute(name)));
    }
  }
  return part.firstElementChild;
}

function add(node) {
  const row = copy(kid(node, "template"));
  kid(node, ".items").append(row);
  return row;
}

function choose(node, at) {
  kid(node, "[data-shape]").value = at;
  const place = kid(node, ".shape");
  let found = false;
  for (const field of kids(place, ".field")) {
    field.hidden = field.dataset.at !== at;
    found ||= !field.hidden;
  }
  if (at === "" || found) return;
  const field = copy(kids(node, "template")[Number(at)]);
  field.dataset.at = at;
  place.append(field);
}

const uuid = () => crypto.randomUUID?.() ?? "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) =>
  (c ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (c / 4)))).toString(16));

/** Lets lists grow and shrink, and shapes be chosen. Calls `changed` after each change. */
export function live(form, changed) {
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-form]");
    if (!button) return;
    const act = button.dataset.form;
    if (act === "add") add(button.parentElement).querySelector("input, select, textarea, button")?.focus();
    if (act === "uuid") {
      const field = button.parentElement.querySelector("input");
      field.value = uuid();
    }
    if (act === "remove") {
      const row = button.closest("li");
      const near = row.nextElementSibling ?? row.previousElementSibling;
      const next = near?.querySelector("[data-form=remove]") ?? row.parentElement.parentElement.querySelector(":scope > [data-form=add]");
      row.remove();
      next?.focus();
      say("Removed");
    }
    changed();
  });
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-shape]")) choose(event.target.parentElement, event.target.value);
    changed();
  });
  form.addEventListener("input", (event) => {
    event.target.removeAttribute("data-empty");
    // Typing a value unchecks `null`.
    const box = event.target.closest(".field") && nullBox(event.target.closest(".field"));
    if (box && event.target !== box) box.checked = false;
    changed();
  });
}
