// The resource tree: it opens branch by branch, with keys, and loads content only on demand.
import assert from 'node:assert/strict';
import { Server, folder } from '../servers.mjs';
import { at, becomes, focused, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'the tree opens lazily and with keys; metadata comes first, content on demand and in each format; changes are marked';

export async function journey(stage) {
  const files = folder({ 'docs/deep/story.txt': 'Once upon a time', 'docs/a.md': '# A', 'top.txt': 'top' });
  const server = await stage.with(Server.files(files));
  const page = await stage.operator(server);
  const asked = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.startsWith('/resources')) asked.push(`${pathname} ${searchParams.get('uri') ?? ''}`);
  });
  await page.goto(`${server.origin}/ui/resources`);
  const tree = at(page, 'tree');
  const item = (name) => tree.locator('[role=treeitem]', { has: page.locator(`:scope > .row > .mono:text-is("${name}")`) });
  await item('docs').waitFor();
  assert.equal(await item('deep').count(), 0);
  assert.ok(!asked.some((one) => one.endsWith('/docs')), 'a branch that is closed is not asked for');

  await tree.locator('[tabindex="0"]').focus();
  const walk = async (name) => {
    for (let step = 0; step < 10 && !(await item(name).evaluate((one) => one === document.activeElement)); step += 1) {
      await page.keyboard.press('ArrowDown');
    }
    await focused(item(name));
  };
  await walk('docs');
  await page.keyboard.press('ArrowRight');
  await becomes(item('docs'), 'aria-expanded', 'true');
  await item('deep').waitFor();
  assert.ok(!asked.some((one) => one.endsWith('/deep')), asked.join('\n'));
  await walk('deep');
  await page.keyboard.press('ArrowRight');
  await item('story.txt').waitFor();
  await page.keyboard.press('ArrowRight');
  await focused(item('story.txt'));
  await page.keyboard.press('ArrowLeft');
  await focused(item('deep'));
  await page.keyboard.press('ArrowLeft');
  await item('story.txt').waitFor({ state: 'hidden' });
  await page.keyboard.press('ArrowRight');
  await walk('story.txt');
  await page.keyboard.press('Enter');

  const about = at(page, 'resource');
  await becomes(about, 'data-state', 'known');
  await says(at(page, 'metadata'), /story\.txt[\s\S]*text\/plain[\s\S]*16 bytes[\s\S]*Can be\s+watched/);
  await says(at(page, 'load'), 'Load the content, 16 bytes');
  assert.ok(!asked.some((one) => one.startsWith('/resources/content')), 'content is not loaded unasked');
  await at(page, 'load').click();
  await becomes(about, 'data-state', 'loaded');
  await says(at(page, 'content'), 'Once upon a time');
  // A changed resource is marked, and the page lists an open folder again.
  folder({ 'docs/deep/new.txt': 'just now' }, files);
  await item('new.txt').waitFor();
  await item('deep').locator(':scope > .row > [data-testid=changed]').waitFor();
  // The URL leads back to the resource.
  await page.reload();
  await becomes(at(page, 'resource'), 'data-state', 'known');
  await says(at(page, 'metadata'), 'story.txt');
  await Promise.all([formats(stage), drawn(stage), once(stage)]);
}

/** A folder and its children are in one list: the tree shows everything once. */
async function once(stage) {
  const server = await stage.with(Server.listening('candor', ['demo', '--http', '127.0.0.1:0']));
  const listed = (await server.rest('GET', '/resources')).resources.map(({ uri }) => uri);
  assert.ok(listed.includes('scratch:///') && listed.includes('scratch:///notes'), listed.join());
  const page = await stage.operator(server);
  await page.goto(`${server.origin}/ui/resources`);
  await until('it is opened', async () => (await page.locator('[role=treeitem][aria-level="2"]').count()) === 3);
  assert.deepEqual(await page.locator('[role=treeitem][aria-level="1"] > .row > .mono').allInnerTexts(), ['/', 'database']);
  await Promise.all([reached(stage, server), nested(stage, server)]);
}

