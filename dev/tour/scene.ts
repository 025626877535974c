/** Code that all scenes of the tour share: the club, and functions that call the API, wait and print. */
import { defaultLanguage, type OfferedLanguage } from '../../domain/language/languages.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { workflowIdOf, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { createContractClient, type ContractClient } from '../clients/contract-client.ts';
import type { Message, Summary } from '../mailbox/mailbox.ts';
import { host } from '../stack/ports.ts';
import { Problem } from '../problem.ts';
import { isSignedWith, type ReceivedRequest, type Receiver } from '../clients/receiver.ts';
import { tourWordsIn, type TourKey, type TourWords, type ValuesOf } from './words/words.ts';

export type Say = (line: string) => void;

export interface Scene {
  /** The language of the club, its people, and the narration. */
  readonly language: OfferedLanguage;
  readonly words: TourWords;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Prints a line unchanged: requests, answers, and other texts that are not translated. */
  readonly say: Say;
  /** Prints the title of a section. */
  readonly begin: <Key extends TourKey>(number: number, key: Key, ...values: ValuesOf<Key>) => void;
  /** Prints a sentence. */
  readonly tell: <Key extends TourKey>(key: Key, ...values: ValuesOf<Key>) => void;
  /** Prints a sentence, a colon, and a detail such as a link. The detail stays unchanged, so that a person can copy it. */
  readonly show: <Key extends TourKey>(detail: string, key: Key, ...values: ValuesOf<Key>) => void;
  /**
   * The receiver of webhooks in the tour. `/hooks/club` refuses its first request. `/hooks/shaky` refuses every request while `isBroken` is
   * true.
   */
  readonly receiver: Receiver;
  isBroken: boolean;
  readonly mailbox: Mailbox;
  /** Sends a request to the API, and prints the call. Waits as long as a rate limit requires. */
  announce(request: Request): Promise<Response>;
  /** A client of the API that prints each call. */
  client(token?: string): ContractClient;
  /** A client of the API that prints nothing. */
  quietClient(token?: string): ContractClient;
}

/** A club of the tour, and a session of the club's owner. */
export interface Club {
  readonly clubId: string;
  readonly token: string;
}

/** An administrator's address and password. */
export interface Account {
  readonly email: string;
  readonly password: string;
}

/** A student of the club, and a session of the student. */
export interface Asker {
  readonly studentId: string;
  readonly token: string;
}

/** The time for which the tour waits for a mail, for an attempt, or for a change in the API. */
export const patienceMs = 20_000;

export function setScene(
  given: Pick<Scene, 'environment' | 'say' | 'receiver'> & Partial<Pick<Scene, 'language'>>,
): Scene {
  const { environment, say, language = defaultLanguage } = given;
  const base = `http://${host}:${environment['API_PORT']}`;
  const words = tourWordsIn(language);
  const announce = announced(say, words);
  return {
    ...given,
    language,
    words,
    begin: (number, key, ...values) => say(`\n${number}. ${words(key, ...values)}`),
    tell: (key, ...values) => say(`   ${words(key, ...values)}`),
    show: (detail, key, ...values) => say(`   ${words(key, ...values)}: ${detail}`),
    isBroken: true,
    mailbox: mailboxAt(environment['MAILBOX_URL']),
    announce,
    client: (token) => createContractClient(base, token, { fetch: announce }),
    quietClient: (token) => createContractClient(base, token),
  };
}

export const endpointPath = '/v1/clubs/{clubId}/webhook-endpoints/{endpointId}';
export const deliveriesPath = `${endpointPath}/deliveries` as const;

/** @returns the address of a run's page in the Temporal UI */
export function runPage({ environment }: Scene, type: WorkflowType, subjectId: string): string {
  const workflow = encodeURIComponent(workflowIdOf(type, subjectId));
  return `${environment['TEMPORAL_UI_URL']}/namespaces/${environment['TEMPORAL_NAMESPACE']}/workflows/${workflow}`;
}

/** @param secrets the secrets; the request must have a valid signature of each secret @throws Problem if a signature is invalid */
export function tellAttempt(
  { say, tell, words }: Scene,
  request: ReceivedRequest | undefined,
  status: number,
  secrets: readonly string[],
): void {
  if (request === undefined) throw new Problem('The receiver was not called.');
  if (!secrets.every((secret) => isSignedWith(secret, request)))
    throw new Problem(`The signature of request ${request.number} does not verify.`);
  const { type } = JSON.parse(request.body.toString('utf8')) as { type: string };
  const { number, receivedAt, body } = request;
  tell('request', { number, at: receivedAt.toISOString(), type, bytes: body.length, status });
  say(`     webhook-id         ${request.headers['webhook-id']}`);
  say(`     webhook-timestamp  ${request.headers['webhook-timestamp']}`);
  const verified = words(secrets.length > 1 ? 'verified_with_either' : 'verified');
  say(`     webhook-signature  ${request.headers['webhook-signature']}  ✓ ${verified}`);
}

interface Mailbox {
  linkTo(message: Message): string;
  /** @param isMeant decides by the subject whether a mail is the awaited mail; if absent, any mail is */
  waitFor(to: string, isMeant?: (subject: string) => boolean): Promise<Message>;
  /** @returns the source of the mail, with its attachments */
  sourceOf(message: Message): Promise<string>;
}

/** The mailbox, by its JSON interface. @throws Problem if another SMTP server is used, whose messages the tour cannot read */
function mailboxAt(url: string | undefined): Mailbox {
  if (url === undefined) {
    throw new Problem(
      'The tour reads mail from the mailbox, but SMTP_URL replaces it. If your server offers the same JSON, set MAILBOX_URL.',
    );
  }
  const get = async <T>(path: string) => ((await (await fetch(`${url}${path}`)).json()) as { data: T }).data;
  return {
    linkTo: (message: Message) => `${url}/messages/${message.id}`,
    sourceOf: async (message: Message) => (await fetch(`${url}/messages/${message.id}/source`)).text(),
    waitFor: (to: string, isMeant = () => true) =>
      until(`The mail to ${to}`, async () => {
        const summaries = await get<Summary[]>(`/api/messages?to=${encodeURIComponent(to)}`);
        const newest = summaries.find(({ subject }) => isMeant(subject));
        return newest && get<Message>(`/api/messages/${newest.id}`);
      }),
  };
}

export function tokenIn(message: Message): string {
  const token = /[?&]token=([\w%.~-]+)/.exec(message.text)?.[1];
  if (token === undefined) throw new Problem(`The mail “${message.subject}” contains no link with a token.`);
  return decodeURIComponent(token);
}

/**
 * A version of `fetch` that prints each request and its answer. It waits if a rate limit requires this, for example after several starts of
 * the tour within a minute.
 */
function announced(say: Say, words: TourWords): (request: Request) => Promise<Response> {
  return async (request) => {
    for (;;) {
      const response = await fetch(request.clone());
      say(`   ${request.method} ${new URL(request.url).pathname} → ${response.status}`);
      if (response.status !== 429) return response;
      const seconds = Number(response.headers.get('retry-after') ?? 1);
      say(`   ${words('rate_limit', { seconds })}`);
      await sleep(seconds * 1000);
    }
  };
}

/** @throws Problem when the call was refused; the message has the code and the message of the error */
export function requireOk<T>(result: {
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

/** Calls the function `look` every 100 ms until it returns a result. */
export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Problem(`${what} did not happen within ${patienceMs / 1000} s.`);
    await sleep(100);
  }
}
