/** Runs retention with a clock that is ahead, so that data which the product keeps for days is removed after minutes. */
import { deleteEndedAnswerLogs } from '../../../domain/agents/answers/answer-logs.ts';
import { answerRules } from '../../../domain/agents/answers/answers.policy.ts';
import { contexts } from '../../../domain/contexts.ts';
import type { RetentionJob } from '../../../domain/questions.ts';
import { removeExpiredTokens, tokenLifetimeMs } from '../../../domain/mail/codes/one-time-tokens.ts';
import { retainMailEvents } from '../../../domain/mail/retention.ts';
import { eventRetentionMs } from '../../../domain/mail/retention.policy.ts';
import { mediaRules } from '../../../domain/media/media.policy.ts';
import { retentionRules } from '../../../domain/webhooks/deliveries/retention.policy.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

type Deps = Parameters<RetentionJob['run']>[0];
type Round = Awaited<ReturnType<RetentionJob['run']>>;

const dayMs = 86_400_000;
/** A soak keeps data for this long. Every delivery, mail, notice or upload is faster, even if processes are killed. */
const lifetimeMs = 20 * 60_000;

interface FastJob {
  /**
   * The shortest usual lifetime of data that this job removes. The clock of the job is ahead by this lifetime minus the lifetime in a soak.
   */
  ms: number;
  run: (deps: Deps, now: Date) => Promise<Round>;
}

const jobsOf = (name: keyof typeof contexts, ms: number): FastJob[] =>
  (contexts[name].retention as readonly RetentionJob[]).map(({ run }) => ({ ms, run }));

const fastJobs: readonly FastJob[] = [
  ...jobsOf('webhooks', retentionRules.attemptMs),
  ...jobsOf('sales', 90 * dayMs),
  // Upload parts that arrive late have a longer lifetime. A clock that is ahead by that lifetime would end uploads in progress.
  ...jobsOf('media', mediaRules.completionMs),
  { ms: eventRetentionMs, run: ({ db }, now) => retainMailEvents(db, now) },
  // All tokens of the soak confirm an address or invite a buyer. A confirmation has the shorter lifetime. An expired token remains for a
  // day.
  { ms: tokenLifetimeMs.student_verify_email + dayMs, run: removeTokens },
  {
    ms: answerRules.logMs,
    async run({ db }, now) {
      return { rows: { answerLogs: await deleteEndedAnswerLogs(db, now) }, more: false };
    },
  },
];

/**
 * Shortens the lifetime of invitations from a week to a day, because confirmations have this lifetime. The job can then use one clock for
 * both.
 */
async function removeTokens({ db }: Deps, now: Date): Promise<Round> {
  await db.run(
    sql`UPDATE one_time_tokens SET expires_at = expires_at - ${tokenLifetimeMs.student_invitation - tokenLifetimeMs.student_verify_email} * interval '1 ms'
         WHERE purpose = 'student_invitation' AND expires_at > created_at + interval '2 days'`,
  );
  return removeExpiredTokens(db, now);
}

export async function retainFast(deps: Deps): Promise<number> {
  let changed = 0;
  for (const { ms, run } of fastJobs) {
    for (let more = true; more;) {
      const round = await run(deps, new Date(Date.now() + ms - lifetimeMs));
      changed += Object.values(round.rows).reduce((sum, count) => sum + count, 0);
      more = round.more;
    }
  }
  return changed;
}
