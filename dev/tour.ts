/**
 * The tour: a student signs up through the API, and becomes a signed HTTPS delivery that is refused, waits in a durable
 * timer, is tried again and is accepted; an endpoint that fails is throttled and recovers; its secret is rotated; a sale becomes
 * access, a completed course and a certificate that verifies; a campaign is mailed, and one student leaves; an automation mails,
 * waits and tags; an agent answers from a PDF, and cites its page; a sale opens a folder, a space and an hour with a mentor. Told as it
 * happens, with links to look closer.
 */
import { defaultLanguage, type OfferedLanguage } from '../domain/language/languages.ts';
import type { Authority } from './certificates.ts';
import { host } from './ports.ts';
import { startReceiver } from './receiver.ts';
import { agentAnswers } from './tour/agent.ts';
import { throttledEndpointRecovers } from './tour/breaker.ts';
import { automationRuns } from './tour/automation.ts';
import { campaignIsMailed } from './tour/campaign.ts';
import { secretIsRotated } from './tour/rotation.ts';
import { fromSaleToCertificate } from './tour/sale.ts';
import { setScene, type Say, type Scene } from './tour/scene.ts';
import { fromSignUpToDelivery } from './tour/sign-up.ts';
import { wholeClubIsOpened } from './tour/whole-club.ts';

export interface TourOptions {
  /** What API and worker run with. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An authority that the worker trusts (EGRESS_EXTRA_CA_FILE). */
  readonly authority: Authority;
  /** Of the club and its people; English if absent. */
  readonly language?: OfferedLanguage;
  readonly say: Say;
}

/**
 * Plays the tour, with new names each time.
 * @returns once it is over; `stop` ends its receiver, which goes on accepting deliveries of the tour's club until then
 * @throws Problem saying which step did not do what it should
 */
export async function runTour({
  environment,
  authority,
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
    await tell(scene);
    return receiver;
  } catch (error) {
    await receiver.stop();
    throw error;
  }
}

async function tell(scene: Scene): Promise<void> {
  const { environment, mailbox, say } = scene;
  say(
    'THE TOUR: from a sign-up to a signed delivery, what happens when the receiver fails, from a sale to a certificate, a campaign, an automation, an agent that answers, and a whole club\n',
  );
  const { club, studentId, studentToken, studentMail, run } = await fromSignUpToDelivery(scene);
  const shaky = await throttledEndpointRecovers(scene, club, studentId);
  await secretIsRotated(scene, club, shaky);
  const sale = await fromSaleToCertificate(scene, club);
  const campaign = await campaignIsMailed(scene, club);
  const automation = await automationRuns(scene, club, studentId);
  const agent = await agentAnswers(scene, club, { studentId, token: studentToken });
  const session = await wholeClubIsOpened(scene, club, sale.buyer, agent ? 19 : 17);

  say('\nLOOK CLOSER');
  say(`   API reference            ${environment['PUBLIC_URL']}/docs`);
  say(`   the delivery's run       ${run}`);
  say(`   the gate's run           ${shaky.gate}`);
  say(`   the sale's run           ${sale.notice}`);
  say(`   the certificate          ${sale.verifyUrl}`);
  say(`   the student's mail       ${mailbox.linkTo(studentMail)}`);
  say(`   the campaign's run       ${campaign.run}`);
  say(`   a mail of the campaign   ${mailbox.linkTo(campaign.mail)}`);
  say(`   its preview              ${campaign.preview}`);
  say(`   its way out              ${campaign.wayOut}`);
  say(`   the automation's run     ${automation.run}`);
  say(`   its mail                 ${mailbox.linkTo(automation.mail)}`);
  say(`   the session's run        ${session.run}`);
  say(`   its confirmation         ${mailbox.linkTo(session.mail)}`);
  if (agent === undefined) return;
  say(`   the answer's run         ${agent.run}`);
  say(`   to ask once more:\n\n${agent.again}`);
}
