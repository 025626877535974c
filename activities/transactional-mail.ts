/** The activities of `transactional-mail/<id>`. */
import { sendTransactionalMail, type MailDeps } from '../domain/mail/send.ts';
import { timeOfStep } from './clock.ts';

export type TransactionalMailActivities = ReturnType<typeof transactionalMailActivities>;

export function transactionalMailActivities(deps: MailDeps) {
  return {
    /** Takes the mail one step further. @param now the workflow's time in Unix milliseconds */
    sendMail: (mailId: string, now: number) => sendTransactionalMail(deps, mailId, timeOfStep(now)),
  };
}
