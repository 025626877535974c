/**
 * The parts that all worlds of one fuzz run share: the API on real servers, a payment processor, and a DNS that resolves all names to one
 * public address.
 */
import { callAt, type Answer, type Call } from '../../../toolkit/drive/api.ts';
import { providerSettings } from '../../../toolkit/builders/provider-keys.ts';
import { webhookSecret } from '../../../toolkit/drive/billing.ts';
import { startStripe, type StripeServer } from '../../../toolkit/fakes/stripe-server.ts';
import { buildStrangers, type Callers } from './callers.ts';
import { watchHolds } from '../../../toolkit/drive/loop-holds.ts';
import { serveApp, type ServedApp } from '../../../toolkit/stack/app.ts';

export interface FuzzGround {
  readonly strangers: Partial<Callers>;
  readonly stripe: StripeServer;
  call(method: string, path: string, options?: Call): Promise<Answer>;
  errors(): string[];
  /** For how many milliseconds the last request blocked the thread; undefined if another request ran at the same time. */
  lastHoldMs(): number | undefined;
  close(): Promise<void>;
}

const publicAddress = '93.184.216.34';
const errorLevel = 50;

export async function openGround(): Promise<FuzzGround> {
  const stripe = await startStripe();
  const api: ServedApp = await serveApp({
    resolve: async () => [publicAddress],
    env: {
      STRIPE_SECRET_KEY: stripe.secretKey,
      STRIPE_API_URL: stripe.url,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      ...providerSettings,
    },
  });
  // The API and the fuzzer share a thread, so each measurement covers only one request.
  const holds = watchHolds();
  let underWay = 0;
  let lastHoldMs: number | undefined;
  const watched = async (method: string, path: string, options?: Call): Promise<Answer> => {
    const isAlone = underWay++ === 0;
    holds.begin();
    try {
      return await callAt(api.base, method, path, options, () => {
        lastHoldMs = isAlone && underWay === 1 ? holds.longestMs() : undefined;
      });
    } finally {
      underWay--;
    }
  };
  return {
    stripe,
    strangers: await buildStrangers(),
    call: (method, path, options) => onceMoreIfCut(() => watched(method, path, options)),
    lastHoldMs: () => lastHoldMs,
    errors() {
      const lines = api.log.splice(0);
      return lines.filter((line) => (JSON.parse(line) as { level: number }).level >= errorLevel);
    },
    async close() {
      await Promise.all([api.close(), stripe.stop()]);
    },
  };
}

/**
 * Sends a request again if the connection broke, because the server closes idle connections. A real error breaks the second request, too.
 */
async function onceMoreIfCut(send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send();
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    if (code !== 'ECONNRESET' && code !== 'UND_ERR_SOCKET') throw error;
    return send();
  }
}
