/**
 * Decides the outcome of a hand-over. A bulk mail that may have arrived is never sent again automatically (CAMP-6). The functions are pure.
 */

const minute = 60_000;
/**
 * The waits after attempt 1, 2 …, in milliseconds, if the server refuses a mail for now or cannot be reached. After the last attempt the
 * mail is `failed`.
 */
const waitsMs = [minute, 5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute] as const;

/** The connection broke or the worker died after the last byte of the mail, so the mail may have arrived. */
export const outcomeUnknown = 'outcome_unknown';

export type Outcome =
  | { status: 'sent' }
  | { status: 'failed'; lastError: string }
  | { status: 'pending'; lastError: string; waitMs: number };

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

/** The limits that SMTP sets for an address (RFC 5321). They are stricter than the check of an address in a form. */
const longest = { address: 254, localPart: 64 } as const;

/** @returns whether a mail server can accept this address */
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
