/** One transactional mail, from the act that asked for it until it is sent or given up. */
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import { inAbout } from '../platform/core/durations.policy.ts';
import type { TransactionalMailActivities } from '../activities/transactional-mail.ts';
import { lookAgainUntilDone } from './loop.ts';

const { sendMail } = proxyActivities<TransactionalMailActivities>({
  startToCloseTimeout: '70s', // the SMTP client's 45 s and the lease's 60 s: a repetition then finds the lease run out
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: a refusal is a result, only our own faults throw
});

export async function transactionalMail(mailId: string): Promise<'sent' | 'failed' | 'canceled'> {
  return lookAgainUntilDone((now) => sendMail(mailId, now), {
    waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}`,
    startAfresh: () => continueAsNew<typeof transactionalMail>(mailId),
  });
}
