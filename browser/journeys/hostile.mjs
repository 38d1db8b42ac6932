// Hostile texts, wherever a server, its tools, its resources or its callers can send text. None of them runs, the page shows each
// as it is, and a failure affects only its own part of the page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Server } from '../servers.mjs';
import { at, becomes, control, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'hostile names, schemas, results, errors, resources and arguments are shown and never run';
export const long = 2;

const PAYLOADS = JSON.parse(readFileSync('crates/candor-console/examples/trial/payloads.json', 'utf8'));
const TITLE = '{{ALLOW_EXECUTE}}|{{PROJECT_LINK}}<script>';

/** Counts effects that only a text interpreted as markup can cause. */
function watch() {
  addEventListener('securitypolicyviolation', (event) => {
    window.held = [...(window.held ?? []), `${event.violatedDirective} ${event.blockedURI} ${event.sample}`];
  });
}

/** Invisible characters, and characters that change the direction of text. No text of a page may contain them. */
const DECEIVES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

/** Fails if a text ran, violated the policy, or caused a request to another server. */
async function harmless(page, where) {
  const said = await page.evaluate(() => ({
    ran: window.ran, held: window.held, scripts: [...document.scripts].map((script) => script.src),
    odd: [...document.querySelectorAll('iframe, object, embed, base, meta[http-equiv], main svg, main math, main style')].map((one) => one.outerHTML),
    handlers: [...document.querySelectorAll('*')].flatMap((one) => [...one.attributes].filter(({ name }) => name.startsWith('on')).map(() => one.outerHTML)),
    links: [...document.links].map((link) => link.href).filter((href) => !/^https?:/.test(href)),
  }));
  const { scripts, ...rest } = said;
  assert.deepEqual(rest, { ran: undefined, held: undefined, odd: [], handlers: [], links: [] }, where);
  assert.ok(scripts.every((src) => src.includes('/ui/assets/')), `${where}: ${scripts}`);
  assert.deepEqual(page.context().wrongs, [], where);
}

/** Returns a text as a page shows it: invisible characters are escaped. Ignores line breaks. */
const shown = (text) => [...text].map((c) => (DECEIVES.test(c) ? `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}` : c))
  .join('').replace(/\s+/g, ' ').trim();
const textOf = async (locator) => (await locator.evaluate((element) => element.textContent)).replace(/\s+/g, ' ');

async function lists(page, server) {
  await page.goto(server.origin);
  assert.equal(await page.title(), TITLE);
  assert.equal(await page.locator('.brand').textContent(), TITLE);
  const list = await textOf(at(page, 'tools'));
  for (const payload of PAYLOADS) assert.ok(list.includes(shown(payload)), `${payload} in ${list.slice(0, 300)}`);
  assert.doesNotMatch(list, DECEIVES);
  await harmless(page, 'the list');
  await page.goto(`${server.origin}/ui/server`);
  await harmless(page, 'the server');
}

/** Opens the tool of each text, calls it, and checks every part of its result. */
async function calls(page, server) {
  await page.goto(server.origin);
  const links = await page.locator('[data-testid=tool]').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  for (const payload of PAYLOADS) {
    const path = links.find((link) => decodeURIComponent(link.slice('/ui/tools/'.length)) === payload);
    assert.ok(path, `${payload} has no page`);
    await page.goto(server.origin + path);
    assert.ok((await textOf(page.locator('main'))).includes(shown(payload)));
    const odd = await page.evaluate(fillAndRead);
    assert.doesNotMatch(odd, DECEIVES, payload);
    await at(page, 'call').click();
    await becomes(at(page, 'result'), 'data-state', 'ok');
    await page.locator('details').evaluateAll((all) => all.forEach((one) => { one.open = true; }));
    await harmless(page, payload);
    assert.doesNotMatch(await textOf(at(page, 'result')), DECEIVES, `the result ${payload}`);
    const raw = JSON.parse(await at(page, 'raw-result').textContent());
    assert.equal(raw.content[0].text, payload, 'as it came');
  }
}

/** Selects shapes and adds items, so that the form's templates are in the page, too. Returns what the user reads before a call. */
function fillAndRead() {
  for (const shape of document.querySelectorAll('#fields [data-shape]')) {
    shape.selectedIndex = 1;
    shape.dispatchEvent(new Event('change', { bubbles: true }));
  }
  for (const add of document.querySelectorAll('#fields [data-form=add]')) add.click();
  const parts = ['.title', '.lead', '.signature', '#fields', '[data-testid=reference]', '#confirm'];
  const texts = parts.map((part) => document.querySelector(`main ${part}`).textContent);
  // The values for this call must be removed, because the text is not a number.
  for (const remove of document.querySelectorAll('#fields [data-form=remove]')) remove.click();
  for (const shape of document.querySelectorAll('#fields [data-shape]')) {
    shape.selectedIndex = 0;
    shape.dispatchEvent(new Event('change', { bubbles: true }));
  }
  return texts.join(' ').replace(/\s+/g, ' ');
}

/** Tools that fail, crash, return invalid results or too much: the panel reports it, and the page keeps working. */
async function breaks(page, server) {
  const open = async (name) => {
    await page.goto(`${server.origin}/ui/tools/${name}`);
    await at(page, 'call').click();
  };
  await page.goto(`${server.origin}/ui/tools/fails`);
  for (const payload of PAYLOADS) {
    await control(page, 'text').fill(payload);
    await at(page, 'call').click();
    await becomes(at(page, 'result'), 'data-state', 'error');
    await until(`the error says ${payload}`, async () => {
      const raw = await at(page, 'raw-result').textContent().catch(() => '{}');
      return JSON.parse(raw).content?.[0].text.includes(payload);
    });
    await until('the next can be sent', () => at(page, 'call').isEnabled());
  }
  await harmless(page, 'errors');
  for (const [name, state] of [['crashes', /error|unknown/], ['breaks_its_word', /error|unknown/], ['large', /ok/], ['deep', /ok/], ['strange_schema', /ok/]]) {
    await open(name);
    await until(`${name} ends`, async () => !/not-run|running/.test(await at(page, 'result').getAttribute('data-state')));
    assert.match(await at(page, 'result').getAttribute('data-state'), state, name);
    await harmless(page, name);
    if (name === 'large') assert.ok(await at(page, 'result').evaluate((one) => one.offsetHeight < 4 * innerHeight), 'what stands below it can be reached');
    if (state.test('error')) assert.doesNotMatch(await at(page, 'result').textContent(), /window\.ran/, 'what a crash says is for the log');
    await until(`after ${name} one can go on`, () => at(page, 'call').isEnabled());
  }
  // The same page after a crash, which affected only its own panel.
  await open('crashes');
  await until('it ends', async () => !/not-run|running/.test(await at(page, 'result').getAttribute('data-state')));
  await says(at(page, 'verdict'), 'Reads');
  await page.goto(`${server.origin}/ui/tools/place_order`);
  await control(page, 'reference').fill('7');
  await becomes(at(page, 'foresight'), 'data-state', 'partial');
}

async function resources(page, server) {
  await page.goto(`${server.origin}/ui/resources`);
  const rows = page.locator('[role=treeitem] [role=treeitem] > .row');
  await rows.first().waitFor();
  await until('all are there', async () => (await rows.count()) >= PAYLOADS.length);
  await harmless(page, 'the tree');
  for (const index of [0, 2, 6, 8, 12, 25, 31, 32]) {
    await rows.nth(index).click();
    await becomes(at(page, 'resource'), 'data-state', 'known');
    await at(page, 'load').click();
    await becomes(at(page, 'resource'), 'data-state', 'loaded');
    await page.locator('details').evaluateAll((all) => all.forEach((one) => { one.open = true; }));
    await harmless(page, `the resource ${PAYLOADS[index]}`);
    assert.doesNotMatch(await textOf(page.locator('.shelf')), DECEIVES, `the resource ${PAYLOADS[index]}`);
  }
}

/** The caller's texts about itself and its call, on the page of the reviewer. */
async function approvals(page, server) {
  for (const payload of PAYLOADS) {
    const client = { name: payload, version: payload };
    server.call('asks', { text: payload, [payload === 'text' ? 'x' : payload]: { [payload]: `${payload}/x` } }, { client });
  }
  await server.waiting(PAYLOADS.length);
  await page.goto(`${server.origin}/ui/approvals`);
  await until('all are asked', async () => (await at(page, 'question').count()) === PAYLOADS.length);
  await page.locator('details').evaluateAll((all) => all.forEach((one) => { one.open = true; }));
  const all = await textOf(page.locator('#desk'));
  for (const payload of PAYLOADS) assert.ok(all.includes(shown(payload)), payload);
  assert.doesNotMatch(all, DECEIVES, 'who decides sees every character');
  await harmless(page, 'approvals');
  // A button decides only on its own request.
  const card = at(page, 'question').nth(3);
  const id = await card.getAttribute('data-id');
  await card.locator('[data-reason]').fill('<img src=x onerror=window.ran=1>\u202e');
  await card.getByRole('button', { name: 'Deny and say why' }).click();
  await until('one less', async () => (await at(page, 'question').count()) === PAYLOADS.length - 1);
  await harmless(page, 'after a no');
  await page.goto(`${server.origin}/ui/history/${id}`);
  await says(at(page, 'timeline'), '<img src=x');
  assert.doesNotMatch(await textOf(page.locator('main')), DECEIVES, 'nor is history written backwards');
  await harmless(page, 'an operation');
  await page.goto(`${server.origin}/ui/history`);
  await harmless(page, 'history');
}

export async function journey(stage) {
  const server = await stage.with(Server.trial());
  const open = async (part) => {
    const page = await stage.operator(server);
    await page.context().addInitScript(watch);
    await part(page, server);
  };
  await Promise.all([open(async (page) => { await lists(page, server); await breaks(page, server); }), open(calls)]);
  await Promise.all([open(resources), open(approvals)]);
}
