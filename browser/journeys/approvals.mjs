// Calls need approval. The operator sees the requests arrive, approves, denies, gives a reason, and grants.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, folder, text } from '../servers.mjs';
import { at, becomes, control, focused, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'a request appears live; the operator approves it, denies it with a reason, or grants similar calls';

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

  // The request appears without a reload, and every page shows it.
  const first = remove('drafts/a.txt');
  await questions.waitFor();
  await says(page.locator('#waiting'), /^1$/);
  assert.equal(await page.title(), `(1) ${calm}`);
  assert.match(await page.locator('link[rel=icon]').getAttribute('href'), /icon-waiting\.svg$/);
  await says(questions, /Deletes[\s\S]*drafts\/a\.txt[\s\S]*browser-test/);
  await says(at(page, 'undo'), 'cannot be undone');
  assert.deepEqual(JSON.parse(await at(page, 'arguments').textContent()), { path: 'drafts/a.txt', action: 'delete' });
  assert.ok(there('drafts/a.txt'), 'nothing has started');
  // After a reload, the button to deny has the focus.
  await page.reload();
  await focused(questions.getByRole('button', { name: 'Deny', exact: true }));
  await questions.getByRole('button', { name: 'Approve once' }).click();
  assert.equal((await first).isError ?? false, false, text(await first));
  assert.ok(!there('drafts/a.txt'), 'it ran after the yes');
  await at(page, 'nothing-waits').waitFor();
  await until('the title is calm again', async () => (await page.title()) === calm);

  // Deny with a reason.
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

  // Approve, and grant similar calls.
  const third = remove('drafts/b.txt');
  await questions.waitFor();
  await at(page, 'grant-similar').locator('summary').click();
  await questions.locator('[data-like=path]').selectOption('under');
  assert.equal(await questions.locator('[data-minutes]').inputValue(), '15');
  await questions.getByRole('button', { name: 'Approve and grant' }).click();
  await third;
  await says(at(page, 'grant'), 'drafts');
  const free = await remove('drafts/c.txt');
  assert.equal(free.isError ?? false, false, text(free));
  assert.ok(!there('drafts/c.txt'), 'it ran without asking');
  // The grant covers only that folder, and ends when the operator revokes it.
  const outside = remove('other.txt');
  await questions.waitFor();
  await questions.getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await outside).isError, true);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await at(page, 'no-grants').waitFor();
  const again = server.call('manage_files', { path: 'drafts/d.txt', action: 'replace', content: 'new' });
  await questions.waitFor();
  // A new request does not move the focus away from the current one.
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
  await Promise.all([undone(stage), byOneself(stage), quicker(stage), secret(stage), large(stage), unreadable(stage), early(stage)]);
}

/** Requests beyond the page's size limit: the page only names them and can deny them. It shows one as soon as there is space. */
async function large(stage) {
  const server = await stage.with(Server.trial());
  const page = await stage.operator(server);
  const calls = [];
  for (const letter of ['a', 'b', 'c']) {
    calls.push(server.call('asks', { text: letter.repeat(600_000) }));
    await server.waiting(calls.length);
  }
  await page.goto(`${server.origin}/ui/approvals`);
  const questions = at(page, 'question');
  const named = page.locator('[data-testid=question][data-large]');
  assert.deepEqual([await questions.count(), await named.count()], [3, 2]);
  assert.equal(await named.getByRole('button', { name: /Approve/ }).count(), 0);
  await named.first().getByRole('button', { name: 'Deny' }).click();
  await says(at(page, 'decided'), 'You denied asks. The caller gets the denial.');
  assert.equal((await calls[1]).isError, true);
  await until('two are left', async () => (await questions.count()) === 2);
  await questions.first().getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await calls[0]).isError, true);
  await until('it has room', async () => (await questions.count()) === 1 && (await named.count()) === 0);
  await questions.getByRole('button', { name: 'Approve once' }).waitFor();
}

/** A request that arrives while the page loads: after the server wrote the page, and before its script runs. */
async function early(stage) {
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a' }), '--ask', 'destructive'));
  const page = await stage.operator(server);
  let go;
  const slow = new Promise((resolve) => { go = resolve; });
  await page.route('**/ui/assets/approvals.js', async (route) => { await slow; await route.continue(); });
  await page.goto(`${server.origin}/ui/approvals`, { waitUntil: 'commit' });
  await at(page, 'nothing-waits').waitFor();
  const answer = server.call('manage_files', { path: 'a.txt', action: 'delete' });
  await says(page.locator('#waiting'), /^1$/);
  go();
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await answer).isError, true);
}

/** A request that the server cannot read stays pending, and can only be denied. */
async function unreadable(stage) {
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a' }), '--ask', 'destructive'));
  const page = await stage.operator(server);
  const answer = server.call('manage_files', { path: 'a.txt', action: 'delete' });
  await server.waiting();
  await page.goto(`${server.origin}/ui/approvals`);
  const problem = { status: 409, code: 'request_unreadable', detail: 'Not recorded: this version cannot read the request, so it can only be denied' };
  await page.route('**/approve', (route) => route.fulfill({
    status: 409, contentType: 'application/problem+json', body: JSON.stringify(problem),
  }));
  await at(page, 'question').getByRole('button', { name: 'Approve once' }).click();
  await says(page.locator('#trouble'), 'cannot read the request');
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await answer).isError, true);
}

