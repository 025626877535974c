/**
 * `npm run bench -- holds` calls every operation with the largest contents that the contract allows. It reports how long one call blocked
 * the API's thread, and the size of the answer.
 */
import type { ContractOperation, OperationId } from '../contract/contract.ts';
import { messageOf } from '../dev/problem.ts';
import { Draw } from '../test/proofs/fuzz/requests/draw.ts';
import { generateRequest, type Wishes } from '../test/proofs/fuzz/requests/generate.ts';
import { newest, ofScene } from '../test/proofs/fuzz/requests/references.ts';
import type { RequestStep } from '../test/proofs/fuzz/requests/step.ts';
import { buildWorld, type World } from '../test/proofs/fuzz/world/world.ts';
import { bodySchemaOf, everyOperation, withBody } from '../test/toolkit/drive/every-operation.ts';
import { testDatabase } from '../test/toolkit/stack/database.ts';
import { openHeldGround, type HeldGround, type Measured } from './holds/ground.ts';
import { heavyContents } from './holds/heavy-contents.ts';
import { largestBody } from './holds/largest-body.ts';
import { lengthenTexts, multiplyRows } from './holds/many-rows.ts';
import { recordLine } from './figures.ts';
import { progress } from './support.ts';

export const holdMeasurements = ['operations'] as const;

/** Only the shortest time counts. A longer one may include the loading of code, or a garbage collection for earlier requests. */
const times = 3;
/** Fill texts with four-byte characters, or with variables and Markdown marks that never end. */
const fillers = ['😀', '{{', '*[_`<- '];
/** Files of the build, such as the contract: every caller gets the same answer. */
const documents: ReadonlySet<OperationId> = new Set<OperationId>(['getContract']);
/** The number of operations in the report, the slowest ones. */
const named = 12;

const wishes: Wishes = { faulty: 0, permitted: 100, beside: 0, inPath: ofScene, inBody: ofScene };

type Longest = Map<OperationId, Measured & { succeeded: boolean }>;

export async function benchHolds(): Promise<void> {
  const ground = await openHeldGround();
  try {
    const firstWorld = await buildWorld(ground);
    for (const operation of everyOperation) await once(firstWorld, generated(firstWorld, operation, 1)); // loads all code first
    const world = await buildWorld(ground);
    const longest: Longest = new Map();
    progress('largest bodies');
    for (const operation of withBody) await measureBodies(ground, world, operation, longest);
    progress('full pages of the largest records');
    for (const failed of await multiplyRows(await testDatabase(), world.clubs.own.clubId)) progress(failed);
    const reads = everyOperation.filter(({ method }) => method === 'get');
    for (const operation of reads) await measureReads(ground, world, operation, longest);
    progress('full pages of a club from which nothing was removed, with the longest texts');
    const whole = await buildWorld(ground);
    for (const fill of [lengthenTexts, multiplyRows])
      for (const failed of await fill(await testDatabase(), whole.clubs.own.clubId)) progress(failed);
    for (const operation of reads) await measureReads(ground, whole, operation, longest);
    for (const heavy of heavyContents) {
      progress(heavy.name);
      await heavy.write(await testDatabase(), whole);
      for (const operationId of heavy.operations) {
        const operation = everyOperation.find((each) => each.operationId === operationId);
        if (operation) await measureReads(ground, whole, operation, longest);
      }
    }
    const others = everyOperation.filter(({ operationId }) => !longest.has(operationId));
    for (const operation of others) {
      const step = stepOf(whole, operation, ofScene);
      if (!step) continue;
      await once(world, step);
      note(longest, operation, ground.last());
    }
    const refused = [...longest].filter(([, { succeeded }]) => !succeeded).map(([operation]) => operation);
    progress(`never answered with success: ${refused.join(', ') || 'none'}`);
    sayLongest(longest);
  } finally {
    await ground.close();
  }
}

