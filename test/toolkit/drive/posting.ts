/**
 * Sends webhook attempts to the receivers of a test. The egress trusts the certificate authority of the receivers. The receivers are closed
 * after each test.
 */
import { makeAuthority, type Authority, type Certificate } from '../../../dev/stack/certificates.ts';
import { createEgress, type Egress } from '../../../platform/infra/egress/egress.ts';
import { postWebhook, type AttemptAnswer, type WebhookPost } from '../../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';
import { respondWith, startReceiver, type Receiver, type Respond } from '../fakes/tls-receiver.ts';

export const attempt = {
  eventId: 'f3b1c1c2-0a39-4c41-9c54-5f2a40d4f3aa',
  body: '{"id":"f3b1c1c2-0a39-4c41-9c54-5f2a40d4f3aa","type":"student.created","data":{"name":"Zoë 学生 🎓"}}',
  secrets: [newSecret()],
  serviceName: 'club-learning',
} as const;

export const noContent = respondWith('HTTP/1.1 204 No Content\r\n\r\n');

type Tracked = { stop(): Promise<void> } | { close(): Promise<void> };

interface Posting {
  authority(): Authority;
  /** The egress, which resolves `receiver.test` and any other name to this machine. */
  dispatcher(): Egress['dispatcher'];
  /** A receiver for `receiver.test` and 127.0.0.1 that gives this answer. */
  receiverThat(
    respond: Respond,
    certificate?: Certificate,
    options?: Parameters<typeof startReceiver>[2],
  ): Promise<Receiver>;
  /** @returns the whole answer */
  post(port: number, changes?: Partial<WebhookPost>): Promise<AttemptAnswer>;
  /** Posts like `post`, but omits the duration from the result, so that tests can compare whole results. */
  resultOf(port: number, changes?: Partial<WebhookPost>): Promise<Omit<AttemptAnswer, 'durationMs'>>;
  postTo(...bytes: readonly (string | Buffer)[]): Promise<Omit<AttemptAnswer, 'durationMs'>>;
  tracked<T extends Tracked>(one: T): T;
}

/** Call this function in a `describe`, and use the returned functions inside the tests. */
export function usePosting(): Posting {
  let authority: Authority | undefined;
  let usual: Certificate | undefined;
  let egress: Egress | undefined;
  const running: Tracked[] = [];

  before('open the egress to receivers', async () => {
    authority = await makeAuthority();
    usual = await authority.issue(['receiver.test', '127.0.0.1']);
    egress = createEgress({
      allowedNetworks: ['127.0.0.0/8'],
      extraCa: authority.certificate,
      resolve: async () => ['127.0.0.1'],
    });
  });
  afterEach('close the receivers', async () => {
    for (const one of running.splice(0)) await ('stop' in one ? one.stop() : one.close());
  });
  after('close the egress', () => egress?.close());

  function open<T>(part: T | undefined): T {
    if (part === undefined) throw new Error('The egress to receivers is open only during tests');
    return part;
  }
  const posting: Posting = {
    authority: () => open(authority),
    dispatcher: () => open(egress).dispatcher,
    tracked(one) {
      running.push(one);
      return one;
    },
    receiverThat: async (respond, certificate = open(usual), options = {}) =>
      posting.tracked(await startReceiver(certificate, respond, options)),
    post: (port, changes = {}) =>
      postWebhook(posting.dispatcher(), {
        ...attempt,
        url: `https://receiver.test:${port}/hook`,
        timeLimitMs: 2_000,
        ...changes,
      }),
    async resultOf(port, changes) {
      const { durationMs: _, ...result } = await posting.post(port, changes);
      return result;
    },
    postTo: async (...bytes) => posting.resultOf((await posting.receiverThat(respondWith(...bytes))).port),
  };
  return posting;
}
