// The permissions of a browser: token, cookie, other origins, and the security headers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Server, folder } from '../servers.mjs';
import { at, becomes, control, focused, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'without a token, users can only view; cookie, origin checks and policy stop others';

const line = (name, token, role = '') => `${name} sha256:${createHash('sha256').update(token).digest('hex')}${role}`;

/** A server with `--tokens`: every user must log in, and only an operator can review. */
async function known(stage) {
  const files = folder({ tokens: `${line('alice', 'a-token')}\n${line('olga', 'o-token', ' operator')}\n` });
  const server = await stage.with(Server.files(folder(), '--tokens', join(files, 'tokens')));
  const page = await stage.stranger();
  const come = async (token) => {
    assert.equal((await page.goto(server.origin)).status(), 401);
    assert.equal(await at(page, 'tools').count(), 0, 'a stranger sees nothing');
    await page.locator('#token').fill(token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await at(page, 'tools').waitFor();
  };
  await come('a-token');
  await says(page.locator('.who'), 'alice');
  assert.equal((await page.goto(`${server.origin}/ui/approvals`)).status(), 403);
  // A user without permission sees their own name, and can log in as another user on this page.
  await says(page.locator('main'), 'Only an operator');
  await says(page.locator('.who'), 'alice');
  await page.getByRole('button', { name: 'Log out' }).click();
  await at(page, 'login').waitFor();
  await come('o-token');
  assert.equal((await page.goto(`${server.origin}/ui/approvals`)).status(), 200);
  // A link with another user's token does not replace the operator's login: the operator would act under another name.
  await page.goto(`${server.origin}/#token=a-token`);
  await until('the token has left the address', () => !page.url().includes('token'));
  await page.reload();
  await says(page.locator('.who'), 'olga');
  // A new login in one tab applies to all tabs, so no page acts under another name.
  const other = await page.context().newPage();
  await other.goto(server.origin);
  await says(other.locator('.who'), 'olga');
  await page.getByRole('button', { name: 'Log out' }).click();
  await at(page, 'login').waitFor();
  await come('a-token');
  await says(other.locator('.who'), 'alice');
  await becomes(other.locator('body'), 'data-operator', 'false');
}

export async function journey(stage) {
  await known(stage);
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a' })));
  const { port } = new URL(server.origin);

  // A user without a login can view, and learns where the token is.
  const stranger = await stage.stranger();
  await stranger.goto(server.origin);
  await says(at(stranger, 'read-only'), /look, not act[\s\S]*the server printed when it started/);
  await stranger.goto(`${server.origin}/ui/tools/manage_files`);
  await says(at(stranger, 'cannot-call'), 'token');
  assert.equal(await at(stranger, 'call').count(), 0);
  for (const path of ['approvals', 'history', 'resources']) {
    const response = await stranger.goto(`${server.origin}/ui/${path}`);
    assert.equal(response.status(), 401, path);
    await says(stranger.locator('main'), /Log in[\s\S]*the server printed when it started/);
    await focused(stranger.locator('#token'));
  }
  await stranger.locator('#token').fill('wrong');
  await stranger.getByRole('button', { name: 'Log in' }).click();
  await says(stranger.locator('main'), 'not known');
  assert.deepEqual(await stranger.context().cookies(), []);
  // A typed token works like one in the link.
  await stranger.goto(`${server.origin}/ui/history`);
  await stranger.locator('#token').fill(server.token);
  await stranger.getByRole('button', { name: 'Log in' }).click();
  await stranger.locator('body[data-operator=true]').waitFor();

  // The link's token disappears from the URL. The server sets a cookie that no script and no other site can use.
  const page = await stage.operator(server);
  assert.equal(page.url(), `${server.origin}/`);
  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1);
  const { name, httpOnly, sameSite, value } = cookies[0];
  assert.deepEqual({ name, httpOnly, sameSite }, { name: `candor_${port}`, httpOnly: true, sameSite: 'Strict' });
  assert.ok(!value.includes(server.token));
  assert.equal(await page.evaluate(() => document.cookie), '');
  // The proof for changes is in this origin's storage. It is neither the token nor the cookie.
  const stored = await page.evaluate(() => ({ local: Object.entries(localStorage), session: sessionStorage.length }));
  assert.deepEqual([stored.local.length, stored.session], [1, 0]);
  const [proof, whose] = stored.local[0][1].split(' ');
  assert.ok(proof.length > 40 && proof !== value && !proof.includes(server.token));
  assert.equal(whose, 'operator');

  // The requests that a page of another origin could send.
  const post = (headers) => fetch(`${server.origin}/tools/list_files/call`, {
    method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json', Cookie: `${name}=${value}`, ...headers },
  });
  const statuses = {
    foreign: (await post({ Origin: 'https://evil.test', 'X-Candor-Csrf': proof })).status,
    opaque: (await post({ Origin: 'null', 'X-Candor-Csrf': proof })).status,
    unproven: (await post({ Origin: server.origin })).status,
    own: (await post({ Origin: server.origin, 'X-Candor-Csrf': proof })).status,
  };
  assert.deepEqual(statuses, { foreign: 403, opaque: 403, unproven: 403, own: 200 });
  // A real page of another origin: the browser blocks its request.
  const other = await stage.with(Server.files(folder()));
  await page.goto(other.origin);
  const reached = await page.evaluate((url) => fetch(url, { method: 'POST', body: '{}', credentials: 'include', mode: 'no-cors' })
    .then(() => true, () => false), `${server.origin}/tools/list_files/call`);
  assert.equal(reached, false, 'the policy lets a page talk to its own server only');

  // The security headers, on every kind of response.
  for (const path of ['/', '/ui/tools/manage_files', '/ui/history', '/tools', '/nothing', '/ui/assets/console.js']) {
    const response = await fetch(server.origin + path, { headers: { Accept: 'text/html' } });
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/, path);
    assert.doesNotMatch(policy, /unsafe|\*/, path);
    assert.match(policy, /frame-ancestors 'none'/, path);
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/, path);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(response.headers.get('referrer-policy'), 'same-origin', path);
  }

  // No script can turn text into markup or code.
  await page.goto(server.origin);
  const made = await page.evaluate(() => {
    const tries = {
      markup: () => { document.querySelector('main').innerHTML = '<b>x</b>'; },
      parsed: () => new DOMParser().parseFromString('<b>x</b>', 'text/html'),
      policy: () => trustedTypes.createPolicy('mine', { createHTML: (text) => text }),
    };
    return Object.keys(tries).filter((name) => { try { tries[name](); return true; } catch { return false; } });
  });
  assert.deepEqual(made, []);

  // Logging out ends the login session, here and on the server.
  await page.getByRole('button', { name: 'Log out' }).click();
  await at(page, 'read-only').waitFor();
  assert.deepEqual(await page.context().cookies(server.origin), []);
  assert.equal((await post({ Origin: server.origin, 'X-Candor-Csrf': proof })).status, 401);
  await becomes(page.locator('body'), 'data-operator', 'false');
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await Promise.all([ports(stage), lost(stage)]);
}

