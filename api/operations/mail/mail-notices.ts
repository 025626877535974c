/** Notices of mail providers about mails. */
import * as notices from '../../../domain/mail/notices/receive.ts';
import type { Operation } from '../../operation.ts';
import { accepted } from '../answers.ts';

export const receiveMailEvents: Operation<'receiveMailEvents'> = async ({ params, receiveBody, deps, now }) =>
  accepted(await notices.receiveMailEvents(deps, params.token, receiveBody, now));

export const receiveSesNotice: Operation<'receiveSesNotice'> = async ({ params, bodyStream, deps, now }) =>
  accepted(await notices.receiveSesNotice(deps, params.token, bodyStream, now));
