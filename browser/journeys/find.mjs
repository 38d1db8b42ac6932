// Finds a tool, and enters nested arguments: as a form, as JSON, and back.
import assert from 'node:assert/strict';
import { Server, folder, typed } from '../servers.mjs';
import { at, becomes, control, field, focused, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'a tool is found; its nested form and its JSON agree; the call can be copied';

const ORDER = {
  customer: { name: 'Ada', address: { city: 'Paris', zip: '75001' } },
  lines: [{ article: 'lamp', count: 2, options: ['gift', 'express'] }, { article: 'desk', count: 1 }],
  payment: { kind: 'invoice', days: 30 },
  labels: { 'cost centre': '7' },
};
// More digits than a double can hold.
const REFERENCE = '12345678901234567891';

const shown = (page) => page.locator('[data-testid=tool]:visible b').allInnerTexts();

async function find(stage) {
  const page = await stage.operator(await stage.with(Server.files(folder())));
  const all = await shown(page);
  assert.ok(all.includes('manage_files') && all.length > 3, all.join());
  await page.locator('[data-testid=filters] input[value=deletes]').check();
  await until('only those that may delete', async () => (await shown(page)).length < all.length);
  const deleting = await shown(page);
  assert.ok(deleting.includes('manage_files') && !deleting.includes('list_files'), deleting.join());
  await at(page, 'search').fill('move');
  await until('only one is left', async () => (await shown(page)).join() === 'move_files');
  // Going back shows the same list.
  await at(page, 'search').press('Enter');
  await page.waitForURL('**/ui/tools/move_files');
  await page.goBack();
  await until('the same list', async () => (await shown(page)).join() === 'move_files');
  await at(page, 'search').fill('no such tool');
  await at(page, 'nothing-found').waitFor();
  await page.getByRole('button', { name: 'Show all tools' }).click();
  assert.deepEqual(await shown(page), all);
}

async function fill(page) {
  await control(page, 'customer', 'name').first().fill('Ada');
  await control(page, 'customer', 'address', 'city').fill('Paris');
  await control(page, 'customer', 'address', 'zip').fill('75001');
  const lines = field(page, 'lines');
  for (const [at, line] of ORDER.lines.entries()) {
    await lines.locator(':scope > [data-form=add]').click();
    const row = lines.locator(':scope > .items > li').nth(at);
    await row.locator('[data-name=article] [data-control]').fill(line.article);
    await row.locator('[data-name=count] [data-control]').fill(String(line.count));
    for (const [place, option] of (line.options ?? []).entries()) {
      await row.locator('[data-name=options] > [data-form=add]').click();
      await row.locator('[data-name=options] select').nth(place).selectOption({ label: option });
    }
  }
  await field(page, 'payment').locator(':scope > [data-shape]').selectOption({ label: 'invoice' });
  await control(page, 'payment', 'days').fill('30');
  await field(page, 'labels').getByRole('button', { name: 'Add a member' }).click();
  await field(page, 'labels').locator('[data-key]').fill('cost centre');
  await field(page, 'labels').locator('[data-control]').fill('7');
  await control(page, 'reference').fill(REFERENCE);
}

/** Parses the JSON. Checks the long number separately, because `JSON.parse` would round it. */
function read(json) {
  assert.match(json, new RegExp(`"reference": ${REFERENCE}\\b`));
  const { reference: _, ...rest } = JSON.parse(json);
  return rest;
}

/** The page reports invalid JSON and does not send it. */
async function broken(page) {
  const texts = ['{"customer":', '[1]', 'null', ''];
  const sent = [];
  // The evaluation of the earlier arguments may still be under way.
  const hear = (request) => {
    if (request.method() !== 'POST') return;
    if (request.url().endsWith('/call') || texts.includes(request.postData() ?? '')) sent.push(`${request.url()} ${request.postData()}`);
  };
  page.on('request', hear);
  for (const text of texts) {
    await at(page, 'raw').fill(text);
    await at(page, 'call').click();
    await says(at(page, 'raw-error'), 'This is not JSON that can be sent');
    await focused(at(page, 'raw'));
    assert.equal(await at(page, 'raw').getAttribute('aria-invalid'), 'true');
    await becomes(at(page, 'foresight'), 'data-state', 'unknown');
  }
  page.off('request', hear);
  assert.deepEqual(sent, []);
  assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run');
}

/** A result appears as a readable tree. The raw JSON is hidden behind it, and hidden again after the next call. */
async function parsed(page) {
  const tree = at(page, 'structured');
  const names = (within) => within.locator(':scope > .inside > * > summary > .k, :scope > .inside > div > .k').allInnerTexts();
  const order = tree.locator('details', { has: page.locator(':scope > summary > .k', { hasText: /^order$/ }) });
  assert.deepEqual((await names(order)).sort(), [...Object.keys(ORDER), 'reference'].sort());
  const lines = order.locator('details', { has: page.locator(':scope > summary > .k', { hasText: /^lines$/ }) });
  await lines.locator(':scope > summary').click();
  await says(lines, /lamp[\s\S]*desk/);
  const raw = at(page, 'raw-result');
  assert.ok(await tree.isVisible() && await raw.isHidden());
  await page.getByText('Raw JSON').click();
  await raw.waitFor();
  const before = await raw.elementHandle();
  await at(page, 'call').click();
  await until('the next result', async () => !(await before.evaluate((element) => element.isConnected)));
  await becomes(at(page, 'result'), 'data-state', 'ok');
  await tree.waitFor();
  assert.ok(await raw.isHidden(), 'one sees what was made of it first');
}

/** The server can switch off calls after the page loaded. The page reports that and removes the button. */
async function disabled(page) {
  const problem = { status: 403, code: 'execution_disabled', detail: 'Tool execution is disabled.' };
  await page.route('**/tools/place_order/call', (route) => route.fulfill({
    status: 403, contentType: 'application/problem+json', body: JSON.stringify(problem),
  }));
  await at(page, 'call').click();
  await becomes(at(page, 'result'), 'data-state', 'error');
  await says(at(page, 'result-says'), 'Tool execution is disabled.');
  await says(at(page, 'cannot-call'), 'Calling is switched off');
  assert.equal(await at(page, 'call').count(), 0);
  assert.ok(await at(page, 'validate').isVisible());
}

/** Two members with one name: the page reports them, with the name of the object that contains them. */
async function twice(page) {
  const labels = field(page, 'labels');
  await labels.getByRole('button', { name: 'Add a member' }).click();
  await labels.locator('[data-key]').nth(1).fill('cost centre');
  await at(page, 'call').click();
  await says(at(page, 'errors'), 'labels: the name "cost centre" is there twice');
  assert.equal(await labels.locator('[data-key]').nth(1).getAttribute('aria-invalid'), 'true');
  await labels.getByRole('button', { name: 'Remove' }).nth(1).click();
  await at(page, 'errors').waitFor({ state: 'hidden' });
}

/** The call as a command: a button copies it and confirms that. A shell accepts the command. */
async function copied(page, server) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const line = at(page, 'as-curl');
  await page.getByText('As curl').click();
  const button = line.locator('xpath=..').getByRole('button');
  assert.equal(await button.textContent(), 'Copy');
  await button.click();
  await says(button, /^Copied$/);
  await button.click();
  const text = await line.textContent();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
  await says(page.locator('#live'), 'Copied');
  // The button works again after each confirmation has disappeared.
  await says(button, /^Copy$/);
  await page.waitForTimeout(1600);
  assert.equal(await button.textContent(), 'Copy');
  assert.match(text, /^curl -X POST [\s\S]*Authorization: Bearer \$CANDOR_TOKEN/);
  assert.ok(!text.includes(server.token), 'whoever gets the line has not got the token');
  assert.match(typed(`export CANDOR_TOKEN='${server.token}'\n${text} -sS`), new RegExp(`"reference":\\s*${REFERENCE}`));
}

