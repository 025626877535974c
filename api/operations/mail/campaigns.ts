/** E-mail campaigns. */
import * as advice from '../../../domain/campaigns/drafts/advice.ts';
import * as checks from '../../../domain/campaigns/drafts/checks.ts';
import * as drafts from '../../../domain/campaigns/drafts/drafts.ts';
import * as preview from '../../../domain/campaigns/drafts/preview.ts';
import * as recipients from '../../../domain/campaigns/recipients.ts';
import * as records from '../../../domain/campaigns/records.ts';
import * as states from '../../../domain/campaigns/states.ts';
import * as testMails from '../../../domain/campaigns/drafts/test-mails.ts';
import type { Operation } from '../../operation.ts';
import { personOf } from '../acting.ts';
import { data, noContent, page } from '../answers.ts';

export const listCampaigns: Operation<'listCampaigns'> = async ({ params, query, db }) =>
  page(await drafts.listCampaigns(db, params.clubId, query));

export const createCampaign: Operation<'createCampaign'> = async ({ params, body, deps, now }) =>
  data(await drafts.createCampaign(deps, params.clubId, body, now));

export const getCampaign: Operation<'getCampaign'> = async ({ params, db }) =>
  data(await records.readCampaign(db, params.clubId, params.campaignId));

export const updateCampaign: Operation<'updateCampaign'> = async ({ params, body, deps, now }) =>
  data(await drafts.updateCampaign(deps, params.clubId, params.campaignId, body, now));

export const deleteCampaign: Operation<'deleteCampaign'> = async ({ params, deps }) =>
  noContent(await drafts.deleteCampaign(deps, params.clubId, params.campaignId));

export const duplicateCampaign: Operation<'duplicateCampaign'> = async ({ params, deps, now }) =>
  data(await drafts.duplicateCampaign(deps, params.clubId, params.campaignId, now));

export const getCampaignAudience: Operation<'getCampaignAudience'> = async ({ params, deps, now }) =>
  data(await checks.countAudience(deps, params.clubId, params.campaignId, now));

export const getCampaignProblems: Operation<'getCampaignProblems'> = async ({ params, db, now }) =>
  data(await checks.listProblems(db, params.clubId, params.campaignId, now));

export const checkCampaign: Operation<'checkCampaign'> = async ({ params, deps, now }) =>
  data(await advice.checkCampaign(deps, params.clubId, params.campaignId, now));

export const sendTestMail: Operation<'sendTestMail'> = async ({ params, body, actor, deps, now }) => {
  const to = body?.administrator_id ?? personOf(actor, 'administrator_id');
  return data(await testMails.requestTestMail(deps, params.clubId, params.campaignId, to, now));
};

export const listTestMails: Operation<'listTestMails'> = async ({ params, query, db }) =>
  page(await testMails.listTestMails(db, params.clubId, params.campaignId, query));

export const previewCampaign: Operation<'previewCampaign'> = async ({ params, query, deps, now }) =>
  data(await preview.previewCampaign(deps, params.clubId, params.campaignId, query.student_id, now));

export const previewContrastingCopies: Operation<'previewContrastingCopies'> = async ({ params, deps, now }) =>
  data(await preview.listPreviews(deps, params.clubId, params.campaignId, now));

export const showCampaignPreview: Operation<'showCampaignPreview'> = async ({ params, deps, now }) =>
  data(await preview.showPreview(deps, params.token, now));

export const scheduleCampaign: Operation<'scheduleCampaign'> = async ({ params, body, deps, now }) =>
  data(await states.scheduleCampaign(deps, params.clubId, params.campaignId, body.at, now));

export const unscheduleCampaign: Operation<'unscheduleCampaign'> = async ({ params, deps, now }) =>
  data(await states.unscheduleCampaign(deps, params.clubId, params.campaignId, now));

export const pauseCampaign: Operation<'pauseCampaign'> = async ({ params, deps, now }) =>
  data(await states.pauseCampaign(deps, params.clubId, params.campaignId, now));

export const resumeCampaign: Operation<'resumeCampaign'> = async ({ params, deps, now }) =>
  data(await states.resumeCampaign(deps, params.clubId, params.campaignId, now));

export const cancelCampaign: Operation<'cancelCampaign'> = async ({ params, deps, now }) =>
  data(await states.cancelCampaign(deps, params.clubId, params.campaignId, now));

export const retryCampaign: Operation<'retryCampaign'> = async ({ params, body, deps, now }) => {
  const acceptDuplicates = body?.accept_duplicates ?? false;
  return data(await states.retryCampaign(deps, params.clubId, params.campaignId, { acceptDuplicates }, now));
};

export const getCampaignStatistics: Operation<'getCampaignStatistics'> = async ({ params, db }) =>
  data(await recipients.readStatistics(db, params.clubId, params.campaignId));

export const listCampaignDeliveries: Operation<'listCampaignDeliveries'> = async ({ params, query, db }) =>
  page(await recipients.listDeliveries(db, params.clubId, params.campaignId, query));
