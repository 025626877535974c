/** Two mail providers report bounces of a campaign's mails in their own words. The service sends no more mails to these addresses. */
import { postBounces } from '../../clients/mail-providers.ts';
import { Problem } from '../../problem.ts';
import { host } from '../../stack/ports.ts';
import { requireOk, until, type Club, type Scene } from '../scene.ts';

/** The secrets of the two providers; undefined if the environment does not accept their notices. */
export function bounceSecretsOf(environment: Scene['environment']): { token: string; signingKey: string } | undefined {
  const { MAIL_PROVIDERS: providers = '', MAIL_NOTICE_TOKEN: token, MAILGUN_SIGNING_KEY: signingKey } = environment;
  const isAccepted = ['postmark', 'mailgun'].every((name) => providers.split(',').includes(name));
  return isAccepted && token !== undefined && signingKey !== undefined ? { token, signingKey } : undefined;
}

/** @param number the number of the section @throws Problem if a bounce is not recorded */
export async function providersReportBounces(
  scene: Scene,
  { clubId, token }: Club,
  campaignId: string,
  secrets: { token: string; signingKey: string },
  number: number,
): Promise<void> {
  const { begin, tell, say, mailbox, environment } = scene;
  begin(number, 'bounces.title');
  const quiet = scene.quietClient(token);
  const params = { path: { clubId, campaignId } };
  const list = async () =>
    requireOk(await quiet.GET('/v1/clubs/{clubId}/campaigns/{campaignId}/deliveries', { params })).data;
  const [one, other] = await list();
  if (one === undefined || other === undefined) throw new Problem('The campaign reached fewer than two students.');
  const mailOf = async ({ student_email: email }: { student_email: string }) => {
    const { headers } = await mailbox.waitFor(email, (subject) => subject.includes('regatta'));
    const id = headers['x-club-mail-id'];
    if (id === undefined) throw new Problem('The mail of the campaign does not name its id.');
    return id;
  };
  const mails = { postmark: await mailOf(one), mailgun: await mailOf(other) };
  await postBounces({ api: `http://${host}:${environment['API_PORT']}`, ...secrets }, mails);
  for (const provider of ['postmark', 'mailgun']) say(`   POST /webhooks/mail/${provider}/… → 200`);
  const bounced = await until('The bounces', async () => {
    const found = (await list()).filter(({ bounced_at: at }) => at !== undefined);
    return found.length === 2 ? found : undefined;
  });
  for (const { student_email: email, bounced_at: at } of bounced) tell('bounces.recorded', { email, at: at ?? '' });
  const audience = requireOk(await quiet.GET('/v1/clubs/{clubId}/campaigns/{campaignId}/audience', { params })).data;
  tell('bounces.after', { suppressed: audience.left_out.suppressed });
}
