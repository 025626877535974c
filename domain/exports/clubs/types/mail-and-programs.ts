/** The mail of a club, its campaigns, automations and agents, its endpoints, and its audit log. */
import type { RecordOf } from '../../../../contract/contract.ts';
import { listAgentUsage, readAiBudget } from '../../../agents/budget/usage.ts';
import { listReviews, readReview } from '../../../agents/conversations/conversation-reviews.ts';
import { findAgent, listAgents } from '../../../agents/setup/agents.ts';
import { findMaterial } from '../../../agents/setup/material.ts';
import { listSources } from '../../../agents/setup/source-list.ts';
import { listEntries } from '../../../audit/entries.ts';
import { readAutomation } from '../../../automations/records.ts';
import { listRuns } from '../../../automations/runs.ts';
import { listAutomations } from '../../../automations/versions/drafts.ts';
import { listVersions, readVersion } from '../../../automations/versions/versions.ts';
import { listCampaigns } from '../../../campaigns/drafts/drafts.ts';
import { listTestMails } from '../../../campaigns/drafts/test-mails.ts';
import { listDeliveries as listRecipients, readStatistics } from '../../../campaigns/recipients.ts';
import { readMailDomain } from '../../../mail/domains/domains.ts';
import { findSender } from '../../../mail/sending/sender.ts';
import { listMailTexts, readMailText } from '../../../mail/texts/own-texts.ts';
import { listDeliveries } from '../../../webhooks/deliveries/deliveries.ts';
import { listEndpoints } from '../../../webhooks/endpoints/endpoints.ts';
import { clubExportRules } from '../exports.policy.ts';
import { below, idOf, listed, listedBelow, single, whole, type ExportSource, type Walk } from '../pages.ts';
import type { RecordType } from '../record-type.ts';

const campaigns = listed(({ db, clubId }, page) => listCampaigns(db, clubId, page));
const automations = listed(({ db, clubId }, page) => listAutomations(db, clubId, page));
const agents = listed(({ db, clubId }, page) => listAgents(db, clubId, page));
const endpoints = listed(({ db, clubId, now }, page) => listEndpoints(db, clubId, page, now));

/** The texts that the club wrote. The standard texts belong to the service. */
const ownTexts: Walk = async ({ db, publicUrl, clubId }) => {
  const lines: { record: Record<string, unknown> }[] = [];
  for (const { template, languages } of await listMailTexts(db, clubId))
    for (const language of languages)
      lines.push({ record: { ...(await readMailText({ db, publicUrl }, { clubId, template, language })) } });
  return { lines };
};

const versions: Walk = below(automations, idOf, async (source, { id: workflowId = '' }, place) => {
  const { lines, ...rest } = await listed(({ db, clubId }, page) => listVersions(db, clubId, workflowId, page))(
    source,
    place,
  );
  const records = [];
  for (const { record } of lines)
    records.push({
      of: { workflowId },
      record: { ...(await readVersion(source.db, source.clubId, workflowId, String(record['id']))) },
    });
  return { ...rest, lines: records };
});

const conversations: Walk = below(agents, idOf, async (source, { id: agentId = '' }, place) => {
  const { lines, ...rest } = await listed(({ db, clubId }, page) => listReviews(db, clubId, agentId, page))(
    source,
    place,
  );
  const records = [];
  for (const { record } of lines)
    records.push({ of: { agentId }, record: { ...(await readConversation(source, agentId, String(record['id']))) } });
  return { ...rest, lines: records };
});

/** @returns the conversation with all its messages */
async function readConversation(
  { db, storage, clubId }: ExportSource,
  agentId: string,
  conversationId: string,
): Promise<RecordOf<'AgentConversationReviewMessages'>> {
  const read = (page: number) =>
    readReview(db, storage, { clubId, agentId, conversationId }, { page, page_size: clubExportRules.pageRows });
  const { conversation, total } = await read(1);
  const messages = [...conversation.messages];
  for (let page = 2; messages.length < total; page++) {
    const more = (await read(page)).conversation.messages;
    if (more.length === 0) break;
    messages.push(...more);
  }
  return { ...conversation, messages };
}

const oneBelow = (parents: Walk, name: string, read: (source: ExportSource, id: string) => Promise<object>): Walk =>
  below(parents, idOf, async (source, { id = '' }) => ({
    lines: [{ of: { [name]: id }, record: { ...(await read(source, id)) } }],
  }));

export const programs: readonly RecordType[] = [
  { name: 'MailSender', walk: single(({ db, clubId }) => findSender(db, clubId)) },
  { name: 'MailDomain', walk: single(({ db, mailDomains, clubId }) => readMailDomain({ db, mailDomains }, clubId)) },
  { name: 'MailText', walk: ownTexts },
  { name: 'Campaign', walk: campaigns },
  {
    name: 'CampaignStatistics',
    walk: oneBelow(campaigns, 'campaignId', ({ db, clubId }, id) => readStatistics(db, clubId, id)),
  },
  {
    name: 'CampaignDelivery',
    walk: listedBelow(campaigns, 'campaignId', ({ db, clubId }, id, page) => listRecipients(db, clubId, id, page)),
  },
  {
    name: 'TestMail',
    walk: listedBelow(campaigns, 'campaignId', ({ db, clubId }, id, page) => listTestMails(db, clubId, id, page)),
  },
  {
    name: 'Automation',
    walk: whole(automations, async ({ db, clubId }, id) => (await readAutomation(db, clubId, id)).record),
  },
  { name: 'AutomationVersion', walk: versions },
  {
    name: 'AutomationRun',
    walk: listedBelow(automations, 'workflowId', ({ db, clubId }, id, page) => listRuns(db, clubId, id, page)),
  },
  { name: 'AiBudget', walk: single(({ db, clubId, now }) => readAiBudget(db, clubId, now)) },
  { name: 'AgentSettings', walk: whole(agents, ({ db, clubId }, id) => findAgent(db, clubId, id)) },
  { name: 'AgentMaterial', walk: oneBelow(agents, 'agentId', ({ db, clubId }, id) => findMaterial(db, clubId, id)) },
  {
    name: 'AgentSource',
    walk: listedBelow(agents, 'agentId', ({ db, clubId }, id, page) => listSources(db, clubId, id, page)),
  },
  {
    name: 'AgentUsage',
    walk: below(agents, idOf, (source, { id = '' }, place) =>
      listed(({ db, clubId }, page) => listAgentUsage(db, clubId, id, page))(source, place),
    ),
  },
  { name: 'AgentConversationReviewMessages', walk: conversations },
  { name: 'WebhookEndpoint', walk: endpoints },
  {
    name: 'WebhookDelivery',
    walk: below(endpoints, idOf, (source, { id = '' }, place) =>
      listed(({ db, clubId, now }, page) => listDeliveries(db, clubId, id, page, now))(source, place),
    ),
  },
  { name: 'AuditEntry', walk: listed(({ db, clubId }, page) => listEntries(db, clubId, page)) },
];
