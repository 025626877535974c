/**
 * A student signs up. The sign-up becomes a signed HTTPS delivery that the receiver refuses. The delivery waits in a durable timer, is
 * tried again and is accepted.
 */
import { randomBytes } from 'node:crypto';
import { defaultLanguage } from '../../../domain/language/languages.ts';
import type { Message } from '../../mailbox/mailbox.ts';
import { Problem } from '../../problem.ts';
import {
  deliveriesPath,
  requireOk,
  patienceMs,
  runPage,
  tellAttempt,
  tokenIn,
  until,
  type Account,
  type Club,
  type Scene,
} from '../scene.ts';

/** @returns the club, the account of its owner, a student of the club, and links to further details */
export async function fromSignUpToDelivery(
  scene: Scene,
): Promise<{ club: Club; owner: Account; studentId: string; studentToken: string; studentMail: Message; run: string }> {
  const { begin, tell, show, mailbox, receiver, language } = scene;
  const headers = { 'accept-language': language };
  const tag = randomBytes(3).toString('hex');
  const password = randomBytes(12).toString('base64url');
  const owner = { name: 'Grace Harbour', email: `grace.${tag}@example.com`, password };
  const student = { name: 'Ada Meadow', email: `ada.${tag}@example.com`, password };

  begin(1, 'sign_up.club');
  const anonymous = scene.client();
  requireOk(
    await anonymous.POST('/v1/auth/admin/sign-up', {
      headers,
      body: { ...owner, organization: { name: `Harbour Academy ${tag}` } },
    }),
  );
  const ownerMail = await mailbox.waitFor(owner.email);
  show(mailbox.linkTo(ownerMail), 'confirmation_arrived');
  const session = requireOk(
    await anonymous.POST('/v1/auth/admin/verify-email', { body: { token: tokenIn(ownerMail) } }),
  ).data;
  const club = session.administrator.organizations[0];
  if (club === undefined) throw new Problem('The new owner has no organization.');
  show(club.organization_id, 'sign_up.owner', { name: owner.name, club: club.name });

  const administrator = scene.client(session.token);
  const clubId = club.organization_id;
  if (language !== defaultLanguage)
    requireOk(await administrator.PATCH('/v1/clubs/{clubId}', { params: { path: { clubId } }, body: { language } }));

  begin(2, 'sign_up.endpoint');
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
  show(registered.endpoint.url, 'sign_up.asks', { type: 'student.created' });
  show(`${registered.secret.slice(0, 12)}…`, 'sign_up.secret');

  begin(3, 'sign_up.student');
  requireOk(
    await anonymous.POST('/v1/clubs/{clubId}/classroom/sign-up', { params: { path: { clubId } }, body: student }),
  );
  const studentMail = await mailbox.waitFor(student.email);
  show(mailbox.linkTo(studentMail), 'confirmation_arrived');
  const entered = requireOk(
    await anonymous.POST('/v1/auth/verify-email', { body: { token: tokenIn(studentMail) } }),
  ).data;
  const { id, name, verified } = entered.student;
  show(`${id}, verified=${verified}`, 'sign_up.entered', { name });

  begin(4, 'sign_up.delivery');
  const [first] = await receiver.waitFor(1, patienceMs);
  tellAttempt(scene, first, 503, [registered.secret]);
  const path = { clubId, endpointId: registered.endpoint.id };
  const quiet = scene.quietClient(session.token);
  const deliveryId = await until('The delivery in the history', async () => {
    const list = requireOk(await quiet.GET(deliveriesPath, { params: { path } }));
    return list.data.find(({ event_type }) => event_type === 'student.created')?.id;
  });
  const run = runPage(scene, 'webhookDelivery', deliveryId);
  show(run, 'sign_up.waits');
  const [, second] = await receiver.waitFor(2, patienceMs);
  tellAttempt(scene, second, 200, [registered.secret]);
  if (first?.headers['webhook-id'] !== second?.headers['webhook-id'])
    throw new Problem('The two attempts differ in webhook-id.');

  begin(5, 'sign_up.api');
  const delivery = await until('The end of the delivery', async () => {
    const read = requireOk(
      await quiet.GET(`${deliveriesPath}/{deliveryId}`, { params: { path: { ...path, deliveryId } } }),
    );
    return read.data.status === 'pending' ? undefined : read.data;
  });
  for (const attempt of delivery.attempts) {
    const answer = attempt.response_status === undefined ? '' : ` ${attempt.response_status}`;
    const { number, started_at: at, outcome, duration_ms: duration = 0 } = attempt;
    tell('sign_up.attempt', { number, at, outcome: `${outcome}${answer}`, duration });
  }
  show(delivery.status, 'sign_up.status');
  if (delivery.status !== 'succeeded') throw new Problem(`The delivery has the status ${delivery.status}.`);
  return {
    club: { clubId, token: session.token },
    owner,
    studentId: entered.student.id,
    studentToken: entered.token,
    studentMail,
    run,
  };
}
