/**
 * Scene: a campaign is mailed to the club's students and reports the outcome of each mail. One of the students unsubscribes with one click.
 */
import type { Message } from '../../mailbox/mailbox.ts';
import { Problem } from '../../problem.ts';
import { requireOk, runPage, until, type Club, type Scene } from '../scene.ts';

/** @returns links to further details */
export async function campaignIsMailed(
  scene: Scene,
  { clubId, token }: Club,
): Promise<{ id: string; run: string; mail: Message; preview: string; unsubscribeUrl: string }> {
  const { say, begin, tell, show, mailbox } = scene;
  const administrator = scene.client(token);
  const params = { path: { clubId } };

  begin(12, 'campaign.title');
  requireOk(
    await administrator.PUT('/v1/clubs/{clubId}/mail/sender', {
      params,
      body: { from_name: 'Harbour Academy', postal_address: 'Quay 1\nHarbour' },
    }),
  );
  const campaign = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/campaigns', {
      params,
      body: {
        name: 'Regatta',
        content: {
          subject: 'The spring regatta, {{student_first_name|there}}',
          preheader: 'Boats, knots and a race',
          blocks: [
            { kind: 'heading', text: 'Ahoy {{student_first_name|there}}' },
            { kind: 'text', text: 'The **spring** regatta begins. Bring a rope.' },
            { kind: 'button', text: 'Take part', url: 'https://example.com/regatta' },
          ],
        },
      },
    }),
  ).data;
  const ofCampaign = { path: { clubId, campaignId: campaign.id } };
  const audience = requireOk(
    await administrator.GET('/v1/clubs/{clubId}/campaigns/{campaignId}/audience', { params: ofCampaign }),
  ).data;
  show(String(audience.reached), 'campaign.reach');
  const { previews } = requireOk(
    await administrator.GET('/v1/clubs/{clubId}/campaigns/{campaignId}/previews', { params: ofCampaign }),
  ).data;
  const [preview] = previews;
  if (preview === undefined) throw new Problem('The campaign has no preview.');
  for (const { student_name: name, because, subject } of previews) tell('campaign.copy', { name, because, subject });
  show(preview.page_url, 'campaign.preview');
  requireOk(
    await administrator.POST('/v1/clubs/{clubId}/campaigns/{campaignId}/schedule', { params: ofCampaign, body: {} }),
  );

  const quiet = scene.quietClient(token);
  await until('The end of the campaign', async () => {
    const { data } = requireOk(await quiet.GET('/v1/clubs/{clubId}/campaigns/{campaignId}', { params: ofCampaign }));
    return data.status === 'sent' ? data : undefined;
  });
  const deliveries = requireOk(
    await administrator.GET('/v1/clubs/{clubId}/campaigns/{campaignId}/deliveries', { params: ofCampaign }),
  ).data;
  const [first] = deliveries;
  if (first === undefined || deliveries.some(({ status }) => status !== 'sent'))
    throw new Problem('The campaign was not sent to every student.');
  for (const { student_name: name, student_email: email, status } of deliveries)
    say(`   ${name} <${email}>: ${status}`);
  const mail = await mailbox.waitFor(first.student_email);
  show(mailbox.linkTo(mail), 'mail_arrived', { subject: mail.subject });

  const unsubscribeUrl = /^<(.*)>$/.exec(mail.headers['list-unsubscribe'] ?? '')?.[1];
  if (unsubscribeUrl === undefined) throw new Problem('The mail has no unsubscribe link.');
  begin(13, 'campaign.unsubscribes', { name: first.student_name });
  const response = await fetch(unsubscribeUrl, {
    method: 'POST',
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  });
  say(`   POST …/classroom/mail/unsubscribe/… → ${response.status}`);
  const after = requireOk(
    await administrator.GET('/v1/clubs/{clubId}/campaigns/{campaignId}/audience', { params: ofCampaign }),
  ).data;
  tell('campaign.after', { reached: after.reached, left_out: after.left_out.unsubscribed });
  if (after.left_out.unsubscribed !== 1) throw new Problem('The student is still on the list.');
  return {
    id: campaign.id,
    run: runPage(scene, 'campaignRun', campaign.id),
    mail,
    preview: preview.page_url,
    unsubscribeUrl,
  };
}
