/**
 * The tour plays these scenes through the API: - A student signs up. The sign-up becomes a signed HTTPS delivery that the receiver refuses.
 * The delivery waits in a durable timer, is tried again and is accepted. - An endpoint with repeated failures is throttled and recovers;
 * its secret is rotated. - A sale gives access to a course. The student completes the course and gets a certificate that everyone can
 * verify. - A campaign is mailed, and one
 * student unsubscribes. - An automation sends an e-mail, waits and adds a tag. - An agent answers from a PDF, and cites its page. - A sale
 * opens a folder, a space and an hour with a mentor. - A program calls with an API key, and repeats a request. - Two mail providers report bounces. - The owner
 * signs in at an identity provider, with a second factor. The tour narrates in the language of the club, with links to further details.
 */
import { defaultLanguage, type OfferedLanguage } from '../../domain/language/languages.ts';
import type { Authority } from '../stack/certificates.ts';
import { host } from '../stack/ports.ts';
import { startReceiver } from '../clients/receiver.ts';
import { agentAnswers } from './scenes/agent.ts';
import { throttledEndpointRecovers } from './scenes/breaker.ts';
import { automationRuns } from './scenes/automation.ts';
import { bounceSecretsOf, providersReportBounces } from './scenes/bounces.ts';
import { campaignIsMailed } from './scenes/campaign.ts';
import { secretIsRotated } from './scenes/rotation.ts';
import { programCalls } from './scenes/program.ts';
import { studentTakesData } from './scenes/own-data.ts';
import { ownerSignsInAtProvider, type CompanyProvider } from './scenes/provider.ts';
import { fromSaleToCertificate } from './scenes/sale.ts';
import { setScene, type Say, type Scene } from './scene.ts';
import { fromSignUpToDelivery } from './scenes/sign-up.ts';
import { wholeClubIsOpened } from './scenes/whole-club.ts';
import { inColumns } from './words/columns.ts';
import type { TourKey } from './words/words.ts';

export interface TourOptions {
  /** The environment of API and worker. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A certificate authority that the worker trusts (EGRESS_EXTRA_CA_FILE). */
  readonly authority: Authority;
  /** An identity provider that the API offers. Without it, the tour shows no sign-in at a provider. */
  readonly company?: CompanyProvider;
  /** The language of the club, its people, and the narration; English if absent. */
  readonly language?: OfferedLanguage;
  readonly say: Say;
}

/**
 * Plays the tour, with new names each time.
 * @returns a function `stop`, when the tour is over. The tour's receiver of webhooks still accepts deliveries of the tour's club until the
 * caller calls `stop`
 * @throws Problem when a step of the tour fails; the message names the step
 */
export async function runTour({
  environment,
  authority,
  company,
  language = defaultLanguage,
  say,
}: TourOptions): Promise<{ stop(): Promise<void> }> {
  const receiver = await startReceiver({
    certificate: await authority.issue([host, 'localhost']),
    respond(request, number) {
      if (request.path === '/hooks/shaky' && scene.isBroken) return { status: 503, body: 'out of order' };
      return number === 1 ? { status: 503, body: 'not today' } : { status: 200, body: 'thank you' };
    },
  });
  const scene: Scene = setScene({ environment, language, say, receiver });
  try {
    await play(scene, authority, company);
    return receiver;
  } catch (error) {
    await receiver.stop();
    throw error;
  }
}

type Label = Extract<TourKey, `closer.${string}`>;

async function play(scene: Scene, authority: Authority, company: CompanyProvider | undefined): Promise<void> {
  const { mailbox, words, say } = scene;
  say(words('title'));
  const { club, owner, studentId, studentToken, studentMail, run } = await fromSignUpToDelivery(scene);
  const shaky = await throttledEndpointRecovers(scene, club, studentId);
  await secretIsRotated(scene, club, shaky);
  const sale = await fromSaleToCertificate(scene, club);
  const campaign = await campaignIsMailed(scene, club);
  const automation = await automationRuns(scene, club, studentId);
  const agent = await agentAnswers(scene, club, { studentId, token: studentToken });
  const session = await wholeClubIsOpened(scene, club, sale.buyer, agent ? 19 : 17);
  let next = agent ? 23 : 21;
  await programCalls(scene, club, { studentId, from: next });
  next += 3;
  await studentTakesData(scene, { clubId: club.clubId, token: studentToken }, next++);
  const secrets = bounceSecretsOf(scene.environment);
  if (secrets) await providersReportBounces(scene, club, campaign.id, secrets, next++);
  if (company) await ownerSignsInAtProvider(scene, owner, company, authority.certificate, next);

  const links: [Label, string][] = [
    ['closer.api_reference', `${scene.environment['PUBLIC_URL']}/docs`],
    ['closer.delivery_run', run],
    ['closer.gate_run', shaky.gate],
    ['closer.sale_run', sale.notice],
    ['closer.certificate', sale.verifyUrl],
    ['closer.student_mail', mailbox.linkTo(studentMail)],
    ['closer.campaign_run', campaign.run],
    ['closer.campaign_mail', mailbox.linkTo(campaign.mail)],
    ['closer.campaign_preview', campaign.preview],
    ['closer.campaign_unsubscribe', campaign.unsubscribeUrl],
    ['closer.automation_run', automation.run],
    ['closer.automation_mail', mailbox.linkTo(automation.mail)],
    ['closer.session_run', session.run],
    ['closer.session_mail', mailbox.linkTo(session.mail)],
    ...(agent ? [['closer.answer_run', agent.run] as [Label, string]] : []),
  ];
  say(`\n${words('closer.title')}`);
  for (const line of inColumns(links.map(([label, link]) => [words(label), link]))) say(`   ${line}`);
  if (agent) say(`   ${words('closer.ask_again')}\n\n${agent.again}`);
}
