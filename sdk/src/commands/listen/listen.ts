/** The command `listen`: forwards the events of a club to a receiver on this machine (LSN-8). */
import type { WebhookEventTypeInput } from '../../generated/client.schemas.ts';
import { UsageError, type CommandIo, type RunCommand } from '../command.ts';
import { eventTypes } from '../conformance/deliveries.ts';
import { httpUrl, parseOptions, serviceAccess, serviceOptions } from '../options.ts';
import { forward, isAccepted, lineOf } from './forward.ts';
import { secretOf } from './secret.ts';
import { eventsOf } from './subscription.ts';

export const listen: RunCommand = async (args, io) => {
  const { values } = parseOptions(args, {
    ...serviceOptions,
    'forward-to': { type: 'string' },
    events: { type: 'string' },
    expect: { type: 'string' },
    timeout: { type: 'string' },
    json: { type: 'boolean' },
    'print-secret': { type: 'boolean' },
  });
  if (values['print-secret']) {
    io.out(`${secretOf(apiKeyOf(io))}\n`);
    return 0;
  }
  const access = serviceAccess(values, io.env);
  if (values['forward-to'] === undefined) throw new UsageError('Give the address of the receiver with --forward-to.');
  const url = httpUrl(values['forward-to'], 'The address of the receiver');
  const types = values.events === undefined ? undefined : typesIn(values.events);
  const count = values.expect === undefined ? undefined : countIn(values.expect);
  const timeoutMs = values.timeout === undefined ? undefined : durationIn(values.timeout);
  if (timeoutMs !== undefined && count === undefined)
    throw new UsageError('--timeout needs --expect, the number of events that must arrive in this time.');

  const secret = secretOf(access.key);
  io.error(`The receiver verifies the events with the secret ${secret}\n`);
  const over = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => over.abort(), timeoutMs);
  const signal = AbortSignal.any([io.signal, over.signal]);
  let accepted = 0;
  try {
    const report = (line: string) => io.error(`${line}\n`);
    for await (const event of eventsOf(access, { types, signal, report })) {
      const forwarded = await forward(event, { url, secret, signal });
      io.out(lineOf(forwarded, values.json === true));
      if (isAccepted(forwarded)) accepted += 1;
      if (accepted === count) return 0;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  if (count === undefined) return 0;
  io.error(`The receiver accepted ${accepted} of ${count} events.\n`);
  return 1;
};

/** @throws UsageError if the variable is missing */
function apiKeyOf({ env }: Pick<CommandIo, 'env'>): string {
  const placeholders = { 'api-url': 'http://localhost', club: 'none' };
  return serviceAccess(placeholders, env).key;
}

/** @throws UsageError for an unknown type */
function typesIn(text: string): WebhookEventTypeInput[] {
  const sentTypes = eventTypes.filter((type) => type !== 'webhook.test');
  const types = text.split(',').map((name) => {
    const type = sentTypes.find((one) => one === name.trim());
    if (type) return type;
    throw new UsageError(`There is no event ${JSON.stringify(name.trim())}. The events are ${sentTypes.join(', ')}.`);
  });
  return [...new Set(types)];
}

/** @throws UsageError if the text is no number of events */
function countIn(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--expect must be a number of events, from 1 to 999999.');
  return Number(text);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** @throws UsageError if the text is no duration of at most a day */
function durationIn(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,8})(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? 0);
  if (ms < 1 || ms > 86_400_000) throw new UsageError('--timeout must be a duration such as 500ms, 60s or 5m.');
  return ms;
}
