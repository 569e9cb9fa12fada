// Starts executions through the webhook and checks every one: the answer, the tool calls, and what the model was sent.
import { setTimeout as sleep } from 'node:timers/promises';

import { Pool } from 'undici';

import { countBilledRuns } from './seed.mjs';
import { bodyOf, findFault, SUBJECTS, TIER } from './subjects.mjs';

/** n8n stores an execution after it has answered; that is part of what it costs. */
const AFTERWORK_MS = 300;

/**
 * @param {{ baseUrl: string, processorMs?: () => number }} engine
 * @param {{ tool: object, model: object, databaseUrl: string }} servers
 */
export async function createRunner({ baseUrl, processorMs }, servers) {
  const pool = new Pool(baseUrl, { connections: 64, keepAliveTimeout: 600_000, headersTimeout: 0, bodyTimeout: 0 });
  let owedLines = await countBilledRuns(servers.databaseUrl);

  async function execute(subject, tier) {
    const startedAt = performance.now();
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: `/webhook/${subject}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(tier)),
    });
    const text = await body.text();
    const wallMs = performance.now() - startedAt;
    const fault = findFault(subject, statusCode, text);
    if (fault !== undefined) throw new Error(`${subject}: ${fault}${await describeFaults(servers)}`);
    return wallMs;
  }

  /** `wallMs` holds the time of each execution. */
  async function runBatch(subject, { runs, inFlight, tier = TIER }) {
    const before = await countCalls(servers);
    const cpuBefore = processorMs?.();
    const startedAt = performance.now();
    const wallMs = [];
    let started = 0;
    const lane = async () => {
      while (started < runs) {
        started += 1;
        wallMs.push(await execute(subject, tier));
      }
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
    const elapsedMs = performance.now() - startedAt;
    await sleep(AFTERWORK_MS);
    const cpuMs = processorMs === undefined ? undefined : (processorMs() - cpuBefore) / runs;
    assertCalls(subject, runs, { before, after: await countCalls(servers) });
    // The free tier has no bill.
    if (SUBJECTS[subject].isBilled && tier !== 'nano') owedLines += runs;
    return { wallMs, cpuMs, perSecond: (runs * 1000) / elapsedMs };
  }

  /** Our node does more than a loop; a run that leaves its line in the bill out would be too cheap. */
  async function assertBilled() {
    const lines = await countBilledRuns(servers.databaseUrl);
    if (lines !== owedLines) throw new Error(`${lines} right lines in the bill, not ${owedLines}`);
  }

  return { runBatch, assertBilled, close: () => pool.close() };
}

async function countCalls({ tool, model }) {
  return { tool: await tool.ask({}), model: await model.ask({}) };
}

function assertCalls(subject, runs, { before, after }) {
  const { toolCalls } = SUBJECTS[subject];
  const wanted = { tool: runs * toolCalls, model: toolCalls === 0 ? 0 : runs * (toolCalls + 1) };
  for (const server of ['tool', 'model']) {
    const made = after[server].calls - before[server].calls;
    const faults = after[server].faults - before[server].faults;
    if (made === wanted[server] && faults === 0) continue;
    throw new Error(
      `${subject}: ${made} right ${server} calls in ${runs} executions, not ${wanted[server]}; ` +
        `${faults} wrong ones${faults === 0 ? '' : `, the last: ${after[server].lastFault}`}`,
    );
  }
}

async function describeFaults(servers) {
  const { tool, model } = await countCalls(servers);
  const last = [tool.lastFault, model.lastFault].filter((fault) => fault !== '');
  return last.length === 0 ? '' : ` (the servers saw: ${last.join(' | ')})`;
}
