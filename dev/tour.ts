/**
 * The tour: a student signs up through the API, and becomes a signed HTTPS delivery that is refused, waits in a durable
 * timer, is tried again and is accepted. Told as it happens, with links to look closer.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createContractClient } from '../contract/generated/client.ts';
import { workflowIdOf } from '../domain/facts/workflow-names.policy.ts';
import type { Authority } from './certificates.ts';
import type { Message, Summary } from './mailbox.ts';
import { host } from './ports.ts';
import { Problem } from './problem.ts';
import { isSignedWith, type ReceivedRequest, type Receiver, startReceiver } from './receiver.ts';

export interface TourOptions {
  /** What API and worker run with. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An authority that the worker trusts (EGRESS_EXTRA_CA_FILE). */
  readonly authority: Authority;
  readonly say: (line: string) => void;
}

/** How long the tour waits for a mail, or for the API to show what has happened. */
const patienceMs = 20_000;
/** The first retry comes about 5 s after the refusal. */
const retryPatienceMs = 20_000;

/**
 * Plays the tour, with new names each time.
 * @returns once it is over; `stop` ends its receiver, which goes on accepting deliveries of the tour's club until then
 * @throws Problem saying which step did not do what it should
 */
export async function runTour({ environment, authority, say }: TourOptions): Promise<{ stop(): Promise<void> }> {
  const certificate = await authority.issue([host, 'localhost']);
  const receiver = await startReceiver({ certificate, respond: refuseFirst });
  try {
    await tell(receiver, environment, say);
    return receiver;
  } catch (error) {
    await receiver.stop();
    throw error;
  }
}

/** What the receiver does: it refuses the very first attempt, and accepts everything after it. */
function refuseFirst(_request: ReceivedRequest, number: number) {
  return number === 1 ? { status: 503, body: 'not today' } : { status: 200, body: 'thank you' };
}

