"""Functions that a test in TypeScript brings with it, each only where it is used."""

from collections.abc import Mapping
from typing import Final

from replaywright.export.helpers import functions_of

HELPERS: Final[Mapping[str, str]] = functions_of(r"""
/** A secret, from the environment: it stands nowhere in this file. */
function secret(name: string): string {
  const value = process.env[`REPLAYWRIGHT_SECRET_${name}`];
  if (value === undefined) throw new Error(`set REPLAYWRIGHT_SECRET_${name} to the secret ${name}`);
  return value;
}

/** A parameter of the test, from the environment. */
function parameter(variable: string, otherwise?: string): string {
  const value = process.env[variable] ?? otherwise;
  if (value === undefined) throw new Error(`set ${variable}`);
  return value;
}

/** The one-time password of now (RFC 6238), of a secret in Base32. */
function totp(name: string): string {
  let bits = '';
  for (const letter of secret(name).toUpperCase().replace(/[\s=-]/g, '')) {
    bits += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0');
  }
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const moment = Buffer.alloc(8);
  moment.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const told = createHmac('sha1', key).update(moment).digest();
  const begin = told[19] & 15;
  return String((told.readUInt32BE(begin) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** A text that is searched for as it is. */
function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Whether assertions hold. */
async function holds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check();
  } catch {
    return false;
  }
  return true;
}

/** Pass as soon as one of the assertions holds. */
async function expectAny(...checks: (() => Promise<unknown>)[]): Promise<void> {
  const ends = Date.now() + 10_000;
  do {
    for (const check of checks) if (await holds(check)) return;
  } while (Date.now() < ends);
  throw new Error('none of the conditions holds');
}

/** Answer what the page asks meanwhile, in turn, and dismiss the rest; gives what was asked. */
async function answeringDialogs(
  page: Page,
  answers: boolean[],
  options: { every?: boolean; text?: string },
  meanwhile: () => Promise<void>,
): Promise<string[]> {
  const asked: string[] = [];
  const answer = async (dialog: Dialog) => {
    const number = options.every ? 0 : asked.length;
    asked.push(`${dialog.type()} ${dialog.message()}`);
    await (answers[number] ? dialog.accept(options.text) : dialog.dismiss());
  };
  page.on('dialog', answer);
  try {
    await meanwhile();
  } finally {
    page.off('dialog', answer);
  }
  return asked;
}

/** See that one of the dialogs was of this kind, or said this. */
function expectAsked(asked: string[], part: string): void {
  const found = asked.some((said) => said.toLowerCase().includes(part.toLowerCase()));
  if (!found) throw new Error(`no dialog said ${part}, but: ${asked.join('; ')}`);
}

/** See that this is the file that is meant, and keep it in `downloads`. */
async function keep(download: Download, name = '*'): Promise<void> {
  const suggested = download.suggestedFilename();
  const pattern = new RegExp(`^${name.split('*').map(literally).join('.*')}$`, 's');
  if (!pattern.test(suggested)) throw new Error(`downloaded ${suggested}, not ${name}`);
  await download.saveAs(path.join('downloads', path.basename(suggested)));
}

/** Match responses by address and method, else those that count. */
function answering(part: string, method: string): (response: Response) => boolean {
  return (response) => {
    const request = response.request();
    if (part || method) return request.url().includes(part) && ['', request.method()].includes(method);
    return request.resourceType() === 'document' || !['GET', 'HEAD', 'OPTIONS'].includes(request.method());
  };
}

/** See that an answer has this status, or one of this class. */
function expectStatus(response: Response, wanted: string): void {
  const status = String(response.status());
  if (status !== wanted && !(wanted.endsWith('xx') && status[0] === wanted[0])) {
    throw new Error(`${response.url()} answered ${status}, not ${wanted}`);
  }
}

/** Paste a text in place of what the focused field holds. */
async function paste(page: Page, text: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate((words) => navigator.clipboard.writeText(words), text);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.press('ControlOrMeta+V');
}

/** Move a slider by its keys until it has the value. */
async function slide(slider: Locator, value: string): Promise<void> {
  for (let presses = 0; presses < 1_000; presses += 1) {
    const now = Number(await slider.getAttribute('aria-valuenow'));
    if (now === Number(value)) return;
    await slider.press(now < Number(value) ? 'ArrowRight' : 'ArrowLeft');
  }
  throw new Error(`the slider does not come to ${value}`);
}

/** Press what opens a menu or section, unless that is as wanted. */
async function setOpen(control: Locator, wanted: boolean): Promise<void> {
  const isOpen = await control.evaluate((element) => {
    const details = element.closest('summary')?.parentElement;
    return details ? details.hasAttribute('open') : element.ariaExpanded === 'true';
  });
  if (isOpen !== wanted) await control.click();
}

/** Press a toggle button, unless it is as wanted. */
async function setPressed(button: Locator, wanted: boolean): Promise<void> {
  const state = ((await button.getAttribute('aria-pressed')) ?? 'false') === 'true';
  if (state !== wanted) await button.click();
  await expect(button).toHaveAttribute('aria-pressed', String(wanted));
}

/** Take an element by its middle and drag it this far. */
async function dragBy(element: Locator, right: number, down: number): Promise<void> {
  await element.scrollIntoViewIfNeeded();
  const box = await element.boundingBox();
  if (box === null) throw new Error('what is to be dragged is not shown');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const { mouse } = element.page();
  await mouse.move(x, y);
  await mouse.down();
  await mouse.move(x + right, y + down, { steps: 10 });
  await mouse.up();
}

/** The rows of a table, each as column to text. */
async function tableRows(table: Locator): Promise<Record<string, string>[]> {
  return table.evaluate((element) => {
    const cells = (row: Element) =>
      [
        ...row.querySelectorAll<HTMLElement>(
          'th, td, [role=columnheader], [role=rowheader], [role=cell], [role=gridcell]',
        ),
      ].map((cell) => cell.innerText.trim());
    const isHead = (row: Element) => !row.querySelector('td, [role=cell], [role=gridcell]');
    const rows = [...element.querySelectorAll('tr, [role=row]')];
    const names = cells(rows.find(isHead) ?? rows[0] ?? element);
    return rows
      .filter((row) => row !== rows[0] && !isHead(row))
      .map((row) => Object.fromEntries(cells(row).map((text, at) => [names[at] || `column ${at + 1}`, text])));
  });
}

/** A text as it is compared: case and spacing do not count. */
function alike(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

/** Each item once; more than `limit` are refused, or left out. */
function atMost<T>(limit: number, items: T[], stop = false): T[] {
  const seen = new Map(items.map((item) => [JSON.stringify(item), item]));
  if (seen.size > limit && !stop) throw new Error(`there are ${seen.size} items, and at most ${limit}`);
  return [...seen.values()].slice(0, limit);
}

/** The number in a text such as `1,234.50 €`. */
function number(text: string | null): number {
  return Number((text ?? '').replace(/[^\d.-]/g, ''));
}
""")
