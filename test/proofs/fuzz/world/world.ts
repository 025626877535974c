/** Two furnished clubs, in which the steps run. Later requests can use the records of earlier requests. */
import { createHash } from 'node:crypto';
import { AssertionError } from 'chai';
import { createParser } from 'eventsource-parser';
import type { ContractOperation, OperationId } from '../../../../contract/contract.ts';
import { messageOf } from '../../../../dev/problem.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { clock, type Answer } from '../../../toolkit/drive/api.ts';
import { put } from '../../../toolkit/drive/media.ts';
import { everyOperation, operationOf } from '../../../toolkit/drive/every-operation.ts';
import { signatureHeaders } from '../../../toolkit/builders/provider-keys.ts';
import { signatureOf } from '../../../toolkit/drive/billing.ts';
import { buildStudent } from '../../../toolkit/builders/clubs.ts';
import { png } from '../../../toolkit/builders/pictures.ts';
import type { Surroundings } from '../requests/generate.ts';
import { Pool, type ClubName } from '../requests/pool.ts';
import { isRecord, isRequest, resolved, type Json, type RequestStep, type Step } from '../requests/step.ts';
import { clientIdKind, textKind } from '../requests/suggestions.ts';
import { restoreCallers, type Caller, type Callers } from './callers.ts';
import type { FuzzGround } from './ground.ts';
import { harvestOf, textAt } from './harvest.ts';
import { newTokens } from './mails.ts';
import { buildScene, type Scene } from './scene.ts';
import { whileAnswering, workThrough } from './work.ts';

export interface Exchange {
  readonly step: RequestStep;
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  /** Whether another request ran at the same time. */
  readonly hasRival: boolean;
  readonly resolvedStep: RequestStep;
  /** Undefined if the answer broke off or violated the contract; `problem` then has the reason. */
  readonly answer?: Answer;
  readonly problem?: Problem;
  readonly errors: readonly string[];
  /** For how many milliseconds the API blocked its thread; undefined if other work ran at the same time. */
  readonly holdMs?: number | undefined;
}

type Request = Omit<Exchange, 'answer' | 'problem' | 'errors' | 'holdMs'>;

interface Problem {
  /** A short text about the violation. Two equal violations have the same text. */
  readonly brief: string;
  readonly what: string;
}

export interface World extends Surroundings {
  readonly clubs: Readonly<Record<ClubName, Scene>>;
  send(step: RequestStep): Promise<Exchange[]>;
  carryOut(step: Step): Promise<readonly Exchange[]>;
}

export async function buildWorld(ground: FuzzGround): Promise<World> {
  clock.reset();
  const [own, other] = await Promise.all([buildScene(ground, 'own'), buildScene(ground, 'other')]);
  const clubs = { own, other };
  const callers = { ...ground.strangers, ...own.callers, ...other.callers } as Callers;
  return new FuzzedWorld(ground, clubs, callers);
}

/** In bytes, for a file that was uploaded without an announced size. */
const smallSize = 100;
const uploadedMost = 65_536;

class FuzzedWorld implements World {
  readonly ground: FuzzGround;
  readonly clubs: Readonly<Record<ClubName, Scene>>;
  readonly callers: Callers;
  readonly pool = new Pool();
  readonly #salt = newId().replaceAll('-', '').slice(-12);
  readonly #names = new Map<string, string>();
  readonly #bodies = new Map<string, Json>();
  readonly #tokensSeen = new Set<Id>();
  readonly #clubIds: Record<ClubName, Id>;

  constructor(ground: FuzzGround, clubs: Readonly<Record<ClubName, Scene>>, callers: Callers) {
    this.ground = ground;
    this.clubs = clubs;
    this.callers = callers;
    this.#clubIds = { own: clubs.own.clubId, other: clubs.other.clubId };
    for (const entry of [...clubs.own.entries, ...clubs.other.entries]) {
      this.pool.add(entry);
      this.#names.set(entry.template.slice(2, -2), entry.value);
    }
  }