async function tell(
  receiver: Receiver,
  environment: TourOptions['environment'],
  say: TourOptions['say'],
): Promise<void> {
  const base = `http://${host}:${environment['API_PORT']}`;
  const mailbox = mailboxAt(environment['MAILBOX_URL']);
  const client = (token?: string) => createContractClient(base, token, { fetch: announced(say) });
  const tag = randomBytes(3).toString('hex');
  const password = randomBytes(12).toString('base64url');
  const owner = { name: 'Grace Harbour', email: `grace.${tag}@example.com`, password };
  const student = { name: 'Ada Meadow', email: `ada.${tag}@example.com`, password };

  say('THE TOUR: from a sign-up to a signed delivery\n');

  say('1. A club and its owner');
  const anonymous = client();
  expectOk(
    await anonymous.POST('/v1/auth/admin/sign-up', {
      body: { ...owner, organization: { name: `Harbour Academy ${tag}` } },
    }),
  );
  const ownerMail = await mailbox.waitFor(owner.email);
  say(`   the confirmation has arrived: ${mailbox.linkTo(ownerMail)}`);
  const session = expectOk(
    await anonymous.POST('/v1/auth/admin/verify-email', { body: { token: tokenIn(ownerMail) } }),
  ).data;
  const club = session.administrator.organizations[0];
  if (club === undefined) throw new Problem('The new owner has no organization.');
  say(`   ${owner.name} owns the club “${club.name}” (${club.organization_id})\n`);

  say('2. A webhook endpoint');
  const administrator = client(session.token);
  const clubId = club.organization_id;
  const registered = expectOk(
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
  expectOk(
    await anonymous.POST('/v1/clubs/{clubId}/classroom/sign-up', { params: { path: { clubId } }, body: student }),
  );
  const studentMail = await mailbox.waitFor(student.email);
  say(`   the confirmation has arrived: ${mailbox.linkTo(studentMail)}`);
  const entered = expectOk(
    await anonymous.POST('/v1/auth/verify-email', { body: { token: tokenIn(studentMail) } }),
  ).data;
  say(`   ${entered.student.name} is in (${entered.student.id}, verified: ${entered.student.verified})\n`);

  say('4. The delivery, as the receiver saw it');
  const [first] = await receiver.waitFor(1, patienceMs);
  tellAttempt(first, 503, registered.secret, say);
  const path = { clubId, endpointId: registered.endpoint.id };
  const deliveryId = await until('The delivery in the history', async () => {
    const list = expectOk(await createContractClient(base, session.token).GET(deliveriesPath, { params: { path } }));
    return list.data.find(({ event_type }) => event_type === 'student.created')?.id;
  });
  const workflow = encodeURIComponent(workflowIdOf('webhookDelivery', deliveryId));
  const run = `${environment['TEMPORAL_UI_URL']}/namespaces/${environment['TEMPORAL_NAMESPACE']}/workflows/${workflow}`;
  say(`   it waits about 5 s in a durable timer: ${run}`);
  const [, second] = await receiver.waitFor(2, retryPatienceMs);
  tellAttempt(second, 200, registered.secret, say);
  if (first?.headers['webhook-id'] !== second?.headers['webhook-id'])
    throw new Problem('The two attempts differ in webhook-id.');

  say('\n5. The same delivery, as the API tells it');
  const quiet = createContractClient(base, session.token);
  const delivery = await until('The end of the delivery', async () => {
    const read = expectOk(
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

  say('\nLOOK CLOSER');
  say(`   API reference        ${environment['PUBLIC_URL']}/docs`);
  say(`   this delivery's run  ${run}`);
  say(`   the student's mail   ${mailbox.linkTo(studentMail)}`);
}

const deliveriesPath = '/v1/clubs/{clubId}/webhook-endpoints/{endpointId}/deliveries';

function tellAttempt(
  request: ReceivedRequest | undefined,
  status: number,
  secret: string,
  say: TourOptions['say'],
): void {
  if (request === undefined) throw new Problem('The receiver was not called.');
  if (!isSignedWith(secret, request)) throw new Problem(`The signature of attempt ${request.number} does not verify.`);
  const { type } = JSON.parse(request.body.toString('utf8')) as { type: string };
  say(
    `   attempt ${request.number} at ${request.receivedAt.toISOString()}: ${type}, ${request.body.length} bytes, answered ${status}`,
  );
  say(`     webhook-id         ${request.headers['webhook-id']}`);
  say(`     webhook-timestamp  ${request.headers['webhook-timestamp']}`);
  say(`     webhook-signature  ${request.headers['webhook-signature']}  ✓ verified`);
}

/** The mailbox, over its JSON. @throws Problem when it is somebody else's SMTP server, and its mail cannot be read */
function mailboxAt(url: string | undefined) {
  if (url === undefined) {
    throw new Problem(
      'It reads mail from the mailbox, but SMTP_URL replaced that. If yours speaks the same JSON, set MAILBOX_URL.',
    );
  }
  const get = async <T>(path: string) => ((await (await fetch(`${url}${path}`)).json()) as { data: T }).data;
  return {
    linkTo: (message: Message) => `${url}/messages/${message.id}`,
    waitFor: (to: string) =>
      until(`The mail to ${to}`, async () => {
        const [newest] = await get<Summary[]>(`/api/messages?to=${encodeURIComponent(to)}`);
        return newest && get<Message>(`/api/messages/${newest.id}`);
      }),
  };
}

function tokenIn(message: Message): string {
  const token = /[?&]token=([\w%.~-]+)/.exec(message.text)?.[1];
  if (token === undefined) throw new Problem(`The mail “${message.subject}” holds no link with a token.`);
  return decodeURIComponent(token);
}

/** A fetch that tells each request and how it was answered. Told to slow down, as after several starts within a minute, it does. */
function announced(say: TourOptions['say']): (request: Request) => Promise<Response> {
  return async (request) => {
    for (;;) {
      const response = await fetch(request.clone());
      say(`   ${request.method} ${new URL(request.url).pathname} → ${response.status}`);
      if (response.status !== 429) return response;
      const seconds = Number(response.headers.get('retry-after') ?? 1);
      say(`   the rate limit says: in ${seconds} s`);
      await sleep(seconds * 1000);
    }
  };
}

/** @throws Problem with the error's code and message when the call was refused */
function expectOk<T>(result: {
  data?: T;
  error?: { error: { code: string; message?: string } };
  response: Response;
}): T {
  if (result.data !== undefined) return result.data;
  const { code, message } = result.error?.error ?? { code: 'no body' };
  throw new Problem(
    `${new URL(result.response.url).pathname} answered ${result.response.status} ${code}: ${message ?? ''}`,
  );
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Problem(`${what} did not come within ${patienceMs / 1000} s.`);
    await sleep(100);
  }
}
