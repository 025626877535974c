/** The part of Stripe's API that this service calls, with idempotency keys as Stripe documents them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLedger,
  customerBody,
  metadataOf,
  subscriptionById,
  type Handlers,
  type StripeLedger,
} from './stripe-ledger.ts';
import { createKeyMemory, failure, type StripeReply } from './stripe-replies.ts';

/** The outcome of a charge; `paid` by default. */
export type Fate =
  | 'paid'
  | 'declined'
  /** The server charges the customer. Then it cuts the connection before the answer, and is down. */
  | 'cut_after_charge'
  /** The server cuts the connection before the charge, and then is down. */
  | 'cut_before_charge'
  /** The server answers with 500 and makes no charge. It stores this answer under the key, as Stripe does. */
  | 'error'
  /** The server charges the customer, but answers with 500. */
  | 'error_after_charge'
  | 'processing';

interface TestPayment {
  id: string;
  status: string;
  amount: number;
  currency: string;
  customer: string;
  payment_method: string;
  created: number;
  metadata: Record<string, string>;
}

export interface StripeServer extends StripeLedger {
  url: string;
  secretKey: string;
  payments: TestPayment[];
  /** Method, path and idempotency key of every call, such as `POST /v1/payment_intents key`. */
  calls: string[];
  fates: Fate[];
  /** The fates of the next calls of a path, such as `/v1/invoiceitems`. Other calls succeed. */
  pathFates: Record<string, Fate[]>;
  /** In milliseconds. */
  delayMs: number;
  /** Whether the server works. If false, it answers every call with 500, and the call has no effect. */
  up: boolean;
  paymentMethods: Map<string, string>;
  paidFor(addOnId: string): TestPayment[];
  /** Deletes the idempotency keys, which the processor keeps for a day. */
  forgetKeys(): void;
  stop(): Promise<void>;
}

/** The caller must stop the server. */
export async function startStripe(): Promise<StripeServer> {
  const keys = createKeyMemory();
  const { ledger, post, get } = createLedger();
  const pathFates: Record<string, Fate[]> = {};
  const stripe = Object.assign(ledger, {
    secretKey: `sk_test_${crypto.randomUUID()}`,
    payments: [] as TestPayment[],
    calls: [] as string[],
    fates: [] as Fate[],
    pathFates,
    delayMs: 0,
    up: true,
    forgetKeys: () => keys.forget(),
    paymentMethods: new Map<string, string>(),
    paidFor: (addOnId: string) =>
      stripe.payments.filter(({ status, metadata }) => status === 'succeeded' && metadata['add_on_id'] === addOnId),
  });

  async function charge(form: URLSearchParams): Promise<StripeReply> {
    await sleep(stripe.delayMs);
    const fate = stripe.fates.shift() ?? 'paid';
    if (fate === 'cut_before_charge') return { status: 0, body: {}, cut: true };
    if (fate === 'error') return failure(500, 'api_error');
    const payment: TestPayment = {
      id: `pi_${crypto.randomUUID()}`,
      status: { declined: 'requires_payment_method', processing: 'processing' }[fate as string] ?? 'succeeded',
      amount: Number(form.get('amount')),
      currency: form.get('currency') ?? '',
      customer: form.get('customer') ?? '',
      payment_method: form.get('payment_method') ?? '',
      created: Math.floor(Date.now() / 1_000),
      metadata: metadataOf(form),
    };
    stripe.payments.push(payment);
    const body = { object: 'payment_intent', ...payment };
    if (fate === 'declined')
      return failure(402, 'card_error', {
        code: 'card_declined',
        decline_code: 'insufficient_funds',
        payment_intent: body,
      });
    if (fate === 'error_after_charge') return failure(500, 'api_error');
    return { status: 200, body, cut: fate === 'cut_after_charge' };
  }

  async function chargeOnce(key: string, body: string): Promise<StripeReply> {
    const form = new URLSearchParams(body);
    const complete = ['amount', 'currency', 'customer', 'payment_method'].every((name) => form.has(name));
    // The server does not store the answer to a call that fails before it begins.
    if (!complete || form.get('off_session') !== 'true' || form.get('confirm') !== 'true')
      return failure(400, 'invalid_request_error');
    return keys.once(key, body, () => charge(form));
  }

  /** Changes the ledger, with the fate of the path. */
  async function change(path: string, key: string, body: string): Promise<StripeReply> {
    const handler = handlerOf(post, path);
    if (!handler) return failure(404, 'invalid_request_error');
    return keys.once(key, `${path} ${body}`, async () => {
      await sleep(stripe.delayMs);
      const fate = stripe.pathFates[path]?.shift() ?? 'paid';
      if (fate === 'cut_before_charge') return { status: 0, body: {}, cut: true };
      if (fate === 'error') return failure(500, 'api_error');
      if (fate === 'declined') return failure(400, 'invalid_request_error');
      const reply = handler(new URLSearchParams(body));
      return fate === 'error_after_charge' ? failure(500, 'api_error') : { ...reply, cut: fate === 'cut_after_charge' };
    });
  }

  function read(path: string, query: URLSearchParams): StripeReply {
    const [, , kind, id = ''] = path.split('/');
    const method = stripe.paymentMethods.get(id) ?? null;
    const handler = handlerOf(get, path);
    if (handler) return handler(query);
    if (kind === 'subscriptions') return { status: 200, body: subscriptionById(ledger, id, method) };
    if (kind === 'customers') return { status: 200, body: customerBody(ledger, id, method) };
    if (path !== '/v1/payment_intents') return failure(404, 'invalid_request_error');
    const [of, since] = [query.get('customer'), Number(query.get('created[gte]') ?? 0)];
    const data = stripe.payments.filter(
      ({ customer, created }) => (of === null || customer === of) && created >= since,
    );
    return { status: 200, body: { object: 'list', url: path, has_more: false, data } };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stripe');
    const key = String(request.headers['idempotency-key'] ?? '');
    const body = await text(request);
    stripe.calls.push(`${request.method} ${url.pathname} ${key}`.trim());
    const reply = !stripe.up
      ? failure(500, 'api_error')
      : request.headers.authorization !== `Bearer ${stripe.secretKey}`
        ? failure(401, 'invalid_request_error')
        : request.method === 'POST'
          ? await (url.pathname === '/v1/payment_intents' ? chargeOnce(key, body) : change(url.pathname, key, body))
          : read(url.pathname, url.searchParams);
    if (reply.cut) {
      stripe.up = false; // The client retries after a closed connection.
      request.socket.destroy();
      return;
    }
    response.writeHead(reply.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(reply.body));
  }

  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A server listens on a port.');
  return Object.assign(stripe, {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  });
}

/** @returns the function that answers the path, which may have an id at the place of `*` */
function handlerOf(handlers: Handlers, path: string): ((values: URLSearchParams) => StripeReply) | undefined {
  const exact = handlers[path];
  if (exact) return (values) => exact(values, '');
  const parts = path.split('/');
  const place = path.startsWith('/v1/checkout/') ? 4 : 3;
  const general = handlers[parts.with(Math.min(place, parts.length - 1), '*').join('/')];
  return general && ((values) => general(values, parts[place] ?? ''));
}
