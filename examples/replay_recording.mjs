// Runs a recording that `replaywright skills script --format devtools` wrote, or that DevTools exported.
//
//   npm install @puppeteer/replay puppeteer-core
//   CHROMIUM_PATH=/usr/bin/chromium node replay_recording.mjs send-mail.json
//
// A recording has no secrets: {{secret:NAME}} is put in from REPLAYWRIGHT_SECRET_NAME, in memory only.

import { readFile } from 'node:fs/promises';

import { createRunner, parse, PuppeteerRunnerExtension } from '@puppeteer/replay';
import puppeteer from 'puppeteer-core';

function withSecrets(value) {
  return value.replace(/\{\{secret:(\w+)\}\}/g, (_, name) => {
    const secret = process.env[`REPLAYWRIGHT_SECRET_${name}`];
    if (secret === undefined) throw new Error(`set REPLAYWRIGHT_SECRET_${name} to the secret ${name}`);
    return secret;
  });
}

const recording = JSON.parse(await readFile(process.argv[2], 'utf8'));
for (const step of recording.steps) {
  if (step.type === 'change') step.value = withSecrets(step.value);
}

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM_PATH,
  args: process.env.CHROMIUM_ARGS?.split(' ') ?? [],
});
try {
  const page = await browser.newPage();
  const runner = await createRunner(parse(recording), new PuppeteerRunnerExtension(browser, page));
  await runner.run();
} finally {
  await browser.close();
}
