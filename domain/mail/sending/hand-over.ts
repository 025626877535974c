/**
 * Hands a page of bulk mails to the mail server, over all connections in parallel, for some seconds. Each mail is claimed in its own
 * transaction just before the hand-over, and its result is recorded afterwards (CAMP-6). The caller passes functions that claim, compose
 * and record a mail.
 */
import { gathered } from '../../../platform/core/gathered.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import type { HandedMessage, HandOver, SmtpHandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { provenAt } from '../evidence.ts';
import { providerIdIn } from '../notices/mail-event.policy.ts';
import { recordWithRetries } from './record-outcome.ts';

/** The lease is longer than the SMTP client's limit for a message (60 s), so that a working sender never loses it. */
export const mailLeaseSeconds = 90;
/**
 * After this time a page claims no more mails. So a worker that stops waits only for mails that are already claimed, and the activity ends
 * within its time limit.
 */
const pageLimitMs = 10_000;
/**
 * If this many mails in a row do not reach the mail server, sending pauses. Otherwise an outage would use up the attempts of all
 * mails.
 */
const unreachedBeforePause = 20;

export interface HandOverDeps {
  /**
   * The mail server. A mail is claimed only when a connection is idle, so that no claimed mail must wait for a connection while its lease
   * runs.
   */
  smtp: Pick<SmtpHandOver, 'connections' | 'onConnection' | 'handOver'>;
  /** Tests kill the process at these points: `mail_claimed`, `mail_handed_over`, `mail_recorded`. */
  failpoint: (name: string) => Promise<void>;
}

/** `stopped`: sending must end. `passed`: the mail is skipped, or another worker has claimed it. */
export type ClaimOf<Claimed> = Claimed | 'stopped' | 'passed';

interface Page<Candidate, Claimed> {
  waiting: readonly Candidate[];
  /** Claims several mails in one statement: one mail for each idle connection. */
  claim: (candidates: readonly Candidate[]) => Promise<readonly ClaimOf<Claimed>[]>;
  compose: (claimed: Claimed) => HandedMessage;
  /**
   * Records the outcome. A second call with a committed outcome changes nothing.
   * @returns whether the page may claim and send more mails
   */
  record: (claimed: Claimed, answer: HandOver) => Promise<boolean>;
}

/** The outcome of a page of mails. */
export interface SentPage {
  handedOver: number;
  /** Whether too many mails in a row did not reach the mail server. */
  isUnreached: boolean;
}

export async function handOverPage<Candidate, Claimed extends object>(
  { smtp, failpoint }: HandOverDeps,
  { waiting, claim, compose, record }: Page<Candidate, Claimed>,
): Promise<SentPage> {
  const endsAt = performance.now() + pageLimitMs;
  const queue = [...waiting];
  let handedOver = 0;
  let unreached = 0;
  let continues = true;
  const claimOne = gathered(claim);
  const sendOne = async (candidate: Candidate) => {
    const claimed = await claimOne(candidate);
    if (claimed === 'stopped') continues = false;
    if (typeof claimed !== 'object') return;
    handedOver += 1;
    await failpoint('mail_claimed');
    const { answer, fault } = await handOver(smtp, () => compose(claimed));
    await failpoint('mail_handed_over');
    unreached = answer.kind === 'not_sent' ? unreached + 1 : 0;
    if (!(await recordWithRetries(() => record(claimed, answer)))) continues = false;
    if (unreached >= unreachedBeforePause) continues = false;
    if (fault !== undefined) throw fault;
    await failpoint('mail_recorded');
  };
  const mayContinue = () => continues && performance.now() < endsAt;
  const oneAfterAnother = async () => {
    try {
      for (let next = queue.shift(); next && mayContinue(); next = queue.shift()) {
        const candidate = next;
        await smtp.onConnection(async () => mayContinue() && sendOne(candidate));
      }
    } catch (error) {
      continues = false;
      throw error;
    }
  };
  const lanes = Array.from({ length: Math.min(smtp.connections, queue.length) }, oneAfterAnother);
  // Waits for all lanes, so that the next step does not start while a lane still sends.
  const ends = await Promise.allSettled(lanes);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return { handedOver, isUnreached: unreached >= unreachedBeforePause };
}

/** @returns `not_sent` with the error if `compose` failed, so that the mail is released before the error is thrown */
async function handOver(
  smtp: HandOverDeps['smtp'],
  compose: () => HandedMessage,
): Promise<{ answer: HandOver; fault?: unknown }> {
  try {
    return { answer: await smtp.handOver(compose()) };
  } catch (fault) {
    return { answer: { kind: 'not_sent', reply: 'not_composed' }, fault };
  }
}

/** A mail that the mail server accepted. */
interface AcceptedMail {
  id: Id;
  fence: number;
  /** The id that the provider uses in its notices; null if the server's reply has none. */
  providerId: string | null;
}

/**
 * Records mails that the server accepted. One statement also records the accepted mails of other connections. An acceptance is recorded
 * even after the lease has expired. At that time, the status of the mail may already be `failed`, or `pending` again.
 */
export function recorderOfAccepted(
  db: Database,
  now: Date,
): (mail: Pick<AcceptedMail, 'id' | 'fence'>, answer: HandOver) => Promise<unknown> {
  const record = gathered(async (mails: readonly AcceptedMail[]) => {
    await recordSentMails(db.source, {
      ids: mails.map(({ id }) => id),
      fences: mails.map(({ fence }) => fence),
      providerIds: mails.map(({ providerId }) => providerId),
      now,
    });
    return mails;
  });
  return ({ id, fence }, answer) =>
    record({ id, fence, providerId: (answer.kind === 'accepted' && providerIdIn(answer.reply)) || null });
}

const recordSentMails = prepared<
  object,
  { ids: readonly Id[]; fences: readonly number[]; providerIds: readonly (string | null)[]; now: Date }
>(
  'record_sent_mails',
  (
    value,
  ) => `UPDATE mails SET status = 'sent', sent_at = least(${value.now}, ${provenAt.render([])}), provider_id = accepted.provider_id, lease_until = NULL, last_error = NULL
      FROM unnest(${value.ids}::uuid[], ${value.fences}::int[], ${value.providerIds}::text[]) AS accepted (id, fence, provider_id)
     WHERE mails.id = accepted.id AND mails.fence = accepted.fence AND mails.status IN ('sending', 'pending', 'failed')`,
);