/** The page does not know the value of a secret, so the operator must choose what it may be before a grant. */
async function secret(stage) {
  const server = await stage.with(Server.trial());
  const page = await stage.operator(server);
  const answer = server.call('asks', { text: 'a', pin: '1234' });
  await page.goto(`${server.origin}/ui/approvals`);
  await at(page, 'grant-similar').locator('summary').click();
  const permit = page.getByRole('button', { name: 'Approve and grant' });
  await permit.click();
  await says(page.locator('#trouble'), 'Choose what pin may be');
  await focused(page.locator('[data-like=pin]'));
  assert.equal((await server.waiting()).length, 1, 'nothing is decided');
  await page.locator('[data-like=pin]').selectOption('any');
  await permit.click();
  assert.equal((await answer).isError ?? false, false);
  await at(page, 'grant').waitFor();
}

/** Two operators look at one request. The slower one sees the decision, and cannot decide again. */
async function quicker(stage) {
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a' }), '--ask', 'destructive'));
  const page = await stage.operator(server);
  const answer = server.call('manage_files', { path: 'a.txt', action: 'delete' });
  const [{ id }] = await server.waiting();
  await page.goto(`${server.origin}/ui/approvals/${id}`);
  await server.decide('deny');
  assert.equal((await answer).isError, true);
  const approve = page.getByRole('button', { name: 'Approve once' });
  await approve.click();
  const trouble = page.locator('#trouble');
  await says(trouble, 'Denied');
  assert.doesNotMatch(await trouble.innerText(), /candor /, 'commands are for terminals');
  assert.ok(await approve.isDisabled());
  await trouble.getByRole('link', { name: 'View operation' }).click();
  await says(at(page, 'state'), 'Denied by operator');
}

/** One operator calls and approves: each page shows the next step, and the page of the call shows the result. */
async function byOneself(stage) {
  const files = folder({ 'a.txt': 'a', 'b.txt': 'b' });
  const server = await stage.with(Server.files(files, '--ask', 'destructive'));
  const page = await stage.operator(server);
  const call = async (path) => {
    await page.goto('about:blank');
    await page.goto(`${server.origin}/ui/tools/manage_files#args=${encodeURIComponent(JSON.stringify({ path, action: 'delete' }))}`);
    await becomes(at(page, 'foresight'), 'data-state', 'exact');
    await at(page, 'call').click();
    await at(page, 'confirm-call').click();
    await says(at(page, 'result'), /approval[\s\S]*The result appears here/);
    assert.ok(await at(page, 'result-says').evaluate((one) => one.getBoundingClientRect().bottom <= innerHeight), 'it is in sight');
  };
  await call('a.txt');
  const [desk] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Approve or deny it' }).click()]);
  await at(desk, 'question').getByRole('button', { name: 'Approve once' }).click();
  await says(at(desk, 'decided'), 'You approved manage_files. It starts now if its caller still waits');
  await becomes(at(page, 'result'), 'data-state', 'ok');
  assert.ok(!existsSync(join(files, 'a.txt')));
  await at(desk, 'decided').getByRole('link').click();
  await becomes(at(desk, 'state'), 'data-state', 'done');

  // After a cancellation, the page says only that.
  await call('b.txt');
  await at(page, 'cancel').click();
  await becomes(at(page, 'result'), 'data-state', 'cancelled');
  assert.doesNotMatch(await at(page, 'result').innerText(), /appears here/);

  // Leaving the page cancels the call. An approval then starts nothing, and the pages show that.
  await call('b.txt');
  await page.getByRole('link', { name: 'Approvals' }).click();
  await at(page, 'question').getByRole('button', { name: 'Approve once' }).click();
  await at(page, 'decided').getByRole('link').click();
  await says(at(page, 'state'), 'The call runs if its caller repeats it by');
  assert.ok(existsSync(join(files, 'b.txt')));
  await page.getByRole('link', { name: 'History' }).first().click();
  await says(at(page, 'call').first(), 'Approved, not started');
  await page.goto(`${server.origin}/ui/tools/manage_files#args=${encodeURIComponent('{"path":"b.txt","action":"delete"}')}`);
  await says(at(page, 'record'), 'Approved by operator. The call can start.');
}

/** The reviewer sees the undo tool. The caller sees it, too, and can open its page. */
async function undone(stage) {
  const server = await stage.with(Server.listening('examples/invoices', ['--data', join(folder(), 'invoices.db'), '--http', '127.0.0.1:0', '--ledger', 'memory:', '--ask', 'destructive']));
  const page = await stage.operator(server);
  const revoked = server.call('revoke_sent_invoice', { invoice_id: 'inv_1' });
  await page.goto(`${server.origin}/ui/approvals`);
  await says(at(page, 'undo'), 'The server says that send_invoice_email can undo the call.');
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  assert.equal((await revoked).isError, true);
  await page.goto(`${server.origin}/ui/tools/revoke_sent_invoice`);
  await control(page, 'invoice_id').fill('inv_1');
  await becomes(at(page, 'foresight'), 'data-state', 'exact');
  await at(page, 'call').click();
  await says(at(page, 'confirm-undo'), 'The server says that send_invoice_email can undo the call.');
  await at(page, 'confirm-cancel').click();
  await at(page, 'undo-tool').click();
  await page.waitForURL('**/ui/tools/send_invoice_email');
}
