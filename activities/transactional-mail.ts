/** The activities of `transactional-mail/<id>`. */
import { sendTransactionalMail, type MailPlatform } from '../domain/mail/send.ts';
import { timeOfStep } from './clock.ts';

export type TransactionalMailActivities = ReturnType<typeof transactionalMailActivities>;

export function transactionalMailActivities(platform: MailPlatform) {
  return {
    /** Takes the mail one step further. @param now the workflow's time in Unix milliseconds */
    sendMail: (mailId: string, now: number) => sendTransactionalMail(platform, mailId, timeOfStep(now)),
  };
}
