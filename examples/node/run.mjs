// Starts a Replaywright run with Temporal's TypeScript SDK, follows it, answers what it asks, and prints its result.
//
//   node run.mjs TASK.yaml [NAME=VALUE …] [--id ID]
//
// What is sent and what comes back is told in docs/reference/contracts.md; nothing here is particular to Node.

import { createHmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import { parse } from 'yaml';

const address = process.env.REPLAYWRIGHT_TEMPORAL_ADDRESS ?? 'localhost:7233';
const namespace = process.env.REPLAYWRIGHT_TEMPORAL_NAMESPACE ?? 'default';
const tenant = process.env.REPLAYWRIGHT_TENANT ?? 'default';
const queue = process.env.REPLAYWRIGHT_TASK_QUEUE ?? 'replaywright';

/** The canonical JSON of a value (RFC 8785): JSON.stringify with sorted keys. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each ?? null)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const told = Object.keys(value).filter((key) => value[key] !== undefined).sort();
  return `{${told.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

/** The MAC of a start or an update, with the first of the workers' signing keys; empty without one. */
function mac(told) {
  const file = process.env.REPLAYWRIGHT_SIGNING_KEYS_FILE;
  const keys = process.env.REPLAYWRIGHT_SIGNING_KEYS ?? (file ? readFileSync(file, 'utf8') : '');
  const [first] = keys.trim().split(/[\s,]+/);
  if (!first) return '';
  const at = first.indexOf(':');
  const secret = Buffer.from(first.slice(at + 1), 'base64');
  const key = hkdfSync('sha256', secret, 'replaywright', canonical({ purpose: 'start', tenant }), 32);
  return `${first.slice(0, at)}:${createHmac('sha256', Buffer.from(key)).update(canonical(told)).digest('base64url')}`;
}

/** Task, values of its parameters, and the run's id, as the command line has them. */
function asked(words) {
  const at = words.indexOf('--id');
  const [, id] = at < 0 ? [] : words.splice(at, 2);
  const [file, ...pairs] = words;
  const values = pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  if (file === undefined || pairs.some((pair) => pair.indexOf('=') < 1)) {
    console.error('usage: node run.mjs TASK.yaml [NAME=VALUE …] [--id ID]');
    process.exit(2);
  }
  const task = parse(readFileSync(file, 'utf8'));
  return { task, values: Object.fromEntries(values), id: id ?? `${task.task}/node/${randomBytes(6).toString('hex')}` };
}

/** Starts the run. An id serves once: what was done under it is in its ledger, and is not done again. */
function start(client, { task, values, id }) {
  const input = { task, values, tenant };
  return client.workflow.start('BrowserTask', {
    taskQueue: tenant === 'default' ? queue : `${queue}@${tenant}`,
    workflowId: id,
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    workflowIdConflictPolicy: 'FAIL',
    workflowTaskTimeout: '5s',
    args: [input],
    memo: {
      ...{ task: task.task, tenant, lineage: id }, // by these `replaywright runs`, `show` and `answer` know it
      mac: mac({ id, input, kind: 'BrowserTask' }), // without it the run is refused, or gets no secret
    },
  });
}

/** Prints each step once, and has every question answered, until the run is over. */
async function follow(handle, isOver) {
  const told = new Set();
  const answered = new Set();
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  let wasOver;
  do {
    wasOver = isOver(); // then this is the last look
    const progress = await handle.query('progress');
    for (const { sequence, title, status } of progress.lines) {
      const line = `${String(sequence + 1).padStart(4, '0')} ${title}: ${status}`;
      if (!told.has(line)) console.log(line);
      told.add(line);
    }
    const question = progress.question;
    if (question !== null && !answered.has(question.id)) {
      await answer(handle, question, lines);
      answered.add(question.id);
    }
    if (!wasOver) await sleep(300);
  } while (!wasOver);
  input.close();
}

/** Asks whoever sits here, and tells the run: an update, which the run takes or rejects with a reason. */
async function answer(handle, question, lines) {
  console.log(`asked: ${question.text} (${question.answers.join(', ')})`);
  if (question.wants === 'code') {
    console.log(`a code has to be sealed: replaywright answer ${handle.workflowId}`);
    return;
  }
  const said = (await lines.next()).value ?? '';
  const verdict = question.answers.includes(said) ? said : 'answer';
  const value = verdict === 'answer' ? said : '';
  const input = { sequence: question.sequence, question: question.id, verdict, value, who: 'run.mjs' };
  const update = randomUUID();
  const signed = mac({ id: handle.workflowId, input, kind: 'resolve_step', update });
  await handle.executeUpdate('resolve_step', { args: [input, signed], updateId: update });
}

const order = asked(process.argv.slice(2));
const connection = await Connection.connect({ address });
try {
  const handle = await start(new Client({ connection, namespace }), order);
  console.log(`run ${handle.workflowId}`);
  let over = false;
  const ended = handle.result().finally(() => (over = true));
  const [result] = await Promise.all([ended, follow(handle, () => over)]);
  console.log(JSON.stringify(result, null, 2));
} catch (error) {
  process.exitCode = 1;
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    console.error(`there is, or was, a run with the id ${order.id}`);
  } else if (error instanceof WorkflowFailedError && error.cause?.type !== undefined) {
    // TaskFailed and TaskBlocked have the result and a RunFailure as details; InputInvalid has none.
    const [result] = error.cause.details ?? [];
    console.error(`${error.cause.type}: ${error.cause.message}`);
    if (result) console.error(JSON.stringify(result, null, 2));
  } else {
    throw error;
  }
} finally {
  await connection.close();
}
