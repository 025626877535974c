/** The mail server of bulk mail, with a log of its own, and whom it must not be given mail for. */
import { compileEmail } from '../../../../domain/mail/content/compile.ts';
import { resubscribe, unsubscribe } from '../../../../domain/mail/suppressions/preferences.ts';
import { outcomeUnknown } from '../../../../domain/mail/sending/recipients.policy.ts';
import { addSuppression } from '../../../../domain/mail/suppressions/suppressions.ts';
import { recordEvents } from '../../../../domain/mail/notices/record-events.ts';
import { unsubscribeToken, type MailKind } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { HandedMessage, HandOver, SmtpHandOver } from '../../../../platform/infra/smtp/smtp-hand-over.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command } from '../stage.ts';
import { addressOf, searchForTraces, type Footing } from './ground.ts';

/** What the server does with a message: whether it takes it, and what the sender hears. */
const moods = {
  accepts: { taken: true, answer: { kind: 'accepted', reply: '250 ok' } },
  'is slow': { taken: true, answer: { kind: 'accepted', reply: '250 ok' }, slow: true },
  'defers mail': { taken: false, answer: { kind: 'refused', permanent: false, reply: '451 later' } },
  'rejects mail': { taken: false, answer: { kind: 'refused', permanent: true, reply: '550 no' } },
  'is away': { taken: false, answer: { kind: 'not_sent', reply: 'ECONNREFUSED' } },
  'takes mail and hangs up': { taken: true, answer: { kind: 'unknown' } },
  'hangs up': { taken: false, answer: { kind: 'unknown' } },
  'defers mail after a while': {
    taken: false,
    answer: { kind: 'refused', permanent: false, reply: '451 later' },
    slow: true,
  },
  'takes mail and hangs up after a while': { taken: true, answer: { kind: 'unknown' }, slow: true },
} as const satisfies Record<string, { taken: boolean; answer: HandOver; slow?: true }>;
type Mood = keyof typeof moods;

/** A message as the server saw it. */
interface Handed {
  /** The mail's id. */
  key: Id;
  to: string;
  at: number;
  endedAt: number | undefined;
  taken: boolean;
  answer: HandOver;
}

/** Mails that must not be handed over any more, because somebody said so. */
interface Ban {
  why: string;
  concerns: (handed: Pick<Handed, 'key' | 'to'>) => boolean;
}

const connections = 2;

/** Every address. */
export const anybody = '*';

/** The server, and what the invariants of bulk mail ask of it. */
export class MailServer {
  readonly log: Handed[] = [];
  readonly #sim: Simulation;
  readonly #leaseMs: (key: Id) => number;
  readonly #bans = new Map<string, Ban>();
  /** Broken invariants: the product would take an error of the server's for an answer. */
  readonly #broken: { invariant: string; details: string }[] = [];
  #mood: Mood = 'accepts';

  /** @param leaseMs how long the claim of a mail holds */
  constructor(sim: Simulation, leaseMs: (key: Id) => number = () => 90_000) {
    this.#sim = sim;
    this.#leaseMs = leaseMs;
  }

  turn(mood: Mood): Command {
    return {
      label: `the mail server ${mood}`,
      run: () => {
        this.#mood = mood;
      },
    };
  }

  someMood(decisions: Decisions): Command {
    return this.turn(decisions.pick(Object.keys(moods) as Mood[]));
  }

