/** Reports why webhook attempts got no answer, in a metric and in a log line. */
import type { Logger } from 'pino';
import type { EndedAttempt } from '../../domain/webhooks/attempts/attempt.ts';
import { failureCause } from '../../domain/webhooks/attempts/failure-causes.ts';
import { failureCauses } from './metrics.ts';

/** Reports an attempt that got no answer. Does nothing for an attempt that got an answer or was interrupted. */
export function reportFailureCause({ endpointId, outcome, durationMs, errorCode }: EndedAttempt, log: Logger): void {
  if (outcome === 'interrupted') return;
  const cause = failureCause({ outcome, errorCode });
  if (cause === undefined) return;
  failureCauses.inc({ cause });
  log.info({ endpointId, outcome, cause, code: errorCode, durationMs }, 'a webhook attempt got no answer');
}
