/** The loop of the fuzzer. Each round builds new clubs, sends requests to them, and checks and counts the answers. */
import { isAuditedRead } from '../../../api/middleware/audit.ts';
import type { OperationId } from '../../../contract/contract.ts';
import { operationOf } from '../../toolkit/drive/every-operation.ts';
import { rowCounts } from '../../toolkit/stack/database.ts';
import { Deck } from './deck.ts';
import { Draw } from './requests/draw.ts';
import { generateRequest } from './requests/generate.ts';
import type { RequestStep, Step } from './requests/step.ts';
import { brokenRules, codeOf, type Broken } from './rules.ts';
import type { FuzzGround } from './world/ground.ts';
import { buildWorld, type Exchange, type World } from './world/world.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly requests: number;
  /** Most requests go to this operation. */
  readonly operation?: OperationId;
  readonly onFailure?: (failure: Failure) => void;
  readonly onRound?: (requestCount: number) => void;
}

/** The first failure of a kind. */
export interface Failure extends Broken {
  /** A text with the operation, the rule and the answer. */
  readonly kind: string;
  /** All steps of the round. The last step failed. */
  readonly steps: readonly Step[];
  readonly curl?: string;
}

export interface Tally {
  requests: number;
  readonly byStatus: Map<number, number>;
  /** Counts of answers by status. */
  readonly byOperation: Map<OperationId, Map<number, number>>;
  readonly failures: Failure[];
  repeated: number;
  /** The longest time that one request blocked the thread of the API, and the request. */
  longestHold?: { readonly ms: number; readonly operation: OperationId; readonly curl: string };
}

/**
 * The number of requests in a round. Later requests can use records of earlier requests, but a failed sequence must stay short.
 */
const roundLength = 250;
/** The number of writes after which the clock moves past the window of the write limits (LIM-1, LIM-2). */
const writesAMinute = 9;
const windowSeconds = 61;
const workEvery = 12;
/** From time to time hours or days pass, so that sessions, links, tokens and uploads expire. */
const longPauseEvery = 70;
const longPauses: readonly number[] = [3_600, 13 * 3_600, 3 * 86_400, 40 * 86_400];
/** The fuzzer counts all rows only after one in this number of reads and refused writes. */
const watchedOneIn = 10;

export async function fuzz(ground: FuzzGround, options: FuzzOptions): Promise<Tally> {
  const tally: Tally = { requests: 0, byStatus: new Map(), byOperation: new Map(), failures: [], repeated: 0 };
  const deck = new Deck(new Draw(options.seed), options.operation);
  for (let round = 0; tally.requests < options.requests; round++) {
    const draw = new Draw(options.seed + 7_919 * round);
    const length = Math.min(roundLength, options.requests - tally.requests);
    await fuzzRound(ground, { draw, deck, length, options, tally });
    options.onRound?.(tally.requests);
  }
  return tally;
}

interface Round {
  readonly draw: Draw;
  readonly deck: Deck;
  readonly length: number;
  readonly options: FuzzOptions;
  readonly tally: Tally;
}

async function fuzzRound(ground: FuzzGround, { draw, deck, length, options, tally }: Round): Promise<void> {
  const world = await buildWorld(ground);
  const steps: Step[] = [];
  const note = (broken: Broken, kind: string, curl?: string) => {
    if (tally.failures.some((known) => known.kind === kind)) {
      tally.repeated++;
      return;
    }
    const failure = { ...broken, kind, steps: [...steps], ...(curl !== undefined && { curl }) };
    tally.failures.push(failure);
    options.onFailure?.(failure);
  };
  let writes = 0;
  for (let count = 1; count <= length; count++) {
    const { operation, wishes } = deck.next();
    const step = generateRequest(draw, operation, `s${count}`, world, wishes);
    const watched = draw.chance(1 / watchedOneIn);
    steps.push(step);
    for (const { exchange, broken } of await judged(world, step, watched)) {
      countIn(tally, exchange);
      deck.noteStatus(operation, exchange.answer?.status ?? 0);
      for (const each of broken) note(each, kindOf(exchange, each), curlOf(exchange));
      if (exchange.method !== 'GET' && ++writes % writesAMinute === 0) steps.push(await pass(world, windowSeconds));
    }
    if (count % longPauseEvery === 0) steps.push(await pass(world, draw.pick(longPauses)));
    if (count % workEvery === 0) {
      steps.push({ work: true });
      const workFailure = await workFails(world);
      if (workFailure !== undefined) note(workFailure, `work: ${workFailure.what}`);
    }
  }
}

