/** A student signs up, and becomes a signed HTTPS delivery that is refused, waits in a durable timer, is tried again and is accepted. */
import { randomBytes } from 'node:crypto';
import { defaultLanguage } from '../../domain/language/languages.ts';
import type { Message } from '../mailbox.ts';
import { Problem } from '../problem.ts';
import {
  deliveriesPath,
  requireOk,
  patienceMs,
  runPage,
  tellAttempt,
  tokenIn,
  until,
  type Club,
  type Scene,
} from './scene.ts';

/** @returns the club, a student of it, and what to look at closer */
export async function fromSignUpToDelivery(
  scene: Scene,
): Promise<{ club: Club; studentId: string; studentToken: string; studentMail: Message; run: string }> {
  const { say, mailbox, receiver, language } = scene;
  const headers = { 'accept-language': language };
  const tag = randomBytes(3).toString('hex');
  const password = randomBytes(12).toString('base64url');
  const owner = { name: 'Grace Harbour', email: `grace.${tag}@example.com`, password };
  const student = { name: 'Ada Meadow', email: `ada.${tag}@example.com`, password };

  say('1. A club and its owner');
  const anonymous = scene.client();
  requireOk(
    await anonymous.POST('/v1/auth/admin/sign-up', {
      headers,
      body: { ...owner, organization: { name: `Harbour Academy ${tag}` } },
    }),
  );
  const ownerMail = await mailbox.waitFor(owner.email);
  say(`   the confirmation has arrived: ${mailbox.linkTo(ownerMail)}`);
  const session = requireOk(
    await anonymous.POST('/v1/auth/admin/verify-email', { body: { token: tokenIn(ownerMail) } }),
  ).data;
  const club = session.administrator.organizations[0];
  if (club === undefined) throw new Problem('The new owner has no organization.');
  say(`   ${owner.name} owns the club “${club.name}” (${club.organization_id})\n`);

  const administrator = scene.client(session.token);
  const clubId = club.organization_id;
  if (language !== defaultLanguage)
    requireOk(await administrator.PATCH('/v1/clubs/{clubId}', { params: { path: { clubId } }, body: { language } }));

  say('2. A webhook endpoint');
  const registered = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/webhook-endpoints', {
      params: { path: { clubId } },
      body: {
        url: `${receiver.url}/hooks/club`,
        event_types: ['student.created'],
        description: 'The receiver of the tour',
      },
    }),
  ).data;
  say(`   ${registered.endpoint.url} asks for student.created; it will refuse the first attempt`);
  say(`   its secret, shown only now: ${registered.secret.slice(0, 12)}…\n`);

  say('3. A student signs up and confirms the e-mail');
  requireOk(
    await anonymous.POST('/v1/clubs/{clubId}/classroom/sign-up', { params: { path: { clubId } }, body: student }),
  );
  const studentMail = await mailbox.waitFor(student.email);
  say(`   the confirmation has arrived: ${mailbox.linkTo(studentMail)}`);
  const entered = requireOk(
    await anonymous.POST('/v1/auth/verify-email', { body: { token: tokenIn(studentMail) } }),
  ).data;
  say(`   ${entered.student.name} is in (${entered.student.id}, verified: ${entered.student.verified})\n`);

  say('4. The delivery, as the receiver saw it');
  const [first] = await receiver.waitFor(1, patienceMs);
  tellAttempt(first, 503, [registered.secret], say);
  const path = { clubId, endpointId: registered.endpoint.id };
  const quiet = scene.quietClient(session.token);
  const deliveryId = await until('The delivery in the history', async () => {
    const list = requireOk(await quiet.GET(deliveriesPath, { params: { path } }));
    return list.data.find(({ event_type }) => event_type === 'student.created')?.id;
  });
  const run = runPage(scene, 'webhookDelivery', deliveryId);
  say(`   it waits about 5 s in a durable timer: ${run}`);
  const [, second] = await receiver.waitFor(2, patienceMs);
  tellAttempt(second, 200, [registered.secret], say);
  if (first?.headers['webhook-id'] !== second?.headers['webhook-id'])
    throw new Problem('The two attempts differ in webhook-id.');

  say('\n5. The same delivery, as the API shows it');
  const delivery = await until('The end of the delivery', async () => {
    const read = requireOk(
      await quiet.GET(`${deliveriesPath}/{deliveryId}`, { params: { path: { ...path, deliveryId } } }),
    );
    return read.data.status === 'pending' ? undefined : read.data;
  });
  for (const attempt of delivery.attempts) {
    const answer = attempt.response_status === undefined ? '' : ` ${attempt.response_status}`;
    say(
      `   attempt ${attempt.number} at ${attempt.started_at}: ${attempt.outcome}${answer}, ${attempt.duration_ms} ms`,
    );
  }
  say(`   status: ${delivery.status}`);
  if (delivery.status !== 'succeeded') throw new Problem(`The delivery has the status ${delivery.status}.`);
  return {
    club: { clubId, token: session.token },
    studentId: entered.student.id,
    studentToken: entered.token,
    studentMail,
    run,
  };
}