async function measureBodies(ground: HeldGround, world: World, operation: ContractOperation, longest: Longest) {
  for (const [position, filler] of fillers.entries()) {
    const measured: Measured[] = [];
    for (let time = 0; time < times; time++) {
      const step = generated(world, operation, 10 + position * times + time);
      const body = step.body === undefined ? undefined : largestBody(bodySchemaOf(operation), step.body, filler);
      await once(world, { ...step, ...(body !== undefined && { body }) });
      const last = ground.last();
      if (last) measured.push(last);
    }
    note(longest, operation, shortest(measured));
  }
}

async function measureReads(ground: HeldGround, world: World, operation: ContractOperation, longest: Longest) {
  for (const inPath of [ofScene, newest]) {
    const step = stepOf(world, operation, inPath);
    if (!step) continue;
    const measured: Measured[] = [];
    for (let time = 0; time < times; time++) {
      await once(world, step);
      const last = ground.last();
      if (last) measured.push(last);
    }
    note(longest, operation, shortest(measured));
  }
}

/** @returns undefined if the club no longer has such a record */
function stepOf(world: World, operation: ContractOperation, inPath: Wishes['inPath']): RequestStep | undefined {
  try {
    return generated(world, operation, 3, { ...wishes, inPath });
  } catch {
    return undefined;
  }
}

/** A list is requested with the largest page. */
function generated(world: World, operation: ContractOperation, seed: number, wished = wishes): RequestStep {
  const step = generateRequest(new Draw(seed), operation, `${operation.operationId}-${seed}`, world, wished);
  const isList = operation.parameters.some(({ name }) => name === 'page_size');
  return isList ? { ...step, query: [['page_size', '100']] } : step;
}

async function once(world: World, step: RequestStep): Promise<void> {
  try {
    for (const { problem } of await world.send(step)) if (problem) progress(`${step.operation}: ${problem.brief}`);
  } catch (error) {
    progress(`${step.operation}: ${messageOf(error)}`);
  }
}

function shortest(measured: readonly Measured[]): Measured | undefined {
  return measured.toSorted((one, other) => one.holdMs - other.holdMs)[0];
}

/** Notes the largest answer and the longest time of each operation. */
function note(longest: Longest, { operationId }: ContractOperation, measured: Measured | undefined): void {
  if (!measured) return;
  const before = longest.get(operationId);
  longest.set(operationId, {
    ...(before && before.holdMs > measured.holdMs ? before : measured),
    bytes: Math.max(before?.bytes ?? 0, measured.isFile || documents.has(operationId) ? 0 : measured.bytes),
    succeeded: (before?.succeeded ?? false) || measured.status < 400,
  });
}

function sayLongest(longest: Longest): void {
  const byHold = [...longest].toSorted(([, left], [, right]) => right.holdMs - left.holdMs);
  const bySize = [...longest].toSorted(([, left], [, right]) => right.bytes - left.bytes);
  const kB = (bytes: number) => (bytes / 1_000).toFixed(0);
  for (const [operation, { holdMs, status }] of byHold.slice(0, named))
    progress(`${operation}: ${holdMs.toFixed(1)} ms, answered ${status}`);
  for (const [operation, { bytes }] of bySize.slice(0, named)) progress(`${operation}: ${kB(bytes)} kB`);
  const [slowest = '', most] = byHold[0] ?? [];
  const [largest = '', widest] = bySize[0] ?? [];
  recordLine('longest hold ms', { value: most?.holdMs ?? Number.NaN });
  recordLine('largest answer kB', { value: (widest?.bytes ?? Number.NaN) / 1_000 });
  process.stdout.write(
    `operations ${longest.size}, longest hold ms ${(most?.holdMs ?? Number.NaN).toFixed(0)} (operation ${slowest}), largest answer kB ${kB(widest?.bytes ?? Number.NaN)} (operation ${largest})\n`,
  );
}
