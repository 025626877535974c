/** The mail settings of a club, and its suppressed addresses. */
import * as domainChecks from '../../../domain/mail/domains/checking.ts';
import * as domains from '../../../domain/mail/domains/domains.ts';
import * as leaving from '../../../domain/mail/suppressions/preferences.ts';
import * as ownTexts from '../../../domain/mail/texts/own-texts.ts';
import * as suppressionImport from '../../../domain/campaigns/suppression-import.ts';
import * as sender from '../../../domain/mail/sending/sender.ts';
import * as suppressions from '../../../domain/mail/suppressions/suppressions.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const getMailSender: Operation<'getMailSender'> = async ({ params, db }) =>
  data(await sender.findSender(db, params.clubId));

export const setMailSender: Operation<'setMailSender'> = async ({ params, body, deps, now }) =>
  data(await sender.setSender(deps, params.clubId, body, now));

export const getMailDomain: Operation<'getMailDomain'> = async ({ params, deps }) =>
  data(await domains.readMailDomain(deps, params.clubId));

export const setMailDomain: Operation<'setMailDomain'> = async ({ params, body, deps, now }) =>
  data(await domains.setMailDomain(deps, params.clubId, body, now));

export const removeMailDomain: Operation<'removeMailDomain'> = async ({ params, deps, now }) =>
  noContent(await domains.removeMailDomain(deps, params.clubId, now));

export const checkMailDomain: Operation<'checkMailDomain'> = async ({ params, deps, now }) =>
  data(await domainChecks.checkMailDomain(deps, params.clubId, now));

export const listSuppressions: Operation<'listSuppressions'> = async ({ params, query, deps }) =>
  page(await suppressions.listSuppressions(deps, params.clubId, query));

export const addSuppression: Operation<'addSuppression'> = async ({ params, body, deps, now }) =>
  data(await suppressions.addSuppression(deps, params.clubId, body.email, now));

export const importSuppressions: Operation<'importSuppressions'> = async ({ params, bodyStream, deps, now }) =>
  data(await suppressionImport.importSuppressions(deps, params.clubId, bodyStream, now));

export const removeSuppression: Operation<'removeSuppression'> = async ({ params, deps }) =>
  noContent(await suppressions.removeSuppression(deps, params.clubId, params.suppressionId));

export const getMailPreference: Operation<'getMailPreference'> = async ({ params, deps }) =>
  data(await leaving.readPreference(deps, params.clubId, params.token));

export const unsubscribe: Operation<'unsubscribe'> = async ({ params, deps, now }) =>
  data(await leaving.unsubscribe(deps, params.clubId, params.token, now));

export const resubscribe: Operation<'resubscribe'> = async ({ params, deps }) =>
  data(await leaving.resubscribe(deps, params.clubId, params.token));

export const getMailPreferences: Operation<'getMailPreferences'> = async ({ student, deps }) =>
  data(await leaving.readPreferences(deps, student));

export const setMailPreferences: Operation<'setMailPreferences'> = async ({ student, body, deps, now }) =>
  data(await leaving.setPreferences(deps, student, body, now));

export const getMailTexts: Operation<'getMailTexts'> = async ({ params, db }) =>
  data({ texts: await ownTexts.listMailTexts(db, params.clubId) });

export const getMailText: Operation<'getMailText'> = async ({ params, db, deps }) =>
  data(await ownTexts.readMailText({ db, publicUrl: deps.publicUrl }, params));

export const setMailText: Operation<'setMailText'> = async ({ params, body, deps, now }) =>
  data(await ownTexts.setMailText(deps, params, body, now));

export const resetMailText: Operation<'resetMailText'> = async ({ params, deps }) =>
  data(await ownTexts.resetMailText(deps, params));
