/** What a check of a domain's records comes to, and when the next one is due (CAMP-40). Pure. */
import type { DomainStatus } from '../../../entities/mail/values.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** A domain is looked at so often. */
const everyMs = day;
/** One that is not proven is looked at more often at first: somebody is just publishing its records. */
const atFirst = { everyMs: hour, forMs: 3 * day };
/** Name servers that do not answer are asked again. */
const unansweredMs = hour;
/** A proven domain lapses where nobody answers for so long. */
const longestSilenceMs = 3 * day;

/** What is known of a domain. */
export interface DomainStanding {
  status: DomainStatus;
  /** When the status became this one. */
  statusSince: Date;
  /** When it was proven first: its warm-up begins then. */
  firstProvenAt: Date | null;
  /** When name servers answered last. */
  answeredAt: Date | null;
}

/**
 * @param answer whether the records are as they must be; `unanswered` where no name server said anything
 * @returns what is known then, and when to look again
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
