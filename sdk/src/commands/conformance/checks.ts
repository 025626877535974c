/** The conformance checks: what a receiver must do by Standard Webhooks, and by the rules of this service (SDK-10). */
import {
  eventTypes,
  exampleEvent,
  foreignSecret,
  signed,
  type DeliveryHeaders,
  type SentEvent,
  type SignedDelivery,
} from './deliveries.ts';
import type { Answer } from './post.ts';
import { accepted, refused, type Finding } from './verdicts.ts';

/** The receiver under test. */
export interface Receiver {
  readonly secret: string;
  /** Posts a delivery. The answers to all deliveries that a receiver must accept are judged for their time. */
  send(delivery: SignedDelivery): Promise<Answer>;
}

export interface Check {
  readonly name: string;
  run(receiver: Receiver): Promise<Finding>;
}

const minuteMs = 60_000;
/** The bodies of today have a few kilobytes. A later version may add fields. */
const largeBytes = 65_536;
const simultaneous = 16;

/** The checks in the order in which they run. The first delivery was accepted before. */
export const checks: readonly Check[] = [
  {
    name: 'event types',
    run: (receiver) =>
      mustAccept(
        receiver,
        eventTypes.map((type) => exampleEvent(type)),
        'Answer 2xx to every type of the contract, also to types that you ignore.',
      ),
  },
  {
    name: 'duplicate',
    async run(receiver) {
      const event = exampleEvent('student.updated');
      const at = Date.now();
      const { secret } = receiver;
      const answers = [
        await receiver.send(signed(event, { secrets: [secret], at })),
        await receiver.send(signed(event, { secrets: [secret], at: at + 1_000 })),
        await receiver.send(signed(event, { secrets: [secret], at })),
      ];
      return unseen(
        accepted(answers, 'Answer 2xx to a webhook-id that you know. Otherwise the service sends it again.'),
        `Not visible from outside: look whether your program handled ${event.id} once.`,
      );
    },
  },
  {
    name: 'reordering',
    async run(receiver) {
      const at = Date.now();
      const [older, newer] = [at - minuteMs, at].map((time) =>
        exampleEvent('student.updated', { occurred_at: new Date(time).toISOString() }),
      ) as [SentEvent, SentEvent];
      return unseen(
        await mustAccept(
          receiver,
          [newer, older],
          'Answer 2xx to an event that is older than the state that you have, and ignore it.',
        ),
        `Not visible from outside: event ${newer.id} must win over the older ${older.id}.`,
      );
    },
  },
  {
    name: 'stale timestamp',
    run: (receiver) =>
      mustRefuse(
        receiver,
        [{ at: Date.now() - 6 * minuteMs }],
        'Refuse a webhook-timestamp more than 5 minutes old. Otherwise a recorded request can be sent again.',
      ),
  },
  {
    name: 'future timestamp',
    run: (receiver) =>
      mustRefuse(
        receiver,
        [{ at: Date.now() + 6 * minuteMs }],
        'Refuse a webhook-timestamp more than 5 minutes ahead of your clock.',
      ),
  },
  {
    name: 'clock tolerance',
    async run(receiver) {
      const answers = await inTurn([-4, 4], (minutes) =>
        receiver.send(
          signed(exampleEvent('student.updated'), {
            secrets: [receiver.secret],
            at: Date.now() + minutes * minuteMs,
          }),
        ),
      );
      const finding = accepted(answers, 'Allow 5 minutes in both directions, because no two clocks agree.');
      return finding.verdict === 'fail' ? { ...finding, verdict: 'warn' } : finding;
    },
  },
  {
    name: 'two signatures',
    async run(receiver) {
      const other = foreignSecret();
      const answers = await inTurn(
        [
          [other, receiver.secret],
          [receiver.secret, other],
        ],
        (secrets) => receiver.send(signed(exampleEvent('student.updated'), { secrets })),
      );
      return accepted(
        answers,
        'Split webhook-signature at its spaces, and accept the delivery if any entry is right. A rotation sends two.',
      );
    },
  },
  {
    name: 'other versions',
    async run(receiver) {
      const other = `v1a,${Buffer.alloc(64, 7).toString('base64')}`;
      const orders = [(right: string) => `${other} ${right}`, (right: string) => `${right} ${other}`];
      const answers = await inTurn(orders, (combined) => {
        const delivery = signed(exampleEvent('student.updated'), { secrets: [receiver.secret] });
        const right = delivery.headers['webhook-signature'] ?? '';
        return receiver.send(withHeaders(delivery, { 'webhook-signature': combined(right) }));
      });
      return accepted(answers, 'Ignore signatures of versions other than v1: a later version may add one.');
    },
  },
  {
    name: 'wrong signature',
    run: (receiver) =>
      mustRefuse(
        receiver,
        [{ secrets: [foreignSecret()] }, { secrets: [foreignSecret(), foreignSecret()] }],
        'Compare the signature before you do anything else. Strangers can send to this address, too.',
      ),
  },
  {
    name: 'missing header',
    run: (receiver) =>
      mustRefuse(
        receiver,
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
          change: (delivery) => withoutHeader(delivery, name),
        })),
        'Refuse a request without webhook-id, webhook-timestamp or webhook-signature.',
      ),
  },
  {
    name: 'altered body',
    run: (receiver) =>
      mustRefuse(
        receiver,
        [
          { change: (delivery) => ({ ...delivery, body: delivery.body.replace('example.com', 'example.net') }) },
          { change: (delivery) => ({ ...delivery, body: `${delivery.body} ` }) },
        ],
        'Compute the signature over the bytes of the body that arrived.',
      ),
  },
  {
    name: 'altered headers',
    run: (receiver) =>
      mustRefuse(
        receiver,
        [
          { change: (delivery) => withHeaders(delivery, { 'webhook-id': crypto.randomUUID() }) },
          {
            change: (delivery) =>
              withHeaders(delivery, {
                'webhook-timestamp': String(Number(delivery.headers['webhook-timestamp']) + 1),
              }),
          },
        ],
        'Compute the signature over {webhook-id}.{webhook-timestamp}.{body} with the values of the headers.',
      ),
  },
  {
    name: 'raw bytes',
    async run(receiver) {
      const event = exampleEvent('student.updated');
      const body = JSON.stringify(event, null, 1).replace('Ada', String.raw`\u0041da`);
      return accepted(
        [await receiver.send(signed(event, { secrets: [receiver.secret], body }))],
        'Verify the bytes as they arrived, before anything parses them. Parsed and printed JSON has other bytes.',
      );
    },
  },
  {
    name: 'large body',
    run: (receiver) =>
      mustAccept(
        receiver,
        [withinData(exampleEvent('student.updated'), { name: 'A'.repeat(largeBytes) })],
        'Accept bodies up to 64 KiB at least.',
      ),
  },
  {
    name: 'unicode',
    run: (receiver) =>
      mustAccept(
        receiver,
        unicodeNames.map((name) => withinData(exampleEvent('student.updated'), { name })),
        'Read the body as bytes, and decode it as UTF-8 only after the signature is verified.',
      ),
  },
  {
    name: 'unknown type',
    run: (receiver) =>
      mustAccept(
        receiver,
        [exampleEvent('student.updated', { type: 'conformance.unknown_type', data: { conformance: { id: 'a' } } })],
        'Answer 2xx to a type that you do not know, and ignore it.',
      ),
  },
  {
    name: 'unknown fields',
    run: (receiver) =>
      mustAccept(
        receiver,
        [withinData(exampleEvent('student.updated', { added_field: [1, { a: true }] }), { added_field: { b: 'c' } })],
        'Ignore fields that you do not know: a later version may add some.',
      ),
  },
  {
    name: 'burst',
    async run(receiver) {
      const deliveries = Array.from({ length: simultaneous }, () =>
        signed(exampleEvent('student.updated'), { secrets: [receiver.secret] }),
      );
      return accepted(
        await Promise.all(deliveries.map((delivery) => receiver.send(delivery))),
        `Accept ${simultaneous} deliveries at the same time: after a pause the service sends many together.`,
      );
    },
  },
];

