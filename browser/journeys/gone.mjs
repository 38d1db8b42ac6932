// The server stops while its pages are open. Each page reports it, none seems busy, and all work again afterwards.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Server, folder } from '../servers.mjs';
import { at, becomes, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'pages report that the server is gone, keep the input, and work again when it is back';

/** Runs a proxy without its server, until the pages have asked this many times for the pending requests. */
async function withoutServer(port, times) {
  let asked = 0;
  const proxy = createServer(({ url }, response) => {
    if (url === '/approvals/events') asked += 1;
    response.writeHead(502).end();
  });
  proxy.listen(port, '127.0.0.1');
  await once(proxy, 'listening');
  try {
    await until('it is asked again', () => asked >= times);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
}

export async function journey(stage) {
  const files = folder({ 'a.txt': 'a' });
  const ledger = `sqlite:${join(folder(), 'ledger.db')}`;
  const open = (port) => Server.listening('candor', ['files', files, '--http', `127.0.0.1:${port}`, '--ledger', ledger, '--ask', 'destructive']);
  const server = await stage.with(open(0));
  const desk = await stage.operator(server);
  server.call('manage_files', { path: 'a.txt', action: 'delete' });
  await server.waiting();
  await desk.goto(`${server.origin}/ui/approvals`);
  await at(desk, 'question').waitFor();
  const tool = await desk.context().newPage();
  await tool.goto(`${server.origin}/ui/tools/manage_files#args=${encodeURIComponent('{"path":"a.txt","action":"read"}')}`);
  await becomes(at(tool, 'foresight'), 'data-state', 'exact');
  const tree = await desk.context().newPage();
  await tree.goto(`${server.origin}/ui/resources`);
  await at(tree, 'tree').getByText('a.txt').waitFor();
  assert.ok(await at(desk, 'lost').isHidden());

  await server.stop();
  for (const page of [desk, tool, tree]) await says(at(page, 'lost'), 'The server cannot be reached');
  const approve = at(desk, 'question').getByRole('button', { name: 'Approve once' });
  await approve.click();
  await says(desk.locator('#trouble'), 'The server cannot be reached');
  assert.ok(await approve.isEnabled(), 'it can be tried again');
  await at(tool, 'call').click();
  await says(at(tool, 'result-says'), 'Nothing was sent: The server cannot be reached');
  await says(tool.locator('#live'), 'Nothing was sent: The server cannot be reached');
  await at(tree, 'tree').getByText('a.txt').click();
  await becomes(at(tree, 'resource'), 'data-state', 'known');
  await at(tree, 'load').click();
  await says(at(tree, 'content'), 'The server cannot be reached');
  // The logout fails, so the page keeps its data.
  await tree.getByRole('button', { name: 'Log out' }).click();
  await says(at(tree, 'still-in'), 'You are still logged in. The server cannot be reached');
  assert.equal(await tree.evaluate(() => localStorage.length), 1);

  // An error of the proxy does not count as the server, and the pages keep trying.
  const { port } = new URL(server.origin);
  await withoutServer(port, 2);
  for (const page of [desk, tool, tree]) assert.ok(await at(page, 'lost').isVisible());

  // The server is back and has no login sessions. Every page reports that, and works again after a login.
  const back = await stage.with(open(port));
  for (const page of [desk, tool, tree]) {
    await at(page, 'log-in-again').waitFor();
    await at(page, 'lost').waitFor({ state: 'hidden' });
  }
  // In any tab: the tab that listens for all others listens again.
  await tree.locator('#token').fill(back.token);
  await tree.locator('#token').press('Enter');
  for (const page of [desk, tool, tree]) await at(page, 'log-in-again').waitFor({ state: 'hidden' });
  await approve.click();
  await says(at(desk, 'decided'), 'You approved manage_files');
  await at(tool, 'call').click();
  await becomes(at(tool, 'result'), 'data-state', 'ok');
  back.call('manage_files', { path: 'b.txt', action: 'delete' });
  for (const page of [desk, tool, tree]) await says(page.locator('#waiting'), /^1$/);
  // The tree receives changes again, too.
  folder({ 'c.txt': 'c' }, files);
  await at(tree, 'tree').getByText('c.txt').waitFor();
}
