// A tool whose effect depends on its arguments: the page shows the effect, names mistakes, and confirms deletions.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, folder, typed } from '../servers.mjs';
import { at, becomes, control, focused, says } from '../stage.mjs';

export const title = 'the effect follows the arguments; mistakes are named; a call can be cancelled; a deletion is confirmed and in the history';

/** Validate shows each problem at its field, or reports that there is none. It runs nothing, also for a user who cannot call. */
async function validated(stage, server) {
  for (const page of [await stage.operator(server), await stage.stranger()]) {
    const sent = [];
    page.on('request', (request) => { if (request.method() === 'POST') sent.push(new URL(request.url()).pathname); });
    await page.goto(`${server.origin}/ui/tools/manage_files`);
    await control(page, 'action').selectOption({ value: '"replace"' });
    await at(page, 'validate').click();
    await focused(at(page, 'errors'));
    await says(at(page, 'errors'), /nothing was sent[\s\S]*path/);
    await says(page.locator('#fields [data-name=path] > .error'), /./);
    assert.equal(await control(page, 'path').getAttribute('aria-invalid'), 'true');
    assert.ok(await at(page, 'checked').isHidden());
    await control(page, 'path').fill('notes/b.txt');
    await control(page, 'content').fill('x');
    await at(page, 'validate').click();
    await says(at(page, 'checked'), 'The arguments fit the schema. Nothing was run.');
    assert.ok(await at(page, 'errors').isHidden());
    assert.equal(await control(page, 'path').getAttribute('aria-invalid'), 'false');
    // The message is about the earlier arguments, so it disappears.
    await control(page, 'path').fill('notes/c.txt');
    await at(page, 'checked').waitFor({ state: 'hidden' });
    assert.deepEqual(sent.filter((path) => !path.endsWith('/annotations')), []);
    assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run');
  }
}

/** While a call runs, the page shows it, does not send it twice, and can cancel it. */
async function stopped(stage) {
  const server = await stage.with(Server.trial());
  const page = await stage.operator(server);
  await page.goto(`${server.origin}/ui/tools/endless`);
  const button = at(page, 'call');
  assert.ok(await at(page, 'cancel').isHidden());
  for (const way of ['click', 'Enter']) {
    if (way === 'click') await button.click();
    else { await button.focus(); await page.keyboard.press('Enter'); }
    await says(button, /^Calling…$/);
    assert.ok(await button.isDisabled());
    await becomes(at(page, 'result'), 'data-state', 'running');
    await says(at(page, 'result-says'), 'One quarter (1 of 4)');
    assert.equal(await page.locator('#progress').getAttribute('value'), '1');
    await at(page, 'cancel').click();
    await becomes(at(page, 'result'), 'data-state', 'cancelled');
    await says(at(page, 'result-says'), 'Cancelled. The call may have run. Check History.');
    await says(button, /^Call$/);
    assert.ok(await button.isEnabled());
    assert.ok(await at(page, 'cancel').isHidden());
  }
  await page.goto(`${server.origin}/ui/history`);
  await says(at(page, 'call').first(), 'Disconnected');
}

