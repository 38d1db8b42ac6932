// A server with content on every page, and the list of all pages, for tests that apply to every page.
import { Server, folder } from './servers.mjs';
import { at, becomes, control } from './stage.mjs';

const FILES = {
  'README.md': '# Handbook\n\nHow we work.\n',
  'drafts/proposal.md': 'A first idea.\n',
  'drafts/outline.md': 'One, two, three.\n',
  'notes/monday.txt': 'Call the printer.\n',
  'notes/a-note-with-a-rather-long-name-that-does-not-fit-on-a-narrow-screen.txt': 'x\n',
  'reports/2026/q3.txt': 'Sales rose.\n',
};

/** Starts a file server with a history: succeeded, failed, denied, replayed, granted. One call needs approval until the end. */
export async function furnished(stage, named) {
  const server = await stage.with(Server.files(folder(FILES, named), '--ask', 'destructive', '--instance', 'handbook'));
  const client = { name: 'claude-code', version: '2.1' };
  const call = (args, options) => server.call('manage_files', args, { client, ...options });
  await call({ path: 'README.md', action: 'read' });
  await call({ path: 'notes/monday.txt', action: 'append', content: 'Order paper.\n' }, { key: 'monday-1' });
  await call({ path: 'notes/monday.txt', action: 'append', content: 'Order paper.\n' }, { key: 'monday-1' });
  await call({ path: 'notes', action: 'append', content: 'x' });
  const denied = call({ path: 'README.md', action: 'delete' });
  await server.decide('deny', { reason: 'Everybody reads it' });
  await denied;
  const approved = call({ path: 'drafts/outline.md', action: 'delete' });
  await server.decide('approve', { grant: { minutes: 15, any: [], under: { path: 'drafts' } } });
  await approved;
  await server.call('search_files', { text: 'printer' }, { client });
  await server.call('make_folder', { path: 'archive/2026' }, { client });
  // This call never gets an answer, because the server ends before.
  call({ path: 'reports/2026/q3.txt', action: 'delete' });
  const [waits] = await server.waiting();
  return { server, waits };
}

/** Returns every page: its name, its path, and a function that makes the page show everything. */
export function pages({ waits }) {
  const given = encodeURIComponent(JSON.stringify({ path: 'notes/monday.txt', action: 'delete' }));
  return [
    { name: 'tools', path: '/' },
    { name: 'tool', path: '/ui/tools/manage_files', ready: wrongCall },
    { name: 'tool with a result', path: '/ui/tools/list_files', ready: called },
    { name: 'tool that asks', path: `/ui/tools/manage_files#args=${given}`, ready: confirming },
    { name: 'approvals', path: '/ui/approvals', ready: unfolded },
    { name: 'one approval', path: `/ui/approvals/${waits.id}`, ready: unfolded },
    { name: 'history', path: '/ui/history', ready: (page) => at(page, 'history').waitFor() },
    { name: 'operation', path: `/ui/history/${waits.id}`, ready: (page) => at(page, 'timeline').waitFor() },
    { name: 'resources', path: '/ui/resources', ready: opened },
    { name: 'server', path: '/ui/server' },
    { name: 'keys', path: '/', ready: (page) => page.keyboard.press('?') },
    { name: 'login', path: '/ui/history', stranger: true, ready: (page) => at(page, 'login').waitFor() },
    { name: 'read-only', path: '/ui/tools/manage_files', stranger: true, ready: (page) => at(page, 'read-only').waitFor() },
    { name: 'not found', path: '/ui/tools/none' },
  ];
}

/** Opens a page, in the browser of a user who may see it. */
export async function visit(server, { operator, stranger }, stop) {
  const page = stop.stranger ? stranger : operator;
  // The browser does not reload the same path with another fragment.
  await page.goto('about:blank');
  await page.goto(server.origin + stop.path);
  await stop.ready?.(page);
  return page;
}

const unfold = (page) => page.locator('details').evaluateAll((all) => all.forEach((one) => { one.open = true; }));

async function wrongCall(page) {
  await page.locator('#call').waitFor();
  await control(page, 'action').selectOption({ value: '"delete"' });
  await at(page, 'call').click();
  await at(page, 'errors').waitFor();
  await unfold(page);
}

async function called(page) {
  await at(page, 'call').click();
  await becomes(at(page, 'result'), 'data-state', 'ok');
}

async function confirming(page) {
  await becomes(at(page, 'foresight'), 'data-state', 'exact');
  await at(page, 'call').click();
  await at(page, 'confirm').waitFor();
}

async function unfolded(page) {
  await at(page, 'question').waitFor();
  await unfold(page);
}

async function opened(page) {
  const item = (name) => page.locator(`[role=treeitem] > .row:has(> .mono:text-is("${name}"))`);
  await item('notes').click();
  await item('monday.txt').click();
  await becomes(at(page, 'resource'), 'data-state', 'known');
  await at(page, 'load').click();
  await becomes(at(page, 'resource'), 'data-state', 'loaded');
}
