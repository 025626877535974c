/** What becomes of a mail that is sent at most once by itself (CAMP-6). Pure. */

const minute = 60_000;
/** Waits after attempt 1, 2 …, in milliseconds, where the server refuses for now or is not reached. After the last the mail is `failed`. */
const waitsMs = [minute, 5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute] as const;

/** Said of a mail whose connection was cut, or whose worker died, after its last byte: it may have arrived. */
export const outcomeUnknown = 'outcome_unknown';

export type Outcome =
  | { status: 'sent' }
  | { status: 'failed'; lastError: string }
  | { status: 'pending'; lastError: string; waitMs: number };

/** What the mail server said, or that it said nothing. */
type Answer =
  | { kind: 'accepted' }
  | { kind: 'refused'; permanent: boolean; reply: string }
  | { kind: 'not_sent'; reply: string }
  | { kind: 'unknown' };

/** @param attempt the number of the attempt, from 1 */
export function outcomeOf(answer: Answer, attempt: number): Outcome {
  if (answer.kind === 'accepted') return { status: 'sent' };
  if (answer.kind === 'unknown') return { status: 'failed', lastError: outcomeUnknown };
  const waitMs = waitsMs[attempt - 1];
  return (answer.kind === 'refused' && answer.permanent) || waitMs === undefined
    ? { status: 'failed', lastError: answer.reply }
    : { status: 'pending', lastError: answer.reply, waitMs };
}

/** Bounds of SMTP (RFC 5321), which the check of a form does not know. */
const longest = { address: 254, localPart: 64 } as const;

/** @returns whether a mail server can be given this address at all */
export function isMailable(email: string): boolean {
  const at = email.lastIndexOf('@');
  const [localPart, domain] = [email.slice(0, at), email.slice(at + 1)];
  return (
    at !== -1 &&
    email.length <= longest.address &&
    localPart.length <= longest.localPart &&
    /^[^\s\p{Cc}<>(),;:\\"[\]@]+$/u.test(localPart) &&
    /^[^\s\p{Cc}<>(),;:\\"[\]@.]+(?:\.[^\s\p{Cc}<>(),;:\\"[\]@.]+)+$/u.test(domain)
  );
}
