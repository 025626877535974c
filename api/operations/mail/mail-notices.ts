/** Notices of mail providers about mails. */
import * as notices from '../../../domain/mail/notices/receive.ts';
import { receiveProviderNotice as receiveNotice } from '../../../domain/mail/notices/receive-provider-notice.ts';
import { receiveReport } from '../../../domain/mail/notices/reports/receive-report.ts';
import type { Operation } from '../../operation.ts';
import { accepted } from '../answers.ts';

export const receiveMailEvents: Operation<'receiveMailEvents'> = async ({ params, receiveBody, deps, now }) =>
  accepted(await notices.receiveMailEvents(deps, params.token, receiveBody, now));

export const receiveSesNotice: Operation<'receiveSesNotice'> = async ({ params, bodyStream, deps, now }) =>
  accepted(await notices.receiveSesNotice(deps, params.token, bodyStream, now));

export const receiveProviderNotice: Operation<'receiveProviderNotice'> = async ({
  params,
  receiveBody,
  header,
  deps,
  now,
}) => accepted(await receiveNotice(deps, params, { receiveBody, header, now }));

export const receiveMailReport: Operation<'receiveMailReport'> = async ({ params, bodyStream, deps, now }) =>
  accepted(await receiveReport(deps, params.token, bodyStream, now));