export async function journey(stage) {
  const files = folder({ 'notes/a.txt': 'first\n' });
  const file = join(files, 'notes/a.txt');
  const server = await stage.with(Server.files(files, '--ask', 'never'));
  const page = await stage.operator(server);
  await page.goto(`${server.origin}/ui/tools/manage_files`);

  const panel = at(page, 'foresight');
  assert.equal(await panel.getAttribute('data-verdict'), 'deletes', 'without arguments, the worst');
  await control(page, 'path').fill('notes/a.txt');
  for (const [action, verdict, word] of [
    ['read', 'reads', 'Reads'], ['append', 'adds', 'Adds'], ['replace', 'changes', 'Changes'], ['delete', 'deletes', 'Deletes'],
    ['read', 'reads', 'Reads'],
  ]) {
    await control(page, 'action').selectOption({ value: JSON.stringify(action) });
    await becomes(panel, 'data-verdict', verdict);
    await says(at(page, 'verdict'), word);
  }
  // All four hints and their sources. A hint that depends on the arguments is `resolved`.
  const hints = () => page.locator('[data-testid=hints] [data-hint]').evaluateAll((rows) =>
    Object.fromEntries(rows.map((row) => [row.dataset.hint, [...row.querySelectorAll('td')].map((cell) => cell.textContent)])));
  assert.deepEqual(await hints(), {
    readOnlyHint: ['true', 'resolved'], destructiveHint: ['false', 'resolved'], idempotentHint: ['true', 'resolved'], openWorldHint: ['false', 'resolved'],
  });
  const { annotations, inputSchema } = await server.rest('GET', '/tools/manage_files');
  assert.equal(annotations.readOnlyHint, false, 'without arguments it is another');
  // The page shows the schema that clients get.
  const schema = at(page, 'reference').locator('details', { hasText: 'Schema' }).first();
  await schema.locator('summary').click();
  const shownSchema = schema.locator('pre');
  await shownSchema.waitFor();
  assert.deepEqual(JSON.parse(await shownSchema.textContent()), inputSchema);

  const line = await at(page, 'as-candor').textContent();
  assert.match(line, /^candor call \S+\/mcp manage_files path=notes\/a.txt action=read$/);

  // Invalid arguments: the page lists every problem, and each entry links to its field.
  await control(page, 'path').fill('');
  await at(page, 'call').click();
  await focused(at(page, 'errors'));
  const links = at(page, 'errors').getByRole('link');
  await says(links, 'path');
  await links.first().click();
  await focused(control(page, 'path'));
  assert.equal(await control(page, 'path').getAttribute('aria-invalid'), 'true');
  assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run', 'nothing was sent');

  // Invalid JSON has no preview.
  await at(page, 'view-json').click();
  await at(page, 'raw').fill('{"path":');
  await at(page, 'preview').click();
  await says(at(page, 'raw-error'), 'This is not JSON that can be sent');
  await focused(at(page, 'raw'));
  assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run');
  await at(page, 'raw').fill('{}');
  await at(page, 'view-form').click();

  await validated(stage, server);

  // A deletion needs a confirmation. Enter and Escape cancel it.
  await control(page, 'path').fill('notes/a.txt');
  await control(page, 'action').selectOption({ value: '"delete"' });
  await becomes(panel, 'data-state', 'exact');
  await at(page, 'call').click();
  await at(page, 'confirm').waitFor();
  await focused(at(page, 'confirm-cancel'));
  await says(at(page, 'confirm-effect'), /Deletes[\s\S]*may change or delete data/);
  await says(at(page, 'confirm-undo'), /the call cannot be undone/);
  const shown = JSON.parse(await at(page, 'confirm-arguments').textContent());
  assert.deepEqual(shown, { path: 'notes/a.txt', action: 'delete' });
  for (const way of ['Enter', 'Escape']) {
    if (way === 'Escape') await at(page, 'call').click();
    await focused(at(page, 'confirm-cancel'));
    await page.keyboard.press(way);
    await at(page, 'confirm').waitFor({ state: 'hidden' });
    assert.ok(existsSync(file), `${way} is no yes`);
    assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run');
  }
  await at(page, 'call').click();
  await at(page, 'confirm-call').click();
  await becomes(at(page, 'result'), 'data-state', 'ok');
  assert.ok(!existsSync(file), 'it was deleted');
  // Appending to a folder fails, and the page shows the tool's error.
  await control(page, 'path').fill('notes');
  await control(page, 'action').selectOption({ value: '"append"' });
  await control(page, 'content').fill('more');
  await at(page, 'call').click();
  await becomes(at(page, 'result'), 'data-state', 'error');
  assert.ok(await at(page, 'confirm').isHidden(), 'what only adds is not asked about');

  await page.goto(`${server.origin}/ui/history`);
  const rows = at(page, 'call');
  assert.equal(await rows.count(), 2);
  assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => row.dataset.state)), ['failed', 'done']);
  await says(rows.nth(1), /manage_files[\s\S]*Deletes/);
  await page.locator('select[name=state]').selectOption('failed');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL('**state=failed**');
  assert.equal(await rows.count(), 1);

  await stopped(stage);

  // The program accepts the command that the page shows.
  writeFileSync(file, 'second\n');
  assert.equal(typed(line), 'second\n');
}