/** A folder may open slowly. Keys work before that, and a focused item keeps its focus when it moves into its folder. */
async function reached(stage, server) {
  const page = await stage.operator(server);
  let go;
  const slow = new Promise((resolve) => { go = resolve; });
  await page.route(({ pathname, search }) => pathname === '/resources' && search !== '', async (route) => { await slow; await route.continue(); });
  await page.goto(`${server.origin}/ui/resources`);
  await at(page, 'tree').locator('[tabindex="0"]').focus();
  const here = () => page.evaluate(() => [document.activeElement.resource?.uri, document.activeElement.getAttribute('aria-level')]);
  for (let step = 0; step < 10 && (await here())[0] !== 'scratch:///notes'; step += 1) await page.keyboard.press('ArrowDown');
  assert.deepEqual(await here(), ['scratch:///notes', '1']);
  go();
  await until('it is taken in', async () => (await page.locator('[role=treeitem][aria-level="1"]').count()) === 2);
  assert.deepEqual(await here(), ['scratch:///notes', '2']);
  assert.equal(await page.locator('[role=tree] [tabindex="0"]').count(), 1);
}

/** A folder, a folder in it, and its children, all in one list. */
async function nested(stage, server) {
  const page = await stage.operator(server);
  const made = (name, list) => ({ uri: `made://${name}`, name, capabilities: { list } });
  const [outer, inner, file] = [made('/', true), made('/a/', true), made('/a/b', false)];
  const lists = new Map([[null, [file, inner, outer]], [outer.uri, [inner]], [inner.uri, [file]]]);
  await page.route(({ pathname }) => pathname === '/resources', (route) => {
    const resources = lists.get(new URL(route.request().url()).searchParams.get('uri'));
    return route.fulfill({ contentType: 'application/json', body: JSON.stringify({ resources }) });
  });
  await page.goto(`${server.origin}/ui/resources`);
  await page.locator('[role=treeitem][aria-level="3"]').waitFor();
  const rows = page.locator('[role=treeitem]');
  assert.deepEqual(await rows.evaluateAll((all) => all.map((one) => one.resource.name)), ['/', '/a/', '/a/b']);
}

/** One resource in two formats: the page shows one, and a click shows the other. */
async function formats(stage) {
  const server = await stage.with(Server.listening('examples/tree', ['--http', '127.0.0.1:0', '--ledger', 'memory:']));
  const page = await stage.operator(server);
  await page.goto(`${server.origin}/ui/resources`);
  await at(page, 'tree').getByText('Quarterly Report').click();
  await becomes(at(page, 'resource'), 'data-state', 'known');
  assert.doesNotMatch(await at(page, 'metadata').innerText(), /watched/);
  await at(page, 'load').click();
  await becomes(at(page, 'resource'), 'data-state', 'loaded');
  const choices = at(page, 'alternatives').getByRole('button');
  const pressed = () => choices.evaluateAll((all) => all.map((one) => `${one.textContent} ${one.getAttribute('aria-pressed')}`));
  assert.deepEqual(await pressed(), ['application/pdf true', 'text/plain false']);
  await says(at(page, 'content'), '102400 bytes, not text');
  await choices.nth(1).click();
  await says(at(page, 'content'), 'Earnings were good.');
  assert.deepEqual(await pressed(), ['application/pdf false', 'text/plain true']);
  await choices.nth(0).focus();
  await page.keyboard.press('Enter');
  await says(at(page, 'content'), '102400 bytes, not text');
}

/** The page shows titles and icons. It names an icon on another server and does not fetch it, because that server would notice. */
async function drawn(stage) {
  const server = await stage.with(Server.trial());
  const page = await stage.operator(server);
  const elsewhere = [];
  page.on('request', (request) => { if (!/^(data:|http:\/\/127\.0\.0\.1)/.test(request.url())) elsewhere.push(request.url()); });
  await page.goto(`${server.origin}/ui/resources`);
  const rows = page.locator('[role=treeitem] [role=treeitem] > .row');
  await until('all are there', async () => (await rows.count()) > 2);
  const icons = page.locator('[role=tree] [data-testid=icon]');
  assert.equal(await icons.count(), 1, 'what is no picture is none');
  await until('it is drawn', () => icons.evaluate((image) => image.complete && image.naturalWidth > 0));
  await rows.nth(0).click();
  await becomes(at(page, 'resource'), 'data-state', 'known');
  await at(page, 'resource').locator('h2 > [data-testid=icon]').waitFor();
  await rows.nth(1).click();
  await says(at(page, 'metadata'), /Icon elsewhere\s+https:\/\/evil\.test\/seen\.png/);
  assert.equal(await at(page, 'resource').locator('[data-testid=icon]').count(), 0);
  assert.deepEqual(elsewhere, []);
}