async function pass(world: World, seconds: number): Promise<Step> {
  const step = { advance: seconds };
  await world.carryOut(step);
  return step;
}

async function workFails(world: World): Promise<Broken | undefined> {
  try {
    await world.carryOut({ work: true });
    return undefined;
  } catch (error) {
    return { rule: 'works through what was accepted', what: (error as Error).message };
  }
}

/**
 * Operations that may add rows even if they refuse a request or only read. Some operations record refused requests. Some reads record that
 * they made a document (DEC-56), or that a person opened a mail (CAMP-13), or make the first key of certificates (ERS-31).
 */
const leavesRowsWhenRefused: ReadonlySet<OperationId> = new Set<OperationId>([
  'buyAddOn',
  'receiveBillingNotice',
  'getCertificatePdf',
  'getOwnCertificatePdf',
  'followMailLink',
  'loadMailPicture',
  'exchangeStudentCode',
  'getErasureKeys',
  'getErasureProof',
]);

interface Judgement {
  readonly exchange: Exchange;
  readonly broken: readonly Broken[];
}

/** @param watched whether to count all rows, in order to find rows that a refused request or a read has written */
export async function judged(world: World, step: RequestStep, watched: boolean): Promise<Judgement[]> {
  const before = watched ? await rowCounts() : undefined;
  const exchanges = await world.send(step);
  const judgements = exchanges.map((exchange) => ({
    exchange,
    broken: brokenRules(exchange, world.clubs, world.pool),
  }));
  const mayLeave = exchanges.some(({ answer, method }) => !answer || (answer.status < 400 && method !== 'GET'));
  const [first] = judgements;
  if (first && before && !mayLeave && !leavesRowsWhenRefused.has(step.operation)) {
    const after = await rowCounts();
    const isRecorded = isAuditedRead(operationOf(step.operation)) && first.exchange.answer?.status === 200;
    const mayChange = (table: string) => isRecorded && table === 'audit_entries'; // AUD-2
    const changed = Object.keys(after).filter((table) => after[table] !== before[table] && !mayChange(table));
    if (changed.length > 0)
      first.broken.push({ rule: 'leaves nothing behind', what: `the refusal changed ${changed.join(', ')}` });
  }
  return judgements;
}

/** The run reports each kind once. */
export function kindOf({ step, answer, problem }: Exchange, { rule }: Broken): string {
  const outcome = answer ? `${answer.status} ${codeOf(answer.body) ?? ''}` : (problem?.brief ?? '');
  return [step.operation, rule, outcome, step.fault?.code ?? ''].join(' | ');
}

function countIn(tally: Tally, exchange: Exchange): void {
  const { step, answer, holdMs: ms = 0 } = exchange;
  tally.requests++;
  if (ms > (tally.longestHold?.ms ?? 0)) tally.longestHold = { ms, operation: step.operation, curl: curlOf(exchange) };
  const status = answer?.status ?? 0;
  tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1);
  const ofOperation = tally.byOperation.get(step.operation) ?? new Map<number, number>();
  ofOperation.set(status, (ofOperation.get(status) ?? 0) + 1);
  tally.byOperation.set(step.operation, ofOperation);
}

function curlOf({ method, path, resolvedStep, step }: Exchange): string {
  const body = resolvedStep.raw ?? (resolvedStep.body === undefined ? undefined : JSON.stringify(resolvedStep.body));
  const bodyOption = body === undefined ? '' : ` -d ${quoted(body.length > 500 ? `${body.slice(0, 500)}…` : body)}`;
  const headers = Object.entries({ 'Content-Type': 'application/json', ...resolvedStep.headers })
    .filter(() => body !== undefined)
    .map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`);
  return `curl -X ${method} "$API${path}" -H "Authorization: Bearer $TOKEN_OF_${step.caller.toUpperCase()}"${headers.join('')}${bodyOption}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
