// The console in more tabs than a browser has connections for: all of them work, and all show a new request.
import assert from 'node:assert/strict';
import { Server, folder } from '../servers.mjs';
import { at, says } from '../stage.mjs';

export const title = 'ten tabs of one browser all work, and all show a new request';

const TABS = 10;

export async function journey(stage) {
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a', 'b.txt': 'b' }), '--ask', 'destructive'));
  const first = await stage.operator(server);
  const tabs = [first];
  while (tabs.length < TABS) {
    const page = await first.context().newPage();
    await page.goto(`${server.origin}/ui/approvals`);
    await at(page, 'nothing-waits').waitFor();
    tabs.push(page);
  }
  const answer = server.call('manage_files', { path: 'a.txt', action: 'delete' });
  for (const page of tabs) await says(page.locator('#waiting'), /^1$/);
  // The tab that listens for all others is closed. Another tab takes over.
  await tabs.shift().close();
  const last = tabs.at(-1);
  await at(last, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await answer).isError, true);
  for (const page of tabs) await at(page, 'nothing-waits').waitFor();
  const second = server.call('manage_files', { path: 'b.txt', action: 'delete' });
  for (const page of tabs) await at(page, 'question').waitFor();
  // A new tab shows the request, too.
  const late = await last.context().newPage();
  await late.goto(server.origin);
  await says(late.locator('#waiting'), /^1$/);
  await server.decide('approve');
  assert.equal((await second).isError ?? false, false);
}
