/** The mail server for bulk mail, its log, and the list of mails that must not be sent any more. */
import { compileEmail } from '../../../../domain/mail/content/compile.ts';
import { resubscribe, unsubscribe } from '../../../../domain/mail/suppressions/preferences.ts';
import { outcomeUnknown } from '../../../../domain/mail/sending/recipients.policy.ts';
import { addSuppression } from '../../../../domain/mail/suppressions/suppressions.ts';
import { mailgunReader } from '../../../../domain/mail/notices/providers/mailgun.ts';
import { readPostmarkNotice } from '../../../../domain/mail/notices/providers/postmark.ts';
import { recordEvents, recordNotice } from '../../../../domain/mail/notices/record-events.ts';
import { unsubscribeToken, type MailKind } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { mailgunNotice, postmarkNotice, type ReportedMail } from '../../../../dev/clients/mail-providers.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { HandedMessage, HandOver, SmtpHandOver } from '../../../../platform/infra/smtp/smtp-hand-over.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command } from '../stage.ts';
import { addressOf, searchForTraces, type Footing } from './ground.ts';

/** The reactions of the server to a message: whether it accepts the message, and the answer to the sender. */
const moods = {
  accepts: { isAccepted: true, answer: { kind: 'accepted', reply: '250 ok' } },
  'is slow': { isAccepted: true, answer: { kind: 'accepted', reply: '250 ok' }, slow: true },
  'defers mail': { isAccepted: false, answer: { kind: 'refused', permanent: false, reply: '451 later' } },
  'rejects mail': { isAccepted: false, answer: { kind: 'refused', permanent: true, reply: '550 no' } },
  'is away': { isAccepted: false, answer: { kind: 'not_sent', reply: 'ECONNREFUSED' } },
  'takes mail and hangs up': { isAccepted: true, answer: { kind: 'unknown' } },
  'hangs up': { isAccepted: false, answer: { kind: 'unknown' } },
  'defers mail after a while': {
    isAccepted: false,
    answer: { kind: 'refused', permanent: false, reply: '451 later' },
    slow: true,
  },
  'takes mail and hangs up after a while': { isAccepted: true, answer: { kind: 'unknown' }, slow: true },
} as const satisfies Record<string, { isAccepted: boolean; answer: HandOver; slow?: true }>;
type Mood = keyof typeof moods;

interface HandedMail {
  key: Id;
  to: string;
  at: number;
  endedAt: number | undefined;
  isAccepted: boolean;
  answer: HandOver;
}

/** A condition that selects mails which a command has forbidden, so that no worker may hand them over any more. */
interface Ban {
  reason: string;
  concerns: (handed: Pick<HandedMail, 'key' | 'to'>) => boolean;
}

const connections = 2;

/** Matches every address. */
export const anyAddress = '*';

/** A mail server, and the invariants of bulk mail that concern the server. */
export class MailServer {
  readonly log: HandedMail[] = [];
  readonly #sim: Simulation;
  readonly #leaseMs: (key: Id) => number;
  readonly #bans = new Map<string, Ban>();
  /**
   * The invariants that the product broke. The errors are thrown later, because the product would treat an error of this server as an
   * answer.
   */
  readonly #broken: { invariant: string; details: string }[] = [];
  #mood: Mood = 'accepts';

  /** @param leaseMs returns how long a process may work on a mail after its claim */
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