/** Right-to-left, CJK, emoji with joiners, combining marks, a character outside the first plane, and separators of lines. */
const unicodeNames: readonly string[] = [
  'آدا نور',
  'עדה',
  '学生 一郎 학생',
  '👩🏽‍🏫🪢🇧🇷',
  'Zoe\u0308 A\u0301\u0328',
  '𝒜𠮷',
  'a\u2028b\u2029c',
];

/** One false delivery: a change of a valid one. */
interface Forgery {
  readonly secrets?: readonly string[];
  readonly at?: number;
  readonly change?: (delivery: SignedDelivery) => SignedDelivery;
}

async function mustAccept(receiver: Receiver, events: readonly SentEvent[], advice: string): Promise<Finding> {
  const answers = await inTurn(events, (event) => receiver.send(signed(event, { secrets: [receiver.secret] })));
  return accepted(answers, advice);
}

async function mustRefuse(receiver: Receiver, forgeries: readonly Forgery[], advice: string): Promise<Finding> {
  const answers = await inTurn(forgeries, ({ secrets = [receiver.secret], at = Date.now(), change }) => {
    const delivery = signed(exampleEvent('student.updated'), { secrets, at });
    return receiver.send(change ? change(delivery) : delivery);
  });
  return refused(answers, advice);
}

async function inTurn<Item, Result>(items: readonly Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await run(item));
  return results;
}

/** @returns the finding with a note about what the check cannot see, if the receiver passed */
const unseen = (finding: Finding, note: string): Finding =>
  finding.verdict === 'pass' ? { ...finding, advice: note } : finding;

const withHeaders = (delivery: SignedDelivery, headers: DeliveryHeaders): SignedDelivery => ({
  ...delivery,
  headers: { ...delivery.headers, ...headers },
});

function withoutHeader(delivery: SignedDelivery, name: string): SignedDelivery {
  const { [name]: _removed, ...headers } = delivery.headers;
  return { ...delivery, headers };
}

/** @returns the event with these fields of its student */
function withinData(event: SentEvent, fields: object): SentEvent {
  const data = event.data as { student: object };
  return { ...event, data: { ...data, student: { ...data.student, ...fields } } };
}
