/** The loop: rounds of requests, each in a world of its own, judged one by one; what was answered is counted. */
import type { OperationId } from '../../../contract/contract.ts';
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
  /** Most requests go to this one. */
  readonly operation?: OperationId;
  /** Told of each failure when it is found. */
  readonly onFailure?: (failure: Failure) => void;
  readonly onRound?: (done: number) => void;
}

/** The first failure of its kind. */
export interface Failure extends Broken {
  /** Equal for failures of the same kind: the operation, the rule and the answer. */
  readonly kind: string;
  /** All that was done in its world, the failing step last. */
  readonly steps: readonly Step[];
  /** How the request went out. */
  readonly sent?: string;
}

export interface Tally {
  requests: number;
  readonly byStatus: Map<number, number>;
  /** For each operation, how often it was answered with which status. */
  readonly byOperation: Map<OperationId, Map<number, number>>;
  readonly failures: Failure[];
  /** Failures of a kind that was seen before. */
  repeated: number;
  /** For how long one request held the thread of the API at most, and which. */
  longestHold?: { readonly ms: number; readonly operation: OperationId; readonly sent: string };
}

/** Requests in one world: enough for what one makes to be used by others, few enough for a short way to a failure. */
const roundLength = 250;
/** After this many writes the clock moves beyond the window of the write limits (LIM-1, LIM-2). */
const writesAMinute = 9;
const windowSeconds = 61;
const workEvery = 12;
/** Now and then hours or days pass, so that sessions, links, tokens and uploads run out. */
const longPauseEvery = 70;
const longPauses: readonly number[] = [3_600, 13 * 3_600, 3 * 86_400, 40 * 86_400];
/** Of reads and refused writes, one in so many is watched for rows that it leaves. */
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
  const note = (broken: Broken, kind: string, sent?: string) => {
    if (tally.failures.some((known) => known.kind === kind)) {
      tally.repeated++;
      return;
    }
    const failure = { ...broken, kind, steps: [...steps], ...(sent !== undefined && { sent }) };
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
      const thrown = await workFails(world);
      if (thrown !== undefined) note(thrown, `work: ${thrown.what}`);
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

/** Operations whose refusals are recorded, as their descriptions say, and reads that keep what they drew (DEC-56) or that they were made (CAMP-13). */
const leavesRowsWhenRefused: ReadonlySet<OperationId> = new Set<OperationId>([
  'buyAddOn',
  'receiveBillingNotice',
  'getCertificatePdf',
  'getOwnCertificatePdf',
  'followMailLink',
  'loadMailPicture',
  'exchangeStudentCode',
]);

/** An exchange, and the rules that it breaks. */
interface Judgement {
  readonly exchange: Exchange;
  readonly broken: readonly Broken[];
}

/** Sends a request and judges its answers. @param watched whether rows are counted that a refused request or a read leaves */
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
    const changed = Object.keys(after).filter((table) => after[table] !== before[table]);
    if (changed.length > 0)
      first.broken.push({ rule: 'leaves nothing behind', what: `the refusal changed ${changed.join(', ')}` });
  }
  return judgements;
}

/** Failures of one kind are told once. */
export function kindOf({ step, answer, problem }: Exchange, { rule }: Broken): string {
  const outcome = answer ? `${answer.status} ${codeOf(answer.body) ?? ''}` : (problem?.brief ?? '');
  return [step.operation, rule, outcome, step.fault?.code ?? ''].join(' | ');
}

function countIn(tally: Tally, exchange: Exchange): void {
  const { step, answer, holdMs: ms = 0 } = exchange;
  tally.requests++;
  if (ms > (tally.longestHold?.ms ?? 0)) tally.longestHold = { ms, operation: step.operation, sent: curlOf(exchange) };
  const status = answer?.status ?? 0;
  tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1);
  const ofOperation = tally.byOperation.get(step.operation) ?? new Map<number, number>();
  ofOperation.set(status, (ofOperation.get(status) ?? 0) + 1);
  tally.byOperation.set(step.operation, ofOperation);
}

/** The request for a terminal: what was sent, with the token left out. */
function curlOf({ method, path, sent, step }: Exchange): string {
  const body = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
  const shown = body === undefined ? '' : ` -d ${quoted(body.length > 500 ? `${body.slice(0, 500)}…` : body)}`;
  const headers = Object.entries({ 'Content-Type': 'application/json', ...sent.headers })
    .filter(() => body !== undefined)
    .map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`);
  return `curl -X ${method} "$API${path}" -H "Authorization: Bearer $TOKEN_OF_${step.caller.toUpperCase()}"${headers.join('')}${shown}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