  /** @returns the connections of a process */
  connect(): SmtpHandOver {
    let idle = connections;
    const waiting: ((taken: boolean) => void)[] = [];
    const take = (limitMs?: number): Promise<boolean> => {
      if (idle > 0) {
        idle--;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (limitMs === undefined) return;
        setTimeout(() => {
          const place = waiting.indexOf(resolve);
          if (place === -1) return;
          waiting.splice(place, 1);
          resolve(false);
        }, limitMs);
      });
    };
    const working = async <T>(work: () => Promise<T>) => {
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next(true);
        else idle++;
      }
    };
    return {
      connections,
      async onConnection(work) {
        await take();
        return working(work);
      },
      async onConnectionWithin(limitMs, work) {
        return (await take(limitMs)) ? working(work) : undefined;
      },
      handOver: (message) => this.#handOver(message),
      close: () => {},
    };
  }

  async #handOver({ messageId, to }: HandedMessage): Promise<HandOver> {
    const key = /^<([^@]+)@/.exec(messageId)?.[1] ?? '';
    let handed: Handed | undefined;
    let isSlow = false;
    const answer = await this.#sim.outside(`mail ${key}`, () => {
      this.#judge({ key, to });
      const mood: { taken: boolean; answer: HandOver; slow?: true } = moods[this.#mood];
      handed = { key, to, at: this.#sim.time.now, endedAt: undefined, taken: mood.taken, answer: mood.answer };
      isSlow = mood.slow === true;
      this.log.push(handed);
      for (const tell of this.#curious.splice(0)) tell(key);
      return handed.answer;
    });
    if (isSlow) await new Promise((resolve) => void setTimeout(resolve, 40_000));
    if (handed) handed.endedAt = this.#sim.time.now;
    return answer;
  }

  #judge(handed: Pick<Handed, 'key' | 'to'>): void {
    const { now } = this.#sim.time;
    const isUnderWay = this.log.some(
      ({ key, at, endedAt }) => key === handed.key && endedAt === undefined && now - at < this.#leaseMs(key),
    );
    if (isUnderWay && !this.#sim.slow)
      this.#broken.push({ invariant: 'one attempt at a time', details: `mail ${handed.key} is sent twice at a time` });
    for (const { why, concerns } of this.#bans.values())
      if (concerns(handed))
        this.#broken.push({ invariant: 'no mail to who is not to get it', details: `mail ${handed.key}: ${why}` });
  }

  /** @throws BrokenInvariant for what the server has seen */
  expectNothingBroken(): void {
    const [broken] = this.#broken;
    mustHold(broken === undefined, broken?.invariant ?? '', () => broken?.details ?? '');
  }

  /**
   * From now on these mails must not go out, except for what is on its way: claimed, or being claimed.
   * @param mails a condition of `mails` with $1
   * @param to also mails that are written later, to this address, or to anybody
   */
  async forbid(name: string, why: string, { mails, of, to }: { mails: string; of: Id; to?: string }): Promise<void> {
    const rows = await this.#sim.postgres.ask<{ id: Id; waits: boolean }>(
      `WITH waiting AS (SELECT id FROM mails WHERE ${mails} AND status = 'pending' FOR UPDATE SKIP LOCKED)
       SELECT id, id IN (SELECT id FROM waiting) AS waits FROM mails WHERE ${mails}`,
      [of],
    );
    const waiting = new Set(rows.filter(({ waits }) => waits).map(({ id }) => id));
    const underWay = new Set(rows.filter(({ waits }) => !waits).map(({ id }) => id));
    const concerns = (handed: Pick<Handed, 'key' | 'to'>) =>
      waiting.has(handed.key) || ((to === anybody || handed.to === to) && !underWay.has(handed.key));
    this.#bans.set(name, { why, concerns });
  }

  allow(name: string): void {
    this.#bans.delete(name);
  }

  /** Waits until a mail is on its way, so that whoever asks comes between its claim and its record. @returns its id; undefined for none in time */
  async somethingUnderWay(limitMs = 60_000): Promise<Id | undefined> {
    const { now } = this.#sim.time;
    const handed = this.log.findLast(({ key, at, endedAt }) => endedAt === undefined && now - at < this.#leaseMs(key));
    if (handed) return handed.key;
    return new Promise((resolve) => {
      this.#curious.push(resolve);
      setTimeout(() => resolve(undefined), limitMs);
    });
  }
  #curious: ((key: Id) => void)[] = [];

  /** @returns how often the server took it */
  takenTimes(key: Id): number {
    return this.log.filter((handed) => handed.key === key && handed.taken).length;
  }

  /**
   * Each row of `mails` tells what the server knows (CAMP-6): at most once by itself, and none that is lost without a word.
   * @param again how often somebody has said that a mail may go out twice
   */
  async expectStories(again: (mail: BulkMail) => number): Promise<BulkMail[]> {
    const rows = await this.#sim.postgres.ask<BulkMail>(
      `SELECT id, campaign_id AS "campaignId", run_id AS "runId", step_id AS "stepId", digest_id AS "digestId", student_id AS "studentId", status, fence, attempt_count AS attempts,
              last_error AS error, skip_reason AS reason, student_email AS email FROM mails ORDER BY seq`,
    );
    for (const row of rows) {
      const { id, status, fence, error } = row;
      const handed = this.log.filter(({ key }) => key === id);
      const taken = this.takenTimes(id);
      const about = () =>
        `mail ${id} (${status} ${error ?? row.reason ?? ''}): taken ${taken} times, handed over ${handed.length} times, ${fence} claims`;
      const isUnknown = status === 'failed' && error === outcomeUnknown;
      mustHold(status !== 'sending', 'everything ends', about);
      mustHold(taken <= 1 + again(row), 'no effect twice', about);
      mustHold(status !== 'sent' || taken > 0, 'what is recorded has happened', about);
      mustHold(taken === 0 || status === 'sent' || isUnknown || again(row) > 0, 'what has happened is recorded', about);
      mustHold(handed.length <= fence, 'each hand-over has a claim of its own', about);
      const isCut = this.#sim.cuts > 0 || this.#sim.slow;
      mustHold(
        !isUnknown || isCut || handed.some(({ answer }) => answer.kind === 'unknown'),
        'nothing is called unknown that is known',
        about,
      );
      mustHold(
        status !== 'failed' ||
          isUnknown ||
          handed.some(({ answer }) => answer.kind === 'refused' || answer.kind === 'not_sent'),
        'what is recorded has happened',
        about,
      );
    }
    const known = new Set(rows.map(({ id }) => id));
    this.#known = known;
    return rows;
  }
  #known: ReadonlySet<Id> = new Set();

  /** @param others messages that are no bulk mail */
  expectNoOthers(others: ReadonlySet<Id>): void {
    const stranger = this.log.find(({ key }) => !this.#known.has(key) && !others.has(key));
    mustHold(stranger === undefined, 'what has happened is recorded', () => `mail ${stranger?.key} has no row`);
  }
}

