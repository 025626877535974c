/** An API in a separate process that reports how long it blocked its thread, and one club. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startChild } from '../../dev/stack/children.ts';
import { freePorts } from '../../dev/stack/ports.ts';
import { projectDirectory, scriptArguments, typescriptArguments } from '../../dev/project.ts';
import { untilOk } from '../../dev/stack/readiness.ts';
import { buildStrangers } from '../../test/proofs/fuzz/world/callers.ts';
import { noticeToken } from '../../test/toolkit/builders/provider-keys.ts';
import type { FuzzGround } from '../../test/proofs/fuzz/world/ground.ts';
import { fileEnded } from '../../test/run/lifecycle.ts';
import { startRunServer } from '../../test/run/server.ts';
import { callAt } from '../../test/toolkit/drive/api.ts';
import { webhookSecret } from '../../test/toolkit/drive/billing.ts';
import { startStripe } from '../../test/toolkit/fakes/stripe-server.ts';
import { testDatabase } from '../../test/toolkit/stack/database.ts';

export interface Measured {
  status: number;
  /** In milliseconds. */
  holdMs: number;
  /** The size of the answer's body. */
  bytes: number;
  isFile: boolean;
}

export interface HeldGround extends FuzzGround {
  /** Undefined if the call failed. */
  last(): Measured | undefined;
}

const startTimeoutMs = 60_000;

/** The caller must close the result. */
export async function openHeldGround(): Promise<HeldGround> {
  const server = await startRunServer(1);
  process.env['TEST_RUN_URL'] = server.url;
  const source = await testDatabase();
  const stripe = await startStripe();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-bench-holds-'));
  const ports = await freePorts(['api', 'holds']);
  const watch = new URL('watched-api.ts', import.meta.url).href;
  const child = startChild({
    name: 'The API',
    command: process.execPath,
    args: [...typescriptArguments, '--import', watch, ...scriptArguments('api/server.ts')],
    cwd: projectDirectory,
    env: {
      ...process.env,
      API_METRICS_PORT: '0',
      FILES_PORT: '0',
      ANSWER_TICK_MS: '0',
      LOG_LEVEL: 'warn',
      EGRESS_ALLOWED_NETWORKS: '',
      TRUSTED_PROXIES: '127.0.0.0/8',
      ANTHROPIC_API_KEY: 'key-of-nobody',
      API_PORT: String(ports.api),
      HOLDS_PORT: String(ports.holds),
      STRIPE_SECRET_KEY: stripe.secretKey,
      STRIPE_API_URL: stripe.url,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      MAIL_NOTICE_TOKEN: noticeToken,
    },
    logFile: path.join(directory, 'api.log'),
  });
  await untilOk(`http://127.0.0.1:${ports.api}/readyz`, { timeoutMs: startTimeoutMs, child });
  const holds = `http://127.0.0.1:${ports.holds}/`;
  let last: Measured | undefined;
  return {
    stripe,
    strangers: await buildStrangers(),
    errors: () => [],
    lastHoldMs: () => last?.holdMs,
    last: () => last,
    async call(method, to, options) {
      last = undefined;
      await source.query('DELETE FROM rate_limit_counters'); // without this, a rate limit would refuse the measured calls
      await fetch(holds, { method: 'POST' }).then((answer) => answer.arrayBuffer());
      const answer = await callAt(`http://127.0.0.1:${ports.api}`, method, to, options);
      const { longestMs } = (await (await fetch(holds)).json()) as { longestMs: number };
      const type = answer.headers.get('content-type') ?? '';
      last = {
        status: answer.status,
        holdMs: longestMs,
        bytes: answer.bytes.length,
        isFile: answer.headers.has('content-disposition') || type.startsWith('text/event-stream'),
      };
      return answer;
    },
    async close() {
      await child.stop();
      await stripe.stop();
      await rm(directory, { recursive: true, force: true });
      await fileEnded();
      await server.stop();
    },
  };
}
