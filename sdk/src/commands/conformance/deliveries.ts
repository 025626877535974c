/** The deliveries that the conformance checks send: bodies made from the contract's examples, signed as the service signs them. */
import { Webhook } from 'standardwebhooks';
import { eventExamples } from '../../generated/event-examples.ts';

/** An event of the contract or of a later version. */
export interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly occurred_at: string;
  readonly data: object;
  readonly [field: string]: unknown;
}

export type DeliveryHeaders = Readonly<Record<string, string>>;

/** A request to the receiver. */
export interface SignedDelivery {
  /** The id of the event. */
  readonly id: string;
  readonly headers: DeliveryHeaders;
  /** The text of the body, which is sent in UTF-8. */
  readonly body: string;
}

export const eventTypes = Object.keys(eventExamples) as readonly (keyof typeof eventExamples)[];

/**
 * @param fields replace the fields of the example
 * @returns the contract's example of this type, with an id of its own, and the present time
 */
export function exampleEvent(
  type: keyof typeof eventExamples,
  fields: Readonly<Record<string, unknown>> = {},
): SentEvent {
  const example = eventExamples[type];
  return { ...example, id: crypto.randomUUID(), occurred_at: new Date().toISOString(), ...fields };
}

/**
 * Signs an event as the service signs it (SIG-1, SIG-2).
 * @param options.secrets one signature for each, in this order
 * @param options.at the time of the attempt in Unix milliseconds; now if absent
 * @param options.body the text of the body, if it is not the usual JSON of the event
 */
export function signed(
  event: SentEvent,
  options: { readonly secrets: readonly string[]; readonly at?: number; readonly body?: string },
): SignedDelivery {
  const { secrets, at = Date.now(), body = JSON.stringify(event) } = options;
  const time = new Date(at);
  const headers = {
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(at / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(event.id, time, body)).join(' '),
  };
  return { id: event.id, headers, body };
}

/** @returns a secret that the receiver does not know */
export function foreignSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${Buffer.from(bytes).toString('base64')}`;
}