  connect(): SmtpHandOver {
    let idle = connections;
    const waiting: ((isFree: boolean) => void)[] = [];
    const take = (limitMs?: number): Promise<boolean> => {
      if (idle > 0) {
        idle--;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (limitMs === undefined) return;
        setTimeout(() => {
          const position = waiting.indexOf(resolve);
          if (position === -1) return;
          waiting.splice(position, 1);
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
    let handedMail: HandedMail | undefined;
    let isSlow = false;
    const answer = await this.#sim.outside(`mail ${key}`, () => {
      this.#judge({ key, to });
      const mood: { isAccepted: boolean; answer: HandOver; slow?: true } = moods[this.#mood];
      handedMail = {
        key,
        to,
        at: this.#sim.time.now,
        endedAt: undefined,
        isAccepted: mood.isAccepted,
        answer: mood.answer,
      };
      isSlow = mood.slow === true;
      this.log.push(handedMail);
      for (const tell of this.#curious.splice(0)) tell(key);
      return handedMail.answer;
    });
    if (isSlow) await new Promise((resolve) => void setTimeout(resolve, 40_000));
    if (handedMail) handedMail.endedAt = this.#sim.time.now;
    return answer;
  }

  #judge(mail: Pick<HandedMail, 'key' | 'to'>): void {
    const { now } = this.#sim.time;
    const isUnderWay = this.log.some(
      ({ key, at, endedAt }) => key === mail.key && endedAt === undefined && now - at < this.#leaseMs(key),
    );
    if (isUnderWay && !this.#sim.slow)
      this.#broken.push({ invariant: 'one attempt at a time', details: `mail ${mail.key} is sent twice at a time` });
    for (const { reason, concerns } of this.#bans.values())
      if (concerns(mail))
        this.#broken.push({ invariant: 'no forbidden mail is sent', details: `mail ${mail.key}: ${reason}` });
  }

  expectNothingBroken(): void {
    const [broken] = this.#broken;
    mustHold(broken === undefined, broken?.invariant ?? '', () => broken?.details ?? '');
  }

  /**
   * Forbids these mails, except mails that are claimed or being claimed.
   * @param mails an SQL condition on the table `mails`; its parameter `$1` is `of`
   * @param to an address to which later mails are forbidden, too; `anyAddress` for all addresses
   */
  async forbid(name: string, reason: string, { mails, of, to }: { mails: string; of: Id; to?: string }): Promise<void> {
    const rows = await this.#sim.postgres.ask<{ id: Id; waits: boolean }>(
      `WITH waiting AS (SELECT id FROM mails WHERE ${mails} AND status = 'pending' FOR UPDATE SKIP LOCKED)
       SELECT id, id IN (SELECT id FROM waiting) AS waits FROM mails WHERE ${mails}`,
      [of],
    );
    const waiting = new Set(rows.filter(({ waits }) => waits).map(({ id }) => id));
    const underWay = new Set(rows.filter(({ waits }) => !waits).map(({ id }) => id));
    const concerns = (mail: Pick<HandedMail, 'key' | 'to'>) =>
      waiting.has(mail.key) || ((to === anyAddress || mail.to === to) && !underWay.has(mail.key));
    this.#bans.set(name, { reason, concerns });
  }

  allow(name: string): void {
    this.#bans.delete(name);
  }

  /**
   * Waits until a mail is handed over but not yet recorded, so that the next command runs at this moment.
   * @returns the id of the mail; undefined if no mail is handed over within the time limit
   */
  async somethingUnderWay(limitMs = 60_000): Promise<Id | undefined> {
    const { now } = this.#sim.time;
    const handedMail = this.log.findLast(
      ({ key, at, endedAt }) => endedAt === undefined && now - at < this.#leaseMs(key),
    );
    if (handedMail) return handedMail.key;
    return new Promise((resolve) => {
      this.#curious.push(resolve);
      setTimeout(() => resolve(undefined), limitMs);
    });
  }
  #curious: ((key: Id) => void)[] = [];

  acceptedTimes(key: Id): number {
    return this.log.filter((handed) => handed.key === key && handed.isAccepted).length;
  }

  /**
   * Expects that each row of `mails` agrees with the server (CAMP-6). The system sends each mail at most once. If a mail may be lost, the
   * row must have the outcome `unknown`.
   * @param again a function that returns how many times a command allowed the mail to be sent again
   */
  async expectStories(again: (mail: BulkMail) => number): Promise<BulkMail[]> {
    const rows = await this.#sim.postgres.ask<BulkMail>(
      `SELECT id, campaign_id AS "campaignId", run_id AS "runId", step_id AS "stepId", digest_id AS "digestId", student_id AS "studentId", status, fence, attempt_count AS attempts,
              last_error AS error, skip_reason AS reason, student_email AS email FROM mails ORDER BY seq`,
    );
    for (const row of rows) {
      const { id, status, fence, error } = row;
      const handedMails = this.log.filter(({ key }) => key === id);
      const acceptedCount = this.acceptedTimes(id);
      const about = () =>
        `mail ${id} (${status} ${error ?? row.reason ?? ''}): accepted ${acceptedCount} times, handed over ${handedMails.length} times, ${fence} claims`;
      const isUnknown = status === 'failed' && error === outcomeUnknown;
      mustHold(status !== 'sending', 'all work ends', about);
      mustHold(acceptedCount <= 1 + again(row), 'no effect happens twice', about);
      mustHold(status !== 'sent' || acceptedCount > 0, 'a recorded effect has happened', about);
      mustHold(
        acceptedCount === 0 || status === 'sent' || isUnknown || again(row) > 0,
        'an effect that happened is recorded',
        about,
      );
      mustHold(handedMails.length <= fence, 'a process claims a mail before each hand-over', about);
      const isCut = this.#sim.cuts > 0 || this.#sim.slow;
      mustHold(
        !isUnknown || isCut || handedMails.some(({ answer }) => answer.kind === 'unknown'),
        'no known outcome is recorded as unknown',
        about,
      );
      mustHold(
        status !== 'failed' ||
          isUnknown ||
          handedMails.some(({ answer }) => answer.kind === 'refused' || answer.kind === 'not_sent'),
        'a recorded effect has happened',
        about,
      );
    }
    const known = new Set(rows.map(({ id }) => id));
    this.#known = known;
    return rows;
  }
  #known: ReadonlySet<Id> = new Set();

  expectNoOthers(others: ReadonlySet<Id>): void {
    const stranger = this.log.find(({ key }) => !this.#known.has(key) && !others.has(key));
    mustHold(stranger === undefined, 'an effect that happened is recorded', () => `mail ${stranger?.key} has no row`);
  }
}

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

/**
 * The commands of recipients and providers: students unsubscribe, resubscribe, are removed and are suppressed, and a provider reports
 * events of mails.
 */
export function recipients(
  sim: Simulation,
  { vault }: Footing,
  { server, clubId, kind }: { server: MailServer; clubId: Id; kind: MailKind },
) {
  const removed = new Set<Id>();
  /** The events whose notices were answered. */
  const reported: (ReportedMail & { mailId: Id })[] = [];
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
              await server.forbid(`left ${studentId}`, 'the student has unsubscribed', mailsOf(studentId));
            },
          };
        case 2:
          return {
            label: `${studentId} comes back`,
            async run() {
              try {
                await resubscribe({ ...deps, publicUrl: 'https://api.example.com' }, clubId, token);
              } finally {
                server.allow(`left ${studentId}`); // runs even if the commit succeeded and only its answer was lost
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
          const event = decisions.pick(['delivered', 'bounced', 'soft_bounced', 'complained'] as const);
          const provider = decisions.pick(['postmark', 'mailgun'] as const);
          const times = decisions.pick([1, 1, 2] as const);
          return {
            label: `${provider} reports ${times} times that a mail was ${event}`,
            async run() {
              const acceptedMails = server.log.filter((handed) => handed.isAccepted);
              const about = acceptedMails[lot % Math.max(1, acceptedMails.length)];
              if (!about) return;
              const at = new Date(Math.floor(sim.time.now / 1_000) * 1_000);
              const post = receiverOf(sim, provider, { kind: event, at, mailId: about.key });
              for (let time = 0; time < times; time++) await post();
              reported.push({ mailId: about.key, kind: event, at });
            },
          };
        }
        default:
          return remove(studentId);
      }
    },
    remove,
    /** Expects that each reported event is recorded, with this time or an earlier one (BNC-8). */
    async expectReported(): Promise<void> {
      const rows = await sim.postgres.ask<Record<ReportedMail['kind'], Date | null> & { id: Id }>(
        `SELECT id, delivered_at AS delivered, bounced_at AS bounced, soft_bounced_at AS soft_bounced, complained_at AS complained FROM mails`,
      );
      for (const { mailId, kind: event, at } of reported) {
        const recordedAt = rows.find(({ id }) => id === mailId)?.[event];
        mustHold(
          recordedAt !== undefined && recordedAt !== null && recordedAt.getTime() <= at.getTime(),
          'an effect that happened is recorded',
          () => `mail ${mailId} was ${event} at ${at.toISOString()}, but its row says ${String(recordedAt)}`,
        );
      }
    },
    async expectNoTraces(): Promise<void> {
      for (const id of removed) await searchForTraces(sim, id);
    },
  };
}

const signingKey = new Secret('a-signing-key-of-the-simulation');

/** @returns a function that receives the notice of this event, the same bytes at each call */
function receiverOf(
  { db, time }: Simulation,
  provider: 'postmark' | 'mailgun',
  mail: ReportedMail & { mailId: Id },
): () => Promise<unknown> {
  const signedAt = new Date(time.now);
  const token = `${mail.mailId} ${mail.kind} ${mail.at.getTime()}`;
  const { raw } =
    provider === 'postmark' ? postmarkNotice(mail) : mailgunNotice(mail, signingKey.reveal(), { signedAt, token });
  const read = provider === 'postmark' ? readPostmarkNotice : mailgunReader(signingKey);
  return async () => {
    const received = new Date(time.now);
    const { events, receipt } = read({ raw: Buffer.from(raw), header: () => '', now: received });
    return receipt === undefined ? recordEvents(db, events, received) : recordNotice(db, { events, receipt }, received);
  };
}

let compiler: Promise<unknown> | undefined;
/** Compiles the mail once before the schedule, because a schedule has no step for the reading of a file. */
export function loadCompiler(): Promise<unknown> {
  const blocks = [{ kind: 'button' as const, text: 'Read', url: 'https://example.com/news' }];
  return (compiler ??= compileEmail(
    { subject: 'News', blocks },
    { clubName: 'Knots', postalAddress: 'Quay 1', language: 'en' },
  ));
}