  readonly valueOf = (name: string): string | undefined => {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const [, maker = '', argument = ''] = /^(\w+):(.*)$/.exec(name) ?? [];
    if (maker in makers) return makers[maker as keyof typeof makers](argument, this);
    if (name === 'salt') return this.#salt;
    const slash = name.indexOf('/');
    return slash < 0 ? undefined : textAt(this.#bodies.get(name.slice(0, slash)), name.slice(slash));
  };

  /** Returns a version 4 UUID. In one round, the same number gives the same UUID. */
  uuid(number: string): string {
    const hex = createHash('sha256').update(`${this.#salt}:${number}`).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  async carryOut(step: Step): Promise<readonly Exchange[]> {
    if (isRequest(step)) return this.send(step);
    if ('work' in step) await workThrough(Object.values(this.#clubIds));
    else {
      clock.advance(step.advance * 1_000);
      await this.#restoreCallers();
    }
    return [];
  }

  async send({ beside, ...step }: RequestStep): Promise<Exchange[]> {
    const requests = [step, ...(beside ? [beside] : [])].map((each) => this.#requestOf(each, beside !== undefined));
    const underWay = Promise.all(requests.map((request) => this.#answerTo(request)));
    const streams = requests.some(({ step: { operation } }) =>
      operationOf(operation).contentTypes.includes('text/event-stream'),
    );
    const exchanges = await (streams ? whileAnswering(Object.values(this.#clubIds), underWay) : underWay);
    for (const exchange of exchanges)
      if (exchange.answer && exchange.answer.status < 300) await this.#takeIn(exchange, exchange.answer);
    const errors = this.ground.errors();
    const isWatched = beside === undefined && !streams; // the code that answers a stream also blocks this thread
    return exchanges.map((exchange) => ({ ...exchange, errors, ...(isWatched && { holdMs: exchange.holdMs }) }));
  }

  #requestOf(step: RequestStep, hasRival: boolean): Request {
    const operation = operationOf(step.operation);
    const resolvedStep = resolved(step as never, this.valueOf) as RequestStep;
    const method = step.method ?? operation.method.toUpperCase();
    return {
      step,
      resolvedStep,
      method,
      hasRival,
      caller: this.callers[step.caller],
      path: pathTo(operation.path, resolvedStep),
    };
  }

  async #answerTo(exchange: Request): Promise<Exchange> {
    const { step, resolvedStep, caller, method, path } = exchange;
    try {
      const answer = await this.ground.call(method, path, {
        ...(caller.token !== undefined && { token: caller.token }),
        ...(resolvedStep.raw === undefined ? { body: resolvedStep.body } : { raw: resolvedStep.raw }),
        headers: { ...resolvedStep.headers, ...this.#proofOf(step.operation, resolvedStep) },
      });
      return { ...exchange, answer, errors: [], holdMs: this.ground.lastHoldMs() };
    } catch (error) {
      return { ...exchange, problem: problemIn(error), errors: [] };
    }
  }

  #proofOf(operation: OperationId, { body, raw, path }: RequestStep): Record<string, string> {
    const text = raw ?? JSON.stringify(body) ?? '';
    if (operation === 'receiveProviderNotice') return signatureHeaders(path['provider'] ?? '', text);
    return operation === 'receiveBillingNotice' ? { 'stripe-signature': signatureOf(text) } : {};
  }

  async #takeIn({ step, resolvedStep, method }: Request, answer: Answer) {
    const operation = operationOf(step.operation);
    const body = bodyOf(answer);
    if (body !== undefined) this.#bodies.set(step.name, body);
    const clubId = resolvedStep.path['clubId']?.toLowerCase();
    const club: ClubName = clubId === this.#clubIds.other ? 'other' : 'own';
    if (body !== undefined && operation.auth.length > 0)
      for (const entry of harvestOf(operation, step, body, club)) this.pool.add(entry);
    if (method === 'GET') return;
    const deletedId = resolvedStep.path[operation.pathParameters.at(-1) ?? ''];
    if (method === 'DELETE' && isOfRecord(operation) && deletedId !== undefined) this.pool.remove(deletedId);
    this.#rememberTexts(step, resolvedStep, club);
    await this.#readMails(step.name, club);
    await this.#upload(resolvedStep, body);
    await this.#restoreCallers();
  }

  /** Stores accepted texts and ids of the caller, so that later requests can repeat them. */
  #rememberTexts(step: RequestStep, resolvedStep: RequestStep, club: ClubName): void {
    if (!isRecord(step.body) || !isRecord(resolvedStep.body)) return;
    for (const [name, template] of Object.entries(step.body)) {
      const value = resolvedStep.body[name];
      if (typeof template !== 'string' || typeof value !== 'string') continue;
      const kind = name === 'id' ? clientIdKind({ operationId: step.operation }) : textKind(name);
      this.pool.add({ kind, template, value, club });
    }
  }

  async #readMails(name: string, club: ClubName): Promise<void> {
    for (const { id, purpose, text, email } of await newTokens(this.#tokensSeen)) {
      const template = `${name}/mail/${purpose}`;
      this.#names.set(template, text);
      this.#names.set(`${template}/id`, id);
      const parents = email === null ? undefined : { email, id: `{{${template}/id}}` };
      this.pool.add({
        kind: `mail.${purpose}`,
        template: `{{${template}}}`,
        value: text,
        club,
        ...(parents && { parents }),
      });
    }
  }

  /** Uploads a small file of the announced size to the reserved URL, so that the upload can be completed. */
  async #upload({ body: announcedFile }: RequestStep, body: Json | undefined): Promise<void> {
    const upload = isRecord(body) ? body['upload'] : undefined;
    if (!isRecord(upload) || !isRecord(announcedFile) || typeof upload['url'] !== 'string') return;
    const size = Number(announcedFile['size_bytes'] ?? smallSize); // the caller announces no size for a file of an assignment
    if (size > uploadedMost) return;
    // The fuzzer does not run the listener for files. It therefore makes no uploads through that listener (MED-26, MED-29).
    if (/^\/uploads(?:\/|$)/.test(new URL(upload['url']).pathname)) return;
    const bytes = announcedFile['mime'] === 'image/png' ? pngOf(size) : Buffer.alloc(size, 'rope ');
    await put({ url: upload['url'], headers: upload['headers'] as Record<string, string> }, bytes);
  }

  async #restoreCallers(): Promise<void> {
    await restoreCallers(this.callers, this.#clubIds, async (name, club) => {
      const { canary, enroll } = this.clubs[club];
      const student = await buildStudent(this.#clubIds[club], { name: `Successor ${canary}` });
      if (name !== 'visitor') await enroll(student.id);
      return student.id;
    });
  }
}

/** Whether a deletion removes a record, and not only a link between two records. */
function isOfRecord({ path }: ContractOperation): boolean {
  const [record, depth] = [path.split('/').at(-1), path.split('/').length];
  // Some deletions remove only a link between two records, such as the membership of a student in a space. The record itself has a shorter
  // path.
  const isTied = everyOperation.some(
    (other) =>
      (other.path === path && other.method === 'put') ||
      (other.path.split('/').at(-1) === record && other.path.split('/').length < depth),
  );
  return path.endsWith('}') && !isTied;
}

const day = 86_400_000;

const makers = {
  uuid: (number: string, world: FuzzedWorld) => world.uuid(number),
  upper: (name: string, world: FuzzedWorld) => world.valueOf(name)?.toUpperCase(),
  now: (seconds: string) =>
    new Date(Math.max(-30_000 * day, clock.now().getTime() + Number(seconds) * 1_000)).toISOString(),
  fill: (length: string) => 'x'.repeat(Number(length)),
  blanks: (length: string) => ' '.repeat(Number(length)),
} as const;

function problemIn(error: unknown): Problem {
  const what = messageOf(error);
  const violations = error instanceof AssertionError ? (error as { actual?: unknown }).actual : undefined;
  return { brief: Array.isArray(violations) ? violations.join('; ') : what, what };
}

function pathTo(pattern: string, { path, query = [] }: RequestStep): string {
  const filledPath = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  return search === '' ? filledPath : `${filledPath}?${search}`;
}

function bodyOf({ body, text, headers }: Answer): Json | undefined {
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return body as Json;
  if (!type.startsWith('text/event-stream')) return undefined;
  const events: Json[] = [];
  const parser = createParser({
    onEvent: ({ event = '', data }) => void events.push({ event, data: JSON.parse(data) as Json }),
  });
  parser.feed(text);
  return events;
}

function pngOf(size: number): Buffer {
  const extra = size - png(2, 3, { extra: 1 }).length + 1;
  return extra > 0 ? png(2, 3, { extra }) : Buffer.alloc(size);
}