/** Another server on this host, which stores the cookies that browsers send. */
async function eavesdropper() {
  const heard = [];
  const listener = createServer((request, response) => {
    heard.push(request.headers.cookie ?? '');
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>a harmless page</title><p>hello');
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return { heard, listener, origin: `http://127.0.0.1:${listener.address().port}` };
}

/** A logged-in browser visits another port of this host. That server cannot act with the cookie. Another tab of ours can. */
async function ports(stage) {
  const files = folder({ 'a.txt': 'a' });
  const server = await stage.with(Server.files(files, '--ask', 'destructive'));
  const page = await stage.operator(server);
  const other = await eavesdropper();
  try {
    const answer = server.call('manage_files', { path: 'a.txt', action: 'delete' });
    const [{ id, version }] = await server.waiting();
    const visitor = await page.context().newPage();
    await visitor.goto(other.origin);
    const cookie = other.heard.find((one) => one.includes('candor_'));
    assert.ok(cookie, 'cookies know no ports');
    // As that server: it can view the page and the request's version, and lacks the proof to review.
    const come = (path, init = {}) => fetch(server.origin + path, { ...init, headers: { Cookie: cookie, Accept: 'text/html', ...init.headers } });
    const seen = await (await come('/ui/approvals')).text();
    assert.ok(seen.includes(version));
    const words = [...new Set(seen.match(/[\w-]{40,}/g))];
    const decide = (proof) => come(`/approvals/${id}/approve`, {
      method: 'POST', body: JSON.stringify({ version }),
      headers: { 'Content-Type': 'application/json', Origin: server.origin, ...(proof ? { 'X-Candor-Csrf': proof } : {}) },
    });
    for (const word of [undefined, ...words, cookie.split('=')[1]]) assert.equal((await decide(word)).status, 403, word);
    for (const path of ['/resources', '/resources/content?uri=x']) assert.equal((await come(path)).status, 403, path);
    // As its page, in that browser: its storage has none of our data, and the browser or the server refuses its requests.
    const tried = await visitor.evaluate(async ([url, version]) => {
      const send = (mode, headers) => fetch(url, { method: 'POST', mode, credentials: 'include', headers, body: JSON.stringify({ version }) }).then(() => 'sent', () => 'held back');
      const both = [await send('cors', { 'Content-Type': 'application/json', 'X-Candor-Csrf': 'x' }), await send('no-cors', {})];
      return { both, stored: localStorage.length };
    }, [`${server.origin}/approvals/${id}/approve`, version]);
    assert.deepEqual(tried, { both: ['held back', 'held back'], stored: 0 });
    assert.equal((await server.waiting())[0].version, version, 'nothing is decided');
    assert.ok(existsSync(join(files, 'a.txt')));
    // A new tab of ours needs no login.
    const tab = await page.context().newPage();
    await tab.goto(`${server.origin}/ui/approvals`);
    await at(tab, 'question').getByRole('button', { name: 'Approve once' }).click();
    assert.equal((await answer).isError ?? false, false);
    assert.ok(await at(tab, 'log-in-again').isHidden());
  } finally {
    other.listener.close();
    other.listener.closeAllConnections();
  }
}

/** The proof or the login session is gone: the page reports it. After a login, the user continues with the same input. */
async function lost(stage) {
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a' })));
  const page = await stage.operator(server);
  const calls = [];
  page.on('request', (request) => { if (request.url().endsWith('/call')) calls.push(request.url()); });
  const again = at(page, 'log-in-again');
  const open = async () => {
    await page.goto(`${server.origin}/ui/tools/manage_files#args=${encodeURIComponent('{"path":"a.txt","action":"read"}')}`);
    await becomes(at(page, 'foresight'), 'data-state', 'exact');
    assert.ok(await again.isHidden());
  };
  const comeBack = async () => {
    await again.waitFor();
    await page.locator('#token').fill('wrong');
    await page.locator('#token').press('Enter');
    await says(at(page, 'login-error'), 'not known');
    await page.locator('#token').fill(server.token);
    await page.locator('#token').press('Enter');
    await again.waitFor({ state: 'hidden' });
    assert.equal(await control(page, 'path').inputValue(), 'a.txt', 'nothing that was written is lost');
    await at(page, 'call').click();
    await becomes(at(page, 'result'), 'data-state', 'ok');
  };
  await open();
  await page.evaluate(() => localStorage.clear());
  await at(page, 'call').click();
  await says(at(page, 'result-says'), /Nothing was sent[\s\S]*log in again at the top/);
  await comeBack();
  // The server no longer knows the cookie, as after a restart: the result says where to log in.
  await open();
  await page.evaluate(() => fetch('/ui/session', { method: 'DELETE' }));
  const before = calls.length;
  await at(page, 'call').click();
  await says(at(page, 'result'), 'Log in at the top of the page, then call again.');
  assert.equal(calls.length, before + 1);
  await comeBack();
  // A page with a cookie and without the proof says so at once.
  await page.evaluate(() => localStorage.clear());
  await page.goto(`${server.origin}/ui/history`);
  await says(again, 'Log in again to act');
  await page.goto(`${server.origin}/ui/resources`);
  await says(at(page, 'tree-says'), 'log in again');
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL(`${server.origin}/ui/resources`);
  await until('logged out', async () => (await page.context().cookies(server.origin)).length === 0);
}
