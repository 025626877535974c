/**
 * Hands a page of bulk mails over, on all connections at once, for some seconds: each is claimed in a commit of its own, immediately
 * before it is handed over, and recorded after (CAMP-6). Who sends says how a mail is claimed, composed and recorded.
 */
import { gathered } from '../../../platform/core/gathered.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import type { HandedMessage, HandOver, SmtpHandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { provenAt } from '../evidence.ts';
import { providerIdIn } from '../notices/mail-event.policy.ts';
import { recordInTime } from './record-outcome.ts';

/** Longer than the SMTP client's limit for a message (60 s), so that a living sender never loses its lease. */
export const mailLeaseSeconds = 90;
/** A page claims no mail after so long: a stop of the worker, and Temporal's limit, wait for its last mails alone. */
const pageLimitMs = 10_000;
/** A mail server that so many in a row do not reach rests a while: an outage must not use up the attempts of all. */
const unreachedBeforeRest = 20;

export interface HandingOverDeps {
  /** The mail server: a mail is claimed only once a connection is idle, so that none waits while its lease runs. */
  smtp: Pick<SmtpHandOver, 'connections' | 'onConnection' | 'handOver'>;
  /** Where tests end the process: `mail_claimed`, `mail_handed_over`, `mail_recorded`. */
  failpoint: (name: string) => Promise<void>;
}

/** What becomes of a candidate: its claim; `stopped` where nothing goes on; `passed` where it is skipped or another has it. */
export type ClaimOf<Claimed> = Claimed | 'stopped' | 'passed';

interface Page<Candidate, Claimed> {
  waiting: readonly Candidate[];
  /** Claims several at once: one for each connection that is idle. */
  claim: (candidates: readonly Candidate[]) => Promise<readonly ClaimOf<Claimed>[]>;
  compose: (claimed: Claimed) => HandedMessage;
  /** Changes nothing where it was committed already. @returns whether the page goes on */
  record: (claimed: Claimed, answer: HandOver) => Promise<boolean>;
}

/** What a page came to. */
export interface SentPage {
  handedOver: number;
  /** The mail server was not reached, again and again. */
  isUnreached: boolean;
}

export async function handOverPage<Candidate, Claimed extends object>(
  { smtp, failpoint }: HandingOverDeps,
  { waiting, claim, compose, record }: Page<Candidate, Claimed>,
): Promise<SentPage> {
  const endsAt = performance.now() + pageLimitMs;
  const left = [...waiting];
  let handedOver = 0;
  let unreached = 0;
  let goesOn = true;
  const claimOne = gathered(claim);
  const sendOne = async (candidate: Candidate) => {
    const claimed = await claimOne(candidate);
    if (claimed === 'stopped') goesOn = false;
    if (typeof claimed !== 'object') return;
    handedOver += 1;
    await failpoint('mail_claimed');
    const { answer, fault } = await handOver(smtp, () => compose(claimed));
    await failpoint('mail_handed_over');
    unreached = answer.kind === 'not_sent' ? unreached + 1 : 0;
    if (!(await recordInTime(() => record(claimed, answer)))) goesOn = false;
    if (unreached >= unreachedBeforeRest) goesOn = false;
    if (fault !== undefined) throw fault;
    await failpoint('mail_recorded');
  };
  const mayGoOn = () => goesOn && performance.now() < endsAt;
  const oneAfterAnother = async () => {
    try {
      for (let next = left.shift(); next && mayGoOn(); next = left.shift()) {
        const candidate = next;
        await smtp.onConnection(async () => mayGoOn() && sendOne(candidate));
      }
    } catch (error) {
      goesOn = false;
      throw error;
    }
  };
  const lanes = Array.from({ length: Math.min(smtp.connections, left.length) }, oneAfterAnother);
  // All of them end before the step does: the next one must not find this one still at work.
  const ends = await Promise.allSettled(lanes);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return { handedOver, isUnreached: unreached >= unreachedBeforeRest };
}

/** @returns a fault of ours beside the answer that nothing was sent: the mail is given back first */
async function handOver(
  smtp: HandingOverDeps['smtp'],
  compose: () => HandedMessage,
): Promise<{ answer: HandOver; fault?: unknown }> {
  try {
    return { answer: await smtp.handOver(compose()) };
  } catch (fault) {
    return { answer: { kind: 'not_sent', reply: 'not_composed' }, fault };
  }
}

/** A mail that the server took. */
interface TakenMail {
  id: Id;
  fence: number;
  /** By what the provider tells of it, where its answer says that. */
  providerId: string | null;
}

/**
 * Records mails that the server took, together with those of other connections. An acceptance is believed after the lease was over,
 * too: the mail was given up, or is to go out again.
 */
export function recorderOfSent(
  db: Database,
  now: Date,
): (mail: Pick<TakenMail, 'id' | 'fence'>, answer: HandOver) => Promise<unknown> {
  const record = gathered(async (taken: readonly TakenMail[]) => {
    await recordSentMails(db.source, [
      taken.map(({ id }) => id),
      taken.map(({ fence }) => fence),
      taken.map(({ providerId }) => providerId),
      now,
    ]);
    return taken;
  });
  return ({ id, fence }, answer) =>
    record({ id, fence, providerId: (answer.kind === 'accepted' && providerIdIn(answer.reply)) || null });
}

const recordSentMails = prepared<object>(
  'record_sent_mails',
  `UPDATE mails SET status = 'sent', sent_at = least($4, ${provenAt.render([])}), provider_id = taken.provider_id, lease_until = NULL, last_error = NULL
      FROM unnest($1::uuid[], $2::int[], $3::text[]) AS taken (id, fence, provider_id)
     WHERE mails.id = taken.id AND mails.fence = taken.fence AND mails.status IN ('sending', 'pending', 'failed')`,
);