export async function journey(stage) {
  await find(stage);
  const server = await stage.with(Server.trial());
  const page = await stage.operator(server);
  await at(page, 'search').fill('place_order');
  await at(page, 'search').press('Enter');
  await page.waitForURL('**/ui/tools/place_order');
  await fill(page);
  await becomes(at(page, 'valid'), 'data-valid', 'true');
  await twice(page);

  await at(page, 'view-json').click();
  const json = await at(page, 'raw').inputValue();
  assert.deepEqual(read(json), ORDER);
  await at(page, 'raw').fill(json.replace('"count": 2', '"count": 4'));
  await at(page, 'view-form').click();
  const changed = { ...ORDER, lines: [{ ...ORDER.lines[0], count: 4 }, ORDER.lines[1]] };
  assert.equal(await field(page, 'lines', 'count').locator('[data-control]').first().inputValue(), '4');
  assert.equal(await control(page, 'payment', 'days').inputValue(), '30');
  await at(page, 'view-json').click();
  assert.deepEqual(read(await at(page, 'raw').inputValue()), changed);
  const whole = await at(page, 'raw').inputValue();
  await broken(page);
  // The page keeps and reports a member that the form cannot show.
  await at(page, 'raw').fill('{"nowhere": 1}');
  await at(page, 'view-form').click();
  await says(at(page, 'raw-error'), 'no place');
  // The report stays after the evaluation of the arguments.
  await until('it was looked at', async () => (await at(page, 'as-mcp').textContent()).includes('nowhere'));
  await says(at(page, 'raw-error'), 'no place');
  await at(page, 'raw').fill(whole);
  await at(page, 'view-form').click();

  await at(page, 'call').click();
  await becomes(at(page, 'result'), 'data-state', 'ok');
  const sent = JSON.parse(await at(page, 'raw-result').textContent());
  const { reference: _, ...order } = sent.structuredContent.order;
  assert.deepEqual(order, changed);
  await parsed(page);
  await copied(page, server);
  const line = await at(page, 'as-candor').textContent();
  assert.match(line, / --arguments '\{/);
  assert.match(typed(`${line} --yes --json`), new RegExp(REFERENCE));
  await disabled(page);
}
