/** Decides the status of a mail domain after a check, and the time of the next check (CAMP-40). The functions are pure. */
import type { DomainStatus } from '../../../entities/mail/values.ts';

const hour = 3_600_000;
const day = 24 * hour;

const everyMs = day;
/** An unproven domain is checked more often at first, because the club is probably just publishing the records. */
const atFirst = { everyMs: hour, forMs: 3 * day };
/** The wait if no name server answered. */
const unansweredMs = hour;
/** A proven domain becomes unproven if no name server answers for this length of time. */
const longestSilenceMs = 3 * day;

/** The stored results of a domain's checks. */
export interface DomainStanding {
  status: DomainStatus;
  statusSince: Date;
  /** The warm-up starts at this time. */
  firstProvenAt: Date | null;
  /** The time at which the name servers last answered. */
  answeredAt: Date | null;
}

/**
 * @param answer `proven`: all records are correct. `unanswered`: no name server answered @returns the results after the check, and
 * the time of the next check
 */
export function afterCheck(
  before: DomainStanding,
  answer: 'proven' | 'not proven' | 'unanswered',
  now: Date,
): DomainStanding & { looksAt: Date } {
  const status = statusAfter(before, answer, now);
  const statusSince = status === before.status ? before.statusSince : now;
  const isNew = status !== 'proven' && now.getTime() - statusSince.getTime() < atFirst.forMs;
  const waitMs = answer === 'unanswered' ? unansweredMs : isNew ? atFirst.everyMs : everyMs;
  return {
    status,
    statusSince,
    firstProvenAt: before.firstProvenAt ?? (status === 'proven' ? now : null),
    answeredAt: answer === 'unanswered' ? before.answeredAt : now,
    looksAt: new Date(now.getTime() + waitMs),
  };
}

function statusAfter({ status, answeredAt }: DomainStanding, answer: string, now: Date): DomainStatus {
  if (answer === 'proven') return 'proven';
  if (status !== 'proven') return status;
  const silentMs = now.getTime() - (answeredAt?.getTime() ?? 0);
  return answer === 'unanswered' && silentMs < longestSilenceMs ? 'proven' : 'lapsed';
}
