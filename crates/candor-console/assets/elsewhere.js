// The current call in other notations.
import { base } from "./console.js";

const by = (id) => document.getElementById(id);
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const bare = (text) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : quoted(text));
const isJson = (text) => { try { JSON.parse(text); return true; } catch { return false; } };

/** Writes all notations. `text` is the JSON of `value`, as the page would send it. */
export function elsewhere(tool, path, key, value, text) {
  const here = location.origin + base;
  by("as-curl").textContent = [
    `curl -X POST ${quoted(`${here}${path}/call`)}`,
    `-H "Authorization: Bearer $CANDOR_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    ...(key ? [`-H ${quoted(`Idempotency-Key: ${key}`)}`] : []),
    `-d ${quoted(text)}`,
  ].join(" \\\n  ");
  // The command line parses a text that is JSON, and reads one that starts with @ as the name of a file.
  const simple = (v) => ["number", "boolean"].includes(typeof v) || (typeof v === "string" && v !== "" && !v.startsWith("@") && !isJson(v));
  const plain = Object.entries(value).every(([name, v]) => /^[A-Za-z_][\w-]*$/.test(name) && simple(v));
  const given = plain ? Object.entries(value).map(([name, v]) => bare(`${name}=${v}`)) : ["--arguments", quoted(text)];
  by("as-candor").textContent = ["candor call", bare(`${here}/mcp`), bare(tool), ...(key ? ["--key", bare(key)] : []), ...given].join(" ");
  const params = { name: tool, arguments: value };
  if (key) params._meta = { "dev.candor/idempotencyKey": key };
  by("as-mcp").textContent = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, null, 2);
  by("as-link").textContent = `${location.origin}${location.pathname}#args=${encodeURIComponent(text)}`;
}
