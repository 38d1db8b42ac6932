// The result of a call: text, a tree, pictures, sound, links. Nothing in it is ever treated as markup.

// Characters that are invisible, or change how others appear: the same ones that the server shows as escapes.
const ODD = /(?![\n\t]|\r\n)[\p{Cc}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{2800}\u{3164}\u{fe00}-\u{fe0f}\u{feff}\u{ffa0}\u{fff9}-\u{fffb}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Returns untrusted text as nodes of a page. */
function shown(text) {
  const pieces = [];
  let from = 0;
  for (const { 0: c, index } of text.matchAll(ODD)) {
    pieces.push(text.slice(from, index), make("span", { class: "odd", title: "a character that cannot be seen" }, `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
    from = index + c.length;
  }
  return [...pieces, text.slice(from)];
}

/** Returns JSON with the same meaning, in which every character is visible. */
export const json = (value) => JSON.stringify(value, null, 2).replace(ODD, (c) =>
  Array.from({ length: c.length }, (_, at) => `\\u${c.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flatMap((child) => (typeof child === "string" ? shown(child) : [child])));
  return element;
}

const isTree = (value) => value !== null && typeof value === "object";

/** Returns the first plain members of a closed node: enough to tell it from the next. */
function gist(entries, isList) {
  const plain = entries.filter(([, value]) => !isTree(value)).slice(0, 3);
  const words = plain.map(([key, value]) => (isList ? "" : `${key}: `) + String(value).slice(0, 80)).join(", ").replace(/\s+/g, " ");
  const cut = Array.from(words);
  return cut.length > 60 ? `${cut.slice(0, 60).join("")}…` : words;
}

/** Returns a value as a tree that opens. The first levels are open. */
function tree(value, name, depth = 0) {
  const label = name === undefined ? [] : [make("span", { class: "k" }, name), " "];
  if (!isTree(value)) {
    const kind = value === null ? "null" : typeof value;
    return make("div", {}, ...label, make("span", { class: `t ${kind}` }, typeof value === "string" ? value : String(value)));
  }
  const entries = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return make("div", {}, ...label, make("span", { class: "soft" }, open + close));
  const details = make("details", {}, make("summary", {}, ...label, make("span", { class: "soft" }, `${open} ${entries.length} ${close}`),
    make("span", { class: "soft gist" }, ` ${gist(entries, Array.isArray(value))}`)));
  // Not before it is opened: a result may be large.
  const fill = () => {
    if (details.childElementCount === 1) {
      details.append(make("div", { class: "inside" }, ...entries.slice(0, 500).map(([key, inner]) => tree(inner, key, depth + 1))));
      if (entries.length > 500) details.append(make("p", { class: "soft" }, `… ${entries.length - 500} more, in the raw JSON`));
    }
  };
  details.addEventListener("toggle", fill);
  if (depth < 2 && entries.length <= 50) { details.open = true; fill(); }
  return details;
}

const MEDIA = /^(image|audio)\/[a-z0-9.+-]+$/i;

function media(kind, item) {
  const type = item.mimeType ?? "";
  if (!MEDIA.test(type) || !type.toLowerCase().startsWith(`${kind}/`) || !/^[A-Za-z0-9+/=\s]*$/.test(item.data ?? "")) {
    return make("p", { class: "soft" }, `${kind} of type ${type || "unknown"}, not shown; its data is in the raw JSON`);
  }
  const source = `data:${type};base64,${item.data.replace(/\s/g, "")}`;
  if (kind === "image") return make("img", { src: source, alt: `picture in the result (${type})` });
  return make("audio", { src: source, controls: "" });
}

/** Returns a link if it leads to the web, or its text otherwise. */
function link(uri, text = uri) {
  const web = /^https?:\/\//i.test(uri);
  return web ? make("a", { href: uri, target: "_blank", rel: "noopener noreferrer nofollow" }, text) : make("span", { class: "mono" }, text === uri ? uri : `${text} (${uri})`);
}

function written(text) {
  try {
    const value = JSON.parse(text);
    if (isTree(value)) return make("div", { class: "tree" }, tree(value));
  } catch { /* Not JSON: show the text. */ }
  return plain(text);
}

/** Returns a text as it is. A long one scrolls in its own box, so that what is below it stays in reach. */
const plain = (text) => make("pre", { class: "text", tabindex: "0" }, text);

/** Returns one piece of content. */
function piece(item) {
  switch (item?.type) {
    case "text": return written(String(item.text ?? ""));
    case "image": case "audio": return media(item.type, item);
    case "resource_link": return make("p", {}, link(String(item.uri), item.title ?? item.name ?? item.uri), item.description ? ` – ${item.description}` : "");
    case "resource": return contents(item.resource ?? {});
    default: return make("div", { class: "tree" }, tree(item));
  }
}

/** Returns the content of a resource. */
export function contents(item) {
  const block = make("div", { class: "contents" }, make("p", { class: "soft mono" }, [item.uri, item.mimeType].filter(Boolean).join(" · ")));
  const kind = (item.mimeType ?? "").split("/")[0].toLowerCase();
  if (typeof item.text === "string") block.append(item.mimeType?.includes("json") ? written(item.text) : plain(item.text));
  else if (kind === "image" || kind === "audio") block.append(media(kind, { mimeType: item.mimeType, data: item.blob }));
  else if (typeof item.blob === "string") block.append(make("p", { class: "soft" }, `${Math.floor((item.blob.replace(/=+$/, "").length * 3) / 4)} bytes, not text`));
  return block;
}

/** Returns true if a result has nothing to show. */
export const isEmpty = (result) => result.structuredContent === undefined
  && !(result.content ?? []).some((item) => item?.type !== "text" || item.text !== "");

/** Shows a whole result. */
export function show(result, place, canon) {
  // A text that is wrapped in `result` is shown without the wrapper.
  const boxed = result.structuredContent;
  const texts = (result.content ?? []).filter((item) => item?.type === "text").map((item) => item.text);
  const isBox = isTree(boxed) && Object.keys(boxed).join() === "result" && texts.includes(boxed.result);
  const structured = isBox ? undefined : boxed;
  const same = (item) => {
    if (structured === undefined || item?.type !== "text") return false;
    try { return canon(JSON.parse(item.text)) === canon(structured); } catch { return false; }
  };
  const blank = (item) => item?.type === "text" && item.text === "";
  const pieces = (result.content ?? []).filter((item) => !same(item) && !blank(item)).map(piece);
  if (structured !== undefined) pieces.push(make("div", { class: "tree", "data-testid": "structured" }, tree(structured)));
  place.replaceChildren(...pieces, raw(result));
}

/** Returns the whole value as JSON. */
export function raw(value) {
  return make("details", { class: "raw" }, make("summary", {}, "Raw JSON"), make("pre", { tabindex: "0", "data-testid": "raw-result" }, json(value)));
}
