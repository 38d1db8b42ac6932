// A client waits for a person; the person sees it come, and says yes, no, why not, and yes for a while.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, folder, text } from '../servers.mjs';
import { at, becomes, control, focused, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'a waiting call appears live, and is approved, denied with a reason, or permitted for a while';

export async function journey(stage) {
  const files = folder({ 'drafts/a.txt': '1', 'drafts/b.txt': '2', 'drafts/c.txt': '3', 'keep.txt': 'k', 'other.txt': 'o' });
  const there = (name) => existsSync(join(files, name));
  const server = await stage.with(Server.files(files, '--ask', 'destructive'));
  const remove = (path) => server.call('manage_files', { path, action: 'delete' });
  const page = await stage.operator(server);
  const questions = at(page, 'question');
  await page.goto(`${server.origin}/ui/approvals`);
  await at(page, 'nothing-waits').waitFor();
  const calm = await page.title();

  // It comes by itself, and is seen from everywhere.
  const first = remove('drafts/a.txt');
  await questions.waitFor();
  await says(page.locator('#waiting'), /^1$/);
  assert.equal(await page.title(), `(1) ${calm}`);
  assert.match(await page.locator('link[rel=icon]').getAttribute('href'), /icon-waiting\.svg$/);
  await says(questions, /Deletes[\s\S]*drafts\/a\.txt[\s\S]*browser-test/);
  await says(at(page, 'undo'), 'no tool is known that does it');
  assert.deepEqual(JSON.parse(await at(page, 'arguments').textContent()), { path: 'drafts/a.txt', action: 'delete' });
  assert.ok(there('drafts/a.txt'), 'nothing has started');
  // Who comes now stands at the no.
  await page.reload();
  await focused(questions.getByRole('button', { name: 'Deny', exact: true }));
  await questions.getByRole('button', { name: 'Approve once' }).click();
  assert.equal((await first).isError ?? false, false, text(await first));
  assert.ok(!there('drafts/a.txt'), 'it ran after the yes');
  await at(page, 'nothing-waits').waitFor();
  await until('the title is calm again', async () => (await page.title()) === calm);

  // No, and why.
  const second = remove('keep.txt');
  await questions.waitFor();
  await questions.getByText('Deny with a reason').click();
  await questions.locator('[data-reason]').fill('We still need it');
  await questions.getByRole('button', { name: 'Deny and say why' }).click();
  const denied = await second;
  assert.equal(denied.isError, true);
  assert.match(text(denied), /We still need it/);
  assert.ok(there('keep.txt'));
  await at(page, 'nothing-waits').waitFor();
  assert.match(text(await remove('keep.txt')), /We still need it/, 'a no is not asked for again');

  // Yes, also to what is like it.
  const third = remove('drafts/b.txt');
  await questions.waitFor();
  await at(page, 'permit').locator('summary').click();
  await questions.locator('[data-like=path]').selectOption('under');
  assert.equal(await questions.locator('[data-minutes]').inputValue(), '15');
  await questions.getByRole('button', { name: 'Approve, and permit such calls' }).click();
  await third;
  await says(at(page, 'rule'), 'drafts');
  const free = await remove('drafts/c.txt');
  assert.equal(free.isError ?? false, false, text(free));
  assert.ok(!there('drafts/c.txt'), 'it ran without asking');
  // Only there, and only so long as nobody takes it back.
  const outside = remove('other.txt');
  await questions.waitFor();
  await questions.getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await outside).isError, true);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await at(page, 'no-rules').waitFor();
  const again = server.call('manage_files', { path: 'drafts/d.txt', action: 'replace', content: 'new' });
  await questions.waitFor();
  // Whoever looks at one card is not disturbed by the next.
  await questions.first().getByRole('button', { name: 'Deny', exact: true }).focus();
  const another = remove('third.txt');
  await until('two questions', async () => (await questions.count()) === 2);
  await says(page.locator('#waiting'), /^2$/);
  await focused(questions.first().getByRole('button', { name: 'Deny', exact: true }));
  await questions.first().getByRole('button', { name: 'Approve once' }).click();
  await again;
  assert.equal(readFileSync(join(files, 'drafts/d.txt'), 'utf8'), 'new');
  await until('one question', async () => (await questions.count()) === 1);
  await focused(questions.getByRole('button', { name: 'Deny', exact: true }));
  await page.keyboard.press('Enter');
  assert.equal((await another).isError, true);
  await undone(stage);
}

/** Who decides sees by which tool it could be taken back, and gets there; so does who calls. */
async function undone(stage) {
  const server = await stage.with(Server.listening('examples/invoices', ['--data', join(folder(), 'invoices.db'), '--http', '127.0.0.1:0', '--ledger', 'memory:', '--ask', 'destructive']));
  const page = await stage.operator(server);
  const revoked = server.call('revoke_sent_invoice', { invoice_id: 'inv_1' });
  await page.goto(`${server.origin}/ui/approvals`);
  await says(at(page, 'undo'), 'with send_invoice_email');
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await revoked).isError, true);
  await page.goto(`${server.origin}/ui/tools/revoke_sent_invoice`);
  await control(page, 'invoice_id').fill('inv_1');
  await becomes(at(page, 'foresight'), 'data-state', 'exact');
  await at(page, 'call').click();
  await says(at(page, 'confirm-undo'), 'To take it back: send_invoice_email.');
  await at(page, 'confirm-cancel').click();
  await at(page, 'undo-tool').click();
  await page.waitForURL('**/ui/tools/send_invoice_email');
}
