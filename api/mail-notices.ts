/** Creates the dependencies for notices of mail providers from the configuration of the API process. */
import type { Config } from '../config.ts';
import type { MailNoticeDeps } from '../domain/mail/notices/receive.ts';
import { noticeReaders } from '../domain/mail/notices/providers/readers.ts';
import { createSnsGuard } from '../domain/mail/notices/sns.ts';
import type { Egress } from '../platform/infra/egress/egress.ts';
import { getText } from '../platform/infra/egress/get-text.ts';
import { mailEvents } from './metrics.ts';

export function mailNoticesOf(
  { noticeToken, sesTopicArn, ...mail }: Config['mail'],
  { dispatcher }: Pick<Egress, 'dispatcher'>,
): MailNoticeDeps {
  return {
    token: noticeToken,
    sns: sesTopicArn === undefined ? undefined : createSnsGuard(sesTopicArn, (url) => getText(dispatcher, url)),
    providers: noticeReaders(mail),
    onEvents({ matched, ignored }) {
      mailEvents.inc({ outcome: 'matched' }, matched);
      mailEvents.inc({ outcome: 'passed_over' }, ignored);
    },
  };
}