/** A row of `mails`. */
export interface BulkMail {
  id: Id;
  campaignId: Id | null;
  runId: Id | null;
  stepId: string | null;
  digestId: string | null;
  studentId: Id;
  status: string;
  fence: number;
  attempts: number;
  error: string | null;
  reason: string | null;
  email: string;
}

/** What recipients, and who tells of them, do: they leave, come back, are removed, are suppressed; a provider tells of their mails. */
export function recipients(
  sim: Simulation,
  { vault }: Footing,
  { server, clubId, kind }: { server: MailServer; clubId: Id; kind: MailKind },
) {
  const removed = new Set<Id>();
  const deps = { db: sim.db, vault };
  const now = () => new Date(sim.time.now);
  const mailsOf = (of: Id) => ({ mails: 'student_id = $1', of, to: addressOf(of) });

  const remove = (studentId: Id): Command => ({
    label: `remove ${studentId}`,
    async run() {
      await removeStudent(deps, clubId, studentId, now());
      removed.add(studentId);
      await server.forbid(`removed ${studentId}`, 'its student was removed', mailsOf(studentId));
    },
  });

  return {
    command(decisions: Decisions, studentId: Id): Command {
      const token = unsubscribeToken(vault, { kind, studentId });
      switch (decisions.choose(6)) {
        case 0:
        case 1:
          return {
            label: `${studentId} leaves`,
            async run() {
              await unsubscribe({ ...deps, publicUrl: 'https://api.example.com' }, clubId, token, now());
              await server.forbid(`left ${studentId}`, 'its student has left', mailsOf(studentId));
            },
          };
        case 2:
          return {
            label: `${studentId} comes back`,
            async run() {
              try {
                await resubscribe({ ...deps, publicUrl: 'https://api.example.com' }, clubId, token);
              } finally {
                server.allow(`left ${studentId}`); // also where the commit was not answered
              }
            },
          };
        case 3:
          return {
            label: `suppress ${studentId}`,
            async run() {
              await addSuppression(deps, clubId, addressOf(studentId), now());
              await server.forbid(`suppressed ${studentId}`, 'its address is suppressed', mailsOf(studentId));
            },
          };
        case 4: {
          const lot = decisions.choose(40);
          const what = decisions.pick(['delivered', 'bounced', 'complained'] as const);
          return {
            label: `a mail was ${what}`,
            async run() {
              const taken = server.log.filter((handed) => handed.taken);
              const about = taken[lot % Math.max(1, taken.length)];
              if (about)
                await recordEvents(
                  sim.db,
                  [{ kind: what, at: now(), mailId: about.key, providerId: undefined }],
                  now(),
                );
            },
          };
        }
        default:
          return remove(studentId);
      }
    },
    remove,
    async expectNoTraces(): Promise<void> {
      for (const id of removed) await searchForTraces(sim, id);
    },
  };
}

let compiler: Promise<unknown> | undefined;
/** Once, beforehand: a file that is read meanwhile is no step of a schedule. */
export function loadCompiler(): Promise<unknown> {
  const blocks = [{ kind: 'button' as const, text: 'Read', url: 'https://example.com/news' }];
  return (compiler ??= compileEmail(
    { subject: 'News', blocks },
    { clubName: 'Knots', postalAddress: 'Quay 1', language: 'en' },
  ));
}
