/** Judges the answers of a receiver: what the service would make of them, and what to do (DEL-1, SIG-3). */
import type { Answer } from './post.ts';

export type Verdict = 'pass' | 'warn' | 'fail' | 'skip';

export interface Finding {
  readonly verdict: Verdict;
  /** The statuses of the answers, or the reason why the check was skipped. */
  readonly found: string;
  /** Advice, or a note about effects that the check cannot see. */
  readonly advice?: string;
}

const accepts = (answer: Answer): boolean => answer.status !== undefined && answer.status >= 200 && answer.status < 300;
const isRedirect = ({ status = 0 }: Pick<Answer, 'status'>): boolean => status >= 300 && status < 400;

/** @returns the finding for deliveries that the receiver must accept with `2xx` */
export function accepted(answers: readonly Answer[], advice: string): Finding {
  const wrong = answers.find((answer) => !accepts(answer));
  if (!wrong) return { verdict: 'pass', found: describe(answers) };
  return { verdict: 'fail', found: describe([wrong]), advice: plainCause(wrong) ?? advice };
}

/** @returns the finding for the first delivery, which has nothing special */
export function validFinding(answer: Answer): Finding {
  const { status, clockMs = 0 } = answer;
  if (status === 404 || status === 405)
    return accepted([answer], 'Is the path of the address right? The receiver must accept POST.');
  if (Math.abs(clockMs) > allowedClockMs)
    return accepted([answer], `The clock of the receiver is ${Math.round(clockMs / 1_000)} s away. Synchronize it.`);
  return accepted([answer], 'Does the receiver know this secret? Does it verify the bytes as they arrived?');
}

/** @returns the finding for deliveries that the receiver must refuse with `4xx` */
export function refused(answers: readonly Answer[], advice: string): Finding {
  const wrong = answers.find((answer) => accepts(answer) || isRedirect(answer) || answer.status === 410);
  if (wrong?.status === 410)
    return {
      verdict: 'fail',
      found: describe([wrong]),
      advice: 'Answer 401. The service disables an endpoint that answers 410.',
    };
  if (wrong) return { verdict: 'fail', found: describe([wrong]), advice };
  const odd = answers.find(({ status = 0 }) => status < 400 || status >= 500);
  if (!odd) return { verdict: 'pass', found: describe(answers) };
  return {
    verdict: 'warn',
    found: describe([odd]),
    advice: 'Answer 4xx, so that this refusal and a fault of your program look different.',
  };
}

/** @returns advice for an answer that is wrong for every delivery */
function plainCause({ status, problem, location }: Answer): string | undefined {
  if (problem === 'timeout') return 'Answer within 15 seconds: store the delivery, answer, and handle it afterwards.';
  if (problem !== undefined && /CERT|SIGNATURE|ALTNAME|SSL|TLS/.test(problem))
    return 'The service refuses this certificate, too. Use one of a public authority. For a test, name your own authority in NODE_EXTRA_CA_CERTS.';
  if (problem !== undefined) return 'The connection failed. Is the receiver running at this address?';
  if (status === 410) return 'The service disables an endpoint that answers 410.';
  if (isRedirect({ status: status ?? 0 })) return `Register the final address${location ? `, ${location}` : ''}.`;
  return undefined;
}

/** A receiver refuses real deliveries if its clock is more than 5 minutes away. */
const allowedClockMs = 60_000;

/** @returns the finding about the clock of the receiver */
export function clockFinding({ clockMs }: Answer): Finding {
  if (clockMs === undefined) return { verdict: 'skip', found: 'the answer has no Date' };
  const seconds = Math.round(clockMs / 1_000);
  const found = `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} this machine`;
  if (Math.abs(clockMs) <= allowedClockMs) return { verdict: 'pass', found };
  return { verdict: 'warn', found, advice: 'Synchronize the clock: at 5 minutes the receiver refuses every delivery.' };
}

/** @returns the finding about redirects, which the service does not follow */
export function redirectFinding(answer: Answer): Finding {
  if (!isRedirect(answer)) return { verdict: 'pass', found: 'none' };
  return {
    verdict: 'fail',
    found: describe([answer]),
    advice: plainCause(answer) ?? 'Register the final address.',
  };
}

/** @param slowMs the milliseconds from which an answer is slow; the limit of the service is 15 s */
export function timeFinding(answers: readonly Answer[], slowMs: number): Finding {
  const slowest = Math.max(0, ...answers.map(({ ms }) => ms));
  const found = `slowest of ${answers.length}: ${slowest} ms`;
  if (slowest < slowMs) return { verdict: 'pass', found };
  return {
    verdict: 'warn',
    found,
    advice: 'Store the delivery, answer, and handle it afterwards. After 15 s the service counts a failure.',
  };
}

/** @returns the statuses in one line, such as `204` or `401, 403` */
function describe(answers: readonly Answer[]): string {
  const [first] = answers;
  const kinds = [...new Set(answers.map(({ status, problem }) => (status === undefined ? problem : String(status))))];
  const excerpt = answers.length === 1 && first && !accepts(first) ? first.excerpt : '';
  return `${kinds.join(', ')}${excerpt === '' ? '' : ` ${excerpt}`}`;
}
