/** Retention with a fast clock: what is kept for days is kept for minutes. */
import { deleteEndedAnswerLogs } from '../../../domain/agents/answers/answer-logs.ts';
import { answerRules } from '../../../domain/agents/answers/answers.policy.ts';
import { contexts, type RetentionJob } from '../../../domain/contexts.ts';
import { removeExpiredTokens, tokenLifetimeMs } from '../../../domain/mail/codes/one-time-tokens.ts';
import { retainMailEvents } from '../../../domain/mail/retention.ts';
import { eventRetentionMs } from '../../../domain/mail/retention.policy.ts';
import { mediaRules } from '../../../domain/media/media.policy.ts';
import { retentionRules } from '../../../domain/webhooks/deliveries/retention.policy.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

type Deps = Parameters<RetentionJob['run']>[0];
type Round = Awaited<ReturnType<RetentionJob['run']>>;

const dayMs = 86_400_000;
/** How old what has a time may become here. Longer than a delivery, a mail, a notice or an upload may take while things are killed. */
const keptForMs = 20 * 60_000;

interface Kept {
  /** For how long the product keeps what the job removes first. The clock of each job is ahead by its own time. */
  ms: number;
  run: (deps: Deps, now: Date) => Promise<Round>;
}

const jobsOf = (name: keyof typeof contexts, ms: number): Kept[] =>
  (contexts[name].retention as readonly RetentionJob[]).map(({ run }) => ({ ms, run }));

const kept: readonly Kept[] = [
  ...jobsOf('webhooks', retentionRules.attemptMs),
  ...jobsOf('sales', 90 * dayMs),
  // Not the day that a late part of an upload has: an upload that is under way would be over at once.
  ...jobsOf('media', mediaRules.completionMs),
  { ms: eventRetentionMs, run: ({ db }, now) => retainMailEvents(db, now) },
  // People here confirm an address, or are invited as buyers: tokens with a shorter life are not issued. An expired one stays for a day.
  { ms: tokenLifetimeMs.student_verify_email + dayMs, run: removeTokens },
  {
    ms: answerRules.logMs,
    async run({ db }, now) {
      return { rows: { answerLogs: await deleteEndedAnswerLogs(db, now) }, more: false };
    },
  },
];

/** Invitations of a week end with the confirmations of a day, so that one clock does for both. */
async function removeTokens({ db }: Deps, now: Date): Promise<Round> {
  await db.run(
    sql`UPDATE one_time_tokens SET expires_at = expires_at - ${tokenLifetimeMs.student_invitation - tokenLifetimeMs.student_verify_email} * interval '1 ms'
         WHERE purpose = 'student_invitation' AND expires_at > created_at + interval '2 days'`,
  );
  return removeExpiredTokens(db, now);
}

/** Runs each job until nothing is left to do. @returns how many rows they changed */
export async function retainFast(deps: Deps): Promise<number> {
  let changed = 0;
  for (const { ms, run } of kept) {
    for (let more = true; more;) {
      const done = await run(deps, new Date(Date.now() + ms - keptForMs));
      changed += Object.values(done.rows).reduce((sum, count) => sum + count, 0);
      more = done.more;
    }
  }
  return changed;
}
